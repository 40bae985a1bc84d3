"""Noise laws: moments against decimal sums and quadrature, draws against exact probabilities, ties bit by bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import oracles_noise as oracles
from refusals import refuses
from treedp_core.mechanisms import MECHANISMS, level_noise
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IntegerLaw,
    Laplace,
    Law,
    expected_maximum,
    normal_tail,
)
from treedp_core.noise import exact_draws as integer_draws
from treedp_core.noise.exact_draws import (
    TableSampler,
    accept_exactly,
    digit_boundaries,
    gaussian_boundaries,
    laplace_boundaries,
)
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.privacy import Budget, Currency, NeighbouringRelation, ProtectedUnit, guarantee
from treedp_core.tree import Tree

DRAWS = 1_000_000
FALSE_ALARM = 1e-6
EXTREME = 4.9  # standard errors: two-sided false-alarm rate 1e-6

CONTINUOUS: list[tuple[Law, Callable[[np.ndarray], np.ndarray], float]] = [
    (Laplace(0.3), lambda x: np.exp(-x / 0.3) / 0.6, 12.0),
    (Laplace(40.0), lambda x: np.exp(-x / 40) / 80, 1600.0),
    (Gaussian(0.7), lambda x: np.exp(-(x**2) / 0.98) / (0.7 * math.sqrt(2 * math.pi)), 10.0),
    (Gaussian(25.0), lambda x: np.exp(-(x**2) / 1250) / (25 * math.sqrt(2 * math.pi)), 350.0),
    (TruncatedLaplace(2.0, 5.0), lambda x: np.exp(-x / 2) / (4 * (1 - math.exp(-2.5))), 5.0),
    (TruncatedLaplace(50.0, 0.5), lambda x: np.exp(-x / 50) / (100 * (1 - math.exp(-0.01))), 0.5),
]
INTEGER: list[tuple[IntegerLaw, dict[int, Decimal]]] = [
    (DiscreteLaplace(a), oracles.integer_law(partial(oracles.laplace_weight, a), math.ceil(110 / a)))
    for a in (3.0, 1.0, 0.1)
] + [
    (DiscreteGaussian(s), oracles.integer_law(partial(oracles.gaussian_weight, s), math.ceil(16 * s) + 2))
    for s in (0.05, 0.5, 1.0, 1.9, 2.5, 20.0, 99.0, 130.0)
]


def name(law: object) -> str:
    return repr(law) if isinstance(law, Law) else ""


# ---------------------------------------------------------------- moments and distribution functions


@pytest.mark.parametrize(("law", "density", "far"), CONTINUOUS, ids=name)
def test_continuous_moments_equal_quadrature(law, density, far):
    end = far if isinstance(law, TruncatedLaplace) else 2 * far
    assert law.variance == pytest.approx(2 * oracles.integral(lambda x: x**2 * density(x), 0, end), rel=1e-11)
    assert law.mean_absolute == pytest.approx(2 * oracles.integral(lambda x: x * density(x), 0, end), rel=1e-11)
    for t in np.array([0.0, 0.1, 0.35, 0.7]) * far:
        beyond = [2 * oracles.integral(lambda x, n=n, t=t: (x - t) ** n * density(x), t, end) for n in range(3)]
        assert [float(law.tail(t)), float(law.excess(t)), float(law.excess_square(t))] == pytest.approx(
            beyond, rel=1e-9
        )
        assert float(law.cdf(t)) == pytest.approx(1 - beyond[0] / 2, abs=1e-13)
        assert float(law.cdf(-t)) == pytest.approx(beyond[0] / 2, rel=1e-9)


@pytest.mark.parametrize(("law", "pmf"), INTEGER, ids=name)
def test_integer_moments_equal_decimal_sums(law, pmf):
    near = 3e-15 if pmf[1] > 1e-20 else 5e-14  # e^-200 in floats is good to 200 units of the last place
    assert law.variance == pytest.approx(float(oracles.expectation(pmf, lambda k: Decimal(k * k))), rel=near, abs=0)
    assert law.mean_absolute == pytest.approx(
        float(oracles.expectation(pmf, lambda k: Decimal(abs(k)))), rel=2 * near, abs=0
    )
    sd = max(1.0, math.sqrt(law.variance))
    for t in (0.0, 0.4, 1.0, 2.75, math.floor(3 * sd), 5.5 * sd):
        over = [
            float(oracles.expectation(pmf, lambda k, n=n, t=t: max(Decimal(abs(k)) - Decimal(t), Decimal(0)) ** n))
            for n in (1, 2)
        ]
        assert [float(law.excess(t)), float(law.excess_square(t))] == pytest.approx(over, rel=1e-11, abs=1e-300)
        assert float(law.tail(t)) == pytest.approx(
            float(sum(p for k, p in pmf.items() if abs(k) > t)), rel=1e-11, abs=1e-300
        )


@pytest.mark.parametrize(("law", "pmf"), INTEGER, ids=name)
def test_cdf_is_the_sum_of_the_pmf(law, pmf):
    reach = min(200, max(pmf))
    k = np.arange(-reach, reach + 1)
    exact = np.array([float(pmf[int(i)]) for i in k])
    below = float(sum(p for i, p in pmf.items() if i < -reach))
    assert law.pmf(k) == pytest.approx(exact, rel=1e-11, abs=1e-300)
    assert law.cdf(k) == pytest.approx(below + exact.cumsum(), abs=1e-14)
    assert law.cdf(k + 0.999) == pytest.approx(law.cdf(k), abs=0)


def test_wide_discrete_gaussian_joins_the_narrow_one():
    """Below sigma = 100 sums go term by term, above by Euler-Maclaurin; both must agree where they meet."""
    below, above = DiscreteGaussian(100.0), DiscreteGaussian(math.nextafter(100.0, 101.0))
    t = np.array([0.0, 0.5, 10.0, 99.5, 250.0, 600.0])
    for value in ("tail", "excess", "excess_square", "cdf", "pmf"):
        at = np.floor(t) if value == "pmf" else t
        assert getattr(above, value)(at) == pytest.approx(getattr(below, value)(at), rel=1e-11)


@pytest.mark.parametrize("sigma", [1e4, 1e6])
def test_wide_discrete_gaussian_is_nearly_gaussian(sigma):
    law, smooth = DiscreteGaussian(sigma), Gaussian(sigma)
    assert law.variance == sigma**2
    # the first Euler-Maclaurin term of the sum of k e^(-k^2 / 2 sigma^2) is -1/12
    assert law.mean_absolute == pytest.approx(smooth.mean_absolute * (1 - 1 / (12 * sigma**2)), rel=1e-14)
    t = sigma * np.array([0.5, 2.0, 6.0])
    assert law.excess_square(t) == pytest.approx(smooth.excess_square(t), rel=1e-6)


@pytest.mark.parametrize("u", [0.0, 1.0, 6.0, 11.9, 12.1, 15.0, 19.0])
def test_gaussian_excess_far_out(u):
    """E max(Z - u, 0)^n from the normal law in many digits, n = 0, 1, 2; above u = 12 a series takes over."""
    with localcontext() as context:
        context.prec = oracles.DIGITS
        at = Decimal(u)
        beyond = oracles.normal_cdf(-at)
        density = (-at * at / 2).exp() / (2 * oracles.pi()).sqrt()
        first, second = density - at * beyond, (1 + at * at) * beyond - at * density
    law = Gaussian(3.0)
    assert float(law.tail(3 * u)) == pytest.approx(2 * float(beyond), rel=1e-13, abs=0)
    assert float(law.excess(3 * u)) == pytest.approx(6 * float(first), rel=1e-12, abs=0)
    assert float(law.excess_square(3 * u)) == pytest.approx(18 * float(second), rel=2e-11, abs=0)


def test_tails_keep_their_digits_where_a_difference_would_lose_them():
    """I_1 / phi and I_2 / phi lie between the partial sums of their alternating series."""
    u = 200.0
    first, second = float(normal_tail.first_tail(u)), float(normal_tail.second_tail(u))
    assert 1 - 3 / u**2 + 15 / u**4 - 105 / u**6 - 1e-15 < first * u**2 < 1 - 3 / u**2 + 15 / u**4 + 1e-15
    assert 1 - 6 / u**2 + 45 / u**4 - 420 / u**6 - 1e-15 < second * u**3 / 2 < 1 - 6 / u**2 + 45 / u**4 + 1e-15


@pytest.mark.parametrize("law", [Gaussian(1.0), Laplace(1.0), DiscreteLaplace(0.5), DiscreteGaussian(3.0)], ids=name)
def test_tails_far_out_keep_their_order(law):
    t = np.linspace(0, 100, 401)
    for values in (law.tail(t), law.excess(t), law.excess_square(t)):
        assert (values >= 0).all() and (np.diff(values) <= 0).all()
    assert float(law.excess_square(15.0)) > 0


# ---------------------------------------------------------------- draws


def sample(law: Law, seed: int = 20250101, n: int = DRAWS) -> np.ndarray:
    return law.sample(np.random.Generator(np.random.SFC64(seed)), n)


def chi_square(law: Law, values: np.ndarray) -> tuple[float, float]:
    """Pearson's statistic on about 40 cells of the law, and its exact 1 - 1e-6 quantile."""
    sd = math.sqrt(law.variance)
    edges = (
        np.unique(np.floor(np.linspace(-4 * sd, 4 * sd, 41))) if law.integer else np.linspace(-3.9 * sd, 3.9 * sd, 41)
    )
    if edges.size < 3:
        edges = np.array([-2.0, -1.0, 0.0, 1.0])
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    p = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    keep = p * values.size >= 10
    observed = np.diff(
        np.concatenate([[0], np.searchsorted(np.sort(values), bounds[1:-1], side="right"), [values.size]])
    )
    rest = 1 - p[keep].sum()
    cells = np.append(p[keep], rest) if rest * values.size >= 1 else p[keep] / p[keep].sum()
    seen = np.append(observed[keep], values.size - observed[keep].sum()) if cells.size > keep.sum() else observed[keep]
    statistic = float(((seen - seen.sum() * cells) ** 2 / (seen.sum() * cells)).sum())
    return statistic, float(stats.chi2.isf(FALSE_ALARM, cells.size - 1))


