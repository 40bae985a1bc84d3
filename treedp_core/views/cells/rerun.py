"""A cell made again by its view: the same inputs, and the very tables that it was made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.notebook import Cell
from treedp_core.notebook.code import Ran, call, given
from treedp_core.notebook.comparison.pairs import AnySide
from treedp_core.notebook.export.program import export_name
from treedp_core.notebook.range_lists import Listed
from treedp_core.notebook.study import Asked, Table, counted_again
from treedp_core.plans import ReleasePlan, open_plan
from treedp_core.records import Dataset
from treedp_core.records.export.columns import source_line
from treedp_core.records.mock_data import MAX_RECORDS, MIN_RECORDS, SHAPES, generate
from treedp_core.studies.budget.question import FROM_FILE
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.views import entry_of
from treedp_core.views.budget import PRIOR
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.views.entries import AnyInputs, Entry, Work, of_no_table
from treedp_core.views.finding import Memo, Tables, forgetful
from treedp_core.views.inputs import Inputs, of
from treedp_core.views.parameters import choice, whole, words
from treedp_core.views.protects.unit_bound import PRIOR as UNITS

NOT_HERE: Final = "DATA_MISSING"
"""The code of the refusal of a cell whose data are not here."""
NO_DATA: Final = "Its data are not here"
NO_VIEW: Final = "No view of this TreeDP made it"
SOURCES: Final = {"sample": "Sample", "generate": "Generate", "upload": "Upload", "file": "File on this computer"}
RECORDS_GRID: Final = (
    100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TableInputs(Inputs):
    """Which table is in use, where it is of no file.

    Parameters
    ----------
    source, sample : str
    shape, branching : str
    records, seed : int
        Of a made-up one: see `mock_data.generate`.
    """

    source: str = of(choice("source", "sample", SOURCES, label="Source"))
    sample: str = of(words("sample", "small_town"))
    shape: str = of(choice("gen_shape", "zipf", SHAPES, label="Shape"))
    records: int = of(whole("gen_n", 100_000, MIN_RECORDS, MAX_RECORDS, code="RECORDS_RANGE", grid=RECORDS_GRID))
    branching: str = of(words("gen_branching", "16,16,16", branching_factors_from_text))
    seed: int = of(whole("gen_seed", 7, 0, checks.MAX_SEED, code="SEED_RANGE"))


def made_up(shape: str, records: int, branching: str, seed: int) -> Ran[Dataset]:
    """Return the call that makes a table up."""
    return call(generate, shape, records, branching, seed).named("data")


def counted_sample(data: Dataset, count: Callable[[str], Dataset], name: str) -> Ran[Dataset]:
    """Return the call that counts a sample, whose code says where published records come from."""
    return given(data, count, name, about=source_line(data.credit)).named("data")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where the tables of views and cells are.

    Parameters
    ----------
    sample : function
        Name of a sample -> the call that counts it.
    made_up : function
        Makes a table up; it may refuse to, as one is on its way.
    own : sequence of Table
        What was counted from files.
    asked : sequence of Asked
        Those that a notebook named without their counts.
    ranges : mapping
        Tables of ranges, by the word that inputs have for each.
    memo : Memo
    """

    sample: Callable[[str], Ran[Dataset]]
    made_up: Callable[[str, int, str, int], Ran[Dataset]] = made_up
    own: Sequence[Table] = ()
    asked: Sequence[Asked] = ()
    ranges: Mapping[str, Listed] = field(default_factory=dict)
    memo: Memo = forgetful

    def in_slot(self, slot: str) -> Table | None:
        """Return what was counted from the file in a slot."""
        return next((one for one in self.own if one.slot == slot), None)

    def tables(self, entry: Entry, inputs: Inputs, data: Ran[Dataset]) -> Ran[Tables]:
        """Return the tables of a view: a data set, and the file of a prior or the table of ranges that inputs name."""

        def from_file(slot: str) -> Dataset | None:
            table = self.in_slot(slot)
            return None if table is None else table.data

        prior = None if entry.prior is None else entry.prior(inputs, data.value, from_file, self.memo)
        ranges = self.ranges.get(getattr(inputs, "listed", ""))
        more: dict[str, Any] = {} if ranges is None else {"ranges": ranges.ranges}
        if prior is not None:
            how = next(one.how for one in self.own if one.data is prior)
            more["prior"] = counted_again(prior, how).named("earlier")
        return call(Tables, data, **more).named("tables")

    def of_view(self, entry: Entry, inputs: AnyInputs, data: Ran[Dataset]) -> tuple[AnyInputs, Ran[Tables]]:
        """Return the inputs and tables that a view is called with: others where it is not of the table in use."""
        name = entry.sample_of(inputs)
        own = [self.sample(name)] if name else []
        alone: Any = None if entry.apart is None else entry.apart(inputs, data.value, *(one.value for one in own))
        if alone is not None and not own:
            return alone, of_no_table()
        return alone or inputs, self.tables(entry, inputs, own[0] if own else data)

    def of_cell(self, cell: Cell) -> Ran[Tables]:
        """Return the tables that a cell was made of, and the call that makes them.

        Raises
        ------
        InputError
            ``DATA_MISSING`` where they are not here; what makes a table up refuses.
        """
        if cell.plan is not None:
            return call(Tables, plan=opened(cell.plan)).named("tables")
        entry, inputs = inputs_of(cell)
        if name := entry.sample_of(inputs):
            return self.tables(entry, inputs, self.sample(name))
        if not entry.is_of_table(inputs):
            return of_no_table()
        if why := self.other_prior(cell):
            raise InputError(NOT_HERE, why)
        return self.tables(entry, inputs, self._data(cell))

    def _data(self, cell: Cell) -> Ran[Dataset]:
        if cell.data is not None:
            table = next((one for one in self.own if one.data.fingerprint == cell.data.fingerprint), None)
            if table is None:
                raise InputError(NOT_HERE, f"{NO_DATA}.")
            return counted_again(table.data, table.how)
        chosen = TableInputs.of_texts(cell.settings)
        if chosen.source == "sample":
            return self.sample(chosen.sample)
        if chosen.source == "generate":
            return self.made_up(chosen.shape, chosen.records, chosen.branching, chosen.seed)
        raise InputError(NOT_HERE, f"{NO_DATA}.")

    def other_prior(self, cell: Cell) -> str:
        """Return why a cell that was tuned on a file cannot be made again; nothing where it can, or was on no file."""
        slot = UNITS if cell.page == "protects" else PRIOR
        is_tuned = cell.settings.get(PRIOR, ("",))[0] in FROM_FILE or slot == UNITS
        if not is_tuned or ((cell.code or slot == UNITS) and "prior=earlier" not in cell.code):
            return ""  # one without its code is taken to have had a file
        prior = self.in_slot(slot)
        if prior is None:
            return "The file that it was tuned on is not in this session."
        is_same = any(one.slot == slot and one.note.fingerprint == prior.data.fingerprint for one in self.asked)
        was_there = prior.when.replace(microsecond=0) <= datetime.fromisoformat(cell.made)
        return "" if is_same or was_there else "The file that it was tuned on has been exchanged since."


