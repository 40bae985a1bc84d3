"""InfTDA for categorical columns: plan, sparse run, bounds, accounting and comparison with the truth (Boninsegna)."""

from treedp_core.studies.topdown.accounting import Accounting, accounting, epsilons, extra_noise
from treedp_core.studies.topdown.bounds import bound, bound_by_exact_tails, needs_factor_two
from treedp_core.studies.topdown.compare import compare
from treedp_core.studies.topdown.draw import Drawn, draw, draws, is_light
from treedp_core.studies.topdown.orders import (
    OrderResult,
    compare_orders,
    orders_of_subject,
    some_orders,
    ways_of_orders,
)
from treedp_core.studies.topdown.plan import Plan, known_levels, noise_on_tree, plan
from treedp_core.studies.topdown.projections import RuleResult, compare_rules, ways_of_rules
from treedp_core.studies.topdown.sparse import LevelResult, SparseRun, most_cells, release
from treedp_core.studies.topdown.subject import (
    Subject,
    is_product,
    made_up,
    product_of_columns,
    tree_as_it_is,
    union_tree,
)
from treedp_core.studies.topdown.wanted import Wanted, rho_of, rules_for

__all__ = [
    "Accounting",
    "Drawn",
    "LevelResult",
    "OrderResult",
    "Plan",
    "RuleResult",
    "SparseRun",
    "Subject",
    "Wanted",
    "accounting",
    "bound",
    "bound_by_exact_tails",
    "compare",
    "compare_orders",
    "compare_rules",
    "draw",
    "draws",
    "epsilons",
    "extra_noise",
    "is_light",
    "is_product",
    "known_levels",
    "made_up",
    "most_cells",
    "needs_factor_two",
    "noise_on_tree",
    "orders_of_subject",
    "plan",
    "product_of_columns",
    "release",
    "rho_of",
    "rules_for",
    "some_orders",
    "tree_as_it_is",
    "union_tree",
    "ways_of_orders",
    "ways_of_rules",
]
