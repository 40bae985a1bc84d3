"""The figure of a cell as JSON: what plotly may be given of a file that anybody may have made."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from treedp_core.checks import InputError, echo
from treedp_core.notebook.file.container import written
from treedp_core.records.strict_json import Json

KINDS: Final = frozenset({"bar", "box", "heatmap", "icicle", "scatter", "scattergl"})
"""Kinds of traces; none of them asks another address for anything."""
TAGS: Final = frozenset({"b", "br", "em", "extra", "i", "sub", "sup"})
"""What plotly may take for markup: no links, and no styles but the colour of a text, as `COLOURED` has it."""
FORBIDDEN: Final = frozenset({"href", "images", "src", "source", "url"})
MAX_TRACES: Final = 500
COLOURED: Final = re.compile(r'<span style="color:(#[0-9A-Fa-f]{6})">([^<>]*)</span>')
_NUMBERS: Final = frozenset({bool, float, int, type(None)})
_TAG: Final = re.compile(r"<\s*/?\s*([A-Za-z!?][A-Za-z0-9]*)")
_SUSPECT: Final = re.compile(
    rb"\\|<(?!/?(?:%s)[^A-Za-z0-9])|\"(?:%s)\"" % tuple("|".join(sorted(one)).encode() for one in (TAGS, FORBIDDEN))
)
"""What stands in the JSON of every figure that has something forbidden, and in that of some others."""


class Drawing(Mapping[str, Any]):
    """A figure as the JSON that it is kept as: a notebook has many and shows few, so each is read when it is looked at.

    Parameters
    ----------
    text : bytes
        A JSON object.

    >>> drawing = Drawing.of({"data": [], "layout": {"height": 300}})
    >>> drawing.text
    b'{"data":[],"layout":{"height":300}}'
    >>> drawing["layout"], drawing == {"data": [], "layout": {"height": 300}}
    ({'height': 300}, True)
    """

    def __init__(self, text: bytes) -> None:
        self.text = text

    @classmethod
    def of(cls, figure: object) -> Drawing:
        """Return what a figure, a dict, is kept as; one that is kept already stays.

        Raises
        ------
        InputError
            ``CELL_FIGURE`` for what is no JSON object.
        """
        if isinstance(figure, Drawing):
            return figure
        with suppress(TypeError, ValueError):  # JSON has no form for a part of it
            if isinstance(figure, dict):
                return cls(written(figure))
        raise InputError("CELL_FIGURE", "Expected the figure of a cell to be a JSON object.")

    @cached_property
    def _figure(self) -> dict[str, Any]:
        figure: dict[str, Any] = json.loads(self.text)
        return figure

    def __getitem__(self, key: str) -> Any:
        """Return traces or layout."""
        return self._figure[key]

    def __iter__(self) -> Iterator[str]:
        """Go through the names of its parts."""
        return iter(self._figure)

    def __len__(self) -> int:
        """Return how many parts it has."""
        return len(self._figure)

    def __reduce__(self) -> tuple[type[Drawing], tuple[bytes]]:
        """Go as JSON to another process."""
        return Drawing, (self.text,)


def checked(figure: Json, read: bytes | None = None) -> dict[str, Any]:
    """Return a plotly figure that only draws: no pictures, maps or links, of markup bold, italic, breaks, colour.

    `read` is the JSON it comes from, if it was read: most of that needs no second look.

    Raises
    ------
    InputError
        ``CELL_FIGURE``.

    >>> checked({"data": [{"type": "scatter", "y": [1, 2]}], "layout": {}})["data"][0]["y"]
    [1, 2]
    >>> checked({"data": [], "layout": {"title": {"text": "<a href='http://x'>x</a>"}}})
    Traceback (most recent call last):
    treedp_core.checks.InputError: A figure of a cell has the markup '<a'; only text is accepted.
    """
    if not isinstance(figure, dict) or not set(figure) <= {"data", "layout", "frames"} or figure.get("frames"):
        raise InputError("CELL_FIGURE", "Expected a figure of traces and a layout.")
    traces, layout = figure.get("data", []), figure.get("layout", {})
    if not isinstance(traces, list) or len(traces) > MAX_TRACES or not isinstance(layout, dict):
        raise InputError("CELL_FIGURE", f"Expected a figure of at most {MAX_TRACES} traces and a layout.")
    for trace in traces:
        kind = trace.get("type", "scatter") if isinstance(trace, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise InputError("CELL_FIGURE", f"A figure of a cell has a trace of the kind {echo(kind)}.")
    for keys, values in _parts(figure) if read is None or _SUSPECT.search(read) else ():
        for key in FORBIDDEN.intersection(keys):
            raise InputError("CELL_FIGURE", f"A figure of a cell has {echo(key)}; it may ask for nothing elsewhere.")
        for text in values:
            if isinstance(text, str) and "<" in text:
                _check_markup(text)
    return figure


def _check_markup(text: str) -> None:
    for found in _TAG.finditer(COLOURED.sub(r" \2 ", text)):
        if found[1].lower() not in TAGS:
            raise InputError(
                "CELL_FIGURE", f"A figure of a cell has the markup {echo(found[0])}; only text is accepted."
            )


def _parts(figure: dict[str, Any]) -> Iterator[tuple[Collection[str], Collection[Json]]]:
    """The keys and values of every object, and the values of every list that has more than numbers."""
    waiting: list[Any] = [figure]
    for one in waiting:  # it grows meanwhile
        keys, values = (one, one.values()) if isinstance(one, dict) else ((), one)
        if keys or not _NUMBERS.issuperset(map(type, values)):
            yield keys, values
            waiting += [inner for inner in values if isinstance(inner, (dict, list))]
