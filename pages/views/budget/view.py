"""Views of the page Budget split that compare splits: strategies, curves, the map; and the chosen one's ledger."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.inactive_settings import NO_ALPHA, NO_DELTA, Reasons, said, unused_by
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import RELATION
from pages.ui.inputs.text import cards, lit, plain, prose, small_print
from pages.ui.inputs.walk import enter, follow, way_up
from pages.ui.notebook import undo
from pages.ui.page import navigation
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables import plans
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.result import ready
from pages.ui.tables.store import dataset
from pages.views.budget import settings as s
from pages.views.budget.controls import IGNORES, draw_prior, more, say, tuning
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.studies.budget import STRATEGIES, Comparison, Result, Source
from treedp_core.views import VIEWS, budget
from treedp_core.views.budget import BudgetInputs
from treedp_core.views.budget.attribution import ELSEWHERE, is_offered
from treedp_core.views.budget.curves import ledger_line
from treedp_core.views.budget.inputs import HEIGHTS
from treedp_core.words import percent, short, whole

HANDED: Final = "_budget_handed"
SEARCHED: Final = "Searching for the best split"
_PAPER: Final = NO_DELTA | NO_ALPHA | {"nbr": "The published experiment replaces a record within its known level."}
_OWN: Final = unused_by(s.METRIC) | IGNORES


def strategies() -> Told:
    """Show every strategy's split and error; under *More* who got each greedy slice, and the ledger."""
    with in_a_row():
        s.METRIC.draw()
        draw_prior()
    seen = see(VIEWS["budget.strategies"], inputs_now(BudgetInputs))
    frame.found(seen)
    say(seen, SEARCHED)
    return seen.told(more=partial(_more_of_strategies, seen))


def _more_of_strategies(seen: Seen[BudgetInputs]) -> None:
    more(slices=True)
    if not seen.result.is_ready:
        return
    verdict(seen)
    prose("**Who gets each slice**")
    frame.found(section(seen, "slices"))
    prose("**Error by level**")
    frame.found(section(seen, "levels"))
    _pick(seen.of(budget.comparison))
    ledger(seen)


def reliability_map() -> Told:
    """Show the map of the chosen split; under *More* the useful part of each level."""
    with in_a_row():
        choice = st.container(width=220)
        s.WITHIN.draw()
        s.CONFIDENCE.draw()
        draw_prior()
    data = dataset()
    enter(s.NODE.key, data.fingerprint)
    seen = see(VIEWS["budget.map"], inputs_now(BudgetInputs))
    if seen.result.is_ready:
        with choice:
            _pick(seen.of(budget.comparison))
    follow(frame.found(seen, select=seen.result.is_ready), data.tree, key=s.NODE.key)
    way_up(data.tree, data.labels, s.NODE.key)
    say(seen, SEARCHED)
    return seen.told(more=partial(_more_of_map, seen))


def _more_of_map(seen: Seen[BudgetInputs]) -> None:
    more(metric=True, slices=True)
    if seen.result.is_ready:
        prose("**The useful tree**")
        frame.found(section(seen, "useful"))
        ledger(seen)


def curves() -> Told:
    """Show curves of the data in use or of the published design; while new ones are worked out the old ones stay."""
    with in_a_row():
        if s.CURVES_OF.draw() == "paper":
            s.HEIGHT.draw()
            s.PARTNERS.draw()
        else:
            draw_prior()
    seen = see(VIEWS["budget.curves"], inputs_now(BudgetInputs))
    frame.found(seen)
    if seen.inputs.is_published:
        seen.say_state("Working out the curves")
    else:
        say(seen, "Working out the curves")
    return seen.told(more=partial(_more_of_curves, seen.inputs))


def _more_of_curves(inputs: BudgetInputs) -> None:
    if inputs.is_published:
        tuning()
        prose(f"**{HEIGHTS[inputs.height]}**")
        prose(ledger_line(int(inputs.height)))
        return
    with in_a_row():
        s.MECHANISM.draw()
        if inputs.question(dataset()).pays:
            s.PRIOR_EPSILON.draw()
    tuning(metric=True)


def _ignored(key: str) -> str:
    return said(_PAPER if s.CURVES_OF.value == "paper" else _OWN).get(key, "")


IGNORED_BY_CURVES: Final[Reasons] = {key: partial(_ignored, key) for key in _PAPER | _OWN}


