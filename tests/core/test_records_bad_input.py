"""Bad input: every refusal has its code, names its place, and shows no more of a cell than a message may."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import (
    ReadOptions,
    count_bins,
    count_hierarchy,
    count_table,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
    inspect,
)
from treedp_core.records.read import sources
from treedp_core.records.read.arrow import tables

FROM_DATA = domain_taken_from_the_data()


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def one_label(label: str, n_rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int8)), [label])


class Keys(pe.KmsClient):
    """A key service that hides nothing: what matters is that the file is encrypted."""

    def __init__(self) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)


def encrypted_column() -> bytes:
    """Return a Parquet file whose footer can be read, and whose column "a" cannot."""
    factory = pe.CryptoFactory(lambda _: Keys())
    choice = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["a"]}, plaintext_footer=True)
    locks = factory.file_encryption_properties(pe.KmsConnectionConfig(), choice)
    out, table = io.BytesIO(), pa.table({"a": ["x", "y"], "b": ["1", "2"]})
    with pq.ParquetWriter(out, table.schema, encryption_properties=locks) as writer:
        writer.write_table(table)
    return out.getvalue()


def bad_utf8() -> pa.Array:
    offsets = np.array([0, 2, 3], np.int32)
    return pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfex")])


def late_bad_utf8() -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(["x"] * 99), bad_utf8()])


def arrow_with_names(*names: str) -> bytes:
    out, table = io.BytesIO(), pa.Table.from_arrays([pa.array(["x"])] * len(names), list(names))
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def refusal(action: Callable[[], Any]) -> InputError:
    with pytest.raises(InputError) as caught:
        action()
    return caught.value


def count(data: Any, *columns: str, **settings: Any) -> Any:
    return count_hierarchy(data, columns or ("a",), **{"domain": FROM_DATA, **settings})


FILES: list[tuple[str, str, bytes]] = [
    ("A1 no bytes", "FILE_EMPTY", b""),
    ("A1 a line feed only", "FILE_EMPTY", b"\n"),
    ("A2 header only", "NO_ROWS", b"a,count\n"),
    ("A4 bytes of no encoding", "ENCODING", b"a,count\nx\xff\xfe\xfd\x80,1\n"),
    ("A10 PNG", "NOT_TABULAR", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
    ("A11 ZIP or XLSX", "NOT_TABULAR", b"PK\x03\x04" + b"\0" * 100),
    ("A12 web page", "NOT_TABULAR", b"<!DOCTYPE html><html><body>Not found</body></html>\n"),
    ("A13 JSON object", "NOT_TABULAR", json.dumps({"a": [1, 2]}).encode()),
    ("A13 JSON list of lists", "NOT_TABULAR", json.dumps([["a", "b"], [1, 2]]).encode()),
    ("A13 JSON list of lists in a gzip file", "NOT_TABULAR", gzip.compress(json.dumps([["a", "b"], [1, 2]]).encode())),
    ("pickle", "NOT_TABULAR", b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00"),
    ("numbers in four bytes", "ENCODING", b"a,count\n" + b"\x01\0\0\0" * 100),
    ("A20 cut in the footer", "PARQUET_CORRUPT", parquet(a=["x"] * 100)[:-9]),
    ("A20 cut to the magic", "PARQUET_CORRUPT", b"PAR1"),
    ("A23 encrypted footer", "PARQUET_ENCRYPTED", b"PARE" + b"\0" * 50 + b"PARE"),
    ("A23 encrypted column", "PARQUET_ENCRYPTED", encrypted_column()),
    ("C14 Parquet text that is not UTF-8", "ENCODING", parquet(a=bad_utf8())),
    ("B1 repeated name", "DUPLICATE_COLUMN", arrow_with_names("a", "a")),
    ("B2 blank name", "BLANK_COLUMN", arrow_with_names("a", " ")),
    ("B4 too many cells", "ROW_WIDTH", b"a,count\nx,1,2\n"),
    ("B5 too few cells", "ROW_WIDTH", b"a,count\nx\n"),
    ("B6 unclosed quote", "QUOTE", b'a,count\ny,1\n"x,1\nz,2\n'),
    ("B8 a line first that may be the name of a column", "ROW_WIDTH", b"hi\na,b\nx,y\n"),
    ("B11 long name", "COLUMN_NAME_TOO_LONG", b"a," + b"n" * 10_000 + b"\nx,1\n"),
    ("invisible character in a name", "INVISIBLE_CHAR", "a\u200b,count\nx,1\n".encode()),
    ("5,000 columns", "TOO_MANY_COLUMNS", b",".join(b"c%d" % i for i in range(5000)) + b"\n" + b"1," * 4999 + b"1\n"),
    ("A19 20,000 columns", "TOO_MANY_COLUMNS", parquet(**{f"c{i}": [1] for i in range(20_000)})),
    ("Parquet without rows", "NO_ROWS", parquet(a=pa.array([], pa.string()))),
    ("gzip cut short", "GZIP_CORRUPT", gzip.compress(b"a,b\n" + bytes(range(97, 122)) * 9)[:-12]),
    ("gzip of Parquet", "NOT_TABULAR", gzip.compress(parquet(a=["x"]))),
    ("gzip of gzip", "NOT_TABULAR", gzip.compress(gzip.compress(b"a\nx\n"))),
]


@pytest.mark.parametrize(("code", "data"), [case[1:] for case in FILES], ids=[case[0] for case in FILES])
def test_a_file_that_is_no_table_is_refused_at_first_sight(code: str, data: bytes) -> None:
    assert refusal(lambda: inspect(data)).code == code
    assert refusal(lambda: count(data)).code == code


RECORDS: list[tuple[str, str, bytes]] = [
    ("A6 NUL in a label", "CONTROL_CHAR", b"a,b\nA\x00B,1\n"),
    ("B4 late", "ROW_WIDTH", b"a,b\n" + b"x,1\n" * 500_000 + b"x,1,2\n"),
    ("B5 late", "ROW_WIDTH", b"a,b\n" + b"x,1\n" * 500_000 + b"x\n"),
    ("B6 late", "QUOTE", b"a,b\n" + b"x,1\n" * 500_000 + b'"x,1\n' * 1 + b"y,1\n"),
    ("B6 swallows the rest in its last column", "QUOTE", b"a,b\n" + b"x,1\n" * 30 + b'x,"1\ny,2\ny,3\n'),
    ("B6 two torn quotes in a column not chosen", "QUOTE", b"b,a\n" + b"x,1\n" * 30 + b'"x,1\ny,2\n"y,3\n'),
    ("B6 longer than a block", "QUOTE", b"a,b\n" + b"x,1\n" * 30 + b'"x,1\n' + b"y,2\n" * 400_000),
    ("B7 line feed in a label", "CONTROL_CHAR", b'a,b\n"x\ny",1\n'),
    ("C10 bell", "CONTROL_CHAR", b"a,b\nx\x07,1\n"),
    ("C11 zero-width space", "INVISIBLE_CHAR", "a,b\nx\u200b,1\n".encode()),
    ("C12 right-to-left override", "INVISIBLE_CHAR", "a,b\nx\u202ey,1\n".encode()),
    ("soft hyphen", "INVISIBLE_CHAR", "a,b\nx\u00ady,1\n".encode()),
    ("joiner outside an emoji", "INVISIBLE_CHAR", "a,b\nx\u200dy,1\n".encode()),
    ("byte order mark inside", "INVISIBLE_CHAR", "a,b\nx\ufeff,1\n".encode()),
    ("C13 10,000 characters", "LABEL_TOO_LONG", b"a,b\n" + b"x" * 10_000 + b",1\n"),
    ("C13 257 characters", "LABEL_TOO_LONG", b"a,b\n" + b"x" * 257 + b",1\n"),
    ("C14 invalid UTF-8, late", "ENCODING", b"a,b\n" + b"x,1\n" * 500_000 + b"x\xc3\x28,1\n"),
    ("C14 encoded surrogate", "ENCODING", b"a,b\nx\xed\xa0\x80,1\n"),
    ("A18 dictionary bomb", "LABEL_TOO_LONG", parquet(a=one_label("x" * 1_000_000, 3000))),
    ("A21 nested list", "COLUMN_TYPE", parquet(a=[["x"]])),
    ("A21 struct", "COLUMN_TYPE", parquet(a=[{"b": 1}])),
    ("binary labels that are no text", "ENCODING", parquet(a=[b"\xff"])),
    ("long binary labels", "LABEL_TOO_LONG", parquet(a=[b"x" * 2_000])),
    ("lengths of time", "COLUMN_TYPE", parquet(a=np.array([1], "m8[us]"))),
]


@pytest.mark.parametrize(("code", "data"), [case[1:] for case in RECORDS], ids=[case[0] for case in RECORDS])
def test_records_that_cannot_be_counted_are_refused(code: str, data: bytes) -> None:
    assert refusal(lambda: count(data)).code == code


COUNTS: list[tuple[str, str, str]] = [
    ("D1", "COUNT_NEGATIVE", "-5"), ("D2", "COUNT_NOT_INTEGER", "1.5"), ("D3", "COUNT_NOT_INTEGER", "1.0"),
    ("D4", "COUNT_NOT_INTEGER", "1e3"), ("D5", "COUNT_NOT_INTEGER", '"1,000"'),
    *((f"D6 {text!a}", "COUNT_NOT_INTEGER", text) for text in ("1_000", "0x10", "１２", "٣", "−3", "+3", " 3", "3 ")),
    ("D7", "COUNT_MISSING", ""),
    *((f"D8 {text}", "COUNT_NOT_INTEGER", text) for text in ("NaN", "inf", "-inf", "1e308")),
    ("D9", "COUNT_NOT_INTEGER", "ten"), ("D10", "COUNT_NOT_INTEGER", "True"),
    ("D11", "COUNT_TOO_LARGE", "9007199254740993"), ("D12", "COUNT_TOO_LARGE", "9223372036854775808"),
    ("D13 one cell", "COUNT_TOO_LARGE", "9223372036854775807"),
    ("a count of 100 digits", "COUNT_TOO_LARGE", "9" * 100),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text"), [case[1:] for case in COUNTS], ids=[case[0] for case in COUNTS])
def test_a_count_is_digits_only(code: str, text: str) -> None:
    error = refusal(lambda: count(f"a,n\nx,1\ny,{text}\n".encode(), weight="n"))
    assert error.code == code
    assert "row 3" in str(error) and "'n'" in str(error)


def test_every_code_of_the_lists_can_also_pass() -> None:
    """The neighbour of each refused input is accepted, so no refusal comes from something else."""
    assert count(b"a,b\nx,1\n").total == 1
    assert count(b"a,n\nx,9007199254740990\ny,1\n", weight="n").total == 2**53 - 1
    assert count(b"a,b\n" + b"x" * 256 + b",1\n").total == 1
    assert count(b'a,b\n"x ""y""",1\n').labels.label(1) == 'x "y"'


