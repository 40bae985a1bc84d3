"""A tree of a few nodes with true and noisy counts, the sums that fail, and each count's error beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from treedp_core.figures.base.colour import ink_on
from treedp_core.figures.base.draft import Draft, Trace, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, GREY, axis, limits, new_figure
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.words import hover

LEFT: Final = (0.0, 0.6)
RIGHT: Final = (0.74, 1.0)
MISMATCH: Final = 1e-6
"""Records by which a sum may be off before it is said to fail: estimates are sums of floats."""


def small_tree(
    tree: Tree, counts: AnyArray, estimate: AnyArray, margin: FloatArray, names: Sequence[str], *, colour: str = BEFORE
) -> Draft:
    """Return a small tree of true and released counts, and how far each is off.

    On the left are its nodes, true counts in grey and released ones in colour, with the sums that fail; on the right
    each error beside the 95 % margin of its noise.

    Parameters
    ----------
    tree : Tree
        At most 40 nodes.
    counts, estimate : (n_nodes,)
        True and released counts, in records.
    margin : (n_nodes,)
        Half width of the interval that holds the released count 19 times in 20, in records.
    names : sequence of str
        One for each node.
    colour : str
        Of the released counts.

    >>> tree = Tree.from_branching_factors((2,))
    >>> fig = small_tree(tree, np.array([5, 3, 2]), np.array([5, 4, 3]), np.array([0.0, 3, 3]), "abc", colour=AFTER)
    >>> [note["text"] for note in fig.layout["annotations"] if "≠" in note["text"]]
    ['4 + 3 = 7 ≠ 5']
    """
    x, y = _places(tree)
    fig = new_figure([_edges(tree, x, y), _nodes(x, y, counts, estimate, names, colour), *_errors(
        counts, estimate, margin, names, colour)], xaxis=_blank(LEFT), yaxis=_blank((0.0, 1.0)))  # fmt: skip
    reach = np.concatenate([counts - margin, counts + margin, estimate.astype(float), np.zeros(1)])
    fig.update_layout(
        showlegend=False,
        margin={"t": 24},
        xaxis={"range": [-0.6, float(x.max()) + 0.6]},
        yaxis={"range": [-tree.height - 0.6, 0.45]},
        xaxis2={**axis("records", log=False, bounds=limits([reach], log=False, default=(0, 1)), grid=True),
                "domain": RIGHT, "anchor": "y2"},
        yaxis2={"domain": (0.0, 1.0), "anchor": "x2", "autorange": "reversed", "automargin": True, "showgrid": False},
    )  # fmt: skip
    for node, value in enumerate(counts):
        beside = {"yshift": -27} if node >= tree.n_nodes - tree.n_leaves else {"xanchor": "left", "xshift": 21}
        fig.add_annotation(
            x=x[node], y=y[node], text=f"true {count_text(value)}", showarrow=False,
            font={"color": GREY, "size": 13}, **beside,
        )  # fmt: skip
    _mark_sums(fig, tree, estimate, x, y)
    return fig


def _places(tree: Tree) -> tuple[FloatArray, FloatArray]:
    """Where the nodes stand: leaves side by side, a parent above the middle of its children."""
    x = np.zeros(tree.n_nodes)
    x[tree.level(tree.height)] = np.arange(tree.n_leaves)
    for level in reversed(range(tree.height)):
        nodes, children = tree.level(level), tree.level(level + 1)
        above = tree.parent[children]
        size = np.bincount(above, minlength=nodes.stop)[nodes]
        x[nodes] = np.bincount(above, weights=x[children], minlength=nodes.stop)[nodes] / size
    y = -np.repeat(np.arange(tree.n_levels), tree.level_sizes).astype(float)
    return x, y


def _edges(tree: Tree, x: FloatArray, y: FloatArray) -> Trace:
    child = np.arange(1, tree.n_nodes)
    parent = tree.parent[1:]
    gap = np.full(child.size, np.nan)
    return scatter(
        x=np.stack([x[parent], x[child], gap], 1).ravel(), y=np.stack([y[parent], y[child], gap], 1).ravel(),
        mode="lines", line={"color": GREY, "width": 1.5}, hoverinfo="skip",
    )  # fmt: skip


def _nodes(
    x: FloatArray, y: FloatArray, counts: AnyArray, estimate: AnyArray, names: Sequence[str], colour: str
) -> Trace:
    labels = [plot_text(name) for name in names]
    released, true = [count_text(value) for value in estimate], [f"true {count_text(value)}" for value in counts]
    hover = "%{customdata[0]}<br>released %{customdata[1]}<br>%{customdata[2]}<extra></extra>"
    return scatter(
            x=x, y=y, mode="markers+text", text=released, textfont={"color": ink_on(colour), "size": 15},
            marker={"symbol": "square", "size": 36, "color": colour, "line": {"width": 0}},
            customdata=list(zip(labels, released, true, strict=True)), hovertemplate=hover,
    )  # fmt: skip


def _errors(counts: AnyArray, estimate: AnyArray, margin: FloatArray, names: Sequence[str], colour: str) -> list[Trace]:
    """Each count on a line of its own: a grey tick with the margin, and the released count."""
    labels = [plot_text(name) for name in names]
    return [
        scatter(
            x=counts, y=labels, xaxis="x2", yaxis="y2", mode="markers", name="true",
            marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": GREY}},
            error_x={"type": "data", "array": margin, "color": GREY, "thickness": 1.5, "width": 4},
            hovertemplate=f"true {hover('x', 'whole')} ± {hover('error_x.array', 'estimate')}"
            "<extra>95 % margin</extra>",
        ),
        scatter(
            x=estimate, y=labels, xaxis="x2", yaxis="y2", mode="markers", name="released",
            marker={"symbol": "circle", "size": 10, "color": colour},
            hovertemplate=f"released {hover('x', 'estimate')}<extra></extra>",
        ),
    ]  # fmt: skip


def _mark_sums(fig: Draft, tree: Tree, estimate: AnyArray, x: FloatArray, y: FloatArray) -> None:
    """Say of each family whether its children add up to it."""
    for node in range(tree.n_nodes - tree.n_leaves):
        children = np.flatnonzero(tree.parent == node)
        if children.size == 0:
            continue
        total = float(estimate[children].sum())
        fails = abs(total - float(estimate[node])) > MISMATCH
        told = " + ".join(count_text(value) for value in estimate[children]) + f" = {count_text(total)}"
        told += f" ≠ {count_text(float(estimate[node]))}" * fails
        ground = BEFORE if fails else AFTER
        fig.add_annotation(
            x=x[node], y=y[node] - 0.5, text=told, showarrow=False, bgcolor=ground,
            font={"color": ink_on(ground), "size": 13}, borderpad=3,
        )  # fmt: skip


def _blank(domain: tuple[float, float]) -> dict[str, object]:
    return {"domain": domain, "visible": False, "fixedrange": True}
