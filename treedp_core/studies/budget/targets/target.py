"""What a level is asked to achieve, and how a target is written as a bound on variances."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import squared_relative
from treedp_core.noise import Law
from treedp_core.noise.normal_tail import density
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.targets.joint_probability import (
    may_miss,
    more_miss,
    more_miss_after_least_squares,
    usual_miss,
)
from treedp_core.studies.budget.targets.reliability import (
    after_least_squares,
    checked_confidence,
    normal_within,
    reach_of,
)
from treedp_core.tree import FloatArray, IntArray
from treedp_core.words import exact, normal_quantile, percent_set, plural, setting_text, with_noun

CLOSE: Final = 20
SMALLEST_TARGET: Final = 1e-9


class Ask(enum.Enum):
    """What a target bounds."""

    EVERY_NODE = "every count of the level is within the relative error with that confidence"
    AVERAGE_NODE = "a count of the level, taken at random, is within the relative error with that confidence"
    SHARE = "a part of the level's counts is within the relative error in one release, with that confidence"
    RMSE = "root mean square error of the level, in records"
    RMSRE = "root mean square relative error of the level"


@dataclass(frozen=True)
class Target:
    """One level's target: counties within 10 % nineteen times in twenty is ``Target(2, Ask.EVERY_NODE, 0.1, 0.95)``.

    Those of at least 100 records in the prior, 95 % of them in one release, is
    ``Target(2, Ask.SHARE, 0.1, 0.95, among=100, part=0.95)``.

    Parameters
    ----------
    level : int
    ask : Ask
    value : float
        The relative error (0.1 for 10 %), or the largest RMSE or RMSRE allowed; > 0.
    confidence : float
        For targets on single counts (all but RMSE and RMSRE), in (0, 1).
    at_least : float
        For those: smaller counts are judged as if they were it (records).
    among : float
        Only counts of at least so many records in the prior are asked about; 0 for all.
    in_records : bool
        For targets on single counts: whether `value` is in records instead, a margin.
    part : float
        For `Ask.SHARE`: how many of the counts are to be close, in (0, 1].

    Raises
    ------
    InputError
        ``TARGET_RANGE``.
    """

    level: int
    ask: Ask
    value: float
    confidence: float = 0.95
    at_least: float = 0.0
    among: float = 0.0
    in_records: bool = False
    part: float = 1.0

    def __post_init__(self) -> None:
        checks.integer("the level of a target", self.level, low=0, high=checks.MAX_NODES, code="TARGET_RANGE")
        checks.number("a target", self.value, low=SMALLEST_TARGET, code="TARGET_RANGE")
        checks.number("the smallest count", self.at_least, low=0, code="TARGET_RANGE")
        checks.number("the smallest count asked about", self.among, low=0, code="TARGET_RANGE")
        checks.number("the part of the counts", self.part, low=0, high=1, open_low=True, code="TARGET_RANGE")
        checked_confidence(self.confidence)

    @property
    def on_counts(self) -> bool:
        """Whether it is about single counts."""
        return self.ask in (Ask.EVERY_NODE, Ask.AVERAGE_NODE, Ask.SHARE)

    @property
    def reads_counts(self) -> bool:
        """Whether what it takes depends on the prior's counts: relative errors, or large counts alone.

        >>> Target(1, Ask.RMSE, 5.0).reads_counts, Target(1, Ask.EVERY_NODE, 0.1).reads_counts
        (False, True)
        """
        return self.among > 0 or not (self.in_records if self.on_counts else self.ask is Ask.RMSE)

    @property
    def within(self) -> str:
        """How close counts are to be, in words."""
        return with_noun(exact(self.value), "record") if self.in_records else percent_set(self.value)

    @property
    def described(self) -> str:
        """The target in words that fit after a level's name.

        >>> Target(2, Ask.EVERY_NODE, 0.1, 0.95).described
        'level 2: every count within 10 % with probability 0.95'
        >>> Target(2, Ask.SHARE, 8.0, 0.9, among=100, in_records=True, part=0.95).described
        'level 2: 95 % of the counts of at least 100 within 8 records in one release, with probability 0.9'
        """
        of = f" of at least {exact(self.among)}" if self.among else ""
        sure = f"with probability {setting_text(self.confidence)}"
        match self.ask:
            case Ask.EVERY_NODE:
                return f"level {self.level}: every count{of} within {self.within} {sure}"
            case Ask.AVERAGE_NODE:
                return f"level {self.level}: a random count{of} within {self.within} {sure}"
            case Ask.SHARE:
                which = f"{percent_set(self.part)} of the counts{of}"
                return f"level {self.level}: {which} within {self.within} in one release, {sure}"
        return f"level {self.level}: {self.ask.name}{f' of counts{of}' if of else ''} at most {exact(self.value)}"


@dataclass(frozen=True, eq=False)
class Bound:
    """A target on one problem: met when `value` is at most 1.

    Parameters
    ----------
    problem : Problem
    target : Target

    Raises
    ------
    InputError
        ``TARGET_RANGE`` when the tree has no such level; ``TARGET_INFEASIBLE`` when no budget can meet it.
    """

    problem: Problem
    target: Target

    def __post_init__(self) -> None:
        level, tree = self.target.level, self.problem.tree
        checks.integer("the level of a target", level, low=0, high=tree.height, code="TARGET_RANGE")
        if not self.chosen.size:
            raise InputError(
                "TARGET_RANGE",
                f"Level {level} has no count of at least {exact(self.target.among)} in the prior; "
                "ask about smaller ones.",
            )
        if self.uses_reach and self.problem.paid[level]:
            nothing = self.reach[self.chosen] == 0
            if self._is_lost(int(nothing.sum())):
                raise InputError(
                    "TARGET_INFEASIBLE",
                    f"Level {level} has {plural(int(nothing.sum()), 'count')} of 0, which no budget brings within "
                    f"{percent_set(self.target.value)}; judge small counts as if they were larger, "
                    "or relax that level.",
                )

    def _is_lost(self, without_reach: int) -> bool:
        """Whether so many counts that no budget brings close are too many."""
        match self.target.ask:
            case Ask.EVERY_NODE:
                return without_reach > 0
            case Ask.SHARE:
                return without_reach > self.may_miss
        return without_reach > (1.0 - self.target.confidence) * self.chosen.size

    @property
    def uses_reach(self) -> bool:
        """Whether the target is about single counts."""
        return self.target.on_counts

    @cached_property
    def chosen(self) -> IntArray:
        """Which nodes of the level are asked about, by their place in it, (n,): those large enough in the prior."""
        counts = np.asarray(self.problem.counts)[self.problem.tree.level(self.target.level)]
        return np.flatnonzero(counts >= self.target.among)

    @property
    def may_miss(self) -> int:
        """How many of the nodes asked about may miss in one release; a target on a part of them."""
        return may_miss(self.chosen.size, self.target.part)

    @cached_property
    def reach(self) -> FloatArray:
        """How many records each node of the level may be off, (nodes,); inf for those that are not asked about."""
        nodes = self.problem.tree.level(self.target.level)
        asked = np.asarray(self.problem.counts)[nodes] >= self.target.among
        return np.where(asked, reach_of_target(self.problem, self.target)[nodes], np.inf)

    @cached_property
    def node_weight(self) -> FloatArray:
        """What the variance of each node of the level adds to `value`; a root mean square target, (nodes,)."""
        nodes = self.problem.tree.level(self.target.level)
        counts = np.asarray(self.problem.counts)[nodes]
        one = np.ones(counts.size)
        loss = one if self.target.ask is Ask.RMSE else squared_relative(one, counts, self.problem.tolerance)
        asked = np.where(counts >= self.target.among, loss, 0.0)
        return np.asarray(asked / (self.chosen.size * self.target.value**2))

    # ---- after least squares, to search by: from the variances of classes, errors taken as normal

    @property
    def convex(self) -> bool:
        """Whether `value` is convex and homogeneous in the variances."""
        return self.target.ask not in (Ask.AVERAGE_NODE, Ask.SHARE)

    def of_variances(self, variance: FloatArray, every_close: bool = False) -> list[tuple[float, FloatArray]]:
        """Return the value from class variances (n_classes,), and its derivative by them.

        With `every_close`, for a target on every node, one pair for each class that comes within 0.01 % of deciding.
        """
        quotient, level = self.problem.quotient, self.target.level
        here = slice(int(quotient.class_start[level]), int(quotient.class_start[level + 1]))
        slope = np.zeros(quotient.n_classes)
        if not self.convex:
            value, slope[here] = self._average(variance)
            return [(value, slope)]
        slope[here] = self._class_weight[here]
        if self.target.ask is Ask.EVERY_NODE:
            each = slope * variance
            close = np.flatnonzero(each >= 0.9999 * each.max())[:CLOSE] if every_close else [int(np.argmax(each))]
            return [(float(each[i]), np.where(np.arange(slope.size) == i, slope, 0.0)) for i in close]
        return [(float(slope @ variance), slope)]

    @cached_property
    def _class_weight(self) -> FloatArray:
        quotient, nodes = self.problem.quotient, self.problem.tree.level(self.target.level)
        whole = np.full(self.problem.tree.n_nodes, np.inf)
        if self.target.ask is Ask.EVERY_NODE:
            whole[nodes] = self.reach
            return np.asarray(np.square(normal_quantile(self.target.confidence) / quotient.smallest(whole)))
        whole[:] = 0.0
        whole[nodes] = self.node_weight
        return quotient.sums(whole)

    def _average(self, variance: FloatArray) -> tuple[float, FloatArray]:
        quotient, level = self.problem.quotient, self.target.level
        start = int(quotient.class_start[level])
        of_node = quotient.class_of[self.problem.tree.level(level)]
        v, reach, allowed = variance[of_node][self.chosen], self.reach[self.chosen], self._average_allowed
        outside = (1.0 - normal_within(reach, v)) / (reach.size * allowed)
        # d/dv of 2 (1 - Phi(t / sqrt v)) is phi(t / sqrt v) t / v^(3/2)
        known = v == 0  # of a public total
        u = reach / np.sqrt(np.where(known, 1.0, v))
        slope = np.zeros(of_node.size)
        slope[self.chosen] = np.where(known, 0.0, density(u) * u / np.where(known, 1.0, v)) / (reach.size * allowed)
        by_class = np.bincount(of_node - start, weights=slope, minlength=int(quotient.class_start[level + 1]) - start)
        return float(outside.sum()), np.asarray(by_class, dtype=np.float64)

    @property
    def _average_allowed(self) -> float:
        """How often a count may miss on average: for a part of the counts as if their errors were independent."""
        if self.target.ask is Ask.SHARE:
            return usual_miss(self.chosen.size, self.may_miss, self.target.confidence)
        return 1.0 - self.target.confidence

    # ---- after least squares, to settle by: from the law of every error

    def of_errors(self, amounts: FloatArray, nodes: IntArray | None = None) -> tuple[float, float]:
        """Return the value of a target on single counts from the laws of their errors, and its standard error.

        Parameters
        ----------
        amounts : (n_levels,)
        nodes : (n,), optional
            Nodes that stand for the level; without them all that a target needs.
        """
        asked = self.deciding if nodes is None else nodes
        allowed = 1.0 - self.target.confidence
        if self.target.ask is Ask.SHARE:
            here = self.reach[self.chosen]
            lost, error = more_miss_after_least_squares(self.problem, amounts, asked, here, self.may_miss)
            return lost / allowed, error / allowed
        reach = np.zeros(self.problem.tree.n_nodes)
        reach[self.problem.tree.level(self.target.level)] = self.reach
        found = after_least_squares(self.problem, amounts, reach, asked)
        missed = 1.0 - found.probability[asked]
        worst = self.target.ask is Ask.EVERY_NODE
        return float(missed.max() if worst else missed.mean()) / allowed, found.standard_error / allowed

    @cached_property
    def deciding(self) -> IntArray:
        """Nodes that decide a target on single counts: of each class the smallest one, or all for an average, (n,)."""
        level, quotient = self.problem.tree.level(self.target.level), self.problem.quotient
        nodes = np.arange(*level.indices(self.problem.tree.n_nodes))
        if self.target.ask is not Ask.EVERY_NODE:
            return np.asarray(nodes[self.chosen], dtype=np.int64)
        order = np.lexsort((self.reach, quotient.class_of[level]))
        first = np.append(True, np.diff(quotient.class_of[level][order]) != 0)
        smallest = order[first]
        return np.asarray(nodes[smallest[np.isfinite(self.reach[smallest])]], dtype=np.int64)

    # ---- before least squares: from the law of the level's noise, exactly

    def of_law(self, law: Law) -> float:
        """Return the value when every node of the level has independent noise of that law."""
        if not self.uses_reach:
            return float(law.variance * self.node_weight.sum())
        allowed, reach = 1.0 - self.target.confidence, self.reach[self.chosen]
        if self.target.ask is Ask.EVERY_NODE:
            return float(law.tail(reach.min())) / allowed
        if self.target.ask is Ask.SHARE:
            return more_miss(law.tail(reach), self.may_miss) / allowed
        sizes, how_many = np.unique(reach, return_counts=True)
        return float(law.tail(sizes) @ how_many) / (reach.size * allowed)


def reach_of_target(problem: Problem, target: Target) -> FloatArray:
    """Return how many records each node may be off, (n_nodes,)."""
    if target.in_records:
        return np.full(problem.tree.n_nodes, target.value)
    return reach_of(problem, target.value, target.at_least)


def asked_nodes(prior: Problem, target: Target) -> IntArray:
    """Return the nodes that a target asks about, (n,): those of its level that are large enough in the prior."""
    nodes = np.arange(*prior.tree.level(target.level).indices(prior.tree.n_nodes))
    return np.asarray(nodes[np.asarray(prior.counts)[nodes] >= target.among], dtype=np.int64)
