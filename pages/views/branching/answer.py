"""The question that the Branching factor page asks, and the ranked trees that answer it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.ui.result import KEPT, NO_DATA, Result, at_once, in_background, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import EPSILON, KNOWN_LEVELS, RELATION
from pages.ui.shared import protected, slack
from pages.ui.store import dataset, remember
from pages.ui.text import lit, small_print
from pages.views.branching import settings as s
from treedp_core.notebook.code import Ran, call, given
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
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
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload
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
    text = s.BINS.value.strip() or str(bins_of_data())
    bins = at_once("bra_bins", text, lambda: bins_from_text(text), about=f"K = {lit(text, 40)}", of=NO_DATA)
    unit = ProtectedUnit(NeighbouringRelation(RELATION.value), protected(), KNOWN_LEVELS.value)
    criterion = Criterion(s.NOISE.value, Workload(s.WORKLOAD.value), s.POST.value == "least_squares", unit)
    n_bins = bins.value or bins_from_text(s.BINS.default)

    def say() -> None:
        show_state(bins, "Reading the number of bins")
        if bins.error is not None and not s.BINS.value.strip():
            small_print(f"{lit(dataset().name, 40)} has no 2 leaves to be bins; {s.BINS.default} are shown meanwhile.")

    return Question(n_bins, criterion, s.PADDED.value, s.BUDGET.value == "optimal"), say


def more_of_the_question() -> None:
    """Show what else is asked."""
    with in_a_row():
        bins = bins_of_data()
        st.button(
            f"{whole(bins)}: the leaves of the data", key="bra_of_data", on_click=s.BINS.set, args=("",),
            disabled=bins < 2, help="As many bins as the data set in use has leaves.",
        )  # fmt: skip
        for one in (s.NOISE, s.BUDGET, s.PADDED):
            one.draw()


def bins_of_data() -> int:
    """Return how many leaves the data set in use has, but for the one of records without a place."""
    data = dataset()
    return data.tree.n_leaves - (data.other_leaf is not None)


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
