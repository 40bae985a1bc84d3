"""Every page on one opening: the first screen of each view, what a press reaches, the help of its heading, on a wall.

The first screen holds question, a row of controls, the figure with its axes, and the answer. The first view is looked
at in all windows, the others in the two narrow ones; all on a phone and presented on a small projector. Every other
page is dark. `make contract` looks at every view in all windows, and in both colours.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from app import all_pages
from browsing import EMPTY_AT_FIRST, LiveServer, opened, resize, settle, visit
from lids import lids
from phone import PHONE, faults

pytestmark = pytest.mark.browser

NARROW: Final = ((900, 720), (1280, 720))
WIDE: Final = ((1440, 900), (1920, 1080), (820, 1000))
MOST_CONTROLS: Final = 4
LEAST_HEIGHT: Final = 240
HOME: Final = all_pages()[0]
PAGES: Final = [pytest.param(page, id=page.name) for page in all_pages()]
DRAWN: Final = ".main-svg, .ranges svg, .guess svg, [data-testid=stDataFrame] canvas"

LOOK: Final = """() => {
  const box = one => { const r = one.getBoundingClientRect(); return {top: r.top, bottom: r.bottom, height: r.height} };
  const first = document.querySelector('.st-key-first_screen'), stage = document.querySelector('.st-key-stage');
  const seen = one => one.getBoundingClientRect().height > 1;  // one pixel is for screen readers only
  const kinds = ['stButtonGroup', 'stSelectbox', 'stMultiSelect', 'stSlider', 'stNumberInput', 'stTextInput',
                 'stButton', 'stCheckbox', 'stRadio', 'stPopover', 'stFileUploader'];
  const controls = [...first.querySelectorAll(kinds.map(kind => `[data-testid="${kind}"]`).join(','))].filter(seen);
  const above = controls.filter(one => one.getBoundingClientRect().bottom <= stage.getBoundingClientRect().top + 1);
  const cut = [...first.querySelectorAll('button *, h1, label *')].filter(
    one => seen(one) && getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1
  ).map(one => one.innerText.trim()).filter(text => text);
  return {
    stage: box(stage), answer: box(document.querySelector('.st-key-answer')),
    said: document.querySelector('.st-key-answer').innerText.trim(),
    titles: [...stage.querySelectorAll('.xtitle, .x2title')].map(box),
    controls: above.map(one => one.innerText.slice(0, 40)), cut: cut,
    headings: document.querySelectorAll('h1').length,
    too_wide: document.documentElement.scrollWidth - window.innerWidth,
    errors: document.querySelectorAll('[data-testid="stException"]').length,
    dialogs: document.querySelectorAll('[role=dialog]').length,
    broken: document.body.innerText.includes('Something went wrong'),
  };
}"""
BACK: Final = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"

ON_A_WALL: Final = """() => {
  const stage = document.querySelector('.st-key-stage'), box = one => one.getBoundingClientRect();
  const first = document.querySelector('.st-key-first_screen'), small = [];
  const walk = document.createTreeWalker(first, NodeFilter.SHOW_TEXT);
  // Icons are no text, blocks of a tree name themselves as large as they can, a key's name is on its button, and
  // notices stand below the answer.
  const apart = ['[data-testid=stIconMaterial]', 'kbd', 'g.slice', '.stMarkdownBadge [role=img]',
                 '[data-testid=stAlert]', 'style', 'script', 'tspan[style*=font-size]'].join();  // exponents
  for (let node; (node = walk.nextNode()); ) {
    const one = node.parentElement;
    const { height, top } = box(one);
    if (!node.textContent.replace(/\u200b/g, '').trim() || one.closest(apart) || height < 2) continue;
    if (top > window.innerHeight) continue;
    const size = parseFloat(getComputedStyle(one).fontSize);
    if (size < 23.9) small.push(`${size} ${node.textContent.trim().slice(0, 30)}`);
  }
  const rows = [...stage.querySelectorAll('.ytick text')].map(box).sort((one, other) => one.top - other.top);
  // Edges of areas have no width at all.
  const lines = [...stage.querySelectorAll('.scatterlayer .lines path, .mark-line path')];
  return {
    stage: box(stage).bottom, answer: box(document.querySelector('.st-key-answer')).bottom, small: small,
    titles: [...stage.querySelectorAll('.xtitle, .x2title')].map(one => box(one).bottom - box(stage).bottom),
    cut: [...first.querySelectorAll('[data-testid=stSelectbox] input')]
      .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.value),
    over: rows.filter((one, at) => rows.slice(0, at).some(other => other.bottom > one.top + 10
      && other.right > one.left && one.right > other.left)).map(one => one.top),
    thin: lines.map(one => parseFloat(getComputedStyle(one).strokeWidth)).filter(width => width > 0 && width < 3.9),
  };
}"""

MARK: Final = '[data-testid="stHeading"]:has(h1) [data-testid="stTooltipHoverTarget"]'
TIP: Final = '[data-testid="stTooltipContent"]'
SAID: Final = """tip => {
  const { left, right, top, bottom } = tip.getBoundingClientRect();
  const isWhole = left >= 0 && right <= window.innerWidth && top >= 0 && bottom <= window.innerHeight;
  return isWhole && tip.scrollWidth <= tip.clientWidth + 1 ? tip.innerText : `cut: ${tip.innerText}`;
}"""


@pytest.mark.parametrize("which", PAGES)
def test_a_page_is_whole_and_answers_wherever_it_is_shown(
    page: Any, server: LiveServer, which: Any, every: bool
) -> None:
    """The notebook has a figure once one is pinned: see test_kept_cells."""
    is_empty = which.name in EMPTY_AT_FIRST
    stage = '[data-testid="stAlert"]' if is_empty else ".st-key-stage"
    scheme = "light" if all_pages().index(which) % 2 else "dark"  # the one that `test_axe` does not look at it in
    page.emulate_media(color_scheme=scheme)
    opened(page, server, address(which), stage)
    for view in which.views:
        place = f"{view.name}, {scheme}"
        is_first = view is which.views[0]
        if not is_first:
            page.mouse.move(0, 0)  # on a phone another help may lie below it, and open over what is pressed next
            page.get_by_role("radio", name=which.switch.label_of(view.name), exact=True).click()
            page.wait_for_url(f"**{which.switch.key}={view.name}*")
            page.locator("h1", has_text=view.question or which.heading).wait_for()
        if not is_empty:
            page.locator(f".st-key-stage :is({DRAWN})").first.wait_for()
        settle(page)
        for width, height in (*(WIDE if every or is_first else ()), *NARROW):
            resize(page, width, height)
            whole(page, which, height, scheme, f"{place}, {width} x {height}")
            assert not is_first or lids(page) == [], f"{place}, {width} x {height}"
        if is_first:
            helped(page, which, by_mouse, by_keyboard)
        if every:
            scheme = {"light": "dark", "dark": "light"}[scheme]
            page.emulate_media(color_scheme=scheme)
            settle(page)
            whole(page, which, height, scheme, view.name)
        assert faults(page, stage, view.name) == [], place
        if is_first:
            assert lids(page) == [], f"{place} on a phone"
            helped(page, which, by_mouse, by_touch)
        if is_first and which.name in ("start", "data", "cdf"):
            resize(page, 390, 844)
            assert page.evaluate("document.querySelector('.st-key-answer').getBoundingClientRect().bottom") <= 844
    if not is_empty:
        presented(page, which)


def whole(page: Any, which: Any, height: int, scheme: str, place: str) -> None:
    """What must hold of a view in a window of that height, in those colours."""
    assert is_dark(page.evaluate(BACK)) == (scheme == "dark"), place
    if which.name in EMPTY_AT_FIRST:
        assert page.locator("h1").count() == 1
        assert page.locator('[data-testid="stException"], [role=dialog]').count() == 0
        assert page.get_by_text("Something went wrong").count() == 0
    else:
        check(page.evaluate(LOOK), height, 1 if which.switch is not None else 0, place)


def presented(page: Any, which: Any) -> None:
    """From the last view to the first, by a key: all is in a small projector's window, lines strong, text large."""
    resize(page, 1280, 720)
    page.evaluate("document.activeElement.blur()")  # arrows in a switch are its own
    page.keyboard.press("p")
    page.wait_for_url("**present=1*")
    for view in reversed(which.views):
        if view is not which.views[-1]:
            page.keyboard.press("ArrowLeft")
            told = f"{which.switch.key}=" + (view.name if view is not which.views[0] else "")
            page.wait_for_url(lambda url, told=told, here=view is not which.views[0]: (told in url) == here)
            page.locator("h1", has_text=view.question or which.heading).wait_for()
        page.locator(f".st-key-stage :is({DRAWN})").first.wait_for()
        page.get_by_test_id("stProgress").wait_for(state="detached")
        settle(page)
        found = page.evaluate(ON_A_WALL)
        assert found["stage"] <= 720 and found["answer"] <= 720, view.name
        assert all(title <= 1 for title in found["titles"]), view.name
        assert found["cut"] == [] and found["over"] == [], view.name
        assert found["thin"] == [] and found["small"] == [], view.name
    assert page.get_by_test_id("stSidebar").get_attribute("data-collapsed") == "true"
    if which is HOME:
        resize(page, 1280, 900)
        assert page.locator(".js-plotly-plot").first.bounding_box()["height"] >= 900 / 2


