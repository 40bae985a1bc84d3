"""A figure that was kept, with everything it came from: text and numbers, checked once, and never changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.notebook import validators
from treedp_core.notebook.file.drawing import Drawing
from treedp_core.notebook.validators import MAX_TEXT, Value
from treedp_core.plans import ReleasePlan
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.words import whole

# The notebook: cells in the order their user gave them. What changes it returns another one.

# What a user's work was before its changes, to be undone and redone: whole values, as nothing of them ever changes.

T = TypeVar("T")
MOST: Final = 50
"""Changes that can be undone."""


@dataclass(frozen=True)
class History(Generic[T]):
    """States before changes that were made, the last one last, and after those that were undone, the first one last.

    >>> history = History[str]().after("a").after("b")  # which is "c" by now
    >>> now, history = history.back("c")
    >>> now, history.forth(now)[0], history.after(now).future
    ('b', 'c', ())
    """

    past: tuple[T, ...] = ()
    future: tuple[T, ...] = ()

    def after(self, before: T) -> History[T]:
        """Return the history once what was `before` has been changed: what was undone cannot be redone any more."""
        return History((*self.past, before)[-MOST:])

    def back(self, now: T) -> tuple[T, History[T]]:
        """Return what was before the last change, and the history then; all as it is where there is none."""
        if not self.past:
            return now, self
        return self.past[-1], History(self.past[:-1], (*self.future, now))

    def forth(self, now: T) -> tuple[T, History[T]]:
        """Return what was before the last undoing, and the history then; all as it is where there is none."""
        if not self.future:
            return now, self
        return self.future[-1], History((*self.past, now), self.future[:-1])

    def mapped(self, change: Callable[[T], T]) -> History[T]:
        """Return the history with every state changed: what is to hold whatever is undone."""
        return History(tuple(map(change, self.past)), tuple(map(change, self.future)))

    def within(self, fits: Callable[[tuple[T, ...]], bool]) -> History[T]:
        """Return as much of the history as fits: the oldest states go first, then all that was undone."""
        found = self
        while found.past and not fits((*found.past, *found.future)):
            found = History(found.past[1:], found.future)
        return found if fits(found.future) else History(found.past)


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


MAX_NAME: Final = 120
MAX_CODE: Final = 4_000_000
MAX_LEVELS: Final = 64

_ID: Final = re.compile(r"[0-9a-f]{16}")
_WORD: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = re.compile(r"[0-9A-Za-z.+!-]{1,40}")
_DOMAINS: Final = ("public", "taken from the data")
NOT_REVIEWED: Final = "not reviewed"
SWEEP: Final = "sweep"
"""Instead of a page: made by `treedp run` from a script."""
_BADGES: Final = ("formula", "simulation", NOT_PRIVATE, NOT_REVIEWED)


@dataclass(frozen=True, kw_only=True)
class DataNote:
    """The user's data set that a cell was made from, without its counts.

    Parameters
    ----------
    name : str
        Name of the file, as text only.
    fingerprint : str
        `Dataset.fingerprint`: SHA-256 (hex) over shape, labels and counts. Whoever holds a guess of the data can check
        it with this.
    source_digest : str
        SHA-256 (hex) of the file's bytes; empty where there was no file.
    levels : tuple of str
        Names of the levels below the root, which are the columns of the file or a column in bins.
    domain : str
        "public" or "taken from the data".
    bounds : (lower, upper) or None
        Of a numeric column in bins.
    weight : str
        The column that says how many records a row stands for; empty where each row is one.
    """

    name: str
    fingerprint: str
    source_digest: str = ""
    levels: tuple[str, ...] = ()
    domain: str = "public"
    bounds: tuple[float, float] | None = None
    weight: str = ""

    def __post_init__(self) -> None:
        validators.line("the name of the data", self.name, checks.MAX_LABEL, "CELL_DATA")
        validators.matches("the fingerprint", self.fingerprint, _DIGEST, "CELL_DATA")
        validators.matches("the digest of the file", self.source_digest, _DIGEST, "CELL_DATA", empty=True)
        object.__setattr__(
            self, "levels", validators.texts("levels", self.levels, MAX_LEVELS, checks.MAX_LABEL, "CELL_DATA")
        )
        checks.one_of("the domain", self.domain, _DOMAINS, "CELL_DATA")
        validators.text("the weight", self.weight, checks.MAX_LABEL, "CELL_DATA")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", validators.pair(self.bounds))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A figure or table that was kept, with everything it came from.

    Parameters
    ----------
    id : str
        Sixteen hexadecimal digits, no two cells of a notebook have the same.
    name : str
        What the user calls it, on one line.
    note : str
        What the user says of it: Markdown, to be shown without images and links (`notes.safe_markdown`).
    page, view : str
        Where it was made; a page without a switch has no views.
    part : str
        Which of the figures there.
    settings : mapping of str to tuple of str
        The settings that differed from their defaults, as the page's link has them; one with many values has several.
    about : str
        What its page said the figures were made from, as plain text: data, tree, relation, what was spent.
    data : DataNote or None
        The user's data set; None for a sample or made-up data.
    figure : Drawing or None
        Plotly's JSON, given as such or as a dict.
    columns : mapping of str to tuple, or None
        The table behind the figure: numbers, text, or None. Numbers of a column are all int or all float.
    caption, answer : str
        Markdown of the app's own, as they stood below the figure.
    alt : str
        The figure in words.
    badges : tuple of str
        Kinds of numbers shown: "formula", "simulation", "NOT PRIVATE"; "not reviewed" where an entry of a plug-in,
        whose promise is its author's claim, was used.
    label : str
        What must stand in every copy, such as "NOT PRIVATE: tuned on the true counts."; or nothing.
    credit : str
        Source, date and licence of published records, which every copy must say; or nothing.
    code : str
        The program that gives the table, as it stood below the figure.
    seed : int or None
        Of the noise.
    version : str
        Of the package.
    made : str
        When, in ISO 8601 with an offset.
    holds_counts : bool
        Whether the figure, the table or the words may depend on true counts of the user's data.
    plan : ReleasePlan or None
        The plan that the page showed, where it was none of the page's own settings.

    Raises
    ------
    InputError
        ``CELL_ID``, ``CELL_NAME``, ``CELL_TEXT``, ``CELL_PAGE``, ``CELL_SETTINGS``, ``CELL_DATA``, ``CELL_FIGURE``,
        ``CELL_TABLE``, ``SEED_RANGE``, ``CELL_VERSION``, ``CELL_MADE``, ``CELL_KIND``.

    Examples
    --------
    >>> cell = Cell(id="0" * 16, name="Errors", page="lab", version="0.1.0", made="2026-11-22T15:00:00+00:00")
    >>> cell.columns is None, cell.holds_counts
    (True, True)
    """

    id: str
    name: str
    note: str = ""
    page: str
    view: str = ""
    part: str = ""
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    about: str = ""
    data: DataNote | None = None
    figure: Drawing | None = None
    columns: Mapping[str, tuple[Value, ...]] | None = None
    caption: str = ""
    answer: str = ""
    alt: str = ""
    badges: tuple[str, ...] = ()
    label: str = ""
    credit: str = ""
    code: str = ""
    seed: int | None = None
    version: str
    made: str
    holds_counts: bool = True
    plan: ReleasePlan | None = None

    def __post_init__(self) -> None:
        validators.matches("the id of a cell", self.id, _ID, "CELL_ID")
        validators.line("the name of a cell", self.name, MAX_NAME, "CELL_NAME")
        if not self.name.strip():
            raise InputError("CELL_NAME", "Expected a name for the cell, with at least one visible character.")
        validators.line("the credit of a cell", self.credit, MAX_TEXT, "CELL_TEXT")
        validators.matches("the page of a cell", self.page, _WORD, "CELL_PAGE")
        validators.matches("the view of a cell", self.view, _WORD, "CELL_PAGE", empty=True)
        validators.matches("the part of a cell", self.part, _WORD, "CELL_PAGE", empty=True)
        for what in ("about", "note", "caption", "answer", "alt", "label", "code"):
            limit = MAX_CODE if what == "code" else MAX_TEXT
            validators.text(f"the {what} of a cell", getattr(self, what), limit, "CELL_TEXT")
        object.__setattr__(self, "settings", validators.settings(self.settings))
        if self.data is not None and not isinstance(self.data, DataNote):
            raise InputError("CELL_DATA", "Expected the data of a cell to be a note of a data set.")
        if self.figure is not None:
            object.__setattr__(self, "figure", Drawing.of(self.figure))
        if self.columns is not None:
            object.__setattr__(self, "columns", validators.columns(self.columns))
        badges = validators.texts("badges", self.badges, len(_BADGES), MAX_NAME, "CELL_KIND")
        object.__setattr__(self, "badges", tuple(checks.one_of("a badge", one, _BADGES, "CELL_KIND") for one in badges))
        if self.seed is not None:
            checks.seed(self.seed)
        validators.matches("the version", self.version, _VERSION, "CELL_VERSION")
        validators.moment(self.made)
        if not isinstance(self.holds_counts, bool):
            raise InputError("CELL_KIND", "Expected holds_counts to be true or false.")
        if self.plan is not None and not isinstance(self.plan, ReleasePlan):
            raise InputError("CELL_KIND", "Expected the plan of a cell to be a release plan.")

    @property
    def is_private_only(self) -> bool:
        """Whether it must not be published: its badges, its label or a column of its table say so."""
        said = (*self.badges, self.label, *(self.columns or ()))
        return any(NOT_PRIVATE in one for one in said)

    def of_table(self, name: str) -> Cell:
        """Return the cell with another name for its table, also in what it was made from."""
        if self.data is None:
            return self
        rest = self.about.removeprefix(self.data.name)
        is_named = rest != self.about and (not rest or rest.startswith(" · "))
        return replace(self, data=replace(self.data, name=name), about=name + rest if is_named else self.about)

    def without_counts(self) -> Cell:
        """Return the cell without what may depend on true counts: settings, data, note and plan stay.

        >>> cell = Cell(
        ...     id="0" * 16,
        ...     name="Errors",
        ...     page="lab",
        ...     version="1",
        ...     made="2026-11-22T15:00:00+00:00",
        ...     answer="There are 17 records.",
        ... )
        >>> cell.without_counts().answer
        ''
        """
        if not self.holds_counts:
            return self
        return replace(
            self, about="", figure=None, columns=None, caption="", answer="", alt="", code="", badges=(), label="",
            holds_counts=False, plan=without_counts(self.plan),
        )  # fmt: skip


def without_counts(plan: ReleasePlan | None) -> ReleasePlan | None:
    """Return a plan, unless it tells of true counts."""
    return None if plan is None or plan.label else plan
