"""Whole pipelines compared by formula: their error against epsilon, and how far each is from the least possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.studies.cdf.error import Criterion, cdf_lower_bound, optimal_shares, total_squared_error
from treedp_core.studies.cdf.error.bound import MatrixBound, any_mechanism, ranges_lower_bound
from treedp_core.studies.cdf.error.criterion import histogram_error, range_queries_error
from treedp_core.studies.cdf.matrices.integer_strategy import GAP_REPLACED
from treedp_core.studies.cdf.matrices.plan import MAX_MATRIX_BINS, mean_variance
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.tree import FloatArray
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree
from treedp_core.watch import Watch
from treedp_core.words import lower_first

BOUND_BINS: Final = 256
"""Bins up to which the lower bound is computed while one waits; beyond, in the background, up to `MAX_BOUND_BINS`."""
ROOT_MATRIX: Final = "Square-root matrix (any number of bins)"
OPTIMAL_MATRIX: Final = "Optimal matrix mechanism (numerical, cubic work)"
SQUARES: Final = "squared errors, summed"


@dataclass(frozen=True, eq=False)
class PipelineCurve:
    """One pipeline's error over epsilon.

    Parameters
    ----------
    label : str
    kind : str
        A key of `treedp_core.figures.cdf.LOOKS`.
    x, y : (n,)
        Epsilon, and the root of the mean squared error of a cumulative count, in records.
    squares : (n,)
        Squared errors summed over the bins, in squared records: the paper's N^2 E_2.
    """

    label: str
    kind: str
    x: FloatArray
    y: FloatArray
    squares: FloatArray = field(default_factory=lambda: np.empty(0))


def error_curves(
    n_bins: int, epsilons: Sequence[float], contributions: int, best: Shape, delta: float = checks.DELTA_USUAL
) -> list[PipelineCurve]:
    """Return errors of pipelines over K bins, one record replaced: those of Rameshwar et al., Fig. 1, and more.

    Those with Laplace noise fall as 1 / epsilon, those with Gaussian noise as the root of rho for epsilon and `delta`,
    so each is computed once. `best` is a tree for two of them. The matrix is left out beyond `MAX_MATRIX_BINS`.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions)
    sixteen, binary = equal_tree(n_bins, 16), equal_tree(n_bins, 2)
    at_one = [
        ("Noise on every cumulative count", "range queries", range_queries_error(n_bins, 1.0, 1, unit)),
        ("Histogram", "histogram", histogram_error(n_bins, 1.0, 1, unit)),
        ("Binary tree", "binary", _tree_error(binary, unit)),
        ("16-ary tree", "tree", _tree_error(sixteen, unit)),
        ("16-ary tree, least squares", "tree, least squares", _after_least_squares(sixteen, unit)),
        (f"{product_text(best.branching_factors)}, least squares (best found)", "best",
         _after_least_squares(best, unit)),
    ]  # fmt: skip
    x = np.array(epsilons)
    rho = np.array([epsilon_to_rho(epsilon, delta, True) for epsilon in epsilons])
    fitted = Criterion("gaussian", least_squares=True, unit=unit)
    gaussian = [(f"Gaussian, {product_text(best.branching_factors)}, least squares", "Gaussian tree",
                 n_bins * fitted.at_equal_shares(best))]  # fmt: skip
    if n_bins <= MAX_MATRIX_BINS:
        label = f"Gaussian, {lower_first(STRATEGIES['root'].label)}"
        gaussian.append((label, "matrix", n_bins * mean_variance(Wanted(n_bins), unit)))
    squares = [(label, kind, value / x**2) for label, kind, value in at_one]
    squares += [(label, kind, value / rho) for label, kind, value in gaussian]
    return [PipelineCurve(label, kind, x, np.sqrt(values / n_bins), values) for label, kind, values in squares]


def error_table(curves: Sequence[PipelineCurve]) -> dict[str, list[float]]:
    """Return the errors of whole pipelines against epsilon."""
    return {"epsilon": curves[0].x.tolist()} | {curve.label: curve.y.tolist() for curve in curves}


def errors_at(curves: Sequence[PipelineCurve], epsilon: float) -> dict[str, list[Any]]:
    """Return the errors at one epsilon of the curves, the least first."""
    at = curves[0].x.tolist().index(epsilon)
    rows = sorted(curves, key=lambda curve: float(curve.y[at]))
    return {
        "pipeline": [curve.label for curve in rows],
        "RMSE of a cumulative count": [float(curve.y[at]) for curve in rows],
        "× the best": [float(curve.y[at] / rows[0].y[at]) for curve in rows],
        SQUARES: [float(curve.squares[at]) for curve in rows],
    }


