"""What a browser needs to draw figures by itself, from the installed package: nothing is fetched."""

from __future__ import annotations

from functools import cache

from plotly.offline import get_plotlyjs


@cache
def plotly_js() -> str:
    """Return the program that draws figures in a browser: plotly.js, about 5 MB."""
    return str(get_plotlyjs())
