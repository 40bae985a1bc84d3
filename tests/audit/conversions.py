"""Conversions between rho and (epsilon, delta), and exact laws of composed whole-number Gaussian noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from treedp_core import privacy, words
from treedp_core.experiment import Experiment, prepare
from treedp_core.privacy import rounding

from .decimals import Number, concentrated_delta, decimal, digits, gaussian_delta, gaussian_delta_of_rho
from .neighbours import ADD, REPLACE, UNKNOWN, Small, Who, data_sets, neighbours
from .report import Report

SHARP = 1e-6
"""An epsilon, rho or sigma that much better would already break the promise: conversions are tight as well."""


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare seven conversions at n points each with decimal numbers, and five roundings with fractions."""
    for _ in range(n):
        delta = float(10 ** rng.uniform(-90, -0.5))
        epsilon, rho = float(np.exp(rng.uniform(-6, 4))), float(np.exp(rng.uniform(-12, 4)))
        _from_rho(report, rho, delta)
        _to_rho(report, epsilon, delta)
        _gaussian(report, rng, epsilon, delta)
        _delta(report, rho, epsilon)
        _roundings(report, rng)


def _bound(report: Report, what: str, delta_at: Callable[[float], Decimal], found: float, better: float, delta: float):  # type: ignore[no-untyped-def]
    """Check that the delta at `found` is within the promise, and at a slightly `better` number no longer."""
    report.holds(delta_at(found) <= Decimal(delta), f"{what} = {found!r} is too good at delta = {delta!r}")
    report.holds(delta_at(better) > Decimal(delta), f"{what} = {found!r} is too cautious at delta = {delta!r}")


def _from_rho(report: Report, rho: float, delta: float) -> None:
    for convert, delta_of in (
        (privacy.rho_to_epsilon, concentrated_delta),
        (privacy.rho_to_epsilon_gaussian, gaussian_delta_of_rho),
    ):
        found = convert(rho, delta)
        if found:  # no epsilon is needed where the delta alone covers everything
            what = f"{convert.__name__}({rho!r})"
            _bound(report, what, partial(delta_of, rho), found, found * (1 - SHARP), delta)
        else:
            report.holds(delta_of(rho, 1e-300) <= Decimal(delta), f"{convert.__name__}({rho!r}, {delta!r}) is 0")
    with digits():
        textbook = decimal(rho) + 2 * (decimal(rho) * -decimal(delta).ln()).sqrt()
    found = privacy.rho_to_epsilon_simple(rho, delta)
    report.holds(Decimal(found) >= textbook, f"textbook conversion of {rho!r} at {delta!r} is below its formula")


def _to_rho(report: Report, epsilon: float, delta: float) -> None:
    for continuous, delta_of in ((False, concentrated_delta), (True, gaussian_delta_of_rho)):
        found = privacy.epsilon_to_rho(epsilon, delta, continuous)
        what = f"rho of epsilon {epsilon!r}, continuous {continuous}"
        _bound(report, what, lambda r, f=delta_of: f(r, epsilon), found, found * (1 + SHARP), delta)  # type: ignore[misc]


def _gaussian(report: Report, rng: np.random.Generator, epsilon: float, delta: float) -> None:
    size = float(np.exp(rng.uniform(-1, 3)))

    def delta_at(sigma: float) -> Decimal:
        return gaussian_delta(epsilon, Fraction(size) / Fraction(sigma))

    found = privacy.gaussian_sigma(epsilon, delta, size)
    _bound(report, f"gaussian_sigma({epsilon!r})", delta_at, found, found * (1 - SHARP), delta)
    sigma = size * float(np.exp(rng.uniform(-1, 3)))
    stated = privacy.gaussian_delta(epsilon, sigma, size)
    report.holds(Decimal(stated) >= delta_at(sigma), f"gaussian_delta({epsilon!r}, {sigma!r}, {size!r}) is too small")


def _delta(report: Report, rho: float, epsilon: float) -> None:
    stated, exact = Decimal(privacy.rho_to_delta(rho, epsilon)), concentrated_delta(rho, epsilon)
    report.holds(stated >= exact, f"rho_to_delta({rho!r}, {epsilon!r}) is too small")
    with digits():
        near = exact * Decimal(1 + SHARP) + Decimal("1e-299")
    report.holds(stated <= near, f"rho_to_delta({rho!r}, {epsilon!r}) is too cautious")


