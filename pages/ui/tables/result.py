"""What a view shows of a computation: its value, or the last good one, and how it stands with the one asked for.

A view asks with a slot (one for each thing it shows), what the value depends on, and how to compute it. Below a
refusal, while a job runs or after it was cancelled, the last good value of the same data stands, and says what it was
made for.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.text import small_print
from pages.ui.jobs import jobs
from pages.ui.jobs.workers import Limits
from pages.ui.tables.store import MEMORY, dataset, forget_one, remember
from treedp_core.checks import InputError
from treedp_core.watch import Watch
from treedp_core.words import whole

T = TypeVar("T")

KEPT: Final = 12
"""Results of a slot that are kept on a small tree, so that a setting moved back and forth is not sought again."""
SLOTS: Final = 32
"""Slots whose results are kept: more than two views have with all that stands under *More*, so that what one page ran
for long is there after a look at another."""
SMALL_TREE: Final = 100_000
SHELF: Final = "results"
_SHARED: Final[weakref.WeakValueDictionary[Hashable, Any]] = weakref.WeakValueDictionary()
"""What jobs of any session found, by slot and what was asked, for as long as one of them keeps it."""


class State(enum.Enum):
    """How a result stands with what was asked for."""

    READY = "ready"
    STALE = "of other settings"
    PENDING = "on its way"
    CANCELLED = "cancelled"
    REFUSED = "refused"


@dataclass(frozen=True)
class Result(Generic[T]):
    """A value, and how it stands with what was asked for.

    Parameters
    ----------
    value : object or None
        What was asked for; unless `state` is READY, the last good one of the same data, if there is one.
    about : str
        What the value was computed for, in words (Markdown).
    state : State
    slot : str
        Where it is kept.
    error : InputError or None
        Why what was asked for is refused.
    begin : function or None
        Has the next run of the page start what it asks for in the background: a setting may change with the press.
    made_for : hashable
        What the value depends on: the key it was asked for with.
    is_elsewhere : bool
        Whether all that was computed is of other data.
    has_button : bool
        Whether it begins only when a button of the page's own is pressed.
    """

    value: T | None
    about: str
    state: State
    slot: str = ""
    error: InputError | None = None
    begin: Callable[[], None] | None = field(default=None, compare=False)
    made_for: Any = None
    is_elsewhere: bool = False
    has_button: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether the value is the one asked for."""
        return self.state is State.READY

    @property
    def is_pending(self) -> bool:
        """Whether what was asked for is being computed."""
        return self.state is State.PENDING

    def here(self) -> T:
        """Return the value, or raise why there is none.

        Raises
        ------
        InputError
            What was refused.
        """
        if self.value is None:
            raise self.error or InputError("BUSY", "The result is on its way.")
        return self.value


@dataclass
class _Kept:
    """What a slot holds: values by what they depend on, the newest last, and of which data it was."""

    of: Hashable
    values: dict[Hashable, tuple[Any, str]] = field(default_factory=dict)
    last: Hashable | None = None
    is_elsewhere: bool = False

    def put(self, key: Hashable, value: Any, about: str, room: int) -> None:
        self.values.pop(key, None)
        while len(self.values) >= room:
            self.values.pop(next(iter(self.values)))
        self.values[key] = (value, about)
        self.last = key
        self.is_elsewhere = False

    def result(
        self,
        state: State,
        slot: str,
        error: InputError | None = None,
        begin: Callable[[], None] | None = None,
        has_button: bool = False,
    ) -> Result[Any]:
        value, about = (None, "") if self.last is None else self.values[self.last]
        return Result(value, about, state, slot, error, begin, self.last, self.is_elsewhere, has_button)


def at_once(
    slot: str, key: Hashable, compute: Callable[[], T], *, about: str = "", of: Hashable = None, room: int = 1
) -> Result[T]:
    """Return what is computed on this run of the page; below a refusal the last good one of the same data, STALE.

    Parameters
    ----------
    key : hashable
        Everything the value depends on.
    of : hashable, optional
        The data whose results stand in for each other; by default the data set in use.
    room : int
        How many values are kept; with 0 more on a small tree.
    """
    kept = _kept(slot, of)
    try:
        if key not in kept.values:
            kept.put(key, compute(), about, room or _room())
    except InputError as error:
        return refused(slot, error, of=of)
    kept.last = key
    return kept.result(State.READY, slot)


