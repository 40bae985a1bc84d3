"""A figure as a picture of its own: title, caption, where it came from and its mark inside, at a chosen size."""

from __future__ import annotations

import copy
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from treedp_core.figures.base.style import GREY, MORE, ORANGE
from treedp_core.figures.base.text import coloured, plot_text

INK: Final = "rgb(40,40,40)"
PAPER: Final = "rgb(255,255,255)"
FONT: Final = "Helvetica, Arial, DejaVu Sans, sans-serif"
TITLE: Final = 16
SMALL: Final = 11
LEAST: Final = (400, 300)
"""Pixels of a picture in which title and mark have room, and the figure beside its words."""
MOST: Final = 4000
"""Pixels of a side of a picture."""
_LINE: Final = 1.35
_PAD: Final = 14
_CAPTION: Final = 900
"""Characters of a caption at most."""
_FIGURE: Final = 0.5
"""Of a picture's height: what a long caption leaves to the figure."""

Plotly = dict[str, Any]
"""A figure as plotly's JSON."""


@dataclass(frozen=True)
class Dress:
    """What stands in a picture besides its figure, as plain text.

    Parameters
    ----------
    title, caption, source : str
        Above it; below it; and in grey at its foot, what it came from.
    mark : str
        What every copy must say, such as "NOT PRIVATE"; or nothing.
    """

    title: str
    caption: str = ""
    source: str = ""
    mark: str = ""


def dressed(figure: Plotly, dress: Dress, width: int, height: int) -> Plotly:
    """Return a figure with its title, caption and source inside, on white; the one given stays as it is.

    Parameters
    ----------
    figure : dict
        Plotly's JSON.
    dress : Dress
    width, height : int
        Of the whole picture, in px.

    Examples
    --------
    >>> made = dressed({"data": [], "layout": {}}, Dress("Error", mark="NOT PRIVATE"), 800, 500)
    >>> made["layout"]["width"], [one["text"] for one in made["layout"]["annotations"]]
    (800, ['<b>Error</b>', '<b>NOT PRIVATE</b>'])
    """
    layout = copy.deepcopy(figure.get("layout", {}))
    data = figure.get("data", [])
    margin = {"l": 8, "r": 12, "t": 40, "b": 8} | layout.get("margin", {})
    title = _wrapped(dress.title, width - (140 if dress.mark else 0), TITLE)
    above = _PAD + len(title) * TITLE * _LINE + 4
    margin["t"] = max(margin["t"], 8 + _legend_height(data, layout, width)) + above
    source = _wrapped(dress.source, width, SMALL)
    room = (1 - _FIGURE) * height - margin["t"] - margin["b"] - _PAD - _axes_height(layout)
    n_lines = max(1, int(room / (SMALL * _LINE)) - len(source))
    told = _wrapped(_at_most(dress.caption, _CAPTION), width, SMALL)
    if len(told) > n_lines:
        told[n_lines - 1 :] = [_at_most(told[n_lines - 1], len(told[n_lines - 1]) - 1)]
    caption = [*(_line(one, INK) for one in told), *(_line(one, GREY) for one in source)]
    below = _PAD + len(caption) * SMALL * _LINE + _axes_height(layout)
    margin |= {"l": max(margin["l"], _PAD), "r": max(margin["r"], _PAD)}
    margin["b"] += below
    layout.update(width=width, height=height, margin=margin, autosize=False, paper_bgcolor=PAPER)
    layout["font"] = layout.get("font", {}) | {"family": FONT, "color": INK}
    layout["title"] = _foot(caption)
    head = {"text": f"<b>{'<br>'.join(map(_safe, title))}</b>", "font": {"size": TITLE, "color": INK}}
    mark = {"text": f"<b>{_safe(dress.mark)}</b>", "font": {"size": SMALL + 2, "color": ORANGE}}
    top = margin["t"] - _PAD
    marks = [_corner(head, "left", top)] + ([_corner(mark, "right", top)] if dress.mark else [])
    layout["annotations"] = [*layout.get("annotations", []), *marks]
    return {"data": data, "layout": layout}


def _at_most(text: str, most: int) -> str:
    """A text that ends with its last whole word where it is too long, and says that it goes on."""
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0] or text[:most]} …"


def _foot(lines: Sequence[str]) -> Plotly:
    """The lines below the figure: plotly's title, as it alone is placed from the foot; it is held by its first line."""
    return {
        "text": "<br>".join(lines), "font": {"size": SMALL, "color": INK}, "xref": "container", "x": 0,
        "xanchor": "left", "yref": "container", "y": 0, "yanchor": "bottom",
        "pad": {"l": _PAD, "b": _PAD // 2 + max(0, len(lines) - 1) * SMALL * 1.3},
    }  # fmt: skip


def _corner(text: Plotly, side: str, top: float) -> Plotly:
    return text | {
        "showarrow": False, "xref": "paper", "yref": "paper", "x": 0 if side == "left" else 1, "xanchor": side,
        "y": 1, "yanchor": "top", "yshift": top, "align": side,
    }  # fmt: skip


def _safe(text: str) -> str:
    return plot_text(text, 400)


def _line(text: str, colour: str) -> str:
    return coloured(text, colour, 400)


def _wrapped(text: str, width: int, size: int) -> list[str]:
    """Lines of a text that a width in px has room for, at a size of letters."""
    return textwrap.wrap(" ".join(text.split()), max(20, int((width - 2 * _PAD) / (0.53 * size))))


def _axes_height(layout: Plotly) -> float:
    """Height of what stands below a figure's lowest x axis, in px."""
    axes = [one for name, one in layout.items() if name.startswith("xaxis") and one.get("visible", True)]
    titles = [one.get("title", {}).get("text") or "" for one in axes]
    lines = max((one.count(MORE) + 1 for one in titles if one), default=0)
    return 24.0 * any(one.get("showticklabels", True) for one in axes) + 22.0 * lines


def _legend_height(data: Sequence[Plotly], layout: Plotly, width: int) -> float:
    """Height of a horizontal legend above a figure, in px: it does not say so itself."""
    legend = layout.get("legend", {})
    names = [str(one.get("name", "")) for one in data if one.get("showlegend", True) and one.get("name")]
    if not layout.get("showlegend", len(names) > 1) or legend.get("orientation") != "h":
        return 0.0
    return 20.0 * math.ceil(sum(50 + 6.5 * len(name) for name in names) / max(1, width - 40))