def stretched(law: Law, factor: float) -> Law:
    match law:
        case Laplace(scale):
            return Laplace(scale * factor)
        case Gaussian(sigma):
            return Gaussian(sigma * factor)
        case DiscreteLaplace(inverse_scale):
            return DiscreteLaplace(inverse_scale / factor)
        case DiscreteGaussian(sigma):
            return DiscreteGaussian(sigma * factor)
        case TruncatedLaplace(scale, bound):
            return TruncatedLaplace(scale * factor, bound * factor)
    raise AssertionError(law)


SAMPLED: list[Law] = [
    Laplace(0.01), Laplace(3.0), Gaussian(5.0), TruncatedLaplace(2.0, 5.0), TruncatedLaplace(2.0, 60.0),
    *(DiscreteLaplace(1 / s) for s in (0.5, 2.0, 20.0, 64.0, 70.0, 1e3, 1e5, 3e6, 1e10)),
    *(DiscreteGaussian(s) for s in (0.5, 2.0, 50.0, 300.0, 1000.0, 1001.0, 1e6, 1e9)),
]  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("law", SAMPLED, ids=name)
def test_draws_follow_the_law_and_a_law_three_per_cent_wider_is_rejected(law):
    """By cells and by mean, variance and mean absolute: false-alarm rate 1e-6 each; the mutant draws the same seed."""
    for factor in (1.0, 1.03):
        drawn = sample(stretched(law, factor))
        statistic, limit = chi_square(law, drawn)
        assert (statistic < limit) == (factor == 1.0)
        values = drawn.astype(float)
        square = values**2
        z_variance = (square.mean() - law.variance) / (square.std() / math.sqrt(DRAWS))
        assert (abs(z_variance) < EXTREME) == (factor == 1.0)
        if factor == 1.0:
            assert abs(values.mean()) / math.sqrt(law.variance / DRAWS) < EXTREME
            error = np.abs(values).std() / math.sqrt(DRAWS)
            assert abs(np.abs(values).mean() - law.mean_absolute) / error < EXTREME


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [100, 1000, 10**10])
def test_low_bits_of_wide_laws_are_geometric_on_either_side_of_zero(scale):
    """Given X >= 0 its last 6 bits j have weight q^j; given X < 0, those of -1 - X. False-alarm rate 1e-6 each."""
    values = sample(DiscreteLaplace(1 / scale), seed=11)
    weights = np.exp(-np.arange(64) / scale)
    limit = stats.chi2.isf(FALSE_ALARM, 63)

    def statistic(part):
        return stats.chisquare(np.bincount(part & 63, minlength=64), part.size * weights / weights.sum()).statistic

    right, left = values[values >= 0], -1 - values[values < 0]
    assert statistic(right) < limit
    assert statistic(left) < limit
    assert statistic(right & ~np.int64(1) | (right & 1 & (right >> 1))) > limit  # a last bit that depends on the next
    q = math.exp(-1 / scale)
    z = (right.size - DRAWS / (1 + q)) / math.sqrt(DRAWS * q) * (1 + q)
    assert abs(z) < EXTREME
    assert abs(z + math.sqrt(DRAWS) / 100) > EXTREME  # a sign with half a per cent of bias


