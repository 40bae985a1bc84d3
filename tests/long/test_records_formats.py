"""JSON, JSON lines, Arrow and Excel: the records of a CSV file are counted alike, and bad bytes get their code."""

from __future__ import annotations

import datetime
import gc
import io
import json
import struct
import traceback
import weakref
import zipfile
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.csv import ParseOptions

from oracles_records import as_csv
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.records import count_bins, count_hierarchy, domain_taken_from_the_data, inspect
from treedp_core.records.read.arrow import ipc
from treedp_core.records.read.arrow import stream as arrow_stream
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.readers import READERS, formats
from treedp_core.records.read.sources import BLOCK_BYTES
from treedp_core.records.read.spreadsheet import sheet
from treedp_core.words import whole

openpyxl = pytest.importorskip("openpyxl")

HEADER = ("region", "city", "n", "age")
ROWS: list[tuple[Any, ...]] = [
    ("North", "Kiel", 3, 17), ("North", "Ulm", 1, 3.5), ("Süd", "Ulm, \"old\"", 0, -2), ("", "", 2, ""),
    ("Süd", "Grüße 😀 ] } ,", 5, 99), ("00501", "NA", 4, 20), ("true", "1.10", 1, 3),
] * 3  # fmt: skip
LEVELS = ("region", "city")
FROM_DATA = domain_taken_from_the_data()


def records() -> list[dict[str, Any]]:
    return [{name: None if cell == "" else cell for name, cell in zip(HEADER, row, strict=True)} for row in ROWS]


def table() -> pa.Table:
    cells = [[None if row[j] == "" else row[j] for row in ROWS] for j in range(4)]
    return pa.table(
        [pa.array(cells[0]), pa.array(cells[1]), pa.array(cells[2]), pa.array(map(_real, cells[3]))], HEADER
    )


def _real(value: Any) -> float | None:
    return None if value is None else float(value)


def arrow(*, compression: str | None = None, stream: bool = False, dictionary: bool = False, rows: int = 5) -> bytes:
    out, content = io.BytesIO(), table()
    for j in range(2 * dictionary):
        content = content.set_column(j, HEADER[j], content.column(j).dictionary_encode())
    how = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, content.schema, options=how) as writer:
        writer.write_table(content, max_chunksize=rows)
    return out.getvalue()


def workbook(rows: Any = (HEADER, *ROWS), sheets: int = 1) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append([None if cell == "" else cell for cell in row])
    for _ in range(sheets - 1):
        book.create_sheet("more")
    book.save(out)
    return out.getvalue()


def lines(found: Any) -> bytes:
    return "\n".join(json.dumps(one) for one in found).encode()


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "json": ("JSON", lambda: json.dumps(records()).encode()),
    "json, indented, with a mark": (
        "JSON", lambda: json.dumps(records(), indent=4, ensure_ascii=False).encode("utf-8-sig")),
    "json lines": ("JSON lines", lambda: lines(records())),
    "json lines, names left out": (
        "JSON lines", lambda: lines({k: v for k, v in one.items() if v is not None} for one in records())),
    "arrow": ("Arrow", arrow),
    "arrow, lz4": ("Arrow", lambda: arrow(compression="lz4")),
    "arrow, zstd, dictionaries": ("Arrow", lambda: arrow(compression="zstd", dictionary=True)),
    "arrow stream": ("Arrow", lambda: arrow(stream=True, dictionary=True)),
    "excel": ("Excel", workbook),
}  # fmt: skip


@pytest.mark.parametrize("how", FILES)
def test_the_records_are_those_of_a_csv_file(how: str) -> None:
    kind, make = FILES[how]
    data, text = make(), as_csv(HEADER, ROWS)
    seen = inspect(data)
    assert (seen.kind, seen.columns) == (kind, HEADER)
    assert seen.rows[:2] == (("North", "Kiel", "3", seen.rows[0][3]), ("North", "Ulm", "1", "3.5"))
    for origin in (data, hold(data)):
        ours, csv = (count_hierarchy(one, LEVELS, domain=FROM_DATA, weight="n", unit=None) for one in (origin, text))
        assert (ours.fingerprint, ours.report) == (csv.fingerprint, csv.report)
        ours, csv = (count_bins(one, "age", lower=0, upper=20, n_bins=4) for one in (origin, text))
        assert ours.fingerprint == csv.fingerprint and ours.report.other == csv.report.other


