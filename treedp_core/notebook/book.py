"""The notebook: cells in the order their user gave them. What changes it returns another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treedp_core.checks import InputError
from treedp_core.notebook import validators
from treedp_core.notebook.cell import MAX_NAME, Cell
from treedp_core.words import whole

MAX_CELLS: Final = 500


@dataclass(frozen=True)
class Notebook:
    """Cells in the order their user gave them.

    Parameters
    ----------
    title : str
    cells : tuple of Cell
        At most 500, no two with one id.

    Raises
    ------
    InputError
        ``NOTEBOOK_TITLE``, ``NOTEBOOK_CELLS``, ``CELL_ID``.

    Examples
    --------
    >>> cell = Cell(id="0" * 16, name="Errors", page="lab", version="0.1.0", made="2026-11-22T15:00:00+00:00")
    >>> book = Notebook("Survey").add(cell).duplicate(cell.id, "1" * 16).rename("1" * 16, "Errors again")
    >>> [one.name for one in book.cells]
    ['Errors', 'Errors again']
    """

    title: str = "Notebook"
    cells: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        validators.line("the title of a notebook", self.title, MAX_NAME, "NOTEBOOK_TITLE")
        object.__setattr__(self, "cells", tuple(self.cells))
        if len(self.cells) > MAX_CELLS or not all(isinstance(one, Cell) for one in self.cells):
            raise InputError("NOTEBOOK_CELLS", f"Expected at most {whole(MAX_CELLS)} cells in a notebook.")
        if len({one.id for one in self.cells}) < len(self.cells):
            raise InputError("CELL_ID", "Expected every cell of a notebook to have an id of its own.")

    def cell(self, id: str) -> Cell:
        """Return a cell by its id."""
        return self.cells[self._at(id)]

    def has(self, id: str) -> bool:
        """Whether it has a cell of this id."""
        return any(one.id == id for one in self.cells)

    def add(self, cell: Cell) -> Notebook:
        """Return the notebook with one more cell, at its end."""
        return replace(self, cells=(*self.cells, cell))

    def entitled(self, title: str) -> Notebook:
        """Return the notebook with another title."""
        return replace(self, title=title)

    def rename(self, id: str, name: str) -> Notebook:
        """Return the notebook with another name on one cell."""
        return self._with(id, lambda cell: (replace(cell, name=name),))

    def call_table(self, before: str, name: str, source_digest: str) -> Notebook:
        """Return the notebook with another name for a table of a file, in every cell that was made from it."""
        mine = [one.data is not None and (one.data.name, one.data.source_digest) == (before, source_digest)
                for one in self.cells]  # fmt: skip
        cells = [one.of_table(name) if is_mine else one for one, is_mine in zip(self.cells, mine, strict=True)]
        return replace(self, cells=tuple(cells))

    def annotate(self, id: str, note: str) -> Notebook:
        """Return the notebook with another note on one cell."""
        return self._with(id, lambda cell: (replace(cell, note=note),))

    def put(self, cell: Cell) -> Notebook:
        """Return the notebook with a cell in place of the one of the same id, such as one that was run again."""
        return self._with(cell.id, lambda _: (cell,))

    def duplicate(self, id: str, new_id: str) -> Notebook:
        """Return the notebook with a copy of a cell behind it."""
        return self._with(id, lambda cell: (cell, replace(cell, id=new_id)))

    def delete(self, id: str) -> Notebook:
        """Return the notebook without a cell."""
        return self._with(id, lambda _: ())

    def reorder(self, ids: Sequence[str]) -> Notebook:
        """Return the notebook with its cells in another order: `ids` names each of them once.

        Raises
        ------
        InputError
            ``CELL_ORDER``.
        """
        if sorted(ids) != sorted(one.id for one in self.cells):
            raise InputError("CELL_ORDER", "Expected the order to name every cell once.")
        return replace(self, cells=tuple(map(self.cell, ids)))

    def without_counts(self) -> Notebook:
        """Return the notebook without what may depend on true counts."""
        return replace(self, cells=tuple(one.without_counts() for one in self.cells))

    def _at(self, id: str) -> int:
        found = next((at for at, one in enumerate(self.cells) if one.id == id), None)
        if found is None:
            raise InputError("CELL_UNKNOWN", "There is no such cell in this notebook.")
        return found

    def _with(self, id: str, change: Callable[[Cell], tuple[Cell, ...]]) -> Notebook:
        at = self._at(id)
        return replace(self, cells=(*self.cells[:at], *change(self.cells[at]), *self.cells[at + 1 :]))
