"""What the page Notebook says of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pages.ui.inputs import settings
from pages.ui.inputs.text import lit, plain
from pages.ui.notebook import book
from sample_data.catalogue import SAMPLES
from treedp_core import __version__
from treedp_core.notebook import Cell
from treedp_core.notebook.export.notes import safe_markdown
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
    return book.sources().other_prior(cell)


def made_from(cell: Cell) -> str:
    """Return what a cell was made from, as its page said it, and when."""
    return f"{safe_markdown(cell.about) or _before(cell)} · {plain(cell.made[:16].replace('T', ' '))}"


def short_of(cell: Cell) -> list[str]:
    """Return the data a cell was made from and what was spent, as text only."""
    epsilon = _spent(cell)
    about = cell.about.split(" · ") if cell.about else [_data_of(cell), f"ε = {epsilon}"]
    return [about[0][:40], *(one for one in about[1:] if one.startswith(("ε", "ρ")))]


def _data_of(cell: Cell) -> str:
    """Return the name of the data a cell was made from, as text only; nothing where a file without data has none."""
    given = cell.settings
    if cell.data is not None or (cell.figure is None and cell.columns is None):
        return "" if cell.data is None else cell.data.name
    if given.get("source", ("sample",))[0] == "generate":
        return "Made-up data"
    name = given.get("sample", (settings.SAMPLE.default,))[0]
    return SAMPLES[name].title if name in SAMPLES else name


def _before(cell: Cell) -> str:
    """What a cell was made from, as its settings have it: older ones keep no more."""
    epsilon, seed = plain(_spent(cell)), "" if cell.seed is None else f" · seed {cell.seed}"
    return " · ".join(filter(None, (lit(_data_of(cell), 40), f"ε = {epsilon}{seed}")))


def _spent(cell: Cell) -> str:
    return cell.settings.get("eps", (f"{settings.EPSILON.default:.12g}",))[0]