def ready(value: T, made_for: Hashable) -> Result[T]:
    """Return a value that is kept nowhere, as one that was asked for."""
    return Result(value, "", State.READY, made_for=(made_for,))


def refused(slot: str, error: InputError, *, of: Hashable = None) -> Result[Any]:
    """Return the last good value of the same data below a refusal of what it would depend on."""
    kept = _kept(slot, of)
    return kept.result(State.REFUSED if kept.last is None else State.STALE, slot, error)


_MEANWHILE: Final = "_meanwhile"
NO_DATA: Final = "no data"
"""What results are of that depend on no data set: each stands in for any other."""


def in_background(
    slot: str,
    key: Hashable,
    total: int | Callable[[], int],
    work: Callable[[Watch], T],
    *,
    start: Literal["auto", "button"] = "auto",
    about: str = "",
    of: Hashable = None,
    of_data: bool = True,
    room: int = 0,
    limits: Limits | None = None,
    wait: float = 0.0,
    shared: bool = False,
) -> Result[T]:
    """Return what a job computes; before that the best it has shown, or the last good one of the same data.

    Parameters
    ----------
    total : int or function
        What the job's watch counts up to; a function may refuse the job.
    work : function
        ``work(watch)``; a partial of a public function of the core that takes `watch` is done in a process of its own.
    start : {"auto", "button"}
        Whether it begins by itself, or when `begin` is called.
    of_data : bool
        Whether the value may hold true counts.
    room : int
        How many values are kept; by default more on a small tree.
    limits : Limits, optional
        Of the process.
    wait : float
        Seconds in which the page waits for a job that it has just begun.
    shared : bool
        Whether another session that asks for the same is given what one keeps: of nothing private, and never changed.
    """
    kept = _kept(slot, of)
    asked = (kept.of, key)

    def start_now() -> None:
        st.session_state[_about(slot)] = about
        try:
            steps = total() if callable(total) else total
            job = jobs.start(slot, asked, steps, work, of_data=of_data, limits=limits)
            job.ended.wait(wait)
        except InputError as error:
            jobs.forget(slot)
            st.session_state[_refused(slot)] = (asked, error)

    _collect(kept, slot, room, shared)
    if shared and key not in kept.values and (found := _SHARED.get((slot, asked))) is not None:
        kept.put(key, found, about, room or _room())
    job = jobs.current(slot)
    is_new = key not in kept.values and (job is None or job.key != asked) and not _refusal_of(slot, asked)
    if st.session_state.pop(_wanted(slot), False) or (start == "auto" and is_new):
        start_now()
        _collect(kept, slot, room, shared)  # a quick one
        job = jobs.current(slot)
    begin = partial(st.session_state.update, {_wanted(slot): True})
    if key in kept.values:
        kept.last = key
        return kept.result(State.READY, slot, begin=begin)
    error = _refusal_of(slot, asked) or (job.error if job is not None and job.key == asked else None)
    found = kept.result(_state(job, asked, error), slot, error, begin, start == "button")
    if error is None and job is not None and job.key == asked and job.best is not None:
        return replace(found, value=job.best, about="", made_for=key)
    return found


def come(slot: str, key: Hashable, of: Hashable) -> tuple[Any, bool]:
    """Return what a slot has under a key, if it is there, and whether it may still come."""
    kept: _Kept | None = st.session_state.get(MEMORY, {}).get(SHELF, {}).get(slot)
    if kept is not None and kept.of == of and key in kept.values:
        return kept.values[key][0], False
    job = jobs.current(slot)
    if job is None or job.key != (of, key):
        return None, False
    return (job.result, False) if job.state == "done" else (None, job.is_wanted)


def forget(slot: str) -> None:
    """Keep nothing of a slot: its values are let go, and its job is asked to stop."""
    jobs.forget(slot)
    forget_one(slot, shelf=SHELF)


def _collect(kept: _Kept, slot: str, room: int, shared: bool) -> None:
    """Keep what the slot's job found, if it is done."""
    job = jobs.current(slot)
    if job is not None and job.state == "done":
        done: Any = job.key
        if done[0] == kept.of:
            kept.put(done[1], job.result, st.session_state.get(_about(slot), ""), room or _room())
            if shared:
                _SHARED[slot, done] = job.result
        jobs.forget(slot)


