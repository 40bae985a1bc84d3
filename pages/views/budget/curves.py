"""Error against ε on the attribution-like sample: the five strategies of Dawson et al., Figure 4, on other data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, store
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.snippets import Ran, call, given
from pages.ui.strip import strip
from pages.ui.text import lit, plural, short, whole
from pages.views.budget.settings import HEIGHTS
from pages.views.budget.state import last, later, wait
from pages.views.budget.tables import ERRORS_LABEL
from treedp_core.checks import InputError
from treedp_core.errors import Tolerance
from treedp_core.figures import budget as figures
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records import Dataset
from treedp_core.studies.budget import NOT_PRIVATE, Curves, Problem, curves, noisy
from treedp_core.tree import AnyArray, Tree
from treedp_core.watch import Watch, generator
from treedp_core.words import setting_text

SAMPLE: Final = "conversions"
LAW: Final = "discrete_laplace"
PRIOR_EPSILON: Final = 1.0
TOTALS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
MERGED_DELAYS: Final = 3
SLOT: Final = "budget_curves"
ATTRIBUTES: Final = {
    "5": "5: partner, country, device, product age, delay in 2-day buckets",
    "4": "4: partner, country, device, delay in 6-day buckets",
    "3": "3: partner, country, delay in 6-day buckets",
}


@dataclass(frozen=True, eq=False)
class Periods:
    """The sample on a tree of the wanted height, its records put at random into an earlier and a later half."""

    tree: Tree
    earlier: AnyArray
    later: AnyArray


def periods(data: Dataset, height: int, seed: int) -> Periods:
    """Return the two halves of the attribution-like sample.

    Below height 5 the delay is merged to 6-day buckets and known attributes are left out from the last, as in the
    paper; an attribute is left out by adding up over it.
    """
    tree = data.tree
    n_delays = int(tree.n_children[tree.level(tree.height - 1)][0])
    leaves = np.asarray(data.counts[tree.level(tree.height)]).reshape(-1, n_delays)
    if height < tree.height:
        leaves = leaves.reshape(leaves.shape[0], n_delays // MERGED_DELAYS, MERGED_DELAYS).sum(axis=2)
        for level in range(tree.height - 2, height - 2, -1):
            leaves = np.add.reduceat(leaves, tree.first_child[tree.level(level)] - tree.level_start[level + 1], axis=0)
    above = [tree.n_children[tree.level(level)] for level in range(height - 1)]
    shorter = Tree.from_child_counts([*above, np.full(leaves.shape[0], leaves.shape[1])])
    earlier = generator("earlier half", seed).binomial(leaves.ravel(), 0.5)
    return Periods(shorter, shorter.counts_of_leaves(earlier), shorter.counts_of_leaves(leaves.ravel() - earlier))


def errors(
    data: Dataset, height: int, threshold: float, phases: int, seed: int, by_partner: bool, watch: Watch | None = None
) -> Curves:
    """Return the five curves; greedy splits are tuned on a noisy release of the earlier half."""
    halves = periods(data, height, seed)
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, known_levels=height)
    prior = noisy(halves.tree, halves.earlier, unit, LAW, PRIOR_EPSILON, generator("prior on the earlier half", seed))
    tuned = Problem(halves.tree, prior.counts, LAW, unit, "rmsre", Tolerance(threshold=threshold))
    judged = Problem(halves.tree, halves.later, LAW, unit, "rmsre", Tolerance(threshold=threshold))
    return curves(tuned, judged, TOTALS, phases, 1 if by_partner else None, watch)


def show() -> None:
    """Show the controls and the figure; while new curves are worked out the old ones stay, greyed."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "Height of the tree",
            list(HEIGHTS),
            required=True,
            key="bud_height",
            persist_state="session",
            help="\n\n".join(ATTRIBUTES.values()),
        )
        st.toggle(
            "A split for each partner",
            key="bud_partners",
            persist_state="session",
            help="As in the paper: greedy is tuned for each partner on its own prior, on the pooled one where it has "
            "none; the root is then neither measured nor judged. Off: one split for all.",
        )
    arguments = (int(get("bud_height")), get("tau"), get("bud_phases"), get("seed"), get("bud_partners"))
    sample = store.sample(SAMPLE)  # here, as a thread has no session to look in
    try:
        found = later(SLOT, arguments, lambda watch: (arguments, errors(sample, *arguments, watch)))
    except InputError as error:
        refusal(error)
        return
    kept = found if found is not None else last(SLOT)
    again = None if kept is None else given(kept[1], errors, store.used_sample(SAMPLE), *kept[0]).named("curves")
    _figure(again, stale=found is None)
    if found is None:
        wait(SLOT, "Working out the curves")


