"""Errors against the total for five strategies (Dawson et al., Figure 4): by its design, and on any data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core.errors import Tolerance
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies.budget.prior import noisy
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.question import NONE, Question, prior_for, problem_on
from treedp_core.studies.budget.splits.greedy import PHASES
from treedp_core.studies.budget.splits.node_budgets import node_error, split_by_subtree
from treedp_core.studies.budget.strategies import STRATEGIES, compare
from treedp_core.studies.budget.tables import ERRORS_LABEL
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Watch, generator

LAW: Final = "discrete_laplace"
PRIOR_EPSILON: Final = 1.0
TOTALS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
MERGED_DELAYS: Final = 3
PUBLISHED: Final = {(5, 10.0): 0.1, (4, 5.0): 0.17}
"""RMSRE of greedy splits with least squares at ε = 4 by height and τ, as the paper gives it, on records of Criteo."""

CURVES: Final = (
    ("Uniform", "uniform", False),
    ("Uniform, least squares", "uniform", True),
    ("Leaves only, least squares", "leaves_only", True),
    ("Greedy", "greedy", False),
    ("Greedy, least squares", "greedy", True),
)
"""Label, strategy, and whether it is post-processed: the five of Dawson et al., Figure 4."""


@dataclass(frozen=True)
class Design:
    """The published design: height of the tree (3 to 5), τ in records, slices, seed, and a split for each partner.

    A split is then tuned for each node of level 1, as in the paper.
    """

    height: int
    threshold: float
    phases: int
    seed: int
    by_partner: bool


@dataclass(frozen=True, eq=False)
class Curves:
    """Errors of the tree against the total budget.

    Parameters
    ----------
    totals : (n,)
    labels : tuple of str
    errors : (curves, n)
        The metric's value for the tree; inf where a count is not determined.
    of : Question or Design, optional
        What was asked.
    """

    totals: FloatArray
    labels: tuple[str, ...]
    errors: FloatArray
    of: Question | Design | None = None

    @classmethod
    def empty(cls, totals: Sequence[float] = TOTALS) -> Curves:
        """Return axes with no curve on them, for totals (n,)."""
        return cls(np.array(totals), (), np.zeros((0, len(totals))))

    def near(self, total: float) -> tuple[float, dict[str, float]]:
        """Return the total closest to one's own (by ratio), and the error of each strategy there."""
        at = int(np.argmin(np.abs(np.log(self.totals / total))))
        return float(self.totals[at]), dict(zip(self.labels, self.errors[:, at].tolist(), strict=True))


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


@dataclass(frozen=True, eq=False)
class Periods:
    """The sample on a tree of the wanted height, its records put at random into an earlier and a later half.

    Parameters
    ----------
    tree : Tree
    earlier, later : (n_nodes,)
        Counts in records.
    """

    tree: Tree
    earlier: AnyArray
    later: AnyArray


def periods(data: Dataset, height: int, seed: int) -> Periods:
    """Return the two halves of the attribution-like sample.

    Below height 5 the delay is merged to 6-day buckets and known attributes are left out from the last, as in the
    paper; an attribute is left out by adding up over it.
    """
    tree = data.tree
    n_delays = int(tree.n_children[tree.level(tree.height - 1)][0])
    leaves = np.asarray(data.counts[tree.level(tree.height)]).reshape(-1, n_delays)
    if height < tree.height:
        leaves = leaves.reshape(leaves.shape[0], n_delays // MERGED_DELAYS, MERGED_DELAYS).sum(axis=2)
        for level in range(tree.height - 2, height - 2, -1):
            leaves = np.add.reduceat(leaves, tree.first_child[tree.level(level)] - tree.level_start[level + 1], axis=0)
    above = [tree.n_children[tree.level(level)] for level in range(height - 1)]
    shorter = Tree.from_child_counts([*above, np.full(leaves.shape[0], leaves.shape[1])])
    earlier = generator("earlier half", seed).binomial(leaves.ravel(), 0.5)
    return Periods(shorter, shorter.counts_of_leaves(earlier), shorter.counts_of_leaves(leaves.ravel() - earlier))


def unit_of(height: int) -> ProtectedUnit:
    """Return who is protected: the delay is unknown, everything above it is known."""
    return ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, known_levels=height)


