"""The settings of the page CDF and ranges, its one draw, and the Section VI experiment in the background."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import jobs, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.shared import experiment, slack_of
from pages.ui.store import remember
from pages.ui.text import whole
from pages.views.cdf import model
from pages.views.cdf.model import Bins, Draw
from pages.views.lab.state import keep_one
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import MAX_SEED, InputError
from treedp_core.experiment import total_of
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching.question import bins_from_text
from treedp_core.studies.cdf import SECTION_VI, CdfSettings, ConsistencyGain, consistency_gains, plan_cdf
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.watch import Cancelled, Watch

SLOT: Final = "section_vi"
BOUND_SLOT: Final = "cdf_bound"
N_RECORDS: Final = 900
_RESULT: Final = "_section_vi"


def settings(data: Bins) -> CdfSettings:
    """Return the release the settings describe, over the bins of the data.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for the tree, ``BUDGET_SPLIT`` for shares that are none.
    """
    unit = ProtectedUnit(NeighbouringRelation(get("nbr")), get("contributions"))
    criterion = Criterion(get("cdf_mechanism"), least_squares=get("cdf_post"), unit=unit)
    shape = model.shape_of(get("cdf_tree"), data.n_bins, criterion, get("cdf_factors"))
    shares = shares_from_text(get("cdf_shares")) if get("cdf_allocation") == "custom" else ()
    return CdfSettings(
        data.n_bins, shape.branching_factors, get("cdf_mechanism"), get("eps"), delta_of(data), get("cdf_allocation"),
        shares, get("cdf_post"), get("nbr"), get("contributions"),
    )  # fmt: skip


def delta_of(data: Bins) -> float:
    """Return the δ of a release of the data."""
    return slack_of([get("cdf_mechanism")], int(data.counts.sum()))


def draw(data: Bins) -> tuple[Draw, bool]:
    """Return the release of the settings, and True; below a refusal the last good one of these data, and False.

    Where there is none, it is a histogram's.
    """
    try:
        chosen = settings(data)
        plan = keep_one("_cdf_plan", chosen, lambda: plan_cdf(chosen))
        if tuned.in_force("cdf") is not None:
            whole_budget = total_of(experiment(mechanism=chosen.mechanism, delta=chosen.delta))
            tuned.admit("cdf", chosen.unit, plan.budget.currency, whole_budget, plan.budget.per_level)
        key = (data.fingerprint, chosen, get("cdf_fit"), get("seed"))
        made = keep_one("_cdf_draw", key, lambda: model.draw(plan, data.counts, get("cdf_fit"), get("seed")))
    except InputError as error:
        refusal(error)
        kept = _good(data)
        if not kept:
            plan = plan_cdf(CdfSettings(data.n_bins, (data.n_bins,), epsilon=get("eps")))
            return model.draw(plan, data.counts, "squared", get("seed")), False
        return kept[0], False
    _good(data)[:] = [made]
    return made, True


def _good(data: Bins) -> list[Draw]:
    """The list that holds the last good release of these data."""
    return keep_one("_cdf_good", data.fingerprint, list)


def draw_again() -> None:
    """Take the next seed: other noise on the same counts."""
    st.session_state["seed"] = (get("seed") + 1) % (MAX_SEED + 1)


def figure_bins(data: Bins) -> int:
    """Return the K of the formula figures: the one asked for, or that of the data."""
    text = get("cdf_bins").strip()
    if not text:
        return data.n_bins
    try:
        return bins_from_text(text)
    except InputError as error:
        refusal(error)
        st.caption("The bins of the data are used meanwhile.")
        return data.n_bins


# ---- the lower bound

Distances = tuple[list[str], list[float]]


def distances(asked: int) -> tuple[int, Distances]:
    """Return how far trees are from the bound, and for which K: the one asked for, once its bound is there.

    Up to 256 bins it is computed at once. Up to 1024 it is sought in the background, and K = 256 shown meanwhile.
    """
    kept: dict[int, Distances] = remember(("cdf bounds",), dict)
    bins = min(asked, model.BOUND_BINS)
    if asked > MAX_BOUND_BINS:
        st.caption(
            f"The bound takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins: K = {bins} is shown instead of "
            f"{whole(asked)}."
        )
    elif asked > bins and asked not in kept:
        _seek_bound(asked, kept)
    shown = asked if asked in kept else bins
    if shown not in kept:
        kept[shown] = model.distances(shown)
    return shown, kept[shown]


def _seek_bound(bins: int, kept: dict[int, Distances]) -> None:
    """Seek a bound in the background, say how far the search is, and keep what it finds."""
    job = jobs.current(BOUND_SLOT)
    if job is None or job.key != bins:
        job = jobs.start(BOUND_SLOT, bins, model.BOUND_ROUNDS, partial(_bound, bins), of_data=False)
    if job.state == "done":
        kept[bins] = job.result
        return
    if job.error is not None:
        refusal(job.error)
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.is_running:
            st.caption(f"Seeking the bound for K = {whole(bins)}; K = {model.BOUND_BINS} is shown meanwhile.",
                       width="content")  # fmt: skip
            st.button("Cancel", key="cdf_bound_cancel", on_click=jobs.cancel, args=(BOUND_SLOT,),
                      help=f"Keep K = {model.BOUND_BINS}.")  # fmt: skip
        else:
            st.caption(f"The search for K = {whole(bins)} was stopped; K = {model.BOUND_BINS} is shown.",
                       width="content")  # fmt: skip
            st.button("Search again", key="cdf_bound_again", on_click=jobs.forget, args=(BOUND_SLOT,),
                      help=f"Seek the bound for K = {whole(bins)}.")  # fmt: skip
    jobs.progress(BOUND_SLOT, "rounds")


def _bound(bins: int, watch: Watch) -> Distances:
    def each_round() -> None:
        if watch.cancelled():
            raise Cancelled
        watch.step(1)

    return model.distances(bins, each_round)


# ---- the experiment of Section VI


def experiment_key() -> tuple[int, int]:
    """Return what the experiment depends on: runs and seed."""
    return get("cdf_trials"), get("seed")


def start_experiment() -> None:
    """Start the experiment, in place of a running one."""
    trials, seed = experiment_key()
    jobs.start(SLOT, (trials, seed), trials * len(SECTION_VI), partial(_work, trials, seed), of_data=False)


def _work(trials: int, seed: int, watch: Watch) -> list[ConsistencyGain]:
    return consistency_gains(SECTION_VI, N_RECORDS, trials, seed, watch)


def experiment_progress() -> None:
    """Show how far the experiment is, or how it ended."""
    jobs.progress(SLOT)
    job = jobs.current(SLOT)
    if job is None:
        return
    if job.state == "done":
        st.session_state[_RESULT] = (job.key, job.result)
    elif job.state == "cancelled":
        st.caption(f"Cancelled after {whole(job.done)} of {whole(job.total)} runs; earlier results are still here.")
    elif job.error is not None:
        refusal(job.error)


def experiment_result() -> tuple[tuple[int, int], list[ConsistencyGain]] | None:
    """Return what the last finished experiment was run with, and what it found."""
    kept: tuple[tuple[int, int], list[ConsistencyGain]] | None = st.session_state.get(_RESULT)
    return kept
