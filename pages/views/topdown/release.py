"""One release on the page TopDown: the level table, the release beside the truth, its errors."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame, plans, tuned
from pages.ui.cards import cards
from pages.ui.result import Result, at_once, in_background, refused
from pages.ui.settings import SEED
from pages.ui.store import unit_of
from pages.views.topdown import asked, words
from pages.views.topdown import settings as s
from pages.views.topdown.pictures import pictures
from treedp_core.checks import InputError
from treedp_core.figures.of_topdown import bias_of_release, bounds_of_release, level_of_release, wrong_nodes
from treedp_core.notebook.code import Ran, call, given
from treedp_core.plans import ReleasePlan
from treedp_core.studies.topdown import Drawn, Plan, Subject, Wanted, draw, draws, is_light, needs_factor_two, tables
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import Z95, percent, percent_set, privacy_text, short, whole

SLOT: Final = "td_release"


def section(what: Subject, mine: Drawn | None) -> None:
    """Show the plan of a release level by level, and one release beside the truth."""
    with suppress(InputError):  # said below the figure
        _level_table(what, *asked.planned(what))
    if mine is None:
        return
    _cards(mine)
    _one_level(mine)
    left, right = st.columns(2)
    with left:
        _under_bound(mine)
    with right:
        _wrong_nodes(mine)
    _bias(mine)
    pictures(mine, drawn_again(mine))


def strip(what: Subject, mine: Drawn | None) -> str:
    """Return the strip of a release, or of the settings where there is none yet."""
    if mine is not None:
        return words.strip_of(what, mine.wanted, mine.seed)
    try:
        return words.strip_of(what, asked.planned(what)[0])
    except InputError:
        return words.strip_of(what, None)


def released(what: Subject) -> Result[Drawn]:
    """Return the release of the settings, below a refusal or before a large one is run the last of the same records.

    A large one is drawn in the background when asked to.
    """
    seed = SEED.value
    try:
        wanted, ready = asked.planned(what)
        work = partial(draw, what, wanted, seed)
        if is_light(what, ready):
            return at_once(SLOT, (wanted, seed), work, about=words.drawn_with(wanted, seed), of=what.fingerprint)
        return in_background(SLOT, (wanted, seed), draws(what, ready), work, start="button",
                             about=words.drawn_with(wanted, seed), of=what.fingerprint, room=1)  # fmt: skip
    except InputError as error:
        return refused(SLOT, error, of=what.fingerprint)


def drawn_again(mine: Drawn) -> Ran[Drawn]:
    """Return the call that draws a release again."""
    return given(mine, draw, asked.again(mine.subject), mine.wanted, mine.seed).named("drawn")


def _level_table(what: Subject, wanted: Wanted, ready: Plan) -> None:
    """Show what every level spends and may miss; formula."""
    st.header("Levels", anchor=False)
    subject = asked.again(what)
    again = given(ready, Wanted.plan, wanted, subject).named("plan")
    ran = call(tables.level_table, subject, again, s.CONFIDENCE.value)
    right = partial(st.column_config.TextColumn, alignment="right")
    note = (
        " At least one level has σ < 0.9743, where the printed inequality fails; its logarithm has the factor 2."
        if any(needs_factor_two(ready))
        else " Every σ is at least 0.9743, so the printed constant holds without a factor 2."
    )
    root = "the public total takes no noise" if ready.unit.total_is_public else "the total is measured too"
    frame.plain_table(
        ran.value | {"cells": ready.cells},
        alt="Cells, budget, noise and error bound of every level",
        caption=f"Formula. {whole(ready.cells[-1])} cells on the last level, ρ = "
        f"{privacy_text(ready.guarantee.rho or 0.0)}, {root}. Bound: Theorem 1 (Boninsegna), for each level by itself "
        f"with probability {percent_set(s.CONFIDENCE.value)}.{note} {ready.guarantee.sentence()}",
        formats={
            "cells": (whole, right(help="Possible nodes of the level: public.")),
            "share of ρ": percent,
            "ρ": privacy_text,
            "σ (records)": (short, right(help="Of the discrete Gaussian noise.")),
            "bound": (short, right("Theorem 1 (records)", help="No node of the level is off by more, with the chosen "
                                   "probability.")),
            "by exact tails": (short, right("by exact tails (records)", help="The same sum, with the exact tails of "
                                            "the noise instead of an inequality: own derivation.")),
            "factor 2": st.column_config.TextColumn(help="Whether σ < 0.9743, where the printed inequality needs a "
                                                    "factor 2 inside its logarithm."),
        },
        width="content",
        height="content",
    )  # fmt: skip
    frame.footer("td_levels", ran)
    plans.button("td", partial(_planned, wanted, again, what), "from TopDown")


def _planned(wanted: Wanted, ready: Ran[Plan], what: Subject) -> Ran[ReleasePlan]:
    """The plan of what is released here, of which the data set that the columns come from knows more."""
    subject = asked.again(what)
    counted = next((one for one in subject.args if isinstance(one, Ran)), None)
    more: dict[str, Any] = {} if counted is None else {"counted": counted, "whom": unit_of(counted.value)}
    more |= tuned.of_plan(tuned.in_force("td"))
    return call(ReleasePlan.of, ready, subject, steps=RULES[wanted.rule].steps, **more).named("plan")


def _cards(mine: Drawn) -> None:
    st.header("One release beside the truth", anchor=False)
    leaves = mine.leaves
    allowed = tables.bound_table(mine, 1 - s.CONFIDENCE.value)["Theorem 1"][-1]
    rows = (
        ("Leaves with records", whole(leaves.n_released), f"true: {whole(leaves.n_true)}",
         f"Of {whole(leaves.n_cells)} possible ones."),
        ("Spurious leaves", whole(leaves.spurious), f"{_percent(leaves.spurious, leaves.n_released)} of the released",
         "Released with records, but truly empty (false positives)."),
        ("Lost leaves", whole(leaves.lost), f"{_percent(leaves.lost, leaves.n_true)} of the true",
         "Truly with records, but released as empty (false negatives)."),
        ("Largest error of a leaf", short(leaves.max_error), f"bound: {short(allowed)}", "In records."),
    )  # fmt: skip
    only = "This release only: simulation on the true counts, NOT PRIVATE."
    cards([(label, value, note, f"{about} {only}") for label, value, note, about in rows], flow=True)


def _percent(part: int, of: int) -> str:
    return percent(part / of) if of else "–"


def _one_level(mine: Drawn) -> None:
    """Show the true and the released counts of one level."""
    level = s.LEVEL.value if s.VIEW.value == "counts" else asked.level(mine.subject)
    here = mine.levels[level]
    hidden = here.n_cells - here.truth.size
    extra = f" Nodes that are 0 in both are left out: {whole(hidden)}." if hidden else ""
    frame.figure(
        call(level_of_release, drawn_again(mine), level),
        key="td_one_level",
        label=tuned.label("td"),
        alt=f"True and released counts of one level: the largest error is {short(here.max_error)} records.",
        caption=f"NOT PRIVATE: one simulated release beside the true counts. {words.release(mine)}. "
        f"Band: ± {short(Z95)} σ of the level's noise before the projection. At most 400 "
        f"nodes, evenly spaced in the ranking.{extra} Simulation.",
        ran=call(tables.released_table, drawn_again(mine), level), simulated=True,
    )  # fmt: skip


def _under_bound(mine: Drawn) -> None:
    confidence, is_bounded = s.CONFIDENCE.value, RULES[mine.wanted.rule].is_bounded
    ran = call(tables.bound_table, drawn_again(mine), 1 - confidence)
    seen, allowed, _ = list(ran.value.values())[1:]
    note = (
        "Both projections change a family as little as possible, so the theorem covers them."
        if is_bounded
        else "Dotted: the theorem is about noise that goes straight into the projection, not about this rule."
    )
    frame.figure(
        call(bounds_of_release, drawn_again(mine), confidence),
        key="td_bound",
        label=tuned.label("td"),
        alt=f"Largest error by level under Theorem 1: at last {short(seen[-1])} of {short(allowed[-1])} records.",
        caption=f"NOT PRIVATE: largest error of each level of this release (simulation, seed {mine.seed}). Bounds "
        f"(formula): Theorem 1, with the factor 2 where σ < 0.9743, and by exact tails (own derivation); each holds "
        f"for its level with probability {percent_set(confidence)}. {note}",
        ran=ran, simulated=True,
    )  # fmt: skip


def _wrong_nodes(mine: Drawn) -> None:
    ran = call(tables.wrong_table, drawn_again(mine))
    spurious, lost = ran.value["spurious"], ran.value["lost"]
    frame.figure(
        call(wrong_nodes, drawn_again(mine)),
        key="td_wrong",
        label=tuned.label("td"),
        alt=f"Nodes by level: on the last level {whole(spurious[-1])} spurious and {whole(lost[-1])} lost.",
        caption=f"NOT PRIVATE: nodes that this release fills although they are empty, and nodes that it empties "
        f"although they have records. {_short_about(mine)}. Simulation.",
        ran=ran, simulated=True,
    )  # fmt: skip


def _bias(mine: Drawn) -> None:
    frame.figure(
        call(bias_of_release, drawn_again(mine)),
        key="td_bias",
        label=tuned.label("td"),
        alt="Mean error of leaves by size of their true count: small counts gain or lose, large ones hardly.",
        caption="NOT PRIVATE: mean of released − true over the leaves of each size in this release; bars: 95 % "
        f"intervals over those leaves. {_balance(mine)}{_short_about(mine)}. Simulation.",
        ran=call(tables.bias_table, drawn_again(mine)), simulated=True,
    )  # fmt: skip


def _balance(mine: Drawn) -> str:
    if not RULES[mine.wanted.rule].adds_up:
        return "Pruned counts need not add up to the total: small ones are 0, and nobody gains what they lose. "
    return "With a public total all errors add up to 0: what empty leaves gain, others lose. "


def _short_about(mine: Drawn) -> str:
    return f"{RULES[mine.wanted.rule].label}, seed {mine.seed}"
