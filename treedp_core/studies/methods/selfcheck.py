"""The self-check: every closed form against a simulation that shares no formula with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.minimax import squared_norm
from treedp_core.allocation.shares import PUBLISHED_SPLITS
from treedp_core.checks import DELTA_USUAL
from treedp_core.errors import METRICS
from treedp_core.errors.compare import mean_and_error
from treedp_core.experiment import Experiment, prepare, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.stability import stability
from treedp_core.noise import DiscreteLaplace, expected_maximum
from treedp_core.postprocess import POSTPROCESSORS, least_squares
from treedp_core.privacy import ADDED, NeighbouringRelation
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import PHASES, greedy
from treedp_core.studies.budget.splits.node_budgets import FINER, node_error, split_by_subtree, topped_up
from treedp_core.studies.cdf.baselines import BASELINES, hb_children
from treedp_core.studies.cdf.error import Criterion, optimal_shares, total_squared_error
from treedp_core.studies.cdf.release import CdfSettings, plan_tree
from treedp_core.studies.methods.bounds import TABLES
from treedp_core.studies.methods.comparison import KNOWN_BEFORE, base, cdf_plan, small_tree, tuned_split
from treedp_core.studies.methods.entries import METHODS, TUNED
from treedp_core.studies.topdown.plan import plan
from treedp_core.tree import FloatArray, Tree
from treedp_core.tree.workloads import Shape, equal_tree
from treedp_core.watch import Watch, generator

SEED: Final = 20_261
TRIALS: Final = 20_000
WITHIN: Final = 3.0
"""Standard errors."""
OUTSIDE: Final = math.erfc(WITHIN / math.sqrt(2.0))
"""Probability that a right formula is further than that from its simulation."""


@dataclass(frozen=True)
class Row:
    """A closed form beside its simulation.

    Parameters
    ----------
    entry : str
        Name in `METHODS`.
    what : str
        What was computed, in words.
    closed, simulated, standard_error : float
    """

    entry: str
    what: str
    closed: float
    simulated: float
    standard_error: float

    @property
    def apart(self) -> float:
        """How many standard errors the simulation is above the closed form."""
        gap = self.simulated - self.closed
        return gap / self.standard_error if self.standard_error else math.copysign(math.inf, gap) if gap else 0.0

    @property
    def holds(self) -> bool:
        """Whether they agree within `WITHIN` standard errors."""
        return abs(self.apart) <= WITHIN


@dataclass(frozen=True)
class SelfCheck:
    """What the self-check found; `without` are labels of entries that have no closed form."""

    rows: tuple[Row, ...]
    without: tuple[str, ...]
    trials: int
    seed: int

    @property
    def n_within(self) -> int:
        """How many closed forms agree."""
        return sum(row.holds for row in self.rows)

    @property
    def expected_outside(self) -> float:
        """How many right ones would disagree, on average over seeds."""
        return OUTSIDE * len(self.rows)

    @property
    def worst_chance(self) -> float:
        """Chance that the furthest of so many right ones is as far as it is: 1 - (1 - p)^n."""
        p = math.erfc(max(abs(row.apart) for row in self.rows) / math.sqrt(2.0))
        return -math.expm1(len(self.rows) * math.log1p(-p)) if p < 1 else 1.0


_Found = tuple[float, float, float] | None
"""A closed form, its simulation and the standard error; none where there is no closed form."""
_Check = tuple[str, str, Callable[[int, int, Watch], _Found]]
UNEQUAL: Final = (2, 3, 4)
"""Children by level of a tree on which no two splits are the same."""
NAMED_BINS: Final = 27
TALLER: Final = (2, 3, 2, 2)
"""Another, for splits that are found: the greedy one and the best are not the same."""


def n_steps(trials: int = TRIALS) -> int:
    """Return what a watch of `self_check` counts up to."""
    return len(list(_checks())) * trials


def self_check(trials: int = TRIALS, watch: Watch | None = None, *, seed: int = SEED) -> SelfCheck:
    """Return every closed form of the tables beside a simulation of it.

    Parameters
    ----------
    trials : int
        Of each.
    watch : Watch, optional
        Told of the trials that are done.
    seed : int

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    """
    n, watch = checks.trials(trials, small_tree()[0].n_nodes), watch or Watch()
    rows = []
    for entry, what, compute in _checks():
        watch.check()
        found = compute(n, checks.seed(seed), watch)
        rows += [] if found is None else [Row(entry, what, *found)]
    checked = {row.entry for row in rows}
    without = tuple(one.label for name, one in METHODS.items() if name not in checked)
    return SelfCheck(tuple(rows), without, n, seed)


def check_table(found: SelfCheck) -> dict[str, list[Any]]:
    """Return the rows as columns."""
    rows = found.rows
    return {
        "entry": [METHODS[row.entry].label for row in rows],
        "checked": [row.what for row in rows],
        "closed form": [row.closed for row in rows],
        "simulation": [row.simulated for row in rows],
        "standard error": [row.standard_error for row in rows],
        "standard errors apart": [row.apart for row in rows],
    }


# ---- what is checked


def _checks() -> Iterator[_Check]:
    for name in MECHANISMS:
        for steps, after in (((), "before least squares"), (("least_squares",), "after least squares")):
            cell = base(mechanism=name, postprocess=steps)
            yield f"mechanisms.{name}", f"RMSE {after}", partial(_experiment, cell, ())
    for name, step in POSTPROCESSORS.items():
        if step.linear:
            yield f"postprocessors.{name}", "RMSE", partial(_experiment, base(postprocess=(name,)), UNEQUAL)
    for name in ALLOCATIONS:
        shares = (0.0, 0.2, 0.3, 0.5) if name == "custom" else ()
        cell = base(mechanism="gaussian", allocation=name, shares=shares, postprocess=("least_squares",))
        yield f"allocations.{name}", "RMSE, Gaussian, least squares", partial(_experiment, cell, UNEQUAL)
    for name in TUNED:
        cell = base(
            mechanism="gaussian",
            postprocess=("least_squares",),
            **tuned_split(name, TALLER),
        )
        yield f"allocations.{name}", "RMSE, Gaussian, least squares", partial(_experiment, cell, TALLER)
    yield from _of_others()
    for name in KNOWN_BEFORE:
        yield f"strategies.{name}", "mean variance of 32 cumulative counts", partial(_prefixes, name)
    yield "simple.stability", "mean square error of counts of 1, 15, 30 and 500", _told
    for name, metric in METRICS.items():
        cell = base(metric=name, relation=NeighbouringRelation.ADD_OR_REMOVE_ONE.value)
        yield f"metrics.{name}", f"{metric.label}, one record added", partial(_experiment, cell, ())
    yield "bounds.gamma_2", "variance of the worst node, attained", _worst_node
    yield "bounds.cumulative_laplace", "N² E₂ of 16 × 16 (Theorem IV.1)", _cumulative
    yield "bounds.inftda", "largest of 64 noises, not projected", _largest


def _of_others() -> Iterator[_Check]:
    for name, split in PUBLISHED_SPLITS.items():
        cell = base(
            mechanism="gaussian",
            postprocess=("least_squares",),
            allocation="custom",
            shares=split.shares,
            relation=ADDED.relation.value,
        )
        yield f"published.{name}", "RMSE, Gaussian", partial(_experiment, cell, (2,) * (len(split.exact) - 1))
    for name in FINER:
        yield f"finer.{name}", "mean variance, discrete Laplace", partial(_finer, name)
    for name in ("h2", "hb", "greedy_h"):
        yield f"baselines.{name}", "mean variance of 27 cumulative counts", partial(_named, name)
    yield "baselines.privelet", "mean variance of 27 cumulative counts", _wavelets


def _experiment(cell: Experiment, factors: tuple[int, ...], trials: int, seed: int, watch: Watch) -> _Found:
    """A run on the made-up data set, or on an empty tree of so many children by level."""
    tree, counts = small_tree()
    if factors:
        tree = Tree.from_branching_factors(factors)
        counts = np.zeros(tree.n_nodes, dtype=np.int64)
    found = run(replace(cell, trials=trials, seed=seed), tree, counts, watch=watch)
    if found.formula is None or found.simulation is None:
        return None
    return found.formula.tree, found.simulation.tree, found.simulation.tree_se


def _prefixes(name: str, trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """One way to put noise on a CDF: its formula against errors that were drawn."""
    plan = cdf_plan(name, 32)
    errors = plan.errors(generator("self-check: ways of a CDF", name, seed), trials)
    watch.step(trials)
    return float(plan.variance.mean()), *_mean(np.square(errors).mean(axis=1))


def _finer(name: str, trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """Noise of every node by a budget of its own, then least squares: a leaf near the root, or unlike subtrees."""
    tree = Tree.from_child_counts([np.array([2]), np.array([0, 3]), np.array([2, 0, 1])])
    problem = Problem(tree, np.arange(tree.n_nodes) + 5, "discrete_laplace", ADDED, "rmse", first_level=1)
    amounts = np.array([0.0, 0.3, 0.3, 0.4])
    spent = topped_up(tree, ADDED, amounts, 1.0)
    if name == "subtree":
        spent = split_by_subtree(problem, 1.0, 1, lambda one, total: greedy(one, total, PHASES).amounts).node_amounts
    variance, rng = np.full(tree.n_nodes, np.inf), generator("self-check: finer budgets", name, seed)
    noise = np.zeros((trials, tree.n_nodes))
    for node in np.flatnonzero(spent):
        law = DiscreteLaplace(float(spent[node]))
        variance[node], noise[:, node] = law.variance, law.sample(rng, trials)
    errors = least_squares.prepare(tree, variance)[0](noise)[:, 1:]
    watch.step(trials)
    return float(node_error(problem, spent).tree) ** 2, *_mean(np.square(errors).mean(axis=1))


def _named(name: str, trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """A baseline on a tree: its formula against drawn noise of the same tree and budgets."""
    shape = equal_tree(NAMED_BINS, hb_children(NAMED_BINS) if name == "hb" else 2)
    criterion = Criterion(least_squares=True, unit=ADDED)
    shares: tuple[float, ...] = (1.0 / (shape.height + 1),) * (shape.height + 1)
    if name == "greedy_h":
        shares = tuple(float(one) for one in optimal_shares(shape, criterion).shares)
    settings = CdfSettings(
        NAMED_BINS,
        shape.branching_factors,
        "laplace",
        allocation="custom",
        shares=shares,
        relation=ADDED.relation.value,
    )
    plan = plan_tree(settings)
    errors = plan.errors(generator("self-check: named baselines", name, seed), trials)
    watch.step(trials)
    return _claimed(name), *_mean(np.square(errors).mean(axis=1))


def _wavelets(trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """Privelet: noise on the total and on left minus right of every dyadic interval, and the transform undone."""
    size = 1 << (NAMED_BINS - 1).bit_length()
    sums = generator("self-check: wavelets", seed).laplace(0.0, size.bit_length(), (trials, 1))
    rng, n = generator("self-check: wavelets, differences", seed), size
    while n > 1:
        apart = rng.laplace(0.0, size.bit_length(), sums.shape)
        sums = np.stack([(sums + apart) / 2.0, (sums - apart) / 2.0], axis=2).reshape(trials, -1)
        n //= 2
    errors = np.cumsum(sums, axis=1)[:, :NAMED_BINS]
    watch.step(trials)
    return _claimed("privelet"), *_mean(np.square(errors).mean(axis=1))


def _claimed(name: str) -> float:
    error = BASELINES[name].error
    assert error is not None
    return error(NAMED_BINS, ADDED)


def _told(trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """The stability histogram's exact error, told or not, against releases of the same counts."""
    made = stability(ADDED, range(1), 1.0, DELTA_USUAL, "discrete_laplace")
    counts = np.array([1, 15, 30, 500])
    errors = made.release(np.tile(counts, (trials, 1)), generator("self-check: stability", seed)) - counts
    watch.step(trials)
    return float(np.square(made.error(counts)).mean()), *_mean(np.square(errors.astype(float)).mean(axis=1))


