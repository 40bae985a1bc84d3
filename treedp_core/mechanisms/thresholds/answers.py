"""Every use of private counts in the threshold mechanism passes through here.

The mechanism sees its counts only through two questions: on which level does a tree's test first answer yes, and which
nodes pass. Whoever answers them decides everything that is published, so replaying the answers given on some counts
with the counts of a neighbour shows what each answer could reveal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.mechanisms.thresholds.plan_types import PlanLevel
from treedp_core.mechanisms.thresholds.sparse_vector import NOISES, Noise, round_noises, waiting_times
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace, discrete_bound
from treedp_core.privacy.rounding import quotient_above, quotient_below
from treedp_core.tree import IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of one round: for each tree its level maxima from the deepest level up, as runs of equal ones.

    Parameters
    ----------
    tree : (n_runs,) which tree, ascending
    query : (n_runs,) largest count of a level, for all levels of the run
    bottom, length : (n_runs,) deepest level of the run and number of levels
    n_trees : int
    """

    tree: IntArray
    query: IntArray
    bottom: IntArray
    length: IntArray
    n_trees: int


@dataclass(frozen=True)
class PassNoise:
    """Noise of a node in a pass round and the threshold its noisy count must exceed, in records."""

    law: TruncatedLaplace | DiscreteTruncatedLaplace
    exceed: float

    @property
    def smallest(self) -> float:
        """Only counts above this can pass, in records; at least 0."""
        return self.exceed - self.law.support


def pass_noise(level: PlanLevel, noise: Noise) -> PassNoise:
    """Pass noise of one round; on the integers its bound is recomputed and the threshold keeps its distance to it.

    So whichever noise is used, exactly the counts above theta - R can pass, and an empty node never does.

    Statements on errors are made for the reals. On the integers R grows by at most 1/2 (the exact bound is smaller by
    ln((e^t + 1) / 2) / t >= 1/2 before it is rounded up), and P(Z < -x - 1/2) <= e^(-t x) / 2 as for Laplace noise,
    because 2 sqrt(q) <= 1 + q. So a node passes as surely as before if it is one record heavier, one-sided tests are no
    less sure than before, and bounds on the error grow by at most (1 - alpha) records.
    """
    epsilon, delta = (quotient_below(x, level.cut_off) for x in (level.pass_epsilon, level.pass_delta))
    if noise == "discrete":
        bound = discrete_bound(epsilon, delta)
        return PassNoise(DiscreteTruncatedLaplace(epsilon, bound), bound + level.smallest_labelled)
    scale = quotient_above(level.cut_off, level.pass_epsilon)
    return PassNoise(TruncatedLaplace(scale, level.pass_bound), level.pass_threshold)


class Answers(Protocol):
    """Who answers."""

    def first_above(self, level: PlanLevel, queries: Queries) -> IntArray:
        """Level on which each tree's test first answers yes, from the deepest up; -1 if never, (n_trees,)."""

    def passes(self, level: PlanLevel, tree: IntArray, counts: IntArray) -> BoolArray:
        """Whether each node passes, (n_nodes,); `tree` says in which tree it is."""


@dataclass(frozen=True)
class Draw:
    """Answers with fresh noise: this is the mechanism.

    For simulation, also with discrete noise: bounded noise is drawn exactly, but how many queries fail before one
    succeeds is drawn with a probability that is a float. So is bounded noise whose bound is far inside its scale.
    """

    rng: np.random.Generator
    noise: Noise = "discrete"

    def __post_init__(self) -> None:
        checks.one_of("noise", self.noise, NOISES)

    def first_above(self, level: PlanLevel, queries: Queries) -> IntArray:
        """Draw a threshold for each tree, then how many queries of each run (n_runs,) fail before one succeeds."""
        threshold, query = round_noises(level, self.noise)
        rho = threshold.sample(self.rng, queries.n_trees)
        gap = level.classification_threshold + rho[queries.tree] - queries.query
        failed = waiting_times(self.rng, query, gap)
        fired = np.flatnonzero(failed < queries.length)
        first = np.full(queries.n_trees, -1, dtype=np.int64)
        # runs are ascending in the tree and, within it, in the order of the queries: the first to fire is wanted
        trees, at = np.unique(queries.tree[fired], return_index=True)
        runs = fired[at]
        first[trees] = queries.bottom[runs] - failed[runs].astype(np.int64)
        return first

    def passes(self, level: PlanLevel, tree: IntArray, counts: IntArray) -> BoolArray:
        """Add bounded noise to each count and compare, shape of `counts`, in records."""
        noise = pass_noise(level, self.noise)
        return np.asarray(counts + noise.law.sample(self.rng, counts.size) > noise.exceed)
