"""Edges of bins: exactly the decimals that are shown; and the bin that a number falls into.

An edge is the float that its text reads as, so that a cell with the same digits as an edge lies on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.words import exact, whole

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

MOST_OWN: Final = 10_000
"""Own edges at most: a plan lists them."""
_SHOWN: Final = 12
"""Digits of an edge whose decimals do not end, or are more than a float tells apart."""
_TOLD_APART: Final = 15
_APART: Final = 1000
"""Units of the last digit in a bin at least, so that rounding moves an edge by a thousandth of a bin at most."""
_EXACT_POWER: Final = 22
"""Largest power of ten that is a float."""
_NUMBER: Final = r"\s*+([+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d{1,3})?)\s*+"
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
"""A number with a point that may stand between thousands."""
_INTERVAL: Final = re.compile(rf"([\[(])(\s*+-∞\s*+|{_NUMBER}),(\s*+∞\s*+|{_NUMBER})([\])])", re.ASCII)
_CLOSED_BELOW: Final = "[)"
_CLOSED_ABOVE: Final = "(]"


def bin_edges(lower: float, upper: float, n_bins: int) -> FloatArray:
    """Return the edges (n_bins + 1,) of equal bins: lower + i (upper - lower) / n_bins in exact decimals.

    Those that do not end are rounded to 12 digits, as they are shown.

    Raises
    ------
    InputError
        ``BOUNDS``; ``TREE_SHAPE`` for too many bins, or too narrow ones.

    >>> bin_edges(0, 1, 4).tolist(), bin_edges(0, 14, 140)[7].item(), bin_edges(0, 1, 3)[1].item()
    ([0.0, 0.25, 0.5, 0.75, 1.0], 0.7, 0.333333333333)
    """
    low = checks.number("lower", lower, code="BOUNDS")
    high = checks.number("upper", upper, code="BOUNDS")
    if not low < high:
        raise InputError("BOUNDS", f"Expected lower < upper, got lower = {exact(low)} and upper = {exact(high)}.")
    if not math.isfinite(high - low):
        raise InputError("BOUNDS", "Expected bounds whose difference is a finite number.")
    n = checks.integer("the number of bins", n_bins, low=2, high=checks.MAX_NODES - 1, code="TREE_SHAPE")
    start = Fraction(repr(low))
    edges = _in_decimals(start, (Fraction(repr(high)) - start) / n, n)
    edges[0], edges[-1] = low + 0.0, high + 0.0
    if not (np.diff(edges) > 0).all():
        raise InputError(
            "TREE_SHAPE",
            f"{whole(n)} bins between {exact(low)} and {exact(high)} are too narrow to tell apart; use fewer.",
        )
    return edges


def are_equal(edges: FloatArray) -> bool:
    """Whether edges (n_bins + 1,) are those of equal bins between the first and the last.

    >>> are_equal(bin_edges(0, 1, 3)), are_equal(own_edges([0, 5, 18, 65])), are_equal(np.array([0.0, 1.0]))
    (True, False, True)
    """
    if edges.size <= 2:
        return True
    try:
        return np.array_equal(bin_edges(float(edges[0]), float(edges[-1]), edges.size - 1), edges)
    except InputError:  # equal ones would be too narrow
        return False


def own_edges(edges: Iterable[float]) -> FloatArray:
    """Return edges (n_bins + 1,) that somebody chose, checked.

    Raises
    ------
    InputError
        ``BOUNDS`` for what is no ascending list of finite numbers; ``TREE_SHAPE`` for fewer than 3, or too many.

    >>> own_edges([0, 5, 18, 65]).tolist()
    [0.0, 5.0, 18.0, 65.0]
    """
    found = [checks.number("an edge", one, code="BOUNDS") + 0.0 for one in edges]
    if not 3 <= len(found) <= MOST_OWN:
        raise InputError(
            "TREE_SHAPE", f"Expected 3 to {whole(MOST_OWN)} edges, one more than bins, got {whole(len(found))}."
        )
    for a, b in pairwise(found):
        if not a < b:
            raise InputError("BOUNDS", f"Expected edges that ascend, got {edge_text(b)} behind {edge_text(a)}.")
    if not math.isfinite(found[-1] - found[0]):
        raise InputError("BOUNDS", "Expected bounds whose difference is a finite number.")
    return np.array(found)


def edges_from_text(text: str) -> tuple[float, ...]:
    """Return edges as `numbers_from_text` reads them.

    Raises
    ------
    InputError
        The codes of `numbers_from_text` and `own_edges`.

    >>> edges_from_text("0 5 18 65 100") == edges_from_text("0; 5; 18; 65; 100") == edges_from_text("0, 5, 18, 65, 100")
    True
    """
    return tuple(own_edges(numbers_from_text(text)).tolist())


def numbers_from_text(text: str) -> tuple[float, ...]:
    """Return numbers as people type edges: decimal points, between spaces or semicolons.

    Commas only stand between numbers, with a space behind: "0,5" may be one number or two. Where three digits follow
    every point, these may stand between thousands.

    Raises
    ------
    InputError
        ``BOUNDS`` for what is no number, or could be read in two ways.

    >>> numbers_from_text("18, 65")
    (18.0, 65.0)
    """
    parts = [part for part in re.split(r"[;\s]+|,\s+", text.strip()) if part]
    for part in parts:
        if re.fullmatch(_NUMBER, part, re.ASCII) is None:
            why = " (a comma may be a decimal mark: put a space behind it, or take a point)" if "," in part else ""
            raise InputError("BOUNDS", f"Expected numbers such as 0; 5; 18; 65.5, got {echo(part)}{why}.")
    if two := _in_two_ways(parts):
        raise InputError(
            "BOUNDS",
            f"Expected edges that can be read in one way only, got {echo(two)}: write {two.replace('.', '')} for "
            f"thousands, {two}0 for decimals.",
        )
    return tuple(map(float, parts))


def edges_as_text(edges: Iterable[float]) -> str:
    """Return edges as `edges_from_text` reads them.

    >>> edges_as_text([0.0, 4.5, 18.0]), edges_as_text([0.0, 1.125, 3.375])
    ('0; 4.5; 18', '0; 1.1250; 3.375')
    """
    parts = [edge_text(edge) for edge in edges]
    two = _in_two_ways(parts)
    return "; ".join(f"{part}0" if part == two else part for part in parts)


def _in_two_ways(parts: Iterable[str]) -> str:
    """The first number with a point, where three digits follow every point; else nothing."""
    pointed = [part for part in parts if "." in part]
    return pointed[0] if pointed and all(map(_THOUSANDS.fullmatch, pointed)) else ""


def edge_text(edge: float) -> str:
    """Return an edge as it is shown: the shortest decimal that reads as this float.

    >>> edge_text(0.7), edge_text(-0.0), edge_text(100000.0), edge_text(1e-7)
    ('0.7', '0', '100000', '1e-07')
    """
    return repr(float(edge) + 0.0).removesuffix(".0")


def interval_labels(edges: FloatArray) -> list[str]:
    """Return the label of each bin between edges (n_bins + 1,); the last bin is closed.

    >>> interval_labels(np.array([0.0, 0.5, 2.0]))
    ['[0, 0.5)', '[0.5, 2]']
    """
    labels = [f"[{a}, {b})" for a, b in pairwise(map(edge_text, edges.tolist()))]
    labels[-1] = labels[-1][:-1] + "]"
    return labels


def edges_of_labels(labels: Iterable[str]) -> FloatArray | None:
    """Return the edges (n + 1,) of bins with n labels that all meet end to end in ascending order; else None.

    All are closed below, and the last may be above as well: "[0, 5)"; or all above: "(0, 5]", the first at both ends.

    >>> edges_of_labels(["[0, 5)", "[5, 18)", "[18, 65]"]).tolist()
    [0.0, 5.0, 18.0, 65.0]
    >>> edges_of_labels(["[0, 5)", "[18, 65]"]), edges_of_labels(["[0, 5)", "(5, 18]"]), edges_of_labels(["0-4", "5-9"])
    (None, None, None)
    """
    edges: list[float] = []
    closed: list[str] = []
    for label in labels:
        if _INTERVAL.fullmatch(label) is None:
            return None
        low, high = ends_of_interval(label)
        if not low < high or (edges and edges[-1] != low):
            return None
        edges += [high] if edges else [low, high]
        closed.append(label[0] + label[-1])
    if not edges or not math.isfinite(edges[-1] - edges[0]):
        return None
    below = set(closed[:-1]) <= {_CLOSED_BELOW} and closed[-1] in (_CLOSED_BELOW, "[]")
    above = set(closed[1:]) <= {_CLOSED_ABOVE} and closed[0] in (_CLOSED_ABOVE, "[]")
    return np.array(edges) if below or above else None


def are_intervals(labels: Iterable[str]) -> bool:
    """Whether all labels are written as intervals, whether they meet or not.

    >>> are_intervals(["[0, 5)", "[18, 65]"]), are_intervals(["[0, 5)", "unknown"])
    (True, False)
    """
    return all(map(_INTERVAL.fullmatch, labels))


def ends_of_interval(label: str) -> tuple[float, float]:
    """Return the lower and the upper end of a label that is written as an interval.

    >>> ends_of_interval("[5, 18)"), ends_of_interval("[65, ∞)")
    ((5.0, 18.0), (65.0, inf))
    """
    assert _INTERVAL.fullmatch(label)
    low, high = label[1:-1].replace("∞", "inf").split(",")
    return float(low), float(high)


def bin_finder(edges: FloatArray) -> Callable[[FloatArray], IntArray]:
    """Return what finds the bin of each value (n,) between the first and last of edges (n_bins + 1,).

    Bin i holds edge_i <= x < edge_{i+1}, the last bin also its upper edge. Where bins are equal it is guessed from the
    width: the guess grows with the value, and misses an edge by a quarter of a bin at most, so it is off by one bin at
    most.

    >>> bin_finder(np.array([0.0, 0.5, 2.0]))(np.array([0.0, 0.5, 1.99, 2.0])).tolist()
    [0, 1, 1, 1]
    """
    n = edges.size - 1
    above = np.append(edges[1:-1], np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        per_unit = n / (edges[-1] - edges[0])
        even = np.abs((edges - edges[0]) * per_unit - np.arange(n + 1)) <= 0.25
    if not even.all():
        return lambda values: np.searchsorted(edges[1:-1], values, side="right").astype(np.int64, copy=False)

    def guessed(values: FloatArray) -> IntArray:
        bins: IntArray = ((values - edges[0]) * per_unit).astype(np.int64)
        np.clip(bins, 0, n - 1, out=bins)
        bins -= values < edges[bins]
        bins += values >= above[bins]
        return bins

    return guessed


def _in_decimals(start: Fraction, step: Fraction, n: int) -> FloatArray:
    """Return start + i step for i = 0, ..., n, (n + 1,), as decimals: exactly, or in 12 or 15 digits; else as floats.

    All is whole numbers: a / 10^d of whole numbers below 2^53 is the float that the decimal reads as.
    """
    largest = max(abs(start), abs(start + n * step))
    digits = math.ceil(math.log10(largest))
    ends = [found for found in map(_decimals, (start, step)) if found is not None]
    if len(ends) == 2 and digits + max(ends) <= _TOLD_APART:
        return _rounded(start, step, n, max(ends))
    for shown in (_SHOWN, _TOLD_APART):
        if step * Fraction(10) ** (shown - digits) >= _APART:
            return _rounded(start, step, n, shown - digits)
    denominator = math.lcm(start.denominator, step.denominator)
    a, b = int(start * denominator), int(step * denominator)
    return np.array([(a + i * b) / denominator for i in range(n + 1)])


def _decimals(number: Fraction) -> int | None:
    """Return how many decimals a number has, less than 0 where zeros end it; None where they do not end."""
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest > 1:
        return None
    shown = str(abs(number.numerator))
    return max(twos, fives) or len(shown.rstrip("0")) - len(shown)


def _rounded(start: Fraction, step: Fraction, n: int, decimals: int) -> FloatArray:
    """Return start + i step to so many decimals, (n + 1,), halves up."""
    scale = Fraction(10) ** decimals
    a, b = start * scale, step * scale
    denominator = math.lcm(a.denominator, b.denominator)
    first, each = int(a * denominator), int(b * denominator)
    is_small = 2 * (abs(first) + n * each) + denominator < 1 << 62
    i = np.arange(n + 1, dtype=np.int64 if is_small else object)
    units = (2 * (first + i * each) + denominator) // (2 * denominator)
    if 0 <= decimals <= _EXACT_POWER:
        return np.asarray(units.astype(np.float64) / 10.0**decimals)
    exact = units.astype(object)
    return np.asarray(exact / 10**decimals if decimals > 0 else exact * 10**-decimals).astype(np.float64)
