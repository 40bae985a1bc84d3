"""Pictures of a top-down release and of repeated ones, drawn from what the study found."""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core.figures.base.curves import upper_end
from treedp_core.figures.base.draft import Draft, scatter
from treedp_core.figures.base.style import axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.figures.topdown import LOOKS
from treedp_core.figures.trees.draw import one_draw
from treedp_core.figures.trees.icicle import drafted
from treedp_core.studies.topdown import Drawn
from treedp_core.studies.topdown.marginals import Marginals
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.words import Z95

MAX_BLOCKS: Final = 200
"""Blocks of a tree."""


def level_of_release(mine: Drawn, level: int) -> Draft:
    """Return the true and the released counts of one level, within what noise moves them by."""
    here = mine.levels[level]
    return one_draw(
        here.truth, here.released, sigma=float(mine.plan.sigmas[level]), mechanism="discrete_gaussian",
        variant=RULES[mine.wanted.rule].steps, name=mine.subject.namer(level),
    )  # fmt: skip


def tree_of_release(mine: Drawn, root: int, *, after: bool) -> Draft:
    """Return the tree of a release below a node, coloured by the signed error of what was measured or released.

    Raises
    ------
    ValueError
        The release is too large for a picture.
    """
    if mine.picture is None:
        raise ValueError("The release is too large for a picture.")
    tree, labels, truth, released = mine.picture
    values = released if after or mine.noisy is None else mine.noisy
    clip = 4.0 * mine.plan.usual_sigma or 1.0
    return drafted(
        tree, labels, truth, (values - truth).astype(float), root=root, max_nodes=MAX_BLOCKS,
        colour_range=(-clip, clip), colour_title="error", text=values, released=values,
    )  # fmt: skip


def marginals_of(found: Marginals) -> Draft:
    """Return the error of every marginal, a mark for each way on a logarithmic axis; bars of 95 %."""
    x, traces = np.arange(len(found.names), dtype=np.float64), []
    for i, (way, rmse, se) in enumerate(zip(found.ways, found.rmse, found.se, strict=True)):
        colour, symbol, _ = LOOKS[i % len(LOOKS)]
        reach = Z95 * np.where(np.isfinite(se), se, 0.0)
        bars = {"type": "data", "array": reach, "color": colour, "thickness": 1.5, "visible": found.is_simulated[i]}
        traces.append(
            scatter(
                x=x + 0.1 * (i - (len(found.ways) - 1) / 2), y=rmse, mode="markers", name=plot_text(way), error_y=bars,
                marker={"symbol": symbol, "size": 10, "color": colour},
                hovertemplate="%{y:,.3~g} records<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    ends = [upper_end(rmse, se) for rmse, se in zip(found.rmse, found.se, strict=True)]
    ticks = {"tickvals": x, "ticktext": [plot_text(name, 40) for name in found.names]}
    return new_figure(
        traces,
        xaxis=axis("marginal", log=False, bounds=(-0.5, x.size - 0.5)) | ticks,
        yaxis=axis("RMSE of a cell (records)", log=True, bounds=limits([*found.rmse, *ends], log=True,
                                                                       default=(1.0, 1000.0)), grid=True),
    )  # fmt: skip
