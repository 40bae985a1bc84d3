"""The look of every figure: one identity per mechanism, axes, the line at "your" value, and text that stays text.

Backgrounds are transparent and fonts are inherited, so the page's light or dark theme shows through; every colour
used for data has a contrast of at least 3:1 on both.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.draft import Draft, Trace
from treedp_core.figures.base.text import apart, count_text, plot_text
from treedp_core.mechanisms import RELEASES
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import PLOTLY

HEIGHT: Final = 420
PRESENTED_TEXTS: Final = (24, 27, 30, 33, 36, 40, 48, 60, 72)
"""Sizes of text on a projector, in px: the least that is a thirtieth of the window's height is taken."""
PRESENTED_TEXT: Final = PRESENTED_TEXTS[0]
"""That of the lowest window: all else in px grows with the text."""
NAMED_FROM: Final = 40
"""A margin at the right, in px, from which on it is taken up by names of lines: twice as wide in a presentation."""
HEADED_FROM: Final = 40
"""A margin at the top, in px, beyond which it is taken up by lines above the panels: half as high again there."""
PRESENTED_LINE: Final = 4
"""Its lines there, in px; edges of areas have none."""
PRESENTED_MARK: Final = 1.4
"""How many times as large marks with a text are there, and how much farther a text stands from its mark."""
BELOW_BARS: Final = 0.51
BARS_FROM: Final = 0.7
"""Where a tree ends below bars, and where these begin, as parts of a figure's height there."""
PRESENTED_ROWS: Final = 9
"""Rows of blocks with a line of text each that a figure is high enough for there."""
LEAST_PRESENTED: Final = 0.9
"""Text in a block there at least, as a part of all other text: 3 % of the window's height."""
END: Final = "end of a line"
"""The name of a note that names a line at its end."""
ROW: Final = "row"
"""The name of a note that names a row."""
ROWS_SHARE: Final = 0.33
"""Of the width of rows whose names stand beside their ends: what the longest takes."""
ABOVE: Final = 1.6
"""Lines of text that a note above a figure takes."""
MOST_ENDS: Final = 5
"""Names of lines that stand below each other in a presentation: of more there is a legend."""
MAX_PRESENTED: Final = 4
"""Steps beside a colour bar there at most."""
MAX_UPRIGHT: Final = 6
"""Steps between the numbers of an upright axis there at most."""
MAX_NUMBERS: Final = 10
"""Numbers beside an axis at most."""
CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["toImage"],  # it would be saved without its title, settings and mark: see `dressed`
}
"""What plotly is told of a figure's buttons."""
# Okabe and Ito's colours, told apart by colour-blind readers; the one place where they are written.
BLUE: Final = "#0072B2"
GREEN: Final = "#009E73"
PINK: Final = "#CC79A7"
ORANGE: Final = "#D55E00"
YELLOW: Final = "#E69F00"
SKY: Final = "#56B4E9"
VIOLET: Final = "#8A63D2"
GREY: Final = "#7A7A7A"
GRID: Final = "rgba(127,127,127,0.25)"
BEFORE: Final = ORANGE
AFTER: Final = BLUE


@dataclass(frozen=True)
class Look:
    """How a series is drawn: never by colour alone."""

    colour: str
    dash: str
    symbol: str


