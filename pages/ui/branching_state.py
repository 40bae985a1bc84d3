"""The Branching factor page's question, and its answers: kept, and computed in the background where they are slow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import branching_model as model
from pages.ui import frame, jobs
from pages.ui.branching_model import HeightBest, Question
from pages.ui.params import get
from pages.ui.store import remember
from treedp_core.branching import RankedShape
from treedp_core.cdf_error import Criterion, optimal_shares
from treedp_core.checks import InputError
from treedp_core.montecarlo import Cancelled, Watch
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.workloads import Shape, Workload

SLOT: Final = "branching"
_LAST_BINS: Final = "_bra_bins_used"
_SEARCHED: Final = 6
"""Shapes whose budgets are searched in the background, before the finest trees."""


def n_bins() -> int:
    """Return K; the last good one, below a refusal, while the text is no number of bins."""
    try:
        st.session_state[_LAST_BINS] = model.bins_from_text(get("bra_bins"))
    except InputError as error:
        frame.refusal(error)
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
    return model.spent(of, get("eps"), get("delta"))


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
        candidates = _candidates(asked, equal)
        job = jobs.start(SLOT, asked, len(candidates), partial(_search, asked, candidates), of_data=False)
    if job.error is not None:
        raise job.error
    return (job.result, True) if job.state == "done" else (equal, False)


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


def _candidates(asked: Question, equal: Sequence[RankedShape]) -> list[Shape]:
    """The best with equal budgets; for Gaussian noise the finest trees too, which win once levels have best shares."""
    shapes = [one.shape for one in equal[:_SEARCHED]]
    if asked.padded and asked.criterion.currency is Currency.RHO:
        shapes += [model.equal_tree(asked.n_bins, n) for n in (4, 2)]
    return list(dict.fromkeys(shapes))


def _search(asked: Question, candidates: Sequence[Shape], watch: Watch) -> list[RankedShape]:
    found = []
    for shape in candidates:
        if watch.cancelled():
            raise Cancelled
        best = optimal_shares(shape, asked.criterion)
        found.append(RankedShape(shape, best.shares, best.value))
        watch.step(1)
    return sorted(found, key=lambda one: one.value)
