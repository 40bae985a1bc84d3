"""The error of whole pipelines against ε."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.settings import CONTRIBUTIONS, EPSILON
from pages.ui.snippets import call
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.unused import NO_DELTA, NOTHING_DRAWN
from pages.views.cdf.source import asked_bins
from pages.views.cdf.words import PROTECTS
from treedp_core.experiment import EPSILON_GRID
from treedp_core.figures.cdf import pipeline_curves
from treedp_core.privacy import ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.pipelines import error_curves, error_table, errors_at
from treedp_core.words import halves, plural, setting_text, short, whole

IGNORES: Final = NOTHING_DRAWN | NO_DELTA | {"nbr": "The formulas are those of replacing one record."}


def show() -> Told:
    """Show the errors as curves, and at your ε as a table."""
    bins, epsilon, times = asked_bins(), EPSILON.value, CONTRIBUTIONS.value
    grid = tuple(sorted({*EPSILON_GRID[::2], epsilon}))
    criterion = Criterion(least_squares=True, unit=ProtectedUnit(PROTECTS, times))
    best = remember(("best", bins, criterion), lambda: call(best_shape, bins, criterion).named("best"))
    curves = call(error_curves, bins, grid, times, best).named("curves")
    at = call(errors_at, curves, epsilon, bins)
    lowest = at.value["pipeline"][at.value["÷ lowest"].index(1.0)]
    frame.figure(
        pipeline_curves(curves.value, y_title="N² E₂ (records²)", marker_x=epsilon),
        key="cdf_error",
        alt=f"Error against ε for K = {bins}: the lowest is {lowest}.",
        caption=f"K = {whole(bins)}. Expected squared error of the cumulative counts, summed over the bins (N² E₂), "
        "Laplace noise, equal budgets, one record replaced, N public. Formula: Lemmas III.1 and III.2 and Theorem IV.1 "
        "of Rameshwar et al. (the four lines of their Fig. 1, there with K = 256); least squares: own derivation.",
        ran=call(error_table, curves),
    )
    st.markdown(f"At your ε = {setting_text(epsilon)}:")
    frame.table(
        at,
        key="cdf_error_at",
        alt="Values at your ε",
        caption="The same formulas at your ε, and for one cumulative count.",
        formats={"N² E₂": halves, "÷ lowest": short, "RMSE of a cumulative count": short},
    )
    return Told(strip(plural(bins, "bin"), relation=PROTECTS, fixed=True, epsilon=epsilon), "formula")
