"""Figures of the error lab, the Consistency page and the first page: lines of errors, one draw, errors by level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment
from treedp_core.figures import style
from treedp_core.figures.curves import Curve, Simulated, beside_best, error_curves
from treedp_core.figures.draw import one_draw
from treedp_core.figures.levels import error_by_level
from treedp_core.figures.text import plot_text
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy.release import Release
from treedp_core.records import Labels
from treedp_core.studies.sweep.before_after import Expected
from treedp_core.studies.sweep.lines import Line, Question
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS, Series
from treedp_core.tree import AnyArray, Tree

X_TITLES: Final = {
    EPSILON: "privacy budget ε",
    N_LEVELS: "levels released",
}
EPSILON_RANGE: Final = (0.045, 18.0)
MAX_TICKS: Final = 16


def line_figure(
    question: Question, lines: Sequence[Line], level_names: Sequence[str], epsilon: float = 0.0
) -> go.Figure:
    """Return the figure of a question's lines; without lines the axes stand alone.

    The line at your epsilon is the question's, unless another `epsilon` is given.
    """
    if question.view == LEVEL:
        return _by_level(lines, METRICS[question.base.metric].title, level_names)
    return _curves(question.view, lines, question.base, epsilon or question.base.epsilon, len(level_names))


def _curves(view: str, lines: Sequence[Line], base: Experiment, epsilon: float, n_levels: int) -> go.Figure:
    along_epsilon = view == EPSILON
    series = [_curve(line) for line in lines]
    fig = error_curves(
        series,
        x_title=X_TITLES[view],
        y_title=METRICS[base.metric].title,
        log_x=along_epsilon,
        marker_x=epsilon if along_epsilon else None,
        x_range=_epsilon_range(epsilon) if along_epsilon else (min(2, n_levels) - 0.2, n_levels + 0.2),
        costs=("x",) if along_epsilon else (),
    )
    if not along_epsilon:  # there are no half levels
        fig.update_xaxes(tick0=min(2, n_levels), dtick=-(-n_levels // MAX_TICKS))
    return beside_best(fig, series, title=f"{METRICS[base.metric].label} ÷ the best of those shown")


def _epsilon_range(epsilon: float) -> tuple[float, float]:
    """The axis of the shared slider, stretched where a link brought an epsilon beyond it."""
    return min(EPSILON_RANGE[0], epsilon / 1.1), max(EPSILON_RANGE[1], epsilon * 1.1)


def _curve(line: Line) -> Curve:
    simulated = ~np.isnan(line.simulated)
    there = bool(simulated.any())
    return Curve(
        label=line.series.label,
        mechanism=line.series.mechanism,
        variant=CHAINS[line.series.pipeline].steps,
        x=line.x,
        formula=line.formula if line.has_formula else None,
        simulated=line.simulated[simulated] if there else None,
        standard_error=line.standard_error[simulated] if there else None,
        simulated_x=line.x[simulated] if there else None,
        stale=line.is_stale,
    )


def _by_level(lines: Sequence[Line], y_title: str, level_names: Sequence[str]) -> go.Figure:
    series = [
        Simulated(
            label=line.series.label,
            mechanism=line.series.mechanism,
            variant=CHAINS[line.series.pipeline].steps,
            formula=line.formula if line.has_formula else None,
            simulated=line.simulated if line.has_simulation else None,
            standard_error=line.standard_error if line.has_simulation else None,
            stale=line.is_stale,
        )
        for line in lines
    ]
    fig = error_by_level(series, level_names, y_title=y_title)
    for one in series:  # bars of one mechanism share its colour, so its pipelines need their dashes
        dash = style.look(one.mechanism, one.variant).dash
        fig.update_traces(line_dash=dash, selector={"mode": "lines", "name": plot_text(one.label)})
    return fig


def draw_figure(
    one: Series, releases: tuple[Release, Release], counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> go.Figure:
    """Return one draw of a series on one level: true counts (n_nodes,) and released ones.

    `releases` are the noisy counts and those after post-processing.
    """
    raw, final = releases
    nodes = tree.level(level)
    sigma = float(np.sqrt(raw.variance[nodes.start])) if raw.variance is not None else None
    return one_draw(
        counts[nodes],
        final.estimate[nodes],
        sigma=sigma,
        label=one.label,
        mechanism=one.mechanism,
        variant=CHAINS[one.pipeline].steps,
        name=partial(_name, labels, nodes.start),
    )


def _name(labels: Labels, start: int, position: int) -> str:
    return labels.label(start + position)


def expected_by_level(found: Sequence[Expected], level_names: Sequence[str]) -> go.Figure:
    """Return expected errors by level in the colours of before and after: orange, then blue."""
    series = [
        Simulated(
            label=one.series.label,
            mechanism=one.series.mechanism,
            variant=CHAINS[one.series.pipeline].steps,
            formula=one.summary.level,
        )
        for one in found
    ]
    fig = error_by_level(series, level_names, y_title=METRICS["rmse"].title)
    for one, colour in zip(series, (style.BEFORE, style.AFTER), strict=False):
        group = {"legendgroup": plot_text(one.label)}
        fig.update_traces(line_color=colour, selector=group | {"mode": "lines"})
        fig.update_traces(textfont_color=colour, selector=group | {"mode": "text"})
    return fig
