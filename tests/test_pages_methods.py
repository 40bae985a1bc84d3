"""The page Methods: an entry and its kind, the self-check on a press, and claims of papers with a link."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from app import all_pages
from oracles_pages import answer, open_page, press, widget, words
from pages.ui.settings import REG, SHARED
from treedp_core.studies.methods.entries import METHODS
from treedp_core.studies.methods.papers import CLAIMS
from treedp_core.studies.methods.selfcheck import OUTSIDE
from treedp_core.words import short

pytestmark = pytest.mark.usefixtures("own_jobs")

PAGES = {page.name: page for page in all_pages()}


def test_a_kind_offers_its_entries_and_a_link_to_one_sets_the_kind() -> None:
    app = open_page("methods", level="Basic", met_one="bounds.inftda")
    assert not app.exception and app.session_state["met_kind"] == "bounds"
    assert "Boninsegna, Theorem 1" in words(app) and app.latex[0].value == METHODS["bounds.inftda"].stated.formula.join(
        ("$$\n", "\n$$")
    )
    widget(app, "met_kind").set_value("metrics").run()
    assert not app.exception and app.session_state["met_one"] == "metrics.rmse"
    assert answer(app).startswith("**Best:** Sums and differences of counts")


def test_the_self_check_runs_on_a_press_and_tells_the_chance() -> None:
    app = open_page("methods")
    assert "standard errors**" not in words(app)
    press(app, "met_check_run")
    said = words(app)
    found = re.search(r"(\d+) of \1 within 3 standard errors\*\*", said)
    assert not app.exception and found is not None
    assert "Shrink for α-RMSE; Top-down, IntOpt" in said and "simulation]" in said
    assert f"{short(int(found[1]) * OUTSIDE, 2)} of them would be outside on average" in said and "seed 20" in said
    assert any("Simulation minus closed form" in one.value for one in app.caption)


def test_a_claim_is_told_with_its_numbers() -> None:
    name = next(name for name, one in CLAIMS.items() if one.place == "Algorithm 4, budgets")
    app = open_page("methods", level="Basic", met_view="papers", met_claim=name)
    assert answer(app).startswith("**Algorithm 4, budgets: corrected.** All rounds together cost ε. Today (the paper):")
    assert "**1** (1 787.9)" in answer(app)
    widget(app, "met_paper").set_value("boninsegna").run()
    widget(app, "met_shown").set_value("growth").run()
    assert not app.exception and app.session_state["met_claim"] == "boninsegna.1"
    assert "InfTDA" in words(app) and "open question of Section 4" in words(app)


def test_a_link_to_an_entry_leaves_the_view_that_it_stands_on() -> None:
    for one in chain(METHODS.values(), CLAIMS.values()):
        assert one.opens[0] != "methods" or "met_view" in one.opens[1], one.opens


@pytest.mark.parametrize("page", sorted({one.opens[0] for one in chain(METHODS.values(), CLAIMS.values())} - {""}))
def test_every_link_of_an_entry_and_a_claim_is_one_that_its_page_takes(page: str) -> None:
    own = {one.key for one in (*SHARED, *PAGES[page].settings)}
    for to, settings in {repr(one.opens): one.opens for one in chain(METHODS.values(), CLAIMS.values())}.values():
        for key, texts in settings.items() if to == page else ():
            assert key in own
            REG[key].parse([texts] if isinstance(texts, str) else texts)
