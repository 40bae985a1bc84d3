"""Values as colours: signed errors from orange to blue, counts from light to dark."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.text import count_text, plot_text
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import PLOTLY

SEQUENTIAL: Final = (
    "#fdfdcb", "#e7eea3", "#c5df8c", "#98cc83", "#66b785", "#3d9f8a", "#25848d", "#256788", "#2c487d", "#2b2767",
)  # fmt: skip
DIVERGING: Final = (  # too low, orange; too high, blue
    "#8c3b00", "#b75200", "#d9792f", "#efab76", "#f9dcc3", "#f3f1ee",
    "#c9dfee", "#8fbfdd", "#4d99c6", "#1c72ab", "#094d80",
)  # fmt: skip
# On a dark page nothing is almost black or almost white: little is dim and violet, much is bright and golden.
SEQUENTIAL_DARK: Final = ("#7b4fb0", "#4a77c8", "#1f94a2", "#5fab58", "#c3a634")
DIVERGING_DARK: Final = ("#ffa24d", "#666d74", "#6cbcf5")
INK: Final = "#595959"
"""Text on what a light page shows through."""
PALE: Final = "#C9CDD1"
"""Text on what a dark page shows through."""
LEVEL_ENDS: Final = ("#43309A", "#D6CEF5")
"""Root and leaves; violet, as the colours of strategies mean something else in the same figure."""


_COLOURED_BY: Final = {"icicle": "colors", "bar": "color"}
"""What a scale colours in traces that write into their blocks."""
_HEX: Final = re.compile("#[0-9A-Fa-f]{6}")
_MIDDLE: Final = 0.1791
"""Relative luminance on which black and white read alike."""
READS: Final = 5.0
"""Contrast with white of text in a colour: some is left where a band lies behind it, and on a dark page."""


def rgba(colour: str, opacity: float) -> str:
    """Return a ``#rrggbb`` colour with an opacity.

    >>> rgba("#0072B2", 0.16)
    'rgba(0,114,178,0.16)'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def colour_scale(colours: tuple[str, ...]) -> list[tuple[float, str]]:
    """Return colours as an evenly spaced plotly colour scale."""
    return [(i / (len(colours) - 1), colour) for i, colour in enumerate(colours)]


