"""Row 1a: counting ten million records of five columns in memory, on all levels, against three engines and numpy.

Against the engines by CPU time, as two of them take every core; the wall time is told beside.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from timing import paired_ratio
from treedp_core.records import count_table

IDS = ("1a",)
PEERS = ("pandas", "polars", "duckdb")
SIZES = (10, 10, 10, 10, 100)
COLUMNS = ("a", "b", "c", "d", "e")
Row = tuple[str, str, float | None, float, str]


def rows(quick: bool) -> Iterator[Row]:
    """The rows, as they are measured."""
    yield from in_memory(random_codes(quick), 3 if quick else 7)


def random_codes(quick: bool) -> list[np.ndarray[Any, np.dtype[np.int8]]]:
    """Uniform codes: the hardest case for every engine, as almost every leaf is hit."""
    rng, n = np.random.default_rng(1), 1_000_000 if quick else 10_000_000
    return [rng.integers(0, size, n, dtype=np.int8) for size in SIZES]


def in_memory(codes: list[Any], rounds: int) -> Iterator[Row]:
    """All levels from columns in memory, against the fastest engine there and against numpy's own histogram."""
    n = len(codes[0])
    name = f"counts of all levels, {n / 1e6:g}M x 5 in memory"

    def ours() -> Any:
        return count_table(codes, SIZES)

    keys = np.ravel_multi_index(codes, SIZES)
    n_cells = int(np.prod(SIZES))
    bincount = paired_ratio(ours, lambda: np.bincount(keys, minlength=n_cells), 2 * rounds + 1)
    yield "1a", f"{name} / bincount of ready keys", bincount, 2.2, ""
    present = [peer for peer in PEERS if importlib.util.find_spec(peer)]
    for missing in sorted(set(PEERS) - set(present)):
        yield "1a", f"{name} / {missing}", None, 0.10, missing
    times: dict[str, list[float]] = {peer: [] for peer in present}
    waits: dict[str, list[float]] = {peer: [] for peer in present}
    theirs = {peer: MEMORY_PEERS[peer](codes) for peer in present}
    for _ in range(max(2, rounds // 2)):
        for peer in present:
            (cpu, wall), (their_cpu, their_wall) = taken(ours), taken(theirs[peer])
            times[peer].append(cpu / their_cpu)
            waits[peer].append(wall / their_wall)
    if times:
        fastest, ratios = max(times.items(), key=lambda item: statistics.median(item[1]))
        wait = max(map(statistics.median, waits.values()))
        note = f"fastest: {fastest}; wall time {wait:.3g}"
        yield "1a", f"{name}: CPU / fastest engine", statistics.median(ratios), 0.10, note


def taken(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of CPU, over all threads, and of wall time that a call takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def _pandas(codes: list[Any]) -> Callable[[], Any]:
    import pandas as pd

    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(column, [str(v) for v in range(size)])
            for name, column, size in zip(COLUMNS, codes, SIZES, strict=True)
        }
    )

    def count() -> Any:
        leaves = frame.groupby(list(COLUMNS), observed=True, sort=False).size()
        return [leaves.groupby(level=list(range(k)), observed=True, sort=False).sum() for k in range(1, 5)]

    return count


def _polars(codes: list[Any]) -> Callable[[], Any]:
    import polars as pl

    frame = pl.DataFrame(dict(zip(COLUMNS, codes, strict=True)))

    def count() -> Any:
        leaves = frame.group_by(COLUMNS).len()
        return [leaves.group_by(COLUMNS[:k]).agg(pl.col("len").sum()) for k in range(1, 5)]

    return count


def _duckdb(codes: list[Any]) -> Callable[[], Any]:
    import duckdb

    connection = duckdb.connect()
    table = pa.table(dict(zip(COLUMNS, codes, strict=True)))
    connection.register("given", table)
    connection.execute("CREATE TABLE records AS SELECT * FROM given")
    return lambda: connection.execute(
        "SELECT a, b, c, d, e, count(*) AS n FROM records GROUP BY ROLLUP (a, b, c, d, e)"
    ).fetchnumpy()


MEMORY_PEERS = {"pandas": _pandas, "polars": _polars, "duckdb": _duckdb}
