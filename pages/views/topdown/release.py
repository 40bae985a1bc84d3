"""One release on the page TopDown: the level table, the release beside the truth, its errors."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, jobs, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import call
from pages.ui.strip import strip
from pages.ui.text import lit, plural, powers, short, whole
from pages.views.topdown import controls, state, tables
from pages.views.topdown import draw as one_release
from pages.views.topdown.draw import Drawn
from pages.views.topdown.pictures import pictures
from treedp_core.checks import InputError
from treedp_core.figures import one_draw
from treedp_core.figures.topdown import BiasLine, bias_by_count, error_under_bound, spurious_and_lost
from treedp_core.studies.topdown import Plan, bias_by_size, bound, bound_by_exact_tails, model, needs_factor_two
from treedp_core.studies.topdown.model import RULES, Wanted
from treedp_core.studies.topdown.subject import Subject
from treedp_core.words import privacy_text, setting_text

MAX_NAMED: Final = 4
CARD: Final = 192
"""Width of a card in pixels: its label fits, and four stand side by side on a wide page."""


def release(what: Subject) -> None:
    """Show the plan of a release, and one release beside the truth."""
    controls.budget(what)
    controls.rule(what)
    try:
        chosen = state.wanted(what)
        ready = chosen.plan(what)
    except InputError as error:
        refusal(error)
        _kept(what)
        return
    level_table(what, chosen, ready)
    try:
        _release(what, chosen)
    except InputError as error:
        refusal(error)
        _kept(what)


def _kept(what: Subject) -> None:
    """Show the last release of the same records below a refusal."""
    kept = state.last("_td_drawn")
    if kept and kept[0].subject.fingerprint == what.fingerprint:
        st.caption(f"The release below has other settings: {about(kept[0])}.")
        shown(kept[0])


def level_table(what: Subject, chosen: Wanted, ready: Plan) -> None:
    """Show what every level spends and may miss; formula."""
    st.header("Levels", anchor=False)
    subject, ready_again = state.again(what), call(Wanted.plan, chosen, state.again(what)).named("plan")
    ran = call(model.level_table, subject, ready_again, get("td_confidence"))
    table = ran.value
    number = partial(st.column_config.NumberColumn)
    st.dataframe(
        table | {"cells": [whole(n) for n in ready.cells], "ρ": [privacy_text(spent) for spent in table["ρ"]]},
        hide_index=True, width="content", height="content",
        column_config={
            "cells": st.column_config.TextColumn(alignment="right", help="Possible nodes of the level: public."),
            "share of ρ": number(format="%.3g %%"),
            "ρ": st.column_config.TextColumn(alignment="right"),
            "σ (records)": number(format="%.4g", help="Of the discrete Gaussian noise."),
            "bound": number("Theorem 1 (records)", format="%.4g", help="No node of the level is off by more, with the "
                            "chosen probability."),
            "by exact tails": number("by exact tails (records)", format="%.4g", help="The same sum, with the exact "
                                     "tails of the noise instead of an inequality: own derivation."),
            "factor 2": st.column_config.TextColumn(help="Whether σ < 0.9743, where the printed inequality needs a "
                                                    "factor 2 inside its logarithm."),
        },
        alt="Cells, budget, noise and error bound of every level",
    )  # fmt: skip
    note = (
        " At least one level has σ < 0.9743, where the printed inequality fails; its logarithm has the factor 2."
        if any(needs_factor_two(ready))
        else " Every σ is at least 0.9743, so the printed constant holds without a factor 2."
    )
    root = "the public total takes no noise" if ready.unit.total_is_public else "the total is measured too"
    st.caption(
        f"Formula. {whole(ready.cells[-1])} cells on the last level, ρ = {privacy_text(ready.guarantee.rho or 0.0)}, "
        f"{root}. Bound: Theorem 1 (Boninsegna), for each level by itself with probability "
        f"{100 * get('td_confidence'):g} %.{note} {ready.guarantee.sentence()}"
    )
    frame.footer("td_levels", ran)


def _release(what: Subject, chosen: Wanted) -> None:
    light = state.is_light(what, chosen)
    if not light:
        running = jobs.is_running(state.DRAW)
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            st.button("Run", key="td_run", type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter",
                      on_click=state.start_draw, args=(what, chosen), disabled=running,
                      help="One release; large ones run in the background.")  # fmt: skip
            st.button("Cancel", key="td_cancel", on_click=state.abandon_draw, disabled=not running,
                      help="Forget this run; the last release stays.")  # fmt: skip
        state.draw_progress()
    mine = state.drawn(what, chosen)
    if mine is None:
        st.info("This release is large. Press **Run** to draw it.", icon=":material/play_arrow:")
        return
    if (mine.wanted, mine.seed) != (chosen, get("seed")):
        st.caption(f":material/info: Computed for {about(mine)}; press **Run** for the present settings.")
    shown(mine)


def about(mine: Drawn) -> str:
    """Return what a release was drawn with, in words of our own."""
    asked = mine.wanted
    split = "equal shares" if asked.shares is None else "custom shares"
    return (
        f"{RULES[asked.rule].label}, ρ = {privacy_text(asked.rho)}, δ = {setting_text(asked.delta)}, {split}, "
        f"{mine.plan.unit.relation.label.lower()}, seed {mine.seed}"
    )


def what_tree(what: Subject) -> str:
    """Return the tree in words of our own."""
    levels = plural(len(what.columns), "level")
    if what.is_product:
        return f"{levels} of {powers(what.table.sizes)} categories, {whole(what.n_leaves)} possible leaves"
    return f"{levels}, {plural(what.n_leaves, 'leaf', 'leaves')}"


def shown(mine: Drawn) -> None:
    """Show one release beside the truth."""
    _cards(mine)
    _one_level(mine)
    left, right = st.columns(2)
    with left:
        _under_bound(mine)
    with right:
        _wrong_nodes(mine)
    _bias(mine)
    pictures(mine)


def _cards(mine: Drawn) -> None:
    st.header("One release beside the truth", anchor=False)
    leaves = mine.leaves
    last = bound(mine.plan, 1 - get("td_confidence"))[-1]
    rows = (
        ("Leaves with records", whole(leaves.n_released), f"true: {whole(leaves.n_true)}",
         f"Of {whole(leaves.n_cells)} possible ones."),
        ("Spurious leaves", whole(leaves.spurious), f"{_percent(leaves.spurious, leaves.n_released)} of the released",
         "Released with records, but truly empty (false positives)."),
        ("Lost leaves", whole(leaves.lost), f"{_percent(leaves.lost, leaves.n_true)} of the true",
         "Truly with records, but released as empty (false negatives)."),
        ("Largest error of a leaf", short(leaves.max_error), f"bound: {short(last)}", "In records."),
    )  # fmt: skip
    with st.container(horizontal=True):  # two a row where the page is narrow
        for label, value, note, help_ in rows:
            st.metric(label, value, note, delta_arrow="off", delta_color="off", border=True, width=CARD,
                      help=f"{help_} This release only: simulation on the true counts, NOT PRIVATE.")  # fmt: skip


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.3g} %" if of else "–"


def _one_level(mine: Drawn) -> None:
    """Show the true and the released counts of one level."""
    names = mine.subject.level_names
    level = min(max(get("td_level"), 0), len(names) - 1)
    if get("td_level") != level:
        st.session_state["td_level"] = level
    st.segmented_control(
        "Level shown", list(range(len(names))), key="td_level", persist_state="session", required=True,
        format_func=lambda i: lit(names[i], 24), help="Whose true and released counts are drawn.",
    )  # fmt: skip
    level = min(get("td_level"), len(names) - 1)
    here = mine.levels[level]
    sigma = float(mine.plan.sigmas[level])
    extra = "" if here.truth.size == here.n_cells else (
        f" Nodes that are 0 in both are left out: {whole(here.n_cells - here.truth.size)}.")  # fmt: skip
    frame.figure(
        one_draw(here.truth, here.released, sigma=sigma, mechanism="discrete_gaussian",
                 variant=RULES[mine.wanted.rule].steps, name=_namer(mine, level)),
        key="td_one_level",
        label=tuned.label("td"),
        alt=f"True and released counts of one level: the largest error is {short(here.max_error)} records.",
        caption=f"NOT PRIVATE: one simulated release beside the true counts. {what_tree(mine.subject)}; {about(mine)}. "
        f"Band: ± 1.96 σ of the level's noise before the projection. At most 400 nodes, evenly spaced in the ranking."
        f"{extra} Simulation.",
        ran=call(tables.released_table, state.drawn_again(mine), level), simulated=True,
    )  # fmt: skip


def _namer(mine: Drawn, level: int) -> Any:
    labels, tree = mine.subject.labels, mine.subject.tree
    if labels is None or tree is None:
        return None
    first = int(tree.level_start[level])
    return lambda i: " › ".join(labels.path(first + i)) or "all"


def _under_bound(mine: Drawn) -> None:
    beta = 1 - get("td_confidence")
    seen = np.array([level.max_error for level in mine.levels])
    allowed, exact = bound(mine.plan, beta), bound_by_exact_tails(mine.plan, beta)
    rule = RULES[mine.wanted.rule]
    if rule.is_bounded:
        note = "Both projections change a family as little as possible, so the theorem covers them."
    else:
        note = "Dotted: the theorem is about noise that goes straight into the projection, not about this rule."
    frame.figure(
        error_under_bound(mine.subject.level_names, seen, allowed, exact, confidence=1 - beta,
                          bound_applies=rule.is_bounded),
        key="td_bound",
        label=tuned.label("td"),
        alt=f"Largest error by level under Theorem 1: at last {short(seen[-1])} of {short(allowed[-1])} records.",
        caption=f"NOT PRIVATE: largest error of each level of this release (simulation, seed {mine.seed}). Bounds "
        f"(formula): Theorem 1, with the factor 2 where σ < 0.9743, and by exact tails (own derivation); each holds "
        f"for its level with probability {100 * (1 - beta):g} %. {note}",
        ran=call(tables.bound_table, state.drawn_again(mine), beta),
        simulated=True,
    )  # fmt: skip


def _wrong_nodes(mine: Drawn) -> None:
    spurious, lost = (np.array([getattr(level, name) for level in mine.levels]) for name in ("spurious", "lost"))
    frame.figure(
        spurious_and_lost(mine.subject.level_names, spurious, lost),
        key="td_wrong",
        label=tuned.label("td"),
        alt=f"Nodes by level: on the last level {whole(int(spurious[-1]))} spurious and {whole(int(lost[-1]))} lost.",
        caption=f"NOT PRIVATE: nodes that this release fills although they are empty, and nodes that it empties "
        f"although they have records. {RULES[mine.wanted.rule].label}, seed {mine.seed}. Simulation.",
        ran=call(tables.wrong_table, state.drawn_again(mine)),
        simulated=True,
    )  # fmt: skip


def _bias(mine: Drawn) -> None:
    found = bias_by_size([mine.leaves])
    sizes, mean, se = one_release.size_names(found), found.bias, found.standard_error
    frame.figure(
        bias_by_count(sizes, [BiasLine(RULES[mine.wanted.rule].label, mean, se)]),
        key="td_bias",
        label=tuned.label("td"),
        alt="Mean error of leaves by size of their true count: small counts gain or lose, large ones hardly.",
        caption="NOT PRIVATE: mean of released − true over the leaves of each size in this release; bars: 1.96 "
        f"standard errors over those leaves. With a public total all errors add up to 0: what "
        "empty leaves gain, others lose. "
        f"{RULES[mine.wanted.rule].label}, seed {mine.seed}. Simulation.",
        ran=call(tables.bias_table, state.drawn_again(mine)),
        simulated=True,
    )  # fmt: skip


def about_strip(what: Subject, chosen: Wanted | None, seed: int | None) -> str:
    """Return the strip: the records, and what the figures were made with; None where nothing was."""
    few = len(what.columns) <= MAX_NAMED
    order = " › ".join(lit(name, 24) for name in what.columns) if few else plural(len(what.columns), "column")
    records = (lit(what.name, 40), order, f"{whole(what.n_leaves)} leaves")
    if chosen is None:
        return strip(*records)
    epsilon = state.epsilon_of(chosen)
    relation, rho = chosen.unit.relation, 0.0 if epsilon else chosen.rho
    return strip(*records, relation=relation, epsilon=epsilon, rho=rho, delta=chosen.delta, seed=seed)
