"""Strategies side by side: figures, the honest verdict, the ledger of the chosen one, and its way to other pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import plotly.graph_objects as go
import streamlit as st

from pages.ui import frame, handover, plans, router
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.setting import in_a_row
from pages.ui.store import dataset, remember
from pages.ui.text import lit, prose, small_print
from pages.views.budget import api, ask, compared, words
from pages.views.budget import settings as s
from pages.views.budget.compared import GREEDY, OPTIMUM, Compared, rows_again
from treedp_core.checks import InputError
from treedp_core.figures.of_budget import levels_of, steps_of, strategies_of
from treedp_core.figures.reliability import watermark
from treedp_core.notebook.code import Ran, call, given
from treedp_core.privacy.ledger import left_after
from treedp_core.records.export.columns import Columns
from treedp_core.studies.budget import (
    NOT_PRIVATE,
    STRATEGIES,
    GreedySplit,
    Optimum,
    Result,
    Source,
    best_simple,
    composed_epsilon,
    greedy,
    level_table,
    step_table,
    strategy_table,
    topped_up_error,
)
from treedp_core.words import percent, short, whole

HANDED: Final = "_budget_handed"


def show() -> Told:
    """Show every strategy's split and error; under *More* who got each greedy slice, and the ledger."""
    with in_a_row():
        s.METRIC.draw()
        ask.draw_prior()
    return compared.show(ask.question(), _strategies, _more)


def _strategies(one: Compared) -> None:
    comparison(
        one, one.rows, "bud_strategies", _takeaway(one), words.caption(one.question, dataset().tree, one.rows),
        words.best(one.rows, one.question),
    )  # fmt: skip


def _more(one: Compared) -> None:
    ask.more(slices=True)
    verdict(one)
    names = dataset().labels.level_names
    _steps(one, names)
    prose("**Error by level**")
    title = words.titled(one.question, "the level")
    frame.figure(
        marked(call(levels_of, rows_again(one), names, y_title=title, to_come=_to_come(one)), one),
        key="bud_levels",
        alt=f"{one.question.metric} of each level under each strategy.",
        caption=f"{NOT_PRIVATE}: expected errors on the true counts (closed form), strategies in the "
        "order and colours of the first figure. ∞: the level is not determined; 0: it is public.",
        ran=_table_again(one),
    )
    pick(one)
    ledger(one)


def comparison(one: Compared, rows: Sequence[Result], key: str, alt: str, caption: str, answer: str) -> None:
    """Show who gets what under every strategy, and the error of the tree."""
    title = words.titled(one.question, "the tree")
    names, shown = dataset().labels.level_names, tuple(row.name for row in rows)
    fig = call(strategies_of, rows_again(one), names, error_title=title, shown=shown, to_come=_to_come(one))
    frame.figure(marked(fig, one), key=key, alt=alt, caption=caption, ran=_table_again(one), answer=answer)


def _table_again(one: Compared) -> Ran[Columns]:
    names = dataset().labels.level_names
    return call(strategy_table, rows_again(one), names, one.label, one.question.metric).saying(one.label)


def marked(fig: go.Figure | Ran[go.Figure], one: Compared) -> go.Figure | Ran[go.Figure]:
    """Return a figure, or the call that draws it, with a watermark where a split was tuned on the true counts."""
    if not one.label:
        return fig
    return call(watermark, fig.named("unmarked"), NOT_PRIVATE) if isinstance(fig, Ran) else watermark(fig, NOT_PRIVATE)


def _to_come(one: Compared) -> str:
    """The strategy that is still sought."""
    return OPTIMUM if one.is_pending else ""


def _takeaway(one: Compared) -> str:
    told = ", ".join(f"{row.label} {short(row.errors.tree)}" for row in one.rows)
    return f"{one.question.metric} of the tree by strategy: {told}."


def verdict(one: Compared) -> None:
    """Show the best simple strategy beside greedy and the tuned split, and say who wins."""
    simple, best = best_simple(one.rows), one.row(OPTIMUM)
    name = STRATEGIES[OPTIMUM].label if best is None else best.label
    waits = "searching" if one.search is not None and one.search.is_pending else "cancelled"
    coming = ("…", waits) if one.is_pending else ("–", "needs a prior")
    shown = [("Best simple strategy", simple, ("–", "")), ("Greedy", one.row(GREEDY), ("–", "needs a prior")),
             (name, best, coming)]  # fmt: skip
    if s.VIEW.value == s.CUSTOM:
        shown.insert(0, ("Your own split", one.row(s.CUSTOM), ("–", "needs shares that fit")))
    about = f"{one.question.metric} of the tree, closed form on the true counts: NOT PRIVATE."
    told = [(label, *(missing if row is None else (short(row.errors.tree), words.compared(row, simple))), about)
            for label, row, missing in shown]  # fmt: skip
    cards(told, flow=True)
    found = None if best is None else best.found
    for line in (
        words.verdict(one.rows),
        words.optimum_line(found, one.question) if isinstance(found, Optimum) else "",
        words.prior_line(None if one.prior is None else one.prior.value, one.question),
    ):
        if line:
            prose(line)


