"""The error lab below its controls: figure, cards, plain words, optimum, wanted error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from pages.ui import frame, tuned
from pages.ui.controls import level_picker
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import call, given
from pages.ui.store import dataset, remember, used
from pages.ui.strip import of_data, strip
from pages.ui.text import plural, short
from pages.views.lab import figures as lab_figures
from pages.views.lab import state as lab_state
from pages.views.lab import text as lab_text
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draw_once
from treedp_core.figures.draw import MAX_POINTS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.sweep import split as lab_split
from treedp_core.studies.sweep.lines import Line
from treedp_core.studies.sweep.series import DRAW
from treedp_core.words import plus_minus, privacy_text, setting_text

CARDS_A_ROW = 4


def lines() -> list[Line]:
    """Return the lines of the present view; a refusal is shown and gives none, so that the axes stay."""
    try:
        return lab_state.lines(get("lab_view"))
    except InputError as error:
        refusal(error)
        return []


def figure(shown: Sequence[Line]) -> None:
    """Show the figure of the present view."""
    if not lab_state.series():
        _ask_for_a_series()
    if get("lab_view") == DRAW:
        _one_draw(shown)
        return
    data, base, view = dataset(), settings(), get("lab_view")
    for text in (lab_text.stale_note(shown), lab_text.without_formula(shown), lab_state.note()):
        if text:
            st.caption(f":material/info: {text}")
    frame.figure(
        lab_figures.figure(view, shown, base, data.labels.level_names),
        key="lab_figure",
        alt=lab_text.plain_line(shown, base, data.tree) or "Empty axes: nothing to draw.",
        caption=lab_text.caption(shown, base, view, data.tree),
        ran=call(lab_figures.table, view, lab_state.again(view), used().get("labels.level_names")) if shown else None,
        label=tuned.label("lab"),
    )
    with st.expander("Values", key="lab_values", on_change="rerun") as values:
        if values.open:
            table = lab_figures.table(view, shown, data.labels.level_names)
            st.dataframe(table, hide_index=True, alt="The values behind the figure")


def about(shown: Sequence[Line]) -> str:
    """Return the strip of what is shown; nothing but the data set where nothing is."""
    if not shown:
        return strip(*of_data(dataset()))
    base = settings()
    drawn = get("lab_view") == DRAW or any(line.has_simulation and not line.is_stale for line in shown)
    slack = any(MECHANISMS[line.series.mechanism].needs_delta for line in shown)
    return strip(
        *of_data(dataset()),
        relation=NeighbouringRelation(base.relation),
        epsilon=base.epsilon,
        delta=base.delta if slack else 0.0,
        seed=base.seed if drawn else None,
    )


def _ask_for_a_series() -> None:
    if not get("lab_post"):
        st.info("Pick at least one post-processing; “None” shows the noise as it is.", icon=":material/touch_app:")
    else:
        st.info("Pick at least one mechanism.", icon=":material/touch_app:")


def settings() -> Experiment:
    """The settings all series share; unreadable custom shares, refused above, count as none here."""
    try:
        return lab_state.base()
    except InputError:
        return Experiment(metric=get("lab_metric"), epsilon=get("eps"))


def _one_draw(shown: Sequence[Line]) -> None:
    if not shown:
        return
    data, base = dataset(), settings()
    with st.container(horizontal=True):
        number = st.selectbox(
            "Series",
            range(len(shown)),
            format_func=lambda i: shown[i].series.label,
            key="lab_draw_series",
            help="One draw shows one series at a time.",
        )
        level = level_picker("lab_level", data)
    one = shown[min(number or 0, len(shown) - 1)].series
    experiment = one.of(base)
    raw, final = lab_state.keep_one(
        "_lab_draw", (data.fingerprint, experiment), lambda: draw_once(experiment, data.tree, data.counts)
    )
    if np.isnan(final.estimate[data.tree.level_start[level]]):
        st.info("This level is not measured, and this post-processing does not derive it.", icon=":material/block:")
        return
    source = used()
    tree, counts = source.get("tree"), source.get("counts")
    n_nodes = int(data.tree.level_sizes[level])
    thinned = (
        f"; {MAX_POINTS} of {plural(n_nodes, 'node')}, evenly spaced in the ranking" if n_nodes > MAX_POINTS else ""
    )
    frame.figure(
        lab_figures.draw_figure(one, raw, final, data.counts, data.tree, level, data.labels),
        key="lab_draw",
        alt=f"True and released counts of one simulated release with {one.label} on level {level}.",
        caption="NOT PRIVATE: one simulated release beside the true counts. Grey line: true counts; markers: released; "
        f"band: true count ± 1.96 standard deviations of the noise before post-processing{thinned}. Seed {base.seed}.",
        ran=call(
            lab_figures.draw_table,
            given((raw, final), draw_once, experiment, tree, counts).named("releases"),
            counts,
            tree,
            level,
            source.get("labels"),
        ),
        simulated=True,
        label=tuned.label("lab"),
    )


def cards(shown: Sequence[Line]) -> None:
    """Show each series' value for the whole tree at your epsilon, and how it compares with the best."""
    if not shown:
        return
    data, base = dataset(), settings()
    best = min((line.whole.value for line in shown if math.isfinite(line.whole.value)), default=math.nan)
    st.header(f"{lab_text.y_title(base.metric)} at your ε = {setting_text(base.epsilon)}", anchor=False)
    for start in range(0, len(shown), CARDS_A_ROW):
        row = shown[start : start + CARDS_A_ROW]
        for column, line in zip(st.columns(CARDS_A_ROW), row, strict=False):
            with column:
                _card(line, best)
    st.markdown(lab_text.plain_line(shown, base, data.tree))
    _optimum(shown, base, data)


