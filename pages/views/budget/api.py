"""The chosen split as the Attribution Reporting API would spend it: whole numbers of 65 536, and what they measure."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.settings import RELATION
from pages.ui.store import dataset
from pages.ui.text import plain, prose, small_print
from pages.views.budget.compared import Compared
from treedp_core.checks import InputError
from treedp_core.notebook.code import call, given
from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.privacy.origin import NOT_PRIVATE
from treedp_core.studies.budget import Result
from treedp_core.studies.budget.attribution import KEY_BITS, Reports, key_bits, report_table, reports, room_table
from treedp_core.words import plural, privacy_text, short, whole

REPEATS: Final = (0.1, 0.3)


def show(one: Compared, row: Result) -> None:
    """Show it for splits of ε that protect unknown columns, as that API does."""
    truth, metric = one.truth.value, one.question.metric
    if truth.currency is not Currency.EPSILON or not truth.squares:
        return
    if truth.unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN:
        small_print(
            "What browsers' Attribution Reporting API would spend is shown where unknown columns are replaced: that is "
            "what it protects of a click."
        )
        st.button("Replace unknown columns", key="bud_api_relation", icon=":material/shield:",
                  on_click=RELATION.set, args=(NeighbouringRelation.REPLACE_UNKNOWN.value,),
                  help="Sets the neighbouring relation of every page, and shows here what that API would spend and "
                  "measure.")  # fmt: skip
        return
    st.header("Through the Attribution Reporting API", anchor=False)
    try:
        made = reports(truth.unit, row.ledger.total, row.ledger.amounts)
    except InputError as error:
        small_print(plain(str(error)))
        return
    again = given(made, reports, truth.unit, row.ledger.total, row.ledger.amounts).named("made")
    ran = call(report_table, again, one.truth, dataset().labels.level_names, metric)
    prose(_told(made, row, metric, made.errors(truth).tree))
    frame.plain_table(
        ran.value, alt="What one conversion adds on each level, its noise, and the error",
        caption=f"Noise in conversions. Formula; the error is {NOT_PRIVATE}: it is that of the true counts.",
        formats={"keys": whole, "a conversion adds": whole}, width="content",
    )  # fmt: skip
    frame.footer("bud_api", ran, private=True)
    measured = max((level for level, value in enumerate(made.values) if value), default=None)
    if measured is not None:
        level = dataset().labels.level_names[measured]
        lost = call(room_table, again, measured, REPEATS)
        frame.plain_table(
            lost.value, alt="Noise and lost conversions by how many of a click count",
            caption=f"Noise of a count of the level “{plain(level)}”, in conversions. Lost: those that find no room "
            "left, where each is followed by another one of its click with that probability. Formula.",
            width="content",
        )  # fmt: skip
        frame.footer("bud_api_room", lost)


def _told(made: Reports, row: Result, metric: str, error: float) -> str:
    bits = key_bits([len(words) for words in dataset().labels.vocabularies[1:]])
    fits = "fit" if bits <= KEY_BITS else f"do **not** fit its {KEY_BITS}"
    room = plural(made.unit.contributions, "conversion")
    return (
        f"There, all conversions of one click may add {whole(65_536)} together, and every count gets noise of the same "
        f"width: {whole(round(made.law.variance**0.5))} of these units at ε = {privacy_text(made.epsilon)}. Shares of "
        f"the budget become the whole numbers below, rounded down: {whole(made.of_a_click)} for {room} of a click, at "
        f"a cost of ε = {privacy_text(made.charged)}. {metric} of the tree **{short(error)}**, by this page's own "
        f"noise {short(row.errors.tree)}. The unit is a click with what is credited to it, by last touch before "
        f"any noise, not a person. Keys of {plural(bits, 'bit')} {fits}."
    )
