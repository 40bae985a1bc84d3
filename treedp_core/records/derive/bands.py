"""Numbers -> the band between two edges that they fall into."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.records.derive.rule import Rule
from treedp_core.records.edges import (
    FloatArray,
    IntArray,
    bin_finder,
    edge_text,
    edges_as_text,
    edges_from_text,
    interval_labels,
    numbers_from_text,
)
from treedp_core.records.read.text import OUTSIDE

_SEEN: Final = 10_000
_BANDS: Final = 10
_FEW: Final = 150
"""Numbers one after the other that may still be ages."""
_CODE: Final = re.compile(r"0\d", re.ASCII)
"""Numbers do not begin like this, codes do."""
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)


OPEN: Final = "/open"
"""Behind edges: the bands at both ends hold all that lies beyond."""


def opened(option: str) -> str:
    """Return edges as bands of which the first and the last hold all that lies beyond as well.

    >>> opened("0; 18; 65; 100"), opened("18; 65/open")
    ('18; 65/open', '18; 65/open')

    Raises
    ------
    InputError
        The codes of `edges_from_text`; ``BOUNDS`` for a single band.
    """
    if option.endswith(OPEN):
        return option
    inner = edges_from_text(option)[1:-1]
    if not inner:
        raise InputError(
            "BOUNDS", f"Expected three edges or more, as a single band has no ends to open, got {echo(option)}."
        )
    return edges_as_text(inner) + OPEN


@lru_cache(maxsize=256)
def band_of(option: str) -> Rule:
    """Return what finds the band of a number; one beyond the edges is "(outside)", unless they are open.

    >>> band_of("0; 18; 65; 100")("17.5"), band_of("0; 18; 65")("65"), band_of("0; 18; 65")("66")
    ('[0, 18)', '[18, 65]', '(outside)')
    >>> band_of("18; 65/open")("17.5"), band_of("18; 65/open")("66")
    ('(-∞, 18)', '[65, ∞)')

    Raises
    ------
    InputError
        The codes of `edges_from_text`; ``BOUNDS`` for open edges that do not ascend.
    """
    if option.endswith(OPEN):
        inner = numbers_from_text(option.removesuffix(OPEN))
        if not inner or any(before >= after for before, after in pairwise(inner)):
            raise InputError("BOUNDS", f"Expected at least one edge, and edges that ascend, got {echo(option)}.")
        words = [edge_text(edge) for edge in inner]
        labels = [f"(-∞, {words[0]})", *(f"[{low}, {high})" for low, high in pairwise(words)), f"[{words[-1]}, ∞)"]
        return partial(_banded, (-math.inf, math.inf), partial(_between, np.array(inner)), labels)
    edges = np.array(edges_from_text(option))
    return partial(_banded, (float(edges[0]), float(edges[-1])), bin_finder(edges), interval_labels(edges))


def _between(inner: FloatArray, values: FloatArray) -> IntArray:
    return np.searchsorted(inner, values, side="right").astype(np.int64)


def _banded(
    ends: tuple[float, float], find: Callable[[FloatArray], IntArray], labels: Sequence[str], label: str
) -> str:
    try:
        value = float(label)
    except ValueError:
        raise ValueError("a number with a decimal point") from None
    if math.isnan(value):
        return ""
    if not ends[0] <= value <= ends[1]:
        return OUTSIDE
    return labels[int(find(np.array([value]))[0])]


def edges_for(labels: Sequence[str]) -> tuple[str, ...]:
    """Return round edges, some ten bands wide, where all labels are numbers.

    >>> edges_for(["3", "41.5", "97"]), edges_for(["x"])
    (('0; 10; 20; 30; 40; 50; 60; 70; 80; 90; 100',), ())
    >>> edges_for(["02139", "1234", "99501"])  # postcodes, of which one has lost its zero
    ()
    """
    if any(_CODE.match(label) for label in labels):
        return ()
    try:
        numbers = [float(label) for label in labels[:_SEEN] if label.strip()]
    except ValueError:
        return ()
    if len(numbers) > _FEW and all(after == before + 1 for before, after in pairwise(numbers)):
        return ()  # numbers of rows
    low, high = min(numbers, default=math.nan), max(numbers, default=math.nan)
    if not math.isfinite(high - low) or not low < high:
        return ()
    power = 10.0 ** math.floor(math.log10((high - low) / _BANDS))
    step = next(step * power for step in _STEPS if (high - low) / (step * power) <= _BANDS)
    first, last = math.floor(low / step), math.ceil(high / step)
    edges = [round(at * step, 12) for at in range(first, last + 1)]
    return (edges_as_text(edges),) if len(edges) >= 3 else ()
