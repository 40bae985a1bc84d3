"""What the first page tells: error curves of the noise laws, and what they mean for one count."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treedp_core.experiment import EPSILON_GRID, Experiment, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.sweep.lines import Question
from treedp_core.studies.sweep.series import EPSILON, chosen
from treedp_core.tree import Tree

CONFIDENCE: Final = 0.95
EXAMPLE_COUNT: Final = 200


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
