"""The page Methods: an entry and its kind, and claims of papers with a link."""

from __future__ import annotations

from itertools import chain

import pytest

from app import all_pages
from oracles_pages import answer, open_page, widget, words
from pages.ui.inputs.settings import REG, SHARED
from treedp_core.studies.methods.entries import METHODS
from treedp_core.studies.methods.papers import CLAIMS

PAGES = {page.name: page for page in all_pages()}


def test_a_kind_offers_its_entries_and_a_link_to_one_sets_the_kind() -> None:
    app = open_page("methods", level="Basic", met_one="bounds.inftda")
    assert not app.exception and app.session_state["met_kind"] == "bounds"
    assert app.latex[0].value == METHODS["bounds.inftda"].card.formula.join(("$$\n", "\n$$"))
    widget(app, "met_kind").set_value("metrics").run()
    assert not app.exception and app.session_state["met_one"] == "metrics.rmse"
    assert answer(app).startswith("**Best:** Sums and differences of counts")


def test_another_paper_shows_its_first_claim_and_its_own_picture() -> None:
    app = open_page("methods", level="Basic", met_view="papers", met_claim="ghazi.3")
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