@pytest.mark.parametrize("law", [*SAMPLED, DiscreteGaussian(0.05), DiscreteLaplace(500.0)], ids=name)
def test_shape_type_and_seed(law):
    values = law.sample(np.random.default_rng(3), (3, 5, 7))
    assert values.shape == (3, 5, 7)
    assert values.dtype == (np.int64 if law.integer else np.float64)
    assert (values == law.sample(np.random.default_rng(3), (3, 5, 7))).all()
    assert law.sample(np.random.default_rng(3), 0).shape == (0,)
    assert law.sample(np.random.default_rng(3), ()).shape == ()


def test_truncated_draws_stay_inside():
    assert np.abs(sample(TruncatedLaplace(2.0, 0.25))).max() <= 0.25


@pytest.mark.parametrize("make", [Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, partial(TruncatedLaplace, 1.0)])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 2.0**45, 1e300, 5e-324, "1", True])
def test_bad_parameters_are_refused(make, bad):
    with refuses("NOISE_RANGE"):
        make(bad)


# ---------------------------------------------------------------- tables and ties, bit by bit


class Scripted:
    """Stands in for a generator: hands out the given words."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
        taken, self.words = self.words[:size], self.words[size:]
        return np.array(taken, dtype=dtype)


def laplace_below(a: float, low_bits: int, k: int) -> Decimal:
    """P(X < 2^low_bits (k + 1)), where P(X <= k) = 1 - q^(k+1) / (1 + q) or q^-k / (1 + q)."""
    q, k = (Decimal(a) * -1).exp(), ((k + 1) << low_bits) - 1
    return 1 - q ** (k + 1) / (1 + q) if k >= 0 else q**-k / (1 + q)


def geometric_below(a: float, width: int, k: int) -> Decimal:
    q = (Decimal(a) * -1).exp()
    return (1 - q ** (k + 1)) / (1 - q ** (1 << width))


def gaussian_below(sigma: float, k: int) -> Decimal:
    reach = math.ceil(30 * sigma) + 2
    law = oracles.integer_law(partial(oracles.gaussian_weight, sigma), reach, digits=150)
    return sum((law[j] for j in range(-reach, k + 1)), Decimal(0))


TABLES = {
    "laplace 0.1": (partial(laplace_boundaries, 0.1, 0), partial(laplace_below, 0.1, 0)),
    "laplace 2": (partial(laplace_boundaries, 2.0, 0), partial(laplace_below, 2.0, 0)),
    "laplace 0.02, high digit": (partial(laplace_boundaries, 0.02, 4), partial(laplace_below, 0.02, 4)),
    "digit": (partial(digit_boundaries, 1e-9, 5), partial(geometric_below, 1e-9, 5)),
    "gaussian 0.05": (partial(gaussian_boundaries, 0.05), partial(gaussian_below, 0.05)),
    "gaussian 1.3": (partial(gaussian_boundaries, 1.3), partial(gaussian_below, 1.3)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("bits", [64, 128, 192])
def test_boundaries_are_the_cumulative_probabilities(table, bits):
    boundaries, below = TABLES[table]
    first, whole = boundaries(bits)
    with localcontext() as context:
        context.prec = 150
        for j in range(0, len(whole), max(1, len(whole) // 40)):
            exact = below(first + j) * 2**bits
            assert whole[j] <= exact < whole[j] + 2
        if table != "digit":  # the tail left of the table is below one unit, and ties; the digit has no tail
            assert whole[0] == 0 and whole[-1] >= 2**bits - 2


@pytest.mark.parametrize("table", TABLES)
def test_cells_decided_by_sixteen_bits_do_not_depend_on_the_other_bits(table):
    sampler = TableSampler(TABLES[table][0])
    cells = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    decided = sampler._table != sampler._undecided
    assert decided.any()
    for u in (cells, cells | np.uint64((1 << 48) - 1), cells | np.uint64(12345)):
        assert (sampler.invert(Scripted(), u[decided]) == sampler._table[decided]).all()


@pytest.mark.parametrize("table", TABLES)
@given(data=st.data())
def test_ties_are_settled_by_the_exact_law(table, data):
    """U = 0.u w1 w2 ... in words of 64 bits, close to a boundary: the value k has P(X < k) <= U < P(X <= k)."""
    boundaries, below = TABLES[table]
    _, whole = boundaries(64)
    fine = boundaries(128)[1]
    near = data.draw(st.sampled_from(fine if data.draw(st.booleans()) else [b << 64 for b in whole]))
    word = max(0, min(2**128 - 1, near + data.draw(st.integers(-3, 3))))
    tail = [data.draw(st.integers(2, 2**64 - 3)) for _ in range(6)]  # all zeros or all ones would tie for ever
    got = int(
        TableSampler(boundaries).invert(Scripted(word & (2**64 - 1), *tail), np.array([word >> 64], np.uint64))[0]
    )
    with localcontext() as context:
        context.prec = 150
        low = Decimal(word) / 2**128
        high = Decimal(word + 1) / 2**128
        if table != "digit" or got < 31:
            assert low < below(got)
        if table != "digit" or got > 0:
            assert below(got - 1) < high


def test_a_third_is_settled_by_the_third_word():
    """1/3 = 0.0101... in binary: ties with 0x5555... word by word until a word differs."""
    sampler = TableSampler(lambda bits: (0, [(1 << bits) // 3]))
    fives = 0x5555555555555555
    u = np.array([fives], dtype=np.uint64)
    assert sampler.invert(Scripted(fives, fives - 1), u)[0] == 0
    assert sampler.invert(Scripted(fives, fives + 2), u)[0] == 1


def test_a_boundary_just_below_a_cell_leaves_both_cells_open():
    """b = 3 cells - 1 stands for a probability in [b, b + 2) units, so the first word of cell 3 can still tie."""
    sampler = TableSampler(lambda bits: (0, [(3 << (bits - 16)) - 1]))
    assert np.flatnonzero(sampler._table == sampler._undecided).tolist() == [2, 3]


def test_the_tail_beyond_the_table_is_drawn_not_cut():
    top = np.array([2**64 - 1], dtype=np.uint64)
    sampler = TableSampler(partial(laplace_boundaries, 1.0, 0))
    # P(X >= k) = q^k / (1 + q) exceeds 2^-128 up to k = 128 ln 2 - ln(1 + q) = 88.4
    far = int(sampler.invert(Scripted(2**64 - 1, 0, 2**63), top)[0])
    assert far == 88 and far > -sampler._first
    assert int(sampler.invert(Scripted(1, 0), np.array([0], dtype=np.uint64))[0]) == -far


@given(
    u=st.integers(0, 2**53 - 1),
    y=st.integers(-6000, 6000),
    word=st.integers(0, 2**64 - 1),
    close=st.booleans(),
)
def test_rejection_is_settled_by_the_exact_acceptance_probability(u, y, word, close):
    sigma, a = 1234.5, 1 / 1234.5
    with localcontext() as context:
        context.prec = 120
        p = (-((abs(y) - Decimal(a) * Decimal(sigma) ** 2) ** 2) / (2 * Decimal(sigma) ** 2)).exp()
        if close:  # U agrees with p in 53 bits, and differs in the next word
            u = int(p * 2**53)
        exact = Decimal((u << 64) | word) / 2**117
        if abs(exact - p) > Decimal(2) ** -114:
            assert accept_exactly(Scripted(word), u, y, sigma, a) == (exact < p)


@pytest.mark.parametrize("y", [0, 3, -700, 1234, 2500, -6000])
def test_a_tie_in_two_words_is_settled_by_the_third(y):
    """U is p to 117 bits: followed by zeros it lies below p, followed by ones above."""
    sigma, a = 1234.5, 1 / 1234.5
    with localcontext() as context:
        context.prec = 120
        p = (-((abs(y) - Decimal(a) * Decimal(sigma) ** 2) ** 2) / (2 * Decimal(sigma) ** 2)).exp()
        whole = int(p * 2**117)
    u, word = whole >> 64, whole % 2**64
    assert accept_exactly(Scripted(word, 0), u, y, sigma, a)
    assert not accept_exactly(Scripted(word, 2**64 - 1), u, y, sigma, a)


@pytest.mark.statistical
def test_rejection_by_exact_comparisons_alone_draws_the_same_law(monkeypatch):
    """Doubtful comparisons are once in 2^42; here all of them are, and accepting the wrong ones is noticed."""
    monkeypatch.setattr(integer_draws, "_UNSURE", 2.0)
    law = DiscreteGaussian(1500.0)
    statistic, limit = chi_square(law, sample(law, n=2000))
    assert statistic < limit
    monkeypatch.setattr(integer_draws, "accept_exactly", lambda *args: not accept_exactly(*args))
    statistic, limit = chi_square(law, sample(law, n=2000))
    assert statistic > limit


@pytest.mark.statistical
def test_acceptance_two_per_cent_too_likely_is_noticed(monkeypatch):
    """Probabilities above 1 / 1.02 lie within 0.2 sigma of the peak at sigma; too few draws would be left there.

    4 million draws; false-alarm rate 1e-6. The planted fault raises every acceptance probability by 2 %.
    """
    sigma, n = 5000.0, 4_000_000
    law = DiscreteGaussian(sigma)
    low, high = (stats.norm.cdf(x) for x in (0.8 + 0.5 / sigma, 1.2 - 0.5 / sigma))  # |y| from 4,001 to 5,999

    def z() -> float:
        found = np.abs(law.sample(np.random.default_rng(31), n))
        share = 2 * float(high - low)
        return (np.count_nonzero((found > 4000) & (found < 6000)) - n * share) / math.sqrt(n * share * (1 - share))

    assert abs(z()) < EXTREME
    exp = np.exp
    monkeypatch.setattr(integer_draws.np, "exp", lambda x: 1.02 * exp(x))
    assert z() < -EXTREME


@pytest.mark.statistical
def test_single_draws_of_a_wide_law_follow_it(monkeypatch):
    """8,000 calls for one draw each: a sampler that keeps its first proposal draws the Laplace law. Rate 1e-6."""
    law = DiscreteGaussian(5000.0)
    rng = np.random.default_rng(33)
    cells = np.linspace(0.02, 0.98, 49)
    edges = stats.norm.ppf(cells) * law.sigma

    def statistic() -> float:
        values = np.array([law.sample(rng, 1)[0] for _ in range(8_000)])
        seen = np.bincount(np.searchsorted(edges, values), minlength=50)
        return float(stats.chisquare(seen, 8_000 * np.diff([0.0, *cells, 1.0])).statistic)

    limit = float(stats.chi2.isf(FALSE_ALARM, 49))
    assert statistic() < limit

    def keep_the_first(rng, sigma, out):
        out[:] = integer_draws.draw_discrete_laplace(rng, 1.0 / sigma, out.size)

    monkeypatch.setattr(integer_draws, "_reject", keep_the_first)
    assert statistic() > limit


@pytest.mark.parametrize("word", [0, 1 << 16, 0xFFFF, 2**64 - 1, 0x0123456789ABCDEF])
def test_an_open_cell_is_refined_by_all_forty_eight_bits_that_follow(word, monkeypatch):
    """U is the cell's 16 bits, then the first 48 of the next word: nothing lost, nothing twice."""
    seen = []
    sampler = TableSampler(lambda bits: (0, [1 << (bits - 1)]))
    monkeypatch.setattr(sampler, "invert", lambda rng, u: seen.extend(u.tolist()))
    sampler._refine(Scripted(word, word), np.array([3, 65_535], dtype=np.uint16))
    assert seen == [(3 << 48) | (word >> 16), (65_535 << 48) | (word >> 16)]


