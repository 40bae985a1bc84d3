"""Cells as a ZIP: a Markdown text, the tables as CSV, and pictures where something drew them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.export.cell_summary import facts, head, is_simulated, plain, safe
from treedp_core.notebook.export.notes import safe_markdown
from treedp_core.notebook.export.program import Section, program_of
from treedp_core.notebook.export.script import script_of
from treedp_core.records.export.columns import Columns, labelled
from treedp_core.records.export.tables import IN_NAMES, apart, csv_bytes, zipped

TEXT: Final = "report.md"


def bundle_of(
    cells: Sequence[Cell], title: str, pictures: Mapping[str, bytes] | None = None, why_none: str = ""
) -> bytes:
    """Return the files of `files_of` as a ZIP; the parameters are the same."""
    return zipped(files_of(cells, title, pictures, why_none))


def files_of(
    cells: Sequence[Cell], title: str, pictures: Mapping[str, bytes] | None = None, why_none: str = ""
) -> dict[str, bytes]:
    """Return a Markdown text, a script, and tables as CSV, by name: what is true apart from what is released.

    Parameters
    ----------
    cells : sequence of Cell
    title : str
    pictures : mapping, optional
        SVG files by the ids of cells.
    why_none : str
        A sentence that the text begins with where there are none.
    """
    drawn = pictures or {}
    texts, files = head(cells, title, why_none), dict[str, bytes]()
    for number, section in enumerate(program_of(cells).sections, 1):
        tables = {f"{name}.csv": csv_bytes(one) for name, one in tables_of(section.cell, section.name).items()}
        picture = drawn.get(section.cell.id)
        if picture is not None:
            name = "-".join((section.name, *((IN_NAMES,) if section.cell.is_private_only else ())))
            files[f"{name}.svg"] = picture
            texts.append(_text(number, section, f"{name}.svg", list(tables)))
        else:
            texts.append(_text(number, section, "", list(tables)))
        files |= tables
    return {TEXT: ("\n\n".join(texts) + "\n").encode(), "script.py": script_of(cells, title).encode(), **files}


def tables_of(cell: Cell, name: str) -> dict[str, Columns]:
    """Return the table of a cell by the names of files: what is true apart from what is released."""
    if cell.columns is None:
        return {}
    columns = labelled(cell.columns, cell.label) if cell.label else cell.columns
    return apart(columns, name, private=cell.is_private_only, simulated=is_simulated(cell))


def _text(number: int, section: Section, picture: str, tables: Sequence[str]) -> str:
    cell = section.cell
    alt = plain(cell.alt).replace("[", "(").replace("]", ")")
    parts = [
        f"## {number}. {safe(cell.name)}",
        ", ".join(cell.badges),
        f"**{safe(cell.label)}**" if cell.label else "",
        safe_markdown(cell.note),
        f"![{alt}]({picture})" if picture else "",
        safe(cell.answer),
        safe(cell.caption),
        "\n".join(f"- {name}: {safe(value)}" for name, value in facts(cell)),
        "\n".join(f"- [{name}]({name})" for name in tables),
    ]
    return "\n\n".join(filter(None, parts))
