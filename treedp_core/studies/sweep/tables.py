"""The numbers behind the error lab's figures, as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from treedp_core.allocation.minimax import squared_norm
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare, smallest_epsilon
from treedp_core.mechanisms import RELEASES
from treedp_core.privacy import Currency, NeighbouringRelation, epsilon_to_rho
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.privacy.promise import Release
from treedp_core.records import Labels
from treedp_core.studies.sweep.lines import Line
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS, Series
from treedp_core.tree import AnyArray, Tree

MAX_ROWS: Final = 100_000


def line_table(view: str, lines: Sequence[Line], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind a figure of lines, one row for each series and point."""
    x_name = {EPSILON: "epsilon", LEVEL: "level", N_LEVELS: "number of levels"}[view]
    columns: dict[str, list[Any]] = {name: [] for name in ("series", x_name, "formula", "simulation", "standard error")}
    for line in lines:
        points = line.x.tolist()
        columns["series"] += [line.series.label] * len(points)
        columns[x_name] += [level_names[int(x)] for x in points] if view == LEVEL else points
        columns["formula"] += _known(line.formula)
        columns["simulation"] += _known(line.simulated)
        columns["standard error"] += _known(line.standard_error)
    if any(line.is_stale for line in lines):
        columns["simulated for"] = [", ".join(line.computed_for) or "-" for line in lines for _ in line.x]
    return columns


def _known(values: AnyArray) -> list[float | None]:
    """Values as a table holds them: nothing where there is none."""
    return [None if np.isnan(value) else float(value) for value in values.tolist()]


def draw_table(
    releases: tuple[Release, Release], counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> dict[str, list[Any]]:
    """Return true and released counts of one level (at most 100 000 nodes), in the order of the tree.

    `counts` are the true ones, (n_nodes,); `releases` the noisy counts and those after post-processing.
    """
    final = releases[1]
    nodes = range(tree.n_nodes)[tree.level(level)][:MAX_ROWS]
    return {
        "node": list(nodes),
        "path": labels.paths(nodes),
        of_truth("count"): [int(counts[node]) for node in nodes],
        "released": [float(final.estimate[node]) for node in nodes],
    }


# ---- budget questions of the error lab: who gets what, how far from optimal, how much for a wanted error. Pure logic


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
    normal = RELEASES[experiment.mechanism].continuous_gaussian
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
