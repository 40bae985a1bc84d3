"""Files and labels: the same records give the same data set however they are stored, and labels stay as written."""

from __future__ import annotations

import codecs
import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from browsing import ROOT
from oracles_records import as_csv
from treedp_core.checks import InputError
from treedp_core.records import ReadOptions, count_hierarchy, domain_of_values, domain_taken_from_the_data, inspect
from treedp_core.records.read import sources
from treedp_core.records.read.sources import FileSource

FROM_DATA = domain_taken_from_the_data()
ROWS = [("North", "Kiel", 3), ("North", "Ulm", 1), ("Süd", "Ulm", 0), ("", "", 2), ("Süd", "Grüße 😀", 5)]
HEADER = ("region", "city", "n")
TEXT = as_csv(HEADER, ROWS)
LEVELS = ("region", "city")


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=HEADER)


def parquet(table: pa.Table, **settings: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **settings)
    return out.getvalue()


def arrow() -> pa.Table:
    return pa.Table.from_pandas(frame())


def large_strings() -> pa.Table:
    return arrow().cast(pa.schema([("region", pa.large_string()), ("city", pa.string_view()), ("n", pa.int64())]))


def dictionary() -> pa.Table:
    table = arrow()
    for j in range(2):
        table = table.set_column(j, HEADER[j], table.column(j).dictionary_encode())
    return table


def count(origin: Any, **settings: Any) -> Any:
    return count_hierarchy(origin, LEVELS, domain=FROM_DATA, weight="n", **settings)