def curves_beside_bounds(
    bound: MatrixBound, workload: Workload, epsilons: Sequence[float], contributions: int, best: Shape,
    delta: float = checks.DELTA_USUAL,
) -> list[PipelineCurve]:  # fmt: skip
    """Return what every mechanism has at least, without and with `delta`, and two mechanisms, one record replaced.

    Parameters
    ----------
    bound : MatrixBound
        Of all cumulative counts or ranges, see `least_possible`.
    best : Shape
        A tree for Laplace noise and least squares.
    """
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions)
    tree = Criterion(workload=workload, least_squares=True, unit=unit).at_equal_shares(best)
    matrix = bound.attained * contributions**2
    pure, both = zip(*(bounds_at(bound, e, contributions, delta) for e in epsilons), strict=True)
    rows = [
        ("Lower bound, pure ε", "bound", [one**2 for one in pure]),
        ("Lower bound, ε and δ", "bound, δ", [one**2 for one in both]),
        (f"Laplace, {product_text(best.branching_factors)}, least squares", "best", [tree / e**2 for e in epsilons]),
        ("Gaussian, optimal matrix", "matrix", [matrix / epsilon_to_rho(e, delta, True) for e in epsilons]),
    ]  # fmt: skip
    x = np.array(epsilons)
    return [PipelineCurve(label, kind, x, np.sqrt(mean)) for label, kind, mean in rows]


def bounds_at(bound: MatrixBound, epsilon: float, contributions: int, delta: float) -> tuple[float, float]:
    """Return the RMSE, in records, that every mechanism has at least without and with `delta`."""
    pure, both = (any_mechanism(bound.lower, epsilon, one, contributions) for one in (0.0, delta))
    return math.sqrt(pure), math.sqrt(both)


def least_possible(n_bins: int, watch: Watch | None = None, workload: Workload = Workload.CDF) -> MatrixBound:
    """Return the least mean variance at rho = 1, as `distance_table` takes it; the watch is told of every round."""
    bound_of = ranges_lower_bound if workload is Workload.RANGES else cdf_lower_bound
    return bound_of(n_bins, GAP_REPLACED, (watch or Watch()).one_more)


def distance_table(
    n_bins: int, best: Shape, watch: Watch | None = None, bound: MatrixBound | None = None,
    workload: Workload = Workload.CDF,
) -> dict[str, list[Any]]:  # fmt: skip
    """Return Gaussian pipelines and their mean variance as a multiple of the lower bound, worst first.

    Parameters
    ----------
    best : Shape
        A tree for one of them.
    watch : Watch, optional
        Told of every round of the search for the bound.
    bound : MatrixBound, optional
        Where it is there.
    workload : Workload
        Cumulative counts, or ranges.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more bins than `cdf_lower_bound` takes.
    Cancelled
        When the watch says so.
    """
    bound = bound or least_possible(n_bins, watch, workload)
    plain, fitted = (Criterion("gaussian", workload, squares) for squares in (False, True))
    trees = (("Histogram", Shape((n_bins,), n_bins)), ("16-ary tree", equal_tree(n_bins, 16)),
             ("Binary tree", equal_tree(n_bins, 2)))  # fmt: skip
    rows = [(label, plain.at_equal_shares(shape)) for label, shape in trees]
    rows += [(f"{label}, least squares", fitted.at_equal_shares(shape)) for label, shape in trees]
    found = f"Best found with equal budgets, least squares: {product_text(best.branching_factors)}"
    rows += [
        (found, fitted.at_equal_shares(best)),
        ("Binary tree, least squares, optimal budgets", optimal_shares(trees[-1][1], fitted).value),
        (ROOT_MATRIX, mean_variance(Wanted(n_bins, workload.value), fitted.unit)),
        (OPTIMAL_MATRIX, bound.attained),
    ]
    rows.sort(key=lambda row: -row[1])
    return {
        "pipeline": [label for label, _ in rows],
        "mean variance over the bound": [value / bound.lower for _, value in rows],
    }


def has_bound(plan: AnyPlan) -> bool:
    """Whether the lower bound speaks of a release: few bins, Gaussian noise, one record replaced."""
    settings = plan.settings
    gaussian = MECHANISMS[settings.mechanism].currency is Currency.RHO
    return settings.n_bins <= BOUND_BINS and gaussian and settings.contributions == 1 and settings.unit.total_is_public


def lower_bound(n_bins: int) -> float:
    """Return the least mean variance at rho = 1, in records squared."""
    return least_possible(n_bins).lower


def above_bound(plan: AnyPlan, lower: float) -> float:
    """Return the mean variance of a release over the least possible at its rho; 1 is optimal."""
    rho = sum(amount for amount in plan.budget.per_level if amount < math.inf)
    return float(plan.variance.sum()) / plan.settings.n_bins * rho / lower  # the total, behind others, has none


def _tree_error(shape: Shape, unit: ProtectedUnit) -> float:
    return total_squared_error(shape, [1.0 / shape.height] * shape.height, 1, unit)


def _after_least_squares(shape: Shape, unit: ProtectedUnit) -> float:
    return shape.n_bins * Criterion(least_squares=True, unit=unit).at_equal_shares(shape)
