"""Text for figures: data that stays data, and numbers for people."""

from __future__ import annotations

import html
import math
import re
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
