"""Sliders of a report: what its figures would be at other values, as differences, and the controls that move them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from treedp_core.figures.base.differences import differences
from treedp_core.notebook.cell import Cell

ROOM: Final = 300_000
"""Bytes that the values of all sliders of a figure may take."""


@dataclass(frozen=True)
class Handle:
    """A slider that the figure of a report follows.

    Parameters
    ----------
    label : str
        What it is called.
    values : tuple of str
        Where it can stand, in words.
    at : int
        Where it stands at first.
    cells : tuple of Cell
        The cell at each of the values; at first it is the one in the report.
    """

    label: str
    values: tuple[str, ...]
    at: int
    cells: tuple[Cell, ...]


def frames_of(handles: Sequence[Handle], parts: Callable[[Cell], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return sliders with what differs of a cell's `parts` at each of their values, as many as there is room for."""
    stills = [parts(one.cells[one.at]) for one in handles]
    frames = [
        [differences(still, parts(cell)) for cell in one.cells] for one, still in zip(handles, stills, strict=True)
    ]
    sizes = [[len(json_inside(one)) for one in found] for found in frames]
    places = _within(sizes, [one.at for one in handles], ROOM)
    return [
        {"label": handle.label, "values": [handle.values[at] for at in kept], "at": kept.index(handle.at),
         "frames": [found[at] for at in kept]}
        for handle, found, kept in zip(handles, frames, places, strict=True) if kept
    ]  # fmt: skip


def _within(sizes: Sequence[Sequence[int]], at: Sequence[int], room: int) -> list[list[int]]:
    """Places of the values that have room together: of the largest slider every second is left out, until they have.

    >>> _within([[4, 4, 4, 4, 4], [1, 1]], [1, 0], 22), _within([[4, 4, 4, 4, 4], [1, 1]], [1, 0], 12)
    ([[0, 1, 2, 3, 4], [0, 1]], [[1, 3], [0, 1]])
    """
    kept, steps = [list(range(len(one))) for one in sizes], [1] * len(sizes)
    while True:
        weights = [sum(map(one.__getitem__, places)) for one, places in zip(sizes, kept, strict=True)]
        if sum(weights) <= room:
            return kept
        largest = weights.index(max(weights))
        steps[largest] *= 2
        left = [one for one in kept[largest] if (one - at[largest]) % steps[largest] == 0]
        kept[largest] = left if len(left) > 1 else []


def controls(sliders: Sequence[Mapping[str, Any]]) -> str:
    """Return the sliders of a figure as HTML, marked as what they are; nothing where it has none."""
    if not sliders:
        return ""
    lines = [
        f'<div><label>{html.escape(one["label"])} <input type="range" min="0" max="{len(one["values"]) - 1}" '
        f'value="{one["at"]}" autocomplete="off" aria-valuetext="{one["values"][one["at"]]}"></label> '
        f'<span aria-hidden="true">{one["values"][one["at"]]}</span></div>'
        for one in sliders
    ]
    alone = " Moving one puts the others back." * (len(sliders) > 1)
    told = f"Formula, computed ahead for these values.{alone} Table and code below stay as exported."
    aloud = '<p class="aloud" role="status"></p>'
    return f'<div class="handle screen">{"".join(lines)}<p class="about">{told}</p>{aloud}</div>'


def json_inside(value: object) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