PALETTE: Final = {
    "blue": Look(BLUE, "solid", "circle"),
    "green": Look(GREEN, "dash", "square"),
    "pink": Look(PINK, "dot", "diamond"),
    "orange": Look(ORANGE, "dashdot", "cross"),
    "violet": Look(VIOLET, "longdash", "triangle-left"),
}
"""What `Mechanism.colour` names: a colour with a dash and a marker of its own."""
REFERENCE: Final = Look(GREY, "dot", "x")
_DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def look(mechanism: str, variant: tuple[str, ...] = ()) -> Look:
    """Return the identity of a mechanism: its colour, and a dash and marker of its own for each post-processing.

    An open marker means least squares; what else is done has a marker of its own. Names that are no mechanism (a
    bound, a value from a paper) are grey.

    >>> look("laplace"), look("laplace", ("least_squares",))
    (Look(colour='#009E73', dash='dash', symbol='square'), Look(colour='#009E73', dash='dot', symbol='square-open'))
    """
    if mechanism not in RELEASES:
        return REFERENCE
    base = PALETTE.get(RELEASES[mechanism].colour, REFERENCE)
    marks = [POSTPROCESSORS[step].mark if step in POSTPROCESSORS else "bowtie" for step in variant]
    linear, dotted, shapes = "open" in marks, "dot" in marks, [one for one in marks if one not in ("open", "dot")]
    turn = linear + 2 * bool(dotted or shapes) + 2 * bool(shapes)
    dash = _DASHES[(_DASHES.index(base.dash) + turn) % len(_DASHES)]
    shape = shapes[-1] if shapes and not dotted else base.symbol
    return Look(base.colour, dash, shape + "-open" * linear + "-dot" * dotted)


def limits(values: Iterable[AnyArray | None], *, log: bool, default: tuple[float, float]) -> tuple[float, float]:
    """Return round axis limits, in data units, that hold all finite values (positive ones on a log axis).

    Limits are round so that they stay put while a setting moves a little. Log limits are decades, or 1, 2, 5 times a
    power of ten when the values span less than two decades.

    >>> limits([np.array([3.0, 700.0, np.inf])], log=True, default=(1, 10))
    (1.0, 1000.0)
    >>> limits([np.array([0.0, 7.3])], log=False, default=(0, 1))
    (0.0, 8.0)
    """
    arrays = [np.ravel(np.asarray(v, dtype=float)) for v in values if v is not None]
    data = np.concatenate([np.zeros(0), *arrays])
    data = data[np.isfinite(data) & ((data > 0) | (not log))]
    if data.size == 0:
        return default
    low, high = float(data.min()), float(data.max())
    return _log_limits(low, high) if log else _linear_limits(min(low, 0.0), max(high, 0.0))


def _log_limits(low: float, high: float) -> tuple[float, float]:
    steps = (1.0, 10.0) if high / low >= 100 else (1.0, 2.0, 5.0, 10.0)

    def grid(value: float) -> list[float]:
        decade = math.floor(math.log10(value))
        return [float(f"{step}e{decade + shift}") for shift in (-1, 0, 1) for step in steps]

    # A value on the frame would be half hidden, hence strictly inside by 2 %.
    return max(g for g in grid(low) if g <= low / 1.02), min(g for g in grid(high) if g >= high * 1.02)


def _linear_limits(low: float, high: float) -> tuple[float, float]:
    span = high - low
    if span == 0:
        return 0.0, 1.0
    power = 10.0 ** math.floor(math.log10(span / 10))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= 0.999 * span / 10)
    return math.floor(low / step) * step, math.ceil(high * 1.001 / step) * step


MORE: Final = "<br>"
"""What stands between the title of an axis and what is said of its numbers."""


def axis(title: str, *, log: bool, bounds: tuple[float, float], grid: bool = False) -> dict[str, Any]:
    """Return an axis with a fixed range (data units): a zoom is lost with every change, so none may be needed."""
    low, high = bounds
    common: dict[str, Any] = {
        "title": {"text": plot_text(title, 120)},
        "showgrid": grid,
        "gridcolor": GRID,
        "zeroline": False,
        "automargin": True,
        "showline": not grid,
        "linecolor": GRID,
        "ticks": "" if grid else "outside",
        "tickcolor": GRID,
    }
    if not log:
        return common | {"range": [low, high], "exponentformat": "none", "separatethousands": True}
    in_reach = low >= 1e-5 and high <= 1e7  # plain numbers read better than powers while they are short
    return common | {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "dtick": _log_step(low, high),
        "minor": {"ticks": "outside", "ticklen": 3, "tickcolor": GRID, "showgrid": False},
        "exponentformat": "power",
        **({"tickformat": PLOTLY["tick"]} if in_reach else {}),
    }


