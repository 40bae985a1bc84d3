"""The error of whole pipelines against ε."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.settings import EPSILON
from pages.ui.shared import protected, slack
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.unused import NOTHING_DRAWN, ONE_REPLACED, PLAIN
from pages.views.cdf.source import asked_bins
from pages.views.cdf.words import PROTECTS, error_answer
from treedp_core.experiment import EPSILON_GRID
from treedp_core.figures.cdf import pipeline_figure
from treedp_core.notebook.code import Ran, call
from treedp_core.privacy import ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf.baselines import baseline_table
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.pipelines import SQUARES, error_curves, error_table, errors_at
from treedp_core.words import halves, plural, setting_text, short, whole

IGNORES: Final = NOTHING_DRAWN | PLAIN | ONE_REPLACED


def show() -> Told:
    """Show the errors as curves, and beside them at your ε."""
    (bins, _, say), epsilon, times = asked_bins(), EPSILON.value, protected()
    grid = tuple(sorted({*EPSILON_GRID[::2], epsilon}))
    criterion = Criterion(least_squares=True, unit=ProtectedUnit(PROTECTS, times))
    best = remember(("best", bins, criterion), lambda: call(best_shape, bins, criterion).named("best"))
    curves = call(error_curves, bins, grid, times, best, slack()).named("curves")
    at = call(errors_at, curves, epsilon)
    answer = error_answer(at.value["pipeline"], at.value["RMSE of a cumulative count"], epsilon)
    frame.figure(
        call(pipeline_figure, curves, epsilon),
        key="cdf_error",
        alt=answer,
        answer=answer,
        caption=f"K = {whole(bins)}. Root of the mean expected squared error of the cumulative counts, equal budgets, "
        f"one record replaced, N public; Laplace noise, or Gaussian where it says so, at δ = {setting_text(slack())}. "
        "Formula: Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al. (four of the lines are those of their "
        "Fig. 1, there with K = 256); least squares: own derivation; square-root matrix: Fichtenberger, Henzinger and "
        "Upadhyay (2023), the total added by least squares.",
        ran=call(error_table, curves),
    )
    say()
    told = strip(plural(bins, "bin"), relation=PROTECTS, fixed=True, epsilon=epsilon, delta=slack())
    return Told(told, "formula", more=partial(_more, at, call(baseline_table, bins, epsilon, times, best), epsilon))


def _more(at: Ran[dict[str, list[Any]]], named: Ran[dict[str, list[Any]]], epsilon: float) -> None:
    frame.table(
        at,
        key="cdf_error_at",
        alt="Values at your ε",
        caption=f"The same formulas at ε = {setting_text(epsilon)}, the least first; the summed squares are "
        "what Rameshwar et al. call N² E₂.",
        formats={SQUARES: halves, "× the best": short, "RMSE of a cumulative count": short},
    )
    frame.table(
        named,
        key="cdf_baselines",
        alt="Named mechanisms for cumulative counts, at your ε",
        caption=f"Mechanisms by name, Laplace noise, ε = {setting_text(epsilon)}, one record replaced, N public; ours "
        "is the best found tree with equal budgets. Formula. What AHP, MWEM and DAWA err depends on the records: AHP "
        "and DAWA are under the private partition of the error band, MWEM is under the marginals of TopDown.",
        formats={"÷ best found tree": short, "RMSE of a cumulative count": short},
    )
