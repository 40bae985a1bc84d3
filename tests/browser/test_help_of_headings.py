"""The "?" beside a page's heading opens under a mouse, on a tap and at the keyboard's focus; nothing of it is cut."""

from __future__ import annotations

from typing import Any, Final

import pytest

from app import all_pages
from browsing import LiveServer, settle, visit

pytestmark = pytest.mark.browser

PAGES: Final = [pytest.param(page, id=page.name) for page in all_pages()]
DESK: Final = {"width": 1280, "height": 800}
PHONE: Final = {"width": 390, "height": 800}
MARK: Final = '[data-testid="stHeading"]:has(h1) [data-testid="stTooltipHoverTarget"]'
TIP: Final = '[data-testid="stTooltipContent"]'
SAID: Final = """tip => {
  const { left, right, top, bottom } = tip.getBoundingClientRect();
  const isWhole = left >= 0 && right <= window.innerWidth && top >= 0 && bottom <= window.innerHeight;
  return isWhole && tip.scrollWidth <= tip.clientWidth + 1 ? tip.innerText : `cut: ${tip.innerText}`;
}"""


@pytest.mark.parametrize("which", PAGES)
def test_the_question_mark_of_a_heading_opens_by_mouse_keyboard_and_touch(
    page: Any, server: LiveServer, which: Any
) -> None:
    """At a desk and on a phone; what is open is whole within the window, and goes again."""
    assert which.lede
    page.set_viewport_size(DESK)
    visit(page, f"{server.url}/{which.name}")
    assert page.locator(MARK).count() == 1
    for way in (by_mouse, by_keyboard):
        assert way(page).startswith(which.lede), way.__name__
        closed(page)
    page.set_viewport_size(PHONE)
    settle(page)
    for way in (by_mouse, by_touch):
        assert way(page).startswith(which.lede), f"{way.__name__} on a phone"
        closed(page)


def test_a_question_mark_that_is_covered_is_found(page: Any, server: LiveServer) -> None:
    page.set_viewport_size(DESK)
    visit(page, server.url)
    page.add_style_tag(content=".stAppHeader * { pointer-events: auto !important }")
    page.mouse.move(*middle(page))
    page.wait_for_timeout(1000)
    assert page.locator(TIP).count() == 0


def by_mouse(page: Any) -> str:
    page.mouse.move(*middle(page))
    return said(page)


def by_keyboard(page: Any) -> str:
    """By Tab from what stands before it."""
    page.locator(MARK).get_by_role("button").focus()
    page.keyboard.press("Shift+Tab")
    page.locator(TIP).wait_for(state="detached")
    page.keyboard.press("Tab")
    return said(page)


def by_touch(page: Any) -> str:
    """By a finger on glass, as a browser reports it: Playwright taps only where touch was there from the start."""
    x, y = middle(page)
    glass = page.context.new_cdp_session(page)
    glass.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.evaluate("() => { window.pointers = []; onpointerdown = event => pointers.push(event.pointerType) }")
    glass.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    glass.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert page.evaluate("window.pointers") == ["touch"]
    return said(page)


def middle(page: Any) -> tuple[float, float]:
    """Where the mark is seen, whatever lies over it."""
    box = page.locator(MARK).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def said(page: Any) -> str:
    """What is open, unless a part of it is cut."""
    tip = page.locator(TIP)
    tip.wait_for()
    return str(tip.evaluate(SAID))


def closed(page: Any) -> None:
    """Take mouse, finger and focus elsewhere."""
    page.mouse.move(page.viewport_size["width"] / 2, page.viewport_size["height"] - 2)
    page.evaluate("document.activeElement.blur()")
    page.locator(TIP).wait_for(state="detached")