@pytest.mark.statistical
def test_gaussian_draws_use_all_their_bits():
    """A normal draw is a 32-bit float by chance once in 10^8; of draws in single precision every one is."""
    draws = Gaussian(1.0).sample(np.random.default_rng(35), 100_000)
    assert np.count_nonzero(draws.astype(np.float32) == draws) < 10
    low = (draws.view(np.uint64) & np.uint64(0xFFFF)).astype(np.int64)
    assert stats.chisquare(np.bincount(low >> 8, minlength=256)).statistic < stats.chi2.isf(FALSE_ALARM, 255)


def test_float_acceptance_agrees_with_the_exact_one_outside_the_doubtful_zone():
    rng = np.random.default_rng(5)
    sigma = 1e6 / 3
    y = rng.integers(-int(6 * sigma), int(6 * sigma), 400)
    p = np.exp(-0.5 * (np.abs(y) / sigma - (1 / sigma) * sigma) ** 2)
    for value, approximate in zip(y.tolist(), p.tolist(), strict=True):
        with localcontext() as context:
            context.prec = 60
            exact = (-((abs(value) - Decimal(1 / sigma) * Decimal(sigma) ** 2) ** 2) / (2 * Decimal(sigma) ** 2)).exp()
        assert abs(Decimal(approximate) - exact) < Decimal(integer_draws._UNSURE) / 8


