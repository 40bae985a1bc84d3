"""The settings of the page CDF and ranges, its one draw, and the Section VI experiment in the background."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import cdf_model as model
from pages.ui import frame, jobs
from pages.ui.branching_model import bins_from_text
from pages.ui.cdf_model import Bins, Draw
from pages.ui.lab_series import shares_from_text
from pages.ui.lab_state import keep_one
from pages.ui.params import get
from pages.ui.text import whole
from treedp_core.cdf import SECTION_VI, CdfSettings, ConsistencyGain, consistency_gains, plan_cdf
from treedp_core.cdf_error import Criterion
from treedp_core.checks import MAX_SEED, InputError
from treedp_core.montecarlo import Watch
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit

SLOT: Final = "section_vi"
N_RECORDS: Final = 900
_RESULT: Final = "_section_vi"


def settings(n_bins: int) -> CdfSettings:
    """Return the release the settings describe, over K bins.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for the tree, ``BUDGET_SPLIT`` for shares that are none.
    """
    unit = ProtectedUnit(NeighbouringRelation(get("nbr")), get("contributions"))
    criterion = Criterion(get("cdf_mechanism"), least_squares=get("cdf_post"), unit=unit)
    shape = model.shape_of(get("cdf_tree"), n_bins, criterion, get("cdf_factors"))
    shares = shares_from_text(get("cdf_shares")) if get("cdf_allocation") == "custom" else ()
    return CdfSettings(
        n_bins, shape.branching_factors, get("cdf_mechanism"), get("eps"), get("delta"), get("cdf_allocation"),
        shares, get("cdf_post"), get("nbr"), get("contributions"),
    )  # fmt: skip


def draw(data: Bins) -> tuple[Draw, bool]:
    """Return the release of the settings, and True; below a refusal the last good one of these data, and False.

    Where there is none, it is a histogram's.
    """
    try:
        chosen = settings(data.n_bins)
        plan = keep_one("_cdf_plan", chosen, lambda: plan_cdf(chosen))
        key = (data.fingerprint, chosen, get("cdf_fit"), get("seed"))
        made = keep_one("_cdf_draw", key, lambda: model.draw(plan, data.counts, get("cdf_fit"), get("seed")))
    except InputError as error:
        frame.refusal(error)
        kept = keep_one("_cdf_good", data.fingerprint, list)
        if not kept:
            plan = plan_cdf(CdfSettings(data.n_bins, (data.n_bins,), epsilon=get("eps")))
            return model.draw(plan, data.counts, "squared", get("seed")), False
        return kept[0], False
    keep_one("_cdf_good", data.fingerprint, list)[:] = [made]
    return made, True


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
        frame.refusal(error)
        st.caption("The bins of the data are used meanwhile.")
        return data.n_bins


# ---- the experiment of Section VI


def experiment_key() -> tuple[int, int]:
    """Return what the experiment depends on: runs and seed."""
    return get("cdf_trials"), get("seed")


def start_experiment() -> None:
    """Start the experiment, in place of a running one."""
    trials, seed = experiment_key()
    jobs.start(SLOT, (trials, seed), trials * len(SECTION_VI), partial(_work, trials, seed))


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
        frame.refusal(job.error)


def experiment_result() -> tuple[tuple[int, int], list[ConsistencyGain]] | None:
    """Return what the last finished experiment was run with, and what it found."""
    kept: Any = st.session_state.get(_RESULT)
    return kept