@pytest.mark.parametrize("amounts", [[2**53 - 1, 1], [2**53 - 1] * 3000, [2**53 - 1] * 2048])
def test_totals_never_overflow(amounts: list[int]) -> None:  # D13, D14; 2048 of them are -2048 in 64 bits
    data = b"a,n\n" + b"".join(b"x,%d\n" % amount for amount in amounts)
    assert refusal(lambda: count(data, weight="n")).code == "TOTAL_TOO_LARGE"
    public = domain_of_values({"a": ["other"]})
    assert refusal(lambda: count(data, weight="n", domain=public)).code == "TOTAL_TOO_LARGE"


@pytest.mark.parametrize(
    ("code", "column"),
    [
        ("COUNT_NOT_INTEGER", pa.array([1.0, 1.5])), ("COUNT_NOT_INTEGER", pa.array([1.0, float("nan")])),
        ("COUNT_NOT_INTEGER", pa.array([1.0, float("inf")])), ("COUNT_NOT_INTEGER", pa.array(["1", "1.0"])),
        ("COUNT_MISSING", pa.array([1, None])), ("COUNT_NEGATIVE", pa.array([1, -1], pa.int8())),
        ("COUNT_TOO_LARGE", pa.array([1, 2**64 - 1], pa.uint64())), ("COUNT_TOO_LARGE", pa.array([1, 2**62])),
        ("COLUMN_TYPE", pa.array([True, False])), ("COLUMN_TYPE", pa.array(np.array([0, 1], "M8[s]"))),
        ("COLUMN_TYPE", pa.array([1, 2]).cast(pa.decimal128(38, 2))), ("COLUMN_TYPE", pa.array([[1], [2]])),
    ],
)  # fmt: skip
def test_typed_counts_are_exact_or_refused(code: str, column: pa.Array) -> None:  # D15, D16, D17
    for table in (parquet(a=["x", "y"], n=column), pa.table({"a": ["x", "y"], "n": column})):
        assert refusal(lambda table=table: count(table, weight="n")).code == code


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float64(), pa.float32(), pa.string(), pa.string_view()])
def test_typed_counts_that_are_whole_are_taken(kind: pa.DataType) -> None:
    assert count(parquet(a=["x", "y"], n=pa.array([3, 4]).cast(kind)), weight="n").counts.tolist() == [7, 3, 4]


