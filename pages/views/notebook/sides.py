"""What a cell was made of, so that it can be released again beside another one, on the same noise."""

from __future__ import annotations

from collections.abc import Sequence

from pages.ui import rerun
from treedp_core.notebook import Cell
from treedp_core.notebook.comparison.paired import AnySide


def sides_of(cells: Sequence[Cell]) -> list[list[AnySide]]:
    """Return what each cell released; nothing where one of them is of no release, of another error, or lost its data.

    Raises
    ------
    InputError
        What the settings of a cell are refused for.
    """
    found = [_sides(one) for one in cells]
    return found if all(found) and len({side.measure for sides in found for side in sides}) == 1 else []


def _sides(cell: Cell) -> list[AnySide]:
    view, tables = rerun.entry(cell), rerun.tables_here(cell)
    if view is None or view.releases is None or tables is None:
        return []
    return view.releases(view.inputs.of_texts(cell.settings), tables.value)
