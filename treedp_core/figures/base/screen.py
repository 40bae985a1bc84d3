"""Figures on a dark page: colours that are weak there come nearer to white, and scales begin at the page's own end."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.colour import (
    DIVERGING,
    DIVERGING_DARK,
    PALE,
    SEQUENTIAL,
    SEQUENTIAL_DARK,
    colour_scale,
    ink_on,
    inked,
    luminance,
    numbers_of,
)
from treedp_core.figures.base.style import MORE, PRESENTED_TEXT, ROW, beside_rows, in_legend, numbers_apart
from treedp_core.tree import FloatArray

ENOUGH: Final = 5.0
"""Contrast with the page up to which a colour is lifted."""
STAYS: Final = 0.3
"""Share of what a colour lacks that stays, so that colours which differ still do."""
_PAGE: Final = 0.006
"""Relative luminance of the dark page."""
_PAINTED: Final = ("color", "fill", "stroke")
_HEX: Final = re.compile("#[0-9A-Fa-f]{6}")
_RGB: Final = re.compile(r"rgba?\(([\d.]+), ?([\d.]+), ?([\d.]+)((?:, ?[\d.]+)?)\)")
_COLOURED: Final = re.compile(r'(?<=<span style="color:)#[0-9A-Fa-f]{6}(?=">)')
_SCALES: Final = (
    (colour_scale(SEQUENTIAL), colour_scale(SEQUENTIAL_DARK)),
    (colour_scale(DIVERGING), colour_scale(DIVERGING_DARK)),
)


def on_dark(fig: go.Figure) -> go.Figure:
    """Return a figure as a dark page shows it; its template stays, as the page's theme sets that.

    >>> on_dark(go.Figure(go.Scatter(y=[1], line_color="#0072B2"))).data[0].line.color
    '#2285bc'
    """
    parts = fig.to_dict()
    template = parts["layout"].pop("template", None)
    painted = repainted(parts)
    painted["data"] = [_legible(one) if "insidetextfont" in one else _marked(one) for one in painted["data"]]
    for note in painted["layout"].get("annotations", ()):
        if _HEX.fullmatch(str(note.get("bgcolor"))):
            note["font"] = {**note.get("font", {}), "color": ink_on(note["bgcolor"])}
    painted["layout"]["template"] = template
    return go.Figure(painted, _validate=False)  # it was checked when it was drawn


def _legible(block: dict[str, Any]) -> dict[str, Any]:
    """Blocks with texts that are legible on their dark colours; a stranger's notebook may have blocks unlike ours."""
    if _RGB.fullmatch(str(block.get("marker", {}).get("color"))):  # the page shows through
        return {**block, "insidetextfont": {**block["insidetextfont"], "color": PALE}}
    try:
        return inked(block)
    except (KeyError, TypeError, ValueError):
        return block


def _marked(points: dict[str, Any]) -> dict[str, Any]:
    """Points with a text in each that is legible on their dark colour."""
    colour, place = points.get("marker", {}).get("color"), points.get("textposition", "middle center")
    if points.get("mode") != "markers+text" or place != "middle center" or not _HEX.fullmatch(str(colour)):
        return points
    return {**points, "textfont": {**points.get("textfont", {}), "color": ink_on(str(colour))}}


def repainted(parts: dict[str, Any]) -> dict[str, Any]:
    """Return a figure's specification with its colours as a dark page shows them.

    Only what a property paints and what colours a part of a text are looked at: data which look like a colour stay.

    >>> repainted({"text": "#000000", "marker": {"color": ["#CC79A7", 3.0]}})
    {'text': '#000000', 'marker': {'color': ['#CC79A7', 3.0]}}
    """
    return {name: _repainted(one, any(word in name.lower() for word in _PAINTED)) for name, one in parts.items()}


def _repainted(part: object, paint: bool) -> object:
    if isinstance(part, dict):
        return repainted(part)
    if isinstance(part, str):
        return lifted(part) if paint else _COLOURED.sub(lambda found: lifted(found[0]), part)
    if isinstance(part, np.ndarray) and part.dtype.kind in "OU" and paint:
        return [_repainted(one, True) for one in part.tolist()]
    if isinstance(part, list | tuple):
        return _scale(part) or [_repainted(one, paint) for one in part]
    return part


