"""Which counts one can rely on: the tree coloured by the probability of being close, and the useful tree."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame, result
from pages.ui.page import Told
from pages.ui.settings import THRESHOLD
from pages.ui.snippets import Ran, call, given
from pages.ui.store import dataset
from pages.ui.text import lit
from pages.ui.walk import walk
from pages.views.budget import ask, compared
from pages.views.budget import settings as s
from pages.views.budget.compared import Compared
from pages.views.budget.strategies import ledger, marked, pick
from treedp_core.figures.reliability import reliability_icicle, useful_shares
from treedp_core.studies.budget import NOT_PRIVATE, Reliability, Result, map_table, reliability, useful_table
from treedp_core.words import plural, setting_text, short, whole

MAX_BLOCKS: Final = 250


def show() -> Told:
    """Show the controls, the map of the chosen split, and the useful part of each level."""
    return compared.show(ask.draw(), _reliable)


def _reliable(one: Compared) -> None:
    pick(one)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.WITHIN.draw()
        s.CONFIDENCE.draw()
    row = one.chosen
    if row is None:
        return
    part, tau = s.WITHIN.value / 100.0, THRESHOLD.value
    key = (one.question, row.name, row.ledger.amounts, part, tau)
    found = result.at_once(
        "budget_map", key, partial(reliability, one.truth.value, row.amounts, part, tau), room=0
    ).here()
    again = given(found, reliability, one.truth, row.amounts, part, tau).named("found")
    left, right = st.columns([3, 2])
    with left:
        _map(one, row, again)
    with right:
        _useful(one, row, again)
    ledger(one)


def _map(one: Compared, row: Result, again: Ran[Reliability]) -> None:
    data, found = dataset(), again.value

    def show(root: int) -> str | None:
        fig = reliability_icicle(
            data.tree, data.labels, data.counts, found.probability, root=root, max_nodes=MAX_BLOCKS
        )
        return frame.figure(
            marked(fig, one),
            key="bud_map",
            alt=f"Probability of each count to be within {short(s.WITHIN.value)} %, as an icicle.",
            caption=f"{NOT_PRIVATE}: area is the true count. Colour: probability that the released count is within "
            f"{short(s.WITHIN.value)} % of it under “{row.label}” ({found.method}; τ = {short(THRESHOLD.value)}). "
            "Click a block to go down, the top one to go up.",
            ran=call(map_table, again).saying(f"{NOT_PRIVATE}: judged by the true counts."),
            select=True,
        )

    walk(show, data.tree, data.labels, key=s.NODE.key)


def _useful(one: Compared, row: Result, again: Ran[Reliability]) -> None:
    data, found, confidence = dataset(), again.value, s.CONFIDENCE.value
    names = data.labels.level_names
    n_useful = int(found.useful(confidence).sum())
    st.markdown("**The useful tree**")
    frame.figure(
        marked(useful_shares(names, found.useful_share(confidence), data.tree.level_sizes), one),
        key="bud_useful",
        alt=f"{n_useful} of {data.tree.n_nodes} counts are useful.",
        caption=f"{NOT_PRIVATE}: counts within {short(s.WITHIN.value)} % with probability at least "
        f"{short(confidence)}: {whole(n_useful)} of {plural(data.tree.n_nodes, 'count')}.",
        ran=call(useful_table, names, again, confidence, one.label or NOT_PRIVATE),
    )
    deepest = found.deepest_useful(confidence)
    st.markdown(
        f"Under “{row.label}” at ε = {setting_text(one.question.experiment.epsilon)} "
        + (
            "no level has a majority of useful counts."
            if deepest is None
            else f"most counts are useful down to level {deepest} ({lit(names[deepest], 40)})."
        )
    )
