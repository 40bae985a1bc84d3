"""From wanted accuracies to the smallest budget: a target for each level, the answer with its split, what binds."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame, result, tuned
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.settings import EPSILON, THRESHOLD
from pages.ui.snippets import call, given
from pages.ui.store import dataset
from pages.ui.text import lit, plain
from pages.views.budget import ask, compared, words
from pages.views.budget import settings as s
from pages.views.budget.compared import Compared
from pages.views.budget.strategies import marked
from treedp_core.allocation.shares import fitted, text_of, values_of_text
from treedp_core.checks import InputError
from treedp_core.figures import budget as figures
from treedp_core.studies.budget import (
    Ask,
    Confirmation,
    Inverse,
    Origin,
    Price,
    Problem,
    Target,
    answer,
    price,
    smallest_budget,
    target_table,
)
from treedp_core.words import plural, privacy_text, setting_text

FIRST: Final = 10.0
"""Target of the level above the last until the reader sets one."""
SLOT: Final = "budget_targets"
Answer = tuple[Inverse, Confirmation | None]


def show() -> Told:
    """Show the targets, and the smallest budget that meets them as far as the prior tells."""
    return compared.show(ask.draw(metric=False, slices=False), _targets)


def _targets(one: Compared) -> None:
    _controls()
    if one.tuned is None:
        st.info("The search needs a prior to look at.", icon=":material/history:")
        return
    kept = _sought(one, one.tuned.value)
    if kept.value is not None:
        of, targets = kept.made_for
        _answer(of, targets, *kept.value)
    result.show_state(kept, "Searching for the smallest budget")


def _sought(one: Compared, problem: Problem) -> result.Result[Answer]:
    """The answer; below targets that are refused, and while another is sought, the last one."""
    try:
        targets = wanted()
    except InputError as error:
        return result.refused(SLOT, error)
    about = "; ".join(target.described for target in targets)
    return result.in_background(
        SLOT, (one, targets), 100, partial(answer, problem, targets), about=f"{about} · {compared.about(one.question)}"
    )


def wanted() -> tuple[Target, ...]:
    """Return the targets that are set, level by level.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.
    """
    asked = Ask[s.ASK.value.upper()]
    part = 1.0 if asked is Ask.RMSE else 0.01
    return tuple(
        Target(level, asked, part * value, s.CONFIDENCE.value, THRESHOLD.value)
        for level, value in enumerate(_values())
        if value > 0
    )


def _values() -> list[float]:
    text, n_levels = s.TARGETS.value, dataset().tree.n_levels
    if text.strip():
        return fitted(values_of_text(text), n_levels)
    return [FIRST if level == max(1, n_levels - 2) else 0.0 for level in range(n_levels)]


def _controls() -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        asked = s.ASK.draw()
        if asked in ("average_node", "every_node"):
            s.CONFIDENCE.draw()
    data, unit = dataset(), "records" if asked == "rmse" else "%"
    if data.tree.n_levels > s.MAX_INPUTS:
        s.TARGETS.draw(label=f"Targets ({unit}), from the root down")
        return
    try:
        values = _values()
    except InputError:
        values = [0.0] * data.tree.n_levels
    columns = st.columns(data.tree.n_levels)
    for level, (column, name) in enumerate(zip(columns, data.labels.level_names, strict=True)):
        key = f"bud_t{level}"
        st.session_state[key] = values[level]
        column.number_input(
            f"{lit(name, 18)} ({unit})", min_value=0.0, key=key, format="%g", on_change=_changed,
            help=f"{plural(int(data.tree.level_sizes[level]), 'node')}; 0: no target.",
        )  # fmt: skip


def _changed() -> None:
    values = [float(st.session_state.get(f"bud_t{level}") or 0.0) for level in range(dataset().tree.n_levels)]
    s.TARGETS.set(text_of(values) if any(values) else "0")


def _answer(of: Compared, targets: tuple[Target, ...], found: Inverse, seen: Confirmation | None) -> None:
    assert of.prior is not None
    names, symbol, prior = dataset().labels.level_names, of.question.symbol, of.prior.value
    cost = price(of.question, of.truth.value, found, prior)
    cards((
        ("Smallest ε in all", privacy_text(cost.epsilon), f"{symbol} = {privacy_text(found.total)}, levels", ""),
        ("For the prior", privacy_text(prior.spent), symbol, ""),
        ("Seen in simulation", *words.seen(seen), ""),
        ("Binding level", *words.binding(found, names), ""),
        ("Proved lower bound", *words.lower_bound(found, of.question), ""),
    ), flow=True)  # fmt: skip
    again = given(found, smallest_budget, of.tuned, targets).named("found")
    ran = call(target_table, of.tuned, of.truth, again, targets, names, symbol).saying(of.label)
    frame.figure(
        marked(figures.one_split(found.amounts, prior.spent, cost.total, names), of),
        key="bud_targets_split",
        alt="Share of each level in the smallest budget.",
        caption=words.answered(found, of.question, targets),
        ran=ran,
    )
    st.dataframe(ran.value, hide_index=True, alt="Targets, budget and what is reached, by level")
    st.markdown(f"**Ledger.** {plain(cost.ledger.sentence())}")
    st.button(
        f"Set ε = {setting_text(cost.to_set)} and this split",
        key="bud_targets_use",
        icon=":material/send:",
        type="primary",
        disabled=not cost.shares,
        on_click=_use,
        args=(cost, prior.origin),
        help="Puts the total into the sidebar and the split into “Your own split”.",
    )


def _use(cost: Price, prior: Origin) -> None:
    EPSILON.set(cost.to_set)
    s.SHARES.set(cost.shares)
    s.STRATEGY.set(s.CUSTOM)
    s.VIEW.set(s.CUSTOM)
    tuned.keep("bud", prior)
