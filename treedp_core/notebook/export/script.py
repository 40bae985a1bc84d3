"""Cells as a script: run with a folder as its argument, it writes every table there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.code import FIGURE
from treedp_core.notebook.export.cell_summary import facts, is_simulated, plain, warning
from treedp_core.notebook.export.program import TABLE, Section, program_of

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
    """Return the call that shows a cell's table, and writes it as an archive would: see `bundle.tables_of`."""
    cell = section.cell
    marks = {"label": cell.label, "private": cell.is_private_only, "simulated": is_simulated(cell)}
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
