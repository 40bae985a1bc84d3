"""Prime factors and divisors of whole numbers up to 10^18."""

from __future__ import annotations

import math
from typing import Final

_WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Bases for which Miller and Rabin's test is never wrong below 3.3 * 10^24."""


def prime_factors(n: int) -> dict[int, int]:
    """Return the primes of n >= 1 with their exponents, by trial division and Pollard's rho.

    >>> prime_factors(997), prime_factors(720720)
    ({997: 1}, {2: 4, 3: 2, 5: 1, 7: 1, 11: 1, 13: 1})
    """
    found: dict[int, int] = {}
    for p in range(2, 1000):
        if p * p > n:
            break
        while n % p == 0:
            found[p] = found.get(p, 0) + 1
            n //= p
    stack = [n] if n > 1 else []
    while stack:
        m = stack.pop()
        if is_prime(m):
            found[m] = found.get(m, 0) + 1
        else:
            d = _some_divisor(m)
            stack += [d, m // d]
    return dict(sorted(found.items()))


def is_prime(n: int) -> bool:
    """Whether n is a prime (Miller and Rabin's test, certain in this range).

    >>> is_prime(2**31 - 1), is_prime(2**29 - 1)
    (True, False)
    """
    if n < 41:
        return n in (*_WITNESSES, 41)
    if any(n % p == 0 for p in _WITNESSES):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(n, a, odd, twos) for a in _WITNESSES)


def divisors(n: int) -> list[int]:
    """Return all divisors of n, ascending.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    found = [1]
    for p, exponent in prime_factors(n).items():
        found = [d * p**e for e in range(exponent + 1) for d in found]
    return sorted(found)


def _passes(n: int, base: int, odd: int, twos: int) -> bool:
    x = pow(base, odd, n)
    if x in (1, n - 1):
        return True
    for _ in range(twos - 1):
        x = x * x % n
        if x == n - 1:
            return True
    return False


def _some_divisor(n: int) -> int:
    """A divisor of a composite n other than 1 and n (Pollard's rho, Brent's form: gcds of products of 128 steps)."""
    root = math.isqrt(n)
    if root * root == n:
        return root
    shift = 0
    while True:
        shift += 1
        y, g, r, q, x, start = 2, 1, 1, 1, 2, 2
        while g == 1:
            x = y
            for _ in range(r):
                y = (y * y + shift) % n
            k = 0
            while k < r and g == 1:
                start = y
                for _ in range(min(128, r - k)):
                    y = (y * y + shift) % n
                    q = q * abs(x - y) % n
                g, k = math.gcd(q, n), k + 128
            r *= 2
        if g == n:
            g = 1
            while g == 1:
                start = (start * start + shift) % n
                g = math.gcd(abs(x - start), n)
        if g != n:
            return g
