"""One simulated release before and after an estimator, beside the truth: what the Consistency page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from treedp_core.errors import METRICS, ErrorSummary
from treedp_core.errors.compare import (
    BiasBySize,
    Compared,
    LevelBoxes,
    bias_by_size,
    error_of,
    family_gap,
    level_quantiles,
    negatives,
)
from treedp_core.experiment import Experiment, draw_once, run
from treedp_core.postprocess import apply
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Labels
from treedp_core.records.dataset import family
from treedp_core.studies.sweep.series import Series
from treedp_core.tree import AnyArray, FloatArray, Tree

CLIP: Final = 4.0
"""Colours of signed errors end at this many noise scales."""
MAX_ROWS: Final = 500


@dataclass(frozen=True, eq=False)
class Draw:
    """One release of true counts, before and after an estimator.

    Parameters
    ----------
    experiment : Experiment
    tree : Tree
    counts : (n_nodes,)
        True counts, in records.
    before, after : (n_nodes,)
        Noisy and estimated counts; nan where a level was neither measured nor derived.
    noise : (n_levels,)
        Standard deviation of the noise on each level, in records; inf on a level not measured.
    """

    experiment: Experiment
    tree: Tree
    counts: AnyArray
    before: AnyArray
    after: AnyArray
    noise: FloatArray

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Signed errors before and after, (n_nodes,) each, in records."""
        return self.before - self.counts, self.after - self.counts

    @cached_property
    def clip(self) -> float:
        """Where the colours of signed errors end: four times the root mean square of the levels' noise, in records."""
        measured = self.noise[np.isfinite(self.noise) & (self.noise > 0)]
        return CLIP * float(np.sqrt(np.mean(measured**2))) if measured.size else 1.0

    @cached_property
    def gaps(self) -> tuple[float, float]:
        """Mean |parent - sum of its children| before and after, in records."""
        return family_gap(self.tree, self.before)[0], family_gap(self.tree, self.after)[0]

    @cached_property
    def has_sums(self) -> bool:
        """Whether a count was measured together with all of its children, so that their sum can fail."""
        return family_gap(self.tree, self.before)[1] > 0

    @cached_property
    def untold(self) -> tuple[int, int]:
        """How many counts nothing tells after the estimator, and how many of them are on the lowest level."""
        unknown = np.isnan(self.after)
        return int(unknown.sum()), int(unknown[self.tree.level(self.tree.height)].sum())

    @cached_property
    def negatives(self) -> tuple[int, int]:
        """How many counts are below 0, before and after."""
        return negatives(self.before), negatives(self.after)

    def metric(self, name: str) -> tuple[float, float]:
        """Return a metric of the whole tree in this draw, before and after; inf when a node is undefined."""
        before, after = (
            error_of(METRICS[name], self.tree, self.counts, one, self.experiment.tolerance) for one in self.errors
        )
        return before, after

    @cached_property
    def quantiles(self) -> tuple[LevelBoxes, LevelBoxes]:
        """Signed errors of each level, before and after."""
        before, after = self.errors
        return level_quantiles(self.tree, before, "before"), level_quantiles(self.tree, after, "after")

    @cached_property
    def bias(self) -> tuple[BiasBySize, BiasBySize]:
        """Mean errors by size of the true count, before and after; levels published exactly are left out.

        A single node's error is mostly noise; the mean over many nodes of one size shows the bias.
        """
        known = np.repeat(self.noise != 0, self.tree.level_sizes) & np.isfinite(self.before) & np.isfinite(self.after)
        truth, n_nodes = self.counts[known], int(known.sum())
        before, after = (bias_by_size([Compared(n_nodes, truth, one[known])]) for one in (self.before, self.after))
        return before, after


def draw(experiment: Experiment, tree: Tree, counts: AnyArray) -> Draw:
    """Return one simulated release of true counts (n_nodes,) before and after its post-processing.

    The noise is that of the experiment without post-processing, so that two estimators can be compared on one draw;
    nor does it depend on what only judges the errors.
    """
    noisy = Series(experiment.mechanism, "none").of(replace(experiment, metric="rmse"))
    raw, _ = draw_once(noisy, tree, counts)
    final = apply(tree, raw, *experiment.postprocess, tolerance=experiment.tolerance)
    variance = np.zeros(tree.n_nodes) if raw.variance is None else raw.variance
    return Draw(experiment, tree, counts, raw.estimate, final.estimate, np.sqrt(variance[tree.level_start[:-1]]))


@dataclass(frozen=True, eq=False)
class Expected:
    """The closed form of an error by level, of one mechanism with one pipeline."""

    series: Series
    summary: ErrorSummary


def expected(experiment: Experiment, pipeline: str, tree: Tree, counts: AnyArray) -> list[Expected]:
    """Return the closed forms before a pipeline and after it, where theory knows them.

    `counts` are the true ones, (n_nodes,) in records; the errors are in records too.
    """
    both = [Series(experiment.mechanism, name) for name in dict.fromkeys(("none", pipeline))]
    known = [(one, run(one.of(experiment), tree, counts, simulated=False).formula) for one in both]
    return [Expected(one, formula) for one, formula in known if formula is not None]


def expected_table(found: Sequence[Expected], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return expected errors by level as columns, one row for each series and level."""
    return {
        "series": [one.series.label for one in found for _ in level_names],
        "level": list(level_names) * len(found),
        "RMSE": [float(error) for one in found for error in one.summary.level],
    }


def box_table(groups: Sequence[LevelBoxes], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind boxes of errors, one row for each group and level."""
    names = ("low", "lower_quartile", "median", "upper_quartile", "high", "mean")
    table: dict[str, list[Any]] = {
        "release": [group.label for group in groups for _ in level_names],
        "level": list(level_names) * len(groups),
    }
    return table | {name: [float(v) for group in groups for v in getattr(group, name)] for name in names}


def bias_table(the: Draw) -> dict[str, list[Any]]:
    """Return the mean signed errors of a draw, in records, by size of the true count."""
    before, after = the.bias
    return {
        "true count": before.names,
        "nodes": before.n_nodes.astype(int).tolist(),
        "mean error before": before.bias.tolist(),
        "mean error after": after.bias.tolist(),
    }


def family_table(the: Draw, node: int, labels: Labels) -> dict[str, list[Any]]:
    """Return the counts of a node and of at most 500 of its children: true, before and after."""
    columns = {of_truth("true count"): the.counts, "before": the.before, "after": the.after}
    return family(the.tree, labels, node, columns, MAX_ROWS)


def find(labels: Labels, text: str, limit: int = 50) -> list[int]:
    """Return at most `limit` nodes whose label contains the text, from the top, upper and lower case alike.

    Only the vocabularies are searched word by word; nodes are matched by their codes.
    """
    needle, found = text.casefold(), list[int]()
    for level, words in enumerate(labels.vocabularies):
        hits = np.fromiter((needle in word.casefold() for word in words), dtype=bool, count=len(words))
        start, stop = labels.level_start[level], labels.level_start[level + 1]
        if hits.any():
            found += (start + np.flatnonzero(hits[labels.codes[start:stop]])[: limit - len(found)]).tolist()
        if len(found) >= limit:
            break
    return found


def found_table(labels: Labels, nodes: Sequence[int]) -> dict[str, list[str]]:
    """Return the table of found nodes: the name of their level, and their path."""
    levels = np.searchsorted(labels.level_start, nodes, side="right") - 1
    return {
        "level": [labels.level_names[level] for level in levels.tolist()],
        "path": labels.paths(nodes),
    }
