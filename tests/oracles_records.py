"""Slow, obvious counting of records on a tree: dictionaries and prefixes only; shares no code with the package."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence

Path = tuple[str, ...]
BLANK = "(blank)"


def trimmed(row: Sequence[str]) -> Path:
    """The row without its trailing blanks; blanks in the middle become the blank category."""
    cells = list(row)
    while cells and cells[-1] == "":
        cells.pop()
    return tuple(cell or BLANK for cell in cells)


def leaf_counts(rows: Iterable[Sequence[str]]) -> Counter[Path]:
    """Counts by leaf path; a path that others go on from is given a blank child, shortest paths first."""
    counts = Counter(trimmed(row) for row in rows)
    length = 0
    while length <= max(map(len, counts)):
        with_more = {other[:length] for other in counts if len(other) > length}
        for path in [p for p in counts if len(p) == length and p in with_more]:
            counts[(*path, BLANK)] += counts.pop(path)
        length += 1
    return counts


def node_counts(leaves: Counter[Path]) -> dict[Path, int]:
    """Count of every prefix of every leaf path."""
    counts: Counter[Path] = Counter()
    for path, count in leaves.items():
        for length in range(len(path) + 1):
            counts[path[:length]] += count
    return dict(counts)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",", newline: str = "\n") -> bytes:
    """A table as UTF-8 text."""
    out = io.StringIO(newline="")
    rows = list(rows)
    quoting = csv.QUOTE_ALL if any("\r" in str(cell) for row in rows for cell in row) else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
