"""How errors grow with the levels on the page Multiplicative error: curves, crossings, ranking. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pages.ui.text import short, whole
from treedp_core import checks
from treedp_core.errors.simulated import Watch
from treedp_core.figures.multiplicative import GrowthCurve
from treedp_core.mechanisms.thresholds.schedule import printed_schedule
from treedp_core.studies.multiplicative import CURVES, Setting, break_even, growth
from treedp_core.studies.multiplicative import Curve as Entry
from treedp_core.tree import FloatArray

VIEWS: Final = {
    "growth": "Growth",
    "run": "One run",
    "schedule": "Printed budgets",
    "meaning": "When to use",
}
MAX_GROWTH_LEVELS: Final = 1_000_000
SEARCHED: Final = ("tuned", "provable")
"""Curves that are searched for, point by point: they are smooth, so fewer points do."""
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
_MANY: Final = np.unique(np.round(np.geomspace(2, MAX_GROWTH_LEVELS, 61)).astype(np.int64))
_FEW: Final = _MANY[np.unique(np.linspace(0, _MANY.size - 1, 17).round().astype(int))]

Found = Mapping[str, tuple[FloatArray, FloatArray]]
"""Curve name -> numbers of levels and errors there."""


@dataclass(frozen=True)
class Rank:
    """One line of the ranking at a number of levels."""

    label: str
    error: float
    known: str
    privacy: str
    about: str
    is_bound: bool


def levels_from_text(text: str) -> int:
    """Return a number of levels written in digits or as a power.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` below 2 (one level is a single count) and above a million.

    >>> levels_from_text("1000"), levels_from_text("10^3")
    (1000, 1000)
    """
    base, hat, power = text.replace(" ", "").partition("^")
    plain = base.isascii() and base.isdigit() and len(base) <= 8
    if hat:
        plain = plain and power.isascii() and power.isdigit() and len(power) <= 2
    value: object = (int(base) ** int(power) if hat else int(base)) if plain else text
    return checks.integer("the number of levels", value, low=2, high=MAX_GROWTH_LEVELS, code="LEVELS_RANGE")


def curves(setting: Setting) -> Found:
    """Return every curve from 2 to 10^6 levels."""
    cheap = tuple(name for name in CURVES if name not in SEARCHED)
    found = (growth(setting, _MANY, cheap), growth(setting, _FEW, SEARCHED))
    return {name: (one.n_levels.astype(float), one.error[name]) for one in found for name in one.error}


def drawn(found: Found) -> list[GrowthCurve]:
    """Return the curves as the figure takes them."""
    return [GrowthCurve(CURVES[name].label, name, x, y) for name, (x, y) in found.items()]


def crossings(found: Found) -> dict[tuple[str, str], tuple[float, float]]:
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
        (CURVES[name].label, n, e)
        for name, (x, y) in found.items()
        for n, e in zip(x.tolist(), y.tolist(), strict=True)
    ]
    return {
        "mechanism": [row[0] for row in rows],
        "levels": [row[1] for row in rows],
        "error": [row[2] for row in rows],
    }


def schedule_table(alpha: float, epsilon: float, most: int) -> dict[str, list[float]]:
    """Return what the printed and the corrected budgets of up to `most` rounds sum to."""
    every = [printed_schedule(alpha, epsilon, n) for n in range(1, most + 1)]
    return {
        "rounds": list(range(1, most + 1)),
        "printed": [each.printed_total for each in every],
        "corrected": [each.corrected_total for each in every],
    }


def crossing_table(
    places: Mapping[tuple[str, str], tuple[float, float]], exact: Mapping[tuple[str, str], int | None] | None
) -> dict[str, list[Any]]:
    """Return the crossings as a table, approximate ("≈") until the exact ones are known."""
    rows = list(PAIRS)
    if exact is None:
        told = [f"≈ {whole(round_two(places[pair][0]))}" if pair in places else "–" for pair in rows]
    else:
        told = [whole(n) if (n := exact[pair]) else "not up to 10⁶" for pair in rows]
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
    return round(float(f"{math.ceil(value):.2g}"))


def ranking(setting: Setting, n_levels: int) -> list[Rank]:
    """Return every mechanism at one number of levels, best first, then the lower bounds.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` for one level.
    """
    at = growth(setting, [n_levels]).error
    rows = [_rank(entry, float(at[name][0])) for name, entry in CURVES.items()]
    return sorted(rows, key=lambda row: (row.is_bound, math.isnan(row.error), row.error))


def _rank(entry: Entry, error: float) -> Rank:
    known = "lower bound" if entry.is_bound else "proven" if entry.is_proven else "simulated"
    return Rank(entry.label, error, known, "ε" if entry.is_pure else "ε, δ", entry.help, entry.is_bound)


def ranking_table(rows: list[Rank]) -> dict[str, list[Any]]:
    """Return the ranking as columns."""
    best = next((row.error for row in rows if not row.is_bound), math.nan)
    return {
        "mechanism": [row.label for row in rows],
        "worst-case α-RMSE (records)": [row.error for row in rows],
        "÷ best": ["–" if row.is_bound else short(row.error / best) for row in rows],
        "its error is": [row.known for row in rows],
        "spends": [row.privacy for row in rows],
        "what it is": [row.about for row in rows],
    }


def winner(rows: list[Rank]) -> tuple[Rank, Rank]:
    """Return the best mechanism, and the best of those that are no thresholds."""
    simple = next(row for row in rows if not row.is_bound and not row.label.startswith("Thresholds"))
    return rows[0], simple
