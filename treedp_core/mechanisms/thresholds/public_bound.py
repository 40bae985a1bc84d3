"""Thresholds made ready before any record is looked at: with a bound on the total that everybody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.release import (
    budget_for_one_record,
    release_with_thresholds,
    threshold_guarantee,
)
from treedp_core.mechanisms.thresholds.schedule import MAX_TOTAL, check_alpha, check_delta, check_levels
from treedp_core.privacy import Guarantee, ProtectedUnit, Provenance
from treedp_core.privacy.promise import Release
from treedp_core.tree import AnyArray, Tree
from treedp_core.watch import Watch

RULES: Final = {"tuned": "Tuned", "provable": "Provable"}
"""How rounds are chosen: see `plans`."""
_PLANNERS: Final[Mapping[str, Callable[[float, float, float, int, float], Plan]]] = {
    "tuned": tuned_plan,
    "provable": provable_plan,
}


@dataclass(frozen=True, eq=False)
class ThresholdPlan:
    """Ghazi et al., Theorem 4.1, made ready for a tree: all that does not depend on the records.

    Parameters
    ----------
    tree : Tree
    rounds : Plan
        For one record added or removed, made for totals up to the bound.
    bound : int
        Records of the whole tree at most: public. Counts beyond it keep their privacy and lose accuracy.
    epsilon : float
        What was asked for, for the unit; the guarantee's epsilon.
    guarantee : Guarantee
    """

    tree: Tree
    rounds: Plan
    bound: int
    epsilon: float
    guarantee: Guarantee

    def release(
        self,
        counts: AnyArray,
        rng: np.random.Generator,
        provenance: Provenance = Provenance.SIMULATION,
        watch: Watch | None = None,
    ) -> Release:
        """Return the released counts of true counts (n_nodes,) of records, estimate (n_nodes,); its variance is None.

        What is asked and how does not depend on the counts, nor does whether it ends well.

        Raises
        ------
        InputError
            ``COUNTS_SHAPE``, ``COUNT_RANGE``.
        """
        promise = self.guarantee
        return release_with_thresholds(
            self.tree, counts, self._planned, promise.unit, promise.epsilon, promise.delta, rng=rng,
            max_total=float(self.bound), watch=watch, provenance=provenance,
        ).release  # fmt: skip

    def _planned(self, epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
        return self.rounds


def plan_thresholds(
    tree: Tree, unit: ProtectedUnit, bound: int, *, alpha: float, epsilon: float, delta: float, rule: str = "tuned"
) -> ThresholdPlan:
    """Return thresholds made ready for a tree and a public bound on its total.

    Parameters
    ----------
    bound : int
        How many records there are at most, known from elsewhere: never from the counts that are released.
    alpha : float
        Part of a count that an error is forgiven, in (0, 1).
    epsilon, delta : float
        Of the promise to the unit.
    rule : {"tuned", "provable"}
        Whose error is certified for empty nodes and chains, or a theorem for all trees.

    Raises
    ------
    InputError
        ``BOUND_REQUIRED`` without a bound; ``ALPHA_RANGE``, ``EPS_RANGE``, ``DELTA_REQUIRED``, ``LEVELS_RANGE``;
        ``PLAN_TOTAL`` for a bound so small that thresholds gain nothing.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> tree, unit = Tree.from_branching_factors((2,)), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> plan = plan_thresholds(tree, unit, 10_000, alpha=0.5, epsilon=1.0, delta=1e-6)
    >>> plan.guarantee.epsilon, plan.release(np.array([9_000, 8_990, 10]), np.random.default_rng(1)).estimate.shape
    (1.0, (3,))
    """
    if not bound:
        raise InputError(
            "BOUND_REQUIRED",
            "Thresholds are planned for at most so many records: give a bound on the total that is public, such as a "
            "figure published elsewhere; it is never taken from these records.",
        )
    most = checks.integer("the public bound on the total", bound, low=1, high=int(MAX_TOTAL), code="TOTAL_RANGE")
    slack, promise = check_alpha(alpha), threshold_guarantee(unit, checks.epsilon(epsilon), check_delta(delta))
    levels, planner = check_levels(tree.n_levels), _PLANNERS[checks.one_of("rule", rule, RULES)]
    budget = budget_for_one_record(unit, promise.epsilon, promise.delta, levels)
    return ThresholdPlan(tree, planner(slack, *budget, levels, float(most)), most, promise.epsilon, promise)
