"""What a guess leads to: each step run with the number that was guessed, beside the one that is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.noise import Laplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf.error.simple import total_squared_error
from treedp_core.studies.lesson.steps import step_named
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape
from treedp_core.watch import generator
from treedp_core.words import percent, privacy_text, short


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


def _gives(guess: float) -> Revealed:
    x = np.geomspace(0.1, 10.0, 100)
    sure = 100.0 / (1.0 + np.exp(-x))
    part = guess / 100.0
    at = math.log(part / (1.0 - part)) if 0.5 < part < 1.0 else math.nan
    said = (
        f"{short(guess)} % would be the bound of a release with ε = {privacy_text(at)}; exact counts have no ε."
        if math.isfinite(at)
        else "Exact counts make him certain; with noise he is at most as sure as the curve says."
    )
    lines = [("with noise, at most", sure), ("exact counts", np.full(x.size, 100.0))]
    if 0 <= guess < 100:
        lines.insert(1, ("your guess", np.full(x.size, guess)))
    return replace(Revealed("ε of a noisy table", "how sure (%)", x, tuple(lines), at, math.nan, said), log=True)


def _noise(guess: float) -> Revealed:
    law, n = Laplace(2.0), 4000
    drawn = law.sample(generator("lesson noise"), n)
    edges = np.arange(-15.5, 16.0, 1.0)
    shares = np.histogram(drawn, edges)[0] / n
    lines = [(f"{n} draws at ε = 0.5", shares)]
    if 0.05 <= guess <= 100:
        lines.append((f"if σ were {short(guess)}", np.diff(Laplace(guess / math.sqrt(2)).cdf(edges))))
    within = float((np.abs(drawn) <= guess).mean()) if guess > 0 else 0.0
    said = f"{percent(within)} of {n} draws are off by at most your {short(guess)}."
    middle, right = (edges[1:] + edges[:-1]) / 2, math.sqrt(law.variance)
    return Revealed("off by (records)", "share of draws", middle, tuple(lines), guess, right, said)


def _who(guess: float) -> Revealed:
    bins = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    lines = []
    for relation in (NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_OR_REMOVE_ONE):
        scale = float(ProtectedUnit(relation).l1_sensitivity(2)[1])
        lines.append((relation.label, np.full(bins.size, scale)))
    if 0 < guess <= 1000:
        lines.insert(1, ("your guess", np.full(bins.size, guess)))
    need = 2.0 / guess if guess > 0 else math.inf
    said = f"Noise of scale {short(guess)} promises ε = {privacy_text(need)} to a replaced record."
    return replace(Revealed("bins", "scale at ε = 1", bins, tuple(lines), math.nan, math.nan, said), log=True)


def _ranges(guess: float) -> Revealed:
    bins = np.arange(1.0, 151.0)
    off = 2.8 * np.sqrt(bins)
    said = f"A range is off by your {short(guess)} once it adds {short((guess / 2.8) ** 2)} bins."
    at = (guess / 2.8) ** 2
    return Revealed(
        "bins added", "off by (records)", bins, (("what it is", off),), at if 0 < at <= 150 else math.nan, 100.0, said
    )


def _tree(guess: float) -> Revealed:
    tree = Shape((16, 16), 256).tree()
    x = np.arange(1.0, 256.0)
    counts = np.array([float(tree.prefix_cover(int(j)).size) for j in x])
    exact = int(tree.prefix_cover(200).size)
    said = f"The first 200 bins are {exact} counts of the tree, 200 of a histogram; you said {short(guess)}."
    lines = [("tree 16 × 16", counts)]
    if 0 < guess <= counts.max():
        lines.append(("your guess", np.full(x.size, guess)))
    return Revealed("first bins", "counts added", x, tuple(lines), math.nan, 200.0, said)


def _children(guess: float) -> Revealed:
    error = {shape: math.sqrt(value) for shape, value in _errors().items()}
    least = min(error.values())
    x = np.array(sorted(error))
    own = error.get(round(guess))
    times = "" if own is None else f"{short(own / least)} times the least error."
    said = f"With {short(guess)} children the error is {times}" if times else "4 096 bins have no such tree."
    lines = (("error ÷ the least", np.array([error[int(b)] / least for b in x])),)
    at = guess if own is not None else math.nan
    return replace(Revealed("children per node", "error ÷ the least", x, lines, at, 16.0, said), log=True)


def _errors() -> dict[int, float]:
    """Squared error of cumulative counts of 4,096 bins with equal children and equal shares, by children."""
    found = {}
    for power in (1, 2, 3, 4, 6, 12):
        levels = 12 // power
        shape = Shape.full((2**power,) * levels)
        found[2**power] = total_squared_error(shape, [1.0 / levels] * levels, 1)
    return found


def _spend(guess: float) -> Revealed:
    shape = Shape.full((4, 64))
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
    said = f"With your {short(guess)} % the error is {percent(error(guess) / least - 1)} above the least."
    return Revealed("share of the bins (%)", "error ÷ the least", x, (("error", curve),), guess, best, said)


def _adds(guess: float) -> Revealed:
    x = np.linspace(24.0, 30.0, 61)

    def variance(total: float) -> float:
        weight = (total - 24.0) / 6.0  # of the total's own count: variance 1 against 2 of the sum
        return weight**2 + 2.0 * (1.0 - weight) ** 2

    least = 2.0 / 3.0
    curve = np.array([variance(one) / least for one in x])
    if not 24 <= guess <= 30:
        said = "Between 24 and 30 every value is a mean of the two; beyond, it follows from neither."
        return Revealed("guess of the total", "variance ÷ the least", x, (("variance", curve),), math.nan, 28.0, said)
    over = variance(guess) / least - 1.0
    said = (
        f"Your {short(guess)} is right on average, but its variance is {percent(over)} above the least."
        if over > 1e-9
        else f"No other mean has less variance than your {short(guess)}."
    )
    return Revealed("guess of the total", "variance ÷ the least", x, (("variance", curve),), guess, 28.0, said)


_SHOWN: Final[dict[str, Callable[[float], Revealed]]] = {
    "gives": _gives, "noise": _noise, "who": _who, "ranges": _ranges, "tree": _tree, "children": _children,
    "spend": _spend, "adds": _adds,
}  # fmt: skip


def reveal_table(step: str, guess: float) -> dict[str, list[float]]:
    """Return the curve that a step shows for a guess, as columns."""
    found = revealed(step, guess)
    return {found.x_title: found.x.tolist(), **{name: line.tolist() for name, line in found.lines}}
