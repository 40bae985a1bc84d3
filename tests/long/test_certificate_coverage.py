"""The certificate of a release holds all its bounds at once as often as it says, over many releases."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from oracles_top_down import table_draws
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.topdown import plan
from treedp_core.studies.topdown.certificate import fitted, on_tree, reach_of_all
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree

RAGGED = (
    ([3], [2, 0, 4], [0, 2, 0, 3, 0, 1]), ([2], [0, 3], [4, 0, 2]), ([4], [1, 1, 5, 0], [2, 2, 0, 0, 3, 0, 0]),
    ([2], [2, 2], [9, 0, 0, 9]),
)  # fmt: skip
TREES: tuple[Any, ...] = (
    (2,) * 6, (3,) * 4, (8, 8), (5, 2, 4), (30, 3), (2, 25), (4, 4, 4), (100,), (2,), (2, 2, 10), (10, 2, 2), (7, 7),
    (2,) * 4, (3, 9, 2), (6, 5, 4), (12, 12), *RAGGED,
)  # fmt: skip
UNITS = (
    ProtectedUnit(NeighbouringRelation.REPLACE_ONE), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, 2),
    ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, 2),
)  # fmt: skip
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "dense": lambda rng, n: rng.poisson(40, n),
    "sparse": lambda rng, n: np.minimum(rng.pareto(0.7, n).astype(int), 500) * (rng.random(n) < 0.2),
    "empty but one": lambda rng, n: np.eye(1, n, n // 2, dtype=int)[0] * 300,
}
BUDGETS = (0.05, 0.6, 6.0)
RUNS, SURE, ALL = 120, 0.5, 5 * len(TREES) * len(BUDGETS) * len(KINDS)
DOWN = ("intopt", "water_filling", "ls_water_filling")


def least(runs: int = RUNS) -> float:
    """Fewer runs would be further below the claim than 3 standard errors in any of all cells, were there but one."""
    far = norm.isf(norm.sf(3.0) / ALL)
    return float(runs * SURE - far * math.sqrt(runs * SURE * (1 - SURE)))


def drawn(rng: np.random.Generator, sigmas: list[float], sizes: list[int]) -> np.ndarray:
    """Noise of every node, by no code of ours."""
    return np.concatenate([table_draws(rng, s, (n,)) if s else np.zeros(n, int)
                           for s, n in zip(sigmas, sizes, strict=True)])  # fmt: skip


@pytest.mark.parametrize("number", range(len(TREES)))
def test_all_bounds_hold_at_once_as_often_as_claimed(number: int) -> None:
    """20 trees, three budgets, three kinds of data, three relations; false alarms: below 0.14 %.

    Bounds of a release of 0 and of one far too large hold only where every interval holds its count, above and below:
    that tells more than bounds of the projections, which lie nearer the middle.
    """
    of = TREES[number]
    tree = Tree.from_child_counts([np.array(n) for n in of]) if of in RAGGED else Tree.from_branching_factors(of)
    for rho in BUDGETS:
        for nth, (kind, leaves) in enumerate(KINDS.items()):
            rng = np.random.default_rng([number, round(100 * rho), nth])
            ready = plan(tree, rho, unit=UNITS[(number + nth) % 3])
            noise, counts = noise_on_tree(ready, tree), tree.counts_of_leaves(leaves(rng, tree.n_leaves))
            steps = {name: RULES[name].on(noise) for name in DOWN}
            ends = {False: (0 * counts, 0 * counts + 10**9), True: (0 * counts, 0 * counts + 10**9)}
            hits: dict[object, int] = dict.fromkeys([*steps, *ends], 0)
            for _ in range(RUNS):
                noisy = counts + drawn(rng, ready.sigmas.tolist(), tree.level_sizes.tolist())
                fit = fitted(ready, tree, noisy)
                for name, function in steps.items():
                    hits[name] += holds(ready, tree, noisy, function(noisy), counts, fit if name[:2] == "ls" else None,
                                        name[:2] != "ls")  # fmt: skip
                for is_fitted, both in ends.items():
                    hits[is_fitted] += all(holds(ready, tree, noisy, one, counts, fit if is_fitted else None, False)
                                           for one in both)  # fmt: skip
            assert min(hits.values()) >= least(), (rho, kind, hits)


def holds(ready: Any, tree: Tree, noisy: Any, released: Any, counts: Any, fit: Any, descends: bool) -> bool:
    nodes = on_tree(ready, tree, noisy, released, SURE, descends=descends, fit=fit).nodes
    return nodes is not None and bool((np.abs(released - counts) <= nodes).all())


def test_a_reach_of_nine_tenths_is_noticed() -> None:
    """Within 0.9 t of what is measured, noises stay less often than is claimed; within t as often."""
    tree, ready, rng = Tree.from_branching_factors((4, 4, 4)), plan((4, 4, 4), 0.05), np.random.default_rng(1)
    sizes = tree.level_sizes.tolist()
    reaches = [reach_of_all(law, n, SURE ** (1 / 3)) for law, n in zip(ready.laws, sizes, strict=True)]
    hits, runs = {0.9: 0, 1.0: 0}, 2_000
    for _ in range(runs):
        noise = np.split(drawn(rng, ready.sigmas.tolist(), sizes), np.cumsum(sizes)[:-1])
        for part in hits:
            hits[part] += all(np.abs(z).max() <= part * reach for z, reach in zip(noise, reaches, strict=True))
    assert hits[0.9] < least(runs) <= hits[1.0]
