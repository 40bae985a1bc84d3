"""The Budget split page's settings and results: what is kept, what is worked out in the background."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeVar

import streamlit as st

from pages.ui import jobs, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.shared import experiment, slack
from pages.ui.snippets import Ran, given
from pages.ui.store import dataset, from_file, remember, used
from pages.ui.strip import of_data, of_experiment
from pages.views.budget import split as splits
from pages.views.budget.prior import SLOT as PRIOR_FILE
from pages.views.budget.prior import file_prior
from pages.views.budget.settings import CUSTOM
from pages.views.budget.split import Row, Settings
from pages.views.budget.tables import all_rows
from pages.views.lab.state import keep_one
from treedp_core.allocation.shares import shares_of_text
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.records import Dataset
from treedp_core.studies.budget import GreedySplit, Optimum, Prior, Problem
from treedp_core.watch import Watch

OPTIMUM: Final = "budget_optimum"
HANDED: Final = "_budget_handed"
KEPT: Final = 12
SMALL_TREE: Final = 100_000

T = TypeVar("T")


@dataclass(eq=False)
class Results:
    """What the page shows; a refusal takes the place of the part that could not be had."""

    settings: Settings
    truth: Problem
    prior: Prior | None = None
    tuned: Problem | None = None
    rows: list[Row] | None = None
    steps: GreedySplit | None = None
    best: Optimum | None = None
    pending: bool = False
    refusals: tuple[InputError, ...] = ()

    def row(self, name: str) -> Row | None:
        """Return a strategy's row, if it could be had."""
        return next((row for row in self.rows or () if row.name == name), None)

    @property
    def chosen(self) -> Row | None:
        """The row of the chosen strategy, or else the first one; a split of one's own where that is what is seen."""
        if get("bud_view") == CUSTOM:
            return self.row(CUSTOM)
        return self.row(get("bud_strategy")) or next(iter(self.rows or ()), None)

    @property
    def waits_for(self) -> str:
        """What stands in place of the tuned split while there is none."""
        return "searching" if jobs.is_wanted(OPTIMUM) else "cancelled"

    @property
    def label(self) -> str:
        """What every figure and export must say when splits were tuned on the true counts; else nothing."""
        priors = [row.ledger.prior for row in self.rows or ()]
        return next((prior.label for prior in priors if prior is not None and not prior.is_private), "")


def settings() -> Settings:
    """Return what splits depend on; settings that cannot matter stand at their defaults."""
    noisy = get("bud_prior") == "noisy"
    one = experiment(
        mechanism=get("bud_mechanism"),
        postprocess=("least_squares",) if get("bud_least_squares") else (),
        metric=get("bud_metric"),
        alpha=0.1,
        delta=slack() if MECHANISMS[get("bud_mechanism")].needs_delta else 0.0,
        seed=get("seed") if noisy else 0,
    )
    return Settings(one, get("bud_phases"), get("bud_prior"), get("bud_prior_eps") if noisy else 0.0)


def about(chosen: Settings) -> str:
    """Return the strip: noise is drawn for a noisy prior alone, as errors are formulas."""
    return of_experiment(chosen.experiment, *of_data(dataset()), seeded=chosen.prior == "noisy")


def results() -> Results:
    """Return every strategy's split and errors; only the tuned one may still be on its way.

    Raises
    ------
    InputError
        ``ONE_LEVEL``, ``DELTA_REQUIRED`` and the like: nothing can be split then.
    """
    chosen = settings()
    key = key_of(chosen)
    found = _kept(key, lambda: _found(chosen))
    rows = list(found.rows or ())
    result = Results(**{**found.__dict__, "rows": rows, "pending": False})
    if result.tuned is not None and result.prior is not None:
        truth, tuned, prior = result.truth, result.tuned, result.prior
        try:
            best = later(OPTIMUM, key, partial(splits.optimum_row, truth, tuned, chosen, prior))
        except InputError as error:
            result.refusals += (error,)
        else:
            result.pending = best is None
            if best is not None:
                result.best = best[0]
                rows.append(best[1])
    _add_custom(result, rows)
    return result


def key_of(chosen: Settings) -> Hashable:
    """Return what every result of these settings depends on."""
    counted = from_file(PRIOR_FILE) if chosen.prior == "public" else None
    return ("budget", dataset().fingerprint, chosen, counted and counted.fingerprint)


def _kept(key: Hashable, compute: Callable[[], T]) -> T:
    """The results of many settings; on a large tree only the last, as they are as large as the tree."""
    return remember(key, compute) if _is_small() else keep_one("budget", key, compute)


def _is_small() -> bool:
    return dataset().tree.n_nodes <= SMALL_TREE


def _found(chosen: Settings) -> Results:
    data, public = dataset(), file_prior()
    truth = splits.problem(chosen, data, data.counts)
    result = Results(chosen, truth, rows=splits.simple_rows(truth, chosen))
    try:
        result.prior = splits.prior_of(chosen, data, None if public is None else public.value)
        if result.prior is not None:
            result.tuned = splits.problem(chosen, data, result.prior.counts)
            result.steps, row = splits.greedy_row(truth, result.tuned, chosen, result.prior)
            assert result.rows is not None
            result.rows.append(row)
    except InputError as error:
        result.prior = result.tuned = None
        result.refusals = (error,)
    return result