def _worst_node(trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    """Minimax shares and least squares give every node the variance gamma_2^2 / (2 rho)."""
    tree = Tree.from_branching_factors((2,) * 5)
    relation = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    cell = base(mechanism="gaussian", postprocess=("least_squares",), allocation="minimax", relation=relation)
    ready = prepare(cell, tree)
    rho = math.fsum(ready.budget.per_level)
    errors = ready.postprocessing[0](ready.noise.draw(generator("self-check: worst node", seed), trials))
    watch.step(trials)
    return squared_norm((2,) * 5) / (2.0 * rho), *_mean(np.square(errors[:, int(tree.level(5).start)]))


def _cumulative(trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    ready = plan_tree(CdfSettings(256, (16, 16), "laplace", 1.0, least_squares=False))
    errors = ready.noise.draw(generator("self-check: cumulative counts", seed), trials)
    off = np.stack([errors[:, ready.tree.prefix_cover(j)].sum(axis=1) for j in range(1, 256)])
    watch.step(trials)
    return total_squared_error(Shape.full((16, 16)), (0.5, 0.5), 1), *_mean(np.square(off).sum(axis=0))


def _largest(trials: int, seed: int, watch: Watch) -> tuple[float, float, float]:
    ready = plan(TABLES, 1.0)
    law, nodes = ready.laws[2], ready.cells[2]
    assert law is not None
    drawn = law.sample(generator("self-check: largest of a level", seed), (trials, nodes))
    watch.step(trials)
    return expected_maximum([(law, nodes)]), *_mean(np.abs(drawn).max(axis=1).astype(float))


def _mean(values: FloatArray) -> tuple[float, float]:
    mean, error = mean_and_error(values)
    return float(mean), float(error)
