"""What ε protects: what an attacker learns about one unit on the left, what the noise costs on the right."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.result import at_once, show_state
from pages.ui.settings import EPSILON
from pages.ui.shared import experiment, note_of_slack, slack_of
from pages.ui.store import dataset, used
from pages.ui.strip import of_data, of_experiment
from pages.views.protects import settings as s
from pages.views.protects import words
from treedp_core.figures.protects import beliefs_and_levels, misses_and_levels
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.protects import Protected, belief_table, best_tests, more_records, protected
from treedp_core.words import percent, privacy_text


def show_beliefs() -> Told:
    """Show what an attacker believes after a release with a unit's records, and after one without."""
    return _show("beliefs")


def show_tests() -> Told:
    """Show how often the best test fails to tell whether a unit's records are there."""
    return _show("tests")


def _show(view: str) -> Told:
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=240):
            EPSILON.draw()
        s.PRIOR.draw()
        s.HELD.draw()
        s.MECHANISM.draw()
    chosen = experiment(mechanism=s.MECHANISM.value, delta=slack_of([s.MECHANISM.value]))
    data, records = dataset(), s.HELD.value
    about = of_experiment(chosen, *of_data(data), seeded=False)
    found = at_once("pro", (chosen, records), lambda: protected(chosen, data.tree, records), about=about)
    if found.value is not None:
        _figure(view, found.value, records)
    show_state(found, "Computing")
    note_of_slack([s.MECHANISM.value], "pro_set_delta")
    told = "" if found.value is None else words.warning(found.value, s.PRIOR.value)
    return Told(about, "formula", told, more=partial(_more, found.value))


def _figure(view: str, found: Protected, records: int) -> None:
    again, names, prior = _again(found, records), used().get("labels.level_names"), s.PRIOR.value
    answer = words.answer(found, prior, records)
    called = words.said(found.experiment.unit.relation, records)
    if view == "beliefs":
        fig, ran = call(beliefs_and_levels, again, prior, called, names), call(belief_table, again, prior)
        left = (
            f"Left: what an attacker believes after the release, if {called[0]} and if {called[1]}. The more the two "
            "laws overlap, the less is learnt."
        )
    else:
        fig, ran = call(misses_and_levels, again, names), call(best_tests, again)
        left = (
            f"Left: the test that tells best whether {called[0]}. A blind guess lies on the dotted line; no test gets "
            "below the curve."
        )
    frame.figure(
        fig, key=f"pro_{view}", alt=answer, answer=answer, ran=ran,
        caption=f"{left} {words.how(found.experiment, found)}",
    )  # fmt: skip


def _again(found: Protected, records: int) -> Ran[Protected]:
    return given(found, protected, found.experiment, used().get("tree"), records).named("seen")


def _more(found: Protected | None) -> None:
    """Show what becomes of persons with several records."""
    if found is None:
        return
    st.header("A record is not a person", anchor=False)
    frame.table(
        call(more_records, _again(found, s.HELD.value), s.PRIOR.value, s.RECORDS),
        key="pro_persons",
        alt="How sure an attacker can become of persons with several records",
        caption="The noise stays as it is, the person has more records. ε and how sure one can become are upper "
        "bounds; before, one was as sure as set above. Formula.",
        formats={"ε": privacy_text, "sure, at most": percent, "best guess right": percent},
        width="content",
    )