FORMS: dict[str, Callable[[], Any]] = {
    "CR": lambda: TEXT.replace(b"\n", b"\r"), "CRLF": lambda: TEXT.replace(b"\n", b"\r\n"),
    "mixed ends": lambda: TEXT.replace(b"\n", b"\r\n", 2), "no last line end": lambda: TEXT.rstrip(b"\n"),
    "blank lines": lambda: TEXT.replace(b"\n", b"\n\n"), "byte order mark": lambda: codecs.BOM_UTF8 + TEXT,
    "UTF-16 with a mark": lambda: TEXT.decode().encode("utf-16"),
    "UTF-32 with a mark": lambda: TEXT.decode().encode("utf-32"), "semicolons": lambda: as_csv(HEADER, ROWS, ";"),
    "tabs": lambda: as_csv(HEADER, ROWS, "\t"), "bars": lambda: as_csv(HEADER, ROWS, "|"),
    "quoted": lambda: b"\n".join(b'"' + line.replace(b",", b'","') + b'"' for line in TEXT.splitlines()),
    "gzip": lambda: gzip.compress(TEXT),
    "gzip of two members": lambda: gzip.compress(TEXT[:30]) + gzip.compress(TEXT[30:]),
    "gzip of UTF-16": lambda: gzip.compress(TEXT.decode().encode("utf-16")), "open file": lambda: io.BytesIO(TEXT),
    "other order of columns": lambda: as_csv(HEADER[::-1], [row[::-1] for row in ROWS]),
    "other order of rows": lambda: as_csv(HEADER, ROWS[::-1]),
    "a column more": lambda: as_csv((*HEADER, "x"), [(*row, 'free "text"\nin two lines') for row in ROWS]),
    "Parquet": lambda: parquet(arrow()), "Parquet in small row groups": lambda: parquet(arrow(), row_group_size=2),
    "Parquet without dictionary": lambda: parquet(arrow(), use_dictionary=False),
    "Parquet of categories": lambda: parquet(dictionary()),
    "Parquet of large strings": lambda: parquet(large_strings()), "Arrow table": arrow,
    "Arrow categories": dictionary, "DataFrame": frame,
    "DataFrame of categories": lambda: frame().astype({"region": "category", "city": "category"}),
    "DataFrame with missing values": lambda: frame().replace({"": None}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_same_records_have_the_same_fingerprint(form: str) -> None:
    assert count(FORMS[form]()).fingerprint == count(TEXT).fingerprint


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-8", "utf-7"])
def test_any_text_encoding_can_be_chosen(encoding: str) -> None:
    rows = [row for row in ROWS if "😀" not in str(row)]
    plain = as_csv(HEADER, rows)
    stored = plain.decode().encode(encoding)
    assert count(stored, options=ReadOptions(encoding=encoding)).fingerprint == count(plain).fingerprint


def test_a_different_record_has_a_different_fingerprint() -> None:
    prints = {count(as_csv(HEADER, rows)).fingerprint for rows in ([*ROWS, ("North", "Ulm", 1)], ROWS, ROWS[:-1])}
    assert len(prints) == 3
    moved = count_hierarchy(b"a,b\na,b/c\n", ["a", "b"], domain=FROM_DATA)
    assert moved.fingerprint != count_hierarchy(b"a,b\na/b,c\n", ["a", "b"], domain=FROM_DATA).fingerprint


def test_a_path_is_read_from_disk_and_its_name_is_only_shown(tmp_path: Path) -> None:  # A27
    path = tmp_path / "a b.csv"
    path.write_bytes(TEXT)
    assert count(path).fingerprint == count(str(path)).fingerprint == count(TEXT).fingerprint
    hostile = "../../etc/\u202ex.csv" + "n" * 300
    assert count(TEXT, name=hostile).name == hostile


def test_reading_twice_from_an_open_file_gives_the_same(tmp_path: Path) -> None:  # A28
    upload = io.BytesIO(TEXT)
    assert inspect(upload) == inspect(upload)
    assert count(upload).fingerprint == count(upload).fingerprint
    assert not upload.closed


def labels(*cells: str, **settings: Any) -> list[str]:
    data = count_hierarchy(as_csv(["a", "b"], [(cell, "1") for cell in cells]), ["a"], domain=FROM_DATA, **settings)
    return sorted(data.labels.of_level(1))


@pytest.mark.parametrize(
    "cells",
    [
        ["NA"],  # C1
        ["NaN", "None", "null", "nan", "NULL", "#N/A", "-"],  # C2
        ["00501", "501"],  # C4
        ["1.1", "1.10"],  # C5
        ["TRUE", "True", "true"],  # C6
        ["2020-01-01"],  # C7
        [" x", "x", "x "],  # C8
        ["X", "x"],  # C9
        ["+1", "-2+3", "=cmd|' /C calc'!A0", "@SUM(A1)"],  # C15
        ["\t=1", "\r=1"],  # C15
        ["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<svg onload=alert(1)>"],  # C16
        ["![x](http://127.0.0.1/b.png)"],  # C17
        ["$\\href{x}{y}$", ":red[x]", ":material/home:", "[x](javascript:alert(1))"],  # C18
        ["<a href='http://x'>x</a>", "<b>x</b>"],  # C19
        ["..", "/", "C:\\", "a/b", "a|b", "a,b", 'say "hi"'],  # C20, C21
        ["__proto__", "count", "index"],  # B11
        ["❤️", "👨‍👩‍👧", "🏳️‍🌈", "1️⃣", "👍🏽"],
        ["Ελλάδα", "日本", "עברית"],
    ],
)
def test_labels_are_kept_as_written(cells: list[str]) -> None:
    assert labels(*cells) == sorted(cells)


def test_every_label_column_stays_text_in_every_form() -> None:
    """Whole numbers, truth values and dates of a typed table read like the text they would be in a file."""
    import datetime

    table = pa.table({"a": [7, 501], "b": [True, False], "c": [datetime.date(2020, 1, 1)] * 2})
    for origin in (table, parquet(table)):
        data = count_hierarchy(origin, ["a", "b", "c"], domain=FROM_DATA)
        assert [data.labels.path(int(leaf)) for leaf in data.tree.leaves] == [
            ("7", "true", "2020-01-01"),
            ("501", "false", "2020-01-01"),
        ]


def test_composed_and_decomposed_letters_are_one_label_with_a_notice() -> None:  # C10
    data = count_hierarchy("a\né\ne\u0301\n".encode(), ["a"], domain=FROM_DATA)
    assert data.labels.of_level(1).tolist() == ["é"]
    assert [code for code, _ in data.report.notices] == ["LABELS_NORMALISED"]


def test_normalised_labels_are_counted_once_whatever_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 64)
    rows = "".join(f"e\u0301,{i}\no\u0308,{i}\n" for i in range(99))
    public = domain_of_values({"a": ["\u00e9"]})
    data = count_hierarchy(f"a,b\n{rows}".encode(), ["a"], domain=public)
    assert data.counts.tolist() == [198, 99, 99]
    assert dict(data.report.notices)["LABELS_NORMALISED"].startswith("1 label ")


@pytest.mark.parametrize(("cells", "code"), [(["x", "x "], "SPACE"), (["X", "x"], "CASE")])
def test_look_alikes_are_noticed(cells: list[str], code: str) -> None:  # C8, C9
    data = count_hierarchy(as_csv(["a"], [(c,) for c in cells]), ["a"], domain=FROM_DATA)
    assert [notice for notice, _ in data.report.notices] == [f"LABELS_DIFFER_BY_{code}"]


def test_blank_labels_are_one_explicit_category() -> None:  # C3
    assert labels("", "  ", "x") == ["(blank)", "x"]
    assert labels("", "  ", "x", missing="other") == ["(other)", "x"]


def test_the_same_label_under_two_parents_is_two_nodes() -> None:  # C23
    data = count_hierarchy(b"a,b\nx,1\ny,1\n", ["a", "b"], domain=FROM_DATA)
    assert data.tree.level_sizes.tolist() == [1, 2, 2]


def test_a_preview_shows_the_table_as_text() -> None:
    preview = inspect(TEXT, name="t.csv")
    assert (preview.columns, preview.delimiter, preview.encoding) == (HEADER, ",", "utf-8")
    assert preview.rows[0] == ("North", "Kiel", "3") and preview.n_rows is None
    stored = inspect(parquet(arrow()))
    assert stored.rows[:2] == preview.rows[:2] and stored.n_rows == len(ROWS) and stored.kind == "Parquet"
    assert inspect(frame()).rows[:2] == preview.rows[:2]


def test_a_preview_copes_with_columns_that_cannot_be_levels() -> None:
    preview = inspect(parquet(pa.table({"a": ["x"], "b": [[1, 2]], "c": [b"\xff"], "d": [{"e": 1}], "f": [1.5]})))
    assert preview.columns == ("a", "b", "c", "d", "f") and preview.rows[0][0] == "x" and preview.rows[0][4] == "1.5"


def test_hostile_column_names_are_names() -> None:  # B10, B11
    header = ["<img src=x onerror=alert(1)>", "__proto__", "index", "count"]
    assert inspect(as_csv(header, [("x", "y", "z", "1")])).columns == tuple(header)


def test_a_header_that_looks_like_data_is_noticed() -> None:  # B9
    assert [code for code, _ in inspect(b"7,x\n8,y\n").notices] == ["HEADER_LOOKS_LIKE_DATA"]


def test_inspecting_a_large_file_reads_only_its_beginning(tmp_path: Path) -> None:
    taken = []

    class Recorder(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            block = super().read(size)
            taken.append(len(block))
            return block

    path = tmp_path / "large.csv"
    path.write_bytes(TEXT + b"North,Kiel,1\n" * 1_000_000)
    with Recorder(path) as file:
        inspect(file)
    assert 0 < sum(taken) <= 3 << 18 < path.stat().st_size


@pytest.mark.parametrize("kind", ["upload", "open file", "path", "packed", "parquet"])
def test_progress_loses_no_record(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records beyond what the reader reads ahead (32 blocks) are counted too when someone watches."""
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1 << 12)
    data = b"a,b\n" + b"x,1\n" * 400_000
    path = tmp_path / ("t.csv.gz" if kind == "packed" else "t.csv")
    path.write_bytes(gzip.compress(data, 1) if kind == "packed" else data)
    if kind == "parquet":
        pq.write_table(pa.table({"a": ["x"] * 400_000}), path, row_group_size=50_000)
    seen: list[tuple[int, int]] = []
    with path.open("rb") as file:
        origin = {"upload": io.BytesIO(path.read_bytes()), "open file": file, "packed": file}.get(kind, path)
        origin = file if kind == "parquet" else origin
        counted = count_hierarchy(
            origin,
            ["a"],
            domain=domain_taken_from_the_data(),
            progress=lambda done, total: seen.append((done, total)),
        )
    assert len(seen) > 2
    assert (counted.total, counted.report.rows) == (400_000, 400_000)


def test_a_refusal_is_the_same_for_a_shared_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader still reading ahead must not disturb the second look that a refusal takes at the file."""
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1 << 12)
    data = b"a,n\n" + b'"x",1\n' * 100_000 + b'"x",-1\n' + b'"x",1\n' * 300_000
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    for _ in range(5):
        with path.open("rb") as file:
            for origin in (file, io.BytesIO(data), path):
                with pytest.raises(InputError) as caught:
                    count_hierarchy(origin, ["a"], domain=domain_taken_from_the_data(), weight="n")
                assert (caught.value.code, "row 100\u202f002" in str(caught.value)) == ("COUNT_NEGATIVE", True)


def test_progress_is_reported_and_can_cancel() -> None:
    data = TEXT + b"North,Kiel,1\n" * 300_000
    seen: list[tuple[int, int]] = []
    count(data, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 2 and seen == sorted(seen) and seen[-1] == (len(data), len(data))

    class CancelledError(Exception):
        pass

    def cancel(done: int, total: int) -> None:
        raise CancelledError

    for origin in (data, parquet(arrow()), arrow()):
        with pytest.raises(CancelledError):
            count(origin, progress=cancel)


def test_files_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    original = FileSource.open

    def recorded(self: FileSource) -> Any:
        opened.append(original(self))
        return opened[-1]

    monkeypatch.setattr(FileSource, "open", recorded)
    for name, content in (("t.csv", TEXT), ("t.csv.gz", gzip.compress(TEXT)), ("t.parquet", parquet(arrow()))):
        (tmp_path / name).write_bytes(content)
        count(tmp_path / name)
    assert opened and all(stream.closed for stream in opened)


MEASURE = """
import re, resource, sys
from treedp_core.records import count_hierarchy, domain_taken_from_the_data
import treedp_core.records.read.arrow.csv, treedp_core.records.read.arrow.tables
def peak():
    try:  # the peak that getrusage gives is also that of the process this one was forked from
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
data = count_hierarchy(sys.argv[1], ["a", "b"], domain=domain_taken_from_the_data())
print(data.total, (peak() - before) // 1024)
"""


@pytest.mark.parametrize("packed", [False, True])
def test_memory_follows_the_leaves_not_the_records(tmp_path: Path, packed: bool) -> None:
    """100 MB of records on 600 leaves are counted within 80 MB (a table of them in memory takes over 100)."""
    rng = np.random.default_rng(5)
    block = as_csv(["a", "b"], [(f"region {i:05d}", f"city {j:07d}") for i, j in rng.integers(0, 25, (40_000, 2))])
    head, body = block.split(b"\n", 1)
    times = 100_000_000 // len(body)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    with gzip.open(path, "wb", 1) if packed else path.open("wb") as out:
        out.write(head + b"\n")
        for _ in range(times):
            out.write(body)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    total, grown = map(int, done.stdout.split())
    assert total == 40_000 * times
    assert grown < 80, f"grew by {grown} MB"


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_a_column_name_in_another_unicode_form_is_found(kind: str) -> None:
    """The name is shown in form NFC; the file may hold it decomposed."""
    table = pa.table({"e\u0301": ["x", "y", "x"], "n": ["1", "2", "3"]})
    stored: Any = table
    if kind == "csv":
        stored = "e\u0301,n\nx,1\ny,2\nx,3\n".encode()
    elif kind == "parquet":
        out = io.BytesIO()
        pq.write_table(table, out)
        stored = out.getvalue()
    assert inspect(stored).columns == ("\u00e9", "n")
    counted = count_hierarchy(stored, ["\u00e9"], domain=domain_taken_from_the_data(), weight="n")
    assert counted.counts.tolist() == [6, 4, 2]


def test_a_column_of_long_text_does_not_hide_the_numbers_beside_it() -> None:
    """A first look reads no column that may be huge, and says so in its cells."""
    out = io.BytesIO()
    pq.write_table(pa.table({"n": [1, 2], "text": ["t" * 3_000_000, "u" * 3_000_000], "l": [[1], [2]]}), out)
    assert inspect(out.getvalue()).rows == (("1", "…", "…"), ("2", "…", "…"))