def figure4(design: Design, data: Dataset, watch: Watch | None = None) -> Curves:
    """Return the five curves; greedy splits are tuned on a noisy release of the earlier half.

    Parameters
    ----------
    design : Design
    data : Dataset
        The attribution-like sample.
    watch : Watch, optional
        As in `curves`.
    """
    seed = design.seed
    halves, unit = periods(data, design.height, seed), unit_of(design.height)
    prior = noisy(halves.tree, halves.earlier, unit, LAW, PRIOR_EPSILON, generator("prior on the earlier half", seed))
    tuned, judged = (
        Problem(halves.tree, counts, LAW, unit, "rmsre", Tolerance(threshold=design.threshold))
        for counts in (prior.counts, halves.later)
    )
    found = curves(tuned, judged, TOTALS, design.phases, 1 if design.by_partner else None, watch)
    return replace(found, of=design)


def curves_of(
    question: Question,
    data: Dataset,
    file: Dataset | None = None,
    watch: Watch | None = None,
    *,
    totals: Sequence[float] = TOTALS,
) -> Curves:
    """Return the five curves on a data set of one's own; what a prior costs is part of each total.

    Parameters
    ----------
    question : Question
        The noise, whom it protects, the metric, and what greedy splits are tuned on; not its ε, nor its least squares.
    data : Dataset
    file : Dataset, optional
        What a prior is counted from, where the question asks for one; without it no greedy splits.
    watch : Watch, optional
        As in `curves`.
    totals : sequence of float
        Each in ε.

    Raises
    ------
    InputError
        ``PRIOR_EMPTY``, ``BUDGET_EXCEEDED`` for a noisy prior that costs even the largest total, and what a mechanism
        refuses.
    """
    watch = watch or Watch()
    asked = [replace(question, experiment=replace(question.experiment, epsilon=total)) for total in totals]
    free = question.prior == NONE
    priors = [None if free or _is_too_dear(one) else prior_for(one, data, file) for one in asked]
    drawn: Sequence[tuple[str, str, bool]] = CURVES
    if not free and not any(priors) and prior_for(asked[-1], data, file) is None:  # it says why, where one is too dear
        drawn = CURVES[:3]
    errors = np.full((len(drawn), len(totals)), np.nan)
    for row, (_, name, squares) in watch.over(list(enumerate(drawn)), 100):
        truth = _judged(question, data, data.counts, squares).watched(watch)
        for column, one in enumerate(asked):
            judged, known = truth.held_to(one.within), priors[column]
            if not STRATEGIES[name].needs_prior:
                found = compare(judged, judged, one.total, (name,))
            elif known is None and not free:
                continue
            else:
                tuned = _judged(question, data, None if known is None else known.counts, squares)
                found = compare(tuned, judged, one.total, (name,), question.phases, known, watch=watch)
            errors[row, column] = found[0].errors.tree
    return Curves(np.asarray(totals, dtype=np.float64), tuple(label for label, _, _ in drawn), errors, question)


def _is_too_dear(one: Question) -> bool:
    """Whether a prior would cost all of a total."""
    return one.pays and one.epsilon_of_prior >= one.experiment.epsilon


def _judged(question: Question, data: Dataset, counts: AnyArray | None, squares: bool) -> Problem:
    steps = ("least_squares",) if squares else ()
    return problem_on(replace(question, experiment=replace(question.experiment, postprocess=steps)), data, counts)


def curve_table(found: Curves) -> dict[str, Any]:
    """Return the errors of every strategy by total budget."""
    named = dict(zip(found.labels, found.errors, strict=True))
    return {ERRORS_LABEL: [NOT_PRIVATE] * found.totals.size, "epsilon": found.totals, **named}
