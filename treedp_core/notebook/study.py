"""A session's work as a value: its settings, its own data sets, and its notebook."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.notebook import range_lists, saved_plans
from treedp_core.notebook.cell import Cell, DataNote, Notebook, without_counts
from treedp_core.notebook.code import File, Ran, call, given
from treedp_core.notebook.export.cell_summary import FINGERPRINT
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.saved_plans import Noted
from treedp_core.notebook.validators import CONTROL
from treedp_core.plans import ReleasePlan
from treedp_core.privacy.prior_provenance import origin_of_text
from treedp_core.records import Dataset, DomainSource, count_hierarchy, domain_of_paths, domain_taken_from_the_data
from treedp_core.records.dataset import unchanged

WAITING: Final = "shelf"
WAITING_BINS: Final = "shelf_cdf"
PINNED: Final = "pinned"
SLOTS: Final = ("upload", "file", "cdf", "bud_prior", "pro_prior", WAITING, WAITING_BINS, PINNED)
"""Where a session keeps a table: in use, a column in bins, a prior, waiting on the shelf, its column in bins too, or
only because cells were made of it."""
MAX_TABLES: Final = 12
MAX_ASKED: Final = 12
_MOVES: Final = ({"upload", "file", WAITING, PINNED}, {"cdf", WAITING_BINS, PINNED})
"""Slots between which a table moves: a file that is given again may be in any of them."""
TUNED: Final = "_tuned"
TUNED_SETTINGS: Final = ("shares", "tuned", "allocation")
"""What shares that were tuned on true counts consist of, after the word of their page."""
EPSILON: Final = "eps"
EPSILON_TUNED: Final = f"{EPSILON}{TUNED}"
"""The ε that was sought on true counts; that of the session tells of them as long as it is this one."""
CHECKED: Final = (
    "stops where the file is another by now; whoever has a guess of the counts can test it with these digits"
)

V = TypeVar("V")
SettingValue = bool | int | float | str | tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A data set of the session.

    Parameters
    ----------
    slot : str
        Where the session keeps it.
    data : Dataset
    how : Ran or None
        The call that counted it; its value is the data set.
    when : datetime
        When it was counted.
    """

    slot: str
    data: Dataset
    how: Ran[Dataset] | None
    when: datetime

    def __post_init__(self) -> None:
        if self.slot not in SLOTS:
            raise InputError("STUDY_SLOT", "A table of this notebook has no place in the app.")
        if self.when.tzinfo is None:
            raise InputError("STUDY_WHEN", "Expected the time a table was counted with its offset.")

    @property
    def note(self) -> DataNote:
        """The same without its counts."""
        return note_of(self.data, self.how)


class Given(enum.Enum):
    """What became of a data set that is asked for."""

    SAME = "same file"
    RECOUNTED = "same file, counted in another way"
    OTHER = "another file"
    MISSING = "not given yet"


@dataclass(frozen=True)
class Asked:
    """A data set that is not in the file: who goes on gives it again, and its fingerprint tells whether it is it.

    `how` is the call that counted it, without the file: what categories, bounds and weights were.
    """

    slot: str
    note: DataNote
    how: Ran[Dataset] | None = field(default=None, compare=False)


