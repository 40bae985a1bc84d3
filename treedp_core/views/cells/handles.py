"""What a report keeps alive: a cell's figure at other values of ε and of its view's own slider, computed ahead."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar

from treedp_core.checks import InputError
from treedp_core.figures.base.draft import unchecked
from treedp_core.notebook import Cell
from treedp_core.notebook.export.sliders import Handle
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.views.cells.rerun import Rerun, Sources, rerun_of
from treedp_core.views.cells.view_call import ViewCall, drawing_of
from treedp_core.views.finding import Finding
from treedp_core.views.inputs import ReleaseInputs, parameters_of
from treedp_core.views.parameters import Parameter
from treedp_core.watch import Watch

SECONDS: Final = 1.0
"""Of the processor, for the values of one figure; the nearest to where it stands come first."""
IN_ALL: Final = 5.0
"""Seconds for all figures of a report."""
_STILL: Final = parameters_of(ReleaseInputs).keys() - {"epsilon"}
FORMULA: Final = ("formula",)
NO_FORMULA: Final = "NO_FORMULA"
T = TypeVar("T")


def handles_of(cells: Sequence[Cell], sources: Sources, seconds: float = IN_ALL) -> dict[str, list[Handle]]:
    """Return the handles of figures that can follow some, by the ids of their cells.

    Only closed forms follow. A figure stays still where it, or one of the values, is NOT PRIVATE or simulated: the same
    noise at two ε gives the truth away. So does one that an entry that was not reviewed had a part in, whose table is
    not in `sources`, or that its view does not find again as the cell has it.
    """
    until, found = time.thread_time() + seconds, dict[str, list[Handle]]()
    for cell in cells:
        left = min(SECONDS, until - time.thread_time())
        if left > 0 and cell.badges == FORMULA and not cell.is_private_only and cell.figure is not None:
            try:
                found[cell.id] = list(_Moving(cell, rerun_of(cell, sources)).handles(left))
            except InputError:
                continue
    return found


def is_closed_form(finding: Finding) -> bool:
    """Return whether a finding is of formulas alone, none of which looks at true counts or noise."""
    said = (finding.label, finding.answer, finding.caption, finding.alt)
    is_private = any(NOT_PRIVATE in one for one in said)
    return finding.badges == FORMULA and not finding.is_simulated and not is_private


@dataclass(frozen=True, eq=False)
class _Moving:
    """A cell whose view is called with other values of its inputs."""

    cell: Cell
    rerun: Rerun
    kept: dict[Hashable, Any] = field(default_factory=dict)

    def handles(self, seconds: float) -> Iterator[Handle]:
        """What the cell follows."""
        until = time.thread_time() + seconds
        if not self._is_as(self._at()):
            return
        parameters = parameters_of(type(self.rerun.inputs)).items()
        moved = [(name, one) for name, one in parameters if one.label and name not in _STILL]
        for nth, (name, one) in enumerate(moved):
            now = time.thread_time()
            handle = self._handle(name, one, now + (until - now) / (len(moved) - nth))
            if handle is not None:
                yield handle

    def _handle(self, name: str, parameter: Parameter[Any], until: float) -> Handle | None:
        """What it follows if it follows one parameter, as far as there is time; None where that changes nothing."""
        at = getattr(self.rerun.inputs, name)
        values, cells = parameter.choices(at), {at: self.cell}
        for value in sorted(values, key=lambda one: abs(values.index(one) - values.index(at)))[1:]:
            if time.thread_time() > until:
                break
            try:
                cells[value] = self._at(**{name: value})
            except InputError as error:
                if error.code == NO_FORMULA:
                    return None
        if all(map(self._is_as, cells.values())):
            return None
        if at == parameter.default not in parameter.grid:  # it stands for the best of them
            del cells[at]
            at = next((value for value, one in cells.items() if self._is_as(one)), None)
            if at is None:
                return None
        stops = sorted(cells)
        shown = tuple(self.cell if value == at else cells[value] for value in stops)
        return Handle(parameter.label, tuple(map(parameter.in_words, stops)), stops.index(at), shown)

    def _at(self, **values: Any) -> Cell:
        """The cell with other values.

        Raises
        ------
        InputError
            ``NO_FORMULA`` where it is not of formulas alone; what the view refuses.
        """
        called = self._called(**values)
        finding, figure = called.finding, None
        if not is_closed_form(finding):
            raise InputError(NO_FORMULA, "What shows true counts or draws noise stays still.")
        with unchecked():
            figure = drawing_of(finding)
        if figure is None:
            raise InputError("NO_FIGURE", "There is no figure of this.")
        keys = {one.key for one in parameters_of(type(called.inputs)).values()}
        settings = {key: text for key, text in self.cell.settings.items() if key not in keys}
        was, line = self._still.finding.provenance.line(), finding.provenance.line()
        return replace(
            self.cell, figure=figure, answer=finding.answer, alt=finding.alt,
            caption=called.caption + self.cell.caption.removeprefix(self._still.caption),
            about=self.cell.about.replace(was, line) if was in self.cell.about else line,
            settings=settings | called.inputs.texts(), columns=None, code="", note="",
        )  # fmt: skip

    @cached_property
    def _still(self) -> ViewCall:
        return self._called()

    def _called(self, **values: Any) -> ViewCall:
        """The call of the view; of what takes long, what takes no time here."""
        entry, inputs, tables = self.rerun.entry, replace(self.rerun.inputs, **values), self.rerun.tables
        work = None if entry.slow is None else entry.slow(inputs, tables.value)
        work = work if work is not None and work.is_quick else None
        value = None if work is None else work.on(tables.value)(watch=Watch())
        return ViewCall(entry, inputs, tables, entry.found(inputs, tables.value, value, self._memo), work, value)

    def _memo(self, key: Hashable, compute: Callable[[], T], /) -> T:
        if key not in self.kept:
            self.kept[key] = compute()
        return self.kept[key]  # type: ignore[no-any-return]  # what was computed under this key

    def _is_as(self, other: Cell) -> bool:
        """Whether another cell shows just what this one shows."""
        mine = self.cell
        return (other.answer, other.caption) == (mine.answer, mine.caption) and other.figure == mine.figure