# ---------------------------------------------------------------- largest of many


@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (2, 1e5), (10, 1e-6), (10**7, 1.0)])
def test_largest_of_laplace_noises_is_a_harmonic_sum(n, scale):
    # |Z| is exponential, and the largest of n exponentials has mean 1 + 1/2 + ... + 1/n
    assert expected_maximum([(Laplace(scale), n)]) == pytest.approx(scale * oracles.harmonic(n), rel=1e-8)


@pytest.mark.parametrize("law", [law for law in SAMPLED if law.variance < 1e30], ids=name)
def test_largest_of_one_is_the_mean_absolute(law):
    assert expected_maximum([(law, 1)]) == pytest.approx(law.mean_absolute, rel=1e-6)


@pytest.mark.parametrize(("law", "pmf"), INTEGER[:6], ids=name)
def test_largest_of_whole_numbers_equals_the_sum(law, pmf):
    for n in (3, 1000, 10**7):
        inside, total = pmf[0], Decimal(0)
        with localcontext() as context:
            context.prec = 50
            for k in range(1, max(pmf)):
                total += 1 - inside**n
                inside += 2 * pmf[k]
        assert expected_maximum([(law, n)]) == pytest.approx(float(total), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("scale", [2e4, 1e6, 1e9])
def test_largest_of_wide_whole_numbers_approaches_the_smooth_law(scale):
    assert expected_maximum([(DiscreteLaplace(1 / scale), 10**6)]) == pytest.approx(
        scale * oracles.harmonic(10**6), rel=1e-6
    )


def test_largest_of_mixed_scales_equals_quadrature():
    laws = [(Laplace(1.0), 50), (Laplace(30.0), 3), (Laplace(0.01), 10**6)]

    def none_above(x):
        return np.prod([(-np.expm1(-x / law.scale)) ** n for law, n in laws], axis=0)

    expected = sum(
        oracles.integral(lambda x: 1 - none_above(x), low, high) for low, high in ((0, 1), (1, 50), (50, 1500))
    )
    assert expected_maximum(laws) == pytest.approx(expected, rel=1e-9)


def test_largest_of_bounded_noises_gathers_below_the_bound():
    # near the bound R the mass above R - x is x p with p = e^(-R) / (1 - e^(-R)): the gap is 1 / (n p) on average
    n, p = 10**9, math.exp(-3) / (1 - math.exp(-3))
    gap = 3.0 - expected_maximum([(TruncatedLaplace(1.0, 3.0), n)])
    assert gap == pytest.approx(1 / (n * p), rel=1e-5)


def test_largest_refuses_a_mixture_and_takes_nothing():
    assert expected_maximum([]) == 0.0
    with refuses("LAWS_MIXED"):
        expected_maximum([(Laplace(1.0), 2), (DiscreteLaplace(1.0), 2)])


# ---------------------------------------------------------------- calibration


@given(amount=st.floats(1e-6, 100), l1=st.integers(1, 2000), twice=st.booleans())
def test_level_laws_never_carry_less_noise_than_the_exact_quotient(amount, l1, twice):
    l2 = math.sqrt(2) * l1 if twice else float(l1)
    spent, change = Fraction(amount), Fraction(l1)
    laplace, discrete = (level_law(law, amount, l1, l2) for law in ("laplace", "discrete_laplace"))
    assert Fraction(laplace.scale) * spent >= change > Fraction(math.nextafter(laplace.scale, 0)) * spent
    assert Fraction(discrete.inverse_scale) * change <= spent
    assert Fraction(math.nextafter(discrete.inverse_scale, 200)) * change > spent
    for law in ("gaussian", "discrete_gaussian"):
        sigma = level_law(law, amount, l1, l2).sigma
        assert Fraction(sigma) ** 2 * 2 * spent >= Fraction(l2) ** 2
        assert Fraction(math.nextafter(sigma, 0)) ** 2 * 2 * spent < Fraction(l2) ** 2


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("laplace", math.inf, 1.0, 1.0), "EXACT_LEVEL"), (("laplace", 1.0, 0.0, 0.0), "EXACT_LEVEL"),
        (("gumbel", 1.0, 1.0, 1.0), "VALUE_UNKNOWN"), (("laplace", -1.0, 1.0, 1.0), "EPS_RANGE"),
        (("gaussian", math.nan, 1.0, 1.0), "RHO_RANGE"), (("laplace", 1e-300, 1.0, 1.0), "NOISE_RANGE"),
    ],
)  # fmt: skip
def test_level_law_refusals(args, code):
    with refuses(code):
        level_law(*args)


