"""How a guess is dragged before anything is shown: along which axis, or which curve bends with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from treedp_core.studies.lesson.steps import BINS, CHILDREN, step_named
from treedp_core.words import short


@dataclass(frozen=True)
class Drag:
    """An axis on which a guess is dragged.

    Parameters
    ----------
    title : str
        Of the axis.
    low, high : float
        Its ends; a guess beyond them can be typed.
    by : float
        How finely.
    ticks : tuple of float
    shape : "place", "bell" or "root"
        A place on the axis; a law as wide as the guess; a curve from one bin to a hundred, upright.
    log : bool
    stops : tuple of float
        Where it stops, if not everywhere.
    start : float
        Where a curve begins.
    """

    title: str
    low: float
    high: float
    by: float
    ticks: tuple[float, ...]
    shape: Literal["place", "bell", "root"] = "place"
    log: bool = False
    stops: tuple[float, ...] = ()
    start: float = 0.0


_RANGE: Final = step_named("ranges").predict.given
_FIRST: Final = int(step_named("tree").predict.given["bins"])
_PERCENT: Final = (0, 25, 50, 75, 100)
_SCALES: Final = tuple(2.0**power for power in range(-1, 7))
DRAGS: Final = {
    "gives": Drag("how sure afterwards (%)", 0, 100, 1, _PERCENT),
    "noise": Drag("off by (records): drag how wide the noise is", 0.1, 10, 0.1, (-10, -5, 0, 5, 10), "bell"),
    "who": Drag(
        "scale of the noise of each bin", _SCALES[0], _SCALES[-1], 0.5, _SCALES, log=True, stops=_SCALES
    ),
    "ranges": Drag(
        f"one bin on the left, {short(_RANGE['bins'])} bins on the right: drag how far off their sum is (records)",
        1, 1000, 1, (1, 10, 100, 1000), "root", log=True, start=_RANGE["sd"],
    ),
    "tree": Drag(f"counts for the first {_FIRST} bins", 0, _FIRST, 1, tuple(_FIRST * i / 4 for i in range(5))),
    "children": Drag("children of each node", CHILDREN[0], BINS, 1, CHILDREN, log=True, stops=CHILDREN),
    "spend": Drag("share of the bins (%)", 0, 100, 1, _PERCENT),
    "adds": Drag("best guess of the total (records)", 20, 34, 0.5, (20, 22, 24, 26, 28, 30, 32, 34)),
}  # fmt: skip
"""Step -> its axis."""


def drag_for_browser(step: str, value: float | None) -> dict[str, object]:
    """Return a step's axis as its script takes it, with the guess so far.

    >>> drag_for_browser("spend", 50.0)["value"]
    50.0
    """
    one, asked = DRAGS[step], step_named(step).predict
    return {
        "step": step, "label": asked.text, "title": one.title, "unit": asked.unit, "low": one.low, "high": one.high,
        "by": one.by, "ticks": one.ticks, "shape": one.shape, "log": one.log, "stops": one.stops or None,
        "start": one.start, "value": value,
    }  # fmt: skip
