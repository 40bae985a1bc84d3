"""Budgets over levels (Dawson et al.): greedy and tuned splits, priors, targets, and how reliable each count is."""

from treedp_core.privacy.ledger import Ledger, left_after
from treedp_core.privacy.origin import NOT_PRIVATE, Origin, PriorKind, origin_of_text
from treedp_core.studies.budget.confirm import Confirmation, confirm
from treedp_core.studies.budget.greedy import GreedySplit, greedy
from treedp_core.studies.budget.inverse import Inverse, smallest_budget
from treedp_core.studies.budget.optimum import Optimum, optimum
from treedp_core.studies.budget.per_node import draw_noise, node_error, node_variance, path_charge, topped_up
from treedp_core.studies.budget.prior import Prior, noisy, public, public_of_file, true_counts
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.reliability import Reliability, reliability
from treedp_core.studies.budget.strategies import CURVES, STRATEGIES, Curves, Result, Strategy, compare, curves, verdict
from treedp_core.studies.budget.subtrees import SubtreeSplits, branch, split_by_subtree
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
    "Prior",
    "PriorKind",
    "Problem",
    "Reliability",
    "Result",
    "Strategy",
    "SubtreeSplits",
    "Target",
    "branch",
    "compare",
    "confirm",
    "curves",
    "draw_noise",
    "greedy",
    "left_after",
    "node_error",
    "node_variance",
    "noisy",
    "optimum",
    "origin_of_text",
    "path_charge",
    "public",
    "public_of_file",
    "reliability",
    "smallest_budget",
    "split_by_subtree",
    "topped_up",
    "true_counts",
    "verdict",
]
