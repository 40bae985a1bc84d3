"""What the page CDF and ranges releases: its controls, and one draw of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import tuned
from pages.ui.controls import draw_again, shares
from pages.ui.matrices import sought_matrix
from pages.ui.result import Result, at_once, refused, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import EPSILON, RELATION, SEED
from pages.ui.shared import note_of_slack, protected, slack_of
from pages.ui.store import bound_of, remember
from pages.ui.text import small_print
from pages.views.cdf import queries
from pages.views.cdf import settings as s
from pages.views.cdf.words import instead, what
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.accounting import USUAL
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import Draw, draw
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.matrices.plan import SEARCHES, Matrix, Sought
from treedp_core.studies.cdf.matrices.wanted import OWN
from treedp_core.studies.cdf.release import STRATEGIES, CdfPlan
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.tree.workloads import Shape, equal_tree

AT_ONCE: Final = 128
"""Bins up to which a matrix is sought while one waits."""
ON_ITS_WAY: Final = InputError("BUSY", "The matrix is on its way.")


def controls() -> None:
    """Show on which tree what is released, or what a matrix or a partition is made for."""
    if s.TREE.draw() == "own":
        s.FACTORS.draw()
    if s.TREE.value in STRATEGIES and s.WORKLOAD.draw() == OWN:
        with st.popover("Ranges", icon=":material/tune:", width="content"):
            queries.show()
    s.MECHANISM.draw()


def more_controls() -> None:
    """Show how the budget is split and the release made consistent, and what takes another draw."""
    with in_a_row():
        if s.TREE.value not in STRATEGIES and s.ALLOCATION.draw() == "custom":
            s.SHARES.draw()
        if s.TREE.value not in STRATEGIES and s.MECHANISM.value == "discrete_gaussian":
            s.ACCOUNTING.draw()
        s.FIT.draw()
        s.POST.draw()
        draw_again("cdf_draw")


def settings_of(data: Bins) -> CdfSettings:
    """Return the release the settings describe, over the bins of the data.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for the tree, ``BUDGET_SPLIT`` for shares that are none.
    """
    mechanism, most = s.MECHANISM.value, protected(bound_of(data.fingerprint))
    unit = ProtectedUnit(NeighbouringRelation(RELATION.value), most)
    if s.TREE.value in STRATEGIES:
        ranges = queries.asked_ranges() if s.WORKLOAD.value == OWN else ()
        return CdfSettings(
            data.n_bins, (), mechanism, EPSILON.value, slack_of([mechanism], data.total),
            least_squares=s.POST.value, relation=RELATION.value, contributions=most,
            strategy=s.TREE.value, workload=s.WORKLOAD.value, ranges=ranges, has_other=data.has_other,
        )  # fmt: skip
    shape = _shape(data.n_bins, Criterion(mechanism, least_squares=s.POST.value, unit=unit))
    return CdfSettings(
        data.n_bins, shape.branching_factors, mechanism, EPSILON.value, slack_of([mechanism], data.total),
        s.ALLOCATION.value, shares(s.ALLOCATION, s.SHARES), s.POST.value, RELATION.value, most,
        accounting=tuned.accounting("cdf", s.ACCOUNTING.value) if mechanism == "discrete_gaussian" else USUAL.value,
        has_other=data.has_other,
    )  # fmt: skip


def _shape(n_bins: int, criterion: Criterion) -> Shape:
    match s.TREE.value:
        case "own":
            return Shape(branching_factors_from_text(s.FACTORS.value), n_bins)
        case "histogram":
            return Shape((n_bins,), n_bins)
        case "best":
            return remember(("best tree", n_bins, criterion), lambda: best_shape(n_bins, criterion))
        case name:
            return equal_tree(n_bins, {"sixteen": 16, "binary": 2}[name])


def drawn_of(data: Bins) -> tuple[Draw, Callable[[], object]]:
    """Return the release of the settings, and what shows how it stands with them.

    Below a refusal it is the last good one of these data, else a histogram's.
    """
    sought: Result[Sought] | None = None
    try:
        chosen = settings_of(data)
        sought = _sought(chosen)
    except InputError as error:
        found = refused("cdf_draw", error, of=data.fingerprint)
    else:
        key = (chosen, s.FIT.value, SEED.value, tuned.in_force("cdf"))
        if sought is None or sought.is_ready:
            make = partial(_made, data, chosen, None if sought is None else sought.value)
            found = at_once("cdf_draw", key, make, about=what(chosen), of=data.fingerprint)
        else:
            found = refused("cdf_draw", sought.error or ON_ITS_WAY, of=data.fingerprint)
    mine: Draw | None = found.value
    plain = CdfSettings(data.n_bins, (data.n_bins,), epsilon=EPSILON.value, has_other=data.has_other)

    def say() -> None:
        note_of_slack([s.MECHANISM.value], "cdf_set_delta", data.total)
        tuned.note("cdf")
        if sought is None or sought.is_ready:
            show_state(found, "Drawing a release")
        else:
            show_state(sought, f"Seeking the {STRATEGIES[s.TREE.value].label.lower()}", SEARCHES[s.TREE.value].unit)
        if found.error is not None and found.error.code == "STRATEGY_NOISE":
            fit = STRATEGIES[s.TREE.value].mechanisms[0]
            st.button(f"Take {MECHANISMS[fit].label} noise", key="cdf_fit_noise", on_click=s.MECHANISM.set,
                      args=(fit,), help="Sets the mechanism of this page to one that the matrix is for.")  # fmt: skip
        if mine is None:
            small_print(f":material/history: Shown meanwhile: {what(plain)}.")
        elif found.is_ready and s.TREE.value in STRATEGIES and isinstance(mine.plan, CdfPlan):
            small_print(instead(s.TREE.value, mine.plan.settings))

    return mine or draw(plan_cdf(plain), data.counts, "squared", SEED.value), say


def _sought(chosen: CdfSettings) -> Result[Sought] | None:
    """The matrix of many bins, from a search in the background; None where none is needed or it takes no time."""
    strategy = STRATEGIES[chosen.strategy]
    if not strategy.sought or chosen.mechanism not in strategy.mechanisms or chosen.n_bins <= AT_ONCE:
        return None
    return sought_matrix(chosen.strategy, chosen.wanted, chosen.unit.by_pairs, is_own=chosen.workload == OWN)


def _made(data: Bins, chosen: CdfSettings, matrix: Matrix | None) -> Draw:
    plan = remember(chosen, lambda: plan_cdf(chosen, matrix), shelf="cdf plan", room=1)
    if tuned.in_force("cdf") is not None and isinstance(plan, CdfPlan) and plan.settings == chosen:
        tuned.admit("cdf", chosen.unit, plan.budget.currency, plan.total, plan.budget.per_level)
    return draw(plan, data.counts, s.FIT.value, SEED.value)
