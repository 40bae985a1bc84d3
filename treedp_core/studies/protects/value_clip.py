"""Sums of values on a tree: what a clip leaves out against the noise it needs, and budgets tuned for sums.

A clip of m steps leaves max(v - m, 0) of a value v out, as a bound of m on the records of a unit does of one with v
records; and a clipped value moves sums as m records on one leaf move counts (`privacy.sums`). So `unit_bound` holds for
clips as it stands, its private choice, too: one record with v steps is one of those beyond every clip below v, so that
it changes each number of records beyond a clip by at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from treedp_core import postprocess
from treedp_core.allocation import split
from treedp_core.errors import Tolerance, level_mean
from treedp_core.experiment import Experiment, prepare, total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records.unit_rows import MOST
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import greedy
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.studies.protects.unit_bound import BoundErrors, IntArray, Mark, level_table
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.words import percent

MEDIAN: Final = 20.0
SPREAD: Final = 1.0
"""Of made-up values: the median in steps, and the standard deviation of the logarithm."""
SMALL: Final = 10_000
"""Nodes of a tree up to which the best split is sought."""


@dataclass(frozen=True, eq=False)
class LawOfValues:
    """Values that every record draws from one public law, apart from all others, in place of values of a table.

    It stands where `UnitRows` do: what each clip leaves out is expected, not exact.

    Parameters
    ----------
    chances : (MOST + 1,)
        How often a value has 0, 1, ... steps.
    counts : tuple of (n_nodes,) arrays
        Records at the nodes of each level.
    """

    chances: FloatArray
    counts: tuple[FloatArray, ...]

    @property
    def largest(self) -> int:
        """Most steps that a value has."""
        return int(np.flatnonzero(self.chances)[-1])

    @property
    def records(self) -> float:
        """Expected sum of all values, in steps."""
        return float(self.counts[0].sum() * self._beyond(np.zeros(1, dtype=np.int64))[0][0])

    def lacking(self, bounds: IntArray) -> FloatArray:
        """Return what each of some clips (n,) leaves out of each level, (n_levels, n), in steps; expected."""
        mean, _ = self._beyond(bounds)
        return np.stack([counts.sum() * mean for counts in self.counts])

    def lacking_squares(self, bounds: IntArray) -> FloatArray:
        """Return the expected squares of what the nodes of each level lack, added up, (n_levels, n), of clips (n,).

        A node of n records lacks n times the mean, with n times the variance: E[L^2] = n^2 mean^2 + n variance.
        """
        mean, square = self._beyond(bounds)
        return np.stack([(n @ n) * mean**2 + n.sum() * (square - mean**2) for n in self.counts])

    def units_beyond(self, bounds: IntArray) -> FloatArray:
        """Return the expected number of values above each of some clips (n,), (n,)."""
        above = 1.0 - np.cumsum(self.chances)
        return np.asarray(self.counts[0].sum() * np.maximum(above[np.minimum(bounds, MOST)], 0.0))

    def sums(self, clip: int) -> FloatArray:
        """Return the expected sum of clipped values at each node, (n_nodes,), in steps."""
        steps = np.minimum(np.arange(MOST + 1), clip)
        return np.concatenate(self.counts) * float(steps @ self.chances)

    def _beyond(self, bounds: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and mean square of what is beyond clips (n,) of one value."""
        beyond = np.maximum(np.arange(MOST + 1)[:, None] - bounds, 0).astype(float)
        return self.chances @ beyond, self.chances @ beyond**2


def made_up(tree: Tree, counts: AnyArray) -> LawOfValues:
    """Return values of a log-normal law for the records at the nodes (n_nodes,) of a tree: a public assumption.

    Half of them are up to 20 steps, and 16 % above 54; those above 1 000 steps have 1 000.

    >>> law = made_up(Tree.from_branching_factors((2,)), np.array([100, 40, 60]))
    >>> law.lacking(np.array([20])).round(1).tolist(), law.units_beyond(np.array([20, 1000])).round(1).tolist()
    ([[1772.9], [1772.9]], [49.0, 0.0])
    """
    edges = (np.log(np.arange(MOST) + 0.5) - math.log(MEDIAN)) / (SPREAD * math.sqrt(2.0))
    below = np.append(0.5 + 0.5 * np.vectorize(math.erf)(edges), 1.0)
    by_level = tuple(np.asarray(counts[tree.level(level)], dtype=float) for level in range(tree.n_levels))
    return LawOfValues(np.diff(below, prepend=0.0), by_level)


