"""The first screen of every view: question, a row of controls, the figure with its axes, and the answer, in the window.

Each view is opened once and looked at in three windows, light and dark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from app import all_pages
from browsing import LiveServer, opened, settle

pytestmark = pytest.mark.browser

WINDOWS: Final = ((1440, 900), (1280, 720), (900, 800))
MOST_CONTROLS: Final = 4
LEAST_HEIGHT: Final = 240
VIEWS: Final = [(page, view) for page in all_pages() for view in page.views if page.name != "notebook"]
"""The notebook has a figure once one is pinned: see test_kept_cells."""

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
  };
}"""


def address(page: Any, view: Any) -> str:
    """The address that opens a view."""
    path = "" if page.name == "start" else page.name
    return f"{path}?{page.switch.key}={view.name}" if page.switch is not None else path


@pytest.mark.parametrize(("page", "view"), [
    pytest.param(page, view, id=f"{page.name}-{view.name}") for page, view in VIEWS
])  # fmt: skip
def test_the_answer_is_on_the_first_screen(
    open_page: Callable[..., Any], server: LiveServer, page: Any, view: Any
) -> None:
    seen = opened(open_page(), server, address(page, view), "h1")
    seen.locator(".st-key-stage").wait_for()
    for scheme in ("light", "dark"):
        seen.emulate_media(color_scheme=scheme)
        for width, height in WINDOWS if scheme == "light" else WINDOWS[1:2]:
            seen.set_viewport_size({"width": width, "height": height})
            settle(seen)
            check(seen.evaluate(LOOK), height, 1 if page.switch is not None else 0)


def check(found: dict[str, Any], height: int, switches: int) -> None:
    """What must hold in a window of a height, above a view with so many switches."""
    assert found["errors"] == 0 and found["headings"] == 1
    assert found["stage"]["height"] >= LEAST_HEIGHT and found["stage"]["bottom"] <= height
    assert found["said"] and found["answer"]["bottom"] <= height
    assert all(title["bottom"] <= found["stage"]["bottom"] + 1 for title in found["titles"])
    assert len(found["controls"]) - switches <= MOST_CONTROLS, found["controls"]
    assert found["cut"] == [] and found["too_wide"] <= 0
