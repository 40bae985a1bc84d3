"""What the first page computes: error curves of the noise laws, and what they mean for one count."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from pages.ui.store import remember
from treedp_core.experiment import EPSILON_GRID, Experiment, prepare, run
from treedp_core.figures.curves import Curve
from treedp_core.mechanisms import MECHANISMS
from treedp_core.noise import Law
from treedp_core.privacy import fitting_delta
from treedp_core.records import Dataset
from treedp_core.tree import AnyArray, Tree

MISS: Final = 1 / 20
EXAMPLE_COUNT: Final = 200
_POINTS: Final = EPSILON_GRID[::2]


def law_curves(data: Dataset, settings: Experiment) -> list[Curve]:
    """Return RMSE against epsilon for every noise law, without post-processing; formulas only."""
    base = shared_by_laws(settings)
    key = ("law curves", data.fingerprint, replace(base, seed=0, alpha=0.0))
    return remember(key, lambda: computed(data.tree, data.counts, base))


def shared_by_laws(settings: Experiment) -> Experiment:
    """Return the settings that the curves depend on; their epsilon and mechanism vary."""
    return replace(settings, metric="rmse", postprocess=(), epsilon=1.0)


def computed(tree: Tree, counts: AnyArray, base: Experiment) -> list[Curve]:
    """Return RMSE against epsilon for every noise law; `base` holds the settings they share."""
    return [_curve(tree, counts, base, name) for name in MECHANISMS]


def curve_table(curves: list[Curve]) -> dict[str, list[float]]:
    """Return the numbers behind the curves, column by column."""
    table = {"epsilon": list(_POINTS)}
    for curve in curves:
        table[f"RMSE {curve.label}"] = [] if curve.formula is None else curve.formula.tolist()
    return table


def example_level(data: Dataset) -> int:
    """Return the level of the example: the last but one, or the only one."""
    return max(min(1, data.tree.height), data.tree.height - 1)


def example_margin(data: Dataset, settings: Experiment) -> float:
    """Return by how many records a count of the example level is off at most, 19 times in 20; 0 if it is exact."""
    law = prepare(settings, data.tree).noise.laws[example_level(data)]
    return 0.0 if law is None else margin(law, MISS)


def margin(law: Law, miss: float) -> float:
    """Return the smallest t, in records, with P(|Z| > t) <= miss; a whole number for a law on the integers.

    >>> from treedp_core.noise import Laplace
    >>> round(margin(Laplace(1.0), 1 / 20), 6)  # ln 20
    2.995732
    """
    high = 1.0
    while float(law.tail(high)) > miss:
        high *= 2.0
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(law.tail(middle)) > miss else (low, middle)
    return float(np.round(high)) if law.integer else high


def _curve(tree: Tree, counts: AnyArray, base: Experiment, name: str) -> Curve:
    delta = base.delta or (fitting_delta(int(counts[0])) if MECHANISMS[name].needs_delta else 0.0)
    cells = [replace(base, mechanism=name, delta=delta, epsilon=epsilon) for epsilon in _POINTS]
    outcomes = [run(cell, tree, counts, simulated=False).formula for cell in cells]
    values = np.array([np.nan if formula is None else formula.tree for formula in outcomes])
    return Curve(MECHANISMS[name].label, name, (), np.array(_POINTS), formula=values)
