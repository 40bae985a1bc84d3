"""The words and symbols of this app, each explained once: tooltips, the heading of each page and the glossary say this.

What is in the core's tables (mechanisms, post-processing, budget splits, metrics) is explained there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedp_core.allocation import ALLOCATIONS
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import DOOR
from treedp_core.registry import Table
from treedp_core.words import lower_first


@dataclass(frozen=True)
class Term:
    """A word or a symbol.

    Parameters
    ----------
    name : str
        What it is known by here.
    label : str
        What it is called on screen.
    text : str
        What it means: a sentence or two (Markdown of our own).
    symbol : str
        How formulas and figures write it.
    page : str
        Where it can be seen at work.
    """

    name: str
    label: str
    text: str
    symbol: str = ""
    page: str = ""

    @property
    def title(self) -> str:
        """Its symbol, if it has one, and what it is called."""
        return f"{self.symbol}, {lower_first(self.label)}" if self.symbol else self.label


_OWN: Final = (
    Term("epsilon", "Privacy budget", "One unit's records change the odds of whatever is seen at most by a factor "
         "e^ε: the smaller ε, the more noise.", "ε", "protects"),
    Term("delta", "Failure probability", "0 is pure differential privacy (Laplace noise). Gaussian noise needs δ > 0, "
         "far below 1 / records: with that probability the bound of ε may fail.", "δ", "protects"),
    Term("rho", "Zero-concentrated budget", "Total budget of zero-concentrated privacy (zCDP), in which Gaussian "
         "noise of several levels adds up; it implies an ε for every δ.", "ρ", "topdown"),
    Term("alpha", "Slack", "α-RMSE forgives errors below α times the true count (Ghazi et al.).", "α",
         "multiplicative"),
    Term("tau", "Threshold", "Relative errors divide by the count or by τ, whichever is larger (Dawson et al.).", "τ",
         "lab"),
    Term("sigma", "Standard deviation of noise", "Two thirds of normal noise lie within σ, 95 % within two.", "σ",
         "ranges"),
    Term("beta", "Branching factor", "Children of a node. In InfTDA's Theorem 1 β is the probability that a bound "
         "may fail.", "β", "branching"),
    Term("eta", "Chance of a miss", "For each node by itself: how likely its error is larger than it may be.", "η",
         "multiplicative"),
    Term("bins", "Number of bins", "Into how many ranges a column is cut, or how many leaves a tree has.", "K", "cdf"),
    Term("records", "Number of records", "How many rows the table has; public where records are replaced.", "N",
         "data"),
    Term("e2", "Summed squared error", "Expected squared error of all cumulative counts over N, added up; times N² it "
         "is in records squared (Rameshwar et al.).", "E₂", "cdf"),
    Term("gamma", "Factorisation norm", "The smallest possible error of the worst count with unbiased Gaussian noise, "
         "in units of one level's noise.", "γ₂", "methods"),
    Term("relation", "Neighbouring relation", "Which two data sets must be hard to tell apart.", page="data"),
    *(
        Term(one.value, one.label, one.description, page="data") for one in NeighbouringRelation
    ),
    Term("unit", "Protected unit", "Whom the promise is about: a person, a household, a device. It changes no number.",
         page="data"),
    Term("contributions", "Records of one unit, at most", "All noise grows by this factor. A unit with more records "
         "than this is not protected as promised, unless only so many are counted: *What ε protects* shows what that "
         "leaves out.", page="data"),
    Term("clip", "Clip", "What a value adds to sums at most; what is above is left out. Noise grows with it, and it "
         "must be public: *What ε protects* shows what it leaves out.", page="protects"),
    Term("known", "Known levels", "Levels built from columns that are public about every unit, the root included.",
         page="data"),
    Term("spread", "Distinct leaves", "Whether the records of one unit may share a leaf. On distinct leaves, fine "
         "levels need less noise.", page="topdown"),
    Term("sensitivity", "Sensitivity", "How far one unit can move the counts of a level: by so much noise must be "
         "larger.", page="data"),
    Term("seed", "Seed", "The same seed gives the same noise: quote it with a picture.", page="lab"),
    Term("level", "Level", "All nodes equally far from the root, which is level 0.", page="data"),
    Term("split", "Budget split", "How ε or ρ is shared among the levels; what they get adds up to the whole.",
         page="budget"),
    Term("ledger", "Ledger", "What every level spends, with the sum that the promise states.", page="plan"),
    Term("margin", "Margin ±", "Half of an interval that holds the error 19 times in 20.", page="start"),
    Term("cumulative", "Cumulative count", "How many records are at most x; over N it is the CDF.", page="cdf"),
    Term("padding", "Padding", "Leaves beyond the bins, so that a tree may have factors whose product is not K.",
         page="branching"),
    Term("prior", "Prior", "Counts that a search for a split may look at instead of the true ones.", page="budget"),
    Term("greedy", "Greedy split", "The budget in small slices, each to the level where it lowers the error most "
         "(Dawson et al., Algorithm 3).", page="budget"),
    Term("thresholds", "Threshold mechanism", "Large counts are found first, threshold by threshold; all others get "
         "one value (Ghazi et al., Algorithms 1 to 4).", page="multiplicative"),
    Term("unbiased", "Unbiased", "Right on average over the noise; a single draw is not.", page="consistency"),
    Term("consistent", "Consistent", "Children add up to their parent.", page="consistency"),
    Term("bound", "Lower bound", "An error that no mechanism of a kind can beat.", page="methods"),
    Term("formula", "formula", "Computed exactly from theory; nothing was drawn at random."),
    Term("simulation", "simulation", "Estimated from simulated releases; bars are 95 % intervals."),
    Term("private", "NOT PRIVATE", f"Shows or depends on the exact counts: not for publication. {DOOR}"),
)  # fmt: skip


def _terms() -> Iterator[Term]:
    yield from _OWN
    tables = ((MECHANISMS, "lab"), (POSTPROCESSORS, "consistency"), (ALLOCATIONS, "budget"), (METRICS, "lab"))
    for entries, page in tables:
        for name, one in entries.items():
            yield Term(f"entry_{name}", one.label, one.help, page=page)


TERMS: Final[Table[Term]] = Table(derived=_terms)
"""Every term by name, symbols first."""
_SYMBOLS: Final = {one.symbol: one for one in _OWN if one.symbol}
_TOKEN: Final = re.compile(
    "|".join(rf"(?<![A-Za-z]){symbol}(?![A-Za-z0-9₀-₉])" for symbol in sorted(_SYMBOLS, key=len, reverse=True))
)
_GREEK: Final = {
    r"\varepsilon": "ε", r"\delta": "δ", r"\rho": "ρ", r"\alpha": "α", r"\tau": "τ", r"\sigma": "σ", r"\beta": "β",
    r"\eta": "η", r"\gamma_2": "γ₂", "E_2": " E₂ ",
}  # fmt: skip
_WORDS_IN_MATH: Final = re.compile(r"\\(?:text|operatorname|mathcal|mathrm|textstyle)\s*(?:\{[^}]*\}|[A-Za-z])")
_MATH: Final = re.compile("|".join(rf"{re.escape(one)}(?![A-Za-z])" for one in _GREEK))


def text(name: str) -> str:
    """Return what a term means: what every tooltip says of it.

    >>> text("unbiased")
    'Right on average over the noise; a single draw is not.'
    """
    return TERMS[name].text


def symbols_in(words: str) -> list[str]:
    r"""Return the symbols that stand in a text, each once, in the order of the glossary.

    >>> symbols_in("N² E₂ at ε = 1, RMSE")
    ['ε', 'N', 'E₂']
    >>> symbols_in(r"$\sigma_\ell^2=N/\rho,\ Z\sim\mathcal N$")
    ['ρ', 'σ', 'N']
    """
    plain = _MATH.sub(lambda one: _GREEK[one.group()], _WORDS_IN_MATH.sub(" ", words)) if "\\" in words else words
    found = set(_TOKEN.findall(plain))
    return [symbol for symbol in _SYMBOLS if symbol in found]


def explained(words: str) -> str:
    """Return what the symbols in a text, and in their own explanations, mean, a line each (Markdown).

    >>> explained("ρ = 1").count("**δ")
    1
    """
    meant = " ".join([words, *(_SYMBOLS[one].text for one in symbols_in(words))])
    return "  \n".join(f"**{_SYMBOLS[one].title}**: {_SYMBOLS[one].text}" for one in symbols_in(meant))


def found(wanted: str) -> list[str]:
    """Return the names of the terms that have every word of a search in them, all for none."""
    words = wanted.lower().split()
    return [
        name for name, one in TERMS.items() if all(w in f"{one.title} {one.text}".lower() for w in words)
    ]  # fmt: skip


def term_table(wanted: str = "") -> dict[str, list[str]]:
    """Return the terms that a search finds, and what they mean.

    >>> term_table("odds")["term"]
    ['ε, privacy budget']
    """
    names = found(wanted)
    return {"term": [TERMS[name].title for name in names], "meaning": [TERMS[name].text for name in names]}
