"""A figure as plain dicts while it is drawn: it becomes plotly's once, whose objects check every name."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import plotly.graph_objects as go

from treedp_core.figures.base.colour import inked, written

Trace = dict[str, Any]
"""Lines, bars or blocks as plotly's JSON names their properties."""
_CHECKED: Final = ContextVar("figures_checked", default=True)


@contextmanager
def unchecked() -> Generator[None]:
    """Leave out plotly's check of every property, which takes ten times as long as the figure.

    >>> with unchecked():
    ...     fig = Draft([], {"hight": 300}).figure()
    >>> fig.layout.to_plotly_json()["hight"]
    300
    """
    before = _CHECKED.set(False)
    try:
        yield
    finally:
        _CHECKED.reset(before)


def trace(kind: str, **properties: Any) -> Trace:
    """Return lines, bars or blocks; a property that is None is left out.

    >>> trace("scatter", x=[1], text=None)
    {'type': 'scatter', 'x': [1]}
    """
    return {"type": kind, **{name: one for name, one in properties.items() if one is not None}}


scatter: Final = partial(trace, "scatter")
bar: Final = partial(trace, "bar", constraintext="inside")
"""Bars; a number beside one is as large as all other text, however low the bar."""


class Draft:
    """A figure that is being drawn; its methods are called as plotly's, which they stand for.

    Parameters
    ----------
    data : sequence of Trace
    layout : dict
        As in plotly's JSON: no name joins two with an underscore.
    """

    def __init__(self, data: Sequence[Trace], layout: dict[str, Any] | None = None) -> None:
        self.data = list(data)
        self.layout = dict(layout or {})

    def figure(self) -> go.Figure:
        """Return it as a figure of plotly's, whose every property is checked unless `unchecked` says otherwise.

        Whoever changes that leaves this one as it is.
        """
        data = [_apart(written(inked(one), "textfont")) for one in self.data]
        layout = _apart(self.layout)
        if "annotations" in layout:
            layout["annotations"] = [written(one, "font") for one in layout["annotations"]]
        return go.Figure(data=data, layout=layout, _validate=_CHECKED.get())

    def to_json(self) -> str:
        """Return it as plotly's JSON."""
        return str(self.figure().to_json())

    def write_html(self, path: str, include_plotlyjs: bool | str = True) -> None:
        """Write it as a page that shows it alive."""
        self.figure().write_html(path, include_plotlyjs=include_plotlyjs)

    def _repr_mimebundle_(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> dict[str, Any]:
        """Show itself in Jupyter."""
        shown: dict[str, Any] = self.figure()._repr_mimebundle_(include, exclude)
        return shown

    def update_layout(self, **properties: Any) -> Draft:
        """Set properties; of what has parts, those that are named."""
        self.layout = _merged(self.layout, properties)
        return self

    def update_xaxes(self, **properties: Any) -> Draft:
        """Set properties of the x axis."""
        return self.update_layout(xaxis=properties)

    def update_yaxes(self, **properties: Any) -> Draft:
        """Set properties of the y axis."""
        return self.update_layout(yaxis=properties)

    def update_traces(self, selector: Trace, **properties: Any) -> Draft:
        """Set properties of the traces that have those of the selector."""
        self.data = [
            _merged(one, properties) if all(one.get(name) == value for name, value in selector.items()) else one
            for one in self.data
        ]
        return self

    def add_trace(self, trace: Trace) -> Draft:
        """Draw one thing more, on top."""
        self.data.append(trace)
        return self

    def add_annotation(self, **properties: Any) -> Draft:
        """Write a text."""
        self.layout["annotations"] = [*self.layout.get("annotations", ()), properties]
        return self

    def add_shape(self, **properties: Any) -> Draft:
        """Draw a line or an area."""
        self.layout["shapes"] = [*self.layout.get("shapes", ()), properties]
        return self

    def add_hline(self, y: float, line: dict[str, Any]) -> Draft:
        """Draw a line over the whole width."""
        return self.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=y, y1=y, yref="y", line=line)

    def add_vline(self, x: float, line: dict[str, Any]) -> Draft:
        """Draw a line over the whole height."""
        return self.add_shape(type="line", x0=x, x1=x, xref="x", y0=0, y1=1, yref="y domain", line=line)


def _apart(parts: Trace) -> Trace:
    """The same with dicts and lists of dicts of its own; arrays are shared, as nobody changes them."""
    copied = dict(parts)
    for name, one in parts.items():
        if isinstance(one, dict):
            copied[name] = _apart(one)
        elif isinstance(one, list | tuple) and one and isinstance(one[0], dict):
            copied[name] = list(map(_apart, one))
    return copied


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both, part by part; neither is changed, as axes share parts."""
    changed = {
        name: _merged(old[name], one) if isinstance(one, dict) and isinstance(old.get(name), dict) else one
        for name, one in new.items()
    }
    return {**old, **changed}
