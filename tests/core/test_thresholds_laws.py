"""Truncated Laplace noise and the sparse vector technique: exact laws, exact losses, and mutants of both."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import oracles_thresholds as oracle
from refusals import refuses
from treedp_core.mechanisms.thresholds.sparse_vector import NoiseLaw, sparse, waiting_times
from treedp_core.noise.truncated_laplace import (
    DiscreteTruncatedLaplace,
    discrete_bound,
    discrete_delta,
    truncated_bound,
)

RISK = 1e-6  # of rejecting the right law, for each comparison of a sample with its law
GRID = [(eps, delta) for eps in (0.01, 0.1, 0.5, 1.0, 3.0) for delta in (0.3, 1e-2, 1e-6, 1e-9)]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def fits(sample: list, law: dict) -> bool:
    statistic, freedom = oracle.misfit(Counter(sample), law, len(sample))
    return bool(statistic <= (stats.chi2.isf(RISK, freedom) if freedom else 0.0))


# --- truncated Laplace -----------------------------------------------------------------------------------------------


def one_shift(rate: float, bound: int) -> float:
    p = oracle.truncated_pmf(rate, bound)
    return oracle.hockey_stick({k + 1: q for k, q in p.items()}, p, rate)


@pytest.mark.parametrize(("epsilon", "delta"), [(e, d) for e, d in GRID if e >= 0.1])
def test_the_discrete_bound_is_the_smallest_that_keeps_delta(epsilon: float, delta: float) -> None:
    bound = discrete_bound(epsilon, delta)
    assert one_shift(epsilon, bound) <= delta * (1 + 1e-9)
    assert discrete_delta(epsilon, bound) == pytest.approx(one_shift(epsilon, bound), rel=1e-6)
    if bound:
        assert one_shift(epsilon, bound - 1) > delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_the_continuous_bound_is_tight_and_rounded_up(epsilon: float, delta: float) -> None:
    bound = truncated_bound(epsilon, delta)
    if bound < 1.0:
        return  # two supports a record apart overlap by less than half
    # by hand: the mass of [R - 1, R] under the density e^(-eps |x|) eps / (2 (1 - e^(-eps R)))
    lost = (math.exp(-epsilon * (bound - 1)) - math.exp(-epsilon * bound)) / (2 * -math.expm1(-epsilon * bound))
    assert lost <= delta
    assert lost == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(e, d) for e, d in GRID if e >= 0.1])
def test_whole_records_cost_at_most_half_a_record(epsilon: float, delta: float) -> None:
    bound = discrete_bound(epsilon, delta)
    assert bound <= truncated_bound(epsilon, delta) + 0.5
    p = oracle.truncated_pmf(epsilon, bound)
    for x in np.arange(0.0, bound, 0.37):
        least = sum(q for k, q in p.items() if k < -x - 0.5)
        assert least <= 0.5 * math.exp(-epsilon * x) * (1 + 1e-9)


def test_bounds_do_not_overflow() -> None:
    assert truncated_bound(900.0, 1e-6) == pytest.approx(1.0 + math.log(5e5) / 900.0)
    assert discrete_bound(900.0, 1e-6) == 1


@pytest.mark.parametrize(("rate", "bound"), [(1.0, 3), (0.2, 20), (0.3, 0), (1e-3, 2), (2.0, 1)])
def test_the_discrete_law(rate: float, bound: int) -> None:
    law, p = DiscreteTruncatedLaplace(rate, bound), oracle.truncated_pmf(rate, bound)
    k = np.arange(-bound - 2, bound + 3)
    assert law.pmf(k) == pytest.approx([p.get(int(i), 0.0) for i in k], rel=1e-12)
    assert law.cdf(k) == pytest.approx([sum(q for j, q in p.items() if j <= i) for i in k], rel=1e-9)
    assert law.variance == pytest.approx(sum(q * j * j for j, q in p.items()), rel=1e-6, abs=1e-12)
    assert law.excess(0.5) == pytest.approx(sum(q * max(abs(j) - 0.5, 0) for j, q in p.items()), rel=1e-6)
    sample = law.sample(rng(), 40_000)
    assert sample.dtype == np.int64
    assert law.support == bound
    assert fits(sample.tolist(), p)


def test_the_wrong_scale_is_rejected() -> None:
    p = oracle.truncated_pmf(1.0, 5)
    for factor in (0.7, 1.3):
        assert not fits(DiscreteTruncatedLaplace(factor, 5).sample(rng(), 40_000).tolist(), p)


# --- noise of the sparse vector test ---------------------------------------------------------------------------------


def two_sided(rate: float, reach: int = 400) -> dict[int, float]:
    return oracle.truncated_pmf(rate, reach)


def one_sided(rate: float, reach: int = 400) -> dict[int, float]:
    return {k: math.exp(-rate * k) * -math.expm1(-rate) for k in range(reach)}


@pytest.mark.parametrize(("kind", "law"), [("exponential", one_sided), ("laplace", two_sided)])
def test_discrete_noise(kind, law) -> None:
    noise, p = NoiseLaw(kind, 0.4, "discrete"), law(0.4)
    x = np.array([-5.0, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0, 7.0])
    tails = [sum(q for k, q in p.items() if k >= at) for at in x]
    assert np.exp(noise.log_tail(x)) == pytest.approx(tails, rel=1e-9)
    below = [sum(q for k, q in p.items() if k < at) for at in x]
    assert np.exp(noise.log_cdf_below(x)) == pytest.approx(below, rel=1e-9, abs=1e-15)
    assert fits(noise.sample(rng(), 40_000).tolist(), p)
    assert not fits(NoiseLaw(kind, 0.48, "discrete").sample(rng(), 40_000).tolist(), p)


@pytest.mark.parametrize("kind", ["exponential", "laplace"])
def test_continuous_noise(kind) -> None:
    noise = NoiseLaw(kind, 0.5, "continuous")
    law = stats.expon(scale=2.0) if kind == "exponential" else stats.laplace(scale=2.0)
    x = np.array([-3.0, -0.1, 0.0, 0.1, 4.0])
    assert np.exp(noise.log_tail(x)) == pytest.approx(law.sf(x), rel=1e-12)
    sample = noise.sample(rng(), 40_000)
    assert stats.kstest(sample, law.cdf).pvalue > RISK
    assert stats.kstest(sample * 1.1, law.cdf).pvalue < RISK


def test_waiting_times_are_geometric() -> None:
    noise = NoiseLaw("exponential", 0.4, "discrete")
    p = math.exp(-0.4 * 3)
    law = {k: p * (1 - p) ** k for k in range(200)}
    assert fits(waiting_times(rng(4), noise, np.full(40_000, 2.5)).astype(int).tolist(), law)
    assert not fits(waiting_times(rng(4), noise, np.full(40_000, 3.5)).astype(int).tolist(), law)
    assert waiting_times(rng(4), noise, np.array([-1.0, 0.0, 1e6])).tolist() == [0.0, 0.0, math.inf]


# --- the sparse vector technique -------------------------------------------------------------------------------------


def test_sparse_answers_at_most_c_times() -> None:
    queries = np.full(20, 1e6)
    for c in (1, 2, 7):
        for noise in ("continuous", "discrete"):
            answers = sparse(rng(), queries, 5.0, 1.0, c, noise)
            assert answers.tolist() == [True] * c + [False] * (20 - c)


def test_sparse_follows_its_law() -> None:
    # two queries, c = 1, discrete noise of rates 1/2 (threshold, scale 2c/eps = 2) and 1/4 (queries)
    queries, tau = np.array([1.0, 3.0]), 2.0
    threshold, noise = two_sided(0.5), two_sided(0.25)
    law = dict.fromkeys([(True, False), (False, True), (False, False)], 0.0)
    for rho, p in threshold.items():
        yes = [sum(q for k, q in noise.items() if f + k >= tau + rho) for f in queries]
        law[True, False] += p * yes[0]
        law[False, True] += p * (1 - yes[0]) * yes[1]
        law[False, False] += p * (1 - yes[0]) * (1 - yes[1])
    g = rng(5)
    seen = [tuple(sparse(g, queries, tau, 1.0, 1, "discrete").tolist()) for _ in range(4000)]
    assert fits(seen, law)
    g = rng(5)
    assert not fits([tuple(sparse(g, queries, tau, 2.0, 1, "discrete").tolist()) for _ in range(4000)], law)


def law_of_two_answers(queries: np.ndarray, tau: float, epsilon: float, fresh: bool) -> dict[tuple[bool, bool], float]:
    """Law of two answers with a cut-off of 2, discrete noise; `fresh` draws the threshold's noise anew after a yes."""
    threshold, noise = two_sided(epsilon / 4), two_sided(epsilon / 8)
    yes = {rho: [sum(q for k, q in noise.items() if f + k >= tau + rho) for f in queries] for rho in threshold}
    law = {(x, y): 0.0 for x in (True, False) for y in (True, False)}
    for rho, p in threshold.items():
        first, second = yes[rho]
        after = sum(threshold[r] * yes[r][1] for r in threshold) if fresh else second
        law[True, True] += p * first * after
        law[True, False] += p * first * (1 - after)
        law[False, True] += p * (1 - first) * second
        law[False, False] += p * (1 - first) * (1 - second)
    return law


