"""InfTDA for categorical columns: plan, sparse run, bounds, accounting and comparison with the truth (Boninsegna)."""

from treedp_core.studies.topdown.accounting import Accounting, accounting, epsilons, extra_noise, needs_factor_two
from treedp_core.studies.topdown.contingency_table import (
    Subject,
    is_product,
    made_up,
    product_of_columns,
    tree_as_it_is,
)
from treedp_core.studies.topdown.draw import Drawn, OnLeaves, draw, draws, is_light, on_leaves
from treedp_core.studies.topdown.orders import OrderResult, orders_of_subject, some_orders, ways_of_orders
from treedp_core.studies.topdown.plan import Plan, plan
from treedp_core.studies.topdown.projections import RuleResult, compare_rules, ways_of_rules
from treedp_core.studies.topdown.release_spec import Wanted, allocations_for, numerical, rho_of, rules_for

__all__ = [
    "Accounting",
    "Drawn",
    "OnLeaves",
    "OrderResult",
    "Plan",
    "RuleResult",
    "Subject",
    "Wanted",
    "accounting",
    "allocations_for",
    "compare_rules",
    "draw",
    "draws",
    "epsilons",
    "extra_noise",
    "is_light",
    "is_product",
    "made_up",
    "needs_factor_two",
    "numerical",
    "on_leaves",
    "orders_of_subject",
    "plan",
    "product_of_columns",
    "rho_of",
    "rules_for",
    "some_orders",
    "tree_as_it_is",
    "ways_of_orders",
    "ways_of_rules",
]
