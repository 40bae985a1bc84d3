"""Which statements of Rameshwar et al., Sec. V, speak of K, and what the numbers say. Pure logic."""

from __future__ import annotations

from collections.abc import Sequence

from treedp_core.studies.branching.theorems import (
    Check,
    best_exact,
    corollary_v1,
    corollary_v2,
    lemma_v1,
    lemma_v2,
    theorem_v1,
    theorem_v2,
)
from treedp_core.studies.cdf.shapes.primes import is_prime, prime_factors
from treedp_core.tree.text import product_text
from treedp_core.words import whole


def statements(n_bins: int) -> list[tuple[str, Check]]:
    """Return every statement that applies to K, with its check.

    >>> [name for name, _ in statements(2**11)]
    ['Lemma V.1', 'Theorem V.1', 'Theorem V.2', 'Corollary V.2', 'Lemma V.2']
    >>> [name for name, check in statements(997) if check.holds]
    ['Lemma V.1', 'Theorem V.1', 'Corollary V.1', 'Corollary V.2']
    """
    best = best_exact(n_bins)[1]
    found = [("Lemma V.1", lemma_v1(best))]
    primes = prime_factors(n_bins)
    power = next(iter(primes.items())) if len(primes) == 1 else None
    if power is not None:
        found.append(("Theorem V.1", theorem_v1(*power, len(best))))
    if power is not None and (power[0] >= 17 or n_bins <= 16):
        found.append(("Corollary V.1", corollary_v1(*power)))
    found += [("Theorem V.2", theorem_v2(n_bins, height)) for height in _root_heights(n_bins)]
    found.append(("Corollary V.2", corollary_v2(n_bins)))
    if power is not None and power[0] == 2 and 11 <= power[1] <= 59 and is_prime(power[1]):
        found.append(("Lemma V.2", lemma_v2(power[1])))
    return found


def numbers_text(check: Check) -> str:
    """Return the numbers of a check on one line.

    >>> numbers_text(Check("", True, {"best": (8, 16), "g": 333, "bound": 0.25}))
    'best 8 · 16; g 333; bound 0.25'
    """
    return "; ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in check.numbers.items())


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return product_text(value)
    return f"{value:.6g}" if isinstance(value, float) else f"{whole(value)}" if isinstance(value, int) else str(value)


def _root_heights(n_bins: int) -> list[int]:
    """Heights above 1 with a whole root of K: the two around b = 16 and 17, which say most."""
    roots = {height: b for height in range(2, n_bins.bit_length()) if (b := whole_root(n_bins, height)) is not None}
    low = [height for height, b in roots.items() if b >= 17][-1:]
    return low + [height for height, b in roots.items() if 2 <= b <= 16][:1]


def whole_root(n: int, height: int) -> int | None:
    """Return b with b^height = n, if there is one.

    >>> whole_root(2**20, 4), whole_root(997, 2)
    (32, None)
    """
    near = round(n ** (1.0 / height))
    return next((b for b in (near - 1, near, near + 1) if b > 1 and b**height == n), None)
