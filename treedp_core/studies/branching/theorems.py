"""What Rameshwar et al. (Sec. V) state about whole branching factors, checked for given numbers.

Equal budgets, no padding: E_2 = 4 K / (N epsilon)^2 g with g = h^2 sum (n_i - 1) for h factors n_i with product K.
Every check compares what is stated with the true minimum of g, found by the exact search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.studies.cdf.shapes.primes import is_prime
from treedp_core.studies.cdf.shapes.search import Cost, cheapest
from treedp_core.tree.workloads import MAX_BINS, n_bins_checked
from treedp_core.words import short, whole

EQUAL_BUDGETS = Cost(2.0, 1.0)
"""g as a cost: height^2 times the sum of n - 1."""


@dataclass(frozen=True)
class Check:
    """A statement for given numbers, whether it holds, and the numbers that show it."""

    statement: str
    holds: bool
    numbers: dict[str, object]


def g(factors: tuple[int, ...]) -> int:
    """Return h^2 sum (n_i - 1), exactly.

    >>> g((16, 16))
    120
    """
    return len(factors) ** 2 * (sum(factors) - len(factors))


def best_exact(n_bins: int, height: int | None = None) -> tuple[int, tuple[int, ...]]:
    """Return the least g over trees whose factors multiply to K, and the factors; of one height if it is given.

    >>> best_exact(2**20)
    (1875, (16, 16, 16, 16, 16))
    """
    found = cheapest(n_bins, EQUAL_BUDGETS, padded=False, height=height)
    if not found:
        raise InputError("TREE_SHAPE", f"{whole(n_bins)} has no {height} factors of at least 2.")
    return g(found[0][1]), found[0][1]


def lemma_v1(factors: tuple[int, ...]) -> Check:
    """Check Lemma V.1: g(n) >= g of h equal factors K^(1/h), whole or not.

    >>> lemma_v1((2, 8)).holds
    True
    """
    bins, height = math.prod(factors), len(factors)
    bound = height**3 * (bins ** (1.0 / height) - 1.0)
    return Check(
        f"No {height} factors with product {whole(bins)} have a g below {short(bound, 6)}.",
        g(factors) >= bound * (1.0 - 1e-12),
        {"g": g(factors), "bound": bound},
    )


def theorem_v1(prime: int, exponent: int, height: int) -> Check:
    """Check Theorem V.1: for K = p^t and a height, exponents that differ by at most 1 are best.

    >>> theorem_v1(2, 11, 3).numbers["stated"]
    (8, 16, 16)
    """
    p, t = _prime_power(prime, exponent)
    h = checks.integer("height", height, low=1, high=t, code="TREE_SHAPE")
    low, larger = divmod(t, h)
    stated = (p**low,) * (h - larger) + (p ** (low + 1),) * larger
    least, factors = best_exact(p**t, h)
    return Check(
        f"With {h} levels, K = {p}^{t} = {whole(p**t)} is best split into {_product(stated)}.",
        g(stated) == least,
        {"stated": stated, "g": g(stated), "least_g": least, "best": factors},
    )


def theorem_v2(n_bins: int, height: int) -> Check:
    """Check Theorem V.2 for K = b^height, b whole: the best height is >= height if b >= 17, <= height if b <= 16.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` when K is no such power.

    >>> theorem_v2(2**20, 4).numbers["best_height"]
    5
    """
    bins = n_bins_checked(n_bins)
    b = _whole_root(bins, checks.integer("height", height, low=1, high=60, code="TREE_SHAPE"))
    least, factors = best_exact(bins)
    best = len(factors)
    sign, holds = ("at least", best >= height) if b >= 17 else ("at most", best <= height)
    return Check(
        f"K = {whole(bins)} = {b}^{height} with {b} {'>= 17' if b >= 17 else '<= 16'}: "
        f"the best tree has {sign} {height} levels.",
        holds,
        {"b": b, "best_height": best, "best": factors, "least_g": least},
    )


def corollary_v1(prime: int, exponent: int) -> Check:
    """Check Corollary V.1: for K = p^t with p >= 17 the best height is t; for K <= 16 it is 1.

    >>> corollary_v1(17, 3).holds, corollary_v1(2, 4).holds
    (True, True)
    """
    p, t = _prime_power(prime, exponent)
    if p < 17 and p**t > 16:
        raise InputError("COROLLARY_RANGE", f"Corollary V.1 says nothing of {p}^{t}: it needs p >= 17 or K <= 16.")
    stated = t if p >= 17 else 1
    least, factors = best_exact(p**t)
    return Check(
        f"The best tree for K = {p}^{t} = {whole(p**t)} has {stated} level{'s' if stated > 1 else ''}.",
        len(factors) == stated,
        {"best_height": len(factors), "best": factors, "least_g": least},
    )


def corollary_v2(n_bins: int) -> Check:
    """Check Corollary V.2: between which heights the best one lies, by the whole roots b >= 17 and b <= 16 of K.

    >>> corollary_v2(2**20).statement
    'The best tree for K = 1\u202f048\u202f576 has 4 to 5 levels.'
    """
    bins = n_bins_checked(n_bins)
    roots = {h: b for h in range(1, bins.bit_length()) if (b := _root_or_none(bins, h)) is not None and b >= 2}
    low = max((h for h, b in roots.items() if b >= 17), default=1)
    high = min((h for h, b in roots.items() if b <= 16), default=None)
    least, factors = best_exact(bins)
    best = len(factors)
    ends = f"{low} to {high}" if high is not None and high > low else f"{low}"
    ends += " or more levels" if high is None else " level" if high == 1 else " levels"
    return Check(
        f"The best tree for K = {whole(bins)} has {ends}.",
        best >= low and (high is None or best <= high),
        {"low": low, "high": high, "best_height": best, "best": factors, "least_g": least},
    )


def lemma_v2(exponent: int) -> Check:
    """Check Lemma V.2: for K = 2^t, t >= 11 prime, some tree has less than a third of the g of any equal-factor one.

    The tree of its proof: (16, ..., 16, 32) if t = 4 s + 1, (8, 16, ..., 16) if t = 4 s + 3.

    >>> lemma_v2(11).numbers["tree"], lemma_v2(11).numbers["g"], lemma_v2(11).numbers["g_of_equal_factors"]
    ((8, 16, 16), 333, 1331)
    """
    t = checks.integer("the exponent", exponent, low=11, high=59, code="TREE_SHAPE")
    if not is_prime(t):
        raise InputError("TREE_SHAPE", f"Lemma V.2 is about prime exponents, and {t} is not prime.")
    s = t // 4
    tree = (16,) * (s - 1) + (32,) if t % 4 == 1 else (8,) + (16,) * s
    equal = min(g((2,) * t), g((2**t,)))
    return Check(
        f"K = 2^{t}: the tree {_product(tree)} has less than a third of the error of any tree with equal factors.",
        3 * g(tree) < equal,
        {"tree": tree, "g": g(tree), "g_of_equal_factors": equal, "least_g": best_exact(2**t)[0]},
    )


def _prime_power(prime: object, exponent: object) -> tuple[int, int]:
    p = checks.integer("the prime", prime, low=2, high=MAX_BINS, code="TREE_SHAPE")
    t = checks.integer("the exponent", exponent, low=1, high=59, code="TREE_SHAPE")
    if not is_prime(p):
        raise InputError("TREE_SHAPE", f"Expected a prime, got {whole(p)}.")
    n_bins_checked(p**t)
    return p, t


def _root_or_none(bins: int, height: int) -> int | None:
    near = round(bins ** (1.0 / height))
    return next((b for b in (near - 1, near, near + 1) if b >= 1 and b**height == bins), None)


def _whole_root(bins: int, height: int) -> int:
    b = _root_or_none(bins, height)
    if b is None or b < 2:
        raise InputError("TREE_SHAPE", f"Expected K = b^{height} for a whole b, got K = {whole(bins)}.")
    return b


def _product(factors: tuple[int, ...]) -> str:
    return " × ".join(str(n) for n in factors)
