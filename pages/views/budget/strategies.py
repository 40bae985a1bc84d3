"""Strategies side by side: figures, the honest verdict, the ledger of the chosen one, and its way to other pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, router
from pages.ui.settings import get
from pages.ui.snippets import call, given
from pages.ui.store import dataset, remember
from pages.ui.text import lit, plural, short
from pages.views.budget import split as splits
from pages.views.budget import text as budget_text
from pages.views.budget.settings import CUSTOM
from pages.views.budget.split import Row, topped_up_error
from pages.views.budget.state import HANDED, Results, data_again, rows_again, use
from pages.views.budget.tables import step_table, strategy_table
from treedp_core.figures import budget as figures
from treedp_core.figures.budget import StrategyRow
from treedp_core.figures.reliability import watermark
from treedp_core.studies.budget import NOT_PRIVATE, STRATEGIES
from treedp_core.words import privacy_text

CARD: Final = 190
"""Width of a card in px: four fit a page, two a narrow one, and none cuts its text."""


def strategies(result: Results) -> None:
    """Show every strategy's split and error, who got each greedy slice, and which strategy wins."""
    names = dataset().labels.level_names
    rows = _drawn(result)
    cards(result)
    frame.figure(
        figure_of(result),
        key="bud_strategies",
        alt=_takeaway(result),
        caption=budget_text.caption(result.settings, dataset().tree, result.rows or ()),
        ran=call(strategy_table, rows_again(result), names, result.label, result.settings.metric).saying(result.label),
    )
    _steps(result, names)
    st.markdown("**Error by level**")
    title = budget_text.titled(result.settings, "the level")
    frame.figure(
        marked(figures.strategy_levels(rows, names, y_title=title), result),
        key="bud_levels",
        alt=f"{result.settings.metric} of each level under each strategy.",
        caption="NOT PRIVATE: expected errors on the true counts (closed form), strategies in the "
        "order and colours of the first figure. ∞: the level is not determined; 0: it is public.",
        ran=call(strategy_table, rows_again(result), names, result.label, result.settings.metric).saying(result.label),
    )


def figure_of(result: Results) -> Any:
    """Return the comparison of all strategies as a figure."""
    title = budget_text.titled(result.settings, "the tree")
    return marked(figures.strategies(_drawn(result), dataset().labels.level_names, error_title=title), result)


def marked(fig: Any, result: Results) -> Any:
    """Return the figure with a watermark where a split in it was tuned on the true counts."""
    return watermark(fig, NOT_PRIVATE) if result.label else fig


def _drawn(result: Results) -> list[StrategyRow]:
    rows = [
        StrategyRow(
            row.name,
            row.label,
            row.amounts / row.ledger.total,
            row.errors.level,
            row.errors.tree,
            row.spent / row.ledger.total,
        )
        for row in result.rows or ()
    ]
    if result.pending:
        nothing = np.full(dataset().tree.n_levels, np.nan)
        rows.append(StrategyRow("optimum", STRATEGIES["optimum"].label, 0.0 * np.nan_to_num(nothing), nothing, np.nan))
    return rows


def _takeaway(result: Results) -> str:
    told = ", ".join(f"{row.label} {short(row.errors.tree)}" for row in result.rows or ())
    return f"{result.settings.metric} of the tree by strategy: {told}."


def cards(result: Results) -> None:
    """Show the best simple strategy beside greedy and the tuned split, and say who wins."""
    simple = budget_text.best_simple(result.rows or ())
    tuned = result.row("optimum")
    name = STRATEGIES["optimum"].label if tuned is None else tuned.label.partition(",")[0]
    shown = [("Best simple strategy", simple), ("Greedy", result.row("greedy")), (name, tuned)]
    if get("bud_view") == CUSTOM:
        shown.insert(0, ("Your own split", result.row(CUSTOM)))
    with st.container(horizontal=True):
        for label, row in shown:
            waits = label == name and row is None and result.pending
            st.metric(
                label,
                short(row.errors.tree) if row is not None else "…" if waits else "–",
                _compared(row, simple) if row is not None else result.waits_for if waits else _missing(label),
                delta_arrow="off",
                delta_color="off",
                border=True,
                width=CARD,
                help=f"{result.settings.metric} of the tree, closed form on the true counts: NOT PRIVATE.",
            )
    for line in (
        budget_text.verdict(result.rows or ()),
        budget_text.optimum_line(result.best, result.settings),
        budget_text.prior_line(result.prior, result.settings),
    ):
        if line:
            st.markdown(line)