def _scale(part: list[Any] | tuple[Any, ...]) -> list[tuple[float, str]] | None:
    """The dark twin of a colour scale; none of anything else."""
    pairs = [tuple(one) if isinstance(one, list | tuple) else () for one in part[:12]]
    return next((dark for light, dark in _SCALES if len(part) == len(light) and pairs == light), None)


@lru_cache(maxsize=4096)
def lifted(colour: str) -> str:
    """Return a colour as a dark page shows it: one that is weak there is mixed with white.

    >>> lifted("#0072B2"), lifted("#CC79A7"), lifted("rgba(0,0,0,0.5)"), lifted("white")
    ('#2285bc', '#CC79A7', 'rgba(113,113,113,0.5)', 'white')
    """
    if _HEX.fullmatch(colour):
        rgb, opacity = [float(int(colour[i : i + 2], 16)) for i in (1, 3, 5)], ""
    elif found := _RGB.fullmatch(colour):
        rgb, opacity = [float(part) for part in found.groups()[:3]], found[4]
    else:
        return colour
    has = _contrast(rgb)
    if has >= ENOUGH:
        return colour
    wanted, low, high = ENOUGH - STAYS * (ENOUGH - has), 0.0, 1.0
    for _ in range(12):
        share = (low + high) / 2
        low, high = (share, high) if _contrast(_mixed(rgb, share)) < wanted else (low, share)
    red, green, blue = (round(part) for part in _mixed(rgb, high))
    return f"rgba({red},{green},{blue}{opacity})" if opacity else f"#{red:02x}{green:02x}{blue:02x}"


def _mixed(rgb: list[float], white: float) -> list[float]:
    return [part + white * (255.0 - part) for part in rgb]


def _contrast(rgb: list[float]) -> float:
    """Contrast with the dark page (WCAG 2.2)."""
    seen = float(luminance(*map(np.asarray, rgb)))
    return (max(seen, _PAGE) + 0.05) / (min(seen, _PAGE) + 0.05)


# ---- a figure for a narrow window, such as a phone's: panels that lie beside each other come one above another


BELOW: Final = 0.36
RANKED: Final = 0.5
"""Height of the lower panel, as a part of the figure's; of one without a y axis, which names lines where they lie."""
COLUMN: Final = 0.5
"""Of the width: where a panel ends that has a column of words beside it."""
GAP: Final = 0.26
"""Between the two panels, where the upper one has its axis."""
TITLE: Final = {"x": 34, "y": 20}
"""Characters of an axis title in a line."""
_X: Final = ("xaxis", "xaxis2")
_Y: Final = ("yaxis", "yaxis2")
ROW_NAME: Final = 18
"""Characters of the name of a row in a line."""
MOST_ROWS: Final = 12
"""Rows that names of two lines have room in."""
MOST_ALONG: Final = 6
"""Numbers along a line at most, as steps between them."""
ROOM: Final = 0.25
"""Of an axis: what a number beside the longest bar takes."""
MAX_TEXT: Final = 12.5
"""Text of a note, in px: it has one line."""


def stacked(fig: go.Figure) -> go.Figure:
    """Return a figure as a narrow window shows it: its left panel above its right one, titles of axes in short lines.

    >>> two = go.Figure([go.Bar(x=[1]), go.Bar(x=[2], xaxis="x2")])
    >>> two = stacked(two.update_layout(xaxis_domain=[0, 0.4], xaxis2={"domain": [0.6, 1], "anchor": "y"}))
    >>> two.layout.xaxis.domain, two.layout.yaxis.domain, two.layout.yaxis2.domain, two.data[1].yaxis
    ((0.0, 1.0), (0.62, 1.0), (0.0, 0.36), 'y2')
    """
    if any(one.name == ROW and one.yanchor == "middle" for one in fig.layout.annotations):
        beside_rows(fig)
    parts = in_legend(fig).to_dict()
    template = parts["layout"].pop("template", None)
    layout = parts["layout"]
    if layout.get("font", {}).get("size", 0.0) < PRESENTED_TEXT:
        for note in layout.get("annotations", ()):
            note["font"] = {**note.get("font", {}), "size": min(MAX_TEXT, note.get("font", {}).get("size", MAX_TEXT))}
    ends = [layout.get(name, {}).get("domain") for name in _X]
    if all(ends) and (ends[0][1] <= ends[1][0] or ends[1][1] <= ends[0][0]):
        _restack(parts["data"], layout, 0 if ends[0][0] < ends[1][0] else 1)
    _make_room(parts["data"], layout)
    for note in layout.get("annotations", ()):  # words beside a panel have two lines
        if note.get("xref") == "paper" and note.get("x", 0.0) > 0.5 and note.get("yref") == "y":
            note["text"] = MORE.join(note["text"].rsplit(" · ", 1))
    for name in layout:
        if name.startswith(("xaxis", "yaxis")) and layout[name].get("ticktext") is not None:
            layout[name] |= _short_ticks(name[0], numbers_of(layout[name]["tickvals"]), layout[name]["ticktext"])
    for name, one in layout.items():
        if name.startswith(("xaxis", "yaxis")) and one.get("title", {}).get("text"):
            lines = (textwrap.wrap(line, TITLE[name[0]]) for line in one["title"]["text"].split(MORE))
            one["title"]["text"] = MORE.join(itertools.chain(*lines))
    layout["template"] = template
    return go.Figure(parts, _validate=False)  # it was checked when it was drawn


