"""One run on the page Multiplicative error: the labelled tree, step by step, and released against true counts."""

from __future__ import annotations

import math

import streamlit as st

from pages.ui import frame
from pages.ui.settings import get
from pages.ui.shared import say_slack
from pages.ui.snippets import call
from pages.ui.strip import strip
from pages.ui.text import lit, plural, short, whole
from pages.views.multiplicative import blocks as pictures
from pages.views.multiplicative import controls, state
from treedp_core.figures.multiplicative import labelled_tree, true_and_released
from treedp_core.privacy import Provenance
from treedp_core.studies.multiplicative import run as model
from treedp_core.studies.multiplicative.run import PLANS, Run
from treedp_core.studies.multiplicative.simple import ABOUT, RULES, best
from treedp_core.studies.multiplicative.trees import SOURCES
from treedp_core.words import privacy_text


def show() -> str:
    """Show one run; return the strip for the title."""
    controls.run()
    made, is_present = state.run()
    if made is not None:
        say_slack("thresholds", "mul_set_delta", made.source.paths.total)
    if made is None:
        _not_yet()
        return strip(SOURCES[get("mul_source")])
    if not is_present:
        st.caption(f"Computed for other settings: {_settings(made)}.")
    _tree(made)
    _against(made)
    _how_it_did(made)
    _rounds(made)
    return strip(
        lit(made.source.name, 40),
        plural(made.source.paths.n_levels, "level"),
        _total(made),
        f"α = {short(made.alpha)}",
        relation=made.guarantee.unit.relation,
        epsilon=made.settings.epsilon,
        delta=made.settings.delta,
        seed=made.settings.seed,
    )


def _not_yet() -> None:
    """Show the tree before any run."""
    source = state.source()
    if source is None:
        return
    frame.figure(
        labelled_tree(pictures.bare(source), []),
        key="mul_bare",
        alt="The tree before any run: no node has a released value.",
        caption=f"NOT PRIVATE: true counts, {lit(source.name, 40)}, {plural(source.paths.n_levels, 'level')}. "
        "Nothing has been released; a run colours the nodes here, threshold by threshold.",
    )


def _total(made: Run) -> str:
    return plural(made.source.paths.total, "record")


def _settings(made: Run) -> str:
    plan = f"{PLANS[made.rule]} plan{'' if made.reach is None else ', clamp'}"
    return f"{plan}, α = {short(made.alpha)}, ε = {privacy_text(made.guarantee.epsilon)}"


def _tree(made: Run) -> None:
    step = controls.steps(made.n_steps)
    st.markdown(pictures.step_text(made, step))
    plan, shown = made.estimation.plan, pictures.blocks(made, step)
    few, public = made.source.is_small, [] if made.public_total is None else [made.public_total]
    what = (
        "One block a node with its true count and, once it has one, its released value; leaves are equally wide."
        if few
        else "The heaviest branches, one column each, levels downwards; a block is a part of a path, or of what paths "
        "share, that got one value. Empty space has lighter nodes."
    )
    frame.figure(
        labelled_tree(shown, [*(level.value for level in plan.levels), plan.default_value, *public]),
        key="mul_tree",
        alt=f"The tree after step {step} of {made.n_steps}: {pictures.step_text(made, step)}",
        caption=f"NOT PRIVATE: the true counts and the tests of one simulated run. {what} Colour: released value. "
        f"Orange outlines: this step; thick ones were labelled. {_settings(made)}, "
        f"{plural(made.source.paths.n_levels, 'level')}, {_total(made)}, seed {made.settings.seed}. Ghazi et al., "
        f"Algorithms 1 to 4, corrected. {Provenance.SIMULATION.sentence(made.guarantee)}",
        ran=call(model.node_table, state.again(made)),
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


def _against(made: Run) -> None:
    st.header("Released against true counts", anchor=False)
    nodes, rival = made.nodes, best(made.nodes.simple)
    at, inside = made.drawn, 100 * made.inside
    judged = (
        f"{plural(nodes.truth.size, 'node')}"
        if made.source.tree is not None
        else f"both ends of every chain of equal counts and {whole(model.EMPTY_SHOWN)} empty nodes"
    )
    error = "" if made.error is None else f", and lighter by the worst-case error E = {short(made.error)} more"
    frame.figure(
        true_and_released(
            nodes.truth[at], nodes.released[at], nodes.simple[rival].released[at], alpha=made.alpha, error=made.error,
            simple_name=RULES[rival],
        ),
        key="mul_against",
        alt=f"{inside:.0f} % of the nodes' released counts are within α times their true count.",
        caption=f"NOT PRIVATE: one simulated run on {judged}, at most 400 drawn. Dark band: errors "
        f"that α = {short(made.alpha)} forgives{error}. Squares: {ABOUT[rival]}, at the same "
        "promise: the simple rule with the smallest worst case here. Both axes logarithmic with 0. Seed "
        f"{made.settings.seed}.",
        ran=call(model.node_table, state.again(made)),
        simulated=True,
    )  # fmt: skip


def _how_it_did(made: Run) -> None:
    table, rival = made.summary, best(made.nodes.simple)
    error, least = made.error, made.nodes.simple[rival].worst
    if error is not None:
        better = "Thresholds have" if error < least else f"{RULES[rival]} has"
        st.markdown(
            f"**{better} the smaller worst-case error** on {plural(made.source.paths.n_levels, 'level')}: thresholds "
            f"{short(error)}, {RULES[rival]} {short(least)} records."
        )
    number = st.column_config.NumberColumn(format="%.4g")
    shown = dict.fromkeys(list(table)[1:4], number)
    shown["nodes within α w"] = st.column_config.NumberColumn(format="%.1f %%")
    st.dataframe(table, hide_index=True, width="content", column_config=shown, alt="How every rule did")
    plan = made.estimation.plan
    kind = (
        "proven" if plan.error_is_proven or plan.error is None else "certified for one leaf, simulated on other trees"
    )
    said = "is not stated for these constants without the clamp" if error is None else f"is {kind}"
    bound, of_clamp = made.estimation.max_total, ""
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
    frame.footer("mul_summary", call(model.summary, state.again(made)), simulated=True)


def _rounds(made: Run) -> None:
    with st.expander("All rounds: thresholds, values, and who answered"):
        table = made.rounds
        number = st.column_config.NumberColumn(format="%.5g")
        columns = dict.fromkeys(("threshold", "node passes above", "value given"), number)
        st.dataframe(table, hide_index=True, column_config=columns, alt="Every round of the plan")
        st.caption(
            "Thresholds and values are public: they follow from α, ε, δ, the number of levels and the bound on the "
            "total. Trees too light to pass are left out of the run, which changes no probability; how many were "
            "tested is therefore NOT PRIVATE, like the other counts on the right."
        )
