"""How many records of one unit to count: what a bound leaves out against the noise that it needs, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from treedp_core.allocation import split
from treedp_core.checks import EPSILON_LOW, InputError
from treedp_core.experiment import Experiment, total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Dataset
from treedp_core.records.unit_rows import MOST, UnitRows
from treedp_core.tree import AnyArray, FloatArray, Tree

IntArray = NDArray[np.int64]

BOUNDS: Final = (
    *range(1, 21), 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 71, 80, 90, 100, 110, 125, 140, 160, 180, 200, 225, 250, 280,
    320, 360, 400, 450, 500, 560, 630, 710, 800, 900, MOST,
)  # fmt: skip
"""Bounds that are compared: all up to 20, then steps of an eighth or so. They look at no data."""
PAID: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Parts of ε that a private choice of the bound may be given."""
RANGE: Final = 0.9
"""How often a private choice falls into the range that is named."""


class LeftOut(Protocol):
    """What bounds leave out: `UnitRows`, or what is expected of a law."""

    @property
    def largest(self) -> int:
        """The first bound that leaves nothing out, or `MOST`."""

    @property
    def records(self) -> float:
        """Records, all of which bound 0 leaves out."""

    def lacking(self, bounds: IntArray) -> AnyArray:
        """Return the records that bounds (n,) leave out of each level, (n_levels, n)."""

    def lacking_squares(self, bounds: IntArray) -> AnyArray:
        """Return the squares of what nodes lack with bounds (n,), added up by level, (n_levels, n)."""

    def units_beyond(self, bounds: IntArray) -> AnyArray:
        """Return the units with more records than bounds (n,), (n,)."""


@dataclass(frozen=True, eq=False)
class BoundErrors:
    """The error of each level with some bounds on the records of one unit.

    Parameters
    ----------
    rows : LeftOut
        What each bound leaves out.
    bounds : (n,)
    left_out : (n_levels, n)
        Root mean square over the nodes of a level of what each lacks, in records: its count is too small by just that.
    noise : (n_levels, n)
        Standard deviation of the noise of a node, in records: 0 published exactly, inf not released.
    shown : (n_levels,) bool
        The levels that are released, and whose errors are added up.
    nodes : (n_levels,)
    """

    rows: LeftOut
    bounds: IntArray
    left_out: FloatArray
    noise: FloatArray
    shown: NDArray[np.bool_]
    nodes: IntArray

    @property
    def rmse(self) -> FloatArray:
        """Root mean square error of a node, (n_levels, n), in records."""
        return np.hypot(self.left_out, self.noise)

    def added_up(self, by_level: FloatArray) -> FloatArray:
        """Return values (n_levels, n) added up over the levels that count, (n,)."""
        return np.asarray(by_level[self.shown].sum(axis=0))

    @property
    def best(self) -> int:
        """Where among the bounds the errors of the levels that count have the smallest sum; of equals the first."""
        return int(np.argmin(self.added_up(self.rmse)))

    def at(self, bound: int) -> int:
        """Where a bound stands among those that are compared."""
        return int(np.searchsorted(self.bounds, bound))


def bounds_with(bound: int) -> IntArray:
    """Return `BOUNDS` with one more, in ascending order, (n,)."""
    return np.array(sorted({*BOUNDS, bound}), dtype=np.int64)


def noise_of(experiment: Experiment, tree: Tree, bounds: IntArray) -> FloatArray:
    """Return the standard deviation of the noise of a node of each level with each bound (n,), (n_levels, n).

    Noise is before post-processing; discrete Gaussian noise is accounted for by the formula, so that the same budget
    stands behind all bounds.

    Raises
    ------
    InputError
        What `experiment.prepare` refuses.
    """
    by_formula = replace(experiment, accounting=Accounting.FORMULA.value)
    mechanism, total = MECHANISMS[experiment.mechanism], total_of(by_formula)

    def variances(bound: int) -> FloatArray:
        unit = replace(by_formula, contributions=bound).unit
        budget = split(tree, total, mechanism.currency, unit, experiment.allocation, experiment.shares)
        return mechanism.plan(tree, budget, unit).level_variance

    return np.sqrt(np.stack([variances(bound) for bound in bounds.tolist()], axis=1))


