"""Every first screen can be read: no text on a text, line or mark of another, none cut, none too small, none faint.

`make contract` looks at every view in three windows, light and dark, presented and not, and on a phone; else each view
is looked at in a share of them, so that all of them have their turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from app import all_pages
from browsing import EMPTY_AT_FIRST, ROOT, LiveServer, opened, settle
from geometry import crowded, unreadable
from test_every_page import ON_A_WALL

pytestmark = pytest.mark.browser

WINDOWS: Final = ((1440, 900), (1280, 720), (900, 720))
PHONE: Final = (390, 844)
LEAST_ON_A_PHONE: Final = 12.0
LEAST_PRESENTED: Final = 0.03
"""Of the window's height."""
VIEWS: Final = [(page, view) for page in all_pages() if page.name not in EMPTY_AT_FIRST for view in page.views]
OF_SAMPLE: Final = {"bound": "&sample=flights"}
"""What a view is looked at on that has no figure of the first sample."""
Look = tuple[str, bool, tuple[int, int]]
"""Colours, whether it is presented, and the window."""
LOOKS: Final[list[Look]] = [
    *((scheme, False, window) for scheme in ("light", "dark") for window in WINDOWS),
    ("light", False, PHONE),
    *((scheme, True, window) for scheme in ("light", "dark") for window in WINDOWS),
]


CODES: Final = re.compile(r"\b(?:" + "|".join(sorted(
    {code for path in ("treedp_core", "pages") for one in (ROOT / path).rglob("*.py")
     for code in re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|CLIPPED|WEIGHTED)"', one.read_text(encoding="utf-8"))}
)) + r")\b")  # fmt: skip
"""What refusals and notices are called in code: no reader is to know it."""


def looks_at(nth: int, *, every: bool) -> Iterator[Look]:
    """How one view is looked at: in every way, or in one that its neighbours are not looked at in."""
    yield from LOOKS if every else (LOOKS[5 * nth % len(LOOKS)],)


@pytest.mark.parametrize("page_name", dict.fromkeys(one.name for one, _ in VIEWS))
def test_figures_can_be_read(page: Any, server: LiveServer, page_name: str, every: bool) -> None:
    found: dict[str, list[str]] = {}
    for nth, (which, view) in enumerate(VIEWS):
        if which.name != page_name:
            continue
        query = f"{which.switch.key}={view.name}" if which.switch is not None else "eps=1"
        query += OF_SAMPLE.get(view.name, "")
        was: tuple[str, bool] | None = None
        for scheme, is_presented, (width, height) in looks_at(nth, every=every):
            page.set_viewport_size({"width": width, "height": height})
            if was != (scheme, is_presented):
                page.emulate_media(color_scheme=scheme)
                name = "" if which is all_pages()[0] else which.name
                opened(page, server, f"{name}?{query}{'&present=1' * is_presented}", "h1")
                page.get_by_test_id("stProgress").wait_for(state="detached")
                was = scheme, is_presented
            settle(page)
            assert CODES.findall(page.get_by_test_id("stApp").inner_text()) == []
            assert page.get_by_text("Something went wrong").count() == 0, (view.name, is_presented)
            least = LEAST_PRESENTED * height if is_presented else LEAST_ON_A_PHONE if width < 640 else 0.0
            if is_presented:  # text of the page, too
                assert page.evaluate(ON_A_WALL.replace("23.9", f"{least - 0.05}"))["small"] == [], view.name
            found[f"{view.name} {scheme} {width}x{height}{' presented' * is_presented}"] = unreadable(
                page, least
            ) + crowded(page)
    assert {place: faults for place, faults in found.items() if faults} == {}


NOTE: Final = {"showarrow": False, "x": 0.5, "y": 0.9, "text": "a note"}
RULE: Final = {"type": "line", "x0": 0.5, "x1": 0.5, "y0": 0, "y1": 1}
PLANTED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "on a note": ({"annotations": [NOTE, NOTE]}, "label on label"),
    "on a line": ({"annotations": [NOTE | {"y": 0.5}]}, "label on line"),
    "on a rule": ({"annotations": [NOTE], "shapes": [RULE]}, "label on rule"),
    "on a bar": ({"annotations": [NOTE | {"x": 2, "y": 0.3}]}, "label on block"),
    "on a point": ({"annotations": [NOTE | {"x": 0}]}, "label on point"),
    "outside": ({"annotations": [NOTE | {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 90}]}, "cut"),
    "small": ({"annotations": [NOTE | {"font": {"size": 6}}]}, "small"),
    "faint": ({"annotations": [NOTE | {"bgcolor": "#777777", "font": {"color": "#888888"}}]}, "faint"),
    "pale": ({"annotations": [NOTE | {"font": {"color": "#999999"}}]}, "faint"),
    "cut": ({"yaxis": {"range": [0, 0.55]}}, "cut bar"),
}
NAMED: Final = {"type": "bar", "orientation": "h", "x": [1, 2, 3], "y": ["A & B", "C", "D"]}
BLOCKS: Final = {
    "type": "icicle", "labels": ["all", "A", "B"], "parents": ["", "all", "all"], "values": [2, 1, 1],
    "branchvalues": "total", "tiling": {"orientation": "v"}, "marker": {"colors": ["white"] * 3},
}  # fmt: skip
OTHERS: Final[dict[str, tuple[dict[str, Any], dict[str, Any], str]]] = {
    "all named": (NAMED, {}, ""),
    "a row without a name": (NAMED, {"yaxis": {"dtick": 2}}, "no name"),
    "blocks with their names": (BLOCKS, {}, ""),
    "blocks that are too low": (BLOCKS, {"uniformtext": {"minsize": 200, "mode": "hide"}}, "no room in its block"),
}
PLANT: Final = """async layout => {
  document.querySelector('#planted')?.remove();
  const plot = document.body.appendChild(Object.assign(document.createElement('div'), {id: 'planted'}));
  plot.style = 'position: fixed; top: 0; left: 0; width: 600px; height: 300px; z-index: 99; background: white';
  const points = {x: [0], y: [0.9], mode: 'markers'}, bar = {type: 'bar', x: [2], y: [0.6]};
  const line = {x: [0, 1], y: [0.5, 0.5], mode: 'lines'};
  if (layout.trace) return Plotly.newPlot(plot, [layout.trace], layout.layout).then(() => null);
  const still = {showlegend: false, yaxis: {range: [0, 1]}, margin: {t: 8}, ...layout};
  await Plotly.newPlot(plot, [points, line, bar], still, {displayModeBar: true});
}"""


