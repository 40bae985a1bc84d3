"""Figures that were kept as JSON, drawn again."""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go
from plotly.basedatatypes import BasePlotlyType

from treedp_core.checks import InputError
from treedp_core.figures.base.style import BLUE, GREEN, MORE, ORANGE, PINK, SKY, VIOLET, YELLOW

TITLED: Final = 1.1
"""Where a legend begins above titles of panels, in heights of the figure."""
LETTER: Final = 14
"""Pixels of a line's letter above a panel, over which the panel's title stands."""
_TAKEN: Final[deque[bytes]] = deque(maxlen=1_000)
"""Digests of figures that plotly has taken: to check every property takes most of the time of a page that shows one."""
DASHES: Final = ("dash", "solid", "dot", "dashdot")
SERIES: Final = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, VIOLET)


def redrawn(figure: Mapping[str, Any]) -> go.Figure:
    """Return a plotly figure from its JSON.

    Raises
    ------
    InputError
        ``CELL_FIGURE`` where plotly does not take it.

    >>> redrawn({"data": [{"type": "scatter", "y": [1, 2]}]}).data[0].y
    (1, 2)
    """
    try:
        text = json.dumps(dict(figure))
        digest = hashlib.sha256(text.encode()).digest()
        if digest not in _TAKEN:
            go.Figure(json.loads(text))
            _TAKEN.append(digest)
        return go.Figure(json.loads(text), _validate=False)  # a copy, as figures are changed where they are shown
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise InputError("CELL_FIGURE", "This figure is not as TreeDP draws it, so it cannot be shown.") from error


def overlaid(figures: Sequence[Mapping[str, Any]], letters: str) -> go.Figure | None:
    """Return figures on shared axes, the first one dashed and paler; None where their axes are not the same.

    Lines that are the same in all of them are drawn once, and lines across that are not have a letter each.

    Parameters
    ----------
    figures : sequence of JSON
        Of lines or bars.
    letters : str
        What each is called in the legend.

    Raises
    ------
    InputError
        ``CELL_FIGURE``.
    """
    drawn = [redrawn(one) for one in figures]
    if len({_axes(fig) for fig in drawn}) > 1 or any(
        one.type not in ("scatter", "bar") for f in drawn for one in f.data
    ):
        return None
    _tell_apart(drawn)
    last, alike = drawn[-1], _in_all([each.data for each in drawn])
    every = " = ".join(letters[: len(drawn)])
    fig = go.Figure(layout=last.layout)
    for at, (each, own) in enumerate(zip(drawn, letters, strict=False)):
        named: set[str] = set()
        for trace in each.data:
            is_alike = trace.type == "scatter" and _text(trace) in alike
            if is_alike and at < len(drawn) - 1:
                continue
            name, letter = trace.name or "", every if is_alike else own
            trace.update(
                name=f"{letter} · {name}" if name else letter, legendgroup=f"{letter}{trace.legendgroup or name}",
                showlegend=trace.showlegend is not False and name not in named, opacity=1.0 if at else 0.65,
            )  # fmt: skip
            named.add(name)
            if not is_alike:
                _mark(trace, at, letter)
            fig.add_trace(trace)
    fig.layout.shapes = _across(drawn, letters)
    fig.update_layout(showlegend=True, barmode="stack" if last.layout.barmode == "stack" else "group")
    fig.for_each_yaxis(lambda one: one.update(range=None, autorange="reversed" if _falls(one) else True))
    for name in {one.plotly_name for one in fig.select_xaxes()}:
        same = [each.layout[name] for each in drawn]
        told = max((one.title.text or "" for one in same), key=len)
        fig.layout[name].update(range=_widest([one.range for one in same]), title={"text": told})
    fig.layout.annotations = [one for one in fig.layout.annotations if _is_of(one.xref) and _is_of(one.yref)]
    titles = [one for one in fig.layout.annotations if one.y == 1 and one.yanchor == "bottom"]
    if titles:  # where the legend would be
        fig.update_layout(legend_y=TITLED, legend_yanchor="bottom")
    if any(one.label.text for one in fig.layout.shapes):
        for one in titles:
            one.update(yshift=(one.yshift or 0) + LETTER)
    return fig


def _in_all(lists: Sequence[Sequence[BasePlotlyType]]) -> set[str]:
    """What traces or shapes are, as text, that stand in every figure."""
    return set.intersection(*({_text(one) for one in each} for each in lists))


def _text(part: BasePlotlyType) -> str:
    return json.dumps(part.to_plotly_json(), sort_keys=True, default=str)


def _across(figures: Sequence[go.Figure], letters: str) -> list[go.layout.Shape]:
    """Lines and bands of all figures; what is of one only, as the line at its ε, has its letter and its dash."""
    alike = _in_all([each.layout.shapes for each in figures])
    found = [one for one in figures[-1].layout.shapes if _text(one) in alike]
    for at, (each, letter) in enumerate(zip(figures, letters, strict=False)):
        for one in [one for one in each.layout.shapes if _text(one) not in alike]:
            if one.type == "line":
                one.update(line_dash=DASHES[at], label={"text": letter, "textposition": "end", "textangle": 0})
            found.append(one)
    return found


def _is_of(ref: str | None) -> bool:
    """Whether a place is one of the whole figure or of a panel, not of a value on its axis."""
    return ref == "paper" or (ref or "").endswith(" domain")


def _falls(axis: go.layout.YAxis) -> bool:
    """Whether an axis has its largest value at the bottom, as levels do."""
    return axis.autorange == "reversed" or (axis.range is not None and axis.range[0] > axis.range[1])


def _widest(ranges: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Return the range that others lie in: of each, from its first number to its last."""
    known = [one for one in ranges if one is not None]
    if len(known) < len(ranges) or known[-1][0] > known[-1][1]:
        return ranges[-1]
    return min(one[0] for one in known), max(one[1] for one in known)


def _tell_apart(figures: Sequence[go.Figure]) -> None:
    """Give every series a colour of its own, where only a dash told some from others: dashes say which figure it is."""
    lines = [[one for one in fig.data if one.type == "scatter"] for fig in figures]
    is_told = all(len({one.name for one in each}) == len({_role(one.name) for one in each}) for each in lines)
    role = _role if is_told else str
    every = [one for each in lines for one in each]
    colours = {role(one.name): one.line.color for one in every}
    if len(set(colours.values())) < len(colours):
        for one in every:
            one.update(line_color=SERIES[list(colours).index(role(one.name)) % len(SERIES)])


def _role(name: str | None) -> str:
    """What a series is called without its numbers: "yours" of "yours (13 · 10) ± 50"."""
    return re.split(r" \(| ± ", name or "")[0]


def _mark(trace: go.Scatter | go.Bar, at: int, letter: str) -> None:
    """The first figure is dashed, the third dotted, the fourth both; bars are hatched."""
    if trace.type == "bar":
        trace.update(offsetgroup=letter, marker_pattern_shape=("/", "", ".", "x")[at])
    elif trace.mode is None or "lines" in trace.mode:
        trace.update(line_dash=DASHES[at])


def _axes(fig: go.Figure) -> tuple[Any, ...]:
    """What the axes of a figure are: their names, titles without what is said of their numbers, and kinds."""
    layout = fig.layout.to_plotly_json()
    return tuple(
        (name, str((axis.get("title") or {}).get("text")).partition(MORE)[0], axis.get("type"))
        for name, axis in sorted(layout.items())
        if name.startswith(("xaxis", "yaxis")) and isinstance(axis, dict)
    )
