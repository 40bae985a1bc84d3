"""Methods: an entry of the tables, its formula, the others of its kind beside it, and the self-check."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui import frame, router
from pages.ui.page import Told
from pages.ui.result import Result, at_once, in_background, run_button, show_state
from pages.ui.setting import in_a_row
from pages.ui.strip import strip
from pages.ui.text import formula, lit, prose, small_print
from pages.views.methods import settings as s
from pages.views.methods import words
from treedp_core.figures.methods import beside_others, checked
from treedp_core.notebook.code import call, given
from treedp_core.registry import CLAIM
from treedp_core.studies.methods.compared import compared, compared_table
from treedp_core.studies.methods.entries import KINDS, METHODS, Method, method_table
from treedp_core.studies.methods.letters import letters
from treedp_core.studies.methods.selfcheck import SEED, TRIALS, SelfCheck, check_table, n_steps, self_check
from treedp_core.words import whole

ALWAYS = "methods"
"""What results belong to: no data set."""


def show() -> Told:
    """Show an entry, and the rest of its kind."""
    with in_a_row():
        one = _chosen()
        check = in_background(
            "met_check", (TRIALS, SEED, len(METHODS)), n_steps, partial(self_check, TRIALS, SEED), start="button",
            of=ALWAYS, of_data=False, about=f"{whole(TRIALS)} releases each, seed {whole(SEED)}",
        )  # fmt: skip
        run_button(check, "met_check_run", label="Self-check", help="Every closed form against a simulation of it.")
    if one.stated.formula:
        formula(one.stated.formula, letters(one.kind, one.stated.formula))
    found = at_once("met_compared", one.name, lambda: compared(one.name), of=ALWAYS, room=12)
    if found.value is not None:
        columns = given(found.value.columns, compared_table, one.name).named("columns")
        said = words.answer(one, found.value)
        frame.figure(
            call(beside_others, columns, found.value.chosen, found.value.says, found.value.is_ratio),
            key="met_compared", alt=said,
            answer=said, ran=columns, caption=words.caption(one, found.value),
        )  # fmt: skip
    show_state(found, "Computing")
    show_state(check, "Checking")
    if check.value is not None:
        prose(words.checked(check.value))
    page, settings = one.opens
    with st.container(horizontal=True, vertical_alignment="center"):
        router.link(page, f"See {one.label} at work", settings)
        if one.author:
            small_print(f"From {lit(one.author, 60)}, {CLAIM}.", width="content")
    about = strip(f"{KINDS[one.kind]}: {lit(one.label) if one.author else one.label}", "made-up counts")
    simulated = check.value is not None or (found.value is not None and found.value.simulated)
    badges = "formula, simulation" if simulated else "formula"
    return Told(about, badges, more=partial(_more, one, check))


def _chosen() -> Method:
    """Show which entry of which kind; where a link names only the entry, the kind is that entry's."""
    if METHODS[s.ONE.value].kind != s.KIND.value:
        s.KIND.set(METHODS[s.ONE.value].kind)
    s.KIND.draw(on_change=_first_of_kind)
    s.ONE.draw(offered=[name for name, one in METHODS.items() if one.kind == s.KIND.value])
    return METHODS[s.ONE.value]


def _first_of_kind() -> None:
    s.ONE.set(next(name for name, one in METHODS.items() if one.kind == s.KIND.value))


def _more(one: Method, check: Result[SelfCheck]) -> None:
    """Show all entries of the kind, and the self-check row by row."""
    frame.table(
        call(method_table, one.kind), key="met_kind_table", alt=f"What is stated of every entry: {KINDS[one.kind]}",
        caption="Written from the tables; a plug-in's entries are here, too.",
    )  # fmt: skip
    if check.value is None:
        return
    st.header("Self-check", anchor=False)
    rows = call(check_table, given(check.value, self_check, check.value.trials, check.value.seed).named("check"))
    rows = rows.named("rows")
    frame.figure(
        call(checked, rows), key="met_checked", alt=words.checked(check.value), ran=rows,
        caption="Simulation minus closed form, in standard errors of the simulation; dotted: the limits. A formula off "
        "by a tenth would lie far outside. Formula beside simulation.",
    )  # fmt: skip
