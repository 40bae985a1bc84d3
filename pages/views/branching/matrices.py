"""Trees beside matrices, on the Branching factor page."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.matrices import sought_matrix
from pages.ui.result import NO_DATA, Result, at_once, run_button, show_state
from pages.views.branching.answer import Answer
from treedp_core.figures.cdf import ratio_bars
from treedp_core.notebook.code import call, given
from treedp_core.studies.branching.beside import is_bounded, search_of, trees_and_matrices, wanted
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.plan import SEARCHES
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.tree.workloads import Workload
from treedp_core.words import short, whole

AT_ONCE: Final = 64
"""Bins up to which a matrix is sought while one waits."""


def matrices(found: Answer) -> None:
    """Show how far trees and matrices are from the least possible, on one axis."""
    asked = found.asked
    if asked.criterion.workload is Workload.NODES or asked.n_bins > MAX_BOUND_BINS:
        return
    st.header("Trees and matrices", anchor=False)
    matrix = None
    if asked.n_bins > AT_ONCE:
        name = search_of(asked)
        label = STRATEGIES[name].label.lower()
        search = sought_matrix(name, wanted(asked), asked.criterion.unit.by_pairs, start="button")
        if not search.is_ready:
            run_button(search, "bra_matrices_run", label=f"Seek the {label}", help="Takes seconds for many bins.")
            show_state(search, f"Seeking the {label}", SEARCHES[name].unit)
            return
        matrix = search.here()
    work = partial(trees_and_matrices, asked, found.ranked.value, matrix)
    shown: Result[dict[str, list[Any]]] = at_once("bra_matrices", asked, work, of=NO_DATA)
    ran = given(shown.here(), trees_and_matrices, asked, found.ranked)
    labels, ratios = ran.value.values()
    what = "the least possible (certified)" if is_bounded(asked) else "the least of them"
    frame.figure(
        call(ratio_bars, labels, ratios, x_title=f"mean variance ÷ {what}"),
        key="bra_matrices",
        alt=f"{labels[-1]} errs least; {labels[0]} has {short(ratios[0] / ratios[-1])} times its mean variance.",
        caption=f"K = {whole(asked.n_bins)}, {found.words}; matrices after least squares, at the same budget. “CDF and "
        "ranges” releases with them. Formula and numerical search.",
        ran=ran,
    )
