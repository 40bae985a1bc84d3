"""Draws against laws written down here once more: chi-square, tails, signs, low bits, and streams that differ.

Every test has a false-alarm rate of at most 1e-7 by construction, and there are fewer than a thousand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from treedp_core.errors import simulation as montecarlo
from treedp_core.mechanisms.thresholds import sparse_vector
from treedp_core.mechanisms.thresholds.sparse_vector import NoiseLaw
from treedp_core.noise import laws as noise
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace

from .report import Report
from .thresholds import answer_law

RISK = 1e-7
EXPECTED = 60.0
"""Draws that a cell of a chi-square test expects at least."""
CELLS = 80
SCOUT = 20_000
"""Draws that only choose the cells, so that the choice cannot bias the test."""


@dataclass(frozen=True)
class Case:
    """A law to draw from, and P(X <= x) as it ought to be; whole numbers or not."""

    name: str
    draw: Callable[[np.random.Generator, int], Any]
    cdf: Callable[[Any], Any]
    whole: bool


def audit(report: Report, rng: np.random.Generator, thousands: int) -> None:
    """Test each sampler on so many thousand draws, and that no two streams are one."""
    for case in cases():
        scout, drawn = case.draw(rng, SCOUT), np.asarray(case.draw(rng, 1000 * thousands))
        _chi_square(report, case, scout, drawn)
        _tails_and_signs(report, case, scout, drawn)
        if not case.whole:
            _low_bits(report, case, drawn)
    _one_by_one(report, rng, 5 * thousands)
    _answers(report, rng, 10 * thousands)
    _streams(report)


# ---------------------------------------------------------------- laws, from their definitions


def cases() -> Iterator[Case]:
    """Narrow laws of one table, wide ones of several, rejection, and the laws on the reals."""
    for a in (3.0, 0.7, 0.04, 0.003, 2e-5):
        law = noise.DiscreteLaplace(a)
        yield Case(f"discrete Laplace, rate {a}", law.sample, _discrete_laplace(a), True)
    for sigma in (0.4, 1.7, 60.0, 990.0, 5000.0):
        gauss = noise.DiscreteGaussian(sigma)
        yield Case(f"discrete Gaussian, sigma {sigma}", gauss.sample, _discrete_gaussian(sigma), True)
    for rate, bound in ((0.5, 9), (1e-3, 20)):
        cut = DiscreteTruncatedLaplace(rate, bound)
        yield Case(f"bounded whole numbers {rate}, {bound}", cut.sample, _bounded_whole(rate, bound), True)
    yield Case("Laplace", noise.Laplace(2.5).sample, _laplace(2.5, math.inf), False)
    yield Case("bounded Laplace", noise.TruncatedLaplace(2.5, 4.0).sample, _laplace(2.5, 4.0), False)
    yield Case("Gaussian", noise.Gaussian(2.5).sample, lambda x: special.ndtr(x / 2.5), False)
    one, two = (NoiseLaw(kind, 0.3, "discrete") for kind in ("exponential", "laplace"))  # type: ignore[arg-type]
    yield Case("test noise, one-sided", one.sample, lambda x: np.where(x < 0, 0.0, -np.expm1(-0.3 * (x + 1.0))), True)
    yield Case("test noise, two-sided", two.sample, _discrete_laplace(0.3), True)


def _discrete_laplace(a: float) -> Callable[[Any], Any]:
    q = math.exp(-a)

    def cdf(x: Any) -> Any:  # P(X >= k) = q^k / (1 + q) for k >= 1
        return np.where(x >= 0, 1 - q ** (np.abs(x) + 1.0) / (1 + q), q ** np.abs(x + 0.0) / (1 + q))

    return cdf


def _discrete_gaussian(sigma: float) -> Callable[[Any], Any]:
    reach = math.ceil(12 * sigma) + 2
    mass = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    total = np.cumsum(mass) / mass.sum()
    return lambda x: total[np.clip(np.asarray(x) + reach, 0, 2 * reach).astype(int)]


def _bounded_whole(rate: float, bound: int) -> Callable[[Any], Any]:
    mass = np.exp(-rate * np.abs(np.arange(-bound, bound + 1)))
    total = np.cumsum(mass) / mass.sum()
    return lambda x: np.where(np.asarray(x) < -bound, 0.0, total[np.clip(np.asarray(x) + bound, 0, 2 * bound)])


def _laplace(scale: float, bound: float) -> Callable[[Any], Any]:
    inside = -math.expm1(-bound / scale)
    return lambda x: 0.5 + 0.5 * np.sign(x) * np.minimum(1.0, -np.expm1(-np.abs(x) / scale) / inside)


# ---------------------------------------------------------------- tests


def _chi_square(report: Report, case: Case, scout: Any, drawn: Any) -> None:
    n = drawn.size
    cuts = np.unique(np.quantile(scout, np.linspace(0, 1, CELLS)[1:-1]))
    if case.whole:
        cuts = np.unique(np.floor(cuts))
    below = np.concatenate([[0.0], case.cdf(cuts.astype(int) if case.whole else cuts), [1.0]])
    expected = n * np.diff(below)
    seen = np.histogram(drawn, np.concatenate([[-np.inf], cuts + (0.5 if case.whole else 0.0), [np.inf]]))[0]
    full = expected >= EXPECTED
    statistic = float(((seen - expected) ** 2 / np.maximum(expected, 1e-300))[full].sum())
    rest, seen_rest = expected[~full].sum(), seen[~full].sum()
    if rest >= EXPECTED:
        statistic += float((seen_rest - rest) ** 2 / rest)
    limit = stats.chi2.isf(RISK, max(1, int(full.sum()) - int(rest < EXPECTED)))
    report.holds(statistic <= limit, f"{case.name}: chi-square {statistic:.0f} beyond {limit:.0f}")


def _tails_and_signs(report: Report, case: Case, scout: Any, drawn: Any) -> None:
    """Rare values as often as they should be, and as many positive as negative ones."""
    n = drawn.size
    for rare in (1e-2, 1e-4):
        edge = float(np.quantile(scout, 1 - rare))
        edge = math.floor(edge) if case.whole else edge
        chance = float(1 - case.cdf(np.array(edge)))
        _binomial(report, int((drawn > edge).sum()), n, chance, f"{case.name}: values above {edge}")
    if case.cdf(np.array(-1)) > 0:
        apart = drawn[drawn != 0]
        _binomial(report, int((apart > 0).sum()), apart.size, 0.5, f"{case.name}: positive values")


def _binomial(report: Report, k: int, n: int, chance: float, what: str) -> None:
    low, high = stats.binom.ppf(RISK / 2, n, chance) if chance else 0, stats.binom.isf(RISK / 2, n, chance)
    report.holds(low <= k <= high, f"{what}: {k} of {n} where {n * chance:.1f} are expected")


def _low_bits(report: Report, case: Case, drawn: Any) -> None:
    """The last sixteen bits of a float's mantissa are hardly ever all 0: no draw has passed through fewer bits."""
    bits = np.asarray(drawn, dtype=np.float64).view(np.uint64)
    empty = int(((bits & np.uint64(0xFFFF)) == 0).sum())
    report.holds(empty <= stats.binom.isf(RISK, drawn.size, 1e-3), f"{case.name}: {empty} draws end in sixteen 0 bits")


