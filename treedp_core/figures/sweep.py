"""Figures of the error lab, the Consistency page and the first page: lines of errors, one draw, errors by level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.checks import InputError
from treedp_core.errors import METRICS, ErrorSummary
from treedp_core.experiment import Experiment, Outcome
from treedp_core.figures.base import style
from treedp_core.figures.base.curves import Curve, Simulated, beside_best, error_curves
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.base.text import plot_text
from treedp_core.figures.trees.draw import one_draw
from treedp_core.figures.trees.levels import error_by_level
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy.promise import Release
from treedp_core.records import Labels
from treedp_core.studies.sweep.before_after import Expected
from treedp_core.studies.sweep.frames import names_of_levels
from treedp_core.studies.sweep.lines import Line, Question
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS, Series, words_of
from treedp_core.tree import AnyArray, FloatArray, Tree

X_TITLES: Final = {
    EPSILON: "privacy budget ε",
    N_LEVELS: "levels released",
}
EPSILON_RANGE: Final = (0.045, 18.0)
MAX_TICKS: Final = 16


def line_figure(question: Question, lines: Sequence[Line], level_names: Sequence[str], epsilon: float = 0.0) -> Draft:
    """Return the figure of a question's lines; without lines the axes stand alone.

    The line at your epsilon is the question's, unless another `epsilon` is given.
    """
    if question.view == LEVEL:
        return _by_level(lines, METRICS[question.base.metric].title, level_names)
    return _curves(question.view, lines, question.base, epsilon or question.base.epsilon, len(level_names))


def of(outcomes: Iterable[Outcome], *, level_names: Sequence[str] = ()) -> go.Figure:
    """Return the figure of what a sweep found: errors over epsilon where several were tried, else by level.

    Parameters
    ----------
    outcomes : iterable of Outcome
        Of one metric, on one tree; each combination of what differs besides epsilon is a line.
    level_names : sequence of str
        From the root down; numbers without them.

    Raises
    ------
    InputError
        ``FIGURE_METRICS`` when the outcomes have several metrics, ``FIGURE_EMPTY`` when there are none,
        ``FRAME_LEVELS`` for names of another number of levels.

    >>> from treedp_core import grid, sweep
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> cells = grid(mechanism=["laplace", "discrete_laplace"], epsilon=[0.5, 1.0, 2.0])
    >>> fig = of(sweep(cells, tree, tree.counts_of_leaves(np.ones(4)), simulated=False))
    >>> fig.layout.xaxis.title.text, sorted({trace.name for trace in fig.data if trace.mode == "lines"})
    ('privacy budget ε', ['Discrete Laplace', 'Laplace'])
    """
    found = list(outcomes)
    metrics = {one.experiment.metric for one in found}
    if len(metrics) != 1:
        code = "FIGURE_METRICS" if metrics else "FIGURE_EMPTY"
        raise InputError(code, f"Expected outcomes of one metric in a figure, got {len(metrics)}.")
    metric, level_names = METRICS[metrics.pop()], names_of_levels(found, level_names)
    groups: dict[Experiment, list[Outcome]] = {}
    for one in found:
        groups.setdefault(replace(one.experiment, epsilon=1.0), []).append(one)
    labels = dict(zip(groups, words_of(list(groups)), strict=True))
    epsilons = {one.experiment.epsilon for one in found}
    if len(epsilons) > 1:
        curves = [_swept(labels[key], group) for key, group in groups.items()]
        fig = _along_epsilon(curves, metric.title, metric.label, min(epsilons), max(epsilons), None)
    else:
        levels = [_of_levels(labels[key], group[-1]) for key, group in groups.items()]
        n_levels = max(one.n_levels for one in found)
        fig = error_by_level(levels, level_names or list(map(str, range(n_levels))), y_title=metric.title)
    return _apart(fig, groups, labels).figure()


def _swept(label: str, group: Sequence[Outcome]) -> Curve:
    """The line of outcomes that differ in epsilon only."""
    ordered = sorted(group, key=lambda one: one.experiment.epsilon)
    x = np.array([one.experiment.epsilon for one in ordered])
    formula = np.array([np.nan if one.formula is None else one.formula.tree for one in ordered])
    there = np.array([one.simulation is not None for one in ordered])
    tried = [one.simulation for one in ordered if one.simulation is not None]
    return Curve(
        label=label, mechanism=ordered[0].experiment.mechanism, variant=ordered[0].experiment.postprocess, x=x,
        formula=None if np.isnan(formula).all() else formula,
        simulated=np.array([one.tree for one in tried]) if tried else None,
        standard_error=np.array([one.tree_se for one in tried]) if tried else None,
        simulated_x=x[there] if tried else None,
    )  # fmt: skip


def _of_levels(label: str, one: Outcome) -> Simulated:
    def part(summary: ErrorSummary | None, name: str) -> FloatArray | None:
        return None if summary is None else getattr(summary, name)

    return Simulated(
        label=label, mechanism=one.experiment.mechanism, variant=one.experiment.postprocess,
        formula=part(one.formula, "level"), simulated=part(one.simulation, "level"),
        standard_error=part(one.simulation, "level_se"),
    )  # fmt: skip


def _apart(fig: Draft, groups: Iterable[Experiment], labels: dict[Experiment, str]) -> Draft:
    """Give lines of one mechanism and post-processing, which differ in something else, colours of their own."""
    colours, used = [one.colour for one in style.PALETTE.values()], dict[tuple[str, ...], int]()
    for key in groups:
        same = (key.mechanism, *key.postprocess)
        nth = used[same] = used.get(same, -1) + 1
        if nth:
            start = colours.index(mine) if (mine := style.look(key.mechanism).colour) in colours else 0
            painted = {"color": colours[(start + nth) % len(colours)]}
            group = {"legendgroup": plot_text(labels[key])}
            fig.update_traces(line=painted, selector=group | {"mode": "lines"})
            fig.update_traces(marker=painted, error_y=painted, selector=group | {"mode": "markers"})
            fig.update_traces(textfont=painted, selector=group | {"mode": "text"})
    return fig


def _curves(view: str, lines: Sequence[Line], base: Experiment, epsilon: float, n_levels: int) -> Draft:
    series, metric = [_curve(line) for line in lines], METRICS[base.metric]
    if view == EPSILON:  # the axis of the shared slider, stretched where a link brought an epsilon beyond it
        return _along_epsilon(series, metric.title, metric.label, *_stretched(epsilon), epsilon)
    fig = error_curves(
        series, x_title=X_TITLES[view], y_title=metric.title, log_x=False,
        x_range=(min(2, n_levels) - 0.2, n_levels + 0.2),
    )  # fmt: skip
    fig.update_xaxes(tick0=min(2, n_levels), dtick=-(-n_levels // MAX_TICKS))  # there are no half levels
    return beside_best(fig, series, title=_beside(metric.label))


def _along_epsilon(
    series: Sequence[Curve], y_title: str, label: str, low: float, high: float, marker: float | None
) -> Draft:
    """Error curves over the privacy budget, and each divided by the best beside."""
    fig = error_curves(
        series, x_title=X_TITLES[EPSILON], y_title=y_title, marker_x=marker, x_range=(low, high), costs=("x",)
    )
    return beside_best(fig, series, title=_beside(label))


def _beside(label: str) -> str:
    return f"{label} ÷ the best"


def _stretched(epsilon: float) -> tuple[float, float]:
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


def _by_level(lines: Sequence[Line], y_title: str, level_names: Sequence[str]) -> Draft:
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
        fig.update_traces(line={"dash": dash}, selector={"mode": "lines", "name": plot_text(one.label)})
    return fig


def draw_figure(
    one: Series, releases: tuple[Release, Release], counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> Draft:
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


def expected_by_level(found: Sequence[Expected], level_names: Sequence[str]) -> Draft:
    """Draft expected errors by level in the colours of before and after: orange, then blue."""
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
        fig.update_traces(line={"color": colour}, selector=group | {"mode": "lines"})
        fig.update_traces(textfont={"color": colour}, selector=group | {"mode": "text"})
    return fig
