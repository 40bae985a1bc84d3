"""The notebook of this session, and what may be in it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.settings import REG
from pages.ui.page import handover, slides
from pages.ui.session import uploads
from pages.ui.tables import store
from treedp_core.checks import InputError
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.cell import History
from treedp_core.notebook.comparison import compare as compared
from treedp_core.notebook.study import Asked
from treedp_core.views.cells.rerun import Sources
from treedp_core.words import megabytes

BYTES: Final = 64 << 20
"""Of figures and tables that a session keeps in its notebook."""
PUBLIC_BYTES: Final = 4 << 20
OPEN: Final = "nb_cell"
"""The id of the cell that is looked at."""
COMPARED: Final = "nb_compared"
"""The ids of the cells that are compared."""
LOOKED_AT: Final = (OPEN, COMPARED)
"""What a file keeps of the page besides its settings: a link has no ids of cells."""
HELD: Final = "_notebook"
"""Where a session has its notebook."""
TYPED: Final = ("nb_name_", "nb_note_")
"""What the keys of the fields begin with in which names and notes of cells are typed."""
MOST_TOLD: Final = 2
"""Settings that tell a cell from another one, in its name."""
LONGEST: Final = 40
"""Characters of such a setting: a longer one does not."""


@dataclass(frozen=True)
class State:
    """What can be undone: pins with their notes, and the split that pages took over, as its settings."""

    notebook: Notebook
    split: tuple[str, ...]


@dataclass
class Held:
    """What a session keeps.

    Parameters
    ----------
    notebook : Notebook
    weights : dict
        About how many bytes each cell takes up, by its id.
    asked : tuple of Asked
        Data sets that a file without data was made from, and that have not been given again.
    revision : int
        Changes with every change of the notebook.
    history : History
        What was before, to be undone.
    """

    notebook: Notebook = field(default_factory=Notebook)
    weights: dict[str, int] = field(default_factory=dict)
    asked: tuple[Asked, ...] = ()
    revision: int = 0
    history: History[State] = field(default_factory=History)


def held() -> Held:
    """Return what this session keeps."""
    kept: Held = st.session_state.setdefault(HELD, Held())
    return kept


def notebook() -> Notebook:
    """Return this session's notebook."""
    return held().notebook


def sources() -> Sources:
    """Return where the tables of cells are: what this session has, or what its notebook asked for."""
    return replace(store.sources(), asked=held().asked)


def state() -> State:
    """Return what can be undone, as it is now."""
    return State(notebook(), tuple(REG[key].value for key in handover.SPLIT))


def note(before: State) -> None:
    """Note how all was before a change, so that it can be undone: for as long as both take up no more than one may."""
    kept = held()
    kept.history = kept.history.after(before).within(_fit)


def _fit(states: Sequence[State]) -> bool:
    cells = {id(cell): cell for one in states for cell in one.notebook.cells}
    return sum(map(weight, cells.values())) <= _most()


def put_back(before: State, history: History[State]) -> State:
    """Put a notebook of before back, with what can be undone and redone then; a cell that it brings is looked at."""
    kept, here = held(), {one.id for one in notebook().cells}
    kept.weights = {one.id: weight(one) for one in before.notebook.cells}
    kept.notebook, kept.history, kept.revision = before.notebook, history, kept.revision + 1
    if brought := [one.id for one in before.notebook.cells if one.id not in here]:
        st.session_state[OPEN] = brought[0]
    for key in [one for one in st.session_state if str(one).startswith(TYPED)]:
        del st.session_state[key]
    return before


def change(how: Callable[[Notebook], Notebook]) -> None:
    """Change the notebook, in a callback; a change that is refused is said and leaves it as it was.

    Only what is new is weighed.
    """
    before = state()
    if _change(held(), how) and notebook() != before.notebook:
        note(before)


def amend(how: Callable[[Notebook], Notebook]) -> None:
    """Change the notebook in a way that is not undone: what came late for a cell, or a table's other name."""
    kept = held()
    if _change(kept, how):
        kept.history = kept.history.mapped(lambda one: replace(one, notebook=how(one.notebook)))


