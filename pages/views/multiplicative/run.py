"""One run on the page Multiplicative error: the labelled tree, step by step, and released against true counts."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.result import Result, State, at_once, in_background, show_state
from pages.ui.settings import MADE_SEED, SEED
from pages.ui.shared import experiment, say_slack, slack
from pages.ui.snippets import Ran, call, given
from pages.ui.store import dataset, used
from pages.ui.strip import strip
from pages.ui.text import lit, plural, short, whole
from pages.views.multiplicative.blocks import step_text
from pages.views.multiplicative.settings import (
    CLAMP,
    DEEP_TREE_LEAVES,
    DEEP_TREE_LEVELS,
    PLAN,
    SOURCE,
    STEP,
    draw_alpha,
)
from treedp_core.checks import MAX_SEED
from treedp_core.experiment import Experiment
from treedp_core.figures.multiplicative import labelled_tree, true_and_released
from treedp_core.privacy import Provenance
from treedp_core.studies.multiplicative import run as study
from treedp_core.studies.multiplicative import trees
from treedp_core.studies.multiplicative.blocks import bare, blocks
from treedp_core.studies.multiplicative.run import PLANS, Run
from treedp_core.studies.multiplicative.simple import ABOUT, RULES, best
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.words import privacy_text

LARGE: Final = 60_000
"""Edges from which on a run is made in the background."""
_STEPS: Final = "_mul_steps"


def show() -> Told:
    """Show one run."""
    _controls()
    source = _source()
    found = _run(source)
    made = found.value
    if made is not None:
        say_slack("thresholds", "mul_set_delta", made.source.paths.total)
    show_state(found, "Running on a large tree, round by round")
    if made is None:
        if source.value is not None:
            _not_yet(source.value)
        return Told(strip(SOURCE.label_of(SOURCE.value)), "formula, simulation, NOT PRIVATE")
    again = _again(made)
    _tree(made, again)
    _against(made, again)
    _how_it_did(made, again)
    _rounds(made)
    about = strip(
        lit(made.source.name, 40), _levels(made), _total(made), f"α = {short(made.alpha)}",
        relation=made.guarantee.unit.relation, epsilon=made.settings.epsilon, delta=made.settings.delta,
        seed=made.settings.seed,
    )  # fmt: skip
    return Told(about, "formula, simulation, NOT PRIVATE")


def _controls() -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if SOURCE.draw() == "deep":
            DEEP_TREE_LEVELS.draw()
            DEEP_TREE_LEAVES.draw()
        PLAN.draw()
        CLAMP.draw()
        draw_alpha()
        st.button(
            "Draw again", key="mul_draw", icon=":material/casino:", help="The next seed: other noise.",
            on_click=SEED.set, args=((SEED.value + 1) % (MAX_SEED + 1),),
        )  # fmt: skip


def _source_key() -> tuple[Any, ...]:
    if SOURCE.value == "deep":
        return "deep", DEEP_TREE_LEVELS.value, DEEP_TREE_LEAVES.value, MADE_SEED.value
    return ("small",) if SOURCE.value == "small" else ("current", dataset().fingerprint)


def _source() -> Result[Source]:
    """The tree to run on."""
    key = _source_key()
    return at_once("mul_source", key, lambda: _source_again(key).value, of=key)


def _source_again(key: tuple[Any, ...]) -> Ran[Source]:
    """The call that gives the tree to run on."""
    match key[0]:
        case "small":
            return call(trees.small_tree)
        case "deep":
            return call(trees.deep_tree, *key[1:])
        case _:
            data = used()
            return call(trees.tree_in_use, data.get("name"), data.get("tree"), data.get("counts"))


def _run(source: Result[Source]) -> Result[Run]:
    """The run of the settings; below a refusal, and while it is made, the last good one of this tree."""
    if source.value is None:
        return refused("multiplicative_run", source.error or InputError("BUSY", "There is no tree yet."), of=of)
    paths = source.value.paths
    wanted = experiment(delta=slack(paths.total), metric="rmse", postprocess=(), allocation="uniform", threshold=10.0)
    key: Hashable = (_source_key(), PLAN.value, CLAMP.value, wanted)
    work = partial(study.run, source.value, PLAN.value, wanted, clamped=CLAMP.value)
    keep: dict[str, Any] = {"about": _in_words(PLAN.value, CLAMP.value, wanted), "of": _source_key()}
    if paths.n_edges > LARGE:
        return in_background("multiplicative_run", key, 100, lambda watch: work(watch=watch), **keep)
    return at_once("multiplicative_run", key, work, **keep)


def _again(made: Run) -> Ran[Run]:
    """The call that makes a run again."""
    clamped: dict[str, Any] = {"clamped": True} if made.reach is not None else {}
    tree = _source_again(_source_key()).named("source")
    return given(made, study.run, tree, made.rule, made.settings, **clamped).named("made")


def _in_words(plan: str, clamped: bool, settings: Experiment) -> str:
    return (
        f"{PLANS[plan]} plan{', clamp' if clamped else ''}, α = {short(settings.alpha)}, "
        f"ε = {privacy_text(settings.epsilon)}"
    )


def _not_yet(source: Source) -> None:
    """Show the tree before any run."""
    frame.figure(
        labelled_tree(bare(source), []),
        key="mul_bare",
        alt="The tree before any run: no node has a released value.",
        caption=f"NOT PRIVATE: true counts, {lit(source.name, 40)}, {plural(source.paths.n_levels, 'level')}. "
        "Nothing has been released; a run colours the nodes here, threshold by threshold.",
    )


def _total(made: Run) -> str:
    return plural(made.source.paths.total, "record")


def _levels(made: Run) -> str:
    return plural(made.source.paths.n_levels, "level")


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


def _tree(made: Run, again: Ran[Run]) -> None:
    step = _steps(made.n_steps)
    told = step_text(made, step)
    st.markdown(told)
    settings = _in_words(made.rule, made.reach is not None, made.settings)
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
        f"Orange outlines: this step; thick ones were labelled. {settings}, {_levels(made)}, "
        f"{_total(made)}, seed {made.settings.seed}. Ghazi et al., "
        f"Algorithms 1 to 4, corrected. {Provenance.SIMULATION.sentence(made.guarantee)}",
        ran=call(study.node_table, again),
        simulated=True,
    )
    if made.story:
        _asked(made, step)


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


def _against(made: Run, again: Ran[Run]) -> None:
    st.header("Released against true counts", anchor=False)
    nodes, rival = made.nodes, best(made.nodes.simple)
    judged = (
        plural(nodes.truth.size, "node")
        if made.source.tree is not None
        else f"both ends of every chain of equal counts and {whole(study.EMPTY_SHOWN)} empty nodes"
    )
    error = "" if made.error is None else f", and lighter by the worst-case error E = {short(made.error)} more"
    frame.figure(
        true_and_released(
            nodes.truth, nodes.released, nodes.simple[rival].released, alpha=made.alpha, error=made.error,
            simple_name=RULES[rival],
        ),
        key="mul_against",
        alt=f"{made.inside:.0%} of the nodes' released counts are within α times their true count.",
        caption=f"NOT PRIVATE: one simulated run on {judged}, at most 400 drawn. Dark band: errors "
        f"that α = {short(made.alpha)} forgives{error}. Squares: {ABOUT[rival]}, at the same "
        "promise: the simple rule with the smallest worst case here. Both axes logarithmic with 0. Seed "
        f"{made.settings.seed}.",
        ran=call(study.node_table, again),
        simulated=True,
    )  # fmt: skip


def _how_it_did(made: Run, again: Ran[Run]) -> None:
    ran, rival = call(study.summary, again), best(made.nodes.simple)
    error, least = made.error, made.nodes.simple[rival].worst
    if error is not None:
        better = "Thresholds have" if error < least else f"{RULES[rival]} has"
        st.markdown(
            f"**{better} the smaller worst-case error** on {_levels(made)}: thresholds "
            f"{short(error)}, {RULES[rival]} {short(least)} records."
        )
    number = st.column_config.NumberColumn(format="%.4g")
    shown = dict.fromkeys(list(ran.value)[1:4], number)
    shown["nodes within α w"] = st.column_config.NumberColumn(format="%.1f %%")
    st.dataframe(ran.value, hide_index=True, width="content", column_config=shown, alt="How every rule did")
    proven = made.plan.error_is_proven or made.plan.error is None
    kind = "proven" if proven else "certified for one leaf, simulated on other trees"
    said = "is not stated for these constants without the clamp" if error is None else f"is {kind}"
    bound, of_clamp = made.found.estimation.max_total, ""
    if made.reach is not None:
        of_clamp = f" The clamp takes half of the budget; with R = {short(made.reach)} it moved {whole(made.moved)}."
    of_root = (
        "The total is public."
        if made.guarantee.unit.total_is_public
        else f"The plan was made for a root of at most {whole(math.ceil(bound))}, a private bound that is charged."
    )
    st.caption(
        f"NOT PRIVATE but for the first column. Worst case over all data: exact for the simple rules; that of the "
        f"thresholds {said}. The other columns: this one draw. All rules keep the same promise. {of_root}{of_clamp}"
    )
    frame.footer("mul_summary", ran, simulated=True)


def _rounds(made: Run) -> None:
    with st.expander("All rounds: thresholds, values, and who answered"):
        number = st.column_config.NumberColumn(format="%.5g")
        columns = dict.fromkeys(("threshold", "node passes above", "value given"), number)
        st.dataframe(made.rounds, hide_index=True, column_config=columns, alt="Every round of the plan")
        st.caption(
            "Thresholds and values are public: they follow from α, ε, δ, the number of levels and the bound on the "
            "total. Trees too light to pass are left out of the run, which changes no probability; how many were "
            "tested is therefore NOT PRIVATE, like the other counts on the right."
        )
