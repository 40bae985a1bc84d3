"""What the page TopDown answers, with this release's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pages.ui.text import lit
from treedp_core.errors.compare import Compared
from treedp_core.studies.topdown import Drawn, RuleResult
from treedp_core.studies.topdown.rows import usual_error
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import percent_set, short, signed, whole

WHY_LOST: Final = "Small counts under big totals are set to 0 first: at"


def rows(leaves: Compared, promised: str) -> str:
    """Return what became of the places.

    >>> import numpy as np
    >>> rows(Compared(9, np.array([8, 2, 0]), np.array([9, 0, 1])), "(1, 1e-6)")
    'Small counts under big totals are set to 0 first: at (1, 1e-6) 50 % of the places with records are lost, 50 % \
of the released ones never existed; 20 % of the records would have to move.'
    """
    return (
        f"{WHY_LOST if leaves.lost else 'At'} {promised} {_part(leaves.lost, leaves.n_true)} of the places with "
        f"records are lost, {_part(leaves.spurious, leaves.n_released)} of the released ones never existed; "
        f"{short(100 * leaves.total_variation, 2)} % of the records would have to move."
    )


def _part(part: int, of: int) -> str:
    return f"{short(100 * part / of if of else 0.0, 2)} %"


def counts(mine: Drawn, level: int, bound: float, confidence: float) -> str:
    """Return how far the counts of a level are off, and how far they may be."""
    here, name = mine.levels[level], lit(mine.subject.level_names[level], 24)
    theory = (
        f"; with probability {percent_set(confidence)} none is off by more than {short(bound)} (Theorem 1)"
        if RULES[mine.wanted.rule].is_bounded
        else ""
    )
    return (
        f"On level {name} half of the nodes with records are off by at most {short(usual_error(here))} records, and in "
        f"this release none by more than {short(here.max_error)}{theory}."
    )


def rules(found: Sequence[RuleResult]) -> str:
    """Return what IntOpt and water filling trade."""
    place = {one.rule: one.mean for one in found}
    first, other = place["intopt"], place["water_filling"]
    return (
        f"IntOpt loses {_rounded(first['lost'])} places with records and fills {_rounded(first['spurious'])} empty "
        f"ones, water filling {_rounded(other['lost'])} and {_rounded(other['spurious'])}; their RMSE is "
        f"{short(first['rmse'])} and {short(other['rmse'])} records."
    )


def least_squares_first(change: float, *, told: bool) -> str:
    """Return what least squares before water filling changes, in per cent, and whether the runs tell."""
    unsure = "" if told else " (within the simulation's error)"
    return f"Least squares before water filling changes the RMSE of a leaf by {signed(change)} %{unsure}."


def _rounded(mean: float) -> str:
    return whole(round(mean))
