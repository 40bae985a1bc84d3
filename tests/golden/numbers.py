"""The numbers of a figure or a table, short enough to be kept: long arrays by some values and two sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Final

WHOLE: Final = 32
"""Values of an array that is kept as it is."""
SAMPLED: Final = 12
TOLERANCE: Final = 1e-9

Kept = dict[str, Any]


def of_array(values: list[float]) -> Kept:
    """An array's numbers: all of a short one; of a long one its length, its sums and some of its values."""
    if len(values) <= WHOLE:
        return {"all": [_plain(value) for value in values]}
    finite = [value for value in values if math.isfinite(value)]
    at = [i * (len(values) - 1) // (SAMPLED - 1) for i in range(SAMPLED)]
    return {
        "n": len(values),
        "finite": len(finite),
        "sum": math.fsum(finite),
        "square": math.fsum(value * value for value in finite),
        "at": [_plain(values[i]) for i in at],
    }


def _plain(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def of_table(columns: Mapping[str, Any]) -> Kept:
    """The numbers of a table: its columns that hold any, and its rows."""
    found: Kept = {}
    for name, values in columns.items():
        numbers = [float(value) for value in values if isinstance(value, Real) and not isinstance(value, bool)]
        if numbers:
            found[str(name)] = of_array(numbers)
    return found


def of_figure(spec: Mapping[str, Any]) -> Kept:
    """The numbers of a decoded figure: every array of its traces, by trace and place."""
    found: Kept = {}
    for i, trace in enumerate(spec.get("data", ())):
        for place, values in _arrays(trace, ""):
            if place not in (".ids", ".parents", ".labels"):
                found[f"{i}{place}"] = of_array(values)
    return found


def _arrays(value: Any, place: str) -> Iterator[tuple[str, list[float]]]:
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _arrays(value[key], f"{place}.{key}")
    elif isinstance(value, list):
        flat = [one for row in value for one in (row if isinstance(row, list) else [row])]
        numbers = [float(one) for one in flat if isinstance(one, Real) and not isinstance(one, bool)]
        if numbers:
            yield place, numbers


def differences(before: Any, now: Any, place: str = "", scale: float = 0.0) -> Iterator[str]:
    """Where two records of numbers differ by more than 1e-9 of what stands there."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            if key not in now or key not in before:
                yield f"{place} › {key}: only {'before' if key in before else 'now'}"
            else:
                yield from differences(before[key], now[key], f"{place} › {key}")
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            yield f"{place}: {len(before)} values before, {len(now)} now"
            return
        largest = max((abs(one) for one in before if isinstance(one, float)), default=0.0)
        for i, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from differences(a, b, f"{place}[{i}]", largest)
    elif isinstance(before, float | int) and isinstance(now, float | int):
        if abs(before - now) > TOLERANCE * max(1.0, abs(before), scale):
            yield f"{place}: {before!r} before, {now!r} now"
    elif before != now:
        yield f"{place}: {before!r} before, {now!r} now"