def given_again(asked: Sequence[Asked], tables: Sequence[Table]) -> tuple[Given, ...]:
    """Return what became of each data set that is asked for: a file that nobody asks for is another one."""

    def has_room(one: Asked, table: Table) -> bool:
        return table.slot == one.slot or any({table.slot, one.slot} <= slots for slots in _MOVES)

    def is_same(one: Asked, table: Table) -> bool:
        return has_room(one, table) and table.data.fingerprint == one.note.fingerprint

    def is_recounted(one: Asked, table: Table) -> bool:
        return has_room(one, table) and one.note.source_digest == table.data.source_digest != ""

    others = [table for table in tables if not any(is_same(one, table) or is_recounted(one, table) for one in asked)]
    return tuple(
        Given.SAME if any(is_same(one, table) for table in tables)
        else Given.RECOUNTED if any(is_recounted(one, table) for table in tables)
        else Given.OTHER if any(has_room(one, table) for table in others)
        else Given.MISSING
        for one in asked
    )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """Everything of a session that outlives it.

    Parameters
    ----------
    notebook : Notebook
    settings : mapping
        Those that differ from their defaults: key -> value.
    tables : tuple of Table
        Its own data sets: TRUE COUNTS.
    asked : tuple of Asked
        Those that a file without data only names, and that have not been given again.
    version : str
        Of the package that saved it.
    plan : ReleasePlan or None
        What the page of plans showed, where it was none of its own settings.
    ranges : mapping
        Ranges of bins that stood in tables, by the word that a setting has for each.
    noted : tuple of Noted
        Plans of releases that are paid for together.
    """

    notebook: Notebook = field(default_factory=Notebook)
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    asked: tuple[Asked, ...] = ()
    version: str
    plan: ReleasePlan | None = None
    ranges: Mapping[str, Listed] = field(default_factory=dict)
    noted: tuple[Noted, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", range_lists.checked(self.ranges))
        object.__setattr__(self, "noted", saved_plans.checked(self.noted))
        if len(self.tables) > MAX_TABLES or len(self.asked) > MAX_ASKED:
            raise InputError("STUDY_TABLES", f"Expected at most {MAX_TABLES} tables in a notebook.")

    def without_data(self) -> Study:
        """Return the study without counts, without what may depend on them, and without an ε and splits tuned on them.

        Its own tables are asked for in their place; of more than twelve that are asked for, the oldest are forgotten.
        """
        cells = tuple(map(_without_counts, self.notebook.cells))
        return replace(
            self,
            notebook=replace(self.notebook, cells=cells),
            settings=_untuned(self.settings),
            tables=(),
            plan=None if tells_epsilon(self.settings) else without_counts(self.plan),
            noted=() if tells_epsilon(self.settings) else saved_plans.public(self.noted),
            asked=(*still_asked(self.asked, self.tables), *(Asked(one.slot, one.note, one.how) for one in self.tables))[
                -MAX_ASKED:
            ],
        )


def still_asked(asked: Sequence[Asked], tables: Sequence[Table]) -> tuple[Asked, ...]:
    """Return the data sets that are asked for and are not among these tables."""
    became = given_again(asked, tables)
    return tuple(one for one, state in zip(asked, became, strict=True) if state is not Given.SAME)


def note_of(data: Dataset, how: Ran[Dataset] | None) -> DataNote:
    """Return what a cell says of the data set it was made from."""
    given = {} if how is None else how.kwargs
    lower, upper, weight = (given.get(name) for name in ("lower", "upper", "weight"))
    is_binned = isinstance(lower, (int, float)) and isinstance(upper, (int, float))
    return DataNote(
        name=visible(data.name),
        fingerprint=data.fingerprint,
        source_digest=data.source_digest,
        levels=tuple(map(visible, data.labels.level_names[1:])),
        domain=data.domain_source.value,
        bounds=(float(lower), float(upper)) if is_binned else None,  # type: ignore[arg-type]
        weight=weight if isinstance(weight, str) else "",
    )


def checked(counted: Ran[Dataset]) -> Ran[Dataset]:
    """Return the call that counts a file with the check that it still is the same file."""
    data = counted.value
    same = given(data, unchanged, counted.named("counted"), data.fingerprint[:FINGERPRINT], about=CHECKED)
    return same.named("data")


def counted_again(counted: Dataset, how: Ran[Dataset] | None) -> Ran[Dataset]:
    """Return the call that counts a file of one's own, and the check that it is that file still.

    Where nobody knows `how`, it is how such a file is usually counted.
    """
    if how is None:
        columns, file = list(counted.labels.level_names[1:]), File(counted.name)
        public = counted.domain_source is DomainSource.PUBLIC
        domain = call(domain_of_paths, file, columns) if public else call(domain_taken_from_the_data)
        about = "where the file was read with other options, add them here"
        how = given(counted, count_hierarchy, file, columns, about=about, domain=domain.named("domain"))
    return checked(how)


def visible(name: str) -> str:
    r"""Return a name of a file without what hides or turns characters, in at most 256 of them.

    >>> visible("a\u202eb\nc")
    'a b c'
    """
    return " ".join(CONTROL.sub(" ", name[:256]).split())


def _without_counts(cell: Cell) -> Cell:
    """A cell without what may depend on true counts: all that was made with an ε that was sought on them does."""
    if tells_epsilon(cell.settings):
        cell = replace(cell, holds_counts=True, plan=None)
    return replace(cell.without_counts(), settings=_untuned(cell.settings))


def tells_epsilon(settings: Mapping[str, object]) -> bool:
    """Return whether the ε of settings was sought on true counts.

    >>> tells_epsilon({"eps": 0.5, "eps_tuned": 0.5}), tells_epsilon({"eps": ("2",), "eps_tuned": ("0.5",)})
    (True, False)
    """
    now, tuned = settings.get(EPSILON, Experiment.epsilon), settings.get(EPSILON_TUNED, 0.0)
    try:
        return float(_text(tuned)) != 0 and float(_text(now)) == float(_text(tuned))
    except ValueError:
        return True


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _untuned(settings: Mapping[str, V]) -> dict[str, V]:
    """Settings without an ε and shares that were tuned on true counts: they tell of them."""
    leaking = {f"{page}_{name}" for page in _tuned_on_true_counts(settings) for name in TUNED_SETTINGS}
    leaking |= {EPSILON} if tells_epsilon(settings) else set()
    return {key: value for key, value in settings.items() if key not in leaking}


def _tuned_on_true_counts(settings: Mapping[str, object]) -> list[str]:
    """The words of the pages whose shares were; what cannot be read is taken to be."""
    found = []
    for key, value in settings.items():
        if key.endswith(TUNED) and (text := _text(value)):
            try:
                leaks = not origin_of_text(text).is_private
            except InputError:
                leaks = True
            found += [key.removesuffix(TUNED)] if leaks else []
    return found