def _short_ticks(upright: str, values: FloatArray, texts: Sequence[str]) -> dict[str, Any]:
    """Numbers along a line that have room, and names of rows in short lines."""
    if upright == "x":
        return numbers_apart(values.tolist(), texts, MOST_ALONG)
    if max(map(len, texts), default=0) <= ROW_NAME or len(texts) > MOST_ROWS:
        return {}
    return {"ticktext": [MORE.join(textwrap.wrap(text, ROW_NAME)) for text in texts]}


def _make_room(data: Sequence[dict[str, Any]], layout: dict[str, Any]) -> None:
    """Have axes go on beyond their longest bars for the numbers beside them."""
    beside = [one for one in data if one.get("orientation") == "h" and one.get("textposition") == "outside"]
    for name in {one.get("xaxis", "x") for one in beside}:
        axis_of = layout.get(f"xaxis{name[1:]}", {})
        if "range" in axis_of:
            low, high = axis_of["range"]
            axis_of["range"] = [low - ROOM * (high - low) * (low < 0), high + ROOM * (high - low)]


def _restack(data: list[dict[str, Any]], layout: dict[str, Any], left: int) -> None:
    """Put the panel of the first or second x axis, which is `left`, above that of the other."""
    start, stop = layout[_X[1 - left]]["domain"]
    if layout["xaxis2"].get("anchor", "y") == "y":  # both had one y axis
        layout["yaxis2"] = {**layout.get("yaxis", {}), "anchor": "x2"}
        layout["xaxis2"]["anchor"] = "y2"
        for trace in data:
            if trace.get("xaxis") == "x2":
                trace["yaxis"] = "y2"
    below = BELOW if layout.get(_Y[1 - left], {}).get("visible", True) else RANKED
    for at, y in enumerate(_Y):
        layout[y] = {**layout.get(y, {}), "domain": [below + GAP, 1.0] if at == left else [0.0, below]}
    layout[_X[left]]["domain"] = [0.0, 1.0]
    layout[_X[1 - left]]["domain"] = [0.0, 1.0 if stop > 0.95 else COLUMN]
    for part in (*layout.get("annotations", ()), *layout.get("shapes", ())):
        _move(part, start, stop, below)
    if "legend" in layout:
        layout["legend"]["x"] = 0.0


def _move(part: dict[str, Any], start: float, stop: float, below: float) -> None:
    """Have a note or line stay with its panel, where it hung on the whole figure."""
    xref, yref = part.get("xref", "x"), part.get("yref", "y")
    axis = "y2" if xref.startswith("x2") else "y"
    if xref.startswith("x") and yref == "paper":
        part["yref"] = f"{axis} domain"
    elif yref == "y" and (xref.startswith("x2") or (xref == "paper" and part.get("x", 0.0) >= stop)):
        part["yref"] = "y2"  # also a column of words beside the panel
        if xref == "paper" and stop <= 0.95:
            part["x"] -= stop - COLUMN
    elif xref == "paper" and yref == "paper" and part.get("x", 0.0) > start and part.get("y") == 1:
        part["y"] = below