WIDE = b",".join(b"c%d" % i for i in range(65)) + b"\n" + b"1," * 64 + b"1\n"


def bins(data: Any = b"a\n1\n", lower: float = 0, upper: float = 1, n_bins: int = 2, **settings: Any) -> Any:
    return count_bins(data, "a", lower=lower, upper=upper, n_bins=n_bins, **settings)


CHOICES: list[tuple[str, str, Callable[[], Any]]] = [
    ("A9 wrong delimiter", "DELIMITER", lambda: inspect(b"a;n\nx;1\n", options=ReadOptions(delimiter=","))),
    ("no delimiter", "DELIMITER", lambda: inspect(b"a;n\nx;1\n", options=ReadOptions(delimiter=",,"))),
    ("A15 text named .parquet", "TYPE_MISMATCH", lambda: inspect(b"a,n\nx,1\n", name="t.parquet")),
    ("no records", "NO_ROWS", lambda: inspect(b"[ ]\n", name="t.json")),
    ("records without names", "TYPE_MISMATCH", lambda: inspect(b"[[1, 2]]", name="t.json")),
    ("unknown encoding", "ENCODING", lambda: inspect(b"a\nx\n", options=ReadOptions(encoding="klingon"))),
    ("a codec that is no text encoding", "ENCODING", lambda: inspect(b"a\nx\n", options=ReadOptions(encoding="zlib"))),
    ("wrong encoding", "ENCODING", lambda: inspect("a\né\n".encode(), options=ReadOptions(encoding="ascii"))),
    ("B12", "LEVEL_REPEATED", lambda: count(b"a,b\nx,1\n", "a", "b", "a")),
    ("B13", "NO_LEVELS", lambda: count_hierarchy(b"a,b\nx,1\n", [], domain=FROM_DATA)),
    ("B14", "TOO_MANY_LEVELS", lambda: count(WIDE, *(f"c{i}" for i in range(65)))),
    ("B15", "COUNT_AS_LEVEL", lambda: count(b"a,b\nx,1\n", "a", "b", weight="b")),
    ("unknown column", "COLUMN_UNKNOWN", lambda: count(b"a,b\nx,1\n", "z")),
    ("unknown weight", "COLUMN_UNKNOWN", lambda: count(b"a,b\nx,1\n", weight="z")),
    ("unknown rule", "VALUE_UNKNOWN", lambda: count(b"a,b\nx,1\n", missing="guess")),
    ("no file", "FILE_UNREADABLE", lambda: inspect("no such file.csv")),
    ("no source", "SOURCE_TYPE", lambda: inspect(42)),
    (
        "domain of another height",
        "DOMAIN_LEVELS",
        lambda: count(b"a,b\nx,1\n", domain=domain_of_values([["x"], ["1"]])),
    ),
    ("C22 10^9 leaves", "TOO_MANY_NODES", lambda: domain_of_values([[str(i) for i in range(1000)]] * 3)),
    ("domain without values", "DOMAIN_EMPTY", lambda: domain_of_values({"a": []})),
    ("domain given as one text", "DOMAIN_EMPTY", lambda: domain_of_values({"a": "xyz"})),
    ("domain with a repeated value", "DOMAIN_REPEATED", lambda: domain_of_values({"a": ["x", "x"]})),
    ("domain with a blank value", "EMPTY_LABEL", lambda: domain_of_values({"a": ["x", " "]})),
    ("domain with an invisible value", "INVISIBLE_CHAR", lambda: domain_of_values({"a": ["x", "\u200b"]})),
    ("C24 leaf that is a parent", "RAGGED_TREE", lambda: domain_of_paths(b"a,b\nx,\nx,y\n")),
    ("domain with a gap", "EMPTY_LABEL", lambda: domain_of_paths(b"a,b,c\nx,,z\n")),
    ("codes outside", "CODE_RANGE", lambda: count_table([np.array([0, 2])], (2,))),
    ("negative codes", "CODE_RANGE", lambda: count_table([np.array([0, -1])], (2,))),
    ("float codes", "CODE_RANGE", lambda: count_table([np.array([0.0, 1.0])], (2,))),
    ("E20 K = 0", "TREE_SHAPE", lambda: bins(n_bins=0)),
    ("E20 K = 1", "TREE_SHAPE", lambda: bins(n_bins=1)),
    ("E20 K = 10^9", "TREE_SHAPE", lambda: bins(n_bins=10**9)),
    (
        "E20 product below K",
        "TREE_SHAPE",
        lambda: bins(n_bins=9, branching=(2, 4)),
    ),
    ("E20 branching 1", "TREE_SHAPE", lambda: bins(n_bins=4, branching=(1, 4))),
    ("lower = upper", "BOUNDS", lambda: bins(lower=1, upper=1, n_bins=2)),
    ("lower > upper", "BOUNDS", lambda: bins(lower=2, upper=1, n_bins=2)),
    ("lower nan", "BOUNDS", lambda: bins(lower=float("nan"), upper=1, n_bins=2)),
    ("bounds too far apart", "BOUNDS", lambda: bins(lower=-1e308, upper=1e308, n_bins=2)),
    ("bins too narrow", "TREE_SHAPE", lambda: bins(lower=1, upper=1 + 1e-15, n_bins=100)),
    ("no numbers", "COLUMN_TYPE", lambda: bins(b"a\nx\nNaN\n")),
    (
        "dates as numbers",
        "COLUMN_TYPE",
        lambda: bins(parquet(a=np.array([0], "M8[s]"))),
    ),
    (
        "weight is the number",
        "COUNT_AS_LEVEL",
        lambda: bins(b"a,b\n1,1\n", weight="a"),
    ),
    ("mixed types", "COLUMN_TYPE", lambda: count(pd.DataFrame({"a": [1, "x"]}, dtype=object))),
    ("lone surrogate", "ENCODING", lambda: count(pd.DataFrame({"a": ["\ud800"]}, dtype=object))),
    ("C14 invalid bytes in a table", "ENCODING", lambda: count(pa.table({"a": bad_utf8()}))),
    ("C14 invalid bytes in a table, later", "ENCODING", lambda: count(pa.table({"a": late_bad_utf8()}))),
    ("DataFrame without rows", "NO_ROWS", lambda: inspect(pd.DataFrame({"a": []}))),
    ("DataFrame with repeated names", "DUPLICATE_COLUMN", lambda: inspect(pd.DataFrame([[1, 2]], columns=["a", "a"]))),
]


