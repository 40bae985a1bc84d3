"""What the first page tells: seven counts with noise, and what the noise laws mean for a count of yours."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from treedp_core.experiment import EPSILON_GRID, Experiment, draw_once, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.origin import of_truth
from treedp_core.studies.sweep.lines import Question
from treedp_core.studies.sweep.series import EPSILON, chosen
from treedp_core.tree import FloatArray, IntArray, Tree

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
    margin : (7,)
        Half width of the interval that holds the noise 19 times in 20, in records; 0 for a count that is exact.
    """

    counts: IntArray
    noisy: FloatArray
    consistent: FloatArray
    margin: FloatArray


def town_draw(settings: Experiment) -> TownDraw:
    """Return one release of seven made-up counts with discrete Laplace noise, equal shares and least squares.

    `settings` gives epsilon, relation, contributions and seed.

    >>> town_draw(Experiment(epsilon=1.0)).margin.tolist()
    [0.0, 12.0, 12.0, 12.0, 12.0, 12.0, 12.0]
    """
    plain = Experiment(
        epsilon=settings.epsilon, relation=settings.relation, contributions=settings.contributions, seed=settings.seed,
        postprocess=("least_squares",),
    )  # fmt: skip
    counts = TOWN.counts_of_leaves(np.array(TOWN_LEAVES))
    noisy, consistent = draw_once(plain, TOWN, counts)
    laws = prepare(plain, TOWN).noise.laws
    margins = [0.0 if law is None else law.margin(CONFIDENCE) for law in laws]
    return TownDraw(counts, noisy.estimate, consistent.estimate, np.repeat(margins, TOWN.level_sizes))


def town_table(settings: Experiment) -> dict[str, list[float] | list[str]]:
    """Return a release of the seven counts as a table: node, true, with noise, consistent, 95 % margin (records)."""
    drawn = town_draw(settings)
    columns = (of_truth("true"), "with noise", "consistent", "95 % margin")
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
