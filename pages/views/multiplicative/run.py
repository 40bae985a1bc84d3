"""One run on the page Multiplicative error: the labelled tree, step by step, and released against true counts."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.controls import draw_again
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.text import prose, small_print
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables.experiment_inputs import inputs_now, say_delta
from pages.views.multiplicative.settings import (
    CLAMP,
    DEEP_TREE_LEAVES,
    DEEP_TREE_LEVELS,
    DEEP_TREE_RECORDS,
    PLAN,
    SOURCE,
    STEP,
    draw_alpha,
)
from treedp_core.studies.multiplicative.run import Run
from treedp_core.views import VIEWS, multiplicative
from treedp_core.views.multiplicative import RunInputs, words
from treedp_core.words import percent, short, whole

_STEPS: Final = "_mul_steps"
_PLAYING: Final = "_mul_playing"
SECONDS: Final = 1.2
"""How long a step stands while the run plays."""
ERRORS: Final = ("worst-case α-RMSE", "largest error beyond α w", "root mean square beyond α w")


def show() -> Told:
    """Show one run, step by step; under *More* the tree and plan to choose, and how it did."""
    row = in_a_row()
    seen = _seen()
    made: Run | None = None if seen.slow is None else seen.slow.value
    if made is not None and _settled(made.n_steps):
        seen = _seen()
    with row:
        draw_alpha()
        if made is not None:
            _go("Back", "chevron_left", max(0, STEP.value - 1), "One step back.")
            _go("Next", "chevron_right", min(made.n_steps, STEP.value + 1), "One step on.")
            _play(STEP.value, made.n_steps)
    frame.found(seen)
    if made is not None:
        say_delta("thresholds", "mul_set_delta", made.source.paths.total)
    seen.say_state("Running on a large tree, round by round")
    return seen.told(more=partial(_more, seen, made))


def _seen() -> Seen[RunInputs]:
    return see(VIEWS["multiplicative.run"], inputs_now(RunInputs))


def _settled(n_steps: int) -> bool:
    """Set a step that the run has: the end where it was there; return whether that is another one."""
    step: int = STEP.value
    before = st.session_state.get(_STEPS)
    st.session_state[_STEPS] = n_steps
    if step <= n_steps and (before in (None, n_steps) or step < before):
        return False
    STEP.set(n_steps)
    return step != n_steps


def _go(label: str, icon: str, target: int, about: str) -> None:
    st.button(
        label, key=f"mul_{label.lower()}", icon=f":material/{icon}:", on_click=STEP.set, args=(target,),
        disabled=target == STEP.value, help=about, type="primary" if label == "Next" else "secondary",
    )  # fmt: skip


def _play(step: int, n_steps: int) -> None:
    """Show the button that goes on by itself, from the start where the end is shown."""
    at_end = step >= n_steps
    if at_end:
        st.session_state[_PLAYING] = False
    playing = st.session_state.get(_PLAYING, False)
    st.button(
        "Pause" if playing else "Play", key="mul_play", icon=f":material/{'pause' if playing else 'play_arrow'}:",
        on_click=_toggle, args=(not playing, 0 if at_end else step), help="One step a second, to the end.",
    )  # fmt: skip
    if playing:
        drawn = time.monotonic()

        def tick() -> None:
            if time.monotonic() - drawn > SECONDS / 2:  # not when it is drawn, but when its time has come
                STEP.set(step + 1)
                st.rerun()

        st.fragment(tick, run_every=SECONDS)()


def _toggle(playing: bool, step: int) -> None:
    st.session_state[_PLAYING] = playing
    STEP.set(step)


def _more(seen: Seen[RunInputs], made: Run | None) -> None:
    with in_a_row():
        if SOURCE.draw() == "deep":
            DEEP_TREE_LEVELS.draw()
            DEEP_TREE_LEAVES.draw()
            DEEP_TREE_RECORDS.draw()
        PLAN.draw()
        CLAMP.draw()
        draw_again("mul_draw")
    if made is None or not seen.result.is_ready:
        return
    with in_a_row():
        _go("Start", "first_page", 0, "Before the first test.")
        drawn = replace(STEP.drawn, label=f"Step of {whole(made.n_steps)}", high=made.n_steps)
        replace(STEP, drawn=drawn).draw()
        _go("End", "last_page", made.n_steps, "What is released.")
    prose(words.step_text(made, STEP.value))
    if asked := words.asked_in(made, STEP.value):
        small_print(asked)
    st.header("Released against true counts", anchor=False)
    frame.found(section(seen, "against"))
    formats = {**dict.fromkeys(ERRORS, short), "nodes within α w": percent}
    frame.found(section(seen, "rules"), formats=formats, width="content")
    with st.expander("All rounds: thresholds, values, and who answered"):
        named = ("threshold", "node passes above", "value given")
        frame.found_table(multiplicative.rounds(made), formats=dict.fromkeys(named, short))
