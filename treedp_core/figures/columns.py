"""How the numbers of a column are spread, and which of them bounds cut off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.draft import bar
from treedp_core.figures.base.style import AFTER, BEFORE, axis, limits, new_figure
from treedp_core.tree import AnyArray, FloatArray

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
            hovertemplate="near %{x:,.4~g}: %{y:,} rows<extra>%{fullData.name}</extra>",
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
