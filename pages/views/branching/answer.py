"""The question that the Branching factor page asks, and the ranked trees that answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from pages.ui.result import KEPT, NO_DATA, Result, at_once, in_background, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import EPSILON
from pages.ui.shared import slack
from pages.ui.store import dataset, remember
from pages.ui.text import lit, small_print
from pages.ui.view import inputs_now
from pages.views.branching import settings as s
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.branching import RankedShape
from treedp_core.studies.branching.question import (
    NOISES,
    HeightBest,
    Question,
    bins_from_text,
    by_height,
    ranked,
    spent,
)
from treedp_core.views.branching import BranchingInputs
from treedp_core.views.branching.view import bins_of
from treedp_core.words import whole


@dataclass(frozen=True)
class Answer:
    """The trees that are shown: ranked by a question, which may have equal budgets while others are sought."""

    asked: Question
    ranked: Ran[list[RankedShape]]
    heights: Ran[list[HeightBest]]
    say: Callable[[], object]

    @property
    def best(self) -> RankedShape:
        """The first of the ranking."""
        return self.ranked.value[0]

    @property
    def total(self) -> float:
        """Your budget in the criterion's currency."""
        return spent(self.asked.criterion, EPSILON.value, slack())

    @property
    def bins(self) -> str:
        """K, in words."""
        return whole(self.asked.n_bins)

    @property
    def words(self) -> str:
        """What is released and asked for, in words."""
        criterion = self.asked.criterion
        post = "after least squares" if criterion.least_squares else "no post-processing"
        return f"{NOISES[criterion.law]} noise, {criterion.workload.label}, {post}"


def question() -> tuple[Question, Callable[[], object]]:
    """Show what is asked; return it, below a refusal with the last good number of bins, and what says so."""
    with in_a_row():
        for one in (s.BINS, s.WORKLOAD, s.POST):
            one.draw()
    inputs = inputs_now(BranchingInputs).apart(dataset())
    about = f"K = {lit(inputs.bins, 40)}"
    asked = at_once("bra_question", inputs, inputs.question, about=about, of=NO_DATA)
    n_bins = asked.value.n_bins if asked.value is not None else bins_from_text(s.BINS.default)

    def say() -> None:
        show_state(asked, "Reading the number of bins")
        if asked.error is not None and not s.BINS.value.strip():
            small_print(f"{lit(dataset().name, 40)} has no 2 leaves to be bins; {s.BINS.default} are shown meanwhile.")

    return replace(inputs, bins=str(n_bins)).question(), say


def more_of_the_question() -> None:
    """Show what else is asked."""
    with in_a_row():
        bins = bins_of(dataset())
        st.button(
            f"{whole(bins)}: the leaves of the data", key="bra_of_data", on_click=s.BINS.set, args=("",),
            disabled=bins < 2, help="As many bins as the data set in use has leaves.",
        )  # fmt: skip
        for one in (s.NOISE, s.BUDGET, s.PADDED):
            one.draw()


def answer(asked: Question) -> Answer:
    """Return the ranked trees: with equal budgets while the best are sought, or where there are none."""
    plain = asked.with_equal_budgets
    if asked.is_slow:
        work = partial(ranked, asked)
        found = in_background("bra", asked, 100, work, of=NO_DATA, of_data=False)
    else:
        found = _at_once(asked)
    used = asked if found.is_ready else plain
    compared = plain if asked.is_slow else used
    known = {one: given((found if one == asked else _at_once(one)).here(), ranked, one).named("ranked")
             for one in (used, compared)}  # fmt: skip
    heights = remember(("heights", compared), lambda: call(by_height, compared, known[compared]).named("heights"))
    say = partial(show_state, found, "Searching the best budgets of each tree (equal ones are shown)")
    return Answer(used, known[used], heights, say)


def _at_once(asked: Question) -> Result[list[RankedShape]]:
    return at_once("bra_ranked", asked, lambda: ranked(asked), of=NO_DATA, room=KEPT)