def _refusal_of(slot: str, asked: Hashable) -> InputError | None:
    """Why a job could not begin, where it is the one asked for."""
    key, error = st.session_state.get(_refused(slot), (None, None))
    return error if key == asked else None


def _state(job: jobs.Job | None, asked: Hashable, error: InputError | None) -> State:
    if error is not None:
        return State.REFUSED
    if job is None:
        return State.STALE
    if job.is_wanted or job.state == "done":  # this very moment: the progress shown for it collects it
        return State.PENDING
    return State.CANCELLED if job.key == asked else State.STALE


def show_state(
    result: Result[Any], what: str, unit: str = "%", *, button: str = "Run", other: str = "data"
) -> None:  # fmt: skip
    """Say how a result stands: why it was refused, how far it is and how to stop it, or that it is of other settings.

    `what` names the work, such as "Searching for the best split"; `unit` is what its total counts, `button` what begins
    it, `other` what it was of when it was not of this.
    """
    if result.error is not None:
        refusal(result.error)
    if result.state is State.PENDING:
        progress(result.slot, what, unit)
    elif result.state is State.CANCELLED:
        with st.container(horizontal=True, vertical_alignment="center"):
            small_print(f"{what}: cancelled.", width="content")
            if not result.has_button:
                st.button("Start again", key=f"{result.slot}_again", on_click=result.begin, type="tertiary",
                          help="Begin anew what was cancelled.")  # fmt: skip
    if not result.is_ready and result.value is not None and result.about:
        st.session_state[_MEANWHILE] = result.about
        told = f" Press **{button}** for the present settings." if result.state is State.STALE and result.begin else ""
        small_print(f":material/history: Shown meanwhile: {result.about}.{told}")
    if result.state is State.STALE and result.is_elsewhere:
        small_print(f":material/info: The last result was of other {other}. Press **{button}** for these.")


def begin() -> None:
    """Forget what the last run of the page said of its results."""
    st.session_state.pop(_MEANWHILE, None)


def said_meanwhile() -> str:
    """Return what a figure of the page that is kept now must say besides: that some of it is of other settings."""
    about = st.session_state.get(_MEANWHILE)
    return "" if about is None else f"Kept when its page still showed results of other settings: {about}."


def progress(slot: str, what: str, unit: str, *, can_stop: bool = True) -> None:
    """Show the progress of a job, drawn anew while it runs; the page runs once more when it ends."""
    now = jobs.current(slot)
    shown = None if now is None else now.best

    def live() -> None:
        job = jobs.current(slot)
        if job is None or not job.is_wanted or job.best is not shown:
            st.rerun()
        left = job.seconds_left
        time_left = "" if left is None else f" · about {whole(round(left))} s left"
        waits = f" · {job.standing}" if job.standing else time_left
        part = f"{min(100, 100 * job.done // max(1, job.total))} %"
        done = part if unit == "%" else f"{whole(job.done)} of {whole(job.total)} {unit}"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(min(1.0, job.done / max(1, job.total)), text=f"{what}: {done}{waits}")
            if can_stop:
                st.button("Cancel", key=f"{slot}_cancel", on_click=jobs.cancel, args=(slot,),
                          help="Stop this; what is shown stays.")  # fmt: skip

    st.fragment(live, run_every=jobs.refresh_seconds())()


def run_button(result: Result[Any], key: str, *, help: str, disabled: bool = False, label: str = "Run") -> None:
    """Show the button that begins a job of `start="button"`."""
    st.button(
        label, key=key, type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter", on_click=result.begin,
        disabled=disabled or result.is_pending or result.begin is None, help=help,
    )  # fmt: skip


def _kept(slot: str, of: Hashable) -> _Kept:
    of = dataset().fingerprint if of is None else of
    kept: _Kept = remember(slot, lambda: _Kept(of), shelf=SHELF, room=SLOTS)
    if kept.of != of:  # another one: a run that was interrupted may still put a value of other data in the old one
        others = _Kept(of, is_elsewhere=kept.is_elsewhere or kept.last is not None)
        forget_one(slot, SHELF)
        return remember(slot, lambda: others, shelf=SHELF, room=SLOTS)
    return kept


def _room() -> int:
    return KEPT if dataset().tree.n_nodes <= SMALL_TREE else 2


def _wanted(slot: str) -> str:
    return f"_wanted_{slot}"


def _refused(slot: str) -> str:
    return f"_refused_{slot}"


def _about(slot: str) -> str:
    return f"_about_{slot}"
