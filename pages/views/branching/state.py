"""The Branching factor page's question, and its answers: kept, and computed in the background where they are slow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import jobs
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.shared import slack
from pages.ui.snippets import Ran, given
from pages.ui.store import remember
from pages.views.branching.tables import candidates, searched
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching import RankedShape
from treedp_core.studies.branching import question as model
from treedp_core.studies.branching.question import HeightBest, Question
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload

SLOT: Final = "branching"
_LAST_BINS: Final = "_bra_bins_used"


def n_bins() -> int:
    """Return K; the last good one, below a refusal, while the text is no number of bins."""
    try:
        st.session_state[_LAST_BINS] = model.bins_from_text(get("bra_bins"))
    except InputError as error:
        refusal(error)
        st.caption("The last number of bins is still shown.")
    return int(st.session_state.get(_LAST_BINS, 2**20))


def criterion() -> Criterion:
    """Return what the settings call a good tree."""
    unit = ProtectedUnit(NeighbouringRelation(get("nbr")), get("contributions"), get("known_levels"))
    return Criterion(get("bra_noise"), Workload(get("bra_workload")), get("bra_post") == "least_squares", unit)


def question(bins: int) -> Question:
    """Return the question the settings ask for K bins."""
    return Question(bins, criterion(), get("bra_padded"), get("bra_budgets") == "optimal")


def total(of: Criterion) -> float:
    """Return your budget in the criterion's currency."""
    return model.spent(of, get("eps"), slack())


def ranked(asked: Question) -> tuple[list[RankedShape], bool]:
    """Return the ranking, and whether its budgets are the ones asked for (or still equal ones, while they are sought).

    Raises
    ------
    InputError
        ``RELATION`` where there are no optimal budgets.
    """
    if not asked.is_slow:
        return remember(("ranked", asked), lambda: model.ranked(asked)), True
    equal = remember(("ranked", asked.with_equal_budgets), lambda: model.ranked(asked.with_equal_budgets))
    job = jobs.current(SLOT)
    if job is None or job.key != asked:
        n_trees = len(candidates(asked, equal))
        job = jobs.start(SLOT, asked, n_trees, partial(searched, asked), of_data=False)
    if job.error is not None:
        raise job.error
    return (job.result, True) if job.state == "done" else (equal, False)


def again(asked: Question, found: list[RankedShape], is_final: bool) -> Ran[list[RankedShape]]:
    """Return the call that ranks the trees again."""
    if asked.is_slow and is_final:
        return given(found, searched, asked).named("ranked")
    return given(found, model.ranked, asked if is_final else asked.with_equal_budgets).named("ranked")


def heights_again(asked: Question, found: list[RankedShape]) -> Ran[list[HeightBest]]:
    """Return the call that finds the best tree of each height again."""
    if asked.is_slow:
        asked = asked.with_equal_budgets
        found, _ = ranked(asked)
    return given(by_height(asked, found), model.by_height, asked, given(found, model.ranked, asked).named("ranked"))


def search_again() -> None:
    """Forget a search that was cancelled, so that it starts anew."""
    jobs.forget(SLOT)


def by_height(asked: Question, found: Sequence[RankedShape]) -> list[HeightBest]:
    """Return the best tree found with each height; with equal budgets where the search for optimal ones is slow."""
    if asked.is_slow:
        asked = asked.with_equal_budgets
        found, _ = ranked(asked)
    key = ("by height", asked, tuple(one.shape for one in found))
    return remember(key, lambda: model.by_height(asked, found))