def helped(page: Any, which: Any, *ways: Any) -> None:
    """The "?" beside the heading opens; what is open is whole within the window, and goes again."""
    assert which.lede
    assert page.locator(MARK).count() == 1
    for way in ways:
        assert way(page).startswith(which.lede), way.__name__
        closed(page)


def test_what_lies_under_a_lid_is_found(page: Any, server: LiveServer) -> None:
    visit(page, server.url)
    page.add_style_tag(content=".stAppHeader * { pointer-events: auto !important }")
    assert any("Help" in lid and "stToolbar" in lid for lid in lids(page))
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
    glass.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
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


def test_a_file_that_is_gone_leaves_the_answer_in_the_window(page: Any, server: LiveServer) -> None:
    """On the page with the most above its figure."""
    opened(page, server, "cdf?source=upload", ".st-key-stage .main-svg")
    page.get_by_text("a reload ends one").wait_for()
    for width, height in NARROW:
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        check(page.evaluate(LOOK), height, 2, str(width))


def test_a_page_opens_whole_on_a_phone(page: Any, server: LiveServer) -> None:
    page.set_viewport_size(PHONE)
    opened(page, server, "lab", ".st-key-stage")
    assert faults(page, ".st-key-stage", "lab") == []


def is_dark(colour: str) -> bool:
    """Whether a colour, such as "rgb(1, 2, 3)", is a dark one."""
    return sum(map(int, re.findall(r"\d+", colour)[:3])) < 200


def check(found: dict[str, Any], height: int, switches: int, place: str) -> None:
    """What must hold in a window of a height, above a view with so many switches."""
    assert found["errors"] == found["dialogs"] == 0 and not found["broken"], place
    assert found["headings"] == 1, place
    assert found["stage"]["height"] >= LEAST_HEIGHT and found["stage"]["bottom"] <= height, place
    assert found["said"] and found["answer"]["bottom"] <= height, place
    assert all(title["bottom"] <= found["stage"]["bottom"] + 1 for title in found["titles"]), place
    assert len(found["controls"]) - switches <= MOST_CONTROLS, (place, found["controls"])
    assert found["cut"] == [] and found["too_wide"] <= 0, place


def test_shares_of_ones_own_stand_in_the_row_of_the_other_controls(page: Any, server: LiveServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server, "plan?plan_allocation=custom&plan_shares=0,0,0,0,0,0,1", ".st-key-plan_levels .main-svg")
    tops = [page.get_by_label(name).first.bounding_box()["y"] for name in ("Mechanism", "Budget split", "Shares")]
    assert max(tops) - min(tops) < 20


def address(page: Any) -> str:
    """The name of a page in an address: the first one has none."""
    return "" if page is HOME else str(page.name)
