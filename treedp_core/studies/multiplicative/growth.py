"""How the worst-case alpha-RMSE grows with the number of levels, and where curves cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.schedule import MAX_LEVELS
from treedp_core.noise.law import FloatArray
from treedp_core.registry import lookup
from treedp_core.studies.multiplicative.curves import CURVES, Setting

_GRID: Final = 48
_PASSES: Final = 20  # each narrows an interval some 40 times; 15 digits need 10


@dataclass(frozen=True, eq=False)
class Growth:
    """Errors by number of levels.

    Parameters
    ----------
    n_levels : (n,)
        Whole numbers, increasing.
    error : mapping of str to (n,)
        By curve name, in records; nan where the mechanism does not exist.
    """

    n_levels: NDArray[np.int64]
    error: Mapping[str, FloatArray]


def growth(setting: Setting, n_levels: ArrayLike, names: tuple[str, ...] | None = None) -> Growth:
    """Worst-case alpha-RMSE of every curve (or the named ones) at numbers of levels.

    Parameters
    ----------
    n_levels : (n,) whole numbers

    Raises
    ------
    InputError
        LEVELS_RANGE, VALUE_UNKNOWN.

    >>> found = growth(Setting(), [100, 1000], ("laplace", "gaussian"))
    >>> {name: error.round(1).tolist() for name, error in found.error.items()}
    {'laplace': [141.4, 1414.2], 'gaussian': [42.2, 133.6]}
    """
    levels = np.array([_levels(n) for n in np.ravel(np.asarray(n_levels))], dtype=np.int64)
    chosen = [lookup(CURVES, name, "curve") for name in (CURVES if names is None else names)]
    return Growth(levels, {curve.name: curve.error(setting, levels.astype(float)) for curve in chosen})


def break_even(setting: Setting, better: str, worse: str, *, high: int = 10**6) -> int | None:
    """Smallest number of levels, 2 to `high`, from which on `better` has the smaller error than `worse`; None if none.

    "From which on": the last change of sign on a grid of 48 numbers of levels, then every whole number between two
    neighbours of the grid is searched by sections, down to the exact one.

    >>> break_even(Setting(), "gaussian", "laplace")
    9
    """
    one, two = lookup(CURVES, better, "curve"), lookup(CURVES, worse, "curve")
    low, top = 2, checks.integer("the largest number of levels", high, low=2, high=MAX_LEVELS, code="LEVELS_RANGE")
    for _ in range(_PASSES):
        levels = _between(low, top)
        wins = _errors(one.name, setting, *levels) < _errors(two.name, setting, *levels)
        if not wins[-1]:
            return None
        if wins.all():
            return int(levels[0])
        last = int(np.flatnonzero(~wins)[-1])
        low, top = int(levels[last]), int(levels[last + 1])
        if top - low == 1:
            break
    return top


def _between(low: int, top: int) -> list[float]:
    """At most 50 whole numbers from low to top, both among them, evenly spaced in logarithms."""
    inner = np.round(np.geomspace(low, top, _GRID)).clip(low, top)
    return [float(n) for n in np.unique(np.concatenate([[low, top], inner]))]


@lru_cache(maxsize=64)
def _errors(name: str, setting: Setting, *levels: float) -> FloatArray:
    """A curve is crossed by several others, all of which begin with the same numbers of levels; none is private."""
    return CURVES[name].error(setting, np.array(levels))


def _levels(n: object) -> int:
    value = checks.integer("the number of levels", n, low=1, high=MAX_LEVELS, code="LEVELS_RANGE")
    if value == 1:
        raise InputError("LEVELS_RANGE", "A tree of one level is a single count; curves begin at 2 levels.")
    return value
