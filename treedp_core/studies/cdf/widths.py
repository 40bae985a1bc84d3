"""How far the 95 % bands of trees reach to either side of every cumulative count, at the same promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from treedp_core.studies.cdf.bands import Reach, affordable_trials, band_multiple, ranges_reach
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import BAND_SEED, Draw, query_table, release_table
from treedp_core.studies.cdf.partition import DividedPlan
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.quantile import CONFIDENCE
from treedp_core.studies.cdf.release import TREE, plan_tree
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import equal_tree

YOURS: Final = "yours"
BINARY: Final = "binary tree"
HISTOGRAM: Final = "histogram"
EQUAL: Final = "tree with equal budgets"
"""Yours, but for the split of the budget."""


@dataclass(frozen=True, eq=False)
class Width:
    """Half width of a tree's band, which covers all cumulative counts at once; it depends on no records.

    Parameters
    ----------
    name : str
        "yours", "tree with equal budgets", "binary tree" or "histogram".
    way : str
        What its noise is put on, such as the tree's factors.
    half : (K,)
        In records.
    own : Reach, optional
        How far answers to ranges of one's own are off at most, where they were asked for and errors depend on no
        records.
    """

    name: str
    way: str
    half: FloatArray
    own: Reach | None = None

    @property
    def largest(self) -> float:
        """The half width at the cumulative count that is known worst, in records."""
        return float(self.half.max())

    @property
    def asked(self) -> float:
        """How far what was asked for is off at most, all at once, in records: own ranges, or all cumulative counts."""
        return self.largest if self.own is None else self.own.together


def half_widths(mine: Draw, *, compare: bool = True) -> list[Width]:
    """Return the half widths of a release's band and, to `compare`, of a binary tree and of a histogram.

    Behind a private partition it is known where buckets end, and drawn bin by bin between. The others have the
    release's mechanism, budget and least squares, and equal level budgets, with which a tree of other budgets is
    compared, too; one that is its own tree is left out.
    """
    settings = mine.plan.settings
    half = mine.band.multiple * np.sqrt(mine.plan.variance)
    known = np.flatnonzero(np.isfinite(half))
    half = np.interp(np.arange(half.size), known, half[known])
    where = ", where buckets end" if known.size < half.size else ""
    found = [Width(YOURS, f"{settings.way}{where}", half, _own(mine.plan))]
    bins = settings.n_bins
    is_split = settings.strategy == TREE and settings.allocation != "uniform"
    others = [(EQUAL, settings.branching_factors)] if is_split else []
    for name, factors in (*others, (BINARY, equal_tree(bins, 2).branching_factors), (HISTOGRAM, (bins,))):
        tree = replace(settings, branching_factors=factors, allocation="uniform", shares=(), strategy=TREE)
        if compare and (name == EQUAL or tree.way != settings.way):
            plan = plan_tree(tree)
            multiple = band_multiple(plan, CONFIDENCE, affordable_trials(plan), BAND_SEED)
            found.append(Width(name, tree.way, multiple * np.sqrt(plan.variance), _own(plan)))
    return found


def _own(plan: AnyPlan) -> Reach | None:
    if not plan.settings.ranges or isinstance(plan, DividedPlan):
        return None
    return ranges_reach(plan, CONFIDENCE, affordable_trials(plan), BAND_SEED)


def width_table(data: Bins, mine: Draw, widths: Sequence[Width]) -> dict[str, Any]:
    """Return a release beside the true cumulative counts, with the half widths of the bands, (K,) each.

    Where ranges of one's own were asked for: their answers, and how far each is off at most by itself.
    """
    asked = widths[0].own
    if asked is not None:
        off = {f"± records (95 %), {one.name}": one.own.each for one in widths if one.own is not None}
        return query_table(mine, asked.ranges) | off
    return release_table(data, mine) | {f"half width, {one.name}": one.half for one in widths}
