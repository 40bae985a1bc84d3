"""The error lab's settings as experiments, and its simulation: start, progress, and what the last ones found."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import streamlit as st

from pages.ui import jobs, tuned
from pages.ui.controls import shares
from pages.ui.refusals import refusal
from pages.ui.settings import REG, get
from pages.ui.shared import experiment, slack_of
from pages.ui.snippets import Ran, call
from pages.ui.store import dataset, remember, used
from pages.ui.text import whole
from treedp_core.checks import InputError
from treedp_core.experiment import EPSILON_GRID, Experiment
from treedp_core.studies.sweep import lines as lab_runs
from treedp_core.studies.sweep.lines import Asked, Line, Record
from treedp_core.studies.sweep.series import DRAW, EPSILON, LEVEL, Cell, Series, admit, chosen
from treedp_core.tree import AnyArray, Tree
from treedp_core.watch import Watch

SLOT: Final = "lab"
_RECORDS: Final = "_lab_records"
_REFUSED: Final = "_lab_refused"

T = TypeVar("T")


def series() -> list[Series]:
    """Return what is compared, in the order of the tables."""
    return chosen(get("lab_mechanisms"), get("lab_post"))


def base() -> Experiment:
    """Return the settings all series share.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` for custom shares that are no shares; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what they
        were tuned on does not go with them.
    """
    found = experiment(
        allocation=get("lab_allocation"), shares=shares("lab"), metric=get("lab_metric"), trials=get("lab_trials"),
        delta=slack_of(get("lab_mechanisms")),
    )  # fmt: skip
    for one in series() if tuned.in_force("lab") else ():
        tuned.admit_experiment("lab", one.of(found), dataset().tree)
    return found


def lines(view: str) -> list[Line]:
    """Return the lines of a view (of one draw: the values at your epsilon); nothing is simulated here.

    Raises
    ------
    InputError
        What `experiment.prepare` refuses.
    """
    data, settings, compared = dataset(), base(), series()
    admit(view, settings)
    grid = lab_runs.formula_grid(EPSILON_GRID, len(compared), settings.metric, data.tree)

    def solve(wanted: Sequence[Cell]) -> lab_runs.Formulas:
        key = ("lab", data.fingerprint, tuple(wanted))
        return remember(key, lambda: lab_runs.formulas_of(wanted, data.tree, data.counts))

    shown = LEVEL if view == DRAW else view
    return lab_runs.lines(shown, compared, settings, data.tree, grid, _record(shown), solve)


def again(view: str) -> Ran[list[Line]]:
    """Return the call that computes the lines of a view again."""
    data, settings, compared = used(), base(), series()
    grid = lab_runs.formula_grid(EPSILON_GRID, len(compared), settings.metric, data.value.tree)
    record = _record(view)
    more = {} if record is None else {"asked": record.asked}
    tree, counts = data.get("tree"), data.get("counts")
    return call(lab_runs.computed, view, compared, settings, tree, counts, grid, **more).named("lines")


def keep_one(slot: str, key: Hashable, compute: Callable[[], T]) -> T:
    """Return `compute()`, kept until the key changes or the data are removed: for results as large as the tree."""
    kept: dict[Hashable, T] = remember(("one", slot), dict)
    if key not in kept:
        kept.clear()
        kept[key] = compute()
    return kept[key]


def start() -> None:
    """Start the simulation of the present view, in place of a running one; a refusal is kept for the page to show."""
    st.session_state[_REFUSED] = None
    try:
        data, settings, view = dataset(), base(), get("lab_view")
        admit(view, settings)
        grid = lab_runs.formula_grid(EPSILON_GRID, len(series()), settings.metric, data.tree)
        epsilons = lab_runs.simulation_grid(grid, settings.epsilon) if view == EPSILON else (settings.epsilon,)
        asked = Asked(tuple(series()), settings, tuple(epsilons))
        wanted = asked.cells(view, data.tree)
        total = lab_runs.admit(wanted, data.tree)
    except InputError as error:
        st.session_state[_REFUSED] = (_settings(), error)
        return
    work = partial(_simulate, data.fingerprint, view, asked, data.tree, data.counts)
    jobs.start(SLOT, (data.fingerprint, view, wanted), total, work)


def _simulate(fingerprint: str, view: str, asked: Asked, tree: Tree, counts: AnyArray, watch: Watch) -> Record:
    return Record(fingerprint, view, lab_runs.simulate(asked.cells(view, tree), tree, counts, watch), asked)


def cancel() -> None:
    """Ask the running simulation to stop."""
    jobs.cancel(SLOT)


def running() -> bool:
    """Whether a simulation waits or runs."""
    return jobs.is_running(SLOT)


def progress() -> None:
    """Show how far the simulation is, or how it ended; what it found is kept."""
    jobs.progress(SLOT)
    job = jobs.current(SLOT)
    if job is not None and job.state == "done":
        st.session_state.setdefault(_RECORDS, {})[job.result.view] = job.result
    if job is not None and job.state == "cancelled":
        st.caption(f"Cancelled after {whole(job.done)} of {whole(job.total)} runs; earlier results are still here.")
    settings, error = st.session_state.get(_REFUSED) or (None, None)
    if error is not None and settings == _settings():
        refusal(error)
    elif job is not None and job.error is not None:
        refusal(job.error)


def _settings() -> tuple[Any, ...]:
    """All settings: a refusal to run is shown until one of them changes."""
    return tuple(get(key) for key in REG)


def _record(view: str) -> Record | None:
    """The last simulation of a view, if it was of the data set in use."""
    record = st.session_state.get(_RECORDS, {}).get(view)
    return record if record is not None and record.fingerprint == dataset().fingerprint else None


def note() -> str:
    """Return a sentence on simulations that cannot be drawn here, or nothing."""
    record = st.session_state.get(_RECORDS, {}).get(get("lab_view"))
    if record is None or not record.found:
        return ""
    if record.fingerprint != dataset().fingerprint:
        return "The last simulation was of other data. Press **Run** for these."
    same = next(iter(record.found)).experiment.metric == get("lab_metric")
    return "" if same else "The last simulation was of another metric. Press **Run** for this one."
