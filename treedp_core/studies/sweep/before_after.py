"""One simulated release before and after an estimator: errors, gaps and biases. Pure logic, no loop over nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from treedp_core.errors import METRICS, ErrorSummary, Tolerance, level_mean, tree_loss
from treedp_core.experiment import Experiment, draw_once, run
from treedp_core.figures import LevelBoxes, LevelErrors
from treedp_core.postprocess import apply
from treedp_core.postprocess.chains import CHAINS
from treedp_core.studies.sweep.series import Series
from treedp_core.tree import AnyArray, FloatArray, Tree

COUNT_BINS: Final = (0, 1, 10, 100, 1000)
QUANTILES: Final = (0.025, 0.25, 0.5, 0.75, 0.975)
SAME: Final = 1e-6
"""Records: sums of floats that differ by less are equal."""
CLIP: Final = 4.0
"""Colours of signed errors end at this many noise scales."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One release of true counts, before and after an estimator.

    Parameters
    ----------
    tree : Tree
    counts : (n_nodes,)
        True counts.
    before, after : (n_nodes,)
        Noisy and estimated counts; nan where a level was neither measured nor derived.
    noise : (n_levels,)
        Standard deviation of the noise on each level; inf on a level not measured.
    tolerance : Tolerance
    """

    tree: Tree
    counts: AnyArray
    before: AnyArray
    after: AnyArray
    noise: FloatArray
    tolerance: Tolerance

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Signed errors before and after, (n_nodes,) each."""
        return self.before - self.counts, self.after - self.counts

    @cached_property
    def clip(self) -> float:
        """Where the colours of signed errors end: four times the root mean square of the levels' noise, in records."""
        measured = self.noise[np.isfinite(self.noise) & (self.noise > 0)]
        return CLIP * float(np.sqrt(np.mean(measured**2))) if measured.size else 1.0


def draw(experiment: Experiment, tree: Tree, counts: AnyArray, threshold: float) -> Draw:
    """Return one simulated release before and after its post-processing.

    The noise is that of the experiment without post-processing, so that two estimators can be compared on one draw.
    """
    raw, _ = draw_once(replace(experiment, postprocess=()), tree, counts)
    final = apply(tree, raw, *experiment.postprocess)
    variance = np.zeros(tree.n_nodes) if raw.variance is None else raw.variance
    sigma = np.sqrt(variance[tree.level_start[:-1]])
    return Draw(tree, counts, raw.estimate, final.estimate, sigma, Tolerance(threshold=threshold))


def gap(tree: Tree, values: AnyArray) -> tuple[float, int]:
    """Return the mean of |parent - sum of its children| over the inner nodes, and over how many of them.

    Families with an undefined member are left out; without any family the mean is 0.

    >>> gap(Tree.from_branching_factors((3,)), np.array([27, 12, 7, 5]))
    (3.0, 1)
    """
    total, families = 0.0, 0
    for level in range(tree.height):
        here = tree.level(level)
        inner = ~tree.is_leaf[here]
        apart = np.abs(values[here] - tree.sum_children(level, values[tree.level(level + 1)]))[inner]
        known = np.isfinite(apart)
        apart[apart <= SAME + np.finfo(float).eps * 64 * np.abs(values[here][inner])] = 0.0
        total += float(apart[known].sum())
        families += int(known.sum())
    return (total / families if families else 0.0), families


def metric_of(name: str, the: Draw, errors: AnyArray) -> float:
    """Return a metric of this one draw for the whole tree; inf when a node is undefined."""
    metric = METRICS[name]
    loss = np.nan_to_num(metric.loss(errors, the.counts, the.tolerance), nan=np.inf)
    return float(metric.value(tree_loss(the.tree, metric, level_mean(the.tree, loss))))


def negatives(values: AnyArray) -> int:
    """Return how many values are below 0, beyond rounding."""
    return int(np.count_nonzero(values < -SAME))


def expected(experiment: Experiment, tree: Tree, counts: AnyArray) -> ErrorSummary | None:
    """Return the closed form of the RMSE, None after a biased step."""
    return run(experiment, tree, counts, simulated=False).formula