@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_arrow_is_not_the_last_to_let_go_of_a_file_and_nothing_of_the_file_stays(kind: str) -> None:
    """Its thread, the last to let go of a view of Python's, would abort a program that ends just then."""
    stream = io.BytesIO(b"region,city\nNorth,Kiel\n" if kind == "csv" else arrow())
    arrow_stream._LATEST.clear()
    count_hierarchy(stream, LEVELS, domain=FROM_DATA)
    held, kept = list(arrow_stream._LATEST), weakref.ref(stream)
    views = [one for one in held if isinstance(one, pa.PythonFile)]
    assert views and all(view.read(1) == b"" for view in views)
    assert (kind == "csv") == any(isinstance(one, ParseOptions) for one in held), "it has a function that Arrow calls"
    del stream
    gc.collect()
    assert kept() is None


def test_every_reader_is_offered_to_uploads() -> None:
    assert list(READERS) == ["CSV", "Parquet", "JSON", "JSON lines", "Arrow", "Excel"]
    assert formats() == "CSV, Parquet, JSON, JSON lines, Arrow or Excel"
    suffixes = {suffix for reader in READERS.values() for suffix in reader.suffixes}
    assert suffixes >= {"json", "jsonl", "ndjson", "arrow", "feather", "xlsx"}


def test_json_keeps_numbers_as_they_are_written() -> None:
    text = b'[{"a": 1.10, "n": 1}, {"a": 1.1, "n": 2}, {"a": 00501, "n": 4}]'.replace(b"00501", b"501")
    assert count_hierarchy(text, ["a"], domain=FROM_DATA, weight="n").labels.of_level(1).tolist() == [
        "1.1",
        "1.10",
        "501",
    ]


def test_cells_of_excel_are_read_as_they_look() -> None:
    day, moment = datetime.datetime(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30)
    seen = inspect(workbook([("a", "b", "c", "d", "e"), (day, moment, True, 3.0, 0.5), (), ("x", "", "", "", "")]))
    assert seen.rows == (("2026-01-31", "2026-01-31T12:30:00", "true", "3", "0.5"), ("x", "", "", "", ""))
    assert [code for code, _ in inspect(workbook(sheets=3)).notices] == ["SHEETS"]


def test_json_records_may_lie_across_blocks() -> None:
    one = {"a": "x" * 200, "n": 1}
    n = 3 * BLOCK_BYTES // len(json.dumps(one))
    for content in (json.dumps([one] * n).encode(), lines([one] * n)):
        assert count_hierarchy(content, ["a"], domain=FROM_DATA, weight="n").total == n


def bomb() -> bytes:
    """An Arrow file of some hundred bytes that says to unpack to 2 GB."""
    data = bytearray(arrow(compression="lz4", rows=100))
    sizes = [at for at in range(0, len(data) - 8, 8) if struct.unpack_from("<q", data, at)[0] in (84, 168)]
    for at in sizes:
        struct.pack_into("<q", data, at, 2 << 30)
    assert sizes
    return bytes(data)