def about() -> str:
    """Return the strip: the sample, and what the curves are for whatever the sidebar says."""
    return strip(
        lit(store.sample(SAMPLE).name, 40),
        f"height {get('bud_height')}",
        relation=NeighbouringRelation.REPLACE_UNKNOWN,
        fixed=True,
        epsilon=get("eps"),
        seed=get("seed"),
    )


def _figure(again: Ran[Curves] | None, *, stale: bool) -> None:
    found = None if again is None else again.value
    tau, height = short(get("tau")), int(get("bud_height"))
    none = Curves(np.array(TOTALS), (), np.zeros((0, len(TOTALS))))
    shown = found or none
    fig = figures.strategy_curves(
        shown.totals, shown.labels, shown.errors, y_title=f"RMSRE of the tree (τ = {tau})", marker_x=get("eps"),
        stale=stale,
    )  # fmt: skip
    st.markdown(f"**{ATTRIBUTES[str(height)]}**")
    frame.figure(
        fig,
        key="bud_curves",
        alt=_takeaway(shown) or "Empty axes: the curves are being worked out.",
        caption=_caption(tau, height),
        ran=call(curve_table, again).saying(ERRORS_LABEL) if again is not None else None,
    )
    if found is not None and not stale:
        st.markdown(_takeaway(found))
    _ledger(height)


def _caption(tau: str, height: int) -> str:
    data = store.sample(SAMPLE)
    where = "for each partner" if get("bud_partners") else "for all partners together"
    return (
        f"{NOT_PRIVATE}: closed form on the counts of the later half (discrete Laplace; Dawson et al., Figure 4: same "
        f"design, other data: synthetic conversions, {whole(data.total)} in all, each put into the earlier or the "
        f"later half at random, seed {get('seed')}). Greedy: {plural(get('bud_phases'), 'slice')}, tuned {where} on "
        f"one noisy release of the earlier half. Dashed: before least squares. Height {height}, τ = {tau}."
    )


def _ledger(height: int) -> None:
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, known_levels=height)
    st.markdown(
        f"**Ledger.** Protects {unit.described}: the delay is unknown, everything above it is known. Each ε on the "
        "axis is the total of the later half: the larger of the sum over all levels and twice what the delay level "
        "gets, because a changed delay moves two counts. "
        f"For the prior ε = {setting_text(PRIOR_EPSILON)} was spent on the earlier half, that is on other records, and "
        "is not charged to the later one."
    )


def _takeaway(found: Curves) -> str:
    """Return who is best at the ε next to the reader's; nothing without curves."""
    if not found.labels:
        return ""
    at = int(np.argmin(np.abs(np.log(found.totals / get("eps")))))
    values = found.errors[:, at]
    best = int(np.argmin(values))
    even = values[found.labels.index("Uniform, least squares")]
    told = f"At ε = {setting_text(found.totals[at])} the smallest error is {short(values[best])} "
    told += f"({found.labels[best]}); "
    return told + f"an equal split with least squares has {short(even)}, {even / values[best]:.2f} times that."


def curve_table(found: Curves) -> dict[str, Any]:
    """Return the errors of every strategy by total budget."""
    named = dict(zip(found.labels, found.errors, strict=True))
    return {ERRORS_LABEL: [NOT_PRIVATE] * found.totals.size, "epsilon": found.totals, **named}
