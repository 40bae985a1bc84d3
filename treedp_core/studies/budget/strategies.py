"""Every way to split the budget, side by side, and their errors against the total (Dawson et al., Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.privacy import Budget
from treedp_core.registry import Table, lookup, table
from treedp_core.studies.budget.greedy import PHASES, greedy
from treedp_core.studies.budget.optimum import optimum
from treedp_core.studies.budget.per_node import node_error
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.subtrees import split_by_subtree
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch


class Amounts(Protocol):
    """How a strategy splits."""

    def __call__(self, problem: Problem, total: float, phases: int) -> FloatArray:
        """Return what each level spends, (n_levels,)."""


@dataclass(frozen=True)
class Strategy:
    """A table entry: ``amounts(problem, total, phases)`` returns what each level spends, (n_levels,).

    `needs_prior` says that it looks at the problem's counts, so that they must be public or paid for.
    """

    name: str
    label: str
    help: str
    amounts: Amounts
    needs_prior: bool


def _data_free(name: str) -> Strategy:
    one = ALLOCATIONS[name]

    def amounts(problem: Problem, total: float, phases: int) -> FloatArray:
        return problem.scaled(one.shares(problem.tree, problem.unit, problem.currency, ()), total)

    return Strategy(name, one.label, one.help, amounts, needs_prior=False)


STRATEGIES: Final[Table[Strategy]] = table(
    *(_data_free(name) for name in ALLOCATIONS if name != "custom"),
    Strategy(
        "greedy",
        "Greedy",
        "Slice by slice to the level where it lowers the error most, judged on the prior (Dawson et al., Algorithm 3).",
        lambda problem, total, phases: greedy(problem, total, phases).amounts,
        needs_prior=True,
    ),
    Strategy(
        "optimum",
        "Tuned",
        "The best split found for the prior: proved the best for Gaussian noise, the best of many searches for other.",
        lambda problem, total, phases: optimum(problem, total).amounts,
        needs_prior=True,
    ),
)


@dataclass(frozen=True, eq=False)
class Result:
    """One strategy's split and the errors it has on the true counts.

    Parameters
    ----------
    strategy : str
    budget : Budget
        Its exact charge is at most the total.
    level : (n_levels,)
        The metric's value for each level; inf where a count is not determined.
    tree : float
        The metric's value for the tree.
    """

    strategy: str
    budget: Budget
    level: FloatArray
    tree: float


def compare(
    prior: Problem, truth: Problem, total: float, names: Sequence[str] = tuple(STRATEGIES), phases: int = PHASES
) -> list[Result]:
    """Return the named strategies tuned on one problem and judged on another, in the order given.

    Parameters
    ----------
    prior : Problem
        Whose counts strategies may look at.
    truth : Problem
        The same with the true counts.
    total : float
        Epsilon or rho left for the levels.
    names : sequence of str
        Names in `STRATEGIES`.
    phases : int
        Of the greedy allocation.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN``, and what the strategies raise.
    """
    prior.total_checked(total)
    _ = prior.levels_to_split
    results = []
    for name in names:
        shares = lookup(STRATEGIES, name, "strategy").amounts(prior, total, phases)
        budget = prior.budget(shares, total)
        found = truth.summary(np.where(truth.paid > 0, budget.per_level, 0.0))
        results.append(Result(name, budget, found.level, found.tree))
    return results


def verdict(results: Sequence[Result]) -> str | None:
    """Return the sentence that says when a strategy that needs no data beats the greedy split; None when none does."""
    simple = [one for one in results if not STRATEGIES[one.strategy].needs_prior]
    greedy_one = next((one for one in results if one.strategy == "greedy"), None)
    if greedy_one is None or not simple:
        return None
    best = min(simple, key=lambda one: one.tree)
    if not best.tree < greedy_one.tree * (1.0 - 1e-9):
        return None
    return (
        f"Here the greedy split loses: its error is {greedy_one.tree:.3g}, "
        f"{STRATEGIES[best.strategy].label.lower()} has {best.tree:.3g} and looks at no data."
    )


CURVES: Final = (
    ("Uniform", "uniform", False),
    ("Uniform, least squares", "uniform", True),
    ("Leaves only, least squares", "leaves_only", True),
    ("Greedy", "greedy", False),
    ("Greedy, least squares", "greedy", True),
)
"""Label, strategy, and whether it is post-processed: the five of Dawson et al., Figure 4."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Errors of the tree against the total budget.

    Parameters
    ----------
    totals : (n,)
    labels : tuple of str
    errors : (curves, n)
        The metric's value for the tree; inf where a count is not determined.
    """

    totals: FloatArray
    labels: tuple[str, ...]
    errors: FloatArray


def curves(
    prior: Problem,
    truth: Problem,
    totals: Sequence[float],
    phases: int = PHASES,
    subtrees_at: int | None = None,
    watch: Watch | None = None,
) -> Curves:
    """Return the errors of the five strategies of Dawson et al., Figure 4, for each total.

    Parameters
    ----------
    prior : Problem
        Its counts are what the greedy splits are tuned on.
    truth : Problem
        The same tree, law and metric with the true counts.
    totals : sequence of float
        Epsilon or rho left for the levels.
    phases : int
        Of the greedy allocation.
    subtrees_at : int, optional
        Tune a split for each subtree of this level (each partner in the paper), with the pooled split for those whose
        prior is empty; levels above it are then neither measured nor judged.
    watch : Watch, optional
        Told of the progress in hundredths.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    """
    watch = watch or Watch()
    prior, truth = prior.watched(watch), truth.watched(watch)
    first = subtrees_at or 0
    errors = np.empty((len(CURVES), len(totals)))
    for row, (_, name, squares) in watch.over(list(enumerate(CURVES)), 100):
        tuned = replace(prior, least_squares=squares, first_level=first)
        judged = replace(truth, least_squares=squares, first_level=first)
        strategy = STRATEGIES[name]
        for column, total in enumerate(totals):
            judged.total_checked(total)
            if strategy.needs_prior and subtrees_at is not None:
                splits = split_by_subtree(tuned, total, subtrees_at, partial(strategy.amounts, phases=phases))
                errors[row, column] = node_error(judged, splits.node_amounts).tree
            else:
                errors[row, column] = judged.error(strategy.amounts(tuned, total, phases))
    return Curves(np.asarray(totals, dtype=np.float64), tuple(label for label, _, _ in CURVES), errors)
