"""Bands of a number that hold equal shares of a public file: read off it once, and then fixed."""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records.derive.bands import OPEN
from treedp_core.records.edges import edges_as_text
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.numbers.numeric import look_at_numbers
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, open_table

MOST_BANDS: Final = 1_000


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
