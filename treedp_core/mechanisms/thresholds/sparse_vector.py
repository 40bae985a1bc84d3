"""The sparse vector technique (Ghazi et al., Algorithm 3), and runs of equal queries answered at once.

Two laws of noise. ``laplace`` is the standard form: threshold noise of scale c/a and query noise of scale 2c/b are
(a + b)-private for any queries of sensitivity 1 and at most c positive answers.

``exponential`` adds one-sided noise: rho of rate a to the threshold, nu of rate b to every query, fresh for each of
the c searches. It is (a + b)-private when one more record moves no query down (add or remove one record). Proof for
c = 1: let f and f' be the queries without and with the record, f <= f' <= f + 1, G the distribution function of nu and
S(x) = P(nu >= x). A negative answer up to k and a positive one at k has probability

    integral over rho of p(rho) * product of G(T + rho - f_j) over j < k * S(T + rho - f_k).

From f to f', substitute rho + 1: the product can only grow, because T + rho + 1 - f'_j >= T + rho - f_j; S falls at
most by e^-b over a step of 1; p(rho + 1) = e^-a p(rho). So the probability with the record is at least e^-(a+b) times
that without. From f' to f, leave rho alone: the product grows, and S falls at most by e^-b. "Never" goes likewise.
Replacing a record moves queries both ways, and the loss would be a + 2b: hence not for that relation. On the integers
rho and nu are geometric and every step of the proof stays true, as the shifts are by whole records.

Draws are for simulation, like those of `noise`: probabilities are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.mechanisms.thresholds.plan_types import PlanLevel, TestLaw
from treedp_core.noise.exact_draws import draw_discrete_laplace
from treedp_core.noise.law import FloatArray
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace, discrete_bound
from treedp_core.privacy.rounding import quotient_above, quotient_below
from treedp_core.tree import AnyArray, IntArray

# Every use of private counts in the threshold mechanism passes through here. The mechanism sees its counts only
# through two questions: on which level does a tree's test first answer yes, and which nodes pass. Whoever answers
# them decides everything that is published, so replaying the answers given on some counts with the counts of a
# neighbour shows what each answer could reveal.

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


Noise = Literal["discrete", "continuous"]
NOISES: Final = ("discrete", "continuous")


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of a threshold or a query: one- or two-sided, on the reals or the integers, P falling by e^-rate a record.

    >>> NoiseLaw("exponential", 0.5, "discrete").log_tail(np.array([-1.0, 0.5, 2.0])).tolist()
    [0.0, -0.5, -1.0]
    """

    kind: TestLaw
    rate: float
    noise: Noise

    def sample(self, rng: np.random.Generator, n: int) -> AnyArray:
        """Independent draws, (n,): int64 if discrete."""
        if self.noise == "discrete":
            x = draw_discrete_laplace(rng, self.rate, n)
            return x if self.kind == "laplace" else np.maximum(x, -1 - x)  # x or -1 - x is geometric, never below 0
        draws = rng.standard_exponential(n) / self.rate
        return draws if self.kind == "exponential" else np.where(rng.random(n) < 0.5, draws, -draws)

    def log_tail(self, x: AnyArray) -> FloatArray:
        """Logarithm of P(noise >= x), shape of `x`."""
        at = np.ceil(x) if self.noise == "discrete" else np.asarray(x, dtype=float)
        if self.kind == "exponential":
            return np.asarray(0.0 - self.rate * np.maximum(at, 0.0))
        # two-sided: P(X >= x) = e^(-rate x) / h above 0, h = 2 or, on the integers, 1 + e^-rate; 1 - P(X > -x) below
        h = 1.0 + math.exp(-self.rate) if self.noise == "discrete" else 2.0
        step = 1.0 if self.noise == "discrete" else 0.0
        lower = np.log1p(-np.exp(-self.rate * np.maximum(step - at, 0.0)) / h)
        return np.where(at > 0, -self.rate * at - math.log(h), lower)

    def log_cdf_below(self, x: AnyArray) -> FloatArray:
        """Logarithm of P(noise < x), shape of `x`; -inf where that is 0."""
        return _log_one_minus_exp(self.log_tail(x))


def round_noises(level: PlanLevel, noise: Noise) -> tuple[NoiseLaw, NoiseLaw]:
    """Noise of the threshold and of each query in one round of a plan."""
    c, slower = level.cut_off, 1 if level.test_law == "exponential" else 2
    threshold = NoiseLaw(level.test_law, quotient_below(level.threshold_epsilon, c), noise)
    return threshold, NoiseLaw(level.test_law, quotient_below(level.query_epsilon, slower * c), noise)


def sparse(
    rng: np.random.Generator,
    queries: AnyArray,
    classification_threshold: float,
    epsilon: float,
    cut_off: int,
    noise: Noise = "continuous",
) -> AnyArray:
    """Answers of Ghazi et al., Algorithm 3: which queries are at least the threshold, (n_queries,) bool.

    Threshold noise 2c/epsilon, drawn anew after each positive answer; query noise 4c/epsilon; after c positive answers
    all are negative. It is epsilon-private for queries of sensitivity 1.

    Parameters
    ----------
    queries : (n_queries,)
        In the order in which they are asked.
    cut_off : int
        c; a whole number. The algorithm admits ceil(c) positive answers, so with c = 1.01 it would lose 1.98 epsilon.

    Raises
    ------
    InputError
        CUT_OFF, EPS_RANGE or VALUE_UNKNOWN.

    >>> sparse(np.random.default_rng(1), np.array([0.0, 1e6, 1e6]), 5e5, 1.0, 1).tolist()
    [False, True, False]
    """
    c = checks.integer("cut_off", cut_off, low=1, high=checks.MAX_NODES, code="CUT_OFF")
    checks.one_of("noise", noise, NOISES)
    half = checks.epsilon(epsilon) / 2.0
    threshold, query = (NoiseLaw("laplace", quotient_below(half, k * c), noise) for k in (1, 2))
    f = np.asarray(queries)
    answers, start = np.zeros(f.size, dtype=bool), 0
    noisy = f + query.sample(rng, f.size)
    for _ in range(c):
        above = np.flatnonzero(noisy[start:] >= classification_threshold + threshold.sample(rng, 1)[0])
        if not above.size:
            break
        start += int(above[0]) + 1
        answers[start - 1] = True
    return answers


def waiting_times(rng: np.random.Generator, law: NoiseLaw, gap: AnyArray) -> FloatArray:
    """Queries before the first whose noise is at least its gap, for endless runs of one gap; shape of `gap`.

    Geometric with success probability P(noise >= gap); inf where that is 0. So a chain of a million nodes with one
    count costs one draw.
    """
    miss = -law.log_cdf_below(gap)  # -ln P(noise < gap), inf where every query succeeds
    with np.errstate(divide="ignore", over="ignore"):  # an endless wait is inf
        return np.asarray(np.floor(rng.standard_exponential(np.shape(gap)) / miss))


def _log_one_minus_exp(log_p: AnyArray) -> FloatArray:
    """ln(1 - e^log_p) for log_p <= 0, accurate at both ends."""
    p = np.asarray(log_p, dtype=float)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(p > -math.log(2.0), np.log(-np.expm1(p)), np.log1p(-np.exp(p))))