def opened(plan: ReleasePlan) -> Ran[ReleasePlan]:
    """Return the call that opens a plan's own file."""
    file = f"{export_name('plan', private=bool(plan.label))}.json"
    return given(plan, open_plan, file, about="the plan's own file, under its name").named("plan")


def inputs_of(cell: Cell) -> tuple[Entry, Inputs]:
    """Return the view that made a cell, and what it was given.

    Raises
    ------
    InputError
        ``VIEW_UNKNOWN`` where no view of this TreeDP made it; what the settings of the cell are refused for.
    """
    entry = entry_of(cell.page, cell.view, cell.part)
    if entry is None:
        raise InputError("VIEW_UNKNOWN", f"{NO_VIEW}.")
    return entry, entry.inputs.of_texts(cell.settings)


def is_of_table(cell: Cell) -> bool:
    """Return whether a cell is of the table that was in use, so that another table makes another figure."""
    try:
        entry, inputs = inputs_of(cell)
    except InputError:
        return False
    return entry.is_of_table(inputs)


def sides_of(cells: Sequence[Cell], sources: Sources) -> list[list[AnySide]]:
    """Return what each cell released; nothing where one of them is of no release, of another error, or lost its data.

    Raises
    ------
    InputError
        What the settings of a cell are refused for.
    """
    found = [_sides(one, sources) for one in cells]
    return found if all(found) and len({side.measure for sides in found for side in sides}) == 1 else []


def _sides(cell: Cell, sources: Sources) -> list[AnySide]:
    try:
        entry, inputs = inputs_of(cell)
        tables = sources.of_cell(cell).value
    except InputError:
        return []
    return [] if entry.releases is None else entry.releases(inputs, tables)


@dataclass(frozen=True, eq=False)
class Rerun:
    """A cell to be made again, and what of it takes long, if anything does."""

    cell: Cell
    entry: Entry
    inputs: Inputs
    tables: Ran[Tables]
    work: Work | None
    sources: Sources

    @property
    def needs_work(self) -> bool:
        """Whether its work is waited for: it begins by itself, the cell has come of it, or is nothing without it."""
        if self.work is None or self.entry.start == "auto" or "simulation" in self.cell.badges:
            return self.work is not None
        return self.entry.found(self.inputs, self.tables.value, memo=self.sources.memo).is_empty

    def made(self, version: str, value: object = None) -> Cell:
        """Return the cell as its view makes it now, with what its work found."""
        cell, work = self.cell, None if value is None else self.work
        finding = self.entry.found(self.inputs, self.tables.value, value, self.sources.memo)
        return ViewCall(self.entry, self.inputs, self.tables, finding, work, value).cell(
            self.sources.own, id=cell.id, name=cell.name, page=cell.page, view=cell.view, settings=cell.settings,
            about=finding.provenance.line(), plan=cell.plan, note=cell.note, version=version,
        )  # fmt: skip


def rerun_of(cell: Cell, sources: Sources) -> Rerun:
    """Return a cell to be made again.

    Raises
    ------
    InputError
        As of `inputs_of` and `Sources.of_cell`; what its work refuses.
    """
    entry, inputs = inputs_of(cell)
    tables = sources.of_cell(cell)
    work = None if entry.slow is None else entry.slow(inputs, tables.value)
    return Rerun(cell, entry, inputs, tables, work, sources)
