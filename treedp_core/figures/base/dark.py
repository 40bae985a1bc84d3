"""Figures on a dark page: colours that are weak there come nearer to white, and scales begin at the page's own end."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from treedp_core.figures.base.colour import (
    DIVERGING,
    DIVERGING_DARK,
    SEQUENTIAL,
    SEQUENTIAL_DARK,
    colour_scale,
    inked,
    luminance,
)

ENOUGH: Final = 5.0
"""Contrast with the page up to which a colour is lifted."""
STAYS: Final = 0.3
"""Share of what a colour lacks that stays, so that colours which differ still do."""
_PAGE: Final = 0.006
"""Relative luminance of the dark page."""
_PAINTED: Final = ("color", "fill", "stroke")
_HEX: Final = re.compile("#[0-9A-Fa-f]{6}")
_RGB: Final = re.compile(r"rgba?\(([\d.]+), ?([\d.]+), ?([\d.]+)((?:, ?[\d.]+)?)\)")
_COLOURED: Final = re.compile(r'(?<=<span style="color:)#[0-9A-Fa-f]{6}(?=">)')
_SCALES: Final = (
    (colour_scale(SEQUENTIAL), colour_scale(SEQUENTIAL_DARK)),
    (colour_scale(DIVERGING), colour_scale(DIVERGING_DARK)),
)


def on_dark(fig: go.Figure) -> go.Figure:
    """Return a figure as a dark page shows it; its template stays, as the page's theme sets that.

    >>> on_dark(go.Figure(go.Scatter(y=[1], line_color="#0072B2"))).data[0].line.color
    '#2285bc'
    """
    parts = fig.to_dict()
    template = parts["layout"].pop("template", None)
    painted = repainted(parts)
    painted["data"] = [_legible(one) if "insidetextfont" in one else one for one in painted["data"]]
    painted["layout"]["template"] = template
    return go.Figure(painted, _validate=False)  # it was checked when it was drawn


def _legible(block: dict[str, Any]) -> dict[str, Any]:
    """Blocks with texts that are legible on their dark colours; a stranger's notebook may have blocks unlike ours."""
    try:
        return inked(block)
    except (KeyError, TypeError, ValueError):
        return block


def repainted(parts: dict[str, Any]) -> dict[str, Any]:
    """Return a figure's or chart's specification with its colours as a dark page shows them.

    Only what a property paints and what colours a part of a text are looked at: data which look like a colour stay.

    >>> repainted({"text": "#000000", "marker": {"color": ["#CC79A7", 3.0]}})
    {'text': '#000000', 'marker': {'color': ['#CC79A7', 3.0]}}
    """
    return {name: _repainted(one, any(word in name.lower() for word in _PAINTED)) for name, one in parts.items()}


def _repainted(part: object, paint: bool) -> object:
    if isinstance(part, dict):
        return repainted(part)
    if isinstance(part, str):
        return lifted(part) if paint else _COLOURED.sub(lambda found: lifted(found[0]), part)
    if isinstance(part, np.ndarray) and part.dtype.kind in "OU" and paint:
        return [_repainted(one, True) for one in part.tolist()]
    if isinstance(part, list | tuple):
        return _scale(part) or [_repainted(one, paint) for one in part]
    return part


def _scale(part: list[Any] | tuple[Any, ...]) -> list[tuple[float, str]] | None:
    """The dark twin of a colour scale; none of anything else."""
    pairs = [tuple(one) if isinstance(one, list | tuple) else () for one in part[:12]]
    return next((dark for light, dark in _SCALES if len(part) == len(light) and pairs == light), None)


@lru_cache(maxsize=4096)
def lifted(colour: str) -> str:
    """Return a colour as a dark page shows it: one that is weak there is mixed with white.

    >>> lifted("#0072B2"), lifted("#CC79A7"), lifted("rgba(0,0,0,0.5)"), lifted("white")
    ('#2285bc', '#CC79A7', 'rgba(113,113,113,0.5)', 'white')
    """
    if _HEX.fullmatch(colour):
        rgb, opacity = [float(int(colour[i : i + 2], 16)) for i in (1, 3, 5)], ""
    elif found := _RGB.fullmatch(colour):
        rgb, opacity = [float(part) for part in found.groups()[:3]], found[4]
    else:
        return colour
    has = _contrast(rgb)
    if has >= ENOUGH:
        return colour
    wanted, low, high = ENOUGH - STAYS * (ENOUGH - has), 0.0, 1.0
    for _ in range(12):
        share = (low + high) / 2
        low, high = (share, high) if _contrast(_mixed(rgb, share)) < wanted else (low, share)
    red, green, blue = (round(part) for part in _mixed(rgb, high))
    return f"rgba({red},{green},{blue}{opacity})" if opacity else f"#{red:02x}{green:02x}{blue:02x}"


def _mixed(rgb: list[float], white: float) -> list[float]:
    return [part + white * (255.0 - part) for part in rgb]


def _contrast(rgb: list[float]) -> float:
    """Contrast with the dark page (WCAG 2.2)."""
    seen = float(luminance(*map(np.asarray, rgb)))
    return (max(seen, _PAGE) + 0.05) / (min(seen, _PAGE) + 0.05)
