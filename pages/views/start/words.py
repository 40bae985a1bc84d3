"""What the first page says of its seven counts."""

from __future__ import annotations

from typing import Final

from treedp_core.experiment import Experiment
from treedp_core.studies.sweep.first_page import TOWN, TownDraw
from treedp_core.words import halves, margin, setting_text

_LEVELS: Final = ("Town is", "West and East are", "the four below are")
"""The counts of each level, which have one margin."""


def answer(settings: Experiment, drawn: TownDraw, *, noisy: bool) -> str:
    """Return how far the counts are off, with noise or made consistent, and whether sums agree."""
    margins = (drawn.noisy_margin if noisy else drawn.consistent_margin)[TOWN.level_start[:-1]].tolist()
    off = _off(margins, total_is_exact=settings.unit.total_is_public)
    top, west, east = (drawn.noisy if noisy else drawn.consistent)[:3].tolist()
    sums = f"West and East add to {halves(west + east)}"
    agree = f"{sums}, {'as they should' if west + east == top else f'not to {halves(top)}'}"
    return (
        f"At ε = {setting_text(settings.epsilon)}, {off}, each by itself, nineteen times in twenty or more; "
        f"{agree if noisy else f'made consistent, {sums}, and all sums agree'}."
    )


def _off(margins: list[float], *, total_is_exact: bool) -> str:
    """What is exact, and within which margins (n_levels,) the other counts are right."""
    start = "Town is exact (its total is public)" if total_is_exact else ""
    rest = list(zip(_LEVELS, margins, strict=True))[total_is_exact:]
    if len({reach for _, reach in rest}) == 1:
        rest = [("the other six counts are" if total_is_exact else "all seven counts are", rest[0][1])]
    told = [f"{name} right within ± {margin(reach)}" for name, reach in rest]
    *most, last = [start, *told] if start else told
    return f"{', '.join(most)} and {last}" if most else last
