"""Level strips: a big tree as one row of colours for each level, leaves from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.colour import colouring
from treedp_core.figures.base.draft import Draft, bar, trace
from treedp_core.figures.base.style import AFTER, BEFORE, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.sweep.before_after import Draw
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.words import hover

MAX_COLUMNS = 600


def level_strips(
    tree: Tree,
    values: AnyArray,
    level_names: Sequence[str],
    *,
    reduce: Literal["mean", "extreme"] = "mean",
    colour_range: tuple[float, float] | None = None,
    colour_title: str = "",
) -> Draft:
    """Draft a value of every node (n_nodes,) as strips, the root's on top; see `strip_values`.

    Parameters
    ----------
    colour_range : pair of float, optional
        Ends of the colour scale: of signed errors if it starts below 0, else of counts; see `colouring`.

    >>> tree = Tree.from_branching_factors((2, 2))
    >>> fig = level_strips(tree, np.arange(7.0), ["all", "state", "county"])
    >>> fig.data[0]["customdata"].tolist()
    [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 2.0, 2.0], [3.0, 4.0, 5.0, 6.0]]
    """
    z = strip_values(tree, values, reduce=reduce)
    colours = colouring(z, colour_range, colour_title)
    leaves_per_column = tree.n_leaves / z.shape[1]
    strips = trace(
        "heatmap",
        z=colours.shades,
        customdata=z,
        x0=leaves_per_column / 2,
        dx=leaves_per_column,
        zmin=colours.low,
        zmax=colours.high,
        colorscale=colours.scale,
        colorbar=colours.bar,
        ygap=2,
        hoverongaps=False,
        hovertemplate=f"level %{{y}}, near leaf {hover('x', 'whole')}<br>{hover('customdata', 'short')}<extra></extra>",
    )
    names = {"tickvals": np.arange(tree.n_levels), "ticktext": [plot_text(name, 24) for name in level_names]}
    return new_figure(
        [strips],
        xaxis=axis("leaves, left to right", log=False, bounds=(0.0, float(tree.n_leaves))),
        yaxis=axis("", log=False, bounds=(tree.n_levels - 0.5, -0.5)) | names,
    )


def count_strips(tree: Tree, counts: AnyArray, level_names: Sequence[str]) -> Draft:
    """Draft counts (n_nodes,) as strips, coloured by their share of the level's largest.

    >>> tree = Tree.from_branching_factors((2,))
    >>> count_strips(tree, np.array([4, 3, 1]), ["all", "state"]).data[0]["customdata"].astype(float).round(2).tolist()
    [[1.0, 1.0], [1.0, 0.33]]
    """
    largest = np.maximum.reduceat(counts, tree.level_start[:-1])
    shares = counts / np.repeat(np.maximum(largest, 1), tree.level_sizes)
    return level_strips(tree, shares, level_names, colour_range=(0.0, 1.0), colour_title="share")


def error_strips(drawn: Draw, level_names: Sequence[str], *, after: bool) -> Draft:
    """Draft the signed errors of one draw as strips, before or after post-processing: of a column the furthest."""
    return level_strips(
        drawn.tree, drawn.errors[after], level_names, reduce="extreme", colour_range=(-drawn.clip, drawn.clip),
        colour_title="error",
    )  # fmt: skip


def strip_table(strips: Draft) -> dict[str, list[Any]]:
    """Return the values that strips show as columns: one row for each level and slice of the leaves.

    >>> strip_table(count_strips(Tree.from_branching_factors((2,)), np.array([4, 3, 1]), ["all", "state"]))["from leaf"]
    [0, 1, 0, 1]
    """
    heat = strips.data[0]
    n_levels, n_columns = heat["customdata"].shape
    edges = np.rint(np.arange(n_columns + 1) * heat["dx"]).astype(int).tolist()
    return {
        "level": [name for name in strips.layout["yaxis"]["ticktext"] for _ in range(n_columns)],
        "from leaf": edges[:-1] * n_levels,
        "to leaf": edges[1:] * n_levels,
        of_truth("value"): heat["customdata"].astype(float).ravel().tolist(),
    }


def strip_values(
    tree: Tree, values: AnyArray, *, reduce: Literal["mean", "extreme"] = "mean", n_columns: int = MAX_COLUMNS
) -> FloatArray:
    """Return (n_levels, columns) float32: for each level and slice of the leaves, the mean or the extreme value.

    A column takes in every node of the level that holds any of its leaves; the extreme is the value furthest from 0.
    Where a branch of a ragged tree has ended there is a gap (nan).

    >>> tree = Tree.from_branching_factors((4,))
    >>> strip_values(tree, np.array([0.0, 1, -5, 2, 4]), reduce="extreme", n_columns=2).tolist()
    [[0.0, 0.0], [-5.0, 4.0]]
    """
    columns = max(1, min(n_columns, tree.n_leaves))
    bounds = np.arange(columns + 1) * tree.n_leaves // columns
    rows = [_row(tree, values, tree.level(level), bounds, reduce) for level in range(tree.n_levels)]
    return np.array(rows, dtype=np.float32)


def _row(tree: Tree, values: AnyArray, level: slice, bounds: IntArray, reduce: str) -> FloatArray:
    starts = tree.leaf_start[level]
    before = np.maximum(np.searchsorted(starts, bounds[:-1], side="right") - 1, 0)
    ended = starts[before] + tree.leaf_count[level][before] <= bounds[:-1]
    first, stop = before + ended, np.searchsorted(starts, bounds[1:], side="left")
    # One value more, so that `stop` may be the number of nodes; every second reduction is one of first:stop.
    padded = np.append(values[level], 0)
    cuts = np.column_stack([np.minimum(first, padded.size - 1), stop]).ravel()

    def over(ufunc: np.ufunc) -> FloatArray:
        return np.asarray(ufunc.reduceat(padded, cuts)[::2], dtype=np.float64)

    if reduce == "mean":
        row = over(np.add) / np.maximum(stop - first, 1)
    else:
        low, high = over(np.minimum), over(np.maximum)
        row = np.where(-low > high, low, high)
    return np.where(first < stop, row, np.nan)


# ---- how the numbers of a column are spread, and which of them bounds cut off


STRIP_HEIGHT = 180


MOST_LINES = 60


def number_strip(
    edges: FloatArray, rows: AnyArray, *, lower: float, upper: float, x_title: str, own: Sequence[float] = ()
) -> go.Figure:
    """Return a low histogram of a column, rows (K,) between edges (K + 1,); bars outside the bounds are marked.

    A line stands at each bound, and at each of some edges of one's own, where these are no more than 60.

    >>> fig = number_strip(np.array([0.0, 1.0, 2.0]), np.array([3, 1]), lower=0, upper=1, x_title="age")
    >>> [(bars.name, bars.y.tolist()) for bars in fig.data]
    [('inside the bounds', [3]), ('outside', [1])]
    """
    middle, width = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    inside = (middle >= lower) & (middle <= upper)
    looks = (("inside the bounds", inside, AFTER, ""), ("outside", ~inside, BEFORE, "/"))
    bars = [
        bar(
            x=middle[part], y=np.asarray(rows)[part], width=width[part], name=name,
            marker={"color": colour, "pattern": {"shape": shape}},
            hovertemplate=f"near {hover('x', 'exact')}: {hover('y', 'whole')} rows<extra>%{{fullData.name}}</extra>",
        )
        for name, part, colour, shape in looks
    ]  # fmt: skip
    fig = new_figure(
        bars,
        xaxis=axis(x_title, log=False, bounds=(float(edges[0]), float(edges[-1]))),
        yaxis=axis("rows", log=False, bounds=limits([rows], log=False, default=(0.0, 1.0)), grid=True),
    )
    for bound in filter(np.isfinite, own if 0 < len(own) <= MOST_LINES else (lower, upper)):
        fig.add_vline(x=bound, line={"dash": "dot", "width": 2, "color": BEFORE})
    return fig.update_layout(height=STRIP_HEIGHT, barmode="overlay").figure()
