"""Budget questions of the error lab: who gets what, how far from optimal, how much for a wanted error. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treedp_core.allocation.minimax import squared_norm
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare, smallest_epsilon
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency, NeighbouringRelation, epsilon_to_rho
from treedp_core.studies.sweep.series import Series
from treedp_core.tree import AnyArray, Tree


def split_table(experiment: Experiment, tree: Tree, level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return a table of the levels: nodes, share of the budget, budget in its currency, noise standard deviation.

    A level published exactly has noise 0, one not measured has noise inf; neither has a share.
    """
    pipeline = prepare(experiment, tree)
    amounts = np.array(pipeline.budget.per_level)
    spent = np.where(np.isfinite(amounts), amounts, 0.0)
    letter = "ε" if pipeline.budget.currency is Currency.EPSILON else "ρ"
    return {
        "level": list(level_names),
        "nodes": tree.level_sizes.tolist(),
        "share": (spent / (spent.sum() or 1.0)).tolist(),
        letter: [float(amount) for amount in spent],
        "noise st. dev. (records)": np.sqrt(pipeline.noise.level_variance).tolist(),
    }


def distance_from_optimum(experiment: Experiment, tree: Tree) -> float | None:
    """Return the largest node standard deviation over the least that any unbiased Gaussian mechanism can have.

    The least variance is gamma_2 squared / (2 rho) for a noisy root, gamma_2 squared / rho for a public total under
    replacement, times the squared number of records a unit contributes (see `allocation.minimax`). None where that is
    no theorem: other noise, a biased step, levels that are not uniform, or only some columns protected.
    """
    public = experiment.relation == NeighbouringRelation.REPLACE_ONE.value
    known = public or experiment.relation == NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    linear = experiment.postprocess in ((), ("least_squares",))
    normal = MECHANISMS[experiment.mechanism].continuous_gaussian
    if not normal or not linear or not known or tree.branching_factors is None:
        return None
    norm = squared_norm(tree.branching_factors, public)
    errors = prepare(experiment, tree).errors
    if norm == 0 or errors is None:
        return None
    rho = epsilon_to_rho(experiment.epsilon, experiment.delta, True)
    least = norm * experiment.contributions**2 / (rho if public else 2 * rho)
    return math.sqrt(float(errors.variance.max()) / least)


def target_table(
    series: Sequence[Series], base: Experiment, tree: Tree, counts: AnyArray, target: float
) -> list[tuple[Series, float | None, str]]:
    """Return for each series the smallest epsilon whose formula, on counts (n_nodes,), meets the target, or why not.

    `counts` are the true ones, (n_nodes,) in records; `target` is in the metric's unit.

    Raises
    ------
    InputError
        ``TARGET_RANGE`` when the target is not above 0.
    """
    answers: list[tuple[Series, float | None, str]] = []
    for one in series:
        try:
            found = smallest_epsilon(one.of(base), tree, counts, target)
        except InputError as error:
            if error.code != "NO_FORMULA":
                raise
            answers.append((one, None, "no closed form to search on"))
        else:
            why = found.label if found.epsilon is not None else "not within reach of any ε up to 100"
            answers.append((one, found.epsilon, why))
    return answers
