"""The error lab's figures and the tables under them, from lines. Pure logic: no Streamlit here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pages.views.lab.text import X_TITLES, y_title
from treedp_core.experiment import Experiment
from treedp_core.figures import Curve, LevelErrors, error_by_level, error_curves, one_draw, plot_text, style
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Labels
from treedp_core.release import Release
from treedp_core.studies.sweep.lines import Line
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS, Series
from treedp_core.tree import AnyArray, Tree

EPSILON_RANGE = (0.045, 18.0)
MAX_TICKS = 16
MAX_ROWS = 100_000


def figure(view: str, lines: Sequence[Line], base: Experiment, level_names: Sequence[str]) -> Any:
    """Return the figure of a view; without lines the axes stand alone."""
    fig = _by_level(lines, base, level_names) if view == LEVEL else _curves(view, lines, base, len(level_names))
    for line in lines:
        if line.is_stale:
            _grey_out(fig, line.series.label)
    return fig


def _curves(view: str, lines: Sequence[Line], base: Experiment, n_levels: int) -> Any:
    along_epsilon = view == EPSILON
    fig = error_curves(
        [_curve(line) for line in lines],
        x_title=X_TITLES[view],
        y_title=y_title(base.metric),
        log_x=along_epsilon,
        marker_x=base.epsilon if along_epsilon else None,
        x_range=_epsilon_range(base.epsilon) if along_epsilon else (min(2, n_levels) - 0.2, n_levels + 0.2),
        costs=("x",) if along_epsilon else (),
    )
    if not along_epsilon:  # there are no half levels
        fig.update_xaxes(tick0=min(2, n_levels), dtick=-(-n_levels // MAX_TICKS))
    return fig


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
    )


def _by_level(lines: Sequence[Line], base: Experiment, level_names: Sequence[str]) -> Any:
    series = [
        LevelErrors(
            label=line.series.label,
            mechanism=line.series.mechanism,
            variant=CHAINS[line.series.pipeline].steps,
            formula=line.formula if line.has_formula else None,
            simulated=line.simulated if line.has_simulation else None,
            standard_error=line.standard_error if line.has_simulation else None,
        )
        for line in lines
    ]
    fig = error_by_level(series, level_names, y_title=y_title(base.metric))
    for one in series:  # bars of one mechanism share its colour, so its pipelines need their dashes
        dash = style.look(one.mechanism, one.variant).dash
        fig.update_traces(line_dash=dash, selector={"mode": "lines", "name": plot_text(one.label)})
    return fig


def _grey_out(fig: Any, label: str) -> None:
    """Grey the markers of one series: they were simulated with other settings."""
    name = plot_text(label)
    for trace in fig.data:
        if trace.mode == "markers" and trace.legendgroup == name:
            grey = {"color": style.GREY, "line": {"color": style.GREY}}
            trace.update(marker=grey, error_y={"color": style.GREY}, opacity=0.5)


def draw_figure(
    one: Series, raw: Release, final: Release, counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> Any:
    """Return one draw of a series on one level: true and released counts."""
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


def draw_table(
    releases: tuple[Release, Release], counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> dict[str, list[Any]]:
    """Return true and released counts of one level (at most 100 000 nodes), in the order of the tree.

    `releases` are the noisy counts and those after post-processing.
    """
    final = releases[1]
    nodes = range(tree.n_nodes)[tree.level(level)][:MAX_ROWS]
    return {
        "node": list(nodes),
        "label": [labels.label(node) for node in nodes],
        "count NOT PRIVATE": [int(counts[node]) for node in nodes],
        "released": [float(final.estimate[node]) for node in nodes],
    }


def _name(labels: Labels, start: int, position: int) -> str:
    return labels.label(start + position)


def table(view: str, lines: Sequence[Line], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind a figure, one row for each series and point."""
    x_name = {EPSILON: "epsilon", LEVEL: "level", N_LEVELS: "number of levels"}[view]
    columns: dict[str, list[Any]] = {name: [] for name in ("series", x_name, "formula", "simulation", "standard error")}
    for line in lines:
        points = line.x.tolist()
        columns["series"] += [line.series.label] * len(points)
        columns[x_name] += [level_names[int(x)] for x in points] if view == LEVEL else points
        columns["formula"] += _known(line.formula)
        columns["simulation"] += _known(line.simulated)
        columns["standard error"] += _known(line.standard_error)
    if any(line.is_stale for line in lines):
        columns["simulated for"] = [", ".join(line.computed_for) or "-" for line in lines for _ in line.x]
    return columns


def _known(values: AnyArray) -> list[float | None]:
    """Values as a table holds them: nothing where there is none."""
    return [None if np.isnan(value) else float(value) for value in values.tolist()]
