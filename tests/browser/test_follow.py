"""Figures that follow a handle, in a browser: what is drawn under the hand is what the page shows once it lets go."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from browsing import WINDOW, LiveServer, eventually, resize, settle, visit
from oracles_figures import near
from phone import faults

pytestmark = pytest.mark.browser

PLACES: Final = (
    "start", "data", "lab", "lab?lab_view=level", "lab?lab_view=draw", "protects", "protects?pro_view=tests", "ranges",
    "branching", "cdf", "cdf?cdf_view=error", "consistency", "budget?bud_view=custom", "budget?bud_view=strategies",
    "topdown?td_view=counts", "topdown", "plan", "multiplicative?mul_view=meaning",
    "protects?pro_view=bound&sample=flights",
    "protects?pro_view=clip",
)  # fmt: skip
PLOT = "document.querySelector('.st-key-stage .js-plotly-plot')"
FIGURE = f"""() => {{ const plot = {PLOT};
  const list = one => one === undefined ? null : Array.from(one.flat ? one.flat(9) : one).slice(0, 500);
  return plot && JSON.stringify([plot._fullData.map(one => [one.name, list(one.x), list(one.y), list(one.text)]),
    (plot.layout.annotations ?? []).map(one => one.text),
    (plot.layout.shapes ?? []).map(one => [one.x0, one.x1, one.y0, one.y1])]) }}"""
STANDS = """key => document.querySelector(`.st-key-${key} input[type=range]`).getAttribute('aria-valuetext')"""
DRAWN = "() => document.querySelector('[data-follows]')?.dataset.follows ?? null"
TRACK = """key => { const [thumb, track] = [`div:has(> input[type=range])`, `[data-testid=stSlider]`]
  .map(one => document.querySelector(`.st-key-${key} ${one}`).getBoundingClientRect());
  return [thumb.x, thumb.y, track.x, track.width] }"""


def said(page: Any) -> tuple[str, str, str | None]:
    """The sentence, the strip, and what the figure shows."""
    strip = page.locator(".st-key-heading [data-testid=stCaptionContainer]").first.inner_text()
    return page.locator(".st-key-answer").first.inner_text(), strip, page.evaluate(FIGURE)


def is_drawn(page: Any, key: str) -> bool:
    return bool(page.evaluate(DRAWN) == page.evaluate(STANDS, key))


def is_same(a: tuple[str, str, str | None], b: tuple[str, str, str | None]) -> bool:
    """Numbers of a figure that is drawn in place have seven digits."""
    return a[:2] == b[:2] and near(json.loads(a[2] or "null"), json.loads(b[2] or "null"))


def held(page: Any, key: str) -> tuple[float, float, float, float]:
    """Take a slider by its thumb: where it is, and the ends of its track."""
    x, y, left, width = page.evaluate(TRACK, key)
    page.mouse.move(x, y)
    page.mouse.down()
    return x, y, left, width


@pytest.mark.parametrize("at", range(len(PLACES)))
def test_all_moves_with_the_handle_and_stays_on_release(page: Any, server: LiveServer, at: int, every: bool) -> None:
    if not every and at % 4:
        pytest.skip("another place stands for it here")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.emulate_media(color_scheme="dark" if at % 2 else "light")
    size = (WINDOW["width"], WINDOW["height"]), (1440, 900), (1280, 720), (900, 720)
    visit(page, f"{server.url}/{PLACES[at]}")
    resize(page, *size[at % 4])
    before = said(page)
    _, y, left, width = held(page, "eps")
    for part in (0.2, 0.45, 0.8):
        page.mouse.move(left + part * width, y)
        eventually(lambda: is_drawn(page, "eps"))
    under_the_hand = said(page)
    assert under_the_hand[0] != before[0] or under_the_hand[2] != before[2]
    assert f"eps={page.evaluate(STANDS, 'eps')}" not in page.url, "the address changes on release"
    page.mouse.up()
    settle(page)
    if "budget" in PLACES[at]:  # where a better split is sought meanwhile, and comes into the figure
        assert said(page)[1] == under_the_hand[1]
    else:
        assert is_same(said(page), under_the_hand), (said(page), under_the_hand)
    assert page.evaluate(DRAWN) is None or is_drawn(page, "eps")
    assert errors == []


@pytest.mark.parametrize(("place", "handle"), [(PLACES[-2], "pro_bound"), (PLACES[-1], "pro_clip")])
def test_a_bound_on_records_and_a_clip_on_values_are_followed(
    page: Any, server: LiveServer, place: str, handle: str
) -> None:
    visit(page, f"{server.url}/{place}")
    before = said(page)
    _, y, left, width = held(page, handle)
    for part in (0.3, 0.6):
        page.mouse.move(left + part * width, y)
        eventually(lambda: is_drawn(page, handle))
    under_the_hand = said(page)
    assert under_the_hand[0] != before[0] and under_the_hand[2] != before[2]
    page.mouse.up()
    settle(page)
    assert is_same(said(page), under_the_hand)


def test_back_where_it_was_all_is_as_it_was(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/lab")
    before = said(page)
    x, y, left, width = held(page, "eps")
    page.mouse.move(left + 0.9 * width, y)
    eventually(lambda: is_drawn(page, "eps"))
    assert said(page) != before
    page.mouse.move(x, y)
    eventually(lambda: page.evaluate(DRAWN) is None)
    assert is_same(said(page), before)
    page.mouse.up()
    settle(page)
    assert is_same(said(page), before)


def test_arrow_keys_show_it_first_and_a_reader_is_told_once_they_rest(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/protects")
    page.locator(".st-key-eps input[type=range]").focus()
    before = said(page)
    settle(page)  # the figures of the nearest values have come
    page.keyboard.press("ArrowRight")
    eventually(lambda: said(page)[0] != before[0])
    first = page.evaluate(DRAWN)
    settle(page)
    assert first == page.evaluate(STANDS, "eps") == "1.2"
    answer = said(page)[0]
    spoken = page.locator(".follow-aloud")
    eventually(lambda: spoken.text_content().replace("\u00a0", " ") == answer.replace("\u00a0", " "))


def test_what_is_zoomed_in_to_stays(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/lab")
    shown = f"() => {PLOT}._fullLayout.xaxis.range"
    area = page.locator(".st-key-stage .nsewdrag").first.bounding_box()
    page.mouse.move(area["x"] + 0.3 * area["width"], area["y"] + 0.2 * area["height"])
    page.mouse.down()
    page.mouse.move(area["x"] + 0.6 * area["width"], area["y"] + 0.8 * area["height"], steps=5)
    page.mouse.up()
    settle(page)
    zoomed = page.evaluate(shown)
    _, y, left, width = held(page, "eps")
    page.mouse.move(left + 0.7 * width, y)
    eventually(lambda: is_drawn(page, "eps"))
    assert page.evaluate(shown) == pytest.approx(zoomed)
    page.mouse.up()
    settle(page)
    assert page.evaluate(shown) == pytest.approx(zoomed)


@pytest.mark.parametrize("place", ["budget?bud_view=custom", "cdf"])
def test_a_sentence_follows_what_is_no_slider(page: Any, server: LiveServer, place: str) -> None:
    """The border of a split, and the range that is dragged over a figure."""
    visit(page, f"{server.url}/{place}")
    before = said(page)
    on_figure = place == "cdf"
    box = page.locator(".st-key-stage .nsewdrag" if on_figure else ".splitbar .border").first.bounding_box()
    x, y = box["x"] + (100 if on_figure else box["width"] / 2), box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x + 20 * step, y)
    eventually(lambda: said(page)[0] != before[0])
    settle(page)
    under_the_hand = said(page)
    page.mouse.up()
    eventually(lambda: said(page)[1:2] == before[1:2] and said(page)[0] == under_the_hand[0])
    settle(page)
    assert said(page)[0] == under_the_hand[0]


def test_what_is_typed_is_shown_before_its_field_is_left(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/branching")
    before, field = said(page), page.locator(".st-key-bra_bins input")
    field.fill("")
    field.press_sequentially("4096")
    eventually(lambda: "4\u202f096 bins" in said(page)[0])
    under_the_hand = said(page)
    assert "bra_bins" not in page.url
    assert under_the_hand[2] != before[2]
    field.press("Enter")
    settle(page)
    assert "bra_bins=4096" in page.url
    assert is_same(said(page), under_the_hand), (said(page), under_the_hand)


def test_without_plotly_in_the_page_all_moves_on_release(page: Any, server: LiveServer) -> None:
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    visit(page, f"{server.url}/lab")
    before = said(page)
    page.evaluate("() => { delete window.Plotly }")
    _, y, left, width = held(page, "eps")
    page.mouse.move(left + 0.9 * width, y)
    page.wait_for_timeout(700)
    assert said(page)[0] == before[0]
    page.mouse.up()
    settle(page)
    assert said(page)[0] != before[0]
    assert errors == []


def test_the_smallest_epsilon_follows_the_margins(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/budget?bud_view=targets")
    eventually(lambda: "an equal split needs" in said(page)[0])
    settle(page)
    before = said(page)
    _, y, left, width = held(page, "bud_margins")
    page.mouse.move(left + 0.7 * width, y)
    eventually(lambda: is_drawn(page, "bud_margins"))
    under_the_hand = said(page)
    assert page.evaluate(STANDS, "bud_margins") == "2" and "within 2\u00a0%" in under_the_hand[0]
    assert under_the_hand[2] != before[2] and "bud_margins" not in page.url
    page.mouse.up()
    settle(page)
    assert "bud_margins=2" in page.url
    assert is_same(said(page), under_the_hand), (said(page), under_the_hand)


BOTH_AT_ONCE = """() => window.addEventListener('resize', () =>
  document.querySelector('.st-key-eps').dispatchEvent(new PointerEvent('pointerover', { bubbles: true })))"""


def test_a_window_that_changes_while_a_hand_comes_near_is_heeded(page: Any, server: LiveServer) -> None:
    """Streamlit sends what the page tells in one moment as one, to the part of the page that one of them is of."""
    visit(page, f"{server.url}/budget?bud_view=custom")
    page.evaluate(BOTH_AT_ONCE)
    assert faults(page, ".st-key-stage", "custom") == []
