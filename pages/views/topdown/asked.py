"""The page TopDown's settings, its one release, and its simulations in the background."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import jobs, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.shared import slack
from pages.ui.snippets import Ran, given
from pages.ui.store import dataset, sample, used, used_sample
from pages.ui.text import whole
from pages.views.lab.state import keep_one
from pages.views.topdown import draw as one_release
from pages.views.topdown.draw import Drawn
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import MAX_CELL_DRAWS, MAX_LEVEL_COLUMNS, MAX_SEED, InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.spread import Spread
from treedp_core.records import Dataset
from treedp_core.studies.topdown import model, most_cells
from treedp_core.studies.topdown.model import Wanted
from treedp_core.studies.topdown.subject import Subject, is_product, made_up, product_of_columns, tree_as_it_is
from treedp_core.watch import Watch

SAMPLE: Final = "mobility"
DRAW: Final = "td_release"
LIGHT_CELLS: Final = 10_000_000
"""Noise draws up to which a release follows its settings at once; larger ones wait for Run."""
_SIZES: Final = re.compile(r"([0-9]{1,9})(?:\^([0-9]{1,2}))?", re.ASCII)


# ---- what is released


def data_in_use() -> Dataset:
    """Return the data set whose columns are released, where they come from one."""
    return sample(SAMPLE) if get("td_source") == "trips" else dataset()


def subject() -> tuple[Subject, InputError | None]:
    """Return what the settings release; below a refusal the last good one, and the refusal."""
    kept = last("_td_subject")
    try:
        made = _subject()
    except InputError as error:
        if not kept or kept[0] != data_in_use().fingerprint:
            trips = sample(SAMPLE)
            return keep_one("_td_trips", trips.fingerprint, lambda: product_of_columns(trips, (0, 1, 2))), error
        return kept[1], error
    kept[:] = [data_in_use().fingerprint, made]
    return made, None


def _subject() -> Subject:
    if get("td_source") == "sparse":
        sizes, n, seed = sizes_of(get("td_sizes")), get("td_records"), get("seed")
        return keep_one("_td_made_up", (sizes, n, seed), lambda: made_up(sizes, n, seed))
    data = data_in_use()
    product = may_reorder(data)
    order = chosen_columns(data) if product else ()
    key = (data.fingerprint, order)
    return keep_one("_td_columns", key, lambda: product_of_columns(data, order) if product else tree_as_it_is(data))


def may_reorder(data: Dataset) -> bool:
    """Whether columns can be chosen: they are a product, or the reader wants one of them."""
    return keep_one("_td_product", data.fingerprint, lambda: is_product(data)) or bool(get("td_product"))


def chosen_columns(data: Dataset) -> tuple[int, ...]:
    """Return the positions of the chosen columns in their order; all of them where none is chosen."""
    n = data.tree.height
    chosen = tuple(int(position) - 1 for position in get("td_columns") if int(position) <= n)
    return chosen or tuple(range(n))


def sizes_of(text: str) -> tuple[int, ...]:
    """Return categories per column from text such as "10, 10, 4" or "10^9".

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for another text, ``TOO_MANY_LEVELS``.

    >>> sizes_of("10^3, 4")
    (10, 10, 10, 4)
    """
    sizes: list[int] = []
    for piece in text.replace(",", " ").replace(";", " ").split():
        found = _SIZES.fullmatch(piece)
        if found is None:
            raise InputError("TREE_SHAPE", "Expected categories per column such as 10, 10, 4 or 10^9 (nine columns).")
        sizes += [int(found[1])] * int(found[2] or 1)
        if len(sizes) > MAX_LEVEL_COLUMNS:
            raise InputError("TOO_MANY_LEVELS", f"Expected 1 to {MAX_LEVEL_COLUMNS} columns, got {len(sizes)} or more.")
    return tuple(sizes)


def again(what: Subject) -> Ran[Subject]:
    """Return the call that makes the released columns again."""
    if what.seed is not None:
        return given(what, made_up, what.table.sizes, what.total, what.seed).named("subject")
    trips = used_sample(SAMPLE)
    data = trips if trips.value.name == what.name else used()
    if what.is_product:
        return given(what, product_of_columns, data, what.order).named("subject")
    return given(what, tree_as_it_is, data).named("subject")


def drawn_again(mine: Drawn) -> Ran[Drawn]:
    """Return the call that draws a release again."""
    return given(mine, one_release.draw, again(mine.subject), mine.wanted, mine.seed).named("drawn")


# ---- settings


def wanted(what: Subject) -> Wanted:
    """Return the settings of a release.

    Raises
    ------
    InputError
        ``RHO_RANGE``, ``BUDGET_SPLIT``; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` for what shares were tuned on.
    """
    delta = slack(what.total)
    is_custom = get("td_allocation") == "custom" and bool(get("td_shares").strip())
    shares = shares_from_text(get("td_shares")) if is_custom else None
    unit = ProtectedUnit(
        NeighbouringRelation(get("nbr")), get("contributions"), min(get("known_levels"), data_in_use().tree.n_levels)
    )
    spread = Spread(get("td_spread")) if unit.contributions > 1 else Spread.STACKED
    found = Wanted(model.rho_of(get("td_rho"), get("eps"), delta), delta, unit, shares, spread, rule_of(what))
    if shares is not None and tuned.in_force("td") is not None:
        ready = found.plan(what)
        tuned.admit("td", ready.unit, ready.budget.currency, found.rho, ready.budget.per_level)
    return found


def rule_of(what: Subject) -> str:
    """Return the chosen rule, or the first that the subject allows."""
    allowed = one_release.rules_for(what)
    return get("td_rule") if get("td_rule") in allowed else allowed[0]


def draw_again() -> None:
    """Take the next seed: other noise on the same counts."""
    st.session_state["seed"] = (get("seed") + 1) % (MAX_SEED + 1)


def made_with(view: str, what: Subject) -> tuple[Wanted | None, int | None]:
    """Return what a view's figures were made with, and the seed where noise was drawn; None if there are none."""
    is_repeated = view in ("rules", "orders")
    kept: list[tuple[str, Wanted, int]] = []
    if is_repeated:
        kept = [(one.key[0], one.key[1], one.key[3]) for one in last(f"td_{view}")]
    elif view != "accounting":
        kept = [(one.subject.fingerprint, one.wanted, one.seed) for one in last("_td_drawn")]
    if kept and kept[0][0] == what.fingerprint:
        return kept[0][1:]
    if is_repeated:
        return None, None
    try:
        return wanted(what), None
    except InputError:
        return None, None


def epsilon_of(chosen: Wanted) -> float:
    """Return the ε that gave a budget; 0 for one that was set as ρ, or by another ε than the sidebar's now."""
    if get("td_rho").strip() or chosen.rho != model.rho_of("", get("eps"), chosen.delta):
        return 0.0
    return float(get("eps"))


# ---- one release, at once or in the background


def is_light(what: Subject, chosen: Wanted) -> bool:
    """Whether a release, or the refusal of one that is too large, can follow its settings at once."""
    if what.tree is not None:
        return what.tree.n_nodes <= LIGHT_CELLS // 10
    cells = most_cells(chosen.plan(what), what.total)
    return cells <= LIGHT_CELLS or cells > MAX_CELL_DRAWS


def drawn(what: Subject, chosen: Wanted) -> Drawn | None:
    """Return the release of the settings, or the last one of the same records; None where none was run yet."""
    seed = get("seed")
    key = (what.fingerprint, chosen, seed)
    if is_light(what, chosen):
        made = keep_one("_td_draw", key, lambda: one_release.draw(what, chosen, seed))
        last("_td_drawn")[:] = [made]
        return made
    kept = last("_td_drawn")
    return kept[0] if kept and kept[0].subject.fingerprint == what.fingerprint else None


def last(slot: str) -> list[Any]:
    """Return the list that holds the last result of a slot, for as long as its data are there."""
    return keep_one(slot, "last", list)


def start_draw(what: Subject, chosen: Wanted) -> None:
    """Start a large release in the background."""
    seed = get("seed")

    def work(watch: Watch) -> Drawn:
        return one_release.draw(what, chosen, seed, watch)

    jobs.start(DRAW, (what.fingerprint, chosen, seed), one_release.draws(what, chosen.plan(what)), work)


def abandon_draw() -> None:
    """Forget a large release: nothing of it will be shown, and the page is free at once."""
    jobs.forget(DRAW)


def draw_progress() -> None:
    """Show how far a large release is, and keep what came of it."""
    result = finished(DRAW, "noises")
    if result is not None:
        last("_td_drawn")[:] = [result.result]
        jobs.forget(DRAW)  # it holds true counts, which go when the data are removed


# ---- repeated runs


@dataclass(frozen=True, eq=False)
class Result:
    """What a simulation in the background found, and what it was run with."""

    key: tuple[Any, ...]
    result: Any
    about: str


def start(slot: str, key: tuple[Any, ...], total: int, about: str, work: Callable[[Watch], Any]) -> None:
    """Start a simulation in place of a running one."""
    jobs.start(slot, (key, about), total, partial(_work, key, about, work))


def _work(key: tuple[Any, ...], about: str, work: Callable[[Watch], Any], watch: Watch) -> Result:
    return Result(key, work(watch), about)


def progress(slot: str) -> None:
    """Show how far a simulation is, or how it ended; what it found is kept."""
    done = finished(slot)
    if done is not None:
        last(slot)[:] = [done.result]


def finished(slot: str, unit: str = "runs") -> jobs.Job | None:
    """Show a job's progress, in the unit of its total, or how it ended; return it once it is done."""
    jobs.progress(slot, unit)
    job = jobs.current(slot)
    if job is None or job.is_running:
        return None
    if job.state == "cancelled":
        st.caption(f"Cancelled after {whole(job.done)} of {whole(job.total)} {unit}; earlier results are still here.")
    elif job.error is not None:
        refusal(job.error)
    return job if job.state == "done" else None