def _log_step(low: float, high: float) -> int | str:
    """The step, as plotly writes it, whose numbers on an axis are three to ten: powers of ten, 1, 2, 5 times, or even.

    >>> [_log_step(*ends) for ends in ((1, 1000), (2, 500), (0.1, 1), (10, 20), (0.2, 0.5), (1e-9, 1e9))]
    [1, 'D2', 'D2', 'L2.0', 'L0.1', 2]
    """
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        return math.ceil((last - first + 1) / MAX_NUMBERS)
    between = [step * 10.0**power for power in range(first - 1, last + 1) for step in (1, 2, 5)]
    if sum(low * (1 - 1e-9) <= one <= high * (1 + 1e-9) for one in between) >= 3:
        return "D2"
    third = (high - low) / 3
    power = 10.0 ** math.floor(math.log10(third))
    return f"L{max(step * power for step in (1, 2, 5) if step * power <= third * (1 + 1e-9))}"


def bent(values: AnyArray) -> FloatArray:
    """Return records (n,) as log(1 + records): 0 stays in the picture, and what noise left below it is mirrored."""
    return np.asarray(np.sign(values) * np.log10(1.0 + np.abs(values)))


def bent_ticks(high: float) -> dict[str, Any]:
    """Return the ticks of an axis of `bent` records: 0 and the powers of ten up to `high`.

    >>> bent_ticks(50.0)["ticktext"]
    ['0', '1', '10']
    """
    ticks = [0.0, *(10.0**k for k in range(16) if 10.0**k <= high)]
    return {"tickvals": bent(np.array(ticks)), "ticktext": [count_text(tick) for tick in ticks]}


