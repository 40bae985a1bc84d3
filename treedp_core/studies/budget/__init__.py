"""Budgets over levels (Dawson et al.): greedy and tuned splits, priors, targets, and how reliable each count is."""

from treedp_core.privacy.prior_provenance import NOT_PRIVATE, Ledger, Origin, origin_of_text
from treedp_core.studies.budget.answer import Answer, Price, Request, Solution, answer, price, solve, solve_at_once
from treedp_core.studies.budget.comparison import Comparison, Problems, Search, search
from treedp_core.studies.budget.figure4 import Curves, Design, curve_table, curves_of, figure4
from treedp_core.studies.budget.prior import Prior, absent_leaves, public_of_file
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.question import Question, prior_of, problem_on
from treedp_core.studies.budget.splits.greedy import GreedySplit, greedy
from treedp_core.studies.budget.splits.optimum import Optimum
from treedp_core.studies.budget.strategies import (
    STRATEGIES,
    Result,
    Strategy,
    best_simple,
    compare,
    data_free,
    own,
    topped_up_error,
)
from treedp_core.studies.budget.tables import (
    composed_epsilon,
    level_table,
    map_table,
    step_table,
    strategy_table,
    target_table,
    useful_table,
)
from treedp_core.studies.budget.targets.inverse import Inverse, smallest_budget
from treedp_core.studies.budget.targets.reliability import Reliability, reliability
from treedp_core.studies.budget.targets.simulation_check import Confirmation
from treedp_core.studies.budget.targets.target import Ask, Target
from treedp_core.studies.budget.targets.target_text import (
    Source,
    Wanted,
    source_of_text,
    targets_of_text,
    usual_text,
    wanted_of_text,
    with_target,
    without,
)

__all__ = [
    "NOT_PRIVATE",
    "STRATEGIES",
    "Answer",
    "Ask",
    "Comparison",
    "Confirmation",
    "Curves",
    "Design",
    "GreedySplit",
    "Inverse",
    "Ledger",
    "Optimum",
    "Origin",
    "Price",
    "Prior",
    "Problem",
    "Problems",
    "Question",
    "Reliability",
    "Request",
    "Result",
    "Search",
    "Solution",
    "Source",
    "Strategy",
    "Target",
    "Wanted",
    "absent_leaves",
    "answer",
    "best_simple",
    "compare",
    "composed_epsilon",
    "curve_table",
    "curves_of",
    "data_free",
    "figure4",
    "greedy",
    "level_table",
    "map_table",
    "origin_of_text",
    "own",
    "price",
    "prior_of",
    "problem_on",
    "public_of_file",
    "reliability",
    "search",
    "smallest_budget",
    "solve",
    "solve_at_once",
    "source_of_text",
    "step_table",
    "strategy_table",
    "target_table",
    "targets_of_text",
    "topped_up_error",
    "useful_table",
    "usual_text",
    "wanted_of_text",
    "with_target",
    "without",
]
