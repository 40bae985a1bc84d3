"""Where texts and marks of a first screen lie in a browser: what covers what, what is cut, how large and how legible.

What is measured is drawn: boxes of texts (line by line), of bars, blocks and points, and places along lines. A text may
stand on its own bar, block, marker or box, with a contrast of 4.5, and on nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

LOOK: Final = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
LOOK_BESIDE: Final = Path(__file__).with_name("geometry_page.js").read_text(encoding="utf-8")
FIGURE: Final = ".st-key-stage .js-plotly-plot"


def unreadable(page: Any, least: float = 0.0, figure: str = FIGURE) -> list[str]:
    """What cannot be read of the figures that `figure` selects; no text may be smaller than `least` px."""
    return [str(one) for one in page.evaluate(LOOK, {"what": figure, "least": least})]


def crowded(page: Any) -> list[str]:
    """What covers what, and what is cut, of the words and controls around a first screen's figure."""
    return [str(one) for one in page.evaluate(LOOK_BESIDE)]
