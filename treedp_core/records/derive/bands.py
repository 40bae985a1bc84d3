"""Numbers -> the band between two edges that they fall into."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final

import numpy as np

from treedp_core import checks
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
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.numbers.numeric import look_at_numbers
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, open_table

MOST_BANDS: Final = 1_000
_SEEN: Final = 10_000
_BANDS: Final = 10
_FEW: Final = 150
"""Numbers one after the other that may still be ages."""
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)


OPEN: Final = "/open"
"""Behind edges: the bands at both ends hold all that lies beyond."""


@lru_cache(maxsize=256)
def band_of(option: str) -> Rule:
    """Return what finds the band of a number; one beyond the edges is in no band, unless they are open.

    >>> band_of("0; 18; 65; 100")("17.5"), band_of("0; 18; 65")("65"), band_of("0; 18; 65")("66")
    ('[0, 18)', '[18, 65]', '')
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
    if not ends[0] <= value <= ends[1]:
        return ""
    return labels[int(find(np.array([value]))[0])]


@in_words
def bands_of_equal_share(
    public: Origin, column: str, n_bands: int, *, private: str = "", name: str | None = None,
    options: ReadOptions | None = None, progress: Progress | None = None,
) -> str:  # fmt: skip
    r"""Return bands, open at both ends, that hold about as many of the numbers each: what `band_of` is told.

    Parameters
    ----------
    public : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        Public records, which are not those that are counted.
    column : str
        Its numbers, of which the first 2,000,000 are looked at, to about four digits.
    n_bands : int
        From 2 to `MOST_BANDS`; fewer where a number occurs so often that it would have several bands.

    private : str
        SHA-256 (hex) of the file of the private records: it is no public one.
    name, options, progress
        As in `inspect` and `count_bins`.

    Raises
    ------
    InputError
        ``BANDS`` for another number of bands, where all numbers are the same, or where the file is the private one;
        the codes of `look_at_numbers`.

    >>> ages = "\n".join(["age", *map(str, range(80))])
    >>> bands_of_equal_share(ages.encode(), "age", 4)
    '20; 40; 60/open'
    """
    n = checks.integer("the number of bands", n_bands, low=2, high=MOST_BANDS, code="BANDS")
    if private and open_table(public, name, options).digest() == private:
        raise InputError("BANDS", "This is the file that is counted: edges read off it would tell of its records.")
    look = look_at_numbers(public, column, name=name, options=options, progress=progress)
    finite = np.isfinite(look.values)
    values, so_far = look.values[finite], np.cumsum(look.counts[finite])
    if values.size < 2:
        raise InputError("BANDS", "Expected at least two different numbers to take edges from.")
    below = np.append(0, so_far[:-1])
    at = np.abs(below[1:, None] - so_far[-1] * np.arange(1, n) / n).argmin(axis=0) + 1
    return edges_as_text(np.unique(values[at]).tolist()) + OPEN


def edges_for(labels: Sequence[str]) -> tuple[str, ...]:
    """Return round edges, some ten bands wide, where all labels are numbers.

    >>> edges_for(["3", "41.5", "97"]), edges_for(["x"])
    (('0; 10; 20; 30; 40; 50; 60; 70; 80; 90; 100',), ())
    """
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