def _card(line: Line, best: float) -> None:
    value = line.whole.value
    known = not math.isnan(value)
    error = plus_minus(line.whole.standard_error) if line.whole.source == "simulation" else ""
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.caption(line.series.label, help=f"Whole tree, {line.whole.source or 'simulation only'}.")
        st.metric(
            line.series.label,
            f"{short(value)}{error}" if known else "press Run",
            lab_text.ratio(value, best) if known else "no closed form",
            delta_arrow="off",
            delta_color="off",
            label_visibility="collapsed",
        )


def _optimum(shown: Sequence[Line], base: Experiment, data: Dataset) -> None:
    """Say how far Gaussian series are from the least error any unbiased Gaussian mechanism can have."""
    for line in shown:
        experiment = line.series.of(base)
        if not MECHANISMS[line.series.mechanism].continuous_gaussian:
            continue
        key = ("optimum", data.fingerprint, experiment)
        apart = remember(key, partial(lab_split.distance_from_optimum, experiment, data.tree))
        sentence = lab_text.optimum(line.series.label, apart)
        if sentence:
            st.markdown(sentence)


def target(shown: Sequence[Line]) -> None:
    """Ask for a wanted error, and answer with the smallest epsilon that reaches it."""
    st.header("From a wanted error to ε", anchor=False)
    data, base = dataset(), settings()
    st.number_input(
        f"Target {lab_text.y_title(base.metric)}",
        min_value=0.0,
        key="lab_target",
        persist_state="session",
        format="%g",
        width=280,
        help="The smallest ε whose formula for the whole tree is at most this; 0 asks for nothing.",
    )
    wanted = get("lab_target")
    if not wanted or not shown:
        return
    compared = [line.series for line in shown]
    key = ("target", data.fingerprint, wanted, tuple(one.of(base) for one in compared))
    try:
        with st.spinner("Searching …"):
            answers = remember(key, lambda: lab_split.target_table(compared, base, data.tree, data.counts, wanted))
    except InputError as error:
        refusal(error)
        return
    st.dataframe(
        {
            "series": [one.label for one, _, _ in answers],
            "smallest ε": [privacy_text(found) if found is not None else "–" for _, found, _ in answers],
            "note": [why for _, _, why in answers],
        },
        hide_index=True,
        width="content",
        alt="Smallest epsilon for the target error, for each series",
    )
    st.caption("Found by bisection on the formula, to 0.1 %.")
