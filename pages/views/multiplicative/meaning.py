"""When to use it, on the page Multiplicative error: what the question means, and from which count on it is answered."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.store import remember
from pages.ui.text import prose
from pages.views.multiplicative.growth import IGNORES as IGNORES
from pages.views.multiplicative.growth import about, asked, notes
from pages.views.multiplicative.schedule import show_printed
from pages.views.multiplicative.settings import ETA
from treedp_core.figures.multiplicative import accuracy_bars
from treedp_core.notebook.code import Ran, call
from treedp_core.studies.multiplicative import Setting, accuracy_table
from treedp_core.words import margin, plural, short, whole

WORDS: Final = (
    "**Multiplicative error forgives what is small beside the count.** With α = 0.1 a count of 10 000 may be off by "
    "1 000 for free; only what goes beyond that is an error, in records. Ask this question when people read ratios: "
    "shares, rates, rankings, the heaviest branches of a deep tree.\n\n"
    "- **It is the right question** for trees with very many levels (URLs, n-grams, IP prefixes, medical codes, "
    "quadtrees) and for counts that span powers of ten. There noise on every level must grow with the number of "
    "levels, √d at best; thresholds with δ > 0 grow like its logarithm.\n"
    "- **It is the wrong question** when counts are added or subtracted afterwards: values come from a short list, "
    "children do not add up to their parent, and differences of two large counts lose everything.\n"
    "- **It changes nothing** for counts below about error ÷ α: there α forgives less than the noise. And with few "
    "levels noise and shrinkage, max(0, (1 − α) y), is simpler and better: the ranking says from how many on it "
    "is not."
)


def show() -> Told:
    """Show from which count on it promises something; under *More* what it is good for, and the printed budgets."""
    chosen, d = asked(ETA)
    if d is not None:
        _figure(chosen, d, ETA.value)
    notes("thresholds and Gaussian noise")
    return Told(about(chosen, d), "formula, simulation", more=partial(_more, chosen, d))


def _accuracy(chosen: Setting, d: int) -> Ran[dict[str, Any]]:
    eta = ETA.value
    return remember(("mul accuracy", chosen, d, eta), lambda: call(accuracy_table, chosen, d, eta))


def _figure(chosen: Setting, d: int, eta: float) -> None:
    ran = _accuracy(chosen, d)
    frame.figure(
        call(accuracy_bars, ran.named("kept")),
        key="mul_kept",
        alt="Counts from which on the promise is kept, by mechanism",
        answer=_answer(ran.value, chosen, d, eta),
        caption=_caption(chosen, d, eta),
        ran=ran,
    )


def _answer(table: dict[str, Any], chosen: Setting, d: int, eta: float) -> str:
    least = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    best, tuned = table["mechanism"][0], least.get("Thresholds, tuned plan", math.nan)
    told = (
        f"On {plural(d, 'level')}, {best} keeps each count of **{margin(least[best])} and more**, by itself, within a "
        f"factor 1 ± {short(chosen.alpha)} with probability {short(1 - eta)}"
    )
    return f"{told}; the tuned thresholds need {margin(tuned)}." if math.isfinite(tuned) else f"{told}."


def _caption(chosen: Setting, d: int, eta: float) -> str:
    return (
        f"Each count of τ or more, by itself, is within a factor 1 ± {short(chosen.alpha)} with probability "
        f"{short(1 - eta)}, smaller ones within α τ records ((α, η)-accurate with threshold τ in Ghazi et al.), on "
        f"{plural(d, 'level')}, {whole(round(chosen.max_total))} records at most. Lemma 3.2 is Markov's inequality: "
        "plans do better than it says."
    )


def _more(chosen: Setting, d: int | None) -> None:
    prose(WORDS)
    if d is not None:
        frame.table(
            _accuracy(chosen, d),
            key="mul_accuracy",
            alt="Thresholds from which on counts are accurate, by mechanism",
            caption=_caption(chosen, d, ETA.value),
            formats={"τ (records)": short},
            width="content",
        )
    show_printed()
