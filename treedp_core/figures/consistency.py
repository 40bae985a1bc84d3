"""One family on a balance, its children against their parent, above the tree coloured by error."""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core.errors.compare import adds_up
from treedp_core.figures.base.draft import Draft, Trace, bar
from treedp_core.figures.base.style import BLUE, GREY, ORANGE, SKY, axis
from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.figures.trees.icicle import NodeLabels, drafted
from treedp_core.studies.sweep.before_after import Draw
from treedp_core.tree import AnyArray

MAX_BLOCKS: Final = 200
"""Of the tree: more are too thin to read and slow in the browser."""
MAX_CHILDREN: Final = 40
"""On the balance; what is left of a larger family is one part."""
BALANCE: Final = (0.78, 1.0)
"""Where the balance stands in the figure's height; the tree is below."""
TREE_TOP: Final = 0.65
NARROW: Final = 0.05
"""Share of the width up to which a part of the balance has no text."""


def balance_and_tree(the: Draw, labels: NodeLabels, family: int, *, after: bool, root: int, equation: str) -> Draft:
    """Draft one family of a draw as two bars, the parent above its children end to end, above the tree.

    Parameters
    ----------
    the : Draw
    labels : NodeLabels
        Every name is escaped.
    family : int
        The parent whose sum is weighed.
    after : bool
        Whether the counts are those after post-processing, else those before it.
    root : int
        Where the tree starts.
    equation : str
        The sum in words, written over the balance.
    """
    values = the.after if after else the.before
    fig = drafted(
        the.tree, labels, the.counts, the.errors[after], root=root, max_nodes=MAX_BLOCKS,
        colour_range=(-the.clip, the.clip), colour_title="error", text=values, released=values,
    )  # fmt: skip
    _place(fig, {str(node) for node in (family, *range(the.tree.n_nodes)[the.tree.children(family)])})
    totals = [float(one[family]) for one in (the.before, the.after)]
    parts = [one[the.tree.children(family)] for one in (the.before, the.after)]
    totals += [float(sums) for one in parts for sums in (one.sum(), one[one > 0].sum())]
    high = 1.02 * max([1.0, *(one for one in totals if np.isfinite(one))])
    fig.data += _bars(the, labels, family, values, high)
    fig.update_layout(
        margin={"l": 8, "r": 8, "t": 34, "b": 8}, barmode="overlay", bargap=0.12, showlegend=False,
        xaxis=axis("", log=False, bounds=(min([0.0, *(1.02 * one for one in totals if one < 0)]), high))
        | {"ticksuffix": " records", "showticksuffix": "last", "domain": [0.0, 1.0], "anchor": "y"},
        yaxis={
            "domain": list(BALANCE), "range": [-0.5, 1.5], "tickvals": [0, 1], "ticktext": ["children", "parent"],
            "showgrid": False, "zeroline": False, "automargin": True, "fixedrange": True,
        },
    )  # fmt: skip
    fig.add_annotation(
        x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=4, showarrow=False,
        text=f"<b>{plot_text(equation, 160)}</b>", font={"size": 17},
    )  # fmt: skip
    return fig


def _place(fig: Draft, nodes: set[str]) -> None:
    """Put the tree below the balance, and give the family on it a border of its own."""
    (block,) = fig.data
    is_marked, line = [one in nodes for one in block["ids"]], block["marker"]["line"]
    width, colour = np.where(is_marked, 2.5, line["width"]), np.where(is_marked, ORANGE, line["color"])
    fig.update_traces(
        {},
        domain={"x": [0.0, 1.0], "y": [0.0, TREE_TOP]},
        texttemplate=[text.replace("<br>", " ") for text in block["texttemplate"]],  # one line: rows are low
        marker={
            "line": {"width": width, "color": colour},
            "colorbar": {"y": TREE_TOP / 2, "len": TREE_TOP, "yanchor": "middle"},
        },
    )


def _bars(the: Draw, labels: NodeLabels, family: int, values: AnyArray, high: float) -> list[Trace]:
    """The parent, its children end to end, and what is too much or missing."""
    children = list(range(the.tree.n_nodes)[the.tree.children(family)])
    parts = values[children].astype(float)
    names = [labels.label(node) for node in children]
    if len(children) > MAX_CHILDREN:
        rest = len(children) - MAX_CHILDREN + 1
        names = [*names[: MAX_CHILDREN - 1], f"{count_text(rest)} others"]
        parts = np.append(parts[: MAX_CHILDREN - 1], parts[MAX_CHILDREN - 1 :].sum())
    order = np.argsort(parts < 0, kind="stable")  # what is below 0 is taken back from the end of the others
    names, parts = [names[i] for i in order.tolist()], parts[order]
    parent, total = float(values[family]), float(parts.sum())
    starts, told = np.cumsum(parts) - parts, [_told(*one) for one in zip(names, parts.tolist(), strict=True)]
    bars = [
        _bar([parent], [0.0], 1, [_told(labels.label(family), parent)], GREY, high),
        _bar(parts.tolist(), starts.tolist(), 0, told, SKY, high),
    ]
    for i in np.flatnonzero((starts < total) & (starts + parts > total) & (parts < 0).any()).tolist():
        bars[1]["text"][i] = ""  # it stands in what is not taken back
        bars.append(_bar([total - starts[i]], [starts[i]], 0, told[i : i + 1], SKY, high))
    if np.isfinite(parent) and np.isfinite(total) and not adds_up(parts, parent):
        bars.append(_gap(min(parent, total), abs(total - parent), "too many" if total > parent else "missing"))
    return bars


def _told(name: str, count: float) -> str:
    return f"{plot_text(name, 24)} {count_text(count)}"


def _bar(lengths: list[float], base: list[float], row: int, told: list[str], colour: str, high: float) -> Trace:
    wide = [abs(length) > NARROW * high for length in lengths]
    return bar(
        x=[length if np.isfinite(length) else 0.0 for length in lengths],
        base=[start if np.isfinite(start) else 0.0 for start in base],
        y=[row] * len(lengths), orientation="h", width=0.92, hovertext=told,
        hovertemplate="%{hovertext}<extra></extra>", text=[t if w else "" for t, w in zip(told, wide, strict=True)],
        textposition="inside", insidetextanchor="middle", textangle=0, unselected={"marker": {"opacity": 1.0}},
        cliponaxis=True,
        marker={"color": colour, "line": {"width": 1.5, "color": BLUE if colour == SKY else colour}},
    )  # fmt: skip


def _gap(start: float, length: float, told: str) -> Trace:
    """What the children have too much or too little, hatched."""
    return bar(
        x=[length], base=[start], y=[0], orientation="h", width=0.92, hovertext=[f"{count_text(length)} {told}"],
        hovertemplate="%{hovertext}<extra></extra>", unselected={"marker": {"opacity": 1.0}},
        marker={
            "color": "rgba(0,0,0,0)", "line": {"width": 2, "color": ORANGE},
            "pattern": {"shape": "/", "fgcolor": ORANGE, "size": 6},
        },
    )  # fmt: skip
