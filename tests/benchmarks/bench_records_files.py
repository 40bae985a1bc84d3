"""Row 1b: counting ten million records of five columns from a CSV and a Parquet file, against three engines.

Every peer answers the same question, the counts of all levels of the hierarchy, in a process of its own, so that CPU
time and the peak of memory belong to one engine; the time of importing its library is not counted.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from bench_records import COLUMNS, PEERS, SIZES, Row, random_codes

IDS = ("1b",)


def rows(quick: bool) -> Iterator[Row]:
    """The rows, as they are measured."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), random_codes(quick))
        yield from from_files(Path(folder), 1 if quick else 3)


def write_files(folder: Path, codes: list[Any]) -> None:
    """The same records as CSV (40 bytes a row) and as Parquet."""
    words = [pa.array([f"{name}_{v:03d}xx" for v in range(size)]) for name, size in zip(COLUMNS, SIZES, strict=True)]
    columns = [pa.DictionaryArray.from_arrays(pa.array(code), word) for code, word in zip(codes, words, strict=True)]
    table = pa.table(columns, names=list(COLUMNS))
    pq.write_table(table, folder / "t.parquet")
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    plain = pa.csv.WriteOptions(quoting_style="none", quoting_header="none")
    with pa.csv.CSVWriter(folder / "t.csv", schema, write_options=plain) as out:
        for batch in table.to_batches(max_chunksize=1 << 18):
            out.write_batch(pa.record_batch([column.cast(pa.string()) for column in batch.columns], schema=schema))


ENGINES = {
    "treedp": """
from treedp_core.records import count_hierarchy, domain_taken_from_the_data
from treedp_core.records.read.arrow import csv, tables
def work(file):
    return count_hierarchy(file, COLUMNS, domain=domain_taken_from_the_data()).counts
""",
    "pandas": """
import pandas as pd
def work(file):
    csv = file.endswith("csv")
    frame = pd.read_csv(file, dtype=dict.fromkeys(COLUMNS, "category")) if csv else pd.read_parquet(file)
    leaves = frame.groupby(COLUMNS, observed=True, sort=False).size()
    return [leaves.groupby(level=list(range(k)), observed=True, sort=False).sum() for k in range(1, 5)]
""",
    "polars": """
import polars as pl
def work(file):
    scan = pl.scan_csv(file) if file.endswith("csv") else pl.scan_parquet(file)
    leaves = scan.group_by(COLUMNS).len().collect(engine="streaming")
    return [leaves.group_by(COLUMNS[:k]).agg(pl.col("len").sum()) for k in range(1, 5)]
""",
    "duckdb": """
import duckdb
def work(file):
    scan = f"read_csv('{file}')" if file.endswith("csv") else f"'{file}'"
    return duckdb.sql(f"SELECT a, b, c, d, e, count(*) AS n FROM {scan} GROUP BY ROLLUP (a, b, c, d, e)").fetchnumpy()
""",
}
HARNESS = """
import json, re, resource, sys, time
COLUMNS = list("abcde")
{engine}
wall, cpu = time.perf_counter(), time.process_time()
result = work(sys.argv[1])
usage = [time.perf_counter() - wall, time.process_time() - cpu]
try:  # the peak that getrusage gives is also that of the process this one was forked from
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([*usage, peak / 1024]))
"""


def from_files(folder: Path, rounds: int) -> Iterator[Row]:
    """CPU time and peak memory for CSV, wall time and peak memory for Parquet, against the best peer of each."""
    targets = {"csv": (("CPU", 1, 0.70), ("memory", 2, 0.50)), "parquet": (("wall time", 0, 0.85), ("memory", 2, 0.65))}
    present = [peer for peer in PEERS if importlib.util.find_spec(peer)]
    for kind, measures in targets.items():
        for missing in sorted(set(PEERS) - set(present)):
            yield "1b", f"{kind} / {missing}", None, measures[0][2], missing
        taken: dict[str, list[list[float]]] = {engine: [] for engine in ["treedp", *present]}
        for _ in range(rounds):
            for engine, results in taken.items():
                results.append(in_a_process(engine, folder / f"t.{kind}"))
        for what, column, target in measures:
            typical = {engine: statistics.median(r[column] for r in results) for engine, results in taken.items()}
            ours = typical.pop("treedp")
            if typical:
                best = min(typical, key=lambda engine: typical[engine])
                unit = "MB" if column == 2 else "s"
                note = f"{ours:.3g} {unit}; best: {best}, {typical[best]:.3g} {unit}"
                yield "1b", f"{kind}: {what} / best engine", ours / typical[best], target, note


def in_a_process(engine: str, file: Path) -> list[float]:
    """Wall seconds, CPU seconds and peak MB of one engine."""
    root = Path(__file__).resolve().parents[2]
    script = HARNESS.replace("{engine}", ENGINES[engine])
    command = [sys.executable, "-c", script, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    result: list[float] = json.loads(done.stdout.splitlines()[-1])  # an engine may print its progress before
    return result
