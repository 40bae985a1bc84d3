"""Text for figures: data that stays data, and numbers for people."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import Final

from treedp_core.words import short, whole

# Control, line-breaking and direction-changing characters: they could hide or reorder what follows them.
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def plot_text(value: object, limit: int = 60) -> str:
    """Return a data string as it must be handed to plotly: shown literally, on one line, at most `limit` characters.

    Plotly reads a little HTML (and LaTeX between dollars), but does not decode ``&quot;``, so quotes stay.

    >>> plot_text("<b>x</b> & $y$"), plot_text("a" * 100, 5)
    ('&lt;b&gt;x&lt;/b&gt; &amp; &#36;y&#36;', 'aaaa…')
    """
    text = _UNSEEN.sub(" ", str(value)[: limit + 1])
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return html.escape(text, quote=False).replace("$", "&#36;")


def coloured(value: object, colour: str, limit: int = 60) -> str:
    """Return a data string for plotly in a colour (#rrggbb); a dark page lifts it.

    >>> coloured("a < b", "#0072B2")
    '<span style="color:#0072B2">a &lt; b</span>'
    """
    return f'<span style="color:{colour}">{plot_text(value, limit)}</span>'


def count_text(value: float) -> str:
    r"""Return a count in full, with thin spaces between thousands; what is no whole number is rounded.

    >>> count_text(1234567), count_text(-2.345), count_text(65432.1)
    ('1\u202f234\u202f567', '−2.35', '65\u202f432')
    """
    if not math.isfinite(value) or (value != int(value) and abs(value) < 1000):
        return short(value)
    return whole(round(value))


# ---- where direct labels stand: as near as possible to what they name, and never on each other


def apart(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Return places of labels (n,), each as near to the wanted one as the others allow: least squares, in their order.

    Two labels are at least `least` apart and all lie within `low` and `high`; where these have no room for so many,
    they are evenly spread. What has no finite place gets nan and takes no room.

    >>> apart([1.0, 1.0, 5.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 5.0]
    >>> apart([9.0, math.nan, 9.5], 2.0, 0.0, 10.0)
    [8.0, nan, 10.0]
    """
    order = sorted((i for i, at in enumerate(wanted) if math.isfinite(at)), key=lambda i: wanted[i])
    step = min(least, (high - low) / max(1, len(order) - 1))
    blocks: list[tuple[float, int]] = []  # mean of what is wanted of the first of them, and how many
    for nth, i in enumerate(order):
        mean, n = min(max(wanted[i], low), high) - nth * step, 1
        while blocks and blocks[-1][0] > mean:
            before, m = blocks.pop()
            mean, n = (before * m + mean * n) / (m + n), m + n
        blocks.append((mean, n))
    last = high - step * max(0, len(order) - 1)
    starts = [min(max(mean, low), max(low, last)) for mean, n in blocks for _ in range(n)]
    placed = {i: start + nth * step for nth, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [placed.get(i, math.nan) for i in range(len(wanted))]
