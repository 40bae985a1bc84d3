"""What the first page tells: seven counts with noise, and what the noise laws mean for a count of yours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from treedp_core.experiment import EPSILON_GRID, Experiment, Pipeline, draw_once, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.noise import DiscreteLaplace
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.sweep.lines import Question
from treedp_core.studies.sweep.series import EPSILON, chosen
from treedp_core.tree import FloatArray, IntArray, Tree

# ---- the margin of a weighted sum of independent discrete Laplace noises, such as an estimate after least squares


LARGEST_DENOMINATOR: Final = 10_000
_POINTS: Final = 1 << 19
_FAR: Final = 70.0
"""Scales of the largest noise beyond which a sum hardly ever lies: e^-70, times a power of their number."""
_ROUNDING: Final = 1e-11
"""More than floats add to a probability; it counts as lying beyond the margin."""


@lru_cache(256)
def margin_of_sum(inverse_scale: float, weights: tuple[float, ...], confidence: float) -> float:
    """Return a half width that holds a weighted sum of noises with at least this probability, in records.

    The sum lies on the fractions with the weights' common denominator; its probabilities are the Fourier transform of
    the product of the noises' characteristic functions (1 - p)^2 / ((1 - p)^2 + 4 p sin^2(w x / 2)), p = e^-a. It is
    the smallest such half width unless that takes too many fractions. Then every noise, a difference of two geometric
    numbers, has both rounded down to multiples of r. That moves it by less than r, so r for each unit of weight is
    added.

    Parameters
    ----------
    inverse_scale : float
        a, of each noise's discrete Laplace law.
    weights : (n,)
        Fractions with denominators up to `LARGEST_DENOMINATOR`.
    confidence : float

    Examples
    --------
    >>> margin_of_sum(0.25, (1.0,), 0.95), margin_of_sum(0.25, (0.5, 0.5), 0.95), margin_of_sum(0.25, (0.0,), 0.95)
    (12.0, 8.0, 0.0)
    """
    parts = [abs(Fraction(one).limit_denominator(LARGEST_DENOMINATOR)) for one in weights]
    steps, unit = _on_whole_numbers([one for one in parts if one])
    if not steps:
        return 0.0
    reach = 2.0 * _FAR * max(steps)
    coarse = max(1, math.ceil(reach / (inverse_scale * _POINTS)))
    slowness = coarse * inverse_scale
    half = _margin(steps, slowness, reach * max(1.0, 1.0 / slowness), 1.0 - confidence)
    return float(half * coarse * unit + (coarse > 1) * coarse * sum(parts))


def _on_whole_numbers(parts: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Return positive fractions as whole multiples of the largest fraction that divides them all."""
    below = math.lcm(*(one.denominator for one in parts))
    whole = [int(one * below) for one in parts]
    common = math.gcd(*whole) or 1
    return [one // common for one in whole], Fraction(common, below)


def _margin(steps: Sequence[int], inverse_scale: float, points: float, miss: float) -> int:
    """Return the smallest k with P(|sum of steps times noises| > k) <= miss, from at least so many points."""
    n = 1 << math.ceil(math.log2(points))
    angle = math.pi * np.arange(n // 2 + 1) / n
    p, rest = math.exp(-inverse_scale), -math.expm1(-inverse_scale)
    transform: FloatArray = np.ones(angle.size)
    for step in steps:
        transform /= 1.0 + 4.0 * p * (np.sin(step * angle) / rest) ** 2
    mass = np.fft.irfft(transform, n)[: n // 2]
    within = 2.0 * np.cumsum(mass) - mass[0]
    return int(np.argmax(1.0 - within + _ROUNDING <= miss))


CONFIDENCE: Final = 0.95
EXAMPLE_COUNT: Final = 200
TOWN: Final = Tree.from_branching_factors((2, 2))
TOWN_NAMES: Final = ("Town", "West", "East", "Mill", "Church", "River", "Hill")
TOWN_LEVELS: Final = ("Town", "Sides", "Parts")
TOWN_LEAVES: Final = (35, 25, 30, 10)


class TownDraw(NamedTuple):
    """One release of the seven made-up counts.

    Parameters
    ----------
    counts : (7,)
        The counts, in records.
    noisy : (7,)
        The counts with noise.
    consistent : (7,)
        What least squares makes of them: every sum agrees.
    noisy_margin, consistent_margin : (7,)
        Half widths, in records, within which each count by itself is right at least 19 times in 20; 0 for an exact one.
    """

    counts: IntArray
    noisy: FloatArray
    consistent: FloatArray
    noisy_margin: FloatArray
    consistent_margin: FloatArray


def town_draw(settings: Experiment) -> TownDraw:
    """Return one release of seven made-up counts with discrete Laplace noise, equal shares and least squares.

    `settings` gives epsilon, relation, contributions and seed.

    >>> drawn = town_draw(Experiment(epsilon=1.0))
    >>> drawn.noisy_margin.tolist(), drawn.consistent_margin.tolist()
    ([0.0, 12.0, 12.0, 12.0, 12.0, 12.0, 12.0], [0.0, 6.5, 6.5, 8.75, 8.75, 8.75, 8.75])
    """
    plain = Experiment(
        epsilon=settings.epsilon, relation=settings.relation, contributions=settings.contributions, seed=settings.seed,
        postprocess=("least_squares",),
    )  # fmt: skip
    counts = TOWN.counts_of_leaves(np.array(TOWN_LEAVES))
    noisy, consistent = draw_once(plain, TOWN, counts)
    return TownDraw(counts, noisy.estimate, consistent.estimate, *_margins(prepare(plain, TOWN)))


def _margins(pipeline: Pipeline) -> tuple[FloatArray, FloatArray]:
    """Margins of the counts with noise, and after least squares: weights of the noises, then their exact sum."""
    laws = pipeline.noise.laws
    noisy = np.repeat([0.0 if law is None else law.margin(CONFIDENCE) for law in laws], TOWN.level_sizes)
    (law,) = {law for law in laws if isinstance(law, DiscreteLaplace)}  # equal shares: one law for all levels
    weights = np.where((pipeline.noise.variance > 0)[:, None], pipeline.postprocessing[0](np.eye(TOWN.n_nodes)), 0.0)
    return noisy, np.array([margin_of_sum(law.inverse_scale, tuple(one), CONFIDENCE) for one in weights.T.tolist()])


def town_table(settings: Experiment) -> dict[str, list[float] | list[str]]:
    """Return a release of the seven counts as a table: each count, and its 95 % margin in records."""
    drawn = town_draw(settings)
    columns = (of_truth("true"), "with noise", "consistent", "95 % margin with noise", "95 % margin consistent")
    return {
        "node": list(TOWN_NAMES), **{name: array.tolist() for name, array in zip(columns, drawn, strict=True)}
    }  # fmt: skip


def law_question(settings: Experiment) -> Question:
    """Return the question of RMSE against epsilon for every noise law, without post-processing; formulas only.

    `settings` has a delta that the Gaussian laws can promise; its own epsilon, seed and slack do not matter.
    """
    base = replace(settings, metric="rmse", epsilon=1.0, seed=0)
    return Question(EPSILON, tuple(chosen(MECHANISMS, ["none"])), base, EPSILON_GRID[::2])


def example_level(tree: Tree) -> int:
    """Return the level of the example: the last but one, or the only one."""
    return max(min(1, tree.height), tree.height - 1)


def example_margin(tree: Tree, settings: Experiment) -> float:
    """Return by how many records a count of the example level is off at most, 19 times in 20; 0 if it is exact."""
    law = prepare(settings, tree).noise.laws[example_level(tree)]
    return 0.0 if law is None else law.margin(CONFIDENCE)
