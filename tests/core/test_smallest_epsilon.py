"""The smallest epsilon by branch and bound: never above a slow oracle, and bounds that hold."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from oracles_smallest import parts, smallest_epsilon, tail, variances
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Inverse, Problem, Target, smallest_budget
from treedp_core.studies.budget.splits.branch_and_bound import Box, Search
from treedp_core.studies.budget.splits.level_chain import LevelChain
from treedp_core.studies.budget.splits.optimum import optimum
from treedp_core.studies.budget.targets.box_limits import Noises, _bends, least_tail, noises_of
from treedp_core.studies.budget.targets.finalize_split import Truth
from treedp_core.studies.budget.targets.inverse import needed
from treedp_core.studies.budget.targets.relaxation import (
    FINE,
    PERIOD,
    Requirements,
    _stepped,
    _walk_tail,
    below_outside,
    largest_discrete_gaussian_variance,
    largest_variance,
    least_total,
)
from treedp_core.studies.budget.targets.target import Bound
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2)
RNG = np.random.default_rng


def problem_on(branching: tuple[int, ...], unit: ProtectedUnit, law: str = "laplace") -> Problem:
    tree = Tree.from_branching_factors(branching)
    return Problem(tree, np.full(tree.n_nodes, 100), law, unit)


def found_for(
    branching: tuple[int, ...], unit: ProtectedUnit, sizes: dict[int, float], every: float | None = None, **how: bool
) -> Inverse:
    targets = [
        Target(level, Ask.RMSE, size) if every is None else Target(level, Ask.EVERY_NODE, size, every, in_records=True)
        for level, size in sizes.items()
    ]
    return smallest_budget(problem_on(branching, unit), targets, **how)


def oracle(
    branching: tuple[int, ...], unit: ProtectedUnit, sizes: dict[int, float], every: float | None = None
) -> float:
    return smallest_epsilon(
        branching, sizes, RNG(7), every=every, relation=unit.relation.value, known_levels=unit.known_levels
    )


BEATEN = {
    "two of four levels": ((2, 2, 2), ADD, {1: 8.0, 2: 11.0, 3: 14.0}, 0.30077, 0.61512),
    "two of five levels": ((10, 2, 4, 6), REPLACE, {1: 5.51, 2: 5.04, 3: 23.02, 4: 14.28}, 0.94753, 1.91356),
}


@pytest.mark.parametrize("name", BEATEN)
@pytest.mark.parametrize("every", [None, 0.95], ids=["rmse", "every count"])
def test_a_middle_level_is_left_out_where_that_costs_less(name: str, every: float | None) -> None:
    """Searches that measured all levels needed 0.3211 and 1.086 for the RMSE targets."""
    branching, unit, sizes, rmse, surely = BEATEN[name]
    expected = rmse if every is None else surely
    for quick in (False, True):
        found = found_for(branching, unit, sizes, every, quick=quick)
        assert found.total == pytest.approx(expected, rel=1e-4 if quick else 2e-5) and (found.amounts == 0).sum() >= 2
        assert found.lower_bound <= expected and max(found.values) <= 1
        assert quick or found.gap < 1e-3


def random_case(rng: np.random.Generator) -> tuple[tuple[int, ...], ProtectedUnit, dict[int, float]]:
    """Two to four levels below the root, a relation, and sizes of at least one level."""
    height = int(rng.integers(2, 5))
    branching = tuple(rng.integers(2, 11, height).tolist())
    unit = (ADD, REPLACE, ProtectedUnit(UNKNOWN.relation, known_levels=int(rng.integers(1, height + 1))))[
        rng.integers(3)
    ]
    sizes = np.exp(rng.uniform(math.log(3), math.log(30), height + 1)).tolist()
    asked = [i for i in range(int(unit is REPLACE), height + 1) if rng.random() < 0.7] or [height]
    return branching, unit, {level: sizes[level] for level in asked}


@pytest.mark.parametrize("seed", range(12))
def test_no_random_case_has_a_smaller_total_than_the_one_found(seed: int) -> None:
    branching, unit, sizes = random_case(RNG(seed))
    found, slow = found_for(branching, unit, sizes), oracle(branching, unit, sizes)
    assert found.total <= slow * (1 + 1e-5)
    assert found.lower_bound <= slow and found.gap <= 1e-3 and found.is_proved


@pytest.mark.parametrize("seed", [100, 104])
def test_no_random_case_has_every_count_closer_for_less(seed: int) -> None:
    branching, unit, sizes = random_case(RNG(seed))
    found, slow = found_for(branching, unit, sizes, 0.95), oracle(branching, unit, sizes, 0.95)
    assert found.total <= slow * (1 + 3e-4)
    assert found.lower_bound <= slow and found.gap <= 1e-3


# ---- the relaxation


@pytest.mark.parametrize("law", ["discrete_gaussian", "discrete_laplace", "gaussian", "laplace"])
@pytest.mark.parametrize("unit", [ADD, REPLACE, UNKNOWN], ids=lambda unit: unit.relation.value)
def test_the_relaxation_lies_below_every_split(law: str, unit: ProtectedUnit) -> None:
    """Chords above precisions in a box, tangents above H anywhere, and the bound of a box below each split in it."""
    rng, problem = RNG(3), problem_on((3, 4), unit, law)
    bounds = [Bound(problem, Target(1, Ask.RMSE, 3.0)), Bound(problem, Target(2, Ask.RMSE, 4.0))]
    wanted = Requirements(problem, bounds)
    search = Search(problem, wanted, wanted.concave)
    n = search.levels.size
    search.value = 1e9
    for _ in range(30):
        low = rng.uniform(0.0, 0.5, n) * (rng.random(n) < 0.5)
        box = Box(low, low + rng.uniform(0.05, 1.0, n), np.zeros(0, dtype=int))
        base, rise = search.chords(box)
        inside = box.low + rng.random((40, n)) * (box.high - box.low)
        for one in inside:
            assert (base + rise * one >= search.precisions(one)[0] * (1 - 1e-9)).all()
        bound = search.bounded(box)[0]
        met = [search.charge(one) for one in inside if search.smallest(one) >= 1.0]
        assert bound <= min(met, default=math.inf) * (1 + 1e-9)
        q = np.exp(rng.normal(0.0, 2.0, (5, n)))
        for one in search.cuts[-4:]:
            for at in q:
                assert search.at(at)[0].min() <= one @ at * (1 + 1e-9)
    assert len(search.cuts) >= 4


def test_variances_are_those_of_the_oracle() -> None:
    """And so are the tangents': H scales with the precisions, so that h . q is H(q)."""
    problem, q = problem_on((3, 2, 4), ADD), np.array([0.3, 0.0, 0.2, 0.7])
    bounds = [Bound(problem, Target(level, Ask.RMSE, 2.0)) for level in range(4)]
    values, slope = Requirements(problem, bounds)(q)
    np.testing.assert_allclose(4.0 / values, variances((3, 2, 4), q), rtol=1e-12)
    np.testing.assert_allclose([slope(i) @ q for i in range(4)], values, rtol=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_no_sum_of_laplace_noises_has_a_larger_variance_and_is_as_close(confidence: float) -> None:
    """500 mixtures at the largest variance miss at least as often as allowed; one of them nearly as seldom."""
    rng, variance = RNG(5), largest_variance(confidence)
    missed = []
    for i in range(500):
        parts = rng.gamma(0.3, size=1 + i % 7) + 1e-9 if i % 9 else np.ones(60)
        scales = np.sqrt(variance / 2.0 * parts / parts.sum())
        missed.append(tail(scales, np.ones(parts.size), 1.0))
    assert min(missed) >= (1.0 - confidence) * (1 - 1e-4)
    assert min(missed) <= 1.35 * (1.0 - confidence)


@pytest.mark.parametrize("law", ["laplace", "discrete_laplace", "gaussian", "discrete_gaussian"])
@pytest.mark.parametrize("part", [1.0, 0.8])
def test_what_privacy_asks_of_many_counts_is_no_more_than_they_need_by_themselves(law: str, part: float) -> None:
    """Before least squares, one level: what is needed is known exactly, and for pure epsilon the bound comes near."""
    for ask, confidence in product((Ask.EVERY_NODE, Ask.AVERAGE_NODE, Ask.SHARE), (0.8, 0.95)):
        problem = Problem(Tree.from_branching_factors((20,)), np.full(21, 100), law, ADD, least_squares=False)
        bound = Bound(problem, Target(1, ask, 11.0, confidence, in_records=True, part=part))
        least, enough = least_total(problem, [bound]), needed(bound, 100.0)
        assert 0 < least <= enough * (1 + 1e-9)
        if law in ("laplace", "discrete_laplace"):
            assert least > 0.8 * enough


# ---- whole numbers


def whole_tail(rates: np.ndarray, coefficients: np.ndarray, reach: float, power: int = 1) -> float:
    """P(|sum of c Z| > reach), c whole eighths and P(Z = k) in proportion to e^(-rate |k|^power), on all eighths."""
    size = 2**15
    whole = np.ones(size // 2 + 1)
    for rate, c in zip(rates, np.rint(8 * coefficients).astype(int), strict=True):
        k = np.arange(-4000, 4001)
        weight = np.exp(-rate * np.abs(k).astype(float) ** power)
        whole = whole * np.fft.rfft(np.bincount(c * k % size, weight / weight.sum(), size)).real
    steps = np.minimum(np.arange(size), size - np.arange(size)) / 8.0
    return float(np.fft.irfft(whole, size)[steps > reach].sum())


def rate_of(variance: float) -> float:
    return math.acosh(1.0 + 1.0 / variance)


@pytest.mark.parametrize(("reach", "confidence"), [(3.0, 0.9), (5.0, 0.95), (8.0, 0.95), (12.0, 0.8), (8.0, 0.99)])
def test_no_sum_of_whole_noises_has_a_larger_variance_and_is_as_close(reach: float, confidence: float) -> None:
    """At the largest variance every mixture misses at least as often as allowed; it is not far above that of one."""
    rng = RNG(9)
    variance = largest_variance(confidence, 1.0 / reach) * reach**2
    for i in range(60):
        n = 1 + i % 5 if i % 10 else 12
        coefficients = np.maximum(1, rng.integers(1, 9, n)) / 8.0 if i % 3 else np.ones(n)
        parts = rng.dirichlet(np.full(n, 0.7)) + 1e-3
        rates = np.array(
            [rate_of(variance * one / c**2) for one, c in zip(parts / parts.sum(), coefficients, strict=True)]
        )
        assert whole_tail(rates, coefficients, reach) >= (1.0 - confidence) * (1 - 1e-9)
    rates = [rate_of(v) for v in np.linspace(0.05, 1.0, 400) * variance]
    beyond = math.floor(reach) + 1
    fits = [2.0 * math.exp(-a * beyond) / (1.0 + math.exp(-a)) <= 1.0 - confidence for a in rates]
    alone = variance * float(np.linspace(0.05, 1.0, 400)[fits].max())
    assert variance <= 2.0 * alone


@pytest.mark.parametrize(("reach", "confidence"), [(3.0, 0.9), (8.0, 0.95), (8.0, 0.99), (20.0, 0.8)])
def test_no_sum_of_discrete_gaussian_noises_has_a_larger_variance_and_is_as_close(
    reach: float, confidence: float
) -> None:
    rng, k = RNG(12), np.arange(-200, 201)
    for i in range(40):
        n = 1 + i % 5
        coefficients = rng.integers(1, 9, n) / 8.0 if i % 3 else np.ones(n)
        sigma = np.exp(rng.uniform(math.log(0.5), math.log(8.0), n))
        weights = np.exp(-0.5 * np.square(k[:, None] / sigma))
        each = (np.square(k) @ weights) / weights.sum(axis=0)
        wider = float((np.square(sigma) / each).max()) * (1 + 1e-12)
        most = largest_discrete_gaussian_variance(confidence, 1.0 / reach, wider) * reach**2
        held = whole_tail(0.5 / np.square(sigma), coefficients, reach, power=2) <= 1.0 - confidence
        assert not held or np.square(coefficients) @ each <= most
    sigma = np.linspace(1.0, 25.0, 400)
    fits = [whole_tail(np.array([0.5 / s**2]), np.ones(1), reach, power=2) <= 1.0 - confidence for s in sigma]
    assert sigma[fits].max() ** 2 <= largest_discrete_gaussian_variance(confidence, 1.0 / reach, 1.0) * reach**2
    assert largest_discrete_gaussian_variance(confidence, 1.0 / reach, 1.0) * reach**2 <= 2.5 * sigma[fits].max() ** 2


def test_the_polynomial_below_the_tail_lies_below_it() -> None:
    x = np.append(np.linspace(0.0, 20.0, 40_001), 1.0 + np.array([-1e-6, 1e-6]))
    for n in (3, 20, 150):
        constant, cosines = below_outside(n)
        value = constant + np.cos(np.outer(x, 2.0 * np.pi / PERIOD * np.arange(1, n + 1))) @ cosines
        assert (value <= (x > 1.0) + 1e-9).all() and value.max() > 0.3


def test_the_bound_of_a_walk_holds_between_its_points_too() -> None:
    """A walk on multiples of one step, at variances between the points: its law is a difference of Poisson numbers."""
    rng = RNG(4)
    for step in (1.0, 0.5, 0.25, 0.125):
        least = _walk_tail(step)
        for at in rng.integers(3_000, 12_000, 40).tolist():
            w = FINE[at] + rng.random() * (FINE[at + 1] - FINE[at])
            k = math.floor(1.0 / step) + 1
            exact = 2.0 * float(stats.skellam.sf(k - 1, w / step**2 / 2.0, w / step**2 / 2.0))
            assert least[at] <= exact * (1 + 1e-9)
        assert least[at] > 0
    assert all(1.0 / reach <= _stepped(reach) * (1 + 1e-9) <= 1.1 / reach for reach in (1.5, 7.0, 8.0, 93.0))


def test_no_noise_counts_more_than_once() -> None:
    """The coefficients of all noises in all estimates, from the normal equations of random ragged trees."""
    rng = RNG(6)
    for _ in range(60):
        parents = [-1]
        for level_size in (2, 5, 9):
            begin = len(parents) - (1 if len(parents) == 1 else level_size // 2)
            parents += sorted(rng.integers(max(0, begin), len(parents), level_size).tolist())
        n = len(parents)
        leaves = [v for v in range(n) if v not in parents]
        above = np.zeros((n, len(leaves)))
        for j, leaf in enumerate(leaves):
            v = leaf
            while v >= 0:
                above[v, j] = 1.0
                v = parents[v]
        q = np.exp(rng.normal(0.0, 3.0, n))
        weights = above @ np.linalg.solve(above.T @ (q[:, None] * above), above.T * q)
        assert np.abs(weights).max() <= 1 + 1e-7


@pytest.mark.parametrize("law", ["discrete_laplace", "discrete_gaussian"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_proved_of_whole_numbers_is_below_every_split_that_keeps_the_targets(law: str, seed: int) -> None:
    """Random splits of two and three levels, each scaled until it meets them."""
    rng = RNG(seed)
    branching = ((4,), (3, 2), (2, 5))[seed]
    problem = problem_on(branching, ADD, law)
    reach = float(rng.uniform(4.0, 12.0))
    targets = [Target(i, Ask.EVERY_NODE, reach, 0.9, in_records=True) for i in range(1, len(branching) + 1)]
    found = smallest_budget(problem, targets)
    assert found.lower_bound <= found.total and found.gap < 0.25
    truth = Truth(problem, [Bound(problem, target) for target in targets])
    for _ in range(8):
        split = truth.enough(rng.dirichlet(np.ones(len(branching) + 1)))
        assert float(problem.charge(split)) >= found.lower_bound


# ---- the smallest error of a total


def test_the_best_split_where_unknown_levels_cost_double_is_certified() -> None:
    rng = RNG(11)
    for law in ("laplace", "discrete_laplace"):
        tree = Tree.from_branching_factors((4, 3, 5))
        counts = tree.counts_of_leaves(np.exp(rng.uniform(0, 6, tree.n_leaves)).astype(int))
        problem = Problem(tree, counts, law, UNKNOWN, "rmsre")
        best = optimum(problem, 0.7)
        assert best.gap is not None and best.gap <= 1e-3 and best.lower_bound is not None
        shares = rng.dirichlet(np.full(4, 0.5), 3000)
        charges = np.maximum(shares.sum(axis=1), 2.0 * shares[:, 2:].sum(axis=1))
        errors = np.sqrt(problem.loss(0.7 * shares / charges[:, None] + 1e-12))
        assert errors.min() >= best.error * (1 - 1e-9) >= best.lower_bound * (1 - 1e-9)


# ---- level chains


def chain_of(problem: Problem, sizes: dict[int, float]) -> LevelChain:
    limits = Requirements(problem, [Bound(problem, Target(i, Ask.RMSE, size)) for i, size in sizes.items()]).limits
    assert limits is not None and LevelChain.fits(problem)
    return LevelChain(problem, limits)


@pytest.mark.parametrize("law", ["laplace", "discrete_laplace"])
@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_chains_stays_below_the_oracle_whatever_total_is_known(law: str, seed: int) -> None:
    """A total that is known only a fifth too large must not lift the bound, and the bound still comes near."""
    branching, unit, sizes = random_case(RNG(seed))
    branching = branching[:3]
    sizes = {level: size for level, size in sizes.items() if level <= len(branching)} or {len(branching): 5.0}
    slow = oracle(branching, unit, sizes)
    problem = problem_on(branching, unit, law)
    if law != "laplace":
        slow = found_total = smallest_budget(problem, [Target(i, Ask.RMSE, s) for i, s in sizes.items()]).total
        assert found_total <= oracle(branching, unit, sizes) * (1 + 1e-5)
    for much in (1.0, 1.2):
        bound = chain_of(problem, sizes).bound(lambda split, much=much: much * slow, 1e-4, 150)
        assert 0.98 * slow <= bound <= slow * (1 + 1e-6)


@pytest.mark.parametrize("unit", [ADD, REPLACE, UNKNOWN], ids=lambda unit: unit.relation.value)
def test_no_chain_in_a_box_costs_less_than_its_bound(unit: ProtectedUnit) -> None:
    """Boxes of a coarse grid around chains that keep to limits with nothing to spare: the bound is near their cost."""
    rng, near = RNG(8), []
    for _ in range(40):
        problem = problem_on((3, 2, 4), unit)
        sizes = {i: float(rng.uniform(3.0, 9.0)) for i in (1, 2, 3)}
        best = smallest_budget(problem, [Target(i, Ask.RMSE, size) for i, size in sizes.items()], quick=True)
        chain = chain_of(problem, sizes)
        q = problem.precision(best.amounts)[chain.levels]
        one = np.cumsum((q * chain.leaves)[::-1])[::-1]
        box = chain._whole(2.0 * best.total)
        box.step, width = 0.1, rng.integers(0, 2, (2, one.size))
        at = np.log(one) / box.step
        box.low, box.high = np.floor(at).astype(int) - width[0], np.ceil(at).astype(int) + width[1]
        tables, sweep = chain._solve(box, 1.2 * best.total, 12)
        assert box.bound <= best.total * (1 + 1e-9)
        near.append(box.bound / best.total)
        for come, go in zip(sweep.values, sweep.up(chain, tables), strict=True):  # through each level one chain is best
            least = (come + np.vstack([go[:1], go[:-1]])).min() - sweep.constant
            assert least <= sweep.bound * (1 + 1e-9)
    assert np.median(near) > 0.9


def test_a_chain_has_the_variances_of_its_split() -> None:
    for unit in (ADD, REPLACE):
        problem, chain = problem_on((3, 2, 4), unit), chain_of(problem_on((3, 2, 4), unit), {2: 5.0, 3: 4.0})
        one = np.array([0.9, 0.9, 0.4, 0.1])[4 - chain.levels.size :]
        found = problem.node_variance(chain.amounts(one))[problem.tree.level_start[chain.levels]]
        np.testing.assert_allclose(np.square(chain.leaves) * np.cumsum(chain.energy / one), found, rtol=1e-12)


@pytest.mark.parametrize("quick", [False, True])
def test_ten_levels_are_certified_too(quick: bool) -> None:
    """Of 1,023 sets of levels the best are closer to each other than one in a hundred."""
    found = found_for((2,) * 9, ADD, dict.fromkeys(range(10), 10.0), quick=quick)
    assert found.gap <= 1e-3 and (found.amounts > 0).sum() == 4
    q = (found.amounts / 1.0) ** 2 / 2.0
    assert np.sqrt(variances((2,) * 9, q)).max() == pytest.approx(10.0, rel=1e-6)


# ---- limits of variances in a box


@pytest.mark.parametrize("unit", [ADD, REPLACE], ids=lambda unit: unit.relation.value)
def test_the_parts_of_an_error_lie_between_the_shares_of_their_box(unit: ProtectedUnit) -> None:
    """Against the parts of the oracle, from random chains in boxes around them; without width they are the same."""
    rng, branching = RNG(14), (3, 2, 4)
    problem = problem_on(branching, unit)
    chain = chain_of(problem, {3: 4.0})
    for i in range(60):
        one = np.sort(np.exp(rng.uniform(-3.0, 3.0, chain.levels.size)))[::-1]
        low, high = one * np.exp(-rng.uniform(0.0, 0.2, one.size)), one * np.exp(rng.uniform(0.0, 0.2, one.size))
        if i < 20:
            low = high = one
        q = problem.precision(chain.amounts(one))
        place = int(rng.integers(one.size))
        level = int(chain.levels[place])
        noises = noises_of(chain, (low, high), np.full(one.size, np.inf), place)
        copies, least, most = noises.copies, noises.low, noises.high
        whole = parts(branching, np.where(np.isinf(q), 1e30, q), level)
        whole = [(u, w, n) for u, w, n in whole if np.isfinite(q[u])]
        variance = float(variances(branching, np.where(np.isinf(q), 1e30, q))[level])
        assert len(whole) <= copies.size
        known = [(n, w**2 / q[u] / variance) for u, w, n in whole]
        for n, share in known:
            near = (np.abs(copies - n) < 1e-6) & (least <= share * (1 + 1e-6)) & (share <= most * (1 + 1e-6))
            assert near.any()
        assert copies @ least <= 1 + 1e-6 <= copies @ most + 2e-6
        if i < 20:
            np.testing.assert_allclose(sorted(copies * least), sorted(n * s for n, s in known), rtol=1e-5, atol=1e-9)


def test_the_tail_of_a_box_lies_below_that_of_every_sum_in_it_and_near_it_in_a_small_one() -> None:
    rng = RNG(15)
    for i in range(80):
        copies = rng.integers(1, 6, int(rng.integers(2, 6))).astype(float)
        shares = rng.gamma(0.8, size=copies.size) + 0.02
        shares /= copies @ shares
        variance, wide = float(rng.uniform(0.1, 0.5)), (0.0, 0.02, 0.3)[i % 3]
        low = shares * (1.0 - wide * rng.random(shares.size))
        high = np.minimum(shares * (1.0 + wide * rng.random(shares.size)), 1.0 / copies)
        exact = tail(np.sqrt(0.5 * variance * shares), copies, 1.0)
        least = least_tail((variance, variance), Noises(copies, low, high, low, high))
        assert least <= exact + 2e-6
        assert wide > 0.1 or least >= exact * (0.98 if wide else 0.999)


def test_the_tail_of_whole_noises_in_a_box_lies_below_that_of_every_sum_in_it() -> None:
    """Weights are whole eighths, so that the law of a sum is known on all eighths."""
    rng = RNG(16)
    for i in range(60):
        n, reach = int(rng.integers(2, 5)), float(rng.integers(5, 60))
        weights = rng.integers(2, 9, n) / 8.0
        shares = rng.dirichlet(np.full(n, 2.0))
        variance, wide = float(rng.uniform(0.1, 0.4)), (0.0, 0.01, 0.1)[i % 3]
        rates = np.array(
            [rate_of(share * variance * reach**2 / c**2) for share, c in zip(shares, weights, strict=True)]
        )
        exact = whole_tail(rates, weights, reach)
        down, up = (1.0 + sign * wide * rng.random((2, n)) for sign in (-1.0, 1.0))
        noises = Noises(
            np.ones(n), shares * down[0], shares * up[0], weights * down[1], np.minimum(weights * up[1], 1.0)
        )
        least = least_tail((variance * (1.0 - 0.1 * wide), variance * (1.0 + 0.1 * wide)), noises, reach)
        assert least <= exact + 1e-9
        assert i % 3 or least >= 0.9 * exact - 0.3 / reach * variance


def test_the_bend_of_a_step_lies_between_its_ends() -> None:
    rng, times = RNG(17), np.linspace(0.05, 900.0, 4000)
    for _ in range(40):
        low = rng.uniform(0.0, 1.0, 3)
        high = low + rng.uniform(0.0, 0.02, 3)
        noises = Noises(np.ones(3), low, low, low, high)
        least, most = _bends(noises, times, 30.0)
        for part in rng.random(5):
            y = times[:, None] / 30.0 * np.maximum(low + part * (high - low), 1e-9)
            bend = np.square(np.sin(y / 2.0) / (y / 2.0))
            assert (least <= bend + 1e-12).all() and (bend <= most + 1e-12).all()
