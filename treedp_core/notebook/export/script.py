"""Cells as a script: run with a folder as its argument, it writes every table there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.code import FIGURE
from treedp_core.notebook.export.cell_summary import facts, head, is_simulated, plain, safe, safe_markdown, warning
from treedp_core.notebook.export.program import TABLE, Section, program_of
from treedp_core.records.export.columns import Columns, credited, labelled
from treedp_core.records.export.tables import IN_NAMES, apart, csv_bytes, zipped

SHOWN: Final = "from treedp_core.records.export.tables import shown"
OUT: Final = "a folder, where every table is written as CSV; nothing is written without one"
NO_CODE: Final = "There is no code for this figure."


def script_of(cells: Sequence[Cell], title: str) -> str:
    """Return a Python script that gives the tables of cells again.

    Paths of files stand at its top, to be changed there; none of their contents are in it.
    """
    program = program_of(cells)
    head = [*comment(title), *comment(warning(cells)), "import sys", "", SHOWN, ""]
    out = f"OUT = sys.argv[1] if len(sys.argv) > 1 else None  # {OUT}"
    files = [f"{name} = {path!r}  # where the file lies" for name, path in program.files.items()]
    parts = ["\n".join([*head, out, *files])]
    parts += ["\n".join(_section(number, one)) for number, one in enumerate(program.sections, 1)]
    return "\n\n\n".join(parts) + "\n"


def _section(number: int, section: Section) -> list[str]:
    cell = section.cell
    lines = [f"# %% {number}. {' '.join(cell.name.split())}"]
    for text in (plain(cell.note, typed=True), plain(cell.answer), plain(cell.label)):
        lines += comment(text)
    lines += comment(" · ".join(f"{name}: {value}" for name, value in facts(cell)))
    if not section.code:
        return [*lines, f"# {NO_CODE}"]
    lines += [section.code, f"print({shown_of(section)})"]
    if section.draws:
        lines += ["if OUT:", f'    {FIGURE}.write_html(f"{{OUT}}/{section.name}.html", include_plotlyjs="directory")']
    return lines


def shown_of(section: Section) -> str:
    """Return the call that shows a cell's table, and writes it as an archive would: see `tables_of`."""
    cell = section.cell
    marks = {
        "label": cell.label, "credit": cell.credit, "private": cell.is_private_only,
        "simulated": is_simulated(cell),
    }  # fmt: skip
    given = "".join(f", {name}={value!r}" for name, value in marks.items() if value)
    return f"shown({TABLE}, {section.name!r}, OUT{given})"


def comment(text: str, width: int = 110) -> list[str]:
    r"""Return a text as lines of comments.

    >>> comment("one\ntwo"), comment("")
    (['# one two'], [])
    """
    lines: list[str] = []
    for word in text.split():
        if not lines or len(lines[-1]) + len(word) > width:
            lines.append("#")
        lines[-1] += f" {word}"
    return lines


# ---- cells as a ZIP: a Markdown text, the tables as CSV, and pictures where something drew them


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
    told = credited(cell.columns, cell.credit)
    columns = labelled(told, cell.label) if cell.label else told
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