def _change(kept: Held, how: Callable[[Notebook], Notebook]) -> bool:
    try:
        changed = how(kept.notebook)
        weights = {one.id: kept.weights.get(one.id) or weight(one) for one in changed.cells}
        before = {one.id: one for one in kept.notebook.cells}
        weights |= {one.id: weight(one) for one in changed.cells if before.get(one.id, one).figure is not one.figure}
        admitted(sum(weights.values()))
    except InputError as error:
        refusal_in_passing(error)
        return False
    kept.notebook, kept.weights = changed, weights
    kept.revision += 1
    return True


def put(book: Notebook, asked: tuple[Asked, ...] = ()) -> None:
    """Put another notebook in place of this session's.

    Raises
    ------
    InputError
        ``NOTEBOOK_ROOM``.
    """
    weights = {one.id: weight(one) for one in book.cells}
    admitted(sum(weights.values()))
    st.session_state[HELD] = Held(book, weights, asked, held().revision + 1)


def admitted(n_bytes: int) -> None:
    """Refuse a notebook that takes up more than a session may."""
    most = _most()
    if n_bytes > most:
        raise InputError(
            "NOTEBOOK_ROOM", f"A notebook here may take up {megabytes(most)}: delete cells, or save it and begin anew."
        )


def _most() -> int:
    return PUBLIC_BYTES if uploads.is_public() else BYTES


def weight(cell: Cell) -> int:
    """Return about how many bytes a cell takes up."""
    columns = 0 if cell.columns is None else sum(16 * len(values) for values in cell.columns.values())
    return columns + len(cell.code) + len(cell.note) + (0 if cell.figure is None else len(cell.figure.text))


def new_id() -> str:
    """Return an id that no other cell has."""
    return secrets.token_hex(8)


def name_for(wanted: str) -> str:
    """Return a name that no cell has yet: this one, or with a number."""
    taken = {one.name for one in notebook().cells}
    numbered = (wanted, *(f"{wanted} {n}" for n in range(2, len(taken) + 3)))
    return next(one for one in numbered if one not in taken)


def apart(cell: Cell) -> str:
    """Return a name for a new cell that no other has: where its own is taken, also what differs from the last one."""
    same = next((one for one in reversed(notebook().cells) if one.name.startswith(cell.name)), None)
    differ = {} if same is None else differing([same, cell])
    told = [f"{what} {value}" for what, value in zip(differ.get("what", ()), differ.get("B", ()), strict=True)]
    return name_for(", ".join([cell.name, *(one for one in told if len(one) <= LONGEST)][: 1 + MOST_TOLD]))


def differing(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """Return what differs between cells, each setting by the name that its page gives it."""
    return compared.differing(cells, defaults(), {key: one.drawn.label for key, one in REG.items()})


def defaults() -> dict[str, str]:
    """Return what settings are where a cell does not name them, as in a link."""
    texts = {key: one.write(one.default) for key, one in REG.items()}
    return {key: text if isinstance(text, str) else ", ".join(text) for key, text in texts.items()}


def opened() -> Cell | None:
    """Return the cell that is looked at: the one chosen, else the last one."""
    cells = notebook().cells
    return next((one for one in cells if one.id == st.session_state.get(OPEN)), cells[-1] if cells else None)


def looks() -> dict[str, str | tuple[str, ...]]:
    """Return which cells are looked at and compared, by where the session has that, as far as they are chosen."""
    ids = {one.id for one in notebook().cells}
    opened, held = st.session_state.get(OPEN), tuple(st.session_state.get(COMPARED) or ())
    found: dict[str, str | tuple[str, ...]] = {OPEN: opened} if opened in ids else {}
    return found | ({COMPARED: held} if held and ids.issuperset(held) else {})


def look(at: Mapping[str, object]) -> None:
    """Look at cells and compare them as `looks` said; without a word of it at the last ones: in a callback."""
    for key in LOOKED_AT:
        st.session_state.pop(key, None)
    if isinstance(opened := at.get(OPEN), str):
        st.session_state[OPEN] = opened
    if isinstance(held := at.get(COMPARED), tuple):
        st.session_state[COMPARED] = list(held)


def compare(ids: list[str]) -> None:
    """Show cells beside each other on the notebook's page: in a callback."""
    st.session_state[COMPARED] = ids
    REG["nb_view"].set("compare")
    slides.open_page("notebook")
