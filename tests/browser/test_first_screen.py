"""The first screen of every view: question, a row of controls, the figure with its axes, and the answer, in the window.

Each page is opened once; each of its views is looked at in the two narrow windows and on a phone, its first one in the
wide window, too; every other page is dark. `make contract` looks at every view in every window, light and dark.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from app import all_pages
from browsing import EMPTY_AT_FIRST, LiveServer, opened, settle
from phone import PHONE, faults

pytestmark = pytest.mark.browser

WIDE: Final = (1440, 900)
NARROW: Final = ((900, 800), (1280, 720))
MOST_CONTROLS: Final = 4
LEAST_HEIGHT: Final = 240
ALL_STATES: Final = (*(("light", window) for window in (WIDE, *NARROW)), ("dark", NARROW[-1]))
"""In an order in which few things change from one to the next."""
HOME: Final = all_pages()[0]

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
    back: getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor,
  };
}"""


@pytest.mark.parametrize(
    "which", [pytest.param(page, id=page.name) for page in all_pages() if page.name not in EMPTY_AT_FIRST]
)
def test_every_view_is_whole_and_answers_on_the_first_screen(
    page: Any, server: LiveServer, which: Any, every: bool
) -> None:
    """The notebook has a figure once one is pinned: see test_kept_cells."""
    looks = states(which.name, every=every)
    page.emulate_media(color_scheme=looks[0][0])
    opened(page, server, "" if which is HOME else which.name, ".st-key-stage")
    for number, view in enumerate(which.views):
        if number:
            page.mouse.move(0, 0)  # on a phone another help may lie below it, and open over what is pressed next
            page.get_by_role("radio", name=which.switch.label_of(view.name), exact=True).click()
            page.wait_for_url(f"**{which.switch.key}={view.name}*")
            page.locator("h1", has_text=view.question or which.heading).wait_for()
        page.locator(".st-key-stage :is(.main-svg, svg.marks, canvas, .ranges svg, .guess svg)").first.wait_for()
        for scheme, (width, height) in looks if every or number == 0 else looks[1:]:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            seen = page.evaluate(LOOK)
            place = f"{view.name}, {scheme}, {width} x {height}"
            check(seen, height, 1 if which.switch is not None else 0, place)
            assert is_dark(seen["back"]) == (scheme == "dark"), place
        if every:
            looks.reverse()  # the next view begins in the colours of this one
        assert faults(page, ".st-key-stage", view.name) == [], view.name


def states(name: str, *, every: bool) -> list[tuple[str, tuple[int, int]]]:
    """The colours and windows to look at a page in; the colours are those that `test_axe` does not look at it in."""
    if every:
        return list(ALL_STATES)
    scheme = "light" if [page.name for page in all_pages()].index(name) % 2 else "dark"
    return [(scheme, window) for window in (WIDE, *NARROW)]


def test_a_file_that_is_gone_leaves_the_answer_in_the_window(page: Any, server: LiveServer) -> None:
    """On the page with the most above its figure."""
    opened(page, server, "cdf?source=upload", ".st-key-stage .main-svg")
    page.get_by_text("a reload ends one").wait_for()
    for width, height in NARROW:
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        check(page.evaluate(LOOK), height, 2, str(width))


def test_worst_cases_have_their_answer_in_a_narrow_window_that_is_low(page: Any, server: LiveServer) -> None:
    page.set_viewport_size({"width": 900, "height": 720})
    opened(page, server, "multiplicative?mul_view=growth", ".st-key-stage .main-svg")
    check(page.evaluate(LOOK), 720, 1, "growth")


def test_a_page_opens_whole_on_a_phone(page: Any, server: LiveServer) -> None:
    page.set_viewport_size(PHONE)
    opened(page, server, "lab", ".st-key-stage")
    assert faults(page, ".st-key-stage", "lab") == []


@pytest.mark.parametrize("name", ["", "data", "cdf"])
def test_a_phone_has_the_answer_in_its_first_window(page: Any, server: LiveServer, name: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server, name, ".st-key-stage .main-svg")
    page.wait_for_function("document.querySelector('.st-key-answer').getBoundingClientRect().bottom <= 844")


def test_an_empty_page_is_whole(page: Any, server: LiveServer) -> None:
    for name in EMPTY_AT_FIRST:
        opened(page, server, name, '[data-testid="stAlert"]')
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            settle(page)
            assert page.locator("h1").count() == 1
            assert page.locator('[data-testid="stException"], [role=dialog]').count() == 0
            assert page.get_by_text("Something went wrong").count() == 0
            back = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
            assert is_dark(back) == (scheme == "dark")
        assert faults(page, '[data-testid="stAlert"]', name) == [], name


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