def _missing(label: str) -> str:
    return "needs shares that fit" if label == "Your own split" else "needs a prior"


def _compared(row: Row, simple: Row | None) -> str:
    if simple is None or row is simple:
        return row.label
    return f"{short(row.errors.tree / simple.errors.tree)}× best simple"


def _steps(result: Results, names: Sequence[str]) -> None:
    st.markdown("**Who gets each slice**")
    steps = result.steps
    if steps is None:
        st.info("The greedy split needs a prior to look at.", icon=":material/history:")
        return
    row = result.row("greedy")
    order = np.bincount(steps.steps, minlength=len(names)).tolist()
    told = ", ".join(f"{lit(name, 24)} {n}" for name, n in zip(names, order, strict=True) if n)
    truth, tuned, prior = data_again(result)
    again: Any = given((steps, row), splits.greedy_row, truth, tuned, result.settings, prior).named("greedy")
    frame.figure(
        marked(
            figures.greedy_steps(
                steps.start, steps.slice, steps.steps, steps.losses, names, result.settings.symbol
            ),
            result,
        ),
        key="bud_steps",
        alt="What each level has after each greedy slice; move the slider below to go through the slices.",
        caption=f"Slices: {told}. Each goes where it lowers the tree's {result.settings.metric} on the prior most; "
        "ties to the level nearest the root (Dawson et al., Algorithm 3). Drag the slider to go through them.",
        ran=call(step_table, again, result.label).saying(result.label),
    )  # fmt: skip


def ledger(result: Results) -> None:
    """Show what the chosen split charges to whom, level by level, and hand it over when asked to."""
    row = result.chosen
    if row is None:
        return
    data = dataset()
    st.header(f"Ledger: {row.label}", anchor=False)
    st.markdown(budget_text.ledger_line(row, result.settings))
    sigma = np.sqrt(1.0 / np.where(result.truth.paid > 0, _precision(result, row), np.inf))
    columns = {
        "level": list(data.labels.level_names),
        "nodes": data.tree.level_sizes.tolist(),
        "share of the total": (row.amounts / row.ledger.total).tolist(),
        result.settings.symbol: [privacy_text(amount) for amount in row.amounts.tolist()],
        "noise": [short(s) for s in sigma.tolist()],
        result.settings.metric: [short(e) for e in row.errors.level.tolist()],
    }
    st.dataframe(
        columns,
        hide_index=True,
        width="content",
        column_config={
            "share of the total": st.column_config.NumberColumn(format="percent"),
            result.settings.symbol: st.column_config.TextColumn(alignment="right"),
            "noise": st.column_config.TextColumn("noise st. dev. (records)", alignment="right"),
            result.settings.metric: st.column_config.TextColumn(alignment="right"),
        },
        alt="Budget, noise and error of each level under the chosen split",
    )
    _per_node(result, row)
    _hand_over(row)


def _precision(result: Results, row: Row) -> Any:
    with np.errstate(divide="ignore"):
        return np.maximum(result.truth.precision(row.amounts), np.finfo(float).tiny)


def _per_node(result: Results, row: Row) -> None:
    """Say what per-node budgets would gain, on trees where they can."""
    key = ("budget_nodes", dataset().fingerprint, result.settings, row.name, row.ledger.amounts)
    error = remember(key, lambda: topped_up_error(result.truth, row))
    if error is None:
        return
    change = f"from {short(row.errors.tree)} to {short(error)}" if error < row.errors.tree else "not at all"
    st.caption(
        "Per-node budgets: the price is the largest sum along a path from the root to a leaf, so leaves that end early "
        f"may also spend what deeper levels do. That lowers the tree's {result.settings.metric} {change}, at the same "
        "price (formula)."
    )


def _hand_over(row: Row) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Use this split",
            key="bud_use",
            type="primary",
            icon=":material/send:",
            on_click=use,
            args=(row,),
            help="Sets it as the custom split of the Error lab and the Consistency page, with this noise. What a "
            "prior took of the total stays unspent there.",
        )
        handed = st.session_state.get(HANDED)
        if handed is not None and handed[0] == row.name:
            st.markdown(f"Handed over: {lit(handed[1], 190)}", width="content")
            router.link("lab")
            router.link("consistency")
    if row.ledger.prior is not None and not row.ledger.prior.is_private:
        st.caption(f":red[{NOT_PRIVATE}]: wherever this split is used, it tells about the true counts.")


def empty(n_levels: int) -> None:
    """Say what the page would show, when nothing can be split."""
    st.caption(f"{plural(n_levels, 'level')}: choose other data on the Data page, or other settings; nothing is lost.")
