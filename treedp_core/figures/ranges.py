"""The error of ranges over their length, by three ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from treedp_core.figures.base.draft import Draft, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, PINK, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text

LOOKS: Final = ((BEFORE, "dash"), (PINK, "dot"), (AFTER, "solid"))
UNIT: Final = ": st. dev. (records)"


def error_by_length(columns: Mapping[str, Sequence[float]]) -> Draft:
    """Return the standard deviation of ranges over the bins they hold, a line for each way of `of_lengths`."""
    ways = [name for name in columns if name.endswith(UNIT)]
    lines = [
        scatter(
            x=list(columns["bins"]), y=list(columns[name]), mode="lines", name=plot_text(name.removesuffix(UNIT)),
            line={"color": colour, "dash": dash, "width": 2.5},
        )
        for name, (colour, dash) in zip(ways, LOOKS, strict=True)
    ]  # fmt: skip
    heights = [np.array(columns[name]) for name in ways]
    return new_figure(
        lines,
        xaxis=axis("bins in the range", log=False, bounds=(0.0, float(max(columns["bins"])))),
        yaxis=axis("st. dev. (records)", log=True, bounds=limits(heights, log=True, default=(1.0, 10.0)), grid=True),
    )
