"""One run on the page Multiplicative error: the labelled tree, step by step, and released against true counts."""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.controls import draw_again
from pages.ui.page import Told
from pages.ui.result import Result, at_once, in_background, refused, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import MADE_SEED
from pages.ui.shared import experiment, say_slack, slack
from pages.ui.store import dataset, used
from pages.ui.strip import strip
from pages.ui.text import lit, prose
from pages.views.multiplicative.blocks import in_words, show_bare, show_controls, show_rest, show_step
from pages.views.multiplicative.settings import (
    CLAMP,
    DEEP_TREE_LEAVES,
    DEEP_TREE_LEVELS,
    DEEP_TREE_RECORDS,
    PLAN,
    SOURCE,
)
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.figures.multiplicative import thresholds_against
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.multiplicative import run as study
from treedp_core.studies.multiplicative import trees
from treedp_core.studies.multiplicative.run import Run
from treedp_core.studies.multiplicative.simple import SIMPLE, best
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.words import percent, plural, short, whole

LARGE: Final = 60_000
"""Edges from which on a run is made in the background."""


def show() -> Told:
    """Show one run, step by step; under *More* the tree and plan to choose, and how it did."""
    source = _source()
    found = _run(source)
    made = found.value
    if made is not None:
        again = _again(made)
        step = show_controls(made.n_steps)
        show_step(made, step, again)
        say_slack("thresholds", "mul_set_delta", made.source.paths.total)
    elif source.value is not None:
        show_bare(source_again(source_key()).named("source").giving(source.value))
    show_state(found, "Running on a large tree, round by round")
    if made is None:
        return Told(strip(SOURCE.label_of(SOURCE.value)), "formula, simulation, NOT PRIVATE", more=_controls)
    about = strip(
        lit(made.source.name, 40), _levels(made), _total(made), f"α = {short(made.alpha)}",
        relation=made.guarantee.unit.relation, epsilon=made.settings.epsilon, delta=made.settings.delta,
        seed=made.settings.seed,
    )  # fmt: skip
    return Told(about, "formula, simulation, NOT PRIVATE", more=partial(_more, made, again, step))


def _more(made: Run, again: Ran[Run], step: int) -> None:
    _controls()
    show_rest(made, step)
    _against(made, again)
    _how_it_did(made, again)
    _rounds(made)


def _controls() -> None:
    with in_a_row():
        if SOURCE.draw() == "deep":
            DEEP_TREE_LEVELS.draw()
            DEEP_TREE_LEAVES.draw()
            DEEP_TREE_RECORDS.draw()
        PLAN.draw()
        CLAMP.draw()
        draw_again("mul_draw")


def source_key() -> tuple[str | int, ...]:
    """Return which tree the settings run on."""
    if SOURCE.value == "deep":
        return "deep", DEEP_TREE_LEVELS.value, DEEP_TREE_LEAVES.value, MADE_SEED.value, DEEP_TREE_RECORDS.value
    return ("small",) if SOURCE.value == "small" else ("current", dataset().fingerprint)


def _source() -> Result[Source]:
    """The tree to run on."""
    key = source_key()
    return at_once("mul_source", key, lambda: source_again(key).value, of=key)


def source_again(key: tuple[str | int, ...]) -> Ran[Source]:
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
    slot, of = "multiplicative_run", source_key()
    if source.error is not None or source.value is None:
        return refused(slot, source.error or InputError("BUSY", "The tree is on its way."), of=of)
    paths = source.value.paths
    wanted = experiment_of(source.value)
    key: Hashable = (of, PLAN.value, CLAMP.value, wanted)
    work = partial(study.run, source.value, PLAN.value, wanted, clamped=CLAMP.value)
    about = in_words(PLAN.value, CLAMP.value, wanted)
    if paths.n_edges > LARGE:
        return in_background(slot, key, 100, work, about=about, of=of)
    return at_once(slot, key, work, about=about, of=of)


def experiment_of(source: Source) -> Experiment:
    """Return what a run on a tree promises."""
    total = source.paths.total
    return experiment(delta=slack(total), metric="rmse", postprocess=(), allocation="uniform", threshold=10.0)


def _again(made: Run) -> Ran[Run]:
    """The call that makes a run again."""
    clamped: dict[str, Any] = {"clamped": True} if made.reach is not None else {}
    tree = source_again(source_key()).named("source")
    return given(made, study.run, tree, made.rule, made.settings, **clamped).named("made")


def _total(made: Run) -> str:
    return plural(made.source.paths.total, "record")


def _levels(made: Run) -> str:
    return plural(made.source.paths.n_levels, "level")


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
        call(thresholds_against, again, rival),
        key="mul_against",
        alt=f"{percent(made.inside)} of the nodes' released counts are within α times their true count.",
        caption=f"NOT PRIVATE: one simulated run on {judged}, at most 400 drawn. Dark band: errors "
        f"that α = {short(made.alpha)} forgives{error}. Squares: {SIMPLE[rival].about}, at the same "
        "promise: the simple rule with the smallest worst case here. Both axes logarithmic with 0. Seed "
        f"{made.settings.seed}.",
        ran=call(study.node_table, again),
        simulated=True,
    )  # fmt: skip


def _how_it_did(made: Run, again: Ran[Run]) -> None:
    rival = best(made.nodes.simple)
    error, least = made.error, made.nodes.simple[rival].worst
    if error is not None:
        better = "Thresholds have" if error < least else f"{SIMPLE[rival].label} has"
        prose(
            f"**{better} the smaller worst-case error** on {_levels(made)}: thresholds "
            f"{short(error)}, {SIMPLE[rival].label} {short(least)} records."
        )
    prose(_small_leaves(made))
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
    errors = ("worst-case α-RMSE", "largest error beyond α w", "root mean square beyond α w")
    frame.table(
        call(study.summary, again),
        key="mul_summary",
        alt="How every rule did",
        caption="NOT PRIVATE but for the first column. Worst case over all data: exact for the simple rules; that of "
        f"the thresholds {said}. The other columns: this one draw. All rules keep the same promise. {of_root}"
        f"{of_clamp}",
        formats={**dict.fromkeys(errors, short), "nodes within α w": percent},
        width="content",
        simulated=True,
    )


def _small_leaves(made: Run) -> str:
    """Say which wins where leaves are small: thresholds, or the histogram of the leaves summed up."""
    threshold, share = made.small_leaves
    ours, theirs = made.largest_error(), made.largest_error("stability_leaves")
    wins = "thresholds win" if ours < theirs else "the leaves win"
    return (
        f"A stability histogram of the leaves, summed, loses leaves of fewer than {whole(threshold)} records, which "
        f"hold {percent(share)} of the records here (NOT PRIVATE): beyond α w it is off by up to {short(theirs)} "
        f"records in this draw, thresholds by {short(ours)}, so **{wins}**. The fewer records are on small leaves, the "
        "more is to be said for the leaves; no bound holds for all data."
    )


def _rounds(made: Run) -> None:
    with st.expander("All rounds: thresholds, values, and who answered"):
        frame.plain_table(
            made.rounds,
            alt="Every round of the plan",
            caption="Thresholds and values are public: they follow from α, ε, δ, the number of levels and the bound on "
            "the total. Trees too light to pass are left out of the run, which changes no probability; how many were "
            "tested is therefore NOT PRIVATE, like the other counts on the right.",
            formats=dict.fromkeys(("threshold", "node passes above", "value given"), short),
        )
