"""How reliable each released count is: the tree coloured by a probability, and the useful nodes of each level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.colour import SEQUENTIAL, colour_scale
from treedp_core.figures.base.draft import Draft, bar
from treedp_core.figures.base.style import BLUE, GRID, ORANGE, axis, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.figures.trees.icicle import NodeLabels, drafted
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.words import short, whole

F = TypeVar("F", go.Figure, Draft)


def reliability_icicle(
    tree: Tree, labels: NodeLabels, counts: AnyArray, probability: FloatArray, *, root: int = 0, max_nodes: int = 300
) -> Draft:
    """Return the tree below `root` as an icicle coloured by a probability (n_nodes,); area is the true count.

    An others block has the mean probability of what it merges. A click gives the node (`clicked_node`).

    >>> class Numbered:
    ...     def label(self, node):
    ...         return str(node)
    ...
    ...     def path(self, node):
    ...         return () if node == 0 else (str(node),)
    >>> tree = Tree.from_branching_factors((2,))
    >>> fig = reliability_icicle(tree, Numbered(), np.array([4, 3, 1]), np.array([1.0, 0.75, 0.5])).figure()
    >>> fig.data[0].text, fig.data[0].hovertext[1]
    (('100 %', '75 %', '50 %'), '1<br>true count 3<br>within reach with probability 0.75')
    """
    fig = drafted(
        tree, labels, counts, probability, root=root, max_nodes=max_nodes, colour_range=(0.0, 1.0), colour_title="p"
    )
    (block,) = fig.data
    # The icicle shades counts, by log(1 + x): undo that, a probability is its own shade.
    shades = np.clip(10.0 ** block["marker"]["colors"] - 1.0, 0.0, 1.0).round(9)
    hover = [
        f"{line}<br>within reach with probability {short(float(p))}"
        for line, p in zip(block["hovertext"], shades, strict=True)
    ]
    return fig.update_traces(
        {},
        text=[_percent(p) for p in shades.tolist()],
        hovertext=hover,
        marker={
            "colors": shades,
            "cmin": 0.0,
            "cmax": 1.0,
            "colorscale": colour_scale(SEQUENTIAL),
            "colorbar": {
                "title": {"text": "probability", "side": "top"},
                "tickvals": [0.0, 0.25, 0.5, 0.75, 1.0],
                "ticktext": ["0", "0.25", "0.5", "0.75", "1"],
            },
        },
    )


def _percent(p: float) -> str:
    """Never 100 % for what can fail, never 0 % for what can hold."""
    if 0.995 <= p < 1.0:
        return "> 99 %"
    if 0.0 < p < 0.005:
        return "< 1 %"
    return f"{whole(round(100 * p))} %"


def useful_shares(level_names: Sequence[str], share: FloatArray, sizes: IntArray) -> Draft:
    """Return the share (n_levels,) of each level's nodes that meet a target, as bars; the root's is on top.

    >>> useful_shares(["all", "state"], np.array([1.0, 0.25]), np.array([1, 4])).figure().data[0].text
    ('1 of 1', '1 of 4')
    """
    met = np.rint(share * sizes).astype(np.int64)
    shares = bar(
        x=share, y=np.arange(share.size), orientation="h", marker={"color": BLUE},
        text=[f"{whole(m)} of {whole(n)}" for m, n in zip(met.tolist(), sizes.tolist(), strict=True)],
        textposition="outside", cliponaxis=False, hovertemplate="%{text} (%{x:.1%})<extra></extra>",
    )  # fmt: skip
    names = {"tickvals": np.arange(share.size), "ticktext": [plot_text(name, 24) for name in level_names]}
    fig = new_figure(
        [shares],
        xaxis=axis("useful nodes", log=False, bounds=(0.0, 1.5))
        | {"tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1], "gridcolor": GRID},
        yaxis=axis("", log=False, bounds=(share.size - 0.5, -0.5)) | names | {"ticks": "", "showline": False},
    )
    return fig.update_layout(height=110 + 34 * share.size, bargap=0.35, margin={"t": 12})


def watermark(fig: F, text: str) -> F:
    """Write a text across a figure, faint but there in every copy of it; the figure is changed and returned.

    >>> watermark(go.Figure(), "NOT PRIVATE").layout.annotations[0].text
    'NOT PRIVATE'
    """
    fig.add_annotation(
        x=0.5, y=0.5, xref="paper", yref="paper", text=plot_text(text), textangle=-18, showarrow=False, opacity=0.35,
        font={"size": 44, "color": ORANGE},
    )  # fmt: skip
    return fig