# ---- levels, and budgets


def clipped_levels(
    found: BoundErrors, release: Experiment, tree: Tree, clip: int, *, step: float, names: Sequence[str],
    mark: Mark = of_truth,
) -> dict[str, list[Any]]:  # fmt: skip
    """Return what each level lacks with a clip, its noise before and after least squares, and its own best clip.

    Numbers are in the unit of the values, of which a step of the grid is `step`.
    """
    table = level_table(found, clip, names, mark)
    best = table.pop(mark("best bound"))
    scaled = {head: [step * value for value in table[head]] for head in [*table][2:]}
    fitted = _fitted(replace(release, contributions=clip), tree)
    return {
        **{head: table[head] for head in ("level", "nodes")},
        **scaled,
        "noise after least squares": [step * value for value in fitted],
        mark("best clip"): [step * value for value in best],
    }


def _fitted(release: Experiment, tree: Tree) -> list[float]:
    """Root mean variance of each level after least squares, in steps."""
    noise = prepare(replace(release, postprocess=()), tree).noise
    variance = postprocess.prepare(tree, noise.variance, ("least_squares",), Tolerance())[1]
    assert variance is not None
    return [float(one) for one in np.sqrt(level_mean(tree, variance))]


@dataclass(frozen=True)
class SumSplit:
    """A split of the budget for sums, and its errors after least squares.

    Parameters
    ----------
    name : str
    amounts : tuple of float
        What each level spends.
    error : float
        RMSRE of the tree.
    plain : float
        The same without least squares; infinite where a level is not measured.
    gap : float, optional
        How much smaller the error of another split could be at most, as a part of it; None where nothing is proved.
    """

    name: str
    amounts: tuple[float, ...]
    error: float
    plain: float
    gap: float | None = None


def budgets_for_sums(release: Experiment, tree: Tree, sums: AnyArray, threshold: float) -> list[SumSplit]:
    """Return splits of the budget for sums (n_nodes,) in steps: equal shares, greedy, and on small trees the best one.

    Parameters
    ----------
    release : Experiment
        Whose unit is that of sums: see `privacy.sums`.
    tree : Tree
    sums : (n_nodes,)
        What the splits are tuned for and judged by.
    threshold : float
        tau of RMSRE, in steps: errors count relative to the sum, or to tau where that is more.

    Notes
    -----
    Sums of values up to c steps are counts whose unit moves them by c, so that greedy allocation (Dawson et al.,
    Algorithm 3) and the search for the best split take them as they are. Divided by c, noise, sums and tau are those of
    counts that one record moves by 1.
    """
    mechanism = MECHANISMS[release.mechanism]
    problem = Problem(
        tree, sums, release.mechanism, release.unit, "rmsre", Tolerance(threshold=threshold), least_squares=True
    )
    total = total_of(release, tree)
    even = split(tree, total, mechanism.currency, release.unit, "uniform", ()).per_level
    plain = replace(problem, least_squares=False)

    def judged(name: str, amounts: Sequence[float], gap: float | None = None) -> SumSplit:
        spent = np.asarray(amounts, dtype=float)
        return SumSplit(name, tuple(spent.tolist()), float(problem.error(spent)), float(plain.error(spent)), gap)

    found = [judged("equal shares", even), judged("greedy", greedy(problem, total).amounts.tolist())]
    if tree.n_nodes <= SMALL:
        best = optimum(problem, total)
        found.append(judged("best found", best.amounts.tolist(), best.gap))
    return found


def split_table(splits: Sequence[SumSplit], names: Sequence[str], mark: Mark = of_truth) -> dict[str, list[Any]]:
    """Return splits for sums, a row each: what every level spends, and the error."""
    spent = {f"spent on {name}": [one.amounts[level] for one in splits] for level, name in enumerate(names)}
    return {
        "split": [one.name for one in splits],
        **spent,
        mark("RMSRE"): [one.error for one in splits],
        mark("RMSRE without least squares"): [one.plain for one in splits],
        mark("could be smaller by"): ["not known" if one.gap is None else percent(one.gap) for one in splits],
    }
