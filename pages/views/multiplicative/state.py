"""State of the page Multiplicative error: settings as the core takes them, results kept, refusals answered."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import jobs
from pages.ui import shared as settings
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import Ran, call, given
from pages.ui.store import dataset, remember, used
from pages.ui.text import short
from pages.views.budget.state import wait
from pages.views.lab.state import keep_one
from pages.views.multiplicative import growth as model
from treedp_core.checks import MAX_SEED, InputError
from treedp_core.experiment import Experiment
from treedp_core.mechanisms.thresholds.schedule import check_levels
from treedp_core.studies.multiplicative import Setting, trees
from treedp_core.studies.multiplicative import run as running
from treedp_core.studies.multiplicative.run import Run
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.words import setting_text

CROSSINGS: Final = "multiplicative_crossings"
RUN: Final = "multiplicative_run"
LARGE: Final = 60_000
"""Nodes from which on a run is made in the background."""
_GOOD: Final = "_mul_setting"
_STEPS: Final = "_mul_steps"

Exact = dict[tuple[str, str], int | None]


def setting() -> Setting:
    """Return what the curves are drawn for; below a refusal what they were last drawn for.

    Where the sidebar's δ is 0 they are drawn for one that fits N, and the page says so.
    """
    try:
        chosen = Setting(get("alpha"), get("eps"), settings.slack(int(get("mul_total"))), max_total=get("mul_total"))
    except InputError as error:
        refusal(error)
        chosen = st.session_state.get(_GOOD) or Setting(epsilon=get("eps"))
        st.caption(f"Shown meanwhile: α = {short(chosen.alpha)}, ε = {setting_text(chosen.epsilon)}.")
    st.session_state[_GOOD] = chosen
    return chosen


def levels() -> int | None:
    """Return the reader's number of levels: the one asked for, else that of the tree in use; None when refused."""
    try:
        text = get("mul_levels").strip()
        return model.levels_from_text(text) if text else check_levels(dataset().tree.n_levels)
    except InputError as error:
        refusal(error)
        return None


# ---- crossings


def exact_crossings(chosen: Setting) -> Exact | None:
    """Return the exact crossings; None while they are searched for in the background."""
    kept: dict[Setting, Exact] = remember("mul crossings", dict)
    job = jobs.current(CROSSINGS)
    if chosen not in kept and (job is None or job.key != chosen or job.state == "cancelled"):
        job = jobs.start(CROSSINGS, chosen, len(model.PAIRS), partial(model.exact_crossings, chosen))
    if chosen not in kept and job is not None and job.state == "done":
        kept[chosen] = job.result
    return kept.get(chosen)


def crossings_awaited() -> None:
    """Say that exact crossings are searched for, and show the page anew when they are there."""
    if jobs.is_running(CROSSINGS):
        wait(CROSSINGS, "Searching for the exact numbers of levels")


# ---- one run


def run() -> tuple[Run | None, bool]:
    """Return the run of the settings and True; the last good one of this source and False below a refusal or a wait."""
    try:
        chosen = _counted()
        wanted = _experiment(chosen.paths.total)
        key = (*_source_key(), get("mul_plan"), get("mul_clamp"), wanted)
        work = partial(running.run, chosen, get("mul_plan"), wanted, clamped=get("mul_clamp"))
        is_large = chosen.paths.n_edges > LARGE
        made = _in_background(key, work) if is_large else keep_one("_mul_run", key, work)
    except InputError as error:
        refusal(error)
        made = None
    good: list[Run] = keep_one("_mul_good", _source_key(), list)
    if made is not None:
        good[:] = [made]
        return made, True
    return (good[0] if good else None), False


def _in_background(key: Hashable, work: Callable[..., Run]) -> Run | None:
    """Return a run that takes seconds; None while it is made, with a button to give it up, or after that."""
    job = jobs.current(RUN)
    if job is None or job.key != key:
        job = jobs.start(RUN, key, 100, lambda watch: work(watch=watch))
    if job.stop.is_set():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Cancelled; an earlier run is still here if there was one.", width="content")
            st.button("Run again", key="mul_again", on_click=jobs.forget, args=(RUN,), help="Start this run anew.")
        return None
    if job.is_running:
        wait(RUN, "Running on a large tree, round by round")
        return None
    if job.error is not None:
        raise job.error
    made: Run = job.result
    return made


def _experiment(total: int) -> Experiment:
    return settings.experiment(
        delta=settings.slack(total), metric="rmse", postprocess=(), allocation="uniform", threshold=10.0
    )


def _source_key() -> tuple[object, ...]:
    if get("mul_source") == "deep":
        return "deep", get("mul_deep_levels"), get("mul_deep_leaves"), get("gen_seed")
    return ("small",) if get("mul_source") == "small" else ("current", dataset().fingerprint)


def source() -> Source | None:
    """Return the tree to run on; None where it was refused, which `run` says."""
    try:
        return _counted()
    except InputError:
        return None


def _counted() -> Source:
    def build() -> Source:
        match get("mul_source"):
            case "small":
                return trees.small_tree()
            case "deep":
                return trees.deep_tree(get("mul_deep_levels"), get("mul_deep_leaves"), get("gen_seed"))
            case _:
                data = dataset()
                return trees.tree_in_use(data.name, data.tree, data.counts)

    return keep_one("_mul_source", _source_key(), build)


def again(made: Run) -> Ran[Run]:
    """Return the call that makes a run again."""
    key = _source_key()
    match key[0]:
        case "small":
            tree = call(trees.small_tree)
        case "deep":
            tree = call(trees.deep_tree, *key[1:])
        case _:
            data = used()
            tree = call(trees.tree_in_use, data.get("name"), data.get("tree"), data.get("counts"))
    clamped: dict[str, Any] = {"clamped": True} if made.reach is not None else {}
    return given(made, running.run, tree.named("source"), made.rule, made.settings, **clamped).named("made")


def draw_again() -> None:
    """Take the next seed: other noise."""
    st.session_state["seed"] = (get("seed") + 1) % (MAX_SEED + 1)


# ---- steps


def fit_step(n_steps: int) -> int:
    """Keep the step inside the run, at the end where it was at the end; return it."""
    step, before = get("mul_step"), st.session_state.get(_STEPS)
    at_end = step > n_steps or (before is not None and before != n_steps and step >= before)
    st.session_state["mul_step"] = n_steps if at_end else step
    st.session_state[_STEPS] = n_steps
    return int(st.session_state["mul_step"])


def go(step: int) -> None:
    """Show a step."""
    st.session_state["mul_step"] = step
