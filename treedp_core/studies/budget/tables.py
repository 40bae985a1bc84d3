"""The tables behind the figures of the budget study: what is not private says so in its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from treedp_core.privacy import Currency, rho_to_epsilon
from treedp_core.privacy.accounting import composes, epsilon_of_levels
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, of_truth
from treedp_core.records import Labels
from treedp_core.records.export.columns import Columns, labelled
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import GreedySplit
from treedp_core.studies.budget.strategies import Result
from treedp_core.studies.budget.targets.inverse import Inverse
from treedp_core.studies.budget.targets.reliability import Reliability, within_reach
from treedp_core.studies.budget.targets.simulation_check import Confirmation, confirm
from treedp_core.studies.budget.targets.target import Ask, Target, asked_nodes, reach_of_target
from treedp_core.words import fixed, privacy_text, short

ERRORS_LABEL: Final = f"{NOT_PRIVATE}: errors are those on the true counts."
MAX_ROWS: Final = 100_000


def strategy_table(results: Sequence[Result], names: Sequence[str], label: str, metric: str) -> dict[str, Any]:
    """Return the table behind the comparison: shares and errors of every strategy, level by level and of the tree."""
    columns: dict[str, list[Any]] = {"strategy": [one.label for one in results]}
    for level, name in enumerate(names):
        columns[f"share of level {level} ({name})"] = [float(one.shares[level]) for one in results]
    for level, name in enumerate(names):
        columns[f"{metric} of level {level} ({name})"] = [float(one.errors.level[level]) for one in results]
    columns[f"{metric} of the tree"] = [one.errors.tree for one in results]
    return labelled(columns, label or ERRORS_LABEL)


def level_table(truth: Problem, result: Result, names: Sequence[str], symbol: str, metric: str) -> dict[str, Any]:
    """Return what each level of a split gets (of the total, and in the currency), its noise and its error, (n_levels,).

    The noise is a standard deviation in records: 0 on a level that is published exactly, inf on one not measured.
    """
    with np.errstate(divide="ignore"):
        variance = 1.0 / np.where(truth.paid > 0, truth.precision(result.amounts), np.inf)
    return {
        "level": list(names),
        "nodes": truth.tree.level_sizes.tolist(),
        "share": result.shares.tolist(),
        symbol: [privacy_text(amount) for amount in result.ledger.amounts],
        "noise st. dev.": np.sqrt(variance).tolist(),
        metric: result.errors.level.tolist(),
    }


def composed_epsilon(truth: Problem, result: Result, delta: float) -> float | None:
    """Return the epsilon of a split's noise by numerical accounting, rounded up: at most what its rho stands for.

    None where there is no other than its formula's: for pure budgets, normal noise, and what was tuned on a release
    that was paid for, whose noise is not known here; and where the split is accounted for so in any case.
    """
    laws = truth.laws(result.amounts)
    if truth.within or truth.currency is Currency.EPSILON or result.spent or not composes(laws) or not any(laws):
        return None
    return min(rho_to_epsilon(result.charged, delta), epsilon_of_levels(laws, truth.unit, delta))


def step_table(found: GreedySplit, label: str) -> dict[str, Any]:
    """Return which level every greedy slice went to, and the error on the prior then."""
    columns = {
        "slice": list(range(1, found.steps.size + 1)),
        "to level": found.steps.tolist(),
        "error on the prior": np.sqrt(found.losses.min(axis=1)).tolist(),
    }
    return labelled(columns, label) if label else columns


def target_table(
    tuned: Problem,
    truth: Problem,
    found: Inverse,
    targets: Sequence[Target],
    names: Sequence[str],
    symbol: str,
    *,
    confirmed: Sequence[Confirmation] = (),
) -> dict[str, Any]:
    """Return targets, what meets them on the prior, and what the true counts would say: the last is not private.

    `confirmed` is what simulated releases reached of each target, on the prior.
    """
    on = [[target for target in targets if target.level == level] for level in range(len(names))]

    def told(problem: Problem) -> list[str]:
        return ["; ".join(reached(problem, found, one, tuned) for one in here) or "–" for here in on]

    simulated = ["; ".join(one.text for one in confirmed if one.target in here) or "–" for here in on]
    columns: dict[str, list[Any]] = {
        "level": list(names),
        "target": ["; ".join(one.described.partition(": ")[2] for one in here) or "–" for here in on],
        symbol: [privacy_text(amount) for amount in found.amounts.tolist()],
        "on the prior": told(tuned),
        **({"in simulated releases (± 95 %)": simulated} if confirmed else {}),
        of_truth("on the true counts"): told(truth),
    }
    return columns


def reached(problem: Problem, found: Inverse, target: Target, prior: Problem) -> str:
    """Return what a split reaches of a target: a probability, or an error; `prior` says which counts it is about."""
    nodes = asked_nodes(prior, target)
    if target.ask is Ask.SHARE:
        return f"probability {fixed(confirm(problem, found.amounts, target, prior).seen, 3)} (simulated)"
    if target.on_counts:
        p = within_reach(problem, found.amounts, reach_of_target(problem, target), nodes)
        worst = target.ask is Ask.EVERY_NODE
        return f"{'worst ' if worst else 'mean '}probability {fixed(float(p.min() if worst else p.mean()), 3)}"
    variance = problem.node_variance(found.amounts)[nodes]
    if target.ask is Ask.RMSE:
        return f"RMSE {short(float(np.sqrt(variance.mean())))}"
    weight = replace(problem, metric="rmsre").node_weight[nodes]
    return f"RMSRE {short(float(np.sqrt((variance * weight).mean())))}"


def map_table(found: Reliability, labels: Labels) -> dict[str, Any]:
    """Return each node's probability to be good (at most 100 000 nodes), in the order of the tree."""
    tree = found.tree
    n = min(tree.n_nodes, MAX_ROWS)
    columns: Columns = {
        "node": list(range(n)), "level": tree.level_of[:n], "path": labels.paths(range(n)),
        "probability": found.probability[:n],
    }  # fmt: skip
    return labelled(columns, NOT_PRIVATE)


def useful_table(names: Sequence[str], found: Reliability, confidence: float, label: str) -> dict[str, Any]:
    """Return which share of each level is useful, and how probable a good count is on it."""
    share = found.useful_share(confidence)
    columns: Columns = {"level": list(names), "share of useful nodes": share, "mean probability": found.level_mean}
    return labelled(columns, label)