def test_what_cannot_be_read_is_found(page: Any, server: LiveServer) -> None:
    opened(page, server, "lab", ".st-key-stage .main-svg")
    for name, (layout, told) in {"nothing": ({"annotations": [NOTE]}, ""), **PLANTED}.items():
        page.evaluate(PLANT, layout)
        found = unreadable(page, 10.0, "#planted")
        assert {fault.partition(":")[0].partition(' "')[0] for fault in found} == ({told} if told else set()), (
            name,
            found,
        )
    for name, (trace, layout, told) in OTHERS.items():
        page.evaluate(PLANT, {"trace": trace, "layout": {"font": {"color": "black"}, **layout}})
        found = unreadable(page, 10.0, "#planted")
        assert {fault.partition(":")[0] for fault in found} == ({told} if told else set()), (name, found)
    page.evaluate(PLANT, {"annotations": [NOTE]})
    page.add_style_tag(content="#planted .modebar-btn { position: fixed !important; inset: 0 0 auto 0; height: 200px }")
    assert {"toolbar on a mark", 'toolbar on note "a note"'} <= set(unreadable(page, 10.0, "#planted"))


CONTROLS: Final = """html => {
  const first = document.querySelector('.st-key-first_screen');
  document.querySelector('#planted')?.remove();
  const row = first.appendChild(Object.assign(document.createElement('div'), {id: 'planted', innerHTML: html}));
  row.style = 'position: fixed; top: 0; left: 0; width: 600px; height: 100px; z-index: 99; background: white';
}"""
BUTTON: Final = '<div data-testid="stButton" style="position: absolute; left: {}px; width: 100px"><p>Draw</p></div>'
TEXT: Final = '<p style="position: absolute; margin: 0; top: {}px">ε = 1</p>'
INPUT: Final = '<input type="text" placeholder="as in the data" style="width: {}px">'
CROWDED: Final[list[tuple[str, set[str]]]] = [
    (BUTTON.format(0) + BUTTON.format(110), set()),
    (BUTTON.format(0) + BUTTON.format(60), {"control on control"}),
    (BUTTON.format(-50), {"out of the window"}),
    (TEXT.format(0) + TEXT.format(30), set()),
    (TEXT.format(0) + TEXT.format(8), {"text on text"}),
    (INPUT.format(200), set()),
    (INPUT.format(60), {"cut in its box"}),
]


def test_words_and_controls_that_cover_each_other_are_found(page: Any, server: LiveServer) -> None:
    opened(page, server, "lesson", ".st-key-first_screen")
    page.evaluate("document.querySelector('.st-key-first_screen').replaceChildren()")
    for planted, told in CROWDED:
        page.evaluate(CONTROLS, planted)
        assert {fault.partition(":")[0] for fault in crowded(page)} == told, planted


@pytest.mark.parametrize(
    ("address", "sentence", "code"),
    [
        ("data", "A row stands for up to", "WEIGHTED"),
        ("lab?eps=-1", "Ignored in the link: eps.", ""),
        ("cdf?eps=1e-4&nbr=replace_one&cdf_tree=root&delta=1e-300", ".", ""),
        ("multiplicative?mul_levels=1", "A tree of one level is a single count", ""),
    ],
)
def test_a_refusal_says_a_sentence_and_no_code(
    page: Any, server: LiveServer, address: str, sentence: str, code: str
) -> None:
    opened(page, server, address, "h1")
    said = page.locator('[data-testid="stAlert"], [data-testid="stToast"]')
    said.first.wait_for()
    shown = " ".join(said.all_inner_texts())
    assert sentence in shown and CODES.findall(shown) == []
    assert code in said.first.text_content(), "for whoever reports it, in the page's source"


def test_epsilon_is_in_reach_on_a_phone_wherever_it_is_used(page: Any, server: LiveServer) -> None:
    """The sidebar is closed there; on the page it stands once."""
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    for name, is_used in (("lab", True), ("plan?plan_view=handover", None), ("consistency", True), ("lesson", False)):
        opened(page, server, name, "h1")
        slider = page.get_by_test_id("stMain").get_by_role("slider", name=re.compile("ε"))
        assert is_used is None or slider.count() == is_used, name
        if is_used:
            box = slider.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0] and box["y"] < PHONE[1], name