def _one_by_one(report: Report, rng: np.random.Generator, n: int) -> None:
    """Draws asked for one at a time follow the law as well, also those by rejection."""
    for sigma in (2.0, 1500.0):
        law = noise.DiscreteGaussian(sigma)
        drawn = np.array([law.sample(rng, 1)[0] for _ in range(n)])
        one = Case(f"single draws, sigma {sigma}", law.sample, _discrete_gaussian(sigma), True)
        _chi_square(report, one, law.sample(rng, SCOUT), drawn)


def _answers(report: Report, rng: np.random.Generator, n: int) -> None:
    """The sparse vector's sequences of answers: a new threshold after each positive one."""
    queries, epsilon, c = np.array([2, 3, 3, 1]), 4.0, 2
    half = epsilon / 2
    laws = (NoiseLaw("laplace", half / c, "discrete"), NoiseLaw("laplace", half / (2 * c), "discrete"))
    expected = answer_law(queries.tolist(), 3, c, *laws)
    seen: dict[tuple[bool, ...], int] = {}
    for _ in range(n):
        told = tuple(sparse_vector.sparse(rng, queries, 3.0, epsilon, c, "discrete").tolist())
        seen[told] = seen.get(told, 0) + 1
    report.holds(seen.keys() <= expected.keys(), "the sparse vector gives more positive answers than it may")
    statistic = sum((seen.get(key, 0) - n * p) ** 2 / (n * p) for key, p in expected.items())
    limit = stats.chi2.isf(RISK, len(expected) - 1)
    report.holds(statistic <= limit, f"sparse vector: chi-square {statistic:.0f} beyond {limit:.0f}")


def _streams(report: Report) -> None:
    """Seeds, trials and chunks each have noise of their own."""
    names = [(s, *rest) for s in (0, 1, 7, 2**31 - 1) for rest in itertools.product((1, 5, 9), repeat=2)]
    first = {name: montecarlo.generator(*name).integers(1 << 62, size=2).tobytes() for name in names}
    report.holds(len(set(first.values())) == len(names), "two streams with different names are one", len(names))
    chunks = [rng.integers(1 << 62) for rng, _ in montecarlo._chunks(10, montecarlo.CHUNK_CELLS // 2, (7, 1))]
    report.holds(len(set(chunks)) == len(chunks) == 5, "two chunks of a simulation draw the same noise", len(chunks))
