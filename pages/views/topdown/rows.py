"""One release on the page TopDown beside the truth: rows with what became of them, and all counts of a level."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame, tuned
from pages.ui.page import Told, View
from pages.ui.result import State, run_button, show_state
from pages.ui.settings import get
from pages.views.topdown import asked, words
from pages.views.topdown import settings as s
from pages.views.topdown.more import more
from pages.views.topdown.release import drawn_again, released, strip
from treedp_core.figures.of_topdown import pairs_of_level
from treedp_core.figures.places import rows_beside
from treedp_core.notebook.code import call, given
from treedp_core.studies.topdown import Drawn, Subject, tables
from treedp_core.studies.topdown.rows import pairs_table, rows_table, some_rows
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import whole

N_ROWS: Final = 12
N_PRESENTED: Final = 5
"""Rows that have room in a presentation, whose text is twice as large."""


def _shown(chosen: asked.Asked, picture: Callable[[Drawn], None]) -> Told:
    """Show a view of one release: its picture, and below it how it stands."""
    what, result = chosen.what, released(chosen.what)
    with chosen.place:
        if result.begin is not None:
            run_button(result, "td_run", help="One release; large ones run in the background.")
    mine = result.value
    if mine is not None:
        picture(mine)
    elif result.state is State.STALE:
        st.info("This release is large. Press **Run** to draw it.", icon=":material/play_arrow:")
    show_state(result, "Drawing the release", "noises")
    asked.notes(chosen)
    return Told(strip(what, mine), "simulation, NOT PRIVATE", more=partial(more, what, mine))


def rows() -> Told:
    """Show some rows of the table, true beside released."""
    return _shown(asked.row(asked.rule), _rows)


def _rows(mine: Drawn) -> None:
    n_rows = N_PRESENTED if get("present") else N_ROWS
    found = some_rows(mine, n_rows)
    answer = words.rows(mine.leaves, words.promised(mine.wanted), adds_up=RULES[mine.wanted.rule].adds_up)
    frame.figure(
        call(rows_beside, given(found, some_rows, drawn_again(mine), n_rows).named("rows")),
        key="td_rows",
        alt=f"Places, true beside released: {answer}",
        answer=answer,
        caption=f"NOT PRIVATE: true records beside those of one simulated release. {len(found.names)} of "
        f"{whole(found.n_places)} places with records, evenly spaced from the largest true count to the smallest. "
        f"{words.release(mine)}. Simulation.",
        ran=call(rows_table, drawn_again(mine), n_rows),
        label=tuned.label("td"),
        simulated=True,
    )


def counts() -> Told:
    """Show the true against the released counts of one level."""
    return _shown(asked.row(_level_and_rule, source=False), _counts)


def _level_and_rule(what: Subject) -> None:
    asked.level(what)
    asked.rule(what)


def _counts(mine: Drawn) -> None:
    level = s.LEVEL.value
    bound = tables.bound_table(mine, 1 - s.CONFIDENCE.value)["Theorem 1"][level]
    answer = words.counts(mine, level, float(bound), s.CONFIDENCE.value)
    frame.figure(
        call(pairs_of_level, drawn_again(mine), level),
        key="td_pairs",
        alt=f"True against released counts: {answer}",
        answer=answer,
        caption="NOT PRIVATE: true against released counts of one level of one simulated release; a marker stands for "
        f"all nodes with the same two counts, and grows with their number. {words.release(mine)}. "
        "Simulation.",
        ran=call(pairs_table, drawn_again(mine), level),
        label=tuned.label("td"),
        simulated=True,
    )


ROWS: Final = View(
    "release",
    rows,
    "The projection costs no privacy, and with the chosen probability no count of a level is off by more than a bound "
    "that grows with the level. But counts near 0 pay: empty leaves come out filled, small ones get lost. The paper "
    "draws no noise below a count that became 0; as all below ends as 0 anyway, the law is the same.",
    question="Which rows survive?",
    ignores=s.OWN_BUDGET,
)
COUNTS: Final = View(
    "counts",
    counts,
    "Noise has one size on a level, whatever the count: large counts hardly change, small ones are mostly noise.",
    question="How far are the released counts from the true ones?",
    ignores=s.OWN_BUDGET,
)
