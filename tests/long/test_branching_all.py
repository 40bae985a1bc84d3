"""The best tree found for K bins against every tree of at most four levels, by formulas that share no code with it."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

import oracles_shapes as slow
from oracles_cdf import least_squares_means, ordered_trees, plain_means
from treedp_core.studies.branching import RankedShape, best_shapes
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload

EVERY = bool(os.environ.get("EVERY_TREE"))
"""Set to sweep all of `MANY` and `FITTED_MANY`: about ten minutes."""
FEW = (2, 3, 60, 97, 256, 360, 2520)
MANY = (*FEW, 5, 127, 128, 243, 499, 625, 720, 997, 1000, 1024, 1681, 2187, 3600, 4093, 4095, 4096)
FITTED_FEW = (3, 30, 720)
FITTED_MANY = (*FITTED_FEW, 2, 31, 60, 64, 97, 127, 180, 243, 256, 360)
PLACES = {"cdf": 0, "ranges": 1, "nodes": 2}
LAWS = {"laplace": ("laplace", "discrete_laplace"), "gaussian": ("gaussian", "discrete_gaussian")}


trees_of_height = cache(slow.trees_of_height)
"""The same for every law, workload and post-processing."""


def least(n_bins: int, law: str, workload: str, *, fitted: bool, padded: bool, optimal: bool) -> float:
    """Least mean variance of all trees of at most four levels."""
    of = slow.best_values if optimal else slow.equal_values
    trees = [trees_of_height(n_bins, height, padded=padded) for height in (1, 2, 3, 4)]
    return min(float(of(t, n_bins, law, workload, fitted=fitted).min()) for t in trees if t.size)


def worse(found: list[RankedShape], value: float, tolerance: float) -> bool:
    """Whether the best of a list loses against a value."""
    return found[0].value > value * (1 + tolerance)


@pytest.mark.parametrize("workload", PLACES)
def test_the_fast_formulas_equal_dense_algebra(workload: str) -> None:
    """Every tree over few bins: covers without, inverse matrices after least squares, levels of unequal noise."""
    rng = np.random.default_rng(5)
    for n_bins in (2, 3, 7, 8, 12, 13):
        for factors in ordered_trees(n_bins):
            column = np.array(factors)[:, None]
            noise = rng.uniform(0.5, 4.0, len(factors))
            fitted = slow.fitted_value(column, n_bins, noise[:, None], workload)[0]
            dense = least_squares_means(factors, n_bins, [0.0, *noise])[PLACES[workload]]
            assert fitted == pytest.approx(dense, rel=1e-9)
            if workload != "nodes":
                plain = float(noise @ slow.plain_weights(column, n_bins, workload)[:, 0])
                assert plain == pytest.approx(plain_means(factors, n_bins, [0.0, *noise])[PLACES[workload]], rel=1e-9)


def test_every_tree_of_at_most_four_levels_is_looked_at() -> None:
    for n_bins in (2, 7, 24, 30):
        for padded in (True, False):
            seen = {tuple(t) for h in (1, 2, 3, 4) for t in slow.trees_of_height(n_bins, h, padded=padded).T.tolist()}
            every = {f for f in ordered_trees(n_bins) if len(f) <= 4 and (padded or np.prod(f) == n_bins)}
            assert seen == every


@pytest.mark.parametrize("workload", PLACES)
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("optimal", [False, True])
def test_no_tree_of_at_most_four_levels_is_better(
    optimal: bool, padded: bool, law: str, fitted: bool, workload: str, every: bool
) -> None:
    """Budgets that are searched for, after least squares, are promised to a millionth.

    Every second K is for every second of a law's workloads, with and without padding.
    """
    tolerance = 1e-6 if optimal and fitted else 1e-9
    few, many = (FITTED_FEW, FITTED_MANY) if optimal and fitted else (FEW, MANY)
    if not every:
        few = few[(optimal + padded + fitted + list(LAWS).index(law) + PLACES[workload]) % 2 :: 2]
    lost = {}
    for n_bins in many if EVERY else few:
        value = least(n_bins, law, workload, fitted=fitted, padded=padded, optimal=optimal)
        for name in LAWS[law][: 2 if n_bins in (30, 60) else 1]:
            criterion = Criterion(name, Workload(workload), fitted)
            found = best_shapes(n_bins, criterion, padded=padded, optimal_budgets=optimal, n_best=3)
            if worse(found, value, tolerance):
                lost[n_bins, name] = (found[0].shape.branching_factors, found[0].value / value - 1)
    assert not lost


def test_a_worse_best_tree_is_noticed() -> None:
    """The second of the list in place of the first, by less than a percent, loses."""
    found = best_shapes(997, Criterion(), n_best=3)
    value = least(997, "laplace", "cdf", fitted=False, padded=True, optimal=False)
    assert found[0].value == pytest.approx(value, rel=1e-12)
    assert found[1].value < 1.1 * value
    assert not worse(found, value, 1e-9) and worse(found[1:], value, 1e-9)
