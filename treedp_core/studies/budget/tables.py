"""The tables of the Budget split page, and the calls that give every strategy at once. Pure logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from pages.ui.text import short
from pages.views.budget import split as splits
from pages.views.budget.split import Row, Settings
from treedp_core.privacy.origin import Origin
from treedp_core.records.export.columns import Columns, labelled
from treedp_core.studies.budget import (
    NOT_PRIVATE,
    Ask,
    GreedySplit,
    Inverse,
    Prior,
    Problem,
    Reliability,
    Target,
    reliability,
)
from treedp_core.tree import FloatArray, Tree
from treedp_core.words import privacy_text

ERRORS_LABEL: Final = f"{NOT_PRIVATE}: errors are those on the true counts."
MAX_ROWS: Final = 100_000


def all_rows(
    truth: Problem,
    settings: Settings,
    tuned: Problem | None = None,
    prior: Prior | None = None,
    *,
    optimum: bool = False,
    custom: Sequence[Fraction] = (),
    custom_origin: Origin | None = None,
) -> list[Row]:
    """Return every strategy: the simple ones, what a prior allows, and a split of one's own if there are shares."""
    rows = splits.simple_rows(truth, settings)
    if tuned is not None and prior is not None:
        rows.append(splits.greedy_row(truth, tuned, settings, prior)[1])
        if optimum:
            rows.append(splits.optimum_row(truth, tuned, settings, prior)[1])
    if custom:
        rows.append(splits.custom_row(truth, settings, custom, custom_origin))
    return rows


def strategy_table(rows: Sequence[Row], names: Sequence[str], label: str, metric: str) -> dict[str, Any]:
    """Return the table behind the comparison: shares and errors of every strategy, level by level and of the tree."""
    columns: dict[str, list[Any]] = {"strategy": [row.label for row in rows]}
    for level, name in enumerate(names):
        columns[f"share of level {level} ({name})"] = [float(row.amounts[level] / row.ledger.total) for row in rows]
    for level, name in enumerate(names):
        columns[f"{metric} of level {level} ({name})"] = [float(row.errors.level[level]) for row in rows]
    columns[f"{metric} of the tree"] = [row.errors.tree for row in rows]
    return labelled(columns, label or ERRORS_LABEL)


def step_table(greedy: tuple[GreedySplit, Row], label: str) -> dict[str, Any]:
    """Return which level every greedy slice went to, and the error on the prior then."""
    steps = greedy[0]
    columns = {
        "slice": list(range(1, steps.steps.size + 1)),
        "to level": steps.steps.tolist(),
        "error on the prior": np.sqrt(steps.losses.min(axis=1)).tolist(),
    }
    return labelled(columns, label) if label else columns


def target_table(
    tuned: Problem, truth: Problem, found: Inverse, targets: Sequence[Target], names: Sequence[str], symbol: str
) -> dict[str, Any]:
    """The targets, what meets them on the prior, and what the true counts would say: the last is not private."""
    by_level = {target.level: target for target in targets}
    columns: dict[str, list[Any]] = {
        "level": list(names),
        "target": [by_level[i].described.partition(": ")[2] if i in by_level else "–" for i in range(len(names))],
        symbol: [privacy_text(amount) for amount in found.amounts.tolist()],
        "on the prior": [reached(tuned, found, by_level.get(i), i) for i in range(len(names))],
        f"on the true counts ({NOT_PRIVATE})": [reached(truth, found, by_level.get(i), i) for i in range(len(names))],
    }
    return columns


def reached(problem: Problem | None, found: Inverse, target: Target | None, level: int) -> str:
    """Return what a level reaches: a probability, or an error."""
    if problem is None or target is None:
        return "–"
    if target.ask in (Ask.EVERY_NODE, Ask.AVERAGE_NODE):
        p = reliability(problem, found.amounts, target.value, target.at_least).probability[problem.tree.level(level)]
        worst = target.ask is Ask.EVERY_NODE
        return f"{'worst ' if worst else 'mean '}probability {float(p.min() if worst else p.mean()):.3f}"
    variance = problem.node_variance(found.amounts)[problem.tree.level(level)]
    if target.ask is Ask.RMSE:
        return f"RMSE {short(float(np.sqrt(variance.mean())))}"
    weight = replace(problem, metric="rmsre").node_weight[problem.tree.level(level)]
    return f"RMSRE {short(float(np.sqrt((variance * weight).mean())))}"


def level_shares(tree: Tree, useful: Any) -> FloatArray:
    """Return the share of each level's nodes that are useful, (n_levels,).

    >>> level_shares(Tree.from_branching_factors((2,)), np.array([True, True, False])).tolist()
    [1.0, 0.5]
    """
    met = np.add.reduceat(np.asarray(useful, dtype=np.int64), tree.level_start[:-1])
    return np.asarray(met / tree.level_sizes)


def map_table(tree: Tree, found: Reliability) -> dict[str, Any]:
    """Return each node's probability to be good (at most 100 000 nodes), in the order of the tree."""
    n = min(tree.n_nodes, MAX_ROWS)
    columns: Columns = {"node": list(range(n)), "level": tree.level_of[:n], "probability": found.probability[:n]}
    return labelled(columns, NOT_PRIVATE)


def useful_table(tree: Tree, names: Sequence[str], found: Reliability, confidence: float, label: str) -> dict[str, Any]:
    """Return which share of each level is useful, and how probable a good count is on it."""
    share = level_shares(tree, found.useful(confidence))
    columns: Columns = {"level": list(names), "share of useful nodes": share, "mean probability": found.level_mean}
    return labelled(columns, label)
