"""Worst cases on the page Multiplicative error: growth with the levels, and from which count on to use it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.inactive_settings import NO_THRESHOLD, NOTHING_DRAWN
from pages.ui.inputs.setting import Setting, in_a_row
from pages.ui.inputs.text import cards, lit, prose
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables.experiment_inputs import inputs_now, say_delta
from pages.ui.tables.store import dataset
from pages.views.multiplicative.settings import ETA, EVERY_CURVE, LEVELS, OWN_THRESHOLDS, ROUNDS, TOTAL, draw_alpha
from treedp_core.mechanisms.thresholds.schedule import printed_schedule
from treedp_core.views import VIEWS, Tables, multiplicative
from treedp_core.views.multiplicative import WorstCaseInputs
from treedp_core.words import plural, privacy_text, setting_text, short, short_below

IGNORES: Final = NOTHING_DRAWN | NO_THRESHOLD | {"nbr": "The bounds are those of adding or removing one record."}
RIGHT: Final = st.column_config.TextColumn(alignment="right")
LARGE: Final = st.column_config.TextColumn(width="large")
WORDS: Final = (
    "**Multiplicative error forgives what is small beside the count.** With α = 0.1 a count of 10 000 may have an "
    "error of 1 000 for free; only what goes beyond that is an error, in records. Ask this question when people read "
    "ratios: shares, rates, rankings, the heaviest branches of a deep tree.\n\n"
    "- **It is the right question** for trees with very many levels (URLs, n-grams, IP prefixes, medical codes, "
    "quadtrees) and for counts that span powers of ten. There noise on every level must grow with the number of "
    "levels, √d at best; thresholds with δ > 0 grow like its logarithm.\n"
    "- **It is the wrong question** when counts are added or subtracted afterwards: values come from a short list, "
    "children do not add up to their parent, and differences of two large counts lose everything.\n"
    "- **It changes nothing** for counts below about error ÷ α: there α forgives less than the noise. And with few "
    "levels noise and shrinkage, max(0, (1 − α) y), is simpler and better: the ranking says from how many on it "
    "is not."
)


def growth() -> Told:
    """Show the growth of the errors that decide; under *More* the ranking at yours, and where curves cross."""
    seen = _shown("growth", "all but Laplace noise and its bound", EVERY_CURVE)
    return seen.told(more=partial(_more_of_growth, seen))


def meaning() -> Told:
    """Show from which count on it promises something; under *More* what it is good for, and the printed budgets."""
    seen = _shown("meaning", "thresholds and Gaussian noise", ETA)
    return seen.told(more=partial(_more_of_meaning, seen))


def prefixes() -> Told:
    """Show what counts by subtraction cost, and what α then no longer forgives."""
    seen = _shown("prefixes", "Gaussian noise")
    return seen.told(more=partial(_more_of_prefixes, seen))


def _shown(view: str, needy: str, *own: Setting[Any]) -> Seen[WorstCaseInputs]:
    """Show the controls and the figure of a view, and which δ is taken for the sidebar's 0 by those in need of one."""
    with in_a_row():
        draw_alpha()
        LEVELS.draw()
        TOTAL.draw()
        for setting in own:
            setting.draw()
    seen = see(VIEWS[f"multiplicative.{view}"], inputs_now(WorstCaseInputs))
    frame.found(seen)
    say_delta(needy, "mul_set_delta", int(TOTAL.value))
    seen.say_state("Searching")
    return seen


def _more_of_growth(seen: Seen[WorstCaseInputs]) -> None:
    if seen.finding.is_empty:
        return
    of, is_own = seen.found_for, not LEVELS.value.strip()
    whose = f" of {lit(dataset().name, 40)}" if is_own else ""
    st.header(f"Ranked at the {plural(of.n_levels(seen.tables.value.data), 'level')}{whose}", anchor=False)
    formats = {"worst-case α-RMSE (records)": short, "÷ best": RIGHT, "what it is": LARGE}
    frame.found(section(seen, "ranked"), formats=formats, height="content")
    if is_own:
        st.header("What none can beat on your tree", anchor=False)
        bounds = see(VIEWS["multiplicative.growth.bounds"], of)
        frame.found(bounds, formats={"error at least (records)": short_below, "as": LARGE})
        bounds.say_state("Bounding from below")
    st.header("Where the curves cross", anchor=False)
    crossings = see(VIEWS["multiplicative.growth.crossings"], of)
    frame.found(crossings, formats={"from this many levels on": RIGHT}, width="content")
    crossings.say_state("Searching for the exact numbers of levels")


def _more_of_prefixes(seen: Seen[WorstCaseInputs]) -> None:
    if seen.finding.is_empty:
        return
    st.header("What α forgives, and what it leaves", anchor=False)
    frame.found(see(VIEWS["multiplicative.prefixes.lost"], seen.found_for))


def _more_of_meaning(seen: Seen[WorstCaseInputs]) -> None:
    OWN_THRESHOLDS.draw()
    prose(WORDS)
    if seen.finding.is_empty:
        return
    frame.found(section(seen, "accuracy"), formats={"τ (records)": short}, width="content")
    st.header("Printed budgets", anchor=False)
    ROUNDS.draw()
    _verdict(seen.found_for)
    frame.found(see(VIEWS["multiplicative.meaning.printed"], seen.found_for))
    with st.expander("The budget of every round"):
        frame.found_table(
            multiplicative.printed_rounds(seen.found_for, Tables()), width="content",
            formats=dict.fromkeys(("εᵢ as printed", "εᵢ corrected"), privacy_text),
        )  # fmt: skip


def _verdict(inputs: WorstCaseInputs) -> None:
    one, about = printed_schedule(inputs.alpha, inputs.epsilon, inputs.rounds), "Sum of εᵢ over the rounds."
    cards((
        ("Promised", f"ε = {setting_text(one.promised)}", f"over {plural(inputs.rounds, 'round')}", about),
        ("Printed budgets cost", f"ε = {privacy_text(one.printed_total)}",
         f"{short(one.overspend)} times the promise", about),
        ("Corrected budgets cost", f"ε = {privacy_text(one.corrected_total)}", "never more than promised", about),
    ))  # fmt: skip
