"""Whole branching factors (Rameshwar et al., Sec. V): the library's checks, and the same by listing factorisations."""

from __future__ import annotations

import math

from treedp_core.studies.branching.theorems import (
    corollary_v1,
    corollary_v2,
    lemma_v1,
    lemma_v2,
    theorem_v1,
    theorem_v2,
)
from treedp_core.studies.methods.papers.claim import Number, factorisations, least_g


def _violations(*checks: bool) -> float:
    return float(sum(not one for one in checks))


def equal_is_best() -> tuple[Number, ...]:
    """Return how often Lemma V.1 fails, by its check and by the inequality of means itself."""
    trees = [one for k in (16, 105, 256, 997, 1000, 4096) for one in factorisations(k)]
    means = [sum(one) / len(one) >= math.prod(one) ** (1.0 / len(one)) * (1.0 - 1e-12) for one in trees]
    return (
        Number(f"of {len(trees)} factorisations", _violations(*(lemma_v1(one).holds for one in trees)), 0.0),
        Number("whose mean is below the geometric one", _violations(*means), 0.0),
    )


def prime_powers() -> tuple[Number, ...]:
    """Return how often Theorem V.1 fails, by its check's exact search and by listing all factorisations."""
    cases = [(p, t, h) for p in (2, 3, 5) for t in range(2, 9) for h in range(1, t + 1)]
    found = [theorem_v1(*one) for one in cases]
    listed = [least_g(p**t, h)[0] == one.numbers["g"] for (p, t, h), one in zip(cases, found, strict=True)]
    return (
        Number(f"of {len(cases)} prime powers and heights", _violations(*(one.holds for one in found)), 0.0),
        Number("of the same, listed", _violations(*listed), 0.0),
    )


def heights() -> tuple[Number, ...]:
    """Return how often Theorem V.2 fails, by its check and by listing."""
    cases = [(b**h, h, b) for b in (4, 10, 16, 17, 20) for h in (1, 2, 3)]
    listed = [least_g(k)[1] >= h if b >= 17 else least_g(k)[1] <= h for k, h, b in cases]
    return (
        Number(f"of {len(cases)} powers", _violations(*(theorem_v2(k, h).holds for k, h, _ in cases)), 0.0),
        Number("of the same, listed", _violations(*listed), 0.0),
    )


def best_height_of_prime_powers() -> tuple[Number, ...]:
    """Return how often Corollary V.1 fails, by its check and by listing."""
    cases = [(17, 2), (17, 3), (19, 2), (23, 2), (2, 4), (3, 2), (13, 1)]
    listed = [least_g(p**t)[1] == (t if p >= 17 else 1) for p, t in cases]
    return (
        Number(f"of {len(cases)} prime powers", _violations(*(corollary_v1(*one).holds for one in cases)), 0.0),
        Number("of the same, listed", _violations(*listed), 0.0),
    )


def best_height_between() -> tuple[Number, ...]:
    """Return how often Corollary V.2 fails, and how often its least is not that of all factorisations."""
    cases = (2**12, 2**16, 2**20, 3**10, 10**6, 17**3)
    found = [corollary_v2(one) for one in cases]
    listed = [least_g(k)[0] == one.numbers["least_g"] for k, one in zip(cases, found, strict=True)]
    return (
        Number(f"of {len(cases)} numbers of bins", _violations(*(one.holds for one in found)), 0.0),
        Number("whose least is not that of all factorisations", _violations(*listed), 0.0),
    )


def prime_exponents() -> tuple[Number, ...]:
    """Return how often Lemma V.2 fails, by its check and by listing."""
    cases = (11, 13, 17, 19, 23)
    equal = [min(t**3, 2**t - 1) for t in cases]  # factors 2, and one factor: t is prime
    listed = [3 * least_g(2**t)[0] < one for t, one in zip(cases, equal, strict=True)]
    return (
        Number(f"of {len(cases)} prime exponents", _violations(*(lemma_v2(t).holds for t in cases)), 0.0),
        Number("of the same, listed", _violations(*listed), 0.0),
    )


def chain_of_lemma_v2() -> tuple[Number, ...]:
    """Return (s + 1)^2 (15 s + 7) against 16 s^3 + 48 s^2 at s = 2, where the proof says that it is smaller."""
    s = 2
    return (Number("the chain at t = 11", (s + 1.0) ** 2 * (15.0 * s + 7.0), 16.0 * s**3 + 48.0 * s**2, more=True),)
