"""Which mechanism has the smallest worst-case error at which number of levels: curves, crossings, a ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treedp_core.mechanisms.thresholds.schedule import check_levels
from treedp_core.studies.multiplicative.curves import CURVES, Curve, Setting, break_even, growth
from treedp_core.tree import FloatArray
from treedp_core.tree.text import whole_from_text
from treedp_core.watch import Watch
from treedp_core.words import bare, short, whole

MAX_GROWTH_LEVELS: Final = 1_000_000
PAIRS: Final = (
    ("tuned", "gaussian"),
    ("tuned", "optimal"),
    ("tuned", "shrunk_gaussian"),
    ("tuned", "shrunk_optimal"),
    ("provable", "shrunk_optimal"),
    ("paper", "laplace"),
    ("paper", "shrunk_optimal"),
    ("gaussian", "laplace"),
    ("shrunk_optimal", "shrunk_laplace"),
)
"""Curves that may cross: the one that is better on many levels, and the one that is better on few."""
TURN: Final = ("tuned", "shrunk_optimal")
"""The crossing from which on thresholds pay."""
FEW_LEVELS: Final = 10_000
_MANY: Final = np.unique(np.round(np.geomspace(2, MAX_GROWTH_LEVELS, 61)).astype(np.int64))
_FEW: Final = _MANY[np.unique(np.linspace(0, _MANY.size - 1, 17).round().astype(int))]

Found = Mapping[str, tuple[FloatArray, FloatArray]]
"""Curve name -> numbers of levels (n,) and alpha-RMSE there (n,), in records; nan where there is no such mechanism."""
Places = Mapping[tuple[str, str], tuple[float, float]]
"""Better and worse curve -> number of levels where they cross, and the error there, in records."""


@dataclass(frozen=True)
class Rank:
    """One line of the ranking at a number of levels: a curve and its error there, in records."""

    curve: Curve
    error: float


def levels_from_text(text: str) -> int:
    """Return a number of levels written in digits or as a power.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` below 2 (one level is a single count) and above a million.

    >>> levels_from_text("1000"), levels_from_text("10^3")
    (1000, 1000)
    """
    return check_levels(whole_from_text(text, "levels", 1, MAX_GROWTH_LEVELS, "LEVELS_RANGE"))


def curves(setting: Setting) -> Found:
    """Return every curve from 2 to 10^6 levels."""
    searched = tuple(name for name, curve in CURVES.items() if curve.is_searched)
    others = tuple(name for name in CURVES if name not in searched)
    found = (growth(setting, _MANY, others), growth(setting, _FEW, searched))
    return {name: (one.n_levels.astype(float), one.error[name]) for one in found for name in one.error}


def deciding(found: Found) -> Found:
    """Return the lines that decide, up to 10^4 levels: the best simple rule, Laplace, thresholds, and no mechanism.

    >>> x = np.array([2.0, 1e4])
    >>> lines = deciding({"laplace": (x, np.array([3.0, 300.0])), "gaussian": (x, np.array([8.0, 80.0]))})
    >>> lines["best"][1].round(6).tolist()
    [3.0, 80.0]
    """
    simple = [found[name] for name in found if not (CURVES[name].is_bound or CURVES[name].is_thresholds)]
    best = (simple[0][0], np.min([error for _, error in simple], axis=0))
    lines = {"best": best, **{name: found[name] for name in ("laplace", "tuned", "approximate_bound") if name in found}}
    return {name: _up_to(FEW_LEVELS, *points) for name, points in lines.items()}


def _up_to(most: int, levels: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve cut at a number of levels, where it is interpolated on logarithms."""
    inside = levels < most
    with np.errstate(divide="ignore", invalid="ignore"):
        last = float(np.exp(np.interp(np.log(most), np.log(levels), np.log(error))))
    return np.append(levels[inside], float(most)), np.append(error[inside], last)


def crossings(found: Found) -> Places:
    """Return where each better curve falls below the worse one for good: levels and error, read off the curves.

    >>> x = np.array([2.0, 200.0])
    >>> found = {"tuned": (x, np.array([10.0, 10.0])), "gaussian": (x, np.array([1.0, 100.0]))}
    >>> levels, error = crossings(found)["tuned", "gaussian"]
    >>> round(levels, 6), round(error, 6)
    (20.0, 10.0)
    """
    places = {}
    for better, worse in PAIRS:
        if better in found and worse in found:
            place = _crossing(found[better], found[worse])
            if place is not None:
                places[better, worse] = place
    return places


def _crossing(
    better: tuple[FloatArray, FloatArray], worse: tuple[FloatArray, FloatArray]
) -> tuple[float, float] | None:
    """Last change of sign of the difference of the logarithms, by interpolation; None where there is none."""
    x = np.log(better[0] if better[0].size <= worse[0].size else worse[0])
    one, two = (np.interp(x, np.log(levels), np.log(error)) for levels, error in (better, worse))
    gap = one - two
    if not gap[-1] < 0 or (gap < 0).all():
        return None
    i = int(np.flatnonzero(~(gap < 0))[-1])
    if math.isnan(gap[i]):
        return None
    part = gap[i] / (gap[i] - gap[i + 1])
    return math.exp(x[i] + part * (x[i + 1] - x[i])), math.exp(one[i] + part * (one[i + 1] - one[i]))


def exact_crossings(setting: Setting, watch: Watch | None = None) -> dict[tuple[str, str], int | None]:
    """Return the exact numbers of levels where curves cross, by search.

    Raises
    ------
    Cancelled
        When the watch says so.
    """
    watch, found = watch or Watch(), {}
    for pair in PAIRS:
        watch.check()
        found[pair] = break_even(setting, *pair)
        watch.step(1)
    return found


def point_table(found: Found) -> dict[str, list[Any]]:
    """Return one row for each point of the curves, which have different numbers of levels."""
    rows = [
        (CURVES[name].label if name in CURVES else "Best simple rule", n, e)
        for name, (x, y) in found.items()
        for n, e in zip(x.tolist(), y.tolist(), strict=True)
    ]
    return {
        "mechanism": [row[0] for row in rows],
        "levels": [row[1] for row in rows],
        "error": [row[2] for row in rows],
    }


def crossing_table(places: Places, exact: Mapping[tuple[str, str], int | None] | None) -> dict[str, list[Any]]:
    """Return the crossings as a table, approximate ("≈") until the exact ones are known."""
    rows = list(PAIRS if exact is None else exact)
    if exact is None:
        told = [f"≈ {whole(round_two(places[pair][0]))}" if pair in places else "–" for pair in rows]
    else:
        told = [whole(n) if n else "not up to 10⁶" for n in exact.values()]
    return {
        "from this many levels on": told,
        "better": [CURVES[better].label for better, _ in rows],
        "than": [CURVES[worse].label for _, worse in rows],
    }


def round_two(value: float) -> int:
    """Return a number of levels, rounded up to a whole one and then to two digits.

    >>> round_two(3127.0), round_two(8.9), round_two(4.3)
    (3100, 9, 5)
    """
    return round(float(bare(math.ceil(value), 2)))


def ranking(setting: Setting, n_levels: int) -> list[Rank]:
    """Return every mechanism at one number of levels, best first, then the lower bounds.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` for one level.
    """
    at = growth(setting, [n_levels]).error
    rows = [Rank(curve, float(at[name][0])) for name, curve in CURVES.items()]
    return sorted(rows, key=lambda row: (row.curve.is_bound, math.isnan(row.error), row.error))


def ranking_table(rows: list[Rank]) -> dict[str, list[Any]]:
    """Return the ranking as columns."""
    best = next((row.error for row in rows if not row.curve.is_bound), math.nan)
    return {
        "mechanism": [row.curve.label for row in rows],
        "worst-case α-RMSE (records)": [row.error for row in rows],
        "÷ best": ["–" if row.curve.is_bound else short(row.error / best) for row in rows],
        "its error is": [row.curve.known for row in rows],
        "spends": [row.curve.spends for row in rows],
        "what it is": [row.curve.help for row in rows],
    }


def winner(rows: list[Rank]) -> tuple[Rank, Rank]:
    """Return the best mechanism, and the best of those that are no thresholds."""
    return rows[0], next(row for row in rows if not row.curve.is_bound and not row.curve.is_thresholds)