@pytest.mark.parametrize(("code", "action"), [case[1:] for case in CHOICES], ids=[case[0] for case in CHOICES])
def test_choices_that_make_no_sense_are_refused(code: str, action: Callable[[], Any]) -> None:
    assert refusal(action).code == code


def test_too_many_labels_are_refused_before_a_tree_is_built(monkeypatch: pytest.MonkeyPatch) -> None:  # C22
    monkeypatch.setattr(checks, "MAX_NODES", 1000)
    data = b"a,b\n" + b"".join(b"x%d,1\n" % i for i in range(2000))
    assert refusal(lambda: count(data)).code == "TOO_MANY_NODES"
    pairs = b"a,b\n" + b"".join(b"x%d,%d\n" % (i % 50, i // 50) for i in range(2000))
    assert refusal(lambda: count(pairs, "a", "b")).code == "TOO_MANY_NODES"


def test_a_gzip_bomb_is_refused_by_its_trailer_and_by_its_flow(monkeypatch: pytest.MonkeyPatch) -> None:  # A16
    unpacked: Counter[gzip.GzipFile] = Counter()
    read = gzip.GzipFile.read

    def counting(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        block = read(self, size)
        unpacked[self] += len(block)
        return block

    monkeypatch.setattr(gzip.GzipFile, "read", counting)
    bomb = gzip.compress(b"a,count\n" + b"x,1\n" * (25 << 20), 9)
    assert refusal(lambda: inspect(bomb)).code == "GZIP_TOO_LARGE"
    assert not unpacked
    liar = bomb[:-4] + (100).to_bytes(4, "little")
    assert refusal(lambda: count(liar)).code == "GZIP_TOO_LARGE"
    assert 0 < max(unpacked.values()) <= sources.FREE_UNPACKED_BYTES + 4 * sources.BLOCK_BYTES


def test_a_parquet_run_length_bomb_is_refused_by_its_footer(monkeypatch: pytest.MonkeyPatch) -> None:  # A17, A24
    monkeypatch.setattr(tables, "MAX_ROWS", 1_000_000)
    bomb = parquet(a=one_label("x", 1_000_001))
    assert len(bomb) < 10_000
    assert refusal(lambda: inspect(bomb)).code == "TOO_MANY_ROWS"
    assert refusal(lambda: count(bomb)).code == "TOO_MANY_ROWS"


def test_no_damaged_parquet_file_ends_the_process() -> None:
    """One flipped bit anywhere in a footer or a page is read as if it were right, or refused with a code."""
    table = {"a": pa.array(["x", None] * 20), "n": pa.array([1.0, 2.0] * 20), "l": [[1], [2]] * 20}
    for whole in (parquet(**table), encrypted_column()):
        for position in range(4, len(whole) - 8):
            data = bytearray(whole)
            data[position] ^= 1 << position % 8
            with contextlib.suppress(InputError):
                count(bytes(data), weight="n" if position % 2 else None)


def test_an_index_beyond_its_dictionary_is_refused() -> None:
    """Pages are compressed without a checksum, so a damaged one can promise labels that are not there."""
    whole = parquet(a=pa.array(["x", "y", "z"] * 20))
    codes = set()
    for position in range(4, whole.index(b"ARROW:schema")):
        data = bytearray(whole)
        data[position] ^= 3
        try:
            assert count(bytes(data)).total == 60
        except InputError as error:
            codes.add(error.code)
    assert "PARQUET_CORRUPT" in codes


def test_a_row_group_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_ROW_GROUP_BYTES", 1000)
    assert refusal(lambda: count(parquet(a=[f"label {i}" for i in range(1000)]))).code == "ROW_GROUP_TOO_LARGE"


def test_a_row_longer_than_a_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"a,b\n" + b"x,1\n" * 9 + b"x," + b"y" * 70_000 + b"\n"
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1 << 14)
    assert refusal(lambda: count(data)).code == "ROW_TOO_LONG"


ROWS_NAMED = [
    (b"a,b\nx,1\nx\x07,2\n", "row 3"),
    (b"a,b\nx,1\ny\n", "Row 3 has 1 cell but"),
    (b"a,b\n" + b"x,1\n" * 600_000 + b"x\x07,2\n", "row 600\u202f002"),
    (b"a,b\n" + b"x,1\n" * 600_000 + b"x\n", "Row 600\u202f002"),
    (b"a,b\n" + b"x,1\n" * 600_000 + b"\xff,1\n", "byte 2\u202f400\u202f004"),
    (parquet(a=["x", "y", "z\x07"]), "row 3"),
]


@pytest.mark.parametrize(("data", "place"), ROWS_NAMED)
def test_a_refusal_names_the_place(data: bytes, place: str) -> None:
    assert place in str(refusal(lambda: count(data)))


SECRET = "SECRET-4711-" + "s" * 60


@pytest.mark.parametrize(
    "action",
    [
        lambda: count(f"a,n\n{SECRET}\x07,1\n".encode()),
        lambda: count(f"a,n\nx,{SECRET}\n".encode(), weight="n"),
        lambda: count(f"a,n\nx,1,{SECRET}\n".encode()),
        lambda: count(b"a,n\n" + b"x,1\n" * 500_000 + f"x,1,{SECRET}\n".encode()),
        lambda: count(f'a,n\nx,1\n{SECRET},"1\nz,3\n'.encode(), weight="n"),
        lambda: count(b"a,n\n" + b"x,1\n" * 500_000 + f"{SECRET}é,1\n".encode("latin-1")),
        lambda: count(f"a,n\n{SECRET}é,1\n".encode(), options=ReadOptions(encoding="ascii")),
        lambda: count(parquet(a=["x"], n=[SECRET]), weight="n"),
        lambda: count(pd.DataFrame({"a": [1, SECRET]}, dtype=object)),
        lambda: count(pd.DataFrame({"a": [SECRET + "\ud800"]}, dtype=object)),
        lambda: domain_of_paths(f"a,b\n{SECRET},\n{SECRET},y\n".encode()),
        lambda: count_bins(f"a\n{SECRET}\n".encode(), "a", lower=0, upper=1, n_bins=2),
        lambda: count(parquet(a=[SECRET] * 1000)[:-20]),
        lambda: domain_of_values({"a": [SECRET, SECRET]}),
    ],
)
def test_no_cell_travels_further_than_the_message(action: Callable[[], Any]) -> None:
    """A message shows at most 40 characters of a cell, and no other exception is chained behind it."""
    error = refusal(action)
    assert SECRET[:41] not in str(error)
    assert error.__cause__ is None
    chained = error.__context__
    while chained is not None:
        assert "SECRET" not in str(chained) and "SECRET" not in repr(chained.args)
        chained = chained.__context__
