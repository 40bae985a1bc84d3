"""Trees of every height: their error beside the best one's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.style import AFTER, BEFORE, axis, limits, new_figure
from treedp_core.figures.text import plot_text


def error_by_height(heights: Sequence[int], ratios: Sequence[float], shapes: Sequence[str]) -> go.Figure:
    """Return the error of the best tree of each height, as a multiple of the best of all.

    Parameters
    ----------
    heights : (n,)
        Levels below the root, ascending.
    ratios : (n,)
        At least 1.
    shapes : (n,)
        Branching factors as text, for the hover.

    >>> fig = error_by_height([1, 2], [3.0, 1.0], ["64", "8 · 8"])
    >>> [trace.name for trace in fig.data]
    ['best tree of each height', 'best of all']
    """
    x, y = np.array(heights, dtype=float), np.array(ratios, dtype=float)
    names = np.array([plot_text(shape, 40) for shape in shapes], dtype=object)
    best = int(np.argmin(y))
    bounds = (0.8, limits([y], log=True, default=(1.0, 10.0))[1])
    hover = "%{text}<br>%{x:d} levels below the root<br>%{y:,.3~r} × the best<extra></extra>"
    line = go.Scatter(
        x=x, y=y, text=names, mode="lines+markers", name="best tree of each height", hovertemplate=hover,
        line={"color": AFTER, "width": 2.5}, marker={"symbol": "circle", "size": 9, "color": AFTER},
    )  # fmt: skip
    mark = go.Scatter(
        x=x[best : best + 1], y=y[best : best + 1], text=names[best : best + 1], mode="markers+text",
        name="best of all", hovertemplate=hover, textposition="top center", textfont={"color": BEFORE},
        marker={"symbol": "square", "size": 13, "color": BEFORE},
    )  # fmt: skip
    fig = new_figure(
        [line, mark],
        xaxis=axis("levels below the root (height)", log=False, bounds=(0.5, float(x.max()) + 0.5)),
        yaxis=axis("typical error (RMSE) ÷ the best", log=True, bounds=bounds, grid=True),
    )
    return fig.update_xaxes(dtick=1 if x.max() <= 24 else 5)
