"""Error against ε on the attribution-like sample: the five strategies of Dawson et al., Figure 4, on other data."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame, result, store
from pages.ui.page import Told
from pages.ui.settings import EPSILON, SEED, THRESHOLD
from pages.ui.strip import strip
from pages.ui.text import lit
from pages.ui.unused import NO_DELTA, NO_SLACK
from pages.views.budget import ask, words
from pages.views.budget import settings as s
from treedp_core.figures import budget as figures
from treedp_core.notebook.code import call, given
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.budget import NOT_PRIVATE, Curves, curve_table, figure4
from treedp_core.studies.budget.figure4 import PRIOR_EPSILON, TOTALS, unit_of
from treedp_core.studies.budget.tables import ERRORS_LABEL
from treedp_core.words import plural, setting_text, short, whole

IGNORES: Final = NO_DELTA | NO_SLACK | {"nbr": "The published experiment replaces a record within its known level."}

SAMPLE: Final = "conversions"
EVEN: Final = "Uniform, least squares"
Asked = tuple[int, float, int, int, bool]
"""Height, τ, slices, seed, and whether each partner has a split of its own."""


def show() -> Told:
    """Show the controls and the figure; while new curves are worked out the old ones stay, greyed."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.HEIGHT.draw()
        s.PARTNERS.draw()
    asked = (int(s.HEIGHT.value), THRESHOLD.value, s.PHASES_P.value, SEED.value, s.PARTNERS.value)
    sample = store.sample(SAMPLE)
    kept = result.in_background(
        "budget_curves", asked, 100, partial(figure4, sample, *asked), about=_about(asked), of=SAMPLE,
        of_data=False,
    )  # fmt: skip
    shown: Asked = kept.made_for or asked
    _figure(kept, shown)
    result.show_state(kept, "Working out the curves")
    height, *_, seed, _ = shown
    return Told(
        strip(
            lit(sample.name, 40), f"height {height}", relation=NeighbouringRelation.REPLACE_UNKNOWN, fixed=True,
            epsilon=EPSILON.value, seed=seed,
        ),
        words.badges(ask.question()),
        more=partial(_more, shown),
    )  # fmt: skip


def _about(asked: Asked) -> str:
    height, tau, phases, seed, by_partner = asked
    where = "for each partner" if by_partner else "for all partners together"
    return f"height {height}, τ = {short(tau)}, {plural(phases, 'slice')}, tuned {where}, seed {seed}"


def _figure(kept: result.Result[Curves], asked: Asked) -> None:
    shown = kept.value or Curves.empty(TOTALS)
    title = f"RMSRE of the tree (τ = {short(asked[1])})"
    again = given(shown, figure4, store.used_sample(SAMPLE), *asked).named("curves")
    fig = call(
        figures.strategy_curves, again.get("totals"), again.get("labels"), again.get("errors"), y_title=title,
        marker_x=EPSILON.value, stale=not kept.is_ready,
    )  # fmt: skip
    told = _takeaway(shown)
    frame.figure(
        fig,
        key="bud_curves",
        alt=told or "Empty axes: the curves are being worked out.",
        answer=told or "Working out the curves …",
        caption=_caption(asked),
        ran=call(curve_table, again).saying(ERRORS_LABEL) if kept.value is not None else None,
    )


def _more(asked: Asked) -> None:
    ask.tuning()
    st.markdown(f"**{s.HEIGHTS[str(asked[0])]}**")
    st.markdown(
        f"**Ledger.** Protects {unit_of(asked[0]).described}: the delay is unknown, everything above it is known. Each "
        "ε on the axis is the total of the later half: the larger of the sum over all levels and twice what the delay "
        f"level gets, because a changed delay moves two counts. For the prior ε = {setting_text(PRIOR_EPSILON)} was "
        "spent on the earlier half, that is on other records, and is not charged to the later one."
    )


def _caption(asked: Asked) -> str:
    height, tau, phases, seed, by_partner = asked
    where = "for each partner" if by_partner else "for all partners together"
    return (
        f"{NOT_PRIVATE}: closed form on the counts of the later half (discrete Laplace; Dawson et al., Figure 4: same "
        f"design, other data: synthetic conversions, {whole(store.sample(SAMPLE).total)} in all, each put into the "
        f"earlier or the later half at random, seed {seed}). Greedy: {plural(phases, 'slice')}, tuned {where} on one "
        f"noisy release of the earlier half. Dashed: before least squares. Height {height}, τ = {short(tau)}."
    )


def _takeaway(found: Curves) -> str:
    """Return who is best at the ε next to the reader's; nothing without curves."""
    if not found.labels:
        return ""
    total, errors = found.near(EPSILON.value)
    best = min(errors, key=errors.__getitem__)
    even = errors[EVEN]
    return (
        f"At ε = {setting_text(total)} the smallest error is {short(errors[best])} ({best}); an equal split with least "
        f"squares has {short(even)}, {short(even / errors[best])} times that."
    )
