"""What the Consistency page says about its numbers. Pure logic; labels of the data only as code spans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pages.ui.text import lit, short
from pages.views.consistency.draw import Draw, largest_gain
from treedp_core.errors import ErrorSummary
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.records import Labels

LEAST_GROUP: Final = 10


def change(before: float, after: float) -> str:
    """Return how a number changed.

    >>> change(8.0, 6.0), change(0.0, 0.0), change(math.inf, 3.0)
    ('−25 %, was 8', 'was 0', 'was ∞')
    """
    was = f"was {short(before)}"
    if not math.isfinite(before) or not math.isfinite(after) or before == 0:
        return was
    percent = 100 * (after / before - 1)
    sign = "−" if percent < 0 else "+"
    return f"{sign}{short(abs(percent))} %, {was}"


def expected_line(before: ErrorSummary | None, after: ErrorSummary | None) -> str:
    """Return the sentence on expected errors, from the formula."""
    if before is None:
        return ""
    start = f"**Expected over all draws (formula):** RMSE {short(before.tree)} before"
    if after is None:
        return f"{start}; after a biased step no formula is known."
    return f"{start}, {short(after.tree)} after."


def gain_line(before: ErrorSummary | None, after: ErrorSummary | None, labels: Labels) -> str:
    """Return the sentence on the level that gains most, from the formula; nothing where there is none."""
    best = None if before is None or after is None else largest_gain(before.level, after.level)
    if best is None:
        return ""
    level, left = best
    name = lit(labels.level_names[level], 40)
    if left == 0:
        return f"The gain is largest on level {level} ({name}): it is not measured, but follows from the others."
    return f"The gain is largest on level {level} ({name}): its RMSE falls to {short(100 * left)} % (formula)."


def bias_line(the: Draw, table: dict[str, list[Any]], steps: Sequence[str]) -> str:
    """Return the sentence on bias: why a biased step lifts or lowers counts, with this draw's numbers."""
    biased = [step for step in steps if not POSTPROCESSORS[step].linear]
    if not biased:
        return "Noise and least squares are unbiased: mean errors are near 0 at every size of count."
    rows = zip(table["true count"], table["nodes"], table["mean error after"], strict=True)
    worst = max((row for row in rows if row[1] >= LEAST_GROUP), key=lambda row: abs(row[2]), default=None)
    why = POSTPROCESSORS[biased[-1]].why_biased
    if worst is None or worst[2] == 0:
        return why
    return (
        f"{why} In this draw, the {short(worst[1])} counts of true size {worst[0]} come out {short(abs(worst[2]))} "
        f"records too {'large' if worst[2] > 0 else 'small'} on average."
    )
