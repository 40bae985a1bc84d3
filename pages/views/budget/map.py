"""Which counts one can rely on: the tree coloured by the probability of being close, and the useful tree."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import frame, result
from pages.ui.page import Told
from pages.ui.setting import in_a_row
from pages.ui.settings import THRESHOLD
from pages.ui.store import dataset, used
from pages.ui.text import lit, prose
from pages.ui.walk import enter, follow, place, way_up
from pages.views.budget import ask, compared
from pages.views.budget import settings as s
from pages.views.budget.compared import Compared
from pages.views.budget.strategies import ledger, marked, pick
from treedp_core.figures.icicle import HOW
from treedp_core.figures.of_budget import useful_of
from treedp_core.figures.reliability import reliability_icicle
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.budget import NOT_PRIVATE, Reliability, Result, map_table, reliability, useful_table
from treedp_core.words import plural, setting_text, short, whole

MAX_BLOCKS: Final = 250


def show() -> Told:
    """Show the map of the chosen split; under *More* the useful part of each level."""
    with in_a_row():
        choice = st.container(width=220)
        s.WITHIN.draw()
        s.CONFIDENCE.draw()
        ask.draw_prior()
    return compared.show(ask.question(), partial(_reliable, choice), _more)


def _reliable(choice: DeltaGenerator, one: Compared) -> None:
    with choice:
        pick(one)
    if one.chosen is not None:
        _map(one, one.chosen, _found(one, one.chosen))


def _more(one: Compared) -> None:
    ask.more(metric=True, slices=True)
    if one.chosen is not None:
        _useful(one, one.chosen, _found(one, one.chosen))
    ledger(one)


def _found(one: Compared, row: Result) -> Ran[Reliability]:
    part, tau = s.WITHIN.value / 100.0, THRESHOLD.value
    key = (one.question, row.name, row.ledger.amounts, part, tau)
    found = result.at_once(
        "budget_map", key, partial(reliability, one.truth.value, row.amounts, part, tau), room=0
    ).here()
    return given(found, reliability, one.truth, row.amounts, part, tau).named("found")


def _map(one: Compared, row: Result, again: Ran[Reliability]) -> None:
    data, found, source = dataset(), again.value, used()

    def show(root: int) -> str | None:
        fig = call(
            reliability_icicle, source.get("tree"), source.get("labels"), source.get("counts"),
            again.get("probability"), root=root, max_nodes=MAX_BLOCKS,
        )  # fmt: skip
        return frame.figure(
            marked(fig, one),
            key="bud_map",
            alt=f"Probability of each count to be within {short(s.WITHIN.value)} %, as an icicle.",
            caption=f"{NOT_PRIVATE}: area is the true count. Colour: probability that the released count is within "
            f"{short(s.WITHIN.value)} % of it under “{row.label}” ({found.method}; τ = {short(THRESHOLD.value)}).",
            how=HOW,
            ran=call(map_table, again, source.get("labels")).saying(f"{NOT_PRIVATE}: judged by the true counts."),
            select=True,
            answer=_told(one, row, found),
        )

    enter(s.NODE.key, data.fingerprint)
    follow(show(place(data.tree, s.NODE.key)), data.tree, key=s.NODE.key)
    way_up(data.tree, data.labels, s.NODE.key)


def _told(one: Compared, row: Result, found: Reliability) -> str:
    """What the map says: how many counts are useful, and on which level most still are."""
    names, confidence = dataset().labels.level_names, s.CONFIDENCE.value
    deepest = found.deepest_useful(confidence)
    n_useful = int(found.useful(confidence).sum())
    return (
        f"Under “{row.label}” at ε = {setting_text(one.question.experiment.epsilon)}, "
        f"**{whole(n_useful)} of {plural(found.tree.n_nodes, 'count')}** are within {setting_text(s.WITHIN.value)} % "
        f"with probability {setting_text(confidence)} or more, each by itself: "
        + (
            "no level below the root has a majority of them."
            if not deepest
            else f"the finest level with a majority of them is {lit(names[deepest], 40)}."
        )
    )


def _useful(one: Compared, row: Result, again: Ran[Reliability]) -> None:
    data, found, confidence = dataset(), again.value, s.CONFIDENCE.value
    names = data.labels.level_names
    n_useful = int(found.useful(confidence).sum())
    prose("**The useful tree**")
    frame.figure(
        marked(call(useful_of, again, names, confidence), one),
        key="bud_useful",
        alt=f"{n_useful} of {data.tree.n_nodes} counts are useful.",
        caption=f"{NOT_PRIVATE}: counts within {short(s.WITHIN.value)} % with probability at least "
        f"{short(confidence)}: {whole(n_useful)} of {plural(data.tree.n_nodes, 'count')}.",
        ran=call(useful_table, names, again, confidence, one.label or NOT_PRIVATE),
    )
