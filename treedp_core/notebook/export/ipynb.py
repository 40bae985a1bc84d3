"""Cells as a Jupyter notebook (nbformat 4.5), with the outputs that the app showed."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.code import FIGURE
from treedp_core.notebook.export.cell_summary import drawable, facts, head, plain, safe, safe_markdown
from treedp_core.notebook.export.program import Section, program_of
from treedp_core.notebook.export.script import NO_CODE, OUT, SHOWN, shown_of
from treedp_core.notebook.validators import Value
from treedp_core.words import exact, plural

ROWS: Final = 60
"""Rows of a table that an output shows."""
PLOTLY: Final = "application/vnd.plotly.v1+json"
_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
Part = dict[str, Any]
"""A part of the notebook's JSON."""


def ipynb_of(
    cells: Sequence[Cell], title: str, pictures: Mapping[str, bytes] | None = None, why_none: str = ""
) -> bytes:
    """Return a Jupyter notebook that gives the tables of cells again.

    Parameters
    ----------
    cells : sequence of Cell
    title : str
    pictures : mapping, optional
        PNG files by the ids of cells: readers that cannot draw a figure show them.
    why_none : str
        A sentence that it begins with where there are none.
    """
    program, drawn = program_of(cells), pictures or {}
    files = [f"{name} = {path!r}  # where the file lies" for name, path in program.files.items()]
    parts = [
        _markdown("head", "\n\n".join(head(cells, title, why_none))),
        _code("parameters", "\n".join([f"OUT = None  # {OUT}", *files]), tags=["parameters"]),
        _code("imports", SHOWN),
    ]
    for number, section in enumerate(program.sections, 1):
        parts += _section(number, section, drawn.get(section.cell.id))
    notebook = {"cells": parts, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1, allow_nan=False).encode()


def _section(number: int, section: Section, picture: bytes | None) -> list[Part]:
    cell = section.cell
    about = "  \n".join(f"*{name}:* {safe(value)}" for name, value in facts(cell))
    texts = [f"## {number}. {safe(cell.name)}", f"**{safe(cell.label)}**" if cell.label else ""]
    texts += [safe_markdown(cell.note), safe(cell.answer), safe(cell.caption), about]
    words = _markdown(f"words-{number}", "\n\n".join(filter(None, texts)))
    table, figure = _table(cell), _figure(cell, picture)
    if not section.code:
        return [words, _code(f"code-{number}", f"# {NO_CODE}", [*figure, *table])]
    source = f"{section.code}\n{shown_of(section)}"
    if not section.draws:
        return [words, _code(f"code-{number}", source, [*figure, *table])]
    return [words, _code(f"code-{number}", source, table), _code(f"figure-{number}", FIGURE, figure)]


def _markdown(id: str, source: str) -> Part:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": source}


def _code(id: str, source: str, outputs: Sequence[Part] = (), tags: Sequence[str] = ()) -> Part:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": id,
        "metadata": {"tags": list(tags)} if tags else {},
        "outputs": list(outputs),
        "source": source,
    }


def _figure(cell: Cell, picture: bytes | None) -> list[Part]:
    if cell.figure is None:
        return []
    data: dict[str, Any] = {"text/plain": plain(cell.alt) or cell.name}
    figure = drawable(cell)
    if figure is not None:
        data[PLOTLY] = figure
    if picture is not None:
        data["image/png"] = base64.b64encode(picture).decode()
    return [{"output_type": "display_data", "data": data, "metadata": {}}]


def _table(cell: Cell) -> list[Part]:
    if cell.columns is None:
        return []
    n_rows, table = in_html(cell.columns, ROWS)
    plain_text = f"{plural(n_rows, 'row')}: {', '.join(cell.columns)}"
    return [{"output_type": "display_data", "data": {"text/html": table, "text/plain": plain_text}, "metadata": {}}]


def in_html(columns: Mapping[str, Sequence[Value]], most: int) -> tuple[int, str]:
    """Return how many rows columns have, and a table of the first ones in HTML."""
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text_of(one)}</td>" for one in row) + "</tr>" for row in rows[:most])
    more = f"<p>{most} of {len(rows)} rows.</p>" if len(rows) > most else ""
    return len(rows), f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text_of(value: Value) -> str:
    """A value of a table as HTML.

    >>> _text_of(0.1), _text_of("<b>"), _text_of(None)
    ('0.1', '&lt;b&gt;', '')
    """
    return "" if value is None else html.escape(exact(value) if isinstance(value, float) else str(value))