def _steps(one: Compared, names: Sequence[str]) -> None:
    prose("**Who gets each slice**")
    row = one.row(GREEDY)
    if row is None or not isinstance(row.found, GreedySplit):
        st.info("The greedy split needs a prior to look at.", icon=":material/history:")
        return
    steps = row.found
    told = ", ".join(f"{lit(names[level], 24)} {n}" for level, n in steps.slices_by_level if n)
    left = left_after(one.question.total, row.origin, row.ledger.currency)
    scaled = " In the end all are scaled to what this noise may spend." if one.question.within else ""
    again = given(steps, greedy, one.tuned, left, one.question.phases).named("found")
    frame.figure(
        marked(call(steps_of, again, names, one.question.symbol), one),
        key="bud_steps",
        alt="What each level has after each greedy slice; move the slider below to go through the slices.",
        caption=f"Slices: {told}. Each goes where it lowers the tree's {one.question.metric} on the prior most; "
        f"ties to the level nearest the root (Dawson et al., Algorithm 3).{scaled}",
        how="Drag the slider to go through them.",
        ran=call(step_table, again, one.label).saying(one.label),
    )  # fmt: skip


def pick(one: Compared) -> None:
    """Show which strategy the ledger, the reliability map and the other pages take."""
    labels = {row.name: row.label for row in one.rows}
    if one.is_pending:
        labels[OPTIMUM] = STRATEGIES[OPTIMUM].label
    if s.STRATEGY.value in labels:
        s.STRATEGY.said(format=labels.__getitem__).draw(offered=list(labels))
    else:
        small_print(f"The strategy “{s.STRATEGY.value.replace('_', ' ')}” cannot be had with these settings.")


def ledger(one: Compared) -> None:
    """Show what the chosen split charges to whom, level by level, and hand it over when asked to."""
    row = one.chosen
    if row is None:
        return
    symbol, metric = one.question.symbol, one.question.metric
    st.header(f"Ledger: {row.label}", anchor=False)
    prose(words.ledger_line(row, one.question))
    key = ("budget_composed", dataset().fingerprint, one.question, row.name, row.ledger.amounts)
    composed = remember(key, partial(composed_epsilon, one.truth.value, row, one.question.experiment.delta))
    if told := words.composed_line(composed, one.question):
        small_print(told)
    frame.plain_table(
        level_table(one.truth.value, row, dataset().labels.level_names, symbol, metric),
        alt="Budget, noise and error of each level under the chosen split",
        formats={"nodes": whole, "share": percent, symbol: str, "noise st. dev.": short, metric: short},
        width="content",
    )
    _per_node(one, row)
    _hand_over(one, row)
    api.show(one, row)


def _per_node(one: Compared, row: Result) -> None:
    """Say what per-node budgets would gain, on trees where they can."""
    key = ("budget_nodes", dataset().fingerprint, one.question, row.name, row.ledger.amounts)
    error = remember(key, partial(topped_up_error, one.truth.value, row))
    if error is not None:
        small_print(words.per_node_line(row, error, one.question))


def _hand_over(one: Compared, row: Result) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Use this split",
            key="bud_use",
            type="primary",
            icon=":material/send:",
            on_click=_use,
            args=(one, row),
            help="Sets it as the custom split of the Error lab, Consistency and Release plan, with this noise. What a "
            "prior took of the total stays unspent there.",
        )
        plans.button("bud", partial(plans.of_ledger, row.ledger, one.question.experiment), "from Budget split")
        handed = st.session_state.get(HANDED)
        if handed is not None and handed[0] == row.name:
            prose(f"Handed over: {lit(handed[1], 190)}", width="content")
            router.link("lab")
            router.link("consistency")
            router.link("plan")
    if row.origin is not None and not row.origin.is_private:
        small_print(f":red[{NOT_PRIVATE}]: wherever this split is used, it tells about the true counts.")


def _use(one: Compared, row: Result) -> None:
    """Have all pages take a split over as their custom shares; none that cannot be read."""
    try:
        row = one.at_press(row)
    except InputError:
        return
    asked = one.question.experiment
    handover.take(row.handed_over, Source(row.name, asked.epsilon), row.origin, asked)
    st.session_state[HANDED] = (row.name, row.handed_over)
