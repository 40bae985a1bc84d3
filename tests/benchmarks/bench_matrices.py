"""Row 12: matrices that are sought, their error beside the certified bound or a published one, with time and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf.matrices.optimal import optimal_matrix
from treedp_core.studies.cdf.matrices.plan import sensitivity
from treedp_core.studies.cdf.matrices.wanted import Wanted

IDS = ("12",)
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    for n_bins in (256,) if quick else (256, 1024):
        for workload in ("cdf", "ranges"):
            for relation in (NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE):
                yield least_error(n_bins, workload, relation)


def least_error(n_bins: int, workload: str, relation: NeighbouringRelation) -> Line:
    """Mean squared error at rho = 1 of what would be released, over the certified bound."""
    unit = ProtectedUnit(relation)
    tracemalloc.start()
    begun = time.perf_counter()
    matrix = optimal_matrix(Wanted(n_bins, workload), unit.total_is_public)
    took, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    error = matrix.mean_variance * sensitivity(matrix, unit) ** 2 / 2.0
    name = f"optimal matrix, {workload}, K={n_bins}, {relation.label.lower()} / bound"
    return "12", name, error / matrix.lower, 1.005, f"{error:.4f} at rho = 1; {took:.1f} s, {peak >> 20} MB"
