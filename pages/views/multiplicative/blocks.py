"""The labelled tree on the page Multiplicative error: which step is shown, its picture, and what happened in words."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.setting import in_a_row
from pages.ui.text import lit, prose, small_print
from pages.views.multiplicative.settings import STEP, draw_alpha
from treedp_core.experiment import Experiment
from treedp_core.figures.multiplicative import labelled_tree
from treedp_core.mechanisms.thresholds.trace import Step
from treedp_core.notebook.code import Ran, call
from treedp_core.privacy import Provenance
from treedp_core.studies.multiplicative.blocks import bare, bare_table, blocks
from treedp_core.studies.multiplicative.run import PLANS, Run, node_table
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.words import percent, plural, privacy_text, short, whole

_STEPS: Final = "_mul_steps"
_PLAYING: Final = "_mul_playing"
SECONDS: Final = 1.2
"""How long a step stands while the run plays."""


def show_bare(again: Ran[Source]) -> None:
    """Show the tree before any run."""
    with in_a_row():
        draw_alpha()
    source, shown = again.value, call(bare, again).named("shown")
    frame.figure(
        call(labelled_tree, shown, []),
        key="mul_bare",
        alt="The tree before any run: no node has a released value.",
        answer="Nothing has been released yet: a run colours the nodes, threshold by threshold.",
        caption=f"NOT PRIVATE: true counts, {lit(source.name, 40)}, {plural(source.paths.n_levels, 'level')}. "
        "Nothing has been released; a run colours the nodes here, threshold by threshold.",
        ran=call(bare_table, shown),
    )


def show_step(made: Run, step: int, again: Ran[Run]) -> None:
    """Show the tree after a step of a run, and what happened in it."""
    told = _step_text(made, step)
    paths, settings = made.source.paths, in_words(made.rule, made.reach is not None, made.settings)
    what = (
        "One block a node with its true count and, once it has one, its released value; leaves are equally wide."
        if made.source.is_small
        else "The heaviest branches, one column each, levels downwards; a block is a part of a path, or of what paths "
        "share, that got one value. Empty space has lighter nodes."
    )
    frame.figure(
        call(labelled_tree, call(blocks, again, step).named("shown"), again.get("values")),
        key="mul_tree",
        alt=f"The tree after step {step} of {made.n_steps}: {told}",
        answer=f"**Step {whole(step)} of {whole(made.n_steps)}.** {_short(made, step)} At the end "
        f"**{percent(made.inside)}** of nodes are within α = {short(made.alpha)} of their count.",
        caption=f"NOT PRIVATE: the true counts and the tests of one simulated run. {what} Colour: released value. "
        f"Orange outlines: this step; thick ones were labelled. {settings}, "
        f"{plural(paths.n_levels, 'level')}, {plural(paths.total, 'record')}, seed {made.settings.seed}. Ghazi et al., "
        f"Algorithms 1 to 4, corrected. {Provenance.SIMULATION.sentence(made.guarantee)}",
        ran=call(node_table, again),
        simulated=True,
    )


def show_controls(n_steps: int) -> int:
    """Show α and the buttons that go from step to step; return which step is shown: the end where it was there."""
    step: int = STEP.value
    before = st.session_state.get(_STEPS)
    if step > n_steps or (before is not None and before != n_steps and step >= before):
        step = n_steps
    STEP.set(step)
    st.session_state[_STEPS] = n_steps
    with in_a_row():
        draw_alpha()
        _go("Back", "chevron_left", max(0, step - 1), "One step back.", step)
        _go("Next", "chevron_right", min(n_steps, step + 1), "One step on.", step)
        _play(step, n_steps)
    return step


def _go(label: str, icon: str, target: int, about: str, step: int) -> None:
    st.button(
        label, key=f"mul_{label.lower()}", icon=f":material/{icon}:", on_click=STEP.set, args=(target,),
        disabled=target == step, help=about, type="primary" if label == "Next" else "secondary",
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


def show_rest(made: Run, step: int) -> None:
    """Show what is told of a step at length, and the way to any other one."""
    n_steps = made.n_steps
    with in_a_row():
        _go("Start", "first_page", 0, "Before the first test.", step)
        drawn = replace(STEP.drawn, label=f"Step of {whole(n_steps)}", high=n_steps)
        replace(STEP, drawn=drawn).draw()
        _go("End", "last_page", n_steps, "What is released.", step)
    prose(_step_text(made, step))
    if made.story:
        _asked(made, step)


def _asked(made: Run, step: int) -> None:
    """Show what was asked in a step of the small tree: level maxima from the deepest up."""
    if not 0 < step <= len(made.story) or not made.story[step - 1].asked:
        return
    one = made.story[step - 1]
    asked = ", ".join(f"level {level}: {whole(count)}" for level, count in one.asked)
    small_print(
        f"Asked in this step, deepest first, the largest unlabelled count of each level (NOT PRIVATE): {asked}. A "
        "level answers yes when its count with fresh noise reaches the noisy threshold, near "
        f"{short(one.classification_threshold)}."
    )


def in_words(plan: str, clamped: bool, settings: Experiment) -> str:
    """Return the settings of a run in a few words."""
    return (
        f"{PLANS[plan]} plan{', clamp' if clamped else ''}, α = {short(settings.alpha)}, "
        f"ε = {privacy_text(settings.epsilon)}"
    )


def _step_text(made: Run, step: int) -> str:
    """Return what happened in the last of a number of steps, in one or two sentences of ours."""
    plan = made.plan
    if step == 0:
        return (
            f"Start: no node has a value; {plural(len(plan.levels), 'round')} follow, the largest threshold first. "
            f"Nodes that none of them labels get {short(plan.default_value)}."
        )
    if step > made.n_searches:
        return _clamped(made)
    ending = f" Every other node gets the default {short(plan.default_value)}." if step == made.n_searches else ""
    if step == made.n_searches and made.public_total is not None:
        ending += " The root gets the public total."
    if made.story:
        return _told(made.story[step - 1]) + ending
    row = {name: column[step - 1] for name, column in made.rounds.items()}
    asked = f"Round {step}, threshold {short(row['threshold'])}: of {plural(row['trees tested'], 'tree')} tested, "
    if not row["answered yes"]:
        return f"{asked}none answered yes, so no node got a value.{ending}"
    got = f"passed, and got {short(row['value given'])} with all unlabelled nodes above"
    passed = f"{whole(row['passed'])} of {plural(row['nodes tested'], 'node')} tested alone"
    return f"{asked}{whole(row['answered yes'])} answered yes; {passed} {got if row['passed'] else 'passed'}.{ending}"


def _clamped(made: Run) -> str:
    moved = f"{whole(made.moved)} of {plural(made.nodes.truth.size, 'node')} moved into their interval."
    return (
        f"Clamp: every count is measured once more, with noise of at most R = {short(made.reach or 0.0)}, and what is "
        f"further than R from its measurement moves there, so no error exceeds 2 R. {moved}"
        + ("" if made.source.is_small else " They are not drawn one by one: the picture keeps the rounds' values.")
    )


def _short(made: Run, step: int) -> str:
    """Return what happened in a step, in one short sentence."""
    if step == 0:
        return "No node has a value yet."
    if step > made.n_searches:
        return f"The clamp moved {whole(made.moved)} of {plural(made.nodes.truth.size, 'node')}."
    if not made.story:
        row = {name: column[step - 1] for name, column in made.rounds.items()}
        named = f"{plural(row['nodes labelled'], 'node')} got {short(row['value given'])}"
        return f"Threshold {short(row['threshold'])}: {named if row['nodes labelled'] else 'no node got a value'}."
    one = made.story[step - 1]
    below = f"Threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{below}no level of any tree that is left answered yes, so nothing gets a value."
    if not one.labelled:
        return f"{below}level {one.fired} below node {one.root} answered yes, but no node passed its own test."
    named = plural(len(one.labelled), "node")
    return f"{below}level {one.fired} answered yes; {named} on the lit path got {short(one.value)}."


def _told(one: Step) -> str:
    if one.fired is not None:
        return one.sentence()
    return (
        f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: no level of any remaining tree "
        "answered yes."
    )
