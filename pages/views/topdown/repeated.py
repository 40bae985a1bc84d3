"""Repeated releases on the page TopDown: in the background when asked to, a few at once before that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.result import Result, at_once, in_background, refused, run_button, show_state
from pages.ui.settings import SEED
from pages.views.topdown import asked, words
from pages.views.topdown import settings as s
from treedp_core.checks import InputError
from treedp_core.studies.topdown import Subject, Wanted, draws
from treedp_core.watch import Watch
from treedp_core.words import whole

T = TypeVar("T")
FEW: Final = 4
"""Runs of the first picture, before any was asked for."""
LIGHT: Final = 50_000
"""Noises of a release up to which the first picture takes a moment."""
Repeat = Callable[[Subject, Wanted, int, int, Watch | None], T]


class Repeated(NamedTuple, Generic[T]):
    """What was asked for, and what is shown of it: until it has run, a few runs where that takes a moment."""

    asked: Result[T]
    shown: Result[T]


def repeated(
    slot: str, what: Subject, settings: Callable[[Wanted], Wanted], repeat: Repeat[T], units: int
) -> Repeated[T]:
    """Release again and again, in the background when asked to; before that a few times at once.

    A job counts up to `units` for each run.
    """
    trials, seed = s.TRIALS.value, SEED.value
    try:
        wanted = settings(asked.planned(what)[0])
        result: Result[T] = in_background(
            slot, (wanted, trials, seed), trials * units, partial(repeat, what, wanted, trials, seed), start="button",
            about=_about(what, wanted, trials, seed), of=what.fingerprint,
        )  # fmt: skip
    except InputError as error:
        result = refused(slot, error, of=what.fingerprint)
        return Repeated(result, result)
    if result.value is not None or draws(what, wanted.plan(what)) > LIGHT:
        return Repeated(result, result)
    first = at_once(
        f"{slot}_first", (wanted, FEW, seed), lambda: repeat(what, wanted, FEW, seed, None),
        about=_about(what, wanted, FEW, seed), of=what.fingerprint,
    )  # fmt: skip
    return Repeated(result, first)


def show_asked(row: DeltaGenerator, slot: str, found: Repeated[Any], compared: str) -> None:
    """Show in a row what begins the runs, and below it how far they are, and what to press where there are none."""
    with row:
        if s.VIEW.value != "rules":
            s.TRIALS.draw()
        run_button(found.asked, f"{slot}_run", help=f"Release again and again, to compare the {compared}.")
    show_state(found.asked, "Releasing again and again", "runs")
    if found.shown.value is None:
        st.info(f"Press **Run** to compare the {compared}.", icon=":material/play_arrow:")


def _about(what: Subject, wanted: Wanted, trials: int, seed: int) -> str:
    return f"{words.tree(what)}; {words.spent(wanted)}, {whole(trials)} runs, seed {seed}"