def bound_errors(
    experiment: Experiment, tree: Tree, rows: LeftOut, bounds: IntArray, level: int | None = None
) -> BoundErrors:
    """Return the errors of all levels with some bounds.

    Parameters
    ----------
    experiment : Experiment
        Its contributions are not looked at: the bounds stand in their place.
    tree : Tree
    rows : LeftOut
        Of the records on the tree.
    bounds : (n,)
        In ascending order, from 1 to `MOST`.
    level : int, optional
        The level whose error counts; by default that of all levels that are released, added up.

    Examples
    --------
    Of 100 units one has 50 records, and the others have one:

    >>> lacking = (149, *range(49, -1, -1))
    >>> rows = UnitRows((lacking,) * 2, (tuple(n**2 for n in lacking),) * 2)
    >>> tree = Tree.from_branching_factors((1,))
    >>> release = Experiment("laplace", relation="add_or_remove_one")
    >>> found = bound_errors(release, tree, rows, np.arange(1, 51))
    >>> int(found.bounds[found.best]), found.left_out[0, :3].tolist(), found.noise[0, :3].round(2).tolist()
    (6, [49.0, 48.0, 47.0], [2.83, 5.66, 8.49])
    """
    nodes = tree.level_sizes
    left_out = np.sqrt(rows.lacking_squares(bounds) / nodes[:, None])
    noise = noise_of(experiment, tree, bounds)
    shown = np.isfinite(noise[:, 0])
    if level is not None:
        shown = shown & (np.arange(nodes.size) == level)
    return BoundErrors(rows, bounds, left_out, noise, shown, nodes)


def public_units(data: Dataset, public: Dataset) -> Dataset:
    """Return a public table whose units may stand for those of the data.

    Raises
    ------
    InputError
        ``PRIOR_IS_DATA`` where it holds the data once more; ``PRIOR_UNITS`` where nothing is known of its units.
    """
    if data.is_same_as(public):
        raise InputError("PRIOR_IS_DATA", "Expected public or historic records, got the data themselves once more.")
    if public.report.unit_rows is None:
        raise InputError("PRIOR_UNITS", "Expected records whose units are named by a column, and no counts.")
    return public


# ---- a bound that is chosen privately: its chances, and what it costs


def thresholds(found: BoundErrors) -> FloatArray:
    """Return how many units may have more records than each bound before the next bound is better, (n,); public.

    Notes
    -----
    With bound m each level lacks D(m) records, D(m) / n_l a node where it has n_l nodes, and has noise of standard
    deviation s_l(m). The sum J(m) over levels of both bounds what the levels' RMSE would be if all their nodes lacked
    as much. From m to m + 1, D falls by N(m), the number of units with more than m records, and the noise grows by
    what is public: J falls as long as N(m) sum(1 / n_l) > sum(s_l(m + 1) - s_l(m)). N falls and the noise is linear in
    m, up to rounding, so the first m with N(m) at most the threshold is best (Amin, Kulesza, Munoz Medina and
    Vassilvitskii, 2019: the best cap leaves about as many units above it as one over ε).
    """
    grows = np.diff(found.added_up(found.noise)) / np.diff(found.bounds)
    weight = float(np.sum(1.0 / found.nodes[found.shown]))
    return np.append(grows / weight if weight else grows, np.inf)


def chances(units_beyond: Sequence[int] | AnyArray, limits: FloatArray, epsilon: float) -> FloatArray:
    r"""Return how often each bound is chosen by the exponential mechanism at ε, (n,).

    It is ε-differentially private for one unit that comes, goes or is replaced, however many records it has: no bound
    on these is needed first.

    Parameters
    ----------
    units_beyond : (n,)
        N(m): units with more records than each bound, which falls along the bounds. Private.
    limits : (n,)
        Public thresholds, the last one infinite: the first bound with N(m) at most its threshold is the right one.
    epsilon : float

    Notes
    -----
    The score of bound i is -max(N_i - w_i, w_(i-1) - N_(i-1), 0), without the second for the first bound: 0 for the
    right bound, and as far below 0 as N is from making another one right. A unit with x records is one of those
    beyond all bounds below x, so that one unit changes every N_i by at most 1, and as a maximum of such terms the
    score by at most 1. Chances in proportion to exp(ε score / 2) are then ε-differentially private (McSherry and
    Talwar, 2007, Theorem 6). The score is that of the inverse sensitivity mechanism (Asi and Duchi, 2020) for a
    threshold.

    >>> chances([90, 5, 0], np.array([10.0, 10.0, np.inf]), 1.0).round(4).tolist()
    [0.0, 0.9241, 0.0759]
    """
    beyond = np.asarray(units_beyond, dtype=float)
    above = beyond - limits
    below = np.concatenate([[-np.inf], limits[:-1] - beyond[:-1]])
    score = -np.maximum(np.maximum(above, below), 0.0)
    weights = np.exp(epsilon / 2.0 * (score - score.max()))
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class PaidChoice:
    """What a private choice of the bound costs.

    Parameters
    ----------
    part : float
        Of ε that the choice gets.
    for_bound, for_counts : float
        Both parts: they add up to at most ε.
    low, high : int
        The range of bounds into which the choice falls in at least `RANGE` of cases.
    error : float
        Expected sum of the levels' RMSE, over the choice and the noise, in records.
    times : float
        That over the smallest sum with all of ε spent on the counts and the bound read off the records.
    """

    part: float
    for_bound: float
    for_counts: float
    low: int
    high: int
    error: float
    times: float