def new_figure(
    traces: Sequence[Trace], *, xaxis: dict[str, Any] | None = None, yaxis: dict[str, Any] | None = None
) -> Draft:
    """Return a draft in the base layout: 420 px high, legend above left, transparent, numbers with thin spaces."""
    return Draft(
        traces,
        {
            "height": HEIGHT,
            "margin": {"l": 8, "r": 12, "t": 40, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "separators": ".\u202f",
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
            "hoverlabel": {"namelength": -1},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": BLUE},
            **({"xaxis": xaxis} if xaxis else {}),
            **({"yaxis": yaxis} if yaxis else {}),
        },
    )


def your_value_marker(fig: Draft, x: float, text: str = "your ε", log: bool = True) -> Draft:
    """Mark a value of the x axis with a dotted line and a label inside the plot; the figure is changed and returned.

    Plotly places shapes in data units but annotations on a log axis in powers of ten.

    >>> fig = your_value_marker(Draft([]), 100.0).figure()
    >>> fig.layout.shapes[0].x0, fig.layout.annotations[0].x
    (100.0, 2.0)
    """
    if not math.isfinite(x) or (log and x <= 0):
        return fig
    line = {"dash": "dot", "color": GREY, "width": 1.5}
    fig.add_shape(type="line", x0=x, x1=x, y0=0, y1=1, yref="paper", line=line)
    fig.add_annotation(
        x=math.log10(x) if log else x, y=1, yref="paper", xanchor="left", yanchor="top", xshift=3,
        text=plot_text(text), showarrow=False, font={"color": GREY},
    )  # fmt: skip
    return fig


def brushable(fig: go.Figure) -> go.Figure:
    """Make a drag over a figure select a range of its x axis; the figure is changed and returned.

    >>> brushable(go.Figure()).layout.dragmode
    'select'
    """
    return fig.update_layout(
        dragmode="select", selectdirection="h", newselection_line={"color": GREY, "width": 1, "dash": "dot"}
    )


MOST_UPRIGHT: Final = 18
"""Letters that the title of an upright axis may have in a presentation."""
UPRIGHT_LINE: Final = 12
"""Letters of one line of it, where the figure is low."""
NAME_APART: Final = 0.2
"""What names at the ends of lines keep apart there, as a part of a low figure's height."""

LOW_PANEL: Final = 0.6
"""Height of a panel, as a part of its figure's, below which its upright axis has no title and few numbers there."""
MOST_NUMBERS: Final = 6
"""Numbers that an upright axis as high as the figure has room for."""


def present(fig: go.Figure, text: int = PRESENTED_TEXT) -> go.Figure:
    """Make a figure fit for a projector: large text, strong lines; the figure is changed and returned.

    Parameters
    ----------
    text : int
        Size of the text in px; lines and margins grow with it, see `PRESENTED_TEXTS`.

    >>> present(go.Figure()).layout.font.size, present(go.Figure(), 33).layout.font.size
    (24, 33)
    """
    big, grown, margin = {"size": text}, text / PRESENTED_TEXT, fig.layout.margin
    legends = {f"{name}_font": big for name in {"legend", *fig.layout} if name.startswith("legend")}
    top = margin.t * 1.5 * grown if margin.t and margin.t > HEADED_FROM else margin.t
    fig.update_layout(font=big, hoverlabel_font=big, margin_t=top, **legends)
    fig.update_traces(
        line_width=PRESENTED_LINE * grown, selector=lambda one: one.type == "scatter" and one.line.width != 0
    )
    _present_axes(fig, big)
    beside_rows(fig)
    fig.update_annotations(font=big)
    for one in fig.layout.annotations:
        one.update(xshift=PRESENTED_MARK * grown * (one.xshift or 0), yshift=PRESENTED_MARK * grown * (one.yshift or 0))
    if any(one.y == 1 and one.yref == "paper" and one.yanchor == "bottom" for one in fig.layout.annotations):
        margin.t = max(margin.t or 0, ABOVE * text)
    _ends_apart(fig)
    if (margin.r or 0) > NAMED_FROM:  # room for names at the ends of lines
        margin.r *= 2 * grown
    if fig.layout.uniformtext.mode:
        fig.update_layout(uniformtext_minsize=LEAST_PRESENTED * text)
    for trace in fig.data:
        if trace.type == "scatter" and "text" in (trace.mode or ""):
            trace.textfont.size = text
            if "markers" in trace.mode and trace.textposition in (None, "middle center"):
                trace.marker.size *= PRESENTED_MARK * grown  # the text stands in it
        if trace.type == "icicle":
            low, high = trace.to_plotly_json().get("domain", {}).get("y", (0.0, 1.0))
            trace.update(textfont=big, marker_colorbar=_presented(trace.marker.colorbar, text))
            if len(fig.data) > 1:  # bars stand above it, whose names need room, too
                high = BELOW_BARS
                trace.update(domain_y=(low, high), marker_colorbar={"y": high / 2, "len": high})
                fig.layout.yaxis.domain = (BARS_FROM, 1.0)
            trace.maxdepth = max(2, math.floor(PRESENTED_ROWS * (high - low)))  # a click shows what is below
        if trace.type == "bar" and fig.layout.uniformtext.mode and trace.text is not None:
            trace.text = [str(one).replace(MORE, " ") for one in trace.text]  # blocks are low
        if trace.type == "bar" and trace.marker.colorbar.tickvals is not None:
            trace.update(marker_colorbar=_presented(trace.marker.colorbar, text))
        if trace.type == "heatmap":
            trace.update(colorbar=_presented(trace.colorbar, text))
    return fig


def _present_axes(fig: go.Figure, big: dict[str, Any]) -> None:
    """Large letters, short titles, and of the numbers those that have room."""
    # A page's theme sets these sizes one by one, so the figure has to as well.
    for update in (fig.update_xaxes, fig.update_yaxes):
        update(tickfont=big, title_font=big)
    for one in fig.select_xaxes():
        if one.title.text:
            one.title.text = one.title.text.partition(MORE)[0]
    for one in fig.select_yaxes():
        one.title.text = _upright(one.title.text or "") or None
        low, high = one.to_plotly_json().get("domain", (0.0, 1.0))  # plotly's own reading wants a list
        if high - low < LOW_PANEL:
            one.update(title_text=None, nticks=max(2, round(MOST_NUMBERS * (high - low))))
        if _names_rows(fig, one):
            one.dtick = 1  # each has its name, where a number may stand for its neighbours
        elif one.type != "log" and one.tickvals is None:
            one.nticks = min(one.nticks or MAX_PRESENTED, MAX_PRESENTED)
        if one.type != "log":
            one.update(numbers_apart(one.tickvals, one.ticktext, MAX_UPRIGHT))
        elif isinstance(one.dtick, int) and one.range:  # a number for each power of ten, or fewer
            one.dtick = max(1, math.ceil((one.range[1] - one.range[0]) / MAX_PRESENTED))


def _names_rows(fig: go.Figure, upright: go.layout.YAxis) -> bool:
    """Whether rows stand along an upright axis, and no numbers."""
    rows = [one["y"] for one in fig.data if "y" in one and f"yaxis{(one.yaxis or 'y')[1:]}" == upright.plotly_name]
    return any(isinstance(one, np.ndarray | tuple) and len(one) and isinstance(one[0], str) for one in rows)


def _upright(title: str) -> str:
    """The title of an upright axis, where there is room for few words: the unit is in the answer, too."""
    short = title.partition(" (")[0] if len(title) > MOST_UPRIGHT else title
    lines = [textwrap.wrap(part, UPRIGHT_LINE, break_long_words=False) for part in short.split(MORE)]
    return MORE.join(line for part in lines for line in part)


def _ends_apart(fig: go.Figure) -> None:
    """Move names at the ends of lines as far apart as large letters are high, or put them into a legend."""
    ends = [one for one in fig.layout.annotations if one.name == END]
    if sum(one.text.count(MORE) + 1 for one in ends) > MOST_ENDS:
        in_legend(fig)
    elif ends:
        low, high = fig.layout[f"yaxis{ends[0].yref[1:]}"].range or (0.0, 1.0)
        tall = NAME_APART * (high - low) * max(one.text.count(MORE) + 1 for one in ends)
        for one, y in zip(ends, apart([one.ay for one in ends], tall, low, high), strict=True):
            one.ay = y


def beside_rows(fig: go.Figure) -> None:
    """Name rows beside their ends where names above them would have no room; they have most of the width then."""
    rows = [one for one in fig.layout.annotations if one.name == ROW]
    if not rows:
        return
    marks, across = fig.data[-1], fig.layout[f"xaxis{rows[0].xref[1:]}"]
    start, top = across.range[0], max(marks.x)
    across.range = [start, start + (top - start) / ROWS_SHARE]
    if across.anchor == "y2":
        fig.update_layout(xaxis={"domain": [0.0, 0.26]}, xaxis2={"domain": [0.34, 1.0]})
    for one in rows:
        one.update(x=marks.x[round(one.y)], yanchor="middle", xshift=9, yshift=0)


def in_legend(fig: go.Figure) -> go.Figure:
    """Name the lines of a figure in its legend and no longer at their ends; the figure is changed and returned.

    >>> fig = go.Figure().update_layout(showlegend=False, margin_r=200, margin_t=12)
    >>> named = in_legend(fig.add_annotation(name=END, x=1, xref="paper", text="A"))
    >>> named.layout.annotations, named.layout.showlegend, named.layout.margin.r
    ((), True, 12)
    """
    notes = [one for one in fig.layout.annotations if one.name != END]
    if len(notes) < len(fig.layout.annotations):
        fig.layout.annotations = notes
        fig.update_layout(showlegend=True, margin={"r": 12, "t": 40})
    return fig


def _presented(bar: go.heatmap.ColorBar | go.icicle.marker.ColorBar, text: int) -> dict[str, Any]:
    """A colour bar's large letters, and of the numbers beside it those that have room."""
    big = {"size": text}
    return {"tickfont": big, "title_font": big, **numbers_apart(bar.tickvals, bar.ticktext, MAX_PRESENTED)}


def numbers_apart(values: Sequence[float] | None, texts: Sequence[str] | None, most: int) -> dict[str, Any]:
    """Of numbers along a line those that have room, at `most` as many steps apart; names of rows all stay."""
    if values is None or texts is None or not all(text[:1].isdigit() for text in texts if text):
        return {}
    kept: list[int] = []
    for at in np.argsort(values):
        if not kept or values[at] - values[kept[-1]] >= (max(values) - min(values)) / most:
            kept.append(int(at))
    return {"tickvals": [values[at] for at in kept], "ticktext": [texts[at] for at in kept]}
