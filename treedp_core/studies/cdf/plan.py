"""A CDF release made ready: on a tree, by a matrix, or behind a private partition."""

from __future__ import annotations

from treedp_core import checks
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency
from treedp_core.registry import lookup
from treedp_core.studies.cdf.beside import better
from treedp_core.studies.cdf.matrices.plan import Matrix, MatrixPlan, plan_matrix
from treedp_core.studies.cdf.matrices.workload import WORKLOADS, Wanted
from treedp_core.studies.cdf.partition import DividedPlan, PartitionPlan, plan_partition
from treedp_core.studies.cdf.release import PARTITION, STRATEGIES, TREE, CdfPlan, CdfSettings, plan_tree

AnyPlan = CdfPlan | MatrixPlan | DividedPlan
"""Of which all errors are known that noise makes."""


def plan_cdf(settings: CdfSettings, matrix: Matrix | None = None) -> AnyPlan | PartitionPlan:
    """Return a CDF release made ready; a matrix that was sought before for these settings may be given.

    In pure epsilon it is on the best tree where that errs less than the matrix.

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``EPS_RANGE``, ``DELTA_REQUIRED``, ``BUDGET_SPLIT``, ``STRATEGY_NOISE`` and
        the like.

    >>> plan_cdf(CdfSettings(8, (), "gaussian", 1.0, 1e-6, strategy="root")).variance.shape
    (8,)
    """
    strategy = lookup(STRATEGIES, settings.strategy, "strategy")
    checks.one_of("workload", settings.workload, WORKLOADS)
    if settings.ranges:
        Wanted(settings.n_within, settings.workload, settings.ranges)  # none of them holds others
    if strategy.name == PARTITION:
        return plan_partition(settings)
    if strategy.name == TREE:
        return plan_tree(settings)
    plan = plan_matrix(settings, matrix)
    in_epsilon = MECHANISMS[settings.mechanism].currency is Currency.EPSILON
    return better(plan) if in_epsilon else plan
