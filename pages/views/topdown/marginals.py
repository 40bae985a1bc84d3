"""Counts by any columns, under More on the page TopDown: a top-down release beside the ways that its paper names."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.result import Result
from pages.ui.setting import in_a_row
from pages.ui.text import prose
from pages.views.topdown import asked, words
from pages.views.topdown import settings as s
from pages.views.topdown.repeated import repeated, show_asked
from treedp_core.figures.of_topdown import marginals_of
from treedp_core.notebook.code import call, given
from treedp_core.studies.topdown import Drawn, Subject
from treedp_core.studies.topdown.marginals import Marginals, compare_marginals, marginal_table, marginal_words
from treedp_core.studies.topdown.mwem import ROUNDS
from treedp_core.words import whole

SLOT: Final = "td_marginals"


def section(what: Subject, mine: Drawn | None) -> None:
    """Show the error of every marginal of a kind, as released and in other ways at the same budget."""
    if not what.is_product or what.tree is None:
        st.info(
            "Marginals are compared where the levels are columns of which every combination is a leaf, few enough to "
            "lay out. Choose the trips, or all combinations of the columns.", icon=":material/table:",
        )  # fmt: skip
        return
    with (row := in_a_row()):
        of = s.MARGINALS.draw()
    found = repeated(f"{SLOT}_{of}", what, lambda wanted: wanted, partial(compare_marginals, of=of), 1)
    show_asked(row, SLOT, found, "marginals")
    if found.shown.value is not None:
        _shown(what, of, found.shown, found.shown.value)


def _shown(what: Subject, of: str, result: Result[Marginals], found: Marginals) -> None:
    again = given(found, compare_marginals, asked.again(what), *result.made_for, of=of).named("found")
    by_formula = ", its cost by the zCDP formula" if result.made_for[0].within else ""
    prose(words.marginals(found))
    frame.figure(
        call(marginals_of, again),
        key="td_marginal_errors",
        alt=f"Error of {whole(len(found.names))} marginals in {whole(len(found.ways))} ways.",
        caption="NOT PRIVATE (depends on the true counts). Root mean squared error of a cell. With bars, 95 % "
        f"intervals: simulation. {result.about}. Without: formula of whole-number noise, counts not projected. "
        "All ways make the same promise. MWEM (Hardt, Ligett and McSherry, 2012) where the total is public: at most "
        f"{ROUNDS} cells, chosen by the exponential mechanism{by_formula}.",
        ran=call(marginal_table, again),
    )  # fmt: skip
    frame.plain_table(
        marginal_words(found), alt="Error of every marginal in every way", height="content",
        caption="Root mean squared error of a cell (records); where it is simulated ± its 95 % interval over the runs. "
        "NOT PRIVATE.",
    )  # fmt: skip
