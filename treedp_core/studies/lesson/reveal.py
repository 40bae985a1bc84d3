"""What a guess leads to: each step run with the number that was guessed, beside the one that is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from treedp_core.noise import Laplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf.error.criterion import total_squared_error
from treedp_core.studies.cdf.release import CdfSettings, plan_tree
from treedp_core.studies.lesson.steps import BINS, CHILDREN, best_children, children_errors, step_named
from treedp_core.tree import FloatArray
from treedp_core.tree.fewest import fewest_counts
from treedp_core.tree.workloads import Shape
from treedp_core.watch import generator
from treedp_core.words import above_least, percent, plural, privacy_text, setting_text, short, whole

DRAWS: Final = 4000
"""Of the noise of the second step."""
SMALL: Final = 1e-3


@dataclass(frozen=True, eq=False)
class Revealed:
    """A curve with the guess and the right answer marked on it.

    Parameters
    ----------
    x_title, y_title : str
    x : (n,)
    lines : tuple of (str, (n,) array)
    guess, right : float
        On the x axis; nan where the guess is not on it.
    said : str
        What the guess costs or means.
    log : bool
        Whether the x axis is logarithmic.
    """

    x_title: str
    y_title: str
    x: FloatArray
    lines: tuple[tuple[str, FloatArray], ...]
    guess: float
    right: float
    said: str
    log: bool = False


def revealed(step: str, guess: float) -> Revealed:
    """Return what a step shows once somebody has guessed a number (any, also an impossible one).

    >>> revealed("adds", 27.0).said
    'Your 27 is right on average, but its variance is 12.5 % above the least.'
    """
    return _SHOWN[step](guess)


def _given(step: str, name: str) -> float:
    """A number that the question of a step gives."""
    return step_named(step).predict.given[name]


def _gives(guess: float) -> Revealed:
    x = np.geomspace(0.1, 10.0, 100)
    sure = 100.0 / (1.0 + np.exp(-x))
    part = guess / 100.0
    at = math.log(part / (1.0 - part)) if 0.5 < part < 1.0 else math.nan
    said = (
        f"{setting_text(guess)} % would be the bound of a release with ε = {privacy_text(at)}; exact counts have no ε."
        if math.isfinite(at)
        else "Exact counts make them certain; with noise they are at most as sure as the curve says."
    )
    lines = [("with noise, at most", sure), ("exact counts", np.full(x.size, 100.0))]
    if 0 <= guess < 100:
        lines.insert(1, ("your guess", np.full(x.size, guess)))
    return replace(Revealed("ε of a noisy table", "how sure (%)", x, tuple(lines), at, math.nan, said), log=True)


def _noise(guess: float) -> Revealed:
    epsilon, n = _given("noise", "epsilon"), DRAWS
    law = Laplace(1.0 / epsilon)
    drawn = law.sample(generator("lesson noise"), n)
    edges = np.arange(-15.5, 16.0, 1.0)
    shares = np.histogram(drawn, edges)[0] / n
    lines = [(f"{whole(n)} draws at ε = {setting_text(epsilon)}", shares)]
    if 0.05 <= guess <= 100:
        lines.append((f"if σ were {setting_text(guess)}", np.diff(Laplace(guess / math.sqrt(2)).cdf(edges))))
    within = float((np.abs(drawn) <= guess).mean()) if guess > 0 else 0.0
    said = f"{percent(within)} of {whole(n)} draws have an error of at most your {setting_text(guess)}."
    middle, right = (edges[1:] + edges[:-1]) / 2, math.sqrt(law.variance)
    return Revealed("error (records)", "share of draws", middle, tuple(lines), guess, right, said)


def _who(guess: float) -> Revealed:
    bins, epsilon = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), _given("who", "epsilon")
    lines = []
    for relation in (NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_OR_REMOVE_ONE):
        scale = float(ProtectedUnit(relation).l1_sensitivity(2)[1])
        lines.append((relation.label, np.full(bins.size, scale / epsilon)))
    if 0 < guess <= 1000:
        lines.insert(1, ("your guess", np.full(bins.size, guess)))
    title = f"scale at ε = {setting_text(epsilon)}"
    need = step_named("who").predict.answer * epsilon / guess if guess > 0 else math.inf
    said = f"Noise of scale {setting_text(guess)} promises ε = {privacy_text(need)} to a replaced record."
    return replace(Revealed("bins", title, bins, tuple(lines), math.nan, math.nan, said), log=True)


def _ranges(guess: float) -> Revealed:
    bins = np.arange(1.0, 151.0)
    each = _given("ranges", "sd")
    off, at = each * np.sqrt(bins), (guess / each) ** 2
    added = plural(round(at), "bin") if at == round(at) else f"{short(at)} bins"
    said = f"The standard deviation of a range is your {setting_text(guess)} once it adds {added}."
    return Revealed(
        "bins added",
        "standard deviation (records)",
        bins,
        (("what it is", off),),
        at if 0 < at <= bins[-1] else math.nan,
        _given("ranges", "bins"),
        said,
    )


def _tree(guess: float) -> Revealed:
    children, first, epsilon = int(_given("tree", "children")), int(_given("tree", "bins")), _given("tree", "epsilon")
    bins = children**2
    x = np.arange(1, bins)
    counts = fewest_counts((children, children), np.zeros_like(x), x).astype(np.float64)
    tree, histogram = (
        math.sqrt(plan_tree(CdfSettings(bins, one, "laplace", epsilon, least_squares=False)).range_variance(0, first))
        for one in ((children, children), (bins,))
    )
    said = (
        f"At ε = {setting_text(epsilon)} the tree's {int(counts[first - 1])} counts have RMSE {short(tree)}, the "
        f"histogram's {first} RMSE {short(histogram)}; you said {setting_text(guess)}."
    )
    lines = [(f"tree {children} × {children}", counts)]
    if 0 < guess <= counts.max():
        lines.append(("your guess", np.full(x.size, guess)))
    return Revealed("first bins", "noisy counts", x.astype(float), tuple(lines), math.nan, float(first), said)


def _children(guess: float) -> Revealed:
    error = {shape: math.sqrt(value) for shape, value in children_errors().items()}
    least = min(error.values())
    x = np.array(sorted(error))
    own = error.get(round(guess))
    said = (
        f"{whole(BINS)} bins have no such tree."
        if own is None
        else f"With {setting_text(guess)} children the error is {above_least(own, least)}."
    )
    lines = (("error ÷ the least", np.array([error[int(b)] / least for b in x])),)
    at = guess if own is not None else math.nan
    return replace(
        Revealed("children per node", "error ÷ the least", x, lines, at, float(best_children()), said), log=True
    )


def _spend(guess: float) -> Revealed:
    shape = Shape.full((int(_given("spend", "top")), int(_given("spend", "below"))))
    x = np.linspace(5.0, 95.0, 91)

    def error(percentage: float) -> float:
        part = percentage / 100.0
        return math.sqrt(total_squared_error(shape, [1.0 - part, part], 1))

    best = step_named("spend").predict.answer
    least = error(best)
    curve = np.array([error(one) / least for one in x])
    if not 0 < guess < 100:
        said = "Both levels need some of ε."
        return Revealed("share of the bins (%)", "error ÷ the least", x, (("error", curve),), math.nan, best, said)
    over = error(guess) / least - 1.0
    above = f"{percent(over)} above the least" if over > SMALL else "within a thousandth of the least"
    said = f"With your {setting_text(guess)} % the error is {above}."
    return Revealed("share of the bins (%)", "error ÷ the least", x, (("error", curve),), guess, best, said)


def _adds(guess: float) -> Revealed:
    asked = step_named("adds").predict
    low, high, parts = asked.given["total"], asked.given["parent"], asked.given["children"]
    x = np.linspace(low, high, 61)

    def variance(total: float) -> float:
        weight = (total - low) / (high - low)  # of the total's own count: its variance is 1, that of the sum `parts`
        return weight**2 + parts * (1.0 - weight) ** 2

    least = parts / (parts + 1.0)
    curve = np.array([variance(one) / least for one in x])
    title, lines, right = "guess of the total", (("variance", curve),), asked.answer
    if not low <= guess <= high:
        said = (
            f"Between {short(low)} and {short(high)} every value is a mean of the two; beyond, it follows from neither."
        )
        return Revealed(title, "variance ÷ the least", x, lines, math.nan, right, said)
    over = variance(guess) / least - 1.0
    said = (
        f"Your {setting_text(guess)} is right on average, but its variance is {percent(over)} above the least."
        if over > 1e-9
        else f"No other mean has less variance than your {setting_text(guess)}."
    )
    return Revealed(title, "variance ÷ the least", x, lines, guess, right, said)


_SHOWN: Final[dict[str, Callable[[float], Revealed]]] = {
    "gives": _gives, "noise": _noise, "who": _who, "ranges": _ranges, "tree": _tree, "children": _children,
    "spend": _spend, "adds": _adds,
}  # fmt: skip


def reveal_table(step: str, guess: float) -> dict[str, list[float]]:
    """Return the curve that a step shows for a guess, as columns."""
    found = revealed(step, guess)
    return {found.x_title: found.x.tolist(), **{name: line.tolist() for name, line in found.lines}}


# ---- how a guess is dragged before anything is shown: along which axis, or which curve bends with it


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
    "noise": Drag("error (records): drag how wide the noise is", 0.1, 10, 0.1, (-10, -5, 0, 5, 10), "bell"),
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