# ---------------------------------------------------------------- noise by level


@pytest.mark.parametrize(
    ("name", "kind", "smooth"),
    [
        ("laplace", Laplace, False), ("discrete_laplace", DiscreteLaplace, False), ("gaussian", Gaussian, True),
        ("discrete_gaussian", DiscreteGaussian, False),
    ],
)  # fmt: skip
def test_every_mechanism_draws_its_own_law_and_adds_it_to_the_counts(name, kind, smooth):
    """Only continuous Gaussian noise may be converted as such; a release is the counts plus the noise drawn."""
    tree, unit = Tree.from_branching_factors((2,)), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    mechanism = MECHANISMS[name]
    assert mechanism.continuous_gaussian == smooth
    budget = Budget(mechanism.currency, (0.01, 0.01))
    noise = mechanism.plan(tree, budget, unit)
    assert [type(law) for law in noise.laws] == [kind, kind]
    counts = np.array([30, 10, 20])
    promise = guarantee(budget, unit, 1e-6, smooth, precision=noise.precision)
    released = noise.release(counts, promise, np.random.default_rng(4)).estimate
    np.testing.assert_array_equal(released, counts + noise.draw(np.random.default_rng(4)))


@pytest.mark.parametrize("law", ["laplace", "discrete_laplace", "gaussian", "discrete_gaussian"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("contributions", [1, 3])
def test_only_a_level_that_cannot_change_is_exact(law, relation, contributions):
    """Asked for directly, past every check of a budget: the root under "replace one" may be exact, and nothing else."""
    tree, unit = Tree.from_branching_factors((2, 2)), ProtectedUnit(relation, contributions)
    currency = Currency.EPSILON if law.endswith("laplace") else Currency.RHO
    for level in range(3):
        amounts = [math.inf if i == level else 0.5 for i in range(3)]
        if unit.total_is_public and level == 0:
            assert level_noise(tree, Budget(currency, tuple(amounts)), unit, law).exact == (True, False, False)
            continue
        amounts[0] = math.inf if unit.total_is_public else amounts[0]
        with refuses("EXACT_NOT_PRIVATE"):
            level_noise(tree, Budget(currency, tuple(amounts)), unit, law)


def test_nodes_of_a_level_draw_noise_of_their_own():
    """Ten thousand draws: no two columns are equal, none correlate beyond 6 standard errors."""
    tree, unit = Tree.from_branching_factors((3,)), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    noise = level_noise(tree, Budget(Currency.EPSILON, (0.5, 0.5)), unit, "laplace")
    drawn = np.corrcoef(noise.draw(np.random.default_rng(1), 10_000).T)
    assert (np.abs(drawn[~np.eye(4, dtype=bool)]) < 6 / math.sqrt(10_000)).all()


def test_a_level_without_budget_is_not_measured():
    """By hand: no value at all, and an infinite variance; the exact root 0 of both."""
    tree, unit = Tree.from_branching_factors((2, 2)), ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    noise = level_noise(tree, Budget(Currency.EPSILON, (math.inf, 0.0, 1.0)), unit, "laplace")
    drawn = noise.draw(np.random.default_rng(1))
    assert drawn[0] == 0 and np.isnan(drawn[1:3]).all() and np.isfinite(drawn[3:]).all()
    assert noise.level_variance.tolist() == [0.0, math.inf, 8.0]
