"""A CDF release made ready: on a tree, by a matrix, or behind a private partition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation.shares import handed_over, shares_from_text
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.registry import lookup
from treedp_core.studies.cdf.error.budgets import optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix
from treedp_core.studies.cdf.matrices.local_sums import LocalMatrix
from treedp_core.studies.cdf.matrices.plan import Matrix, MatrixPlan, plan_matrix
from treedp_core.studies.cdf.matrices.workload import WORKLOADS, Wanted
from treedp_core.studies.cdf.partition import DividedPlan, PartitionPlan, plan_partition
from treedp_core.studies.cdf.release import PARTITION, STRATEGIES, TREE, CdfPlan, CdfSettings, plan_tree
from treedp_core.studies.cdf.shapes import best_shapes
from treedp_core.tree.workloads import Shape, Workload

# ---- the best tree beside a matrix in pure epsilon, by exact error: of the two the one that errs less is released


MOST_TREES: Final = 3
"""Shapes that are best with equal budgets, and looked at."""
ROUNDING: Final = 1e-9
"""Two ways to compute one variance differ by less."""


def better(plan: MatrixPlan) -> MatrixPlan | CdfPlan:
    """Return a release by a matrix that was sought, or the best tree's where that has the smaller mean variance."""
    found: list[MatrixPlan | CdfPlan] = [plan]
    for settings in tree_settings(plan.settings):
        with suppress(InputError):  # a level's noise may be out of range
            found.append(plan_tree(settings))
    best = min(found, key=mean_variance_of)
    return best if mean_variance_of(best) < (1.0 - ROUNDING) * mean_variance_of(plan) else plan


def mean_variance_of(plan: MatrixPlan | CdfPlan) -> float:
    """Return the exact mean variance of the wanted counts, in records squared.

    >>> mean_variance_of(plan_tree(CdfSettings(5, (5,), "laplace")))
    6.4
    """
    settings = plan.settings
    if isinstance(plan, MatrixPlan):
        assert isinstance(plan.matrix, WholeMatrix | LocalMatrix)
        return plan.law.variance * plan.matrix.mean_variance
    if settings.workload in ("cdf", "ranges"):
        criterion = _criterion(settings)
        return criterion.mean_variance(settings.shape, plan.budget)
    measured = np.isfinite(plan.noise.variance)
    if settings.wanted.mean_variance(plan.cumulative(np.diag(np.where(measured, 0.0, 1.0))).T) > 0.0:
        return math.inf  # a wanted count needs a level without noise, which is not released
    deviation = np.sqrt(np.where(measured, plan.noise.variance, 0.0))
    return settings.wanted.mean_variance(plan.cumulative(np.diag(deviation)).T)


def tree_settings(settings: CdfSettings) -> Iterator[CdfSettings]:
    """Yield releases by the best trees found, at the same promise, each with good shares of its levels."""
    relation = ProtectedUnit(settings.unit.relation)  # more records of a unit make all errors larger alike
    for shape, shares in _found(settings.n_bins, replace(_criterion(settings), law="laplace", unit=relation)):
        yield replace(settings, strategy=TREE, branching_factors=shape, allocation="custom", shares=shares)


@lru_cache(maxsize=8)
def _found(n_bins: int, criterion: Criterion) -> tuple[tuple[tuple[int, ...], tuple[float, ...]], ...]:
    """Branching factors and shares: the best shapes with equal ones, the best of them with its best, a histogram."""
    ranked = best_shapes(n_bins, criterion, n_best=MOST_TREES)
    found = [(one.shape, one.shares) for one in ranked]
    if criterion.unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN:
        found.append((ranked[0].shape, optimal_shares(ranked[0].shape, criterion).shares))
    found.append((Shape((n_bins,), n_bins), np.array([0.0, 1.0])))
    return tuple(
        (shape.branching_factors, shares_from_text(handed_over(shares.tolist(), 1.0, 1.0))) for shape, shares in found
    )


def _criterion(settings: CdfSettings) -> Criterion:
    workload = Workload.RANGES if settings.workload == "ranges" else Workload.CDF
    return Criterion(settings.mechanism, workload, settings.least_squares, settings.unit)


AnyPlan = CdfPlan | MatrixPlan | DividedPlan
"""Of which all errors are known that noise makes."""


def plan_cdf(settings: CdfSettings, matrix: Matrix | None = None) -> AnyPlan | PartitionPlan:
    """Return a CDF release made ready; a matrix that was sought before for these settings may be given.

    In pure epsilon it is on the best tree where that errs less than the matrix.

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``EPS_RANGE``, ``DELTA_REQUIRED``, ``BUDGET_SPLIT``, ``STRATEGY_NOISE``,
        ``ESTIMATE`` and the like.

    >>> plan_cdf(CdfSettings(8, (), "gaussian", 1.0, 1e-6, strategy="root")).variance.shape
    (8,)
    """
    strategy = lookup(STRATEGIES, settings.strategy, "strategy")
    checks.one_of("workload", settings.workload, WORKLOADS)
    if settings.ranges:
        Wanted(settings.n_within, settings.workload, settings.ranges)  # none of them holds others
    if strategy.name != TREE and settings.is_by_views:
        raise InputError("ESTIMATE", "Views from the left and the right are of a tree: choose nodes as measured.")
    if strategy.name == PARTITION:
        return plan_partition(settings)
    if strategy.name == TREE:
        return plan_tree(settings)
    plan = plan_matrix(settings, matrix)
    in_epsilon = MECHANISMS[settings.mechanism].currency is Currency.EPSILON
    return better(plan) if in_epsilon else plan
