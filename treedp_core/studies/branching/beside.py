"""Trees and matrices on one axis: their mean variances over the least that is possible, or over the least of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.studies.branching.question import Question, references
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix, and_total
from treedp_core.studies.cdf.matrices.plan import SEARCHES, Sought, mean_variance, sensitivity
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.studies.cdf.shapes.ranking import RankedShape
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Workload

OVER: Final = "mean variance over the least"


def search_of(asked: Question) -> str:
    """Return which matrix is sought for a question's noise: a name in `STRATEGIES`."""
    return "identity" if asked.criterion.currency is Currency.EPSILON else "optimal"


def is_bounded(asked: Question) -> bool:
    """Whether a certified bound is known: for Gaussian noise where a record is added, removed or replaced."""
    criterion = asked.criterion
    return criterion.currency is Currency.RHO and criterion.unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN


def wanted(asked: Question) -> Wanted:
    """Return what a matrix is to answer: cumulative counts or ranges."""
    return Wanted(asked.n_bins, "cdf" if asked.criterion.workload is Workload.CDF else "ranges")


def trees_and_matrices(
    asked: Question, found: Sequence[RankedShape], matrix: Sought | None = None
) -> dict[str, list[Any]]:
    """Return trees and matrices for cumulative counts or ranges, the worst first, over the least mean variance.

    That is a certified bound for Gaussian noise where a record is added, removed or replaced; else the least of them.

    Parameters
    ----------
    asked : Question
    found : sequence of RankedShape
        Trees for it, the best first.
    matrix : Sought, optional
        What the search of `search_of` found; by default it is sought.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more than 1025 bins.
    """
    criterion, name = asked.criterion, search_of(asked)
    unit = criterion.unit
    matrix = SEARCHES[name].find(wanted(asked), unit.by_pairs, None) if matrix is None else matrix
    in_epsilon, bound = criterion.currency is Currency.EPSILON, matrix.lower
    if isinstance(matrix, WholeMatrix) and matrix.with_total and not unit.total_is_public:
        matrix = and_total(matrix, in_epsilon)
    moved = sensitivity(matrix, unit, criterion.currency)
    attained = matrix.mean_variance * moved**2 * (2.0 if in_epsilon else 0.5)
    trees = [("best tree", found[0]), *references(asked, found[:1])]
    rows = [(f"{why} ({product_text(one.shape.branching_factors)})", one.value) for why, one in trees]
    rows.append((STRATEGIES[name].label, attained))
    if not in_epsilon:
        rows.append((STRATEGIES["root"].label, mean_variance(wanted(asked), unit)))
    least = bound * unit.contributions**2 if is_bounded(asked) else min(value for _, value in rows)
    rows.sort(key=lambda row: -row[1])
    return {"way": [label for label, _ in rows], OVER: [value / least for _, value in rows]}
