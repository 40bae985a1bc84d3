"""The best whole shapes of trees for K bins: searches, and their ranked lists."""

from treedp_core.studies.cdf.shapes.hunt import equal_budgets
from treedp_core.studies.cdf.shapes.ranking import RankedShape, advice, best_by_height, best_shape, best_shapes

__all__ = ["RankedShape", "advice", "best_by_height", "best_shape", "best_shapes", "equal_budgets"]