def paid_choices(
    experiment: Experiment, tree: Tree, rows: LeftOut, bounds: IntArray, level: int | None = None
) -> list[PaidChoice]:
    """Return what private choices among bounds (n,) cost, one for each part of ε in `PAID`.

    It refuses as `bound_errors` does.
    """
    exact = bound_errors(experiment, tree, rows, bounds, level)
    least = float(exact.added_up(exact.rmse)[exact.best])
    found = []
    for part in PAID:
        for_bound = part * experiment.epsilon
        for_counts = float(np.nextafter(experiment.epsilon - for_bound, 0.0))
        if for_counts < EPSILON_LOW:
            continue
        rest = bound_errors(replace(experiment, epsilon=for_counts), tree, rows, bounds, level)
        often = chances(rows.units_beyond(bounds), thresholds(rest), for_bound)
        error = float(often @ rest.added_up(rest.rmse))
        low, high = _range(bounds, often)
        found.append(PaidChoice(part, for_bound, for_counts, low, high, error, error / least if least else np.inf))
    return found


def _range(bounds: IntArray, often: FloatArray) -> tuple[int, int]:
    """The bounds without as many at both ends as hold half of what is left over each."""
    so_far, tail = np.cumsum(often), (1.0 - RANGE) / 2.0
    low = int(np.searchsorted(so_far, tail, side="right"))
    high = int(np.searchsorted(so_far, 1.0 - tail))
    last = bounds.size - 1
    return int(bounds[min(low, last)]), int(bounds[min(high, last)])


# ---- tables; what is marked there was found from the records


Mark = Callable[[str], str]
"""The head of a column -> the same, marked as NOT PRIVATE where it is."""


def bound_table(found: BoundErrors, mark: Mark = of_truth) -> dict[str, list[Any]]:
    """Return what each bound leaves out, and the errors of the levels that count, added up."""
    return {
        "records of a unit, at most": found.bounds.tolist(),
        mark("units with more"): found.rows.units_beyond(found.bounds).tolist(),
        mark("records left out"): found.rows.lacking(found.bounds)[0].tolist(),
        mark("left out, RMS"): found.added_up(found.left_out).tolist(),
        "noise": found.added_up(found.noise).tolist(),
        mark("RMSE"): found.added_up(found.rmse).tolist(),
    }


def level_table(found: BoundErrors, bound: int, names: Sequence[str], mark: Mark = of_truth) -> dict[str, list[Any]]:
    """Return what each level lacks with a bound, and its noise; with its own best bound."""
    at, rmse = found.at(bound), found.rmse
    return {
        "level": list(names),
        "nodes": found.nodes.tolist(),
        mark("bias of a node, mean"): (0.0 - found.rows.lacking(found.bounds)[:, at] / found.nodes).tolist(),
        mark("left out, RMS"): found.left_out[:, at].tolist(),
        "noise": found.noise[:, at].tolist(),
        mark("RMSE"): rmse[:, at].tolist(),
        mark("best bound"): found.bounds[np.argmin(rmse, axis=1)].tolist(),
    }


def paid_table(choices: Sequence[PaidChoice], mark: Mark = of_truth) -> dict[str, list[Any]]:
    """Return what private choices cost, a row for each part of ε."""
    return {
        "part of ε": [one.part for one in choices],
        "ε for the bound": [one.for_bound for one in choices],
        "ε for the counts": [one.for_counts for one in choices],
        mark("bounds chosen, 9 times in 10"): [
            f"{one.low}" if one.low == one.high else f"{one.low} to {one.high}" for one in choices
        ],
        mark("expected RMSE"): [one.error for one in choices],
        mark("times the best"): [one.times for one in choices],
    }


def unit_table(rows: UnitRows, mark: Mark = of_truth) -> dict[str, list[Any]]:
    """Return how many units have 1, 2, ... records, but for numbers that no unit has."""
    often = np.array(rows.units_with, dtype=np.int64)
    which = np.flatnonzero(often)
    return {mark("records of a unit"): (which + 1).tolist(), mark("units"): often[which].tolist()}
