"""Axe-core finds nothing serious on any page, *More* open, light or dark: the rules of WCAG 2 at levels A and AA.

Pages are light and dark in turn; `make contract` looks at each in both.
Every figure is one image with a text.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from app import all_pages
from browsing import EMPTY_AT_FIRST, LiveServer, eventually, opened, settle
from pages.ui.page.page import Page

pytestmark = pytest.mark.browser

RULES: Final = ["wcag2a", "wcag2aa"]
OF_COLOUR: Final = ["color-contrast", "link-in-text-block"]
"""Those of these rules that look at colours: all that another scheme can break."""
FIGURES: Final = ".js-plotly-plot, .ranges, .guess"
UNNAMED: Final = "figures => figures.filter(one => !one.querySelector('[role=img][aria-label]')).length"
RUN: Final = "options => axe.run(options).then(found => found.violations)"
GRAVE: Final = ("serious", "critical")


def findings(page: Any, rules: list[str] = RULES) -> list[str]:
    """What axe holds against a page as it is now."""
    from axe_playwright_python.base import AXE_FILE_PATH

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    found = page.evaluate(RUN, {"runOnly": rules, "resultTypes": ["violations"], "preload": False})
    return [
        f"{rule['id']}: {node['html'][:200]}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


def looks(*, every: bool) -> list[tuple[Page, str, list[str]]]:
    """The pages, their colours and the rules, in an order in which colours change seldom."""
    pages = all_pages()
    if every:
        return [*((one, "light", RULES) for one in pages), *((one, "dark", OF_COLOUR) for one in pages)]
    return [*((one, "light", RULES) for one in pages[::2]), *((one, "dark", RULES) for one in pages[1::2])]


def test_no_page_has_a_serious_fault(page: Any, server: LiveServer, every: bool) -> None:
    opened(page, server, "?level=Advanced", ".st-key-stage")
    found = {}
    for one, scheme, rules in looks(every=every):
        page.emulate_media(color_scheme=scheme)
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=one.title, exact=True).click()
        page.locator("h1", has_text=one.views[0].question or one.heading).wait_for()
        settle(page)
        found[f"{one.name} {scheme}"] = findings(page, rules)
        assert page.locator(FIGURES).count() or one.name in EMPTY_AT_FIRST
        eventually(lambda: page.locator(FIGURES).evaluate_all(UNNAMED) == 0)
    assert {place: said for place, said in found.items() if said} == {}


def test_a_fault_is_found(page: Any) -> None:
    page.set_content("<html lang=en><title>A page</title><button></button><p style='color: #ccc'>Faint</p></html>")
    assert sorted(said.partition(":")[0] for said in findings(page)) == ["button-name", "color-contrast"]
    assert [said.partition(":")[0] for said in findings(page, OF_COLOUR)] == ["color-contrast"]
