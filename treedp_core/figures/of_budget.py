"""Pictures of the budget study, drawn from what it found: strategies, slices, targets, and useful counts."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from treedp_core.figures.budget import (
    StrategyRow,
    greedy_steps,
    met_of,
    row_of,
    row_to_come,
    strategies,
    strategy_levels,
    targets_met,
)
from treedp_core.figures.reliability import useful_shares
from treedp_core.studies.budget import STRATEGIES, Answer, GreedySplit, Reliability, Result, Target


def strategies_of(
    rows: Sequence[Result],
    level_names: Sequence[str],
    *,
    error_title: str,
    shown: Sequence[str] = (),
    to_come: str = "",
) -> go.Figure:
    """Return who gets what under every strategy, and the error of the tree.

    Parameters
    ----------
    shown : sequence of str
        Names of the strategies that are drawn, in their order; by default all.
    to_come : str
        Name of one that is still sought, which has a row without numbers.
    """
    by_name = {row.name: row for row in rows}
    chosen = [by_name[name] for name in shown] if shown else list(rows)
    return strategies(_rows(chosen, level_names, to_come), level_names, error_title=error_title)


def levels_of(rows: Sequence[Result], level_names: Sequence[str], *, y_title: str, to_come: str = "") -> go.Figure:
    """Return the error of each level under every strategy; one that is still sought has no numbers."""
    return strategy_levels(_rows(rows, level_names, to_come), level_names, y_title=y_title)


def _rows(rows: Sequence[Result], level_names: Sequence[str], to_come: str) -> list[StrategyRow]:
    drawn = [row_of(row) for row in rows]
    return [*drawn, row_to_come(to_come, STRATEGIES[to_come].label, len(level_names))] if to_come else drawn


def steps_of(found: GreedySplit, level_names: Sequence[str], symbol: str) -> go.Figure:
    """Return what each level has after each slice of a greedy split."""
    return greedy_steps(found.start, found.slice, found.steps, found.losses, level_names, symbol)


def targets_of(found: Answer, level_names: Sequence[str], targets: Sequence[Target]) -> go.Figure:
    """Return who gets what of the smallest budget, and each error against its target."""
    return targets_met(found.found.shares, level_names, met_of(targets, found))


def useful_of(found: Reliability, level_names: Sequence[str], confidence: float) -> go.Figure:
    """Return the share of each level's counts that are within reach with such a probability."""
    return useful_shares(level_names, found.useful_share(confidence), found.tree.level_sizes)
