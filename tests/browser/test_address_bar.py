"""The address bar is the state: what reload, a copied address, Back and Forward give, and what it costs the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from app import all_pages
from browsing import LiveServer, settle, visit

pytestmark = pytest.mark.browser

PAGES = {page.name: page for page in all_pages()}
HOME = next(iter(PAGES))


def address(name: str) -> str:
    return "" if name == HOME else name


def query(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def entries(page: Any) -> int:
    return int(page.evaluate("history.length"))


def slider(page: Any) -> Any:
    """The budget, in the sidebar or on the page."""
    return page.locator(".st-key-eps input[type=range]")


def more_budget(page: Any) -> None:
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    settle(page)


class Held:
    """What is said between a page and its server, in one direction: held back while it waits."""

    def __init__(self, page: Any, *, by_server: bool) -> None:
        self.said: list[Any] = []
        self.waits = False

        def between(socket: Any) -> None:
            there = socket.connect_to_server()
            told, other = (there, socket) if by_server else (socket, there)
            other.on_message(told.send)
            told.on_message(lambda message: self.said.append((other, message)) if self.waits else other.send(message))

        page.route_web_socket("**/_stcore/stream", between)


def at_its_third_view(page: Any, server: LiveServer) -> tuple[list[str], str, int]:
    """A page that came to its third view by its second: names of views, address of the second, entries with it."""
    visit(page, f"{server.url}/multiplicative")
    views, switch = PAGES["multiplicative"].views, PAGES["multiplicative"].switch
    names = [switch.label_of(view.name) for view in views]
    for name in names[1:3]:
        before, first = entries(page), page.url
        page.get_by_role("radio", name=name, exact=True).click()
        settle(page)
    return names, first, before


def until_it_says_no_more(page: Any, answers: list[Any]) -> list[Any]:
    """What was said, once there has been silence for a second."""
    seen = -1
    while seen < len(answers):
        seen = len(answers)
        page.wait_for_timeout(1000)
    said, answers[:] = list(answers), []
    return said


def budget(page: Any) -> str:
    return str(slider(page).get_attribute("aria-valuetext"))


@pytest.mark.parametrize(
    ("name", "given", "eps"),
    [("start", {"eps": "2"}, "2.5"), ("data", {"source": "generate", "gen_branching": "4,5"}, "1.2")],
)
def test_an_address_survives_use_reload_and_copying(
    open_page: Callable[..., Any], server: LiveServer, name: str, given: dict[str, str], eps: str
) -> None:
    """Where ε stands on the page, and where it stands in the sidebar; what other pages write is of `test_address`."""
    page = visit(open_page(), f"{server.url}/{address(name)}?{urlencode(given)}")
    written = {key: [value] for key, value in given.items()}
    assert query(page).items() >= written.items(), "as it was given"
    before = entries(page)
    more_budget(page)
    assert query(page).items() >= {**written, "eps": [eps]}.items()
    assert entries(page) == before
    copied, heading = page.url, page.locator(".st-key-heading").inner_text()
    assert name != "data" or "20 leaves" in heading
    page.reload()
    settle(page)
    assert (page.url, budget(page)) == (copied, eps)
    page = visit(open_page(), copied)
    assert (page.url, budget(page)) == (copied, eps)
    assert page.locator(".st-key-heading").inner_text() == heading
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share").click()
    shared = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert parse_qs(urlsplit(shared).query) == query(page), "nothing was lost on the way"
    assert page.get_by_test_id("stToast").count() == 0


def test_back_and_forward_bring_pages_back_as_they_were(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/lab?lab_metric=rmsre")
    more_budget(page)
    first = page.url
    page.get_by_role("link", name="Consistency").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES["consistency"].heading)
    settle(page)
    assert query(page) == {"eps": ["1.2"]}, "the budget is every page's, the metric is the lab's"
    more_budget(page)
    second = page.url
    assert budget(page) == "1.4"
    page.go_back()
    page.wait_for_url(first)
    settle(page)
    assert (page.url, budget(page)) == (first, "1.2")
    page.go_forward()
    page.wait_for_url(second)
    settle(page)
    assert (page.url, budget(page)) == (second, "1.4")


def test_back_to_a_bare_address_is_back_to_the_defaults(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/consistency")
    page.get_by_role("link", name="Error lab").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES["lab"].heading)
    settle(page)
    more_budget(page)
    page.go_back()
    page.wait_for_url(f"{server.url}/consistency")
    settle(page)
    assert (query(page), budget(page)) == ({}, "1")
    more_budget(page)
    assert (query(page), budget(page)) == ({"eps": ["1.2"]}, "1.2"), "and settings move on from there"


def test_a_view_is_an_entry_of_the_history_and_a_setting_is_not(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/multiplicative")
    before = entries(page)
    views, switch = PAGES["multiplicative"].views, PAGES["multiplicative"].switch
    for view in views[1:3]:
        page.get_by_role("radio", name=switch.label_of(view.name), exact=True).click()
        settle(page)
        more_budget(page)
    assert entries(page) == before + 2
    assert query(page).items() >= {"mul_view": [views[2].name], "eps": ["1.4"]}.items()
    page.go_back()
    settle(page)
    assert query(page).items() >= {"mul_view": [views[1].name], "eps": ["1.2"]}.items()
    assert budget(page) == "1.2"
    expect(page.get_by_role("radio", name=switch.label_of(views[1].name), exact=True)).to_be_checked()
    page.go_back()
    settle(page)
    assert (query(page), entries(page)) == ({}, before + 2)
    page.go_forward()
    settle(page)
    assert query(page).items() >= {"mul_view": [views[1].name], "eps": ["1.2"]}.items()


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_comes_after_back_is_no_entry_of_the_history(page: Any, server: LiveServer, times: int) -> None:
    """What the server still said of the page that was left was pushed over the entry that had come, and Back undone."""
    held = Held(page, by_server=True)
    names, first, before = at_its_third_view(page, server)
    held.waits = True
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    said = until_it_says_no_more(page, held.said)
    for _ in range(times):
        before_it = page.url
        page.evaluate("history.back()")
        page.wait_for_function("url => window.location.href !== url", arg=before_it)
    said += until_it_says_no_more(page, held.said)
    while said:  # what was undone is asked for once more
        socket, message = said.pop(0)
        socket.send(message)
        page.wait_for_timeout(5)
        said += held.said
        held.said.clear()
    held.waits = False
    settle(page)
    assert (page.url, entries(page)) == ({1: first, 2: f"{server.url}/multiplicative"}[times], before + 1)
    expect(page.get_by_role("radio", name=names[2 - times], exact=True)).to_be_checked()


@pytest.mark.parametrize("pause", [30, 1000], ids=["before_it_is_seen", "after_it_is_seen"])
def test_a_value_that_is_said_late_does_not_undo_back(page: Any, server: LiveServer, pause: int) -> None:
    """A slider that was let go of says its value once more: behind Back, that took the page forward again."""
    held = Held(page, by_server=False)
    names, first, before = at_its_third_view(page, server)
    held.waits = True
    slider(page).focus()
    page.keyboard.press("ArrowRight")
    late = until_it_says_no_more(page, held.said)
    page.evaluate("history.back()")
    page.wait_for_url(first)
    page.wait_for_timeout(300)
    back = list(held.said)
    assert late and back
    held.waits = False
    for one in (back, late):
        for there, message in one:
            there.send(message)
        page.wait_for_timeout(pause)
    settle(page)
    assert (page.url, entries(page), budget(page)) == (first, before + 1, "1")
    expect(page.get_by_role("radio", name=names[1], exact=True)).to_be_checked()


def test_an_embedded_page_stays_embedded(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/consistency?embed=true&eps=2")
    assert page.get_by_test_id("stSidebarNav").count() == 0
    assert page.locator("h1").count() == 1
    more_budget(page)
    assert query(page) == {"embed": ["true"], "eps": ["2.5"]}
