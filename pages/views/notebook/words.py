"""What the page Notebook says of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pages.ui import settings
from pages.ui.text import lit, plain
from treedp_core import __version__
from treedp_core.notebook import Cell
from treedp_core.notebook.study import Asked
from treedp_core.records import Dataset

EMPTY: Final = (
    "Nothing is pinned yet. Below every figure and table there is **Pin**: it keeps the figure here, with its "
    "settings, numbers, code and seed, to be named, annotated, compared and saved."
)
LEARNT: Final = (
    "A figure without the settings it came from is worth little tomorrow. A cell keeps both, so that it can be opened "
    "in its page again and run again on other data. A saved notebook with data holds true counts: treat it as the data."
)


def stale(cell: Cell, own: Sequence[Dataset]) -> str:
    """Return why a cell is not what its page would show now; nothing where it is."""
    if cell.data is not None and all(one.fingerprint != cell.data.fingerprint for one in own):
        if any(one.name == cell.data.name for one in own):
            return f"{lit(cell.data.name, 40)} has changed since: it is another file, or was counted in another way."
        return f"{lit(cell.data.name, 40)} is not in this session."
    if cell.version != __version__:
        return f"Made with TreeDP {plain(cell.version)}; this is {__version__}."
    return ""


def made_from(cell: Cell) -> str:
    """Return what a cell was made from: data, ε, seed, time."""
    given = dict(cell.settings)
    named = cell.data.name if cell.data is not None else (given.get("sample") or (settings.SAMPLE.default,))[0]
    data = named if given.get("source", ("",))[0] != "generate" or cell.data is not None else "made-up data"
    epsilon = (given.get("eps") or (f"{settings.EPSILON.default:.12g}",))[0]
    seed = "" if cell.seed is None else f" · seed {cell.seed}"
    return f"{lit(data, 40)} · ε = {plain(epsilon)}{seed} · {plain(cell.made[:16].replace('T', ' '))} UTC"


def asked_for(asked: Sequence[Asked]) -> str:
    """Return which files a notebook without data wants back."""
    names = ", ".join(lit(one.note.name, 40) for one in asked)
    return (
        f"This notebook was saved without data. To go on with it, choose again, on the page Data and tree: {names}. "
        "Its fingerprint will tell whether it is the same file, counted in the same way."
    )
