"""What the page CDF and ranges releases: its controls, and one draw of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.ui import tuned
from pages.ui.controls import draw_again
from pages.ui.result import at_once, refused, show_state
from pages.ui.settings import CONTRIBUTIONS, EPSILON, RELATION, SEED
from pages.ui.shared import experiment, note_of_slack, slack_of
from pages.ui.store import remember
from pages.views.cdf import settings as s
from pages.views.cdf.words import what
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import InputError
from treedp_core.experiment import total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import Draw, draw
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.release import STRATEGIES, TREE
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.tree.workloads import Shape, equal_tree


def controls() -> None:
    """Show on which tree what is released."""
    if s.TREE.draw() == "own":
        s.FACTORS.draw()
    s.MECHANISM.draw()


def more_controls() -> None:
    """Show how the budget is split and the release made consistent, and what takes another draw."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if s.TREE.value not in STRATEGIES and s.ALLOCATION.draw() == "custom":
            s.SHARES.draw()
        s.FIT.draw()
        s.POST.draw()
        draw_again("cdf_draw")


def _settings(data: Bins) -> CdfSettings:
    """Return the release the settings describe, over the bins of the data.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for the tree, ``BUDGET_SPLIT`` for shares that are none.
    """
    mechanism = s.MECHANISM.value
    unit = ProtectedUnit(NeighbouringRelation(RELATION.value), CONTRIBUTIONS.value)
    if s.TREE.value in STRATEGIES:
        return CdfSettings(
            data.n_bins, (), mechanism, EPSILON.value, slack_of([mechanism], data.total),
            least_squares=s.POST.value, relation=RELATION.value, contributions=CONTRIBUTIONS.value,
            strategy=s.TREE.value,
        )  # fmt: skip
    shape = _shape(data.n_bins, Criterion(mechanism, least_squares=s.POST.value, unit=unit))
    shares = shares_from_text(s.SHARES.value) if s.ALLOCATION.value == "custom" else ()
    return CdfSettings(
        data.n_bins, shape.branching_factors, mechanism, EPSILON.value, slack_of([mechanism], data.total),
        s.ALLOCATION.value, shares, s.POST.value, RELATION.value, CONTRIBUTIONS.value,
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
    try:
        chosen = _settings(data)
    except InputError as error:
        found = refused("cdf_draw", error, of=data.fingerprint)
    else:
        key = (chosen, s.FIT.value, SEED.value, tuned.in_force("cdf"))
        found = at_once("cdf_draw", key, partial(_made, data, chosen), about=what(chosen), of=data.fingerprint)
    mine: Draw | None = found.value
    plain = CdfSettings(data.n_bins, (data.n_bins,), epsilon=EPSILON.value)

    def say() -> None:
        note_of_slack([s.MECHANISM.value], "cdf_set_delta", data.total)
        tuned.note("cdf")
        show_state(found, "Drawing a release")
        if found.error is not None and found.error.code == "STRATEGY_NOISE":
            fit = STRATEGIES[s.TREE.value].mechanisms[0]
            st.button(f"Take {MECHANISMS[fit].label.lower()} noise", key="cdf_fit_noise", on_click=s.MECHANISM.set,
                      args=(fit,), help="Sets the mechanism of this page to one that the matrix is for.")  # fmt: skip
        if mine is None:
            st.caption(f":material/history: Shown meanwhile: {what(plain)}.")

    return mine or draw(plan_cdf(plain), data.counts, "squared", SEED.value), say


def _made(data: Bins, chosen: CdfSettings) -> Draw:
    plan = remember(chosen, lambda: plan_cdf(chosen), shelf="cdf plan", room=1)
    if tuned.in_force("cdf") is not None and chosen.strategy == TREE:
        total = total_of(experiment(mechanism=chosen.mechanism, delta=chosen.delta))
        tuned.admit("cdf", chosen.unit, plan.budget.currency, total, plan.budget.per_level)
    return draw(plan, data.counts, s.FIT.value, SEED.value)
