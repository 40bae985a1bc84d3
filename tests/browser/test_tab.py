"""The keyboard reaches every control of a page, and one sees where it is."""

from __future__ import annotations

from typing import Any, Final

import pytest

from browsing import LiveServer, eventually, opened, settle

pytestmark = pytest.mark.browser

MOST_STOPS: Final = 150
KINDS: Final = (
    "stButton", "stButtonGroup", "stCheckbox", "stDownloadButton", "stExpander", "stMultiSelect", "stNumberInput",
    "stPopover", "stSelectbox", "stSidebarNavLink", "stSlider", "stTextInput",
)  # fmt: skip
MARK: Final = """kinds => {
  window.kinds = kinds.map(kind => `[data-testid="${kind}"]`).join(',');
  const all = [...document.querySelectorAll(window.kinds)];
  const able = one => one.matches('a, :has(button:enabled, input:enabled, summary, a)') && one.checkVisibility();
  window.wanted = new Set(all.filter(able));
  window.bare = [];
  document.activeElement?.blur();
  return window.wanted.size;
}"""
STOP: Final = """() => {
  const looks = parts => JSON.stringify(parts.map(one => {
    const style = getComputedStyle(one);
    return [style.outline, style.boxShadow, style.borderColor, style.backgroundColor];
  }));
  const was = window.last;
  if (was && looks(was.parts) === was.looks) window.bare.push(was.name);
  const here = document.activeElement;
  window.last = null;
  if (!here || here === document.body) return window.wanted.size;
  const around = here.closest(window.kinds) ?? here.closest('[data-testid^=st]');
  const parts = [here, around, ...around.querySelectorAll('*')];
  window.last = {parts, looks: looks(parts), name: `${here.tagName} ${here.ariaLabel ?? here.innerText}`};
  for (const one of window.wanted) if (one.contains(here)) window.wanted.delete(one);
  return window.wanted.size;
}"""
"""Notes which control has the focus, and whether the one before looks otherwise without it."""


def tab_through(page: Any) -> dict[str, list[str]]:
    """Which controls Tab does not reach, and which of those it does look as they do without the focus."""
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate(MARK, list(KINDS))
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate(STOP) == 0:
            break
    page.evaluate("() => document.activeElement.blur()")
    page.evaluate(STOP)
    left = "() => [...window.wanted].map(one => `${one.dataset.testid} ${one.innerText.slice(0, 30)}`)"
    return {"not reached": page.evaluate(left), "not shown": page.evaluate("() => window.bare")}


@pytest.mark.parametrize(
    "name",
    ["lab", "cdf", *(pytest.param(one, marks=pytest.mark.contract) for one in ("", "budget?bud_view=strategies"))],
)
def test_tab_reaches_every_control_and_shows_where_it_is(page: Any, server: LiveServer, name: str) -> None:
    opened(page, server, name, ".st-key-stage")
    eventually(lambda: page.get_by_test_id("stProgress").count() == 0)  # with it goes a Cancel
    settle(page)
    assert tab_through(page) == {"not reached": [], "not shown": []}


def test_a_control_that_is_skipped_or_shows_no_focus_is_found(page: Any) -> None:
    button = "<div data-testid=stButton><button {}</button></div>"
    page.set_content(
        button.format(">Good") + button.format("style='outline: none'>Bare") + button.format("tabindex=-1>Lost")
    )
    found = tab_through(page)
    assert found["not reached"] == ["stButton Lost"] and set(found["not shown"]) == {"BUTTON Bare"}
