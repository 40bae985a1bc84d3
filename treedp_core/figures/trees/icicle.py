"""The tree as an icicle of at most a few hundred blocks: area is the true count, colour a value of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.colour import SEQUENTIAL, Colouring, colour_scale, colouring
from treedp_core.figures.base.draft import Draft, bar, trace
from treedp_core.figures.base.style import BLUE, GRID, ORANGE, axis, new_figure
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.words import PLOTLY, hover, short, whole

# How reliable each released count is: the tree coloured by a probability, and the useful nodes of each level.

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
        textposition="outside", cliponaxis=False, hovertemplate=f"%{{text}} ({hover('x', 'percent')})<extra></extra>",
    )  # fmt: skip
    names = {"tickvals": np.arange(share.size), "ticktext": [plot_text(name, 24) for name in level_names]}
    fig = new_figure(
        [shares],
        xaxis=axis("useful nodes", log=False, bounds=(0.0, 1.5))
        | {"tickformat": PLOTLY["whole percent"], "tickvals": [0, 0.25, 0.5, 0.75, 1], "gridcolor": GRID},
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


OTHERS = "others-"
HOW = "Click a block to go down, the top one to go up."
LETTERS = 220
"""How many letters of eleven pixels stand side by side in a figure of 1 200 pixels."""
TWO_LINES = 6
"""Levels below the root from which on blocks are too low for two lines."""


class NodeLabels(Protocol):
    """What a figure asks of the names of nodes."""

    def label(self, node: int) -> str:
        """Return the label of one node."""

    def path(self, node: int) -> tuple[str, ...]:
        """Return the labels from level 1 down to a node."""

    def found(self, said: str) -> IntArray:
        """Return the nodes (n,) whose label has a text in it."""


@dataclass(frozen=True, eq=False)
class Visible:
    """Which nodes an icicle shows, and what it merges.

    Parameters
    ----------
    nodes : (n,) int64
        Nodes shown, in level order; the first is the root of the figure.
    others_parent, others_size : (m,) int64
        For each "others" block: the node it belongs to, and how many of that node's children it stands for.
    others_nodes : (k,) int64
        All merged nodes, block after block.
    """

    nodes: IntArray
    others_parent: IntArray
    others_size: IntArray
    others_nodes: IntArray

    def merged(self, values: AnyArray) -> FloatArray:
        """Return the sum over the merged nodes of each others block, (m,)."""
        if self.others_size.size == 0:
            return np.zeros(0)
        begins = np.cumsum(self.others_size) - self.others_size
        return np.add.reduceat(values[self.others_nodes], begins, dtype=np.float64)


def visible_nodes(tree: Tree, value: AnyArray, root: int = 0, max_nodes: int = 400) -> Visible:
    """Return at most `max_nodes` blocks of the subtree at `root`: whole levels while they fit, then the largest nodes.

    On the first level that does not fit, the largest values are kept and the rest of each family becomes one
    "others" block. Where there is no room for two blocks a family, the level is left out.

    >>> tree = Tree.from_branching_factors((5,))
    >>> seen = visible_nodes(tree, np.array([15, 5, 1, 4, 2, 3]), max_nodes=4)
    >>> seen.nodes.tolist(), seen.others_parent.tolist(), seen.others_nodes.tolist()
    ([0, 1, 3], [0], [2, 4, 5])
    """
    none = np.zeros(0, dtype=np.int64)
    pieces, room = [np.array([root])], max_nodes - 1
    below = tree.descendants(root, tree.n_levels)[1:]
    above = slice(root, root + 1)
    for level in below:
        size = level.stop - level.start
        if size > room:
            families = int(np.count_nonzero(tree.n_children[above]))
            if room < 2 * families:
                break
            kept, others = _largest(tree, value, above, level, room)
            return Visible(np.concatenate([*pieces, kept]), *others)
        pieces.append(np.arange(level.start, level.stop))
        room, above = room - size, level
    return Visible(np.concatenate(pieces), none, none, none)


def _largest(
    tree: Tree, value: AnyArray, above: slice, level: slice, room: int
) -> tuple[IntArray, tuple[IntArray, IntArray, IntArray]]:
    """Keep the largest nodes of a level, all families keeping one block for their others."""
    n_children = tree.n_children[above]
    family = tree.parent[level] - above.start
    slots = room - int(np.count_nonzero(n_children))
    kept = np.zeros(family.size, dtype=bool)
    kept[np.argpartition(value[level], -slots)[-slots:]] = True
    left = n_children - np.bincount(family[kept], minlength=n_children.size)
    kept |= (left == 1)[family]  # a block for one other would cost as much as the node itself
    left[left == 1] = 0
    parents = np.flatnonzero(left)
    return level.start + np.flatnonzero(kept), (
        above.start + parents,
        left[parents],
        level.start + np.flatnonzero(~kept),
    )


def icicle(
    tree: Tree,
    labels: NodeLabels,
    value: AnyArray,
    colour: AnyArray,
    *,
    root: int = 0,
    max_nodes: int = 400,
    colour_range: tuple[float, float] | None = None,
    colour_title: str = "",
    text: AnyArray | None = None,
    released: AnyArray | None = None,
) -> go.Figure:
    """Return the subtree at `root` as an icicle; a click gives the node number as the block's id (`clicked_node`).

    Parameters
    ----------
    tree : Tree
    labels : NodeLabels
        Such as `records.Labels`; every name is escaped.
    value : (n_nodes,)
        True counts: the areas. A node of count 0 still gets a sliver, so that it can be seen.
    colour : (n_nodes,)
        Signed errors or counts, see `colouring`; an others block has the mean of what it merges.
    root, max_nodes : int
        See `visible_nodes`.
    colour_range : pair of float, optional
        Ends of the colour scale: for signed errors, equal but for the sign; for counts by default 0 and the largest.
    text : (n_nodes,), optional
        Numbers written in the blocks; the true counts by default.
    released : (n_nodes,), optional
        Released counts: hovering then also tells the released count and its error.

    >>> class Numbered:
    ...     def label(self, node):
    ...         return f"<b>{node}</b>"
    ...
    ...     def path(self, node):
    ...         return () if node == 0 else (self.label(node),)
    >>> tree, counts = Tree.from_branching_factors((2,)), np.array([4, 3, 1])
    >>> block = icicle(tree, Numbered(), counts, counts).data[0]
    >>> block.ids, block.labels[1], block["values"].tolist()
    (('0', '1', '2'), '&lt;b&gt;1&lt;/b&gt;', [4.0, 3.0, 1.0])
    """
    return drafted(
        tree, labels, value, colour, root=root, max_nodes=max_nodes, colour_range=colour_range,
        colour_title=colour_title, text=text, released=released,
    ).figure()  # fmt: skip


def drafted(
    tree: Tree,
    labels: NodeLabels,
    value: AnyArray,
    colour: AnyArray,
    *,
    root: int,
    max_nodes: int,
    colour_range: tuple[float, float] | None,
    colour_title: str,
    text: AnyArray | None = None,
    released: AnyArray | None = None,
) -> Draft:
    """Draft an `icicle` of values and colours (n_nodes,), whose one trace may be changed."""
    seen = visible_nodes(tree, value, root, max_nodes)
    area = _areas(tree, seen, value)
    names, hover = _texts(tree, labels, seen, value, released)
    shades = np.nan_to_num(_per_block(seen, colour, mean=True))
    numbers = [count_text(n) for n in _per_block(seen, value if text is None else text).tolist()]
    parents = ["", *map(str, tree.parent[seen.nodes[1:]].tolist()), *map(str, seen.others_parent.tolist())]
    top, last = np.searchsorted(tree.level_start, [root, seen.nodes[-1]], side="right")
    apart = "<br>" if last - top < TWO_LINES else " "
    block = trace(
        "icicle",
        ids=[*map(str, seen.nodes.tolist()), *(OTHERS + str(p) for p in seen.others_parent.tolist())],
        parents=parents,
        labels=names,
        values=area,
        branchvalues="total",
        sort=False,
        text=numbers,
        texttemplate=_templates(area / area[0], names, numbers, apart),
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        marker=_colours(area, colouring(shades, colour_range, colour_title)),
        tiling={"orientation": "v"},
        pathbar={"visible": False},
    )
    margin = {"l": 0, "r": 0, "t": 8, "b": 8}
    return new_figure([block]).update_layout(margin=margin, uniformtext={"minsize": 12, "mode": "hide"})


def clicked_node(tree: Tree, identifier: object) -> int | None:
    """Return the node a click's id names: for an "others" block the node it belongs to, for anything else None.

    >>> tree = Tree.from_branching_factors((2,))
    >>> clicked_node(tree, "2"), clicked_node(tree, "others-0"), clicked_node(tree, "3"), clicked_node(tree, None)
    (2, 0, None, None)
    """
    digits = str(identifier).removeprefix(OTHERS)
    node = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else -1
    return node if 0 <= node < tree.n_nodes else None


def _per_block(seen: Visible, values: AnyArray, *, mean: bool = False) -> FloatArray:
    """Values of the blocks in the order drawn; an others block has the sum, or the mean, of what it merges."""
    merged = seen.merged(values) / (seen.others_size if mean else 1)
    return np.concatenate([np.asarray(values[seen.nodes], dtype=np.float64), merged])


def _areas(tree: Tree, seen: Visible, value: AnyArray) -> FloatArray:
    """Areas that add up: a block has its count, or a sliver, or what its shown children have."""
    n = seen.nodes.size
    own = np.maximum(_per_block(seen, value), 0.0)
    parents = np.concatenate([tree.parent[seen.nodes], seen.others_parent])
    place = np.searchsorted(seen.nodes, parents[1:])  # of each block's parent among the blocks, the first has none
    inner = np.zeros(own.size, dtype=bool)
    inner[place] = True
    own[inner] = 0.0
    # A sliver is about a pixel of a thousand, but all slivers together are at most a fifth of the width.
    sliver = own.sum() * min(0.001, 0.2 / (own.size - int(inner.sum()))) or 1.0
    area = np.where(inner, 0.0, np.maximum(own, sliver))
    order = np.concatenate([np.arange(n, own.size), np.arange(n - 1, 0, -1)])
    places = np.concatenate([[0], place])
    for block in order.tolist():  # children before parents; a few hundred blocks
        area[places[block]] += area[block]
    return np.asarray(area)


def _texts(
    tree: Tree, labels: NodeLabels, seen: Visible, value: AnyArray, released: AnyArray | None
) -> tuple[list[str], list[str]]:
    """Names for the blocks and texts for hovering; a path is its parent's path and one name more."""
    nodes = seen.nodes.tolist()
    names = [plot_text(labels.label(node), 24) for node in nodes]
    paths = {nodes[0]: " › ".join(plot_text(part, 24) for part in labels.path(nodes[0])[-8:]) or names[0]}
    for node, name, parent in zip(nodes[1:], names[1:], tree.parent[seen.nodes[1:]].tolist(), strict=True):
        paths[node] = f"{paths[parent]} › {name}" if parent else name
    others = [f"others ({count_text(size)})" for size in seen.others_size.tolist()]
    places = [paths[node] for node in nodes]
    places += [f"{paths[p]} › {o}" if p else o for p, o in zip(seen.others_parent.tolist(), others, strict=True)]
    truth = _per_block(seen, value).tolist()
    hover = [f"{place}<br>true count {count_text(t)}" for place, t in zip(places, truth, strict=True)]
    if released is not None:
        noisy = _per_block(seen, released).tolist()
        hover = [
            f"{line}<br>released {count_text(r)}<br>error {short(r - t)}"
            for line, t, r in zip(hover, truth, noisy, strict=True)
        ]
    return names + others, hover


def _templates(share: FloatArray, names: list[str], numbers: list[str], apart: str) -> list[str]:
    """What stands in each block: nothing where it has no room for it, as the browser would measure it, then hide it."""
    lines = [f"{name}{apart}{number}".split("<br>") for name, number in zip(names, numbers, strict=True)]
    letters = [max(map(len, one)) for one in lines]
    return [str(one) for one in np.where(LETTERS * share >= letters, "%{label}" + apart + "%{text}", "")]


def _colours(area: FloatArray, colours: Colouring) -> dict[str, Any]:
    return {
        "colors": colours.shades,
        "colorscale": colours.scale,
        "cmin": colours.low,
        "cmax": colours.high,
        "showscale": True,
        "colorbar": colours.bar,
        # A border would hide the colour of a block only a few pixels wide.
        "line": {"width": np.where(area > 0.006 * area[0], 0.5, 0.0), "color": "rgba(127,127,127,0.6)"},
    }
