"""The labelled tree on the page Multiplicative error: which step is shown, its picture, and what happened in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.snippets import Ran, call
from pages.ui.text import lit
from pages.views.multiplicative.settings import STEP
from treedp_core.experiment import Experiment
from treedp_core.figures.multiplicative import labelled_tree
from treedp_core.mechanisms.thresholds.trace import Step
from treedp_core.privacy import Provenance
from treedp_core.studies.multiplicative.blocks import bare, blocks
from treedp_core.studies.multiplicative.run import PLANS, Run, node_table
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.words import plural, privacy_text, short, whole

_STEPS: Final = "_mul_steps"


def show_bare(source: Source) -> None:
    """Show the tree before any run."""
    frame.figure(
        labelled_tree(bare(source), []),
        key="mul_bare",
        alt="The tree before any run: no node has a released value.",
        caption=f"NOT PRIVATE: true counts, {lit(source.name, 40)}, {plural(source.paths.n_levels, 'level')}. "
        "Nothing has been released; a run colours the nodes here, threshold by threshold.",
    )


def show_steps(made: Run, again: Ran[Run]) -> None:
    """Show the tree after a step of a run, and what happened in it."""
    step = _steps(made.n_steps)
    told = _step_text(made, step)
    st.markdown(told)
    paths, settings = made.source.paths, in_words(made.rule, made.reach is not None, made.settings)
    what = (
        "One block a node with its true count and, once it has one, its released value; leaves are equally wide."
        if made.source.is_small
        else "The heaviest branches, one column each, levels downwards; a block is a part of a path, or of what paths "
        "share, that got one value. Empty space has lighter nodes."
    )
    frame.figure(
        labelled_tree(blocks(made, step), made.values),
        key="mul_tree",
        alt=f"The tree after step {step} of {made.n_steps}: {told}",
        caption=f"NOT PRIVATE: the true counts and the tests of one simulated run. {what} Colour: released value. "
        f"Orange outlines: this step; thick ones were labelled. {settings}, "
        f"{plural(paths.n_levels, 'level')}, {plural(paths.total, 'record')}, seed {made.settings.seed}. Ghazi et al., "
        f"Algorithms 1 to 4, corrected. {Provenance.SIMULATION.sentence(made.guarantee)}",
        ran=call(node_table, again),
        simulated=True,
    )
    if made.story:
        _asked(made, step)


def _steps(n_steps: int) -> int:
    """Show which step is shown, at the end where it was at the end; return it."""
    step, before = STEP.value, st.session_state.get(_STEPS)
    if step > n_steps or (before is not None and before != n_steps and step >= before):
        step = n_steps
    STEP.set(step)
    st.session_state[_STEPS] = n_steps
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        for label, icon, target, about in (
            ("Start", "first_page", 0, "Before the first test."),
            ("Back", "chevron_left", max(0, step - 1), "One step back."),
            ("Next", "chevron_right", min(n_steps, step + 1), "One step on."),
            ("End", "last_page", n_steps, "What is released."),
        ):
            st.button(
                label, key=f"mul_{label.lower()}", icon=f":material/{icon}:", on_click=STEP.set, args=(target,),
                disabled=target == step, help=about, type="primary" if label == "Next" else "secondary",
            )  # fmt: skip
        drawn = replace(STEP.drawn, label=f"Step of {whole(n_steps)}", high=n_steps)
        return replace(STEP, drawn=drawn).draw()


def _asked(made: Run, step: int) -> None:
    """Show what was asked in a step of the small tree: level maxima from the deepest up."""
    if not 0 < step <= len(made.story) or not made.story[step - 1].asked:
        return
    one = made.story[step - 1]
    asked = ", ".join(f"level {level}: {whole(count)}" for level, count in one.asked)
    st.caption(
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
    return (
        f"Round {step}, threshold {short(row['threshold'])}: of {plural(row['trees tested'], 'tree')} tested, "
        f"{whole(row['answered yes'])} answered yes; {whole(row['passed'])} of {plural(row['nodes tested'], 'node')} "
        f"tested alone passed, and got {short(row['value given'])} with all unlabelled nodes above.{ending}"
    )


def _clamped(made: Run) -> str:
    moved = f"{whole(made.moved)} of {plural(made.nodes.truth.size, 'node')} moved into their interval."
    return (
        f"Clamp: every count is measured once more, with noise of at most R = {short(made.reach or 0.0)}, and what is "
        f"further than R from its measurement moves there, so no error exceeds 2 R. {moved}"
        + ("" if made.source.is_small else " They are not drawn one by one: the picture keeps the rounds' values.")
    )


def _told(one: Step) -> str:
    start = f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{start}no level of any remaining tree answered yes."
    told = f"{start}in the tree below node {one.root}, level {one.fired} was the deepest to answer yes; "
    told += f"{whole(len(one.passed))} of {plural(len(one.tested), 'node')} tested alone passed"
    if not one.labelled:
        return f"{told}, so nothing is labelled."
    return f"{told}. {plural(len(one.labelled), 'node')} got {short(one.value)}: what passed and the unlabelled above."
