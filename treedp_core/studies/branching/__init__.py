"""Which tree: the branching factor in the limit, the best whole shapes for K bins, the paper's statements on both."""

from treedp_core.studies.branching.question import BestBranching, best_branching, opendp_branching_factor
from treedp_core.studies.cdf.shapes import RankedShape, advice, best_by_height, best_shape, best_shapes, equal_budgets

__all__ = [
    "BestBranching",
    "RankedShape",
    "advice",
    "best_branching",
    "best_by_height",
    "best_shape",
    "best_shapes",
    "equal_budgets",
    "opendp_branching_factor",
]
