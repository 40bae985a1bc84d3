"""Budgets over levels (Dawson et al.): greedy and tuned splits, priors, targets, and how reliable each count is."""

from treedp_core.privacy.ledger import Ledger, left_after
from treedp_core.privacy.origin import NOT_PRIVATE, Origin, PriorKind, origin_of_text
from treedp_core.studies.budget.answer import Price, answer, price
from treedp_core.studies.budget.confirm import Confirmation, confirm
from treedp_core.studies.budget.figure4 import CURVES, Curves, curve_table, curves, figure4, periods
from treedp_core.studies.budget.greedy import GreedySplit, greedy
from treedp_core.studies.budget.inverse import Inverse, smallest_budget
from treedp_core.studies.budget.optimum import Optimum, optimum
from treedp_core.studies.budget.per_node import node_error, node_variance, path_charge, topped_up
from treedp_core.studies.budget.prior import Prior, noisy, public, public_of_file, true_counts
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.question import Question, prior_of, problem_on
from treedp_core.studies.budget.reliability import Reliability, reliability
from treedp_core.studies.budget.strategies import (
    STRATEGIES,
    Result,
    Strategy,
    best_simple,
    compare,
    every_strategy,
    own,
    published,
    topped_up_error,
)
from treedp_core.studies.budget.subtrees import SubtreeSplits, branch, split_by_subtree
from treedp_core.studies.budget.tables import (
    level_table,
    map_table,
    step_table,
    strategy_table,
    target_table,
    useful_table,
)
from treedp_core.studies.budget.targets import Ask, Target

__all__ = [
    "CURVES",
    "NOT_PRIVATE",
    "STRATEGIES",
    "Ask",
    "Confirmation",
    "Curves",
    "GreedySplit",
    "Inverse",
    "Ledger",
    "Optimum",
    "Origin",
    "Price",
    "Prior",
    "PriorKind",
    "Problem",
    "Question",
    "Reliability",
    "Result",
    "Strategy",
    "SubtreeSplits",
    "Target",
    "answer",
    "best_simple",
    "branch",
    "compare",
    "confirm",
    "curve_table",
    "curves",
    "every_strategy",
    "figure4",
    "greedy",
    "left_after",
    "level_table",
    "map_table",
    "node_error",
    "node_variance",
    "noisy",
    "optimum",
    "origin_of_text",
    "own",
    "path_charge",
    "periods",
    "price",
    "prior_of",
    "problem_on",
    "public",
    "public_of_file",
    "published",
    "reliability",
    "smallest_budget",
    "split_by_subtree",
    "step_table",
    "strategy_table",
    "target_table",
    "topped_up",
    "topped_up_error",
    "true_counts",
    "useful_table",
]
