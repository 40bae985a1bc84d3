"""Faults planted in the code while a part of the audit looks: each must be flagged, or the audit is asleep."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from treedp_core import calibration, rounding
from treedp_core.experiment import Pipeline
from treedp_core.mechanisms import LevelNoise, level_noise
from treedp_core.privacy import Budget, ProtectedUnit
from treedp_core.release import Release
from treedp_core.tree import Tree

Planter = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Fault:
    """A fault, how it is planted, and the parts of the audit that must each flag it."""

    name: str
    plant: Planter
    parts: tuple[str, ...]


@contextlib.contextmanager
def everywhere(honest: object, planted: object) -> Iterator[None]:
    """Put one function in place of another under every name that a module of the core gives it."""
    with contextlib.ExitStack() as stack:
        for module_name, module in list(sys.modules.items()):
            if module_name.split(".")[0] == "treedp_core":
                for name in [n for n, value in vars(module).items() if value is honest]:
                    stack.enter_context(patch.object(module, name, planted))
        yield


def changed(honest: Callable[..., Any], change: Callable[..., Any]) -> Planter:
    """A fault: the function's result is passed on to `change` with its arguments behind it."""

    @functools.wraps(honest)
    def planted(*arguments: Any, **named: Any) -> Any:
        return change(honest(*arguments, **named), *arguments, **named)

    return lambda: everywhere(honest, planted)


def method(owner: type, name: str, change: Callable[..., Any]) -> Planter:
    """The same for a method; `change` gets the result, the object and the arguments."""
    honest = getattr(owner, name)

    def planted(self: Any, *arguments: Any, **named: Any) -> Any:
        return change(honest(self, *arguments, **named), self, *arguments, **named)

    return lambda: patch.object(owner, name, planted)


def narrower(law: Any, factor: float) -> Any:
    """The same law, `factor` times as wide."""
    if law is None:
        return None
    (parameter,) = vars(law).values()
    return type(law)(parameter / factor if type(law).__name__ == "DiscreteLaplace" else parameter * factor)


@contextlib.contextmanager
def nearest() -> Iterator[None]:
    """Every rounding with a direction rounds to the nearest float instead."""
    with (
        everywhere(rounding.float_above, float),
        everywhere(rounding.float_below, float),
        everywhere(rounding.quotient_above, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.quotient_below, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.sqrt_above, lambda square: math.sqrt(Fraction(square))),
    ):
        yield


def _without_last(_: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    *kept, last = amounts
    return CHARGE(unit, kept if any(kept) else [last])


def _once(_: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return sum((Fraction(a) for a in amounts if a != math.inf), Fraction(0))


def _exact_where_refused(tree: Tree, budget: Budget, unit: ProtectedUnit, law: str) -> LevelNoise:
    noisy = Budget(budget.currency, tuple(1.0 if a == math.inf else a for a in budget.per_level))
    exact = tuple(a == math.inf for a in budget.per_level)
    laws = calibration.level_law(law, 1.0, 1.0, 1.0)
    ready = LevelNoise(tree, tuple(None if free else laws for free in exact), exact)
    return ready if any(exact) else LEVEL_NOISE(tree, noisy, unit, law)


def _exact_root(ready: LevelNoise, *_: object) -> LevelNoise:
    return replace(ready, laws=(None, *ready.laws[1:]), exact=(True, *ready.exact[1:]))


def _peeking(released: Release, noise: LevelNoise, counts: Any, *_: object) -> Release:
    return replace(released, estimate=np.where(counts == 0, 0, released.estimate))


def _clipped_at_the_total(both: tuple[Release, Release], pipeline: Pipeline, counts: Any, *_: object) -> Any:
    return both[0], replace(both[1], estimate=np.minimum(both[1].estimate, counts[..., :1]))


CHARGE, LEVEL_NOISE = ProtectedUnit.exact_charge, level_noise

FAULTS = (
    Fault(
        "noise 1.02 times too small", changed(calibration._law, lambda law, *_: narrower(law, 1 / 1.02)), ("levels",)
    ),
    Fault(
        "noise too small by a thousandth", changed(calibration._law, lambda law, *_: narrower(law, 0.999)), ("levels",)
    ),
    Fault("one level uncharged", method(ProtectedUnit, "exact_charge", _without_last), ("levels",)),
    Fault("halved sensitivity", method(ProtectedUnit, "_levels", lambda found, *_: found / 2), ("levels",)),
    Fault("rounding to nearest", nearest, ("levels",)),
    Fault(
        "contributions forgotten",
        method(ProtectedUnit, "_levels", lambda x, unit, *_: x / unit.contributions),
        ("levels",),
    ),
    Fault("unknown levels charged once", method(ProtectedUnit, "exact_charge", _once), ("levels",)),
    Fault("a protected root published exactly", changed(level_noise, _exact_root), ("levels",)),
    Fault("exact levels not refused", lambda: everywhere(level_noise, _exact_where_refused), ("levels",)),
    Fault("empty nodes without noise", method(LevelNoise, "release", _peeking), ("levels",)),
    Fault("post-processing sees the total", method(Pipeline, "release", _clipped_at_the_total), ("levels",)),
)