def verdict(seen: Seen[BudgetInputs]) -> None:
    """Show the best simple strategy beside greedy and the tuned split, and say who wins."""
    found = seen.of(budget.verdict)
    cards([(*row, found.caption) for row in zip(*found.table.values(), strict=True)], flow=True)
    for line in found.notes:
        prose(line)


def _pick(one: Comparison) -> None:
    """Show which strategy the ledger, the reliability map and the other pages take."""
    labels = {row.name: row.label for row in one.rows}
    if one.to_come:
        labels[one.to_come] = STRATEGIES[one.to_come].label
    if s.STRATEGY.value in labels:
        s.STRATEGY.said(format=labels.__getitem__).draw(offered=list(labels))
    else:
        small_print(f"The strategy “{s.STRATEGY.value.replace('_', ' ')}” cannot be had with these settings.")


def ledger(seen: Seen[BudgetInputs]) -> None:
    """Show what the chosen split charges to whom, level by level, and hand it over when asked to."""
    one, found = seen.of(budget.comparison), seen.of(budget.ledger)
    row, symbol, metric = seen.of(budget.chosen), one.question.symbol, one.question.metric
    st.header(found.caption, anchor=False)
    prose(found.answer)
    for note in found.notes:
        small_print(note)
    frame.plain_table(
        found.table, alt=found.alt, width="content",
        formats={"nodes": whole, "share": percent, symbol: str, "noise st. dev.": short, metric: short},
    )  # fmt: skip
    _hand_over(seen, row)
    if is_offered(one):
        _through_browsers(seen)


def _through_browsers(seen: Seen[BudgetInputs]) -> None:
    """Show what browsers would spend of a split that protects unknown columns, as their API does."""
    if RELATION.value != NeighbouringRelation.REPLACE_UNKNOWN.value:
        small_print(ELSEWHERE)
        st.button("Replace unknown columns", key="bud_api_relation", icon=":material/shield:",
                  on_click=RELATION.set, args=(NeighbouringRelation.REPLACE_UNKNOWN.value,),
                  help="Sets the neighbouring relation of every page, and shows here what that API would spend and "
                  "measure.")  # fmt: skip
        return
    st.header("Through the Attribution Reporting API", anchor=False)
    reports = section(seen, "api")
    if reports.result.error is not None:
        small_print(plain(str(reports.result.error)))
        return
    frame.found(reports, formats={"keys": whole, "a conversion adds": whole}, width="content")
    frame.found(section(seen, "room"), width="content")
    st.header("Which click gets the credit", anchor=False)
    frame.found(
        section(seen, "credit"), width="content",
        formats={"conversion on day": short, "adds on all levels": whole, "its click has added": whole},
    )  # fmt: skip


def _hand_over(seen: Seen[BudgetInputs], row: Result) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Use this split", key="bud_use", type="primary", icon=":material/send:", on_click=_use, args=(seen,),
            help="Sets it as the custom split of the Error lab, Consistency and Release plan, with this noise. What a "
            "prior took of the total stays unspent there.",
        )  # fmt: skip
        plans.button("bud", partial(_plan, seen), "from Budget split")
        handed = st.session_state.get(HANDED)
        if handed is not None and handed[0] == row.name:
            prose(f"Handed over: {lit(handed[1], 190)}", width="content")
            for page in ("lab", "consistency", "plan"):
                navigation.link(page)
    if row.origin is not None and not row.origin.is_private:
        small_print(f":red[{NOT_PRIVATE}]: wherever this split is used, it tells about the true counts.")


def _plan(seen: Seen[BudgetInputs]) -> Ran[ReleasePlan]:
    return plans.of_ledger(_at_press(seen).ledger, seen.of(budget.comparison).question.experiment)


def _at_press(seen: Seen[BudgetInputs]) -> Result:
    """The chosen split as it is at a press: shares may have been moved or typed since the page was drawn."""
    now = inputs_now(BudgetInputs)
    inputs = replace(seen.inputs, shares=now.shares, tuned_on=now.tuned_on)
    return replace(seen, inputs=inputs, result=ready(seen.finding, inputs)).of(budget.chosen)


def _use(seen: Seen[BudgetInputs]) -> None:
    """Have all pages take the chosen split over as their custom shares; none that cannot be read."""
    try:
        row = _at_press(seen)
    except InputError:
        return
    asked = seen.of(budget.comparison).question.experiment
    undo.take_split(row.handed_over, Source(row.name, asked.epsilon), row.origin, asked)
    st.session_state[HANDED] = (row.name, row.handed_over)
