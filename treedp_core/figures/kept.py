"""Figures that were kept as JSON, drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from treedp_core.checks import InputError
from treedp_core.records.export.columns import Columns


def redrawn(figure: Mapping[str, Any]) -> go.Figure:
    """Return a plotly figure from its JSON.

    Raises
    ------
    InputError
        ``CELL_FIGURE`` where plotly does not take it.

    >>> redrawn({"data": [{"type": "scatter", "y": [1, 2]}]}).data[0].y
    (1, 2)
    """
    try:
        return go.Figure(dict(figure))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise InputError("CELL_FIGURE", "This figure is not as TreeDP draws it, so it cannot be shown.") from error


def lines_of(columns: Columns) -> go.Figure:
    """Return a plain figure of a table, for a chart that only a browser draws: its numbers against the first of them.

    >>> [line.name for line in lines_of({"β": [2, 3], "RMSE": [1.5, 1.0]}).data]
    ['RMSE']
    """
    numbers = {
        name: values for name, values in columns.items() if all(isinstance(one, (int, float)) for one in list(values))
    }
    (x_name, x), *others = numbers.items()
    fig = go.Figure([go.Scatter(x=list(x), y=list(values), name=name, mode="lines") for name, values in others])
    return fig.update_layout(xaxis_title=x_name, yaxis_title=others[0][0] if len(others) == 1 else None)
