"""The page TopDown: which records and columns, the figure of a view, and what is to be known of the settings."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.controls import draw_again, level_picker
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import KNOWN_LEVELS, RELATION
from pages.ui.inputs.text import small_print
from pages.ui.page.page import Told
from pages.ui.page.view import see
from pages.ui.tables import tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now, say_delta
from pages.ui.tables.result import run_button
from pages.ui.tables.store import dataset, sources, used
from pages.views.topdown import settings as s
from pages.views.topdown.more import more
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset, DomainSource
from treedp_core.studies.topdown import Subject, allocations_for, rules_for
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.views import VIEWS, Tables
from treedp_core.views.topdown import TopDownInputs
from treedp_core.views.topdown.words import cut
from treedp_core.words import plural, whole

RUN: Final = {
    "rules": ("td_rules_run", "Release the same records by every projection, more often."),
    **dict.fromkeys(("release", "counts"), ("td_run", "One release; large ones run in the background.")),
}
DOING: Final = {"rules": ("Releasing again and again", "runs")}


def show(view: str) -> Told:
    """Show a view; under *More* what is spent, for whom, and one section."""
    with in_a_row():
        if view != "counts":
            s.SOURCE.draw()
        if s.SOURCE.value == "sparse":
            s.SIZES.draw()
        tables = _tables()
        if s.SOURCE.value != "sparse" and not inputs_now(TopDownInputs).is_as_it_is(tables.data):
            _columns(tables.data)
        what = _subject(tables)
        if what is not None:
            for setting, allowed in ((s.RULE, rules_for(what)), (s.ALLOCATION, allocations_for(what))):
                if setting.value not in allowed:  # the first that these records do
                    setting.set(allowed[0])
        if view == "rules":
            s.MEASURE.draw()
        else:
            if view == "counts" and what is not None:
                level_picker(s.LEVEL, [cut(name) for name in what.level_names])
            s.RULE.draw(offered=RULES if what is None else rules_for(what))
            draw_again("td_draw")
        place = st.container(width="content")
    seen = see(VIEWS[f"topdown.{view}"], inputs_now(TopDownInputs))
    if seen.slow is not None and seen.slow.begin is not None:
        key, about = RUN[view]
        with place:
            run_button(seen.slow, key, help=about)
    frame.found(seen)
    seen.say_state(*DOING.get(view, ("Drawing the release", "noises")))
    _notes(what, tables.data)
    return seen.told(more=partial(more, view, seen, what))


def _tables() -> Tables:
    """The tables that the views are of, as the controls stand."""
    entry, inputs = VIEWS["topdown.release"], inputs_now(TopDownInputs)
    return sources().of_view(entry, inputs, used())[1].value


def _subject(tables: Tables) -> Subject | None:
    """What is released; None where that is refused, which is said below the figure."""
    try:
        return inputs_now(TopDownInputs).subject(tables.data)
    except InputError:
        return None


def _columns(data: Dataset) -> None:
    """Show the columns to choose from."""
    offered = {str(i): cut(name) for i, name in enumerate(data.labels.level_names[1:], 1)}
    s.COLUMNS.set(tuple(position for position in s.COLUMNS.value if position in offered))
    s.COLUMNS.said(format=offered.__getitem__).draw(offered=offered)


def _notes(what: Subject | None, data: Dataset) -> None:
    """Say below the figure what is to be known of the settings."""
    if s.SOURCE.value == "current" and dataset().domain_source is DomainSource.FROM_DATA:
        st.warning(
            "The categories were taken from the data: which ones exist is then published without any noise. List them "
            "on the Data and tree page for a real release.", icon=":material/warning:",
        )  # fmt: skip
    if inputs_now(TopDownInputs).is_as_it_is(data):
        small_print(
            ":material/account_tree: The levels of this tree are nested or not every combination is listed, so the "
            "tree is used as it is and the order of its columns cannot change (under More: use all combinations)."
        )
    if what is not None and len(rules_for(what)) < len(RULES):
        small_print(
            f"{whole(what.n_leaves)} possible leaves are not laid out, so only rules that need no tree are here."
        )
    tuning_provenance.note("td")
    if what is not None and RELATION.value == NeighbouringRelation.REPLACE_UNKNOWN.value and what.is_product:
        known = what.known_levels(KNOWN_LEVELS.value)
        small_print(
            f":material/info: {plural(known, 'level')} of this order {'is' if known == 1 else 'are'} built from known "
            f"columns, the root included; in the order of the data it is {KNOWN_LEVELS.value} (Data and tree page)."
        )
    if s.RHO.value.strip():
        small_print(":material/info: ρ is set here, so the ε of the sidebar is not used on this page.")
    if what is not None:
        say_delta("discrete Gaussian noise", "td_set_delta", what.total)
