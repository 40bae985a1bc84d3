"""How far trees are from the least error of any linear Gaussian mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.result import KEPT, NO_DATA, at_once, in_background, show_state
from pages.ui.setting import take
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.text import small_print
from pages.ui.unused import NO_DELTA, NOTHING_DRAWN, ONE_REPLACED, PLAIN
from pages.views.cdf import settings as s
from pages.views.cdf.source import asked_bins
from pages.views.cdf.words import PROTECTS
from treedp_core.figures.cdf import ratio_bars
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS, ROUNDS
from treedp_core.studies.cdf.pipelines import BOUND_BINS, OPTIMAL_MATRIX, ROOT_MATRIX, distance_table
from treedp_core.tree.workloads import Shape
from treedp_core.words import above_least, plural, whole

IGNORES: Final = (
    NOTHING_DRAWN | NO_DELTA | PLAIN | ONE_REPLACED | {"eps": "Which tree is best is the same for every ε."}
)

USE: Final = (
    s.VIEW.to("release"), s.WORKLOAD.to("cdf"), s.MECHANISM.to("discrete_gaussian"), s.POST.to(True),
)  # fmt: skip
MEASURE: Final = Criterion("gaussian", least_squares=True)


def show() -> Told:
    """Show the distances as bars, worst first."""
    asked, of_data, say_of_bins = asked_bins()
    bins, ran, say = _distances(asked)
    labels, ratios = ran.value.values()
    rows = dict(zip(labels, ratios, strict=True))
    best = min(rows.keys() - {ROOT_MATRIX, OPTIMAL_MATRIX}, key=rows.__getitem__)
    answer = (
        f"For {whole(bins)} bins the variance of the best tree is {above_least(rows[best])} that any linear Gaussian "
        f"mechanism can have, its typical error {above_least(math.sqrt(rows[best]))}; the variance of the square-root "
        f"matrix is {above_least(rows[ROOT_MATRIX])}, of the optimal matrix {above_least(rows[OPTIMAL_MATRIX])}, of "
        f"the worst shown {above_least(max(ratios))}."
    )
    frame.figure(
        call(ratio_bars, labels, ratios, x_title="mean variance of a cumulative count ÷ lower bound"),
        key="cdf_optimal",
        alt=answer,
        answer=answer,
        caption=f"K = {whole(bins)}, Gaussian noise at the same ρ, one record replaced, N public. Best tree: {best}; "
        "it takes linear instead of cubic work. The bound holds for every mechanism that adds Gaussian noise to linear "
        "queries and estimates linearly without bias (optimal matrix mechanism, certified by duality), at every ρ, as "
        "all errors fall alike. For Laplace noise (pure ε) no such bound is computed here. Formula and numerical "
        "bound.",
        ran=ran,
    )
    say_of_bins()
    say()
    _use(of_data)
    return Told(strip(plural(bins, "bin"), relation=PROTECTS, fixed=True), "formula")


def _use(n_bins: int) -> None:
    """Show the button that releases the bins of the data, by the square-root matrix where the optimal takes fewer."""
    tree, name, why = "optimal", "optimal", ""
    if n_bins > MAX_BOUND_BINS:
        tree, name = "root", "square-root"
        why = f" The data have {whole(n_bins)} bins; the optimal matrix takes at most {whole(MAX_BOUND_BINS)}."
    st.button(
        f"Release with the {name} matrix", key="cdf_use", type="primary", on_click=take,
        args=((*USE, s.TREE.to(tree)),),
        help=f"Shows the error band of one release of the bins of the data by it, with discrete Gaussian noise.{why}",
    )  # fmt: skip


def _distances(asked: int) -> tuple[int, Ran[dict[str, list[Any]]], Callable[[], object]]:
    """Return for which K, how far trees are from its bound, and what says why it is not the K asked for.

    Up to `BOUND_BINS` it is computed at once. Up to `MAX_BOUND_BINS` it is sought in the background.
    """
    say: Callable[[], object] = partial(
        small_print,
        f"The bound takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins: K = {BOUND_BINS} is shown instead of "
        f"{whole(asked)}.",
    )
    if asked <= BOUND_BINS:
        say = _nothing
    elif asked <= MAX_BOUND_BINS:
        best = _best(asked)
        found = in_background(
            "cdf_bound", asked, ROUNDS, partial(distance_table, asked, best.value), of=NO_DATA, of_data=False
        )
        if found.is_ready:
            return asked, given(found.here(), distance_table, asked, best), _nothing
        what = f"Seeking the bound for K = {whole(asked)} (K = {BOUND_BINS} is shown)"
        say = partial(show_state, found, what, "rounds")
    bins = min(asked, BOUND_BINS)
    ran = call(distance_table, bins, _best(bins))
    value = at_once("cdf_distances", bins, lambda: ran.value, of=NO_DATA, room=KEPT).here()
    return bins, given(value, distance_table, bins, _best(bins)), say


def _nothing() -> None:
    """Say nothing: the bins shown are those asked for."""


def _best(bins: int) -> Ran[Shape]:
    return remember(("best", bins, MEASURE), lambda: call(best_shape, bins, MEASURE).named("best"))
