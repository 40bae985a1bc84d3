"""A view on its page: inputs as its controls stand, what of it takes long, and what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

from pages.ui.inputs.text import lit
from pages.ui.page.page import Told
from pages.ui.tables.result import NO_DATA, Result, at_once, come, in_background, ready, refused, show_state
from pages.ui.tables.store import remember, remembered, sources, used
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran
from treedp_core.registry import generation
from treedp_core.views import VIEWS
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.views.entries import ON_ITS_WAY, Entry, Work
from treedp_core.views.finding import Finding, Tables, no_table
from treedp_core.views.inputs import Inputs
from treedp_core.watch import Watch

AnyInputs = TypeVar("AnyInputs", bound=Inputs)
T = TypeVar("T")
Of = Callable[[AnyInputs], tuple[AnyInputs, Ran[Tables]]]
AT_ONCE: Final = "at once"
"""Where that is kept which figures that follow a handle are drawn from."""
KEPT: Final = 32
LONGEST: Final = 3.0
"""Seconds of computing after which what a figure would be drawn from comes too late for a hand."""
IN_LINE: Final = 40
"""Characters of a text of others in the line of what was used."""


@dataclass(frozen=True, eq=False)
class Seen(Generic[AnyInputs]):
    """A view as it stands on its page.

    Parameters
    ----------
    entry : Entry
    inputs : Inputs
    tables : Ran of Tables
        And the call that makes them.
    result : Result of Finding
        Below a refusal the last finding of the same tables.
    slow : Result, optional
        What of it takes long.
    work : Work, optional
        What the value of that was asked.
    awaits : tuple, optional
        Slot, question and tables of what is on its way.
    given : Inputs
        As the controls stand; `of_given` makes of such the inputs and the tables that the view is called with.
    """

    entry: Entry
    inputs: AnyInputs
    tables: Ran[Tables]
    result: Result[Finding]
    given: AnyInputs
    of_given: Of[AnyInputs]
    slow: Result[Any] | None = None
    work: Work | None = None
    awaits: tuple[str, Hashable, Hashable] | None = None

    @property
    def finding(self) -> Finding:
        """What it found; nothing where it is refused, and nothing of these tables was found before."""
        return self.result.value or Finding()

    @property
    def found_for(self) -> AnyInputs:
        """What the finding was made for: other inputs than these where these are refused."""
        return self.inputs if self.result.made_for is None else self.result.made_for[0]

    @property
    def value(self) -> Any:
        """What came of its work, as it was given to the view."""
        return None if self.work is None or self.slow is None else self.slow.value

    @property
    def called(self) -> ViewCall:
        """The view as it was called, and what it found: what code, pins and exports are written from."""
        return ViewCall(self.entry, self.found_for, self.tables, self.finding, self.work, self.value)

    def of(self, function: Callable[..., T], **more: Any) -> T:
        """Return what a function of the core makes of the same inputs, tables and work."""
        return function(self.found_for, self.tables.value, slow=self.value, memo=remember, **more)

    def with_values(self, **values: Any) -> tuple[AnyInputs, Ran[Tables]]:
        """Return the inputs and tables that the view would be called with at other values of its controls."""
        return self.of_given(replace(self.given, **values))

    def line(self) -> str:
        """Return what the finding was made from in one line (Markdown)."""
        return line_of(self.finding)

    def say_state(self, what: str, unit: str = "%") -> None:
        """Say why it is refused, and how far what takes long is; `what` names that, and `unit` what its steps are."""
        mine = replace(self.result, about=self.line())
        if self.slow is not None and (mine.error is None or mine.error.code == ON_ITS_WAY):
            show_state(replace(self.slow, value=mine.value, about=mine.about) if mine.error else self.slow, what, unit)
        elif mine.error is not None:
            show_state(mine, what)

    def told(self, more: Callable[[], object] | None = None) -> Told:
        """Return what the page says of it."""
        finding = self.finding
        return Told(self.line(), ", ".join(finding.badges), finding.learnt, more, self.tables.value.data)


def line_of(finding: Finding) -> str:
    """Return what a finding was made from in one line (Markdown)."""
    return finding.provenance.line(lambda text: lit(text, IN_LINE))


def see(
    entry: Entry, inputs: AnyInputs, tables: Ran[Tables] | None = None, *, of: Of[AnyInputs] | None = None
) -> Seen[AnyInputs]:  # fmt: skip
    """Return what a view finds in the table in use, in others, or in those that `of` finds for its inputs."""

    def of_given(one: AnyInputs) -> tuple[AnyInputs, Ran[Tables]]:
        return sources().of_view(entry, one, used()) if tables is None else (one, tables)

    given, of = inputs, of or of_given
    inputs, chosen = of(given)
    mine, slow, work, awaits = chosen.value, None, None, None
    try:
        asked = None if entry.slow is None else entry.slow(inputs, mine)
        if asked is not None:
            slot, of_work = _place(entry, asked, mine)
            if asked.is_quick:
                slow = at_once(slot, asked.question, partial(asked.on(mine), Watch()), of=of_work)
                if slow.error is not None:
                    raise slow.error
            else:
                slow = in_background(
                    slot, asked.question, asked.steps, asked.on(mine), start=entry.start, of=of_work,
                    of_data=bool(asked.parts) and mine.data is not no_table(), shared=asked.is_shared, room=asked.room,
                )  # fmt: skip
                if (
                    not slow.is_ready
                    and slow.error is None
                    and (first := _known_at_once(entry, asked, mine)) is not None
                ):
                    slow = replace(slow, value=first, made_for=asked.question)
            awaits = (slot, asked.question, of_work) if slow.is_pending else None
            is_used = slow.value is not None and (not asked.is_exact or slow.made_for == asked.question)
            work = replace(asked, question=slow.made_for) if is_used else None
    except InputError as error:
        return Seen(entry, inputs, chosen, refused(entry.name, error, of=mine.fingerprints), given, of)
    return _found(Seen(entry, inputs, chosen, ready(Finding(), inputs), given, of, slow, work, awaits))


def _place(entry: Entry, asked: Work, tables: Tables) -> tuple[str, Hashable]:
    """Slot and tables of what takes long."""
    return asked.slot or entry.name.replace(".", "_"), tables.fingerprints if asked.parts else NO_DATA


def _at_once_key(entry: Entry, asked: Work, tables: Tables) -> Hashable:
    return (entry.name, "moved", asked.question, tables.fingerprints)


def _known_at_once(entry: Entry, asked: Work, tables: Tables) -> Any:
    """What comes without simulation, where a figure that follows a handle has been drawn from it."""
    return remembered(_at_once_key(entry, asked, tables), shelf=AT_ONCE)


def _hurried() -> Watch:
    """A watch that stops what a hand that drags would have to wait for."""
    end = time.thread_time() + LONGEST
    return Watch(cancelled=lambda: time.thread_time() > end)


def moved(seen: Seen[AnyInputs], **values: Any) -> Finding:
    """Return what a view would find with other values of its controls, as far as that can be said at once.

    Raises
    ------
    InputError
        What the view refuses.
    Cancelled
        What takes too long.
    """
    inputs, chosen = seen.with_values(**values)
    entry, tables, slow = seen.entry, chosen.value, None
    asked = None if entry.slow is None else entry.slow(inputs, tables)
    if asked is not None and asked.is_quick:
        slow = remember(_at_once_key(entry, asked, tables), partial(asked.on(tables), Watch()))
    elif asked is not None:
        slot, of_work = _place(entry, asked, tables)
        slow = come(slot, asked.question, of_work)[0]
        first = asked.without_simulation()
        if slow is None and first is not None:
            slow = remember(
                _at_once_key(entry, asked, tables), partial(first.on(tables), _hurried()), shelf=AT_ONCE, room=KEPT
            )
        is_same = seen.work is not None and seen.work.question == asked.question  # the best so far of a search
        slow = seen.value if slow is None and (is_same or not asked.is_exact) else slow
    return entry.found(inputs, tables, slow, remember)


def section(seen: Seen[AnyInputs], name: str) -> Seen[AnyInputs]:
    """Return what a section of a view finds: of the same inputs, tables and work."""
    return _found(replace(seen, entry=VIEWS[f"{seen.entry.name}.{name}"], inputs=seen.found_for))


def _found(seen: Seen[AnyInputs]) -> Seen[AnyInputs]:
    """A view with what it finds, or what it found last of the same tables where it is refused."""
    entry, inputs, work, tables = seen.entry, seen.inputs, seen.work, seen.tables.value
    key = (inputs, None if work is None else work.question, getattr(seen.value, "searched", None), generation())
    compute = partial(entry.found, inputs, tables, seen.value, remember)
    found = at_once(entry.name, key, compute, of=tables.fingerprints, room=0)
    return replace(seen, result=found, awaits=seen.awaits if found.is_ready else None)
