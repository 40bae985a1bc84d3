"""InfTDA for categorical columns: plan, sparse run, bounds, accounting and comparison with the truth (Boninsegna)."""

from treedp_core.errors.compare import BiasBySize, Compared, bias_by_size, compare_on_tree
from treedp_core.studies.topdown.accounting import Accounting, accounting
from treedp_core.studies.topdown.bounds import bound, bound_by_exact_tails, needs_factor_two
from treedp_core.studies.topdown.compare import compare
from treedp_core.studies.topdown.orders import OrderResult, compare_orders, some_orders
from treedp_core.studies.topdown.plan import Plan, known_levels, plan
from treedp_core.studies.topdown.projections import ProjectionResult, compare_projections, noise_on_tree, noisy_tree
from treedp_core.studies.topdown.sparse import LevelResult, SparseRun, most_cells, release

__all__ = [
    "Accounting",
    "BiasBySize",
    "Compared",
    "LevelResult",
    "OrderResult",
    "Plan",
    "ProjectionResult",
    "SparseRun",
    "accounting",
    "bias_by_size",
    "bound",
    "bound_by_exact_tails",
    "compare",
    "compare_on_tree",
    "compare_orders",
    "compare_projections",
    "known_levels",
    "most_cells",
    "needs_factor_two",
    "noise_on_tree",
    "noisy_tree",
    "plan",
    "release",
    "some_orders",
]
