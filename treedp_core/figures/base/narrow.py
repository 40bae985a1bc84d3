"""A figure for a narrow window, such as a phone's: panels that lie beside each other come one above another."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any, Final

import plotly.graph_objects as go

from treedp_core.figures.base.style import MORE

BELOW: Final = 0.36
RANKED: Final = 0.5
"""Height of the lower panel, as a part of the figure's; of one without a y axis, which names lines where they lie."""
GAP: Final = 0.26
"""Between the two panels, where the upper one has its axis."""
TITLE: Final = {"x": 34, "y": 20}
"""Characters of an axis title in a line."""
_X: Final = ("xaxis", "xaxis2")
_Y: Final = ("yaxis", "yaxis2")
MAX_TEXT: Final = 12.5
"""Text of a note, in px: it has one line."""


def stacked(fig: go.Figure) -> go.Figure:
    """Return a figure as a narrow window shows it: its left panel above its right one, titles of axes in short lines.

    >>> two = go.Figure([go.Bar(x=[1]), go.Bar(x=[2], xaxis="x2")])
    >>> two = stacked(two.update_layout(xaxis_domain=[0, 0.4], xaxis2={"domain": [0.6, 1], "anchor": "y"}))
    >>> two.layout.xaxis.domain, two.layout.yaxis.domain, two.layout.yaxis2.domain, two.data[1].yaxis
    ((0.0, 1.0), (0.62, 1.0), (0.0, 0.36), 'y2')
    """
    parts = fig.to_dict()
    template = parts["layout"].pop("template", None)
    layout = parts["layout"]
    for note in layout.get("annotations", ()):
        note["font"] = {**note.get("font", {}), "size": min(MAX_TEXT, note.get("font", {}).get("size", MAX_TEXT))}
    ends = [layout.get(name, {}).get("domain") for name in _X]
    if all(ends) and (ends[0][1] <= ends[1][0] or ends[1][1] <= ends[0][0]):
        _restack(parts["data"], layout, 0 if ends[0][0] < ends[1][0] else 1)
    for name, one in layout.items():
        if name.startswith(("xaxis", "yaxis")) and one.get("title", {}).get("text"):
            lines = (textwrap.wrap(line, TITLE[name[0]]) for line in one["title"]["text"].split(MORE))
            one["title"]["text"] = MORE.join(itertools.chain(*lines))
    layout["template"] = template
    return go.Figure(parts, _validate=False)  # it was checked when it was drawn


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
    layout[_X[1 - left]]["domain"] = [0.0, 1.0 if stop > 0.95 else stop]
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
    elif xref == "paper" and yref == "paper" and part.get("x", 0.0) > start and part.get("y") == 1:
        part["y"] = below
