"""What the papers say, checked: every claim with its verdict, and today's numbers beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.studies.cdf.pipelines import error_curves
from treedp_core.studies.methods.papers import boninsegna, dawson, ghazi, rameshwar
from treedp_core.studies.methods.papers.claim import Claim, Number, Verdict
from treedp_core.studies.multiplicative.curves import CURVES, Setting, growth
from treedp_core.studies.topdown.accounting import exponent
from treedp_core.tree.workloads import equal_tree
from treedp_core.words import fixed, plural

PAPERS: Final = {
    "ghazi": "Ghazi et al.",
    "boninsegna": "Boninsegna (InfTDA)",
    "dawson": "Dawson et al.",
    "rameshwar": "Rameshwar et al.",
}
_OF: Final = {name: module.CLAIMS for name, module in zip(PAPERS, (ghazi, boninsegna, dawson, rameshwar), strict=True)}
CLAIMS: Final[Mapping[str, Claim]] = {
    f"{paper}.{i}": replace(one, paper=paper) for paper, claims in _OF.items() for i, one in enumerate(claims, 1)
}
"""Every claim by name: the paper's, and its place among that paper's."""
FARTHEST: Final = 1e4
"""How many times the paper's number is drawn at most."""


@dataclass(frozen=True)
class Checked:
    """A claim with its numbers, computed just now."""

    name: str
    claim: Claim
    numbers: tuple[Number, ...]

    @property
    def holds(self) -> bool:
        """Whether the numbers bear the verdict out."""
        return self.claim.bears(self.numbers)


def checked(paper: str) -> tuple[Checked, ...]:
    """Return every claim of a paper with its numbers.

    >>> {one.holds for one in checked("dawson")}
    {True}
    """
    return tuple(
        Checked(name, one, one.compute() if one.compute is not None else ())
        for name, one in CLAIMS.items()
        if one.paper == paper
    )


def claim_table(found: Sequence[Checked]) -> dict[str, list[str | float]]:
    """Return claims that were checked, a row for each number; nan where there is none."""
    rows = [(one, number) for one in found for number in one.numbers or (Number("–", math.nan, math.nan),)]
    return {
        "place": [one.claim.place for one, _ in rows],
        "what it says": [one.claim.says for one, _ in rows],
        "verdict": [one.claim.verdict.value for one, _ in rows],
        "number": [number.what for _, number in rows],
        "today": [number.today for _, number in rows],
        "the paper's": [number.paper for _, number in rows],
        "why": [one.claim.why for one, _ in rows],
    }


def ratio_table(found: Sequence[Checked]) -> dict[str, list[str | float]]:
    """Return today's numbers over the paper's, one row each, at most `FARTHEST` times apart; 0 over 0 is 1."""
    rows = [(one, number) for one in found for number in one.numbers]
    return {
        "place": [one.claim.place for one, _ in rows],
        "number": [number.what for _, number in rows],
        "verdict": [one.claim.verdict.value for one, _ in rows],
        "today ÷ the paper's": [_ratio(number) for _, number in rows],
    }


def _ratio(number: Number) -> float:
    if number.agrees and number.paper == 0:
        return 1.0
    if number.paper == 0 or number.today == 0:
        return FARTHEST if number.paper == 0 else 1.0 / FARTHEST
    return min(max(number.today / number.paper, 1.0 / FARTHEST), FARTHEST)


# ---- the picture of each paper


def picture(paper: str) -> dict[str, list[float]]:
    """Return the curves of a paper's own picture, over their first column; each name tells the exponent measured.

    Table 1 of Ghazi et al., the open question of InfTDA, Figure 4 of Dawson et al. and Figure 1 of Rameshwar et al.
    """
    return _PICTURES[paper]()


def axis_of(paper: str) -> str:
    """Return what the curves of `picture` are, in words."""
    return {
        "ghazi": "α-RMSE at ε = 1, α = 0.5 (records)",
        "boninsegna": "largest error, σ = 1 (records)",
        "dawson": "RMSRE of made-up conversions",
        "rameshwar": "N² E₂ of 256 bins",
    }[paper]


def _table_1() -> dict[str, list[float]]:
    levels = np.unique(np.round(np.geomspace(100, 10**6, 17)))
    names = (*(name for _, name, _ in ghazi.TABLE_1), "paper")
    error = growth(Setting(), levels, names).error
    columns = {"levels d": levels.tolist()}
    for name in names:
        power = f"d^{fixed(exponent(levels, error[name]), 2)}" if name != "paper" else "log d"
        columns[f"{CURVES[name].label}: {power}"] = error[name].tolist()
    return columns


def _open_question() -> dict[str, list[float]]:
    columns = boninsegna.growth_of_bound()
    k = np.array(columns["level k"])
    named = {"level k": columns["level k"]}
    for name, values in list(columns.items())[1:]:
        y = np.array(values)
        known = np.isfinite(y) & (k >= 3)
        if name == boninsegna.CELLS:
            named[f"{name}: e^{fixed(exponent(np.exp(k[known]), y[known]), 2)}k"] = values
        elif name == boninsegna.MWEM:
            named[name] = values
        else:
            named[f"{name}: k^{fixed(exponent(k[known], y[known]), 2)}"] = values
    return named


def _figure_4() -> dict[str, list[float]]:
    found = dawson.strategies()
    named = zip(found.labels, found.errors.tolist(), strict=True)
    return {"ε": found.totals.tolist(), **dict(named)}


def _figure_1() -> dict[str, list[float]]:
    epsilons = (0.1, 0.25, 0.5, 1.0, 2.0)
    found = error_curves(rameshwar.BINS, epsilons, 1, equal_tree(rameshwar.BINS, 16))
    kinds = ("range queries", "histogram", "binary", "tree", "tree, least squares")
    return {"ε": list(epsilons)} | {one.label: one.squares.tolist() for one in found if one.kind in kinds}


_PICTURES: Final[Mapping[str, Callable[[], dict[str, list[float]]]]] = {
    "ghazi": _table_1, "boninsegna": _open_question, "dawson": _figure_4, "rameshwar": _figure_1,
}  # fmt: skip


def verdicts_of(found: Sequence[Checked]) -> dict[Verdict, int]:
    """Return how many claims have each verdict."""
    return {verdict: sum(one.claim.verdict is verdict for one in found) for verdict in Verdict}


def summary(found: Sequence[Checked]) -> str:
    """Return the verdicts in words.

    >>> summary(checked("dawson"))
    '16 claims: 9 reproduced, 3 corrected, 1 sharpened, 3 not applicable'
    """
    counts = ", ".join(f"{n} {verdict.value}" for verdict, n in verdicts_of(found).items() if n)
    return f"{plural(len(found), 'claim')}: {counts}"
