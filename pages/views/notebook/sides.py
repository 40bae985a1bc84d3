"""What a cell was made of, so that it can be released again beside another one, on the same noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pages.ui import pins, rerun, router, store
from pages.ui.setting import as_in
from pages.ui.settings import REG, get
from sample_data.catalogue import SAMPLES
from treedp_core.notebook import Cell
from treedp_core.notebook.paired import AnySide
from treedp_core.records import Dataset


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
    view = rerun.entry(cell)
    if view is not None:
        tables = rerun.tables_here(cell)
        if view.releases is None or tables is None:
            return []
        return view.releases(view.inputs.of_texts(cell.settings), tables.value)
    page, values = router.known(cell.page), _values(cell)
    with as_in(values):
        data = _data(cell)
        if page is None or page.releases is None or data is None:
            return []
        with store.using(data):
            return page.releases(data)


def _values(cell: Cell) -> dict[str, Any]:
    """The settings of a cell.

    Raises
    ------
    InputError
        This version does not take one of them.
    """
    return {key: REG[key].parse(list(texts)) for key, texts in cell.settings.items() if key in REG}


def _data(cell: Cell) -> Dataset | None:
    """The data set of a cell: one of the session's own, a sample, or the one made up last."""
    if cell.data is not None:
        fingerprint = cell.data.fingerprint
        return next((one for one in pins.own_datasets() if one.fingerprint == fingerprint), None)
    match get("source"):
        case "sample":
            return store.sample(get("sample")) if get("sample") in SAMPLES else None
        case "generate":
            return store.made_before(get("gen_shape"), get("gen_n"), get("gen_branching"), get("gen_seed"))
    return None