def archive(**parts: bytes) -> bytes:
    """A workbook with some of its parts replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for part in before.infolist():
            name = part.filename.rpartition("/")[2].partition(".")[0]
            after.writestr(part.filename, parts.get(name, before.read(part)))
    return out.getvalue()


SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
ENTITIES = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + SHEET % b"<row/>"
BAD: list[tuple[str, str, Callable[[], bytes]]] = [
    ("json cut short", "JSON_SYNTAX", lambda: json.dumps(records()).encode()[:-9]),
    ("json without its end", "JSON_SYNTAX", lambda: json.dumps(records()).encode()[:-1]),
    ("json with a bad word", "JSON_SYNTAX", lambda: b'[{"region": "a", "city": nope, "n": 1}]'),
    ("json names twice", "JSON_REPEATED", lambda: b'{"region": "a", "region": "b", "city": "c", "n": 1}'),
    ("json of something else", "JSON_RECORD", lambda: b'[{"region": "a", "city": "b", "n": 1}, 3]'),
    ("json nested", "JSON_RECORD", lambda: b'[{"region": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]"),
    ("json with a list", "COLUMN_TYPE", lambda: b'[{"region": ["a"], "city": "b", "n": 1}]'),
    ("json with an endless record", "ROW_TOO_LONG", lambda: b'[{"region": "' + b"a" * (5 << 20)),
    ("json that is not UTF-8", "ENCODING", lambda: b'[{"region": "\xff", "city": "b", "n": 1}]'),
    ("arrow cut short", "ARROW_CORRUPT", lambda: arrow()[:700]),
    ("arrow, the magic only", "ARROW_CORRUPT", lambda: b"ARROW1\0\0"),
    ("arrow bomb", "ROW_GROUP_TOO_LARGE", bomb),
    ("arrow without rows", "NO_ROWS", lambda: arrow_of(pa.table({"region": pa.array([], pa.string())}))),
    ("arrow with a list", "COLUMN_TYPE", lambda: arrow_of(pa.table({"region": [["a"]], "city": ["b"], "n": [1]}))),
    ("excel, a wide row", "ROW_WIDTH", lambda: workbook([("region", "city", "n"), ("a", "b", 1, "x")])),
    ("excel without rows", "NO_ROWS", lambda: workbook([("region", "city", "n")])),
    ("excel, entities", "EXCEL_CORRUPT", lambda: archive(sheet1=ENTITIES)),
    ("excel, no sheet", "EXCEL_CORRUPT", lambda: archive(workbook=b"<x/>")),
    ("excel bomb", "EXCEL_TOO_LARGE", lambda: archive(sheet1=SHEET % (b" " * (100 << 20)))),
    ("excel cut short", "NOT_TABULAR", lambda: workbook()[:-50]),
]  # fmt: skip


def arrow_of(content: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(out, content.schema) as writer:
        writer.write_table(content)
    return out.getvalue()


@pytest.mark.parametrize(("code", "make"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_bytes_get_their_code(code: str, make: Callable[[], bytes]) -> None:
    data = make()
    with refuses(code) as refused:
        count_hierarchy(data, LEVELS, domain=FROM_DATA, weight="n")
    shown = "".join(traceback.format_exception(refused.value))
    assert "During handling" not in shown and "direct cause" not in shown  # a reader's own error may quote cells


def test_damage_anywhere_in_an_arrow_file_is_refused_or_harmless() -> None:
    whole = arrow(compression="lz4", dictionary=True)
    for at in range(0, len(whole), 3):
        data = bytearray(whole)
        data[at] ^= 0xFF
        try:
            count_hierarchy(bytes(data), LEVELS, domain=FROM_DATA, weight="n")
        except InputError as refused:
            assert str(refused)


def test_a_sheet_cannot_claim_rows_or_columns_that_it_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    header = b'<row r="1"><c r="A1" t="inlineStr"><is><t>region</t></is></c></row>'
    far = b'<row r="%d"><c r="A9" t="inlineStr"><is><t>x</t></is></c></row>'
    monkeypatch.setattr(sheet, "MAX_ROWS", 1000)
    for content, code in ((far % 10**12, "TOO_MANY_ROWS"), (b'<row r="2"><c r="XFD2"><v>1</v></c></row>', "ROW_WIDTH")):
        with pytest.raises(InputError) as refused:
            count_hierarchy(archive(sheet1=SHEET % (header + content)), ["region"], domain=FROM_DATA)
        assert refused.value.code in (code, "TOO_MANY_COLUMNS", "NO_ROWS")


def test_the_bytes_of_a_message_are_those_that_its_columns_take_up() -> None:
    content = pa.table({"a": ["x" * 1000] * 5000})
    out = io.BytesIO()
    with pa.ipc.new_stream(out, content.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(content)
    told = [ipc._told(bytes(m.metadata), m.body) for m in pa.ipc.MessageReader.open_stream(out.getvalue())]
    assert [one.rows for one in told] == [0, 5000]
    assert 5_000_000 <= told[1].n_bytes <= 5_100_000 and len(out.getvalue()) < 100_000


@pytest.mark.parametrize("blocks", [0, 2])
def test_the_place_of_a_json_error_is_said_in_lines_and_columns_of_the_file(blocks: int) -> None:
    good = '{"region": "North"}'
    n = 2 + blocks * BLOCK_BYTES // len(good)
    for text, line, column in (
        ((good + "\n") * n + '{"region" "South"}\n', n + 1, 11),
        ("[" + (good + ",\n") * n + '  {"region": South}]', n + 1, 14),
        ("[" + (good + ", ") * n + "{]", 1, 3 + n * (len(good) + 2)),
    ):
        for mark in (b"", b"\xef\xbb\xbf"):
            with refuses("JSON_SYNTAX") as refused:
                count_hierarchy(mark + text.encode(), ["region"], domain=FROM_DATA)
            assert f"Record {whole(n + 1)} is no JSON at line {whole(line)}, column {whole(column)}," in str(
                refused.value
            )
