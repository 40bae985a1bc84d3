"""Slow and obvious values for noise and privacy: decimal sums, quadrature and enumeration; nothing of treedp_core."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

DIGITS = 110


# ---------------------------------------------------------------- laws on the integers, term by term


def laplace_weight(inverse_scale: float, k: int) -> Decimal:
    return (-Decimal(inverse_scale) * abs(k)).exp()


def gaussian_weight(sigma: float, k: int) -> Decimal:
    return (-(Decimal(k) ** 2) / (2 * Decimal(sigma) ** 2)).exp()


def integer_law(weight: Callable[[int], Decimal], reach: int, digits: int = 50) -> dict[int, Decimal]:
    """Probabilities of -reach .. reach, by normalising the weights."""
    with localcontext() as context:
        context.prec = digits
        half = [weight(k) for k in range(reach + 1)]
        total = half[0] + 2 * sum(half[1:])
        return {k: half[abs(k)] / total for k in range(-reach, reach + 1)}


def expectation(law: dict[int, Decimal], value: Callable[[int], Decimal]) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return sum((p * value(k) for k, p in law.items()), Decimal(0))


# ---------------------------------------------------------------- continuous laws, by quadrature


def integral(f: Callable[[np.ndarray], np.ndarray], low: float, high: float, panels: int = 2000) -> float:
    """Composite Gauss-Legendre rule with 8 points a panel."""
    points, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    return float((half * weights * f(edges[:-1, None] + half * (1 + points))).sum())


# ---------------------------------------------------------------- the normal law and privacy, in many digits


@lru_cache
def pi() -> Decimal:
    """Machin: pi = 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan_inverse(n: int) -> Decimal:
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while abs(power) > Decimal(10) ** -(DIGITS + 10):
            total += (-1) ** k * power / (2 * k + 1)
            power, k = power / (n * n), k + 1
        return total

    with localcontext() as context:
        context.prec = DIGITS + 20
        return 16 * arctan_inverse(5) - 4 * arctan_inverse(239)


def normal_cdf(x: Decimal) -> Decimal:
    """1/2 + phi(x) (x + x^3/3 + x^5/15 + ...), whose terms are all positive for x > 0."""
    if x < 0:
        return 1 - normal_cdf(-x)
    term, total, odd = x, x, 1
    while term > Decimal(10) ** -(DIGITS + 5) * (total + 1):
        odd += 2
        term = term * x * x / odd
        total += term
    return Decimal(1) / 2 + (-x * x / 2).exp() / (2 * pi()).sqrt() * total


def in_digits(function: Callable[..., Decimal]) -> Callable[..., Decimal]:
    def wrapped(*args: float) -> Decimal:
        with localcontext() as context:
            context.prec = DIGITS
            return +function(*(Decimal(a) for a in args))

    return wrapped


@in_digits
def gaussian_delta(epsilon: Decimal, sigma: Decimal, sensitivity: Decimal) -> Decimal:
    """Balle and Wang (2018), Theorem 8, as printed."""
    half, shift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return normal_cdf(half - shift) - epsilon.exp() * normal_cdf(-half - shift)


@in_digits
def composed_gaussian_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    root = (2 * rho).sqrt()
    return normal_cdf(root / 2 - epsilon / root) - epsilon.exp() * normal_cdf(-root / 2 - epsilon / root)


def _smallest(f: Callable[[Decimal], Decimal]) -> Decimal:
    """Minimum over orders a = 1 + e^t, by trisection in t, of a function with a single valley; 40 digits."""
    with localcontext() as context:
        context.prec = 40
        low, high = Decimal(-60), Decimal(60)
        for _ in range(130):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if f(1 + a.exp()) < f(1 + b.exp()):
                high = b
            else:
                low = a
        return f(1 + ((low + high) / 2).exp())


def log_delta_of_rho(rho: float, epsilon: float) -> Decimal:
    """Canonne, Kamath and Steinke (2020), Corollary 13: logarithm of the infimum over orders a."""
    r, e = Decimal(rho), Decimal(epsilon)
    return _smallest(lambda a: (a - 1) * (a * r - e) - (a - 1).ln() + a * (1 - 1 / a).ln())


def epsilon_of_rho(rho: float, delta: float) -> Decimal:
    """The same bound solved for epsilon at each order, then its infimum."""
    r, log_delta = Decimal(rho), Decimal(delta).ln()
    return _smallest(lambda a: a * r + (a * (1 - 1 / a).ln() - (a - 1).ln() - log_delta) / (a - 1))


# ---------------------------------------------------------------- neighbouring data sets, all of them

Path = tuple[int, ...]
Node = tuple[int, Path]


def paths(branching: Sequence[int]) -> list[Path]:
    return list(itertools.product(*(range(n) for n in branching)))


def node_counts(records: Sequence[Path], n_levels: int) -> Counter[Node]:
    """Count of every node: a record counts on its own prefix on every level."""
    return Counter((level, record[:level]) for record in records for level in range(n_levels))


def neighbours(relation: str, branching: Sequence[int], m: int, known_levels: int) -> Iterator[tuple[list, list]]:
    """All pairs (records of one unit before, after) with at most m records; everybody else's cancel."""
    leaves = paths(branching)
    if relation == "add_or_remove_one":
        for k in range(m + 1):
            for records in itertools.combinations_with_replacement(leaves, k):
                yield [], list(records)
    elif relation == "replace_one":
        for before in itertools.combinations_with_replacement(leaves, m):
            for after in itertools.combinations_with_replacement(leaves, m):
                yield list(before), list(after)
    else:
        known = known_levels - 1  # columns that build the known levels below the root
        slots = [
            (before, after)
            for before in [None, *leaves]
            for after in [None, *leaves]
            if before is None or after is None or before[:known] == after[:known]
        ]
        for chosen in itertools.combinations_with_replacement(slots, m):
            yield [b for b, _ in chosen if b is not None], [a for _, a in chosen if a is not None]


def level_changes(
    relation: str, branching: Sequence[int], m: int, known_levels: int
) -> set[tuple[tuple[int, int], ...]]:
    """For every pair of neighbours, the L1 and the squared L2 change of each level."""
    n_levels, found = len(branching) + 1, set()
    for before, after in neighbours(relation, branching, m, known_levels):
        change = node_counts(after, n_levels)
        change.subtract(node_counts(before, n_levels))
        by_level = [[c for (level, _), c in change.items() if level == at] for at in range(n_levels)]
        found.add(tuple((sum(map(abs, cs)), sum(c * c for c in cs)) for cs in by_level))
    return found


def harmonic(n: int) -> float:
    return math.fsum(1.0 / k for k in range(1, n + 1))
