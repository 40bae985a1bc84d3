"""The picture of a cell: its figure, if plotly draws it, in the words that every copy must have."""

from __future__ import annotations

import re
from typing import Any, Final

from treedp_core.figures.base.export_layout import Dress
from treedp_core.notebook.cell import Cell
from treedp_core.notebook.export.cell_summary import fact_line, plain
from treedp_core.privacy.prior_provenance import NOT_PRIVATE

_MAPS: Final = re.compile("scattergeo|choropleth.*|(scatter|density)map(box)?|image")
"""Kinds of traces that plotly fetches something for."""
_GROUNDS: Final = re.compile(r"(geo|map|mapbox)\d*|images")
"""Parts of a layout that it does so for."""


def drawable(cell: Cell) -> dict[str, Any] | None:
    """Return plotly's JSON of a cell's figure, without what would be fetched from elsewhere; None where there is none.

    >>> cell = Cell(
    ...     id="0" * 16,
    ...     name="A",
    ...     page="lab",
    ...     version="1",
    ...     made="2026-11-22T15:00:00+00:00",
    ...     figure={"data": [], "layout": {"images": [{"source": "http://a"}], "height": 300}},
    ... )
    >>> drawable(cell)
    {'data': [], 'layout': {'height': 300}}
    """
    if cell.figure is None or "$schema" in cell.figure:
        return None
    data, layout = cell.figure.get("data", []), cell.figure.get("layout", {})
    kept = {key: value for key, value in layout.items() if not _GROUNDS.fullmatch(key)}
    traces = [one for one in data if not _MAPS.fullmatch(str(one.get("type", "")))]
    return {"data": traces, "layout": kept}


def dress_of(cell: Cell) -> Dress:
    """Return what a picture of a cell says besides its figure."""
    caption = " ".join(filter(None, (plain(cell.answer), plain(cell.caption))))
    label = plain(cell.label)
    said = caption if not label or caption.startswith(label) else f"{label} {caption}"
    return Dress(cell.name, said, fact_line(cell), NOT_PRIVATE if cell.is_private_only else "")