def _add_custom(result: Results, rows: list[Row]) -> None:
    """A split of one's own joins the others once it is asked for."""
    if get("bud_strategy") != CUSTOM and get("bud_view") != "custom" and not get("bud_shares"):
        return
    try:
        rows.append(splits.custom_row(result.truth, result.settings, custom_shares(), tuned.of("bud")))
    except InputError as error:
        result.refusals += (error,)


def data_again(result: Results) -> tuple[Ran[Problem], Ran[Problem] | None, Ran[Prior] | None]:
    """Return the calls that give the problem on the true counts, that on the prior, and the prior."""
    data, chosen = used(), result.settings
    truth = given(result.truth, splits.problem, chosen, data, data.get("counts")).named("truth")
    if result.tuned is None or result.prior is None:
        return truth, None, None
    prior = _prior_again(result.prior, chosen, data)
    return truth, given(result.tuned, splits.problem, chosen, data, prior.get("counts")).named("tuned"), prior


def _prior_again(prior: Prior, chosen: Settings, data: Ran[Dataset]) -> Ran[Prior]:
    public = file_prior()
    if chosen.prior == "public" and public is not None:
        return public
    again: Any = splits.prior_of
    return given(prior, again, chosen, data, None).named("prior")


def rows_again(result: Results) -> Ran[list[Row]]:
    """Return the call that gives every strategy."""
    truth, tuned_on, prior = data_again(result)
    more: dict[str, Any] = {"optimum": True} if result.row("optimum") is not None else {}
    if result.row(CUSTOM) is not None:
        more |= {"custom": custom_shares(), "custom_origin": tuned.of("bud")}
    again: Any = all_rows
    return given(list(result.rows or ()), again, truth, result.settings, tuned_on, prior, **more).named("rows")


def custom_shares() -> tuple[Any, ...]:
    """Return the custom shares: those of the text, or equal ones for a start; the text fits any number of levels.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT``.
    """
    n_levels = dataset().tree.n_levels
    text = get("bud_shares")
    if text.strip():
        return shares_of_text(text)
    first = int(experiment().unit.total_is_public)
    equal = Fraction(1, max(1, n_levels - first))
    return (Fraction(0),) * first + (equal,) * (n_levels - first)


def use(row: Row) -> None:
    """Hand a split over to the Error lab and the Consistency page as their custom shares."""
    shares = row.handed_over
    mechanism, least_squares = get("bud_mechanism"), get("bud_least_squares")
    pipeline = "least_squares" if least_squares else "none"
    update: dict[str, Any] = {"lab_mechanisms": [mechanism], "lab_post": [pipeline], "lab_metric": get("bud_metric")}
    update |= {"con_mechanism": mechanism, "con_post": pipeline}
    update |= {f"{page}_{name}": value for page in ("lab", "con") for name, value in
               (("allocation", CUSTOM), ("shares", shares))}  # fmt: skip
    st.session_state.update(update | tuned.keep("lab", row.origin) | tuned.keep("con", row.origin))
    st.session_state[HANDED] = (row.name, shares, "" if row.ledger.prior is None else row.ledger.prior.label)


def later(slot: str, key: Hashable, compute: Callable[[Watch], T]) -> T | None:
    """Return a result that takes longer than a page may: None while it is worked out in the background, or cancelled.

    `compute` tells the watch of its progress in hundredths; a search for other settings is stopped.

    Raises
    ------
    InputError
        What `compute` raised.
    """
    kept: dict[Hashable, T] = remember(("later", slot), dict)
    if key in kept:
        return kept[key]
    job = jobs.current(slot)
    if job is None or job.key != key:
        job = jobs.start(slot, key, 100, compute)
    if job.is_running or job.state == "cancelled":
        return None
    if job.error is not None:
        raise job.error
    result: T = job.result
    kept[key] = result
    while len(kept) > (KEPT if _is_small() else 2):
        kept.pop(next(iter(kept)))
    return result


def last(slot: str) -> Any:
    """Return the newest result of a slot, whatever it was computed for."""
    kept: dict[Hashable, Any] = remember(("later", slot), dict)
    return next(reversed(kept.values()), None) if kept else None


def wait(slot: str, what: str) -> None:
    """Show how far a search is, with a way to stop it, and the page anew when it is over; or that it was stopped."""
    if not jobs.is_wanted(slot):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{what}: cancelled.", width="content")
            st.button("Search again", key=f"{slot}_again", on_click=jobs.forget, args=(slot,), type="tertiary")
        return

    def live() -> None:
        job = jobs.current(slot)
        if job is None or not job.is_wanted:
            st.rerun()
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{what}: {min(100, job.done)} %", width="content")
            st.progress(min(1.0, job.done / job.total), width=200)
            st.button("Cancel", key=f"{slot}_cancel", on_click=jobs.cancel, args=(slot,), help="Stop this search.")

    st.fragment(live, run_every=jobs.REFRESH_SECONDS)()


def refuse(result: Results) -> None:
    """Show what was refused; the rest of the page stays."""
    for error in result.refusals:
        refusal(error)