def luminance(red: AnyArray, green: AnyArray, blue: AnyArray) -> FloatArray:
    """Return the relative luminance of colours from 0 to 255 (WCAG 2.2), (n,) or whatever shape their parts have.

    >>> luminance(np.array([0, 255]), np.array([0, 255]), np.array([0, 255])).round(6).tolist()
    [0.0, 1.0]
    """
    part = np.array([red, green, blue]) / 255.0
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.tensordot((0.2126, 0.7152, 0.0722), linear, axes=1))


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on a ``#rrggbb`` colour: a contrast of 4.5 or more.

    >>> ink_on("#D55E00"), ink_on("#0072B2")
    ('black', 'white')
    """
    red, green, blue = (np.asarray(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return "black" if luminance(red, green, blue) > _MIDDLE else "white"


@lru_cache(maxsize=256)
def text_ink(colour: str) -> str:
    """Return a ``#rrggbb`` colour as text is written in it: dark enough for a contrast of `READS` with white.

    >>> text_ink("#CC79A7"), text_ink("#0072B2"), text_ink("black")
    ('#9a5b7e', '#0072B2', 'black')
    """
    if not _HEX.fullmatch(colour):
        return colour
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    shades = np.linspace(1.0, 0.0, 256)
    reads = 1.05 / (luminance(*np.outer(rgb, shades).round()) + 0.05) >= READS
    if reads[0]:
        return colour
    red, green, blue = (rgb * shades[np.argmax(reads)]).round().astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def written(note: dict[str, Any], font: str) -> dict[str, Any]:
    """Return a text of a figure in a colour that reads on the page, where its `font` has one; in a box it stays.

    >>> written({"font": {"color": "#CC79A7"}}, "font")
    {'font': {'color': '#9a5b7e'}}
    """
    colour = (note.get(font) or {}).get("color")
    if not isinstance(colour, str) or "bgcolor" in note:
        return note
    return {**note, font: {**note[font], "color": text_ink(colour)}}


def inked(block: dict[str, Any]) -> dict[str, Any]:
    """Return blocks with their texts black or white, whichever reads better on each colour: a contrast of 4.5 or more.

    Parameters
    ----------
    block : dict
        A trace as plotly's JSON names its properties; one not coloured by a scale or as ``#rrggbb`` stays as it is.

    >>> marker = {"color": np.array([0.0, 1.0]), "cmin": 0.0, "cmax": 1.0, "colorscale": colour_scale(SEQUENTIAL)}
    >>> inked({"type": "bar", "marker": marker})["insidetextfont"]["color"]
    ['black', 'white']
    >>> inked({"type": "bar", "text": ["37"], "marker": {"color": "#56B4E9"}})["insidetextfont"]["color"]
    'black'
    """
    rgb = _colours(block)
    if rgb is None:
        return block
    ink = np.where(luminance(*rgb) > _MIDDLE, "black", "white").tolist()
    return {**block, "insidetextfont": {**(block.get("insidetextfont") or {}), "color": ink}}


def _colours(block: dict[str, Any]) -> list[FloatArray] | None:
    """Red, green and blue of blocks, () or (n,) each; None of those that are coloured in another way."""
    marker, name = block.get("marker", {}), _COLOURED_BY.get(block["type"])
    if name is None:
        return None
    if "colorscale" not in marker:
        named = np.asarray(marker.get(name))
        if "text" not in block or not all(isinstance(one, str) and _HEX.fullmatch(one) for one in named.flat):
            return None
        return [np.vectorize(lambda one, i=i: int(one[i : i + 2], 16), otypes=[float])(named) for i in (1, 3, 5)]
    at = (numbers_of(marker[name]) - marker["cmin"]) / (marker["cmax"] - marker["cmin"])
    places, colours = zip(*marker["colorscale"], strict=True)
    return [np.interp(at, places, [int(one[i : i + 2], 16) for one in colours]) for i in (1, 3, 5)]


def numbers_of(values: AnyArray | Mapping[str, str]) -> FloatArray:
    """Numbers of a trace, (n,), also as plotly packs them into text."""
    if isinstance(values, Mapping):
        values = np.frombuffer(b64decode(values["bdata"]), values["dtype"])
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Colouring:
    """Values as colours: `shades` between `low` and `high` on `scale`, with a colour bar in the values' own unit."""

    shades: FloatArray
    low: float
    high: float
    scale: list[tuple[float, str]]
    bar: dict[str, Any]


def colouring(values: FloatArray, bounds: tuple[float, float] | None, title: str) -> Colouring:
    """Return the colours of values (n,): signed errors if `bounds` start below 0, else counts on a logarithmic scale.

    Errors run from orange (too low) through near white to blue (too high) and are cut at the bounds; counts are shaded
    by log(1 + count), since one root holds as much as all the leaves together.

    >>> colouring(np.array([-9.0, 2.0]), (-4, 4), "error").shades.tolist()
    [-4.0, 2.0]
    >>> seen = colouring(np.array([0.0, 99.0]), None, "count")
    >>> seen.shades.tolist(), seen.bar["ticktext"]
    ([0.0, 2.0], ['0', '10'])
    """
    bar = {"title": {"text": plot_text(title), "side": "top"}, "thickness": 12, "outlinewidth": 0}
    if bounds is not None and bounds[0] < 0:
        low, high = map(float, bounds)
        return Colouring(
            np.clip(values, low, high), low, high, colour_scale(DIVERGING), bar | {"tickformat": PLOTLY["tick"]}
        )
    top = float(np.nanmax(values, initial=0.0)) if bounds is None else bounds[1]
    every = 1 if top < 1e6 else 2
    ticks = [0] + [10**k for k in range(1 if top > 10 else 0, 16, every) if 10**k <= top]
    bar |= {"tickvals": np.log10(1.0 + np.array(ticks)), "ticktext": [count_text(tick) for tick in ticks]}
    shades = np.log10(1.0 + np.clip(values, 0.0, top))
    return Colouring(shades, 0.0, math.log10(1.0 + top) or 1.0, colour_scale(SEQUENTIAL), bar)