@pytest.mark.statistical
def test_sparse_draws_the_thresholds_noise_anew_after_a_positive_answer() -> None:
    """Chi-square of 20 000 pairs of answers, false alarm 1e-6; a threshold that keeps its noise is rejected."""
    queries, tau, g = np.array([1.0, 3.0]), 2.0, rng(5)
    seen = [tuple(sparse(g, queries, tau, 4.0, 2, "discrete").tolist()) for _ in range(20_000)]
    assert fits(seen, law_of_two_answers(queries, tau, 4.0, fresh=True))
    assert not fits(seen, law_of_two_answers(queries, tau, 4.0, fresh=False))


@pytest.mark.parametrize("c", [0, 1.01, 1.5, -1])
def test_sparse_takes_whole_cut_offs_only(c) -> None:
    with refuses("CUT_OFF", r"cut_off to be a whole number"):
        sparse(rng(), np.array([1.0]), 1.0, 1.0, c)


def loss(law: str, a: float, b: float, before: list, after: list, threshold: float) -> float:
    p, q = (oracle.first_yes_density(queries, threshold, law, a, b) for queries in (before, after))
    return math.log(p / q)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.3, 0.9), (1.0, 0.25)])
def test_the_one_sided_test_loses_exactly_a_plus_b(a: float, b: float) -> None:
    # all the no's move up by one, the yes does not: the worst case of the proof, approached by many queries
    worst = loss("exponential", a, b, [(0, 10**6), (0, 1)], [(1, 10**6), (0, 1)], 2.0)
    assert a + b - 1e-3 <= worst <= a + b + 1e-5
    back = loss("exponential", a, b, [(0, 10**6), (1, 1)], [(0, 10**6), (0, 1)], 2.0)
    assert b - 1e-3 <= back <= b + 1e-5


def test_a_replaced_record_would_lose_more_than_a_plus_b() -> None:
    a = b = 0.5
    assert loss("exponential", a, b, [(0, 10**6), (1, 1)], [(1, 10**6), (0, 1)], 2.0) > a + b + 0.4


def test_a_fraction_as_cut_off_overspends_and_a_whole_one_does_not() -> None:
    # Algorithm 3 with scales 2c/eps and 4c/eps loses at most eps/c for each yes, and that is attained
    epsilon = 1.0
    for c in (1, 1.01, 1.5, 2, 2.3):
        a, b = epsilon / (2 * c), epsilon / (4 * c)
        one = loss("laplace", a, b, [(0, 10**6), (1, 1)], [(1, 10**6), (0, 1)], 0.0)
        assert one == pytest.approx(epsilon / c, rel=0.02)
        assert one <= epsilon / c + 1e-4
        overspends = math.ceil(c) * one > epsilon * (1 + 1e-3)
        assert overspends == (c != int(c))