def _roundings(report: Report, rng: np.random.Generator) -> None:
    """Each rounding lies on its side of the exact number, and no float lies between."""
    a, b = (Fraction(float(x)) for x in np.exp(rng.uniform(-20, 20, 2)))
    cases: Iterable[tuple[str, float, Callable[[float], bool], float]] = (
        ("float_above", words.float_above(a / b), lambda x: Fraction(x) >= a / b, -np.inf),
        ("float_below", words.float_below(a / b), lambda x: Fraction(x) <= a / b, np.inf),
        ("quotient_above", rounding.quotient_above(a, b), lambda x: Fraction(x) >= a / b, -np.inf),
        ("quotient_below", rounding.quotient_below(a, b), lambda x: Fraction(x) <= a / b, np.inf),
        ("sqrt_above", rounding.sqrt_above(a), lambda x: Fraction(x) ** 2 >= a, -np.inf),
    )
    for name, found, right, way in cases:
        report.holds(right(found), f"{name} of {a} and {b} is on the wrong side")
        report.holds(not right(float(np.nextafter(found, way))), f"{name} of {a} and {b} is not the nearest")


# ---------------------------------------------------------------- composed noise, its whole law


def composed(report: Report, rng: np.random.Generator, n: int) -> None:
    """Exact delta of n releases of whole-number Gaussian noise, on the neighbours that differ most."""
    for i in range(n):
        small = Small((-1, 0, 0) if i % 2 else (-1, 0, 0, 1, 1, 2, 2))
        who = (Who(ADD, 1 + i % 3), Who(REPLACE, 1 + i % 2), Who(UNKNOWN, 1))[i % 3]
        epsilon, delta = float(np.exp(rng.uniform(-0.5, 2.5))), float(10 ** rng.uniform(-8, -2))
        ready = prepare(Experiment("discrete_gaussian", epsilon=epsilon, delta=delta, **who.settings), small.tree)  # type: ignore[arg-type]
        data = list(data_sets(small, rng, who.contributions))[1]
        moved = (neighbours(small, data, who) - data) @ small.below
        report.pairs += len(moved)
        sigmas = [getattr(ready.noise.laws[level], "sigma", None) for level in small.levels]
        far = moved[np.argsort(-np.abs(moved).sum(axis=1), kind="stable")[:4]]
        for change in far:
            exact = delta_of_shifts([(s, int(c)) for s, c in zip(sigmas, change, strict=True) if s and c], epsilon)
            what = f"whole-number Gaussian noise on {small.parent} for {who} at ({epsilon!r}, {delta!r})"
            report.holds(exact <= delta * (1 + 1e-9), f"{what}: exact delta {exact!r}")


def delta_of_shifts(shifts: Iterable[tuple[float, int]], epsilon: Number) -> float:
    """Smallest delta at epsilon of independent whole-number Gaussian noises, each moved by its whole shift.

    The log-ratio of a noise at x is (s^2 - 2 s x) / (2 sigma^2); over several noises it adds up. The laws are joined
    two at a time, equal ratios together, and what is dropped (below 1e-25) only makes the result smaller.
    """
    ratio, mass = np.zeros(1), np.ones(1)
    for sigma, shift in shifts:
        reach = int(11 * sigma) + abs(shift) + 2
        x = np.arange(-reach, reach + 1)
        weight = np.exp(-0.5 * (x / sigma) ** 2)
        # P is the noise around 0, Q around the shift
        ratio = np.add.outer(ratio, (shift * shift - 2 * shift * x) / (2 * sigma**2)).ravel()
        mass = np.multiply.outer(mass, weight / weight.sum()).ravel()
        kept = mass > 1e-25
        ratio, mass = _joined(ratio[kept], mass[kept])
    over = ratio > epsilon
    return float((mass[over] * -np.expm1(float(epsilon) - ratio[over])).sum())


def _joined(ratio: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, at = np.unique(np.round(ratio, 12), return_inverse=True)
    return values, np.bincount(at.ravel(), weights=mass)