def boxes(tree: Tree, errors: FloatArray, label: str) -> LevelBoxes:
    """Return the quantiles and the mean of each level's errors; nan on a level that is not defined.

    >>> boxes(Tree.from_branching_factors((2,)), np.array([np.nan, 0.0, 4.0]), "before").lower_quartile.tolist()
    [nan, 1.0]
    """
    rows = np.full((tree.n_levels, len(QUANTILES) + 1), np.nan)
    for level in range(tree.n_levels):
        here = errors[tree.level(level)]
        here = here[np.isfinite(here)]
        if here.size:
            rows[level] = [*np.quantile(here, QUANTILES), here.mean()]
    return LevelBoxes(label, *rows.T)


def box_table(groups: Sequence[LevelBoxes], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind boxes of errors, one row for each group and level."""
    names = ("low", "lower_quartile", "median", "upper_quartile", "high", "mean")
    table: dict[str, list[Any]] = {
        "release": [group.label for group in groups for _ in level_names],
        "level": list(level_names) * len(groups),
    }
    return table | {name: [float(v) for group in groups for v in getattr(group, name)] for name in names}


def expected_series(
    chosen: Experiment, pipeline: str, before: ErrorSummary | None, after: ErrorSummary | None
) -> list[LevelErrors]:
    """Return the expected errors by level without post-processing and with it, where theory knows them."""
    both = (("none", before), (pipeline, after))[: 1 if pipeline == "none" else 2]
    return [
        LevelErrors(Series(chosen.mechanism, name).label, chosen.mechanism, CHAINS[name].steps, summary.level)
        for name, summary in both
        if summary is not None
    ]


def expected_table(
    chosen: Experiment, pipeline: str, tree: Tree, counts: AnyArray, level_names: Sequence[str]
) -> dict[str, list[Any]]:
    """Return the expected errors by level as a table."""
    before, after = (expected(Series(chosen.mechanism, name).of(chosen), tree, counts) for name in ("none", pipeline))
    return level_table(expected_series(chosen, pipeline, before, after), level_names)


def level_table(series: Sequence[LevelErrors], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind expected errors by level, one row for each series and level."""
    known = [(one.label, one.formula) for one in series if one.formula is not None]
    return {
        "series": [label for label, _ in known for _ in level_names],
        "level": list(level_names) * len(known),
        "RMSE": [float(v) for _, errors in known for v in errors],
    }


def bias_by_count(the: Draw) -> dict[str, list[object]]:
    """Return a table: nodes of similar true count, and the mean signed error of this draw before and after.

    A single node's error is mostly noise; the mean over many nodes of one size shows the bias.
    """
    edges = np.array([*COUNT_BINS, np.inf])
    of = np.clip(np.digitize(the.counts, edges) - 1, 0, len(COUNT_BINS) - 1)
    known = np.isfinite(the.errors[0]) & np.isfinite(the.errors[1]) & ~_exact(the)
    sizes = np.bincount(of[known], minlength=len(COUNT_BINS))
    sums = [np.bincount(of[known], weights=e[known], minlength=len(COUNT_BINS)) for e in the.errors]
    rows = np.flatnonzero(sizes)
    return {
        "true count": [_bin_name(i) for i in rows.tolist()],
        "nodes": sizes[rows].tolist(),
        "mean error before": (sums[0][rows] / sizes[rows]).tolist(),
        "mean error after": (sums[1][rows] / sizes[rows]).tolist(),
    }


def largest_gain(before: FloatArray, after: FloatArray) -> tuple[int, float] | None:
    """Return the level whose RMSE shrinks most and the ratio after / before; None when none shrinks.

    A level not measured before and known after (inf to finite) is the largest gain of all, ratio 0.

    >>> largest_gain(np.array([0.0, 4.0, 4.0]), np.array([0.0, 2.0, 3.0]))
    (1, 0.5)
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(before > 0, after / before, 1.0)
    ratio[np.isinf(before) & np.isfinite(after)] = 0.0
    ratio[~np.isfinite(ratio)] = 1.0
    best = int(np.argmin(ratio))
    return (best, float(ratio[best])) if ratio[best] < 1 - 1e-9 else None


def _exact(the: Draw) -> AnyArray:
    """Nodes of levels published exactly: they have no error to average."""
    return np.repeat(the.noise == 0, the.tree.level_sizes)


def _bin_name(i: int) -> str:
    low = COUNT_BINS[i]
    if i + 1 == len(COUNT_BINS):
        return f"{low} or more"
    high = COUNT_BINS[i + 1] - 1
    return str(low) if low == high else f"{low} to {high}"
