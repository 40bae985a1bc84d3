"""How far trees are from the least error of any linear Gaussian mechanism."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told, explain
from pages.ui.result import KEPT, at_once, in_background, show_state
from pages.ui.snippets import Ran, call, given
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.unused import NO_DELTA, NOTHING_DRAWN
from pages.views.cdf.source import NO_DATA, asked_bins
from pages.views.cdf.words import PROTECTS
from treedp_core.figures.cdf import ratio_bars
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.pipelines import BOUND_BINS, BOUND_ROUNDS, distance_table
from treedp_core.tree.workloads import Shape
from treedp_core.words import percent, plural, whole

IGNORES: Final = (
    NOTHING_DRAWN
    | NO_DELTA
    | {
        "eps": "Which tree is best is the same for every ε.",
        "nbr": "The formulas are those of replacing one record.",
    }
)

MEASURE: Final = Criterion("gaussian", least_squares=True)


def show() -> Told:
    """Show the distances as bars, worst first."""
    bins, ran = _distances(asked_bins())
    labels, ratios = ran.value.values()
    ratio, best = min(zip(ratios[:-1], labels[:-1], strict=True))
    frame.figure(
        ratio_bars(labels, ratios, x_title="mean variance of a cumulative count ÷ lower bound"),
        key="cdf_optimal",
        alt=f"The best tree, {best}, is {percent(ratio - 1)} above the lower bound.",
        caption=f"K = {whole(bins)}, Gaussian noise at the same ρ, one record replaced, N public. The bound holds for "
        "every mechanism that adds Gaussian noise to linear queries and estimates linearly without bias (optimal "
        "matrix mechanism, certified by duality); it holds at every ρ, as all errors fall alike. Formula and numerical "
        "bound.",
        ran=ran,
    )
    explain(
        f"The tree “{best}” is within {percent(ratio - 1)} of what is possible in variance, "
        f"{percent(math.sqrt(ratio) - 1)} in typical error, and takes linear instead of cubic work. For Laplace "
        "noise (pure ε) no such bound is computed here."
    )
    return Told(strip(plural(bins, "bin"), relation=PROTECTS, fixed=True), "formula")


def _distances(asked: int) -> tuple[int, Ran[dict[str, list[Any]]]]:
    """Return for which K, and how far trees are from its bound: the K asked for, once its bound is there.

    Up to `BOUND_BINS` it is computed at once. Up to `MAX_BOUND_BINS` it is sought in the background.
    """
    if asked > MAX_BOUND_BINS:
        st.caption(
            f"The bound takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins: K = {BOUND_BINS} is shown instead "
            f"of {whole(asked)}."
        )
    elif asked > BOUND_BINS:
        best = _best(asked)
        found = in_background(
            "cdf_bound", asked, BOUND_ROUNDS, partial(distance_table, asked, best.value), of=NO_DATA, of_data=False
        )
        show_state(found, f"Seeking the bound for K = {whole(asked)} (K = {BOUND_BINS} is shown)", "rounds")
        if found.is_ready:
            return asked, given(found.here(), distance_table, asked, best)
    bins = min(asked, BOUND_BINS)
    ran = call(distance_table, bins, _best(bins))
    value = at_once("cdf_distances", bins, lambda: ran.value, of=NO_DATA, room=KEPT).here()
    return bins, given(value, distance_table, bins, _best(bins))


def _best(bins: int) -> Ran[Shape]:
    return remember(("best", bins, MEASURE), lambda: call(best_shape, bins, MEASURE).named("best"))
