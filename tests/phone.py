"""A phone, 390 px wide: a page is one column, read without scrolling sideways, and nothing is cut or covered."""

from __future__ import annotations

from typing import Any, Final

from browsing import settle

LOOKS: Final = 10
PHONE: Final = {"width": 390, "height": 800}
LOOK: Final = """what => {
  const main = document.querySelector('[data-testid=stMain]');
  const seen = [...main.querySelectorAll('button, h1, p, label, input, [data-testid=stPlotlyChart]')];
  const cut = seen.filter(one => {
    const box = one.getBoundingClientRect();
    const isChosen = one.matches('.st-key-first_screen [data-testid=stSelectbox] input');  // shown whole
    return box.width > 1 && box.height > 1 && (box.left < -1 || box.right > window.innerWidth + 1)
      || isChosen && one.scrollWidth > one.clientWidth + 1;
  });
  const box = one => one.getBoundingClientRect();
  const titles = [...main.querySelectorAll('.st-key-stage :is(.xtitle, .x2title, .ytitle, .y2title)')];
  const outside = titles.filter(one => box(one).left < 0 || box(one).right > window.innerWidth);
  const covers = (a, b) => box(a).left < box(b).right && box(b).left < box(a).right
    && box(a).top < box(b).bottom && box(b).top < box(a).bottom;
  const covered = titles.filter((one, at) => titles.slice(at + 1).some(other => covers(one, other)));
  const [left, right] = ['.xtitle', '.x2title'].map(which => main.querySelector(`.st-key-stage ${which}`));
  const beside = left && right && box(right).top < box(left).bottom ? [right] : [];  // panels are to be one column
  return {
    titles: [...outside, ...covered, ...beside].map(one => `title ${one.textContent}`),
    sideways: [document.documentElement, main].map(one => one.scrollWidth - one.clientWidth),
    cut: cut.map(one => `${one.tagName} ${(one.innerText || one.value || "").slice(0, 40)}`),
    figure: document.querySelector(what).getBoundingClientRect().width,
    errors: document.querySelectorAll('[data-testid="stException"]').length,
  };
}"""


def faults(page: Any, what: str, place: str) -> list[str]:
    """What a phone does not show whole, of a page whose figure, or what stands for it, `what` selects."""
    page.set_viewport_size(PHONE)
    found: list[str] = []
    for _ in range(LOOKS):  # the server hears of a phone, and draws its figures anew
        settle(page)
        seen = page.evaluate(LOOK, what)
        assert seen["figure"] >= 340 and seen["errors"] == 0, place
        found = [*seen["cut"], *seen["titles"], *(f"{px} px sideways" for px in seen["sideways"] if px > 0)]
        if not found:
            break
    return found
