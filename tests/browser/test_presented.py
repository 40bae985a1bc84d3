"""A presentation on a small projector: of every view figure and answer are in the window, lines strong, text large."""

from __future__ import annotations

from typing import Any, Final

import pytest

from app import all_pages
from browsing import EMPTY_AT_FIRST, LiveServer, opened, settle

pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 1280, 720
DRAWN: Final = ".main-svg, svg.marks, .ranges svg, .guess svg, [data-testid=stDataFrame] canvas"
LOOK: Final = """() => {
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


@pytest.mark.parametrize(
    "which", [pytest.param(page, id=page.name) for page in all_pages() if page.name not in EMPTY_AT_FIRST]
)
def test_a_view_fits_a_small_projector(page: Any, server: LiveServer, which: Any) -> None:
    """From one view to the next as a presenter goes, by a key."""
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    opened(page, server, ("" if which is all_pages()[0] else which.name) + "?present=1", ".st-key-stage")
    for view in which.views:
        if view is not which.views[0]:
            page.keyboard.press("ArrowRight")
            page.wait_for_url(f"**{which.switch.key}={view.name}*")
            page.locator("h1", has_text=view.question or which.heading).wait_for()
        page.locator(f".st-key-stage :is({DRAWN})").first.wait_for()
        page.get_by_test_id("stProgress").wait_for(state="detached")
        settle(page)
        found = page.evaluate(LOOK)
        assert found["stage"] <= HEIGHT and found["answer"] <= HEIGHT, view.name
        assert all(title <= 1 for title in found["titles"]), view.name
        assert found["cut"] == [] and found["over"] == [], view.name
        assert found["thin"] == [] and found["small"] == [], view.name
