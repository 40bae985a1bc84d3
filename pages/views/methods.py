"""Methods: an entry of the tables beside the others of its kind, with the self-check; words; and claims of papers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.glossary import also
from pages.ui.inputs.setting import Setting, choice, control, in_a_row
from pages.ui.inputs.text import formula, lit, prose, small_print
from pages.ui.page import navigation
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, section, see
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.result import run_button
from treedp_core.registry import CLAIM
from treedp_core.studies.methods.entries import KINDS, METHODS
from treedp_core.studies.methods.letters import letters, letters_of_paper
from treedp_core.studies.methods.papers import CLAIMS, PAPERS, axis_of
from treedp_core.studies.methods.terms import TERMS, found
from treedp_core.views import VIEWS, labels_of
from treedp_core.views.inputs import parameter
from treedp_core.views.methods import ClaimInputs, GlossaryInputs, MethodInputs
from treedp_core.words import short

# Settings of the page Methods that a link can carry.

LABELS: Final = labels_of("methods")

VIEW: Final = choice(
    "met_view", "methods", LABELS, label="View",
    help="Every method with formula and source; every word and symbol; what the four papers say, with today's numbers.",
)  # fmt: skip
KIND: Final = choice(
    "met_kind", "mechanisms", KINDS, label="Kind", look="select", width=190,
    help="Noise, what follows it, how ε is split, how errors are judged, what others do, or what nobody can beat.",
)  # fmt: skip
ONE: Final = control(
    parameter(MethodInputs, "one"), label="Which one", look="select", width=280,
    format=lambda name: METHODS[name].label, help="Every entry of the table, those of plug-ins last.",
)  # fmt: skip
PAPER: Final = choice(
    "met_paper", "ghazi", PAPERS, label="Paper", look="select", width=190, help="One of the four papers.",
)  # fmt: skip
CLAIM_CHOICE: Final = control(
    parameter(ClaimInputs, "claim"), label="Claim", look="select", width=290,
    format=lambda name: f"{CLAIMS[name].place}: {CLAIMS[name].verdict.value}",
    help="A theorem, algorithm, figure or table, in the order of the paper.",
)  # fmt: skip
SHOWN: Final = control(
    parameter(ClaimInputs, "shown"), label="Figure",
    help="Today's numbers over the paper's; or the paper's own picture, with growth exponents measured.",
)  # fmt: skip

SEARCH: Final = control(
    parameter(GlossaryInputs, "search"), label="Search", placeholder="a word or a symbol", width=240,
    help="Terms with all of these words in them; nothing for all.",
)  # fmt: skip
TERM: Final = control(
    parameter(GlossaryInputs, "term"), label="Term", look="select", width=300, format=lambda name: TERMS[name].title,
    help="The same words as in the tooltips of every page.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (VIEW, KIND, ONE, SEARCH, TERM, PAPER, CLAIM_CHOICE, SHOWN)


def show_method() -> Told:
    """Show an entry, and the rest of its kind."""
    with in_a_row():
        _pick(KIND, ONE, {name: one.kind for name, one in METHODS.items()})
        seen = see(VIEWS["methods.methods"], inputs_now(MethodInputs))
        assert seen.slow is not None
        run_button(seen.slow, "met_check_run", label="Self-check", help="Every closed form against a simulation of it.")
    one = METHODS[seen.inputs.one]
    if one.card.formula:
        formula(one.card.formula, letters(one.kind, one.card.formula))
    frame.found(seen)
    seen.say_state("Checking")
    if seen.value is not None:
        prose(section(seen, "check").finding.alt)
    page, settings = one.opens
    with st.container(horizontal=True, vertical_alignment="center"):
        navigation.link(page, f"See {one.label} at work", settings)
        if one.author:
            small_print(f"From {lit(one.author, 60)}, {CLAIM}.", width="content")
    return seen.told(more=partial(_more_of_method, seen))


def _more_of_method(seen: Seen[MethodInputs]) -> None:
    """Show all entries of the kind, and the self-check row by row."""
    frame.found(section(seen, "kind"))
    if seen.value is not None:
        st.header("Self-check", anchor=False)
        frame.found(section(seen, "check"))


def show_glossary() -> Told:
    """Show the terms that a search finds, and what one of them means."""
    with in_a_row():
        names = found(SEARCH.draw())
        if names and TERM.value not in names:
            TERM.set(names[0])
        TERM.draw(offered=names or [TERM.value], disabled=not names)
    seen, one = see(VIEWS["methods.glossary"], inputs_now(GlossaryInputs)), TERMS[TERM.value]
    frame.found(seen)
    if one.page and names:
        navigation.link(one.page, f"See {one.title} at work")
    return seen.told()


def show_paper() -> Told:
    """Show a claim of a paper among all of it, or the paper's own picture."""
    with in_a_row():
        _pick(PAPER, CLAIM_CHOICE, {name: one.paper for name, one in CLAIMS.items()})
        SHOWN.draw()
    one, drawn = CLAIMS[CLAIM_CHOICE.value], ".growth" * (SHOWN.value == "growth")
    seen = see(VIEWS[f"methods.papers{drawn}"], inputs_now(ClaimInputs))
    also(letters_of_paper(one.paper, seen.finding.answer))
    if drawn:
        also(letters_of_paper(one.paper, " ".join((axis_of(one.paper), *seen.finding.table))))
    frame.found(seen, is_first=True)
    page, settings = one.opens
    navigation.link(page, f"See {one.place} at work", settings)
    return seen.told(more=partial(_more_of_paper, seen.inputs))


def _more_of_paper(inputs: ClaimInputs) -> None:
    """Show every claim of the paper, a row for each of its numbers."""
    numbers = dict.fromkeys(("today", "the paper's"), partial(short, digits=5))
    frame.found(see(VIEWS["methods.papers.claims"], inputs), formats=numbers)


def _pick(group: Setting[str], one: Setting[str], groups: Mapping[str, str]) -> None:
    """Ask for one of a group, by the group of each; where a link names only the one, the group is its own."""

    def of_group() -> list[str]:
        return [name for name, of in groups.items() if of == group.value]

    if groups[one.value] != group.value:
        group.set(groups[one.value])
    group.draw(on_change=lambda: one.set(of_group()[0]))
    one.draw(offered=of_group())
