"""Small files that unpack to much: each must be counted or refused in words, at little cost.

`python tests/hostile_files.py FOLDER` writes them, for attacks on a running app; `attempt` gives one to the core.
"""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ENDINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK": "xlsx", b"[{": "json", b"{": "jsonl"}
ROWS, ENTRY = 3_000, 1_000_000
REGION = pa.array(["N"] * ROWS)


@dataclass(frozen=True)
class Hostile:
    """A file, what to do with it, and what must come of it: a code of refusal, or "counted"."""

    name: str
    make: Callable[[], bytes]
    use: str
    outcome: str


def repeated(rows: int = ROWS, size: int = ENTRY, index: Any = None, value: Any = None) -> pa.DictionaryArray:
    """A column whose cells are one and the same text of `size` digits."""
    return pa.DictionaryArray.from_arrays(
        pa.array([0] * rows, index or pa.int32()), pa.array(["9" * size], value or pa.string())
    )


def parquet(*, with_schema: bool = True, dictionary: bool = True, **columns: Any) -> bytes:
    """A Parquet file; without the Arrow schema a reader sees plain text where it was a dictionary."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", store_schema=with_schema, use_dictionary=dictionary)
    return out.getvalue()


def varint(size: int, width: int = 0) -> bytes:
    """A number as a Parquet footer writes it: seven bits a byte, the sign last; if asked for, in more bytes."""
    left, out = 2 * size, []
    while left or len(out) < max(1, width):
        out.append(left & 127)
        left >>= 7
    return bytes([*(part | 128 for part in out[:-1]), out[-1]])


def lying_page(megabytes: int) -> bytes:
    """A Parquet file whose one page unpacks to more than its footer says: that is 1 000 bytes."""
    rows = megabytes * 5_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["9" * 200]))
    out = io.BytesIO()
    table = pa.table({"region": column.cast(pa.string())})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False,
                   data_page_size=1 << 30, max_rows_per_page=rows, write_batch_size=rows,
                   row_group_size=rows)  # fmt: skip
    data = out.getvalue()
    group = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0)
    start = data.rindex(b"region") - 200
    footer = data[start:]
    for said in {group.total_byte_size, group.column(0).total_uncompressed_size}:
        assert varint(said) in footer
        footer = footer.replace(varint(said), varint(1_000, len(varint(said))))
    return data[:start] + footer


def packed(*pieces: bytes) -> bytes:
    """The pieces as one gzip file."""
    return gzip.compress(b"".join(pieces), 6)


def hostile_files() -> Iterator[Hostile]:
    """Every file, with each use that could unpack it."""
    bomb = repeated()
    count_coded = partial(parquet, region=REGION, n=bomb)
    count_plain = partial(parquet, with_schema=False, region=REGION, n=bomb)
    far = pa.array([2**31 - 1] * 3, pa.date32())
    yield Hostile("count, dictionary", count_coded, "weight", "COUNT_TOO_LARGE")
    yield Hostile("count, plain text", count_plain, "weight", "COUNT_TOO_LARGE")
    yield Hostile("number, dictionary", count_coded, "bins", "NUMBER_TOO_LONG")
    yield Hostile("number, plain text", count_plain, "bins", "NUMBER_TOO_LONG")
    for name, column in (
        ("large text", repeated(value=pa.large_string())),
        ("narrow index", repeated(index=pa.int8())),
        ("many rows", repeated(100_000, 40_000)),
    ):
        yield Hostile(f"label, {name}", partial(parquet, region=column), "label", "LABEL_TOO_LONG")
        yield Hostile(f"count, {name}", partial(parquet, region=["N"] * len(column), n=column), "weight",
                      "COUNT_TOO_LARGE")  # fmt: skip
    yield Hostile("label, plain text", partial(parquet, with_schema=False, region=bomb), "label", "LABEL_TOO_LONG")
    yield Hostile("label, written out", partial(parquet, dictionary=False, region=["9" * ENTRY] * 40), "label",
                  "LABEL_TOO_LONG")  # fmt: skip
    yield Hostile("unit, dictionary", partial(parquet, region=REGION, unit=bomb), "label", "counted")
    yield Hostile("columns not chosen", partial(parquet, with_schema=False, region=REGION, x=bomb, y=bomb), "label",
                  "counted")  # fmt: skip
    nested = pa.array([["9" * 1_000]] * ROWS)
    yield Hostile("nested", partial(parquet, region=nested), "label", "COLUMN_TYPE")
    yield Hostile("dates past 9999", partial(parquet, region=["a", "b", "c"], when=far), "label", "counted")
    yield Hostile("one line without an end", partial(packed, b"region\n", b"9" * (48 << 20)), "label", "ROW_TOO_LONG")
    yield Hostile("long cells of text", partial(packed, b"region\n", (b"9" * 900_000 + b"\n") * 60), "label",
                  "LABEL_TOO_LONG")  # fmt: skip
    yield from other_formats()
    yield Hostile("long cells of numbers", partial(packed, b"n\n", (b"9" * 900_000 + b"\n") * 60), "bins",
                  "NUMBER_TOO_LONG")  # fmt: skip


def arrow(column: Any) -> bytes:
    """An Arrow file, packed."""
    out = io.BytesIO()
    table = pa.table({"region": column})
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    return out.getvalue()


def archive(content: bytes) -> bytes:
    """A file in a ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("t.csv", content)
    return out.getvalue()


SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
CELL = b'<row><c t="inlineStr"><is><t>%s</t></is></c></row>'


def workbook(sheet: bytes) -> bytes:
    """A workbook whose only sheet is written by hand."""
    from openpyxl import Workbook

    before, out = io.BytesIO(), io.BytesIO()
    Workbook().save(before)
    with zipfile.ZipFile(before) as parts, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for part in parts.infolist():
            is_sheet = part.filename.endswith("sheet1.xml")
            made.writestr(part.filename, SHEET % sheet if is_sheet else parts.read(part))
    return out.getvalue()


def other_formats() -> Iterator[Hostile]:
    """Files of the formats besides CSV and Parquet."""
    names = b", ".join(b'"k%d": 1' % n for n in range(60_000))
    yield Hostile(
        "json, a record without an end", lambda: b'[{"region": "' + b"9" * (16 << 20), "label", "ROW_TOO_LONG"
    )
    yield Hostile("json, nested", lambda: b'[{"region": ' + b"[" * (1 << 19), "label", "JSON_RECORD")
    yield Hostile("json lines, many names", lambda: b"{" + names + b"}\n", "label", "TOO_MANY_COLUMNS")
    yield Hostile("arrow, packed text", lambda: arrow(["9" * 200_000] * 2_000), "label", "ROW_GROUP_TOO_LARGE")
    yield Hostile("arrow, one text", lambda: arrow(repeated()), "label", "LABEL_TOO_LONG")
    yield Hostile("arrow, rows of nothing", lambda: arrow(pa.nulls(200_000_000)), "label", "TOO_MANY_ROWS")
    yield Hostile("json, objects in objects", lambda: b'{"a": ' * (1 << 19), "label", "JSON_RECORD")
    yield Hostile("json, a number without an end", lambda: b'{"a": ' + b"9" * (16 << 20), "label", "ROW_TOO_LONG")
    yield Hostile("json, many names in one object", lambda: b'{"a": {' + names + b"}}", "label", "TOO_MANY_COLUMNS")
    yield Hostile("json, lists in a wrapper", lambda: b'{"a": [{"b": [' + b"[]," * (8 << 20), "label", "ROW_TOO_LONG")
    yield Hostile("zip, spaces", lambda: archive(b"region\n" + b" " * (100 << 20)), "label", "ZIP_TOO_LARGE")
    yield Hostile("zip, one line without an end", lambda: archive(b"region\n" + b"9" * (48 << 20)), "label",
                  "ROW_TOO_LONG")  # fmt: skip
    yield Hostile("zip, packed again", lambda: archive(packed(b"region\n", b"9" * (48 << 20))), "label", "NOT_TABULAR")
    yield Hostile("zip, a page of Parquet", lambda: archive(parquet(region=repeated())), "label", "LABEL_TOO_LONG")
    yield Hostile("text of no encoding", lambda: b"region\n" + bytes(range(128, 256)) * (1 << 17), "label", "ENCODING")
    yield Hostile("spaces behind a digit", lambda: b"region,n\nx,1" + b" " * 100_000 + b"x\n", "label", "counted")
    if find_spec("openpyxl") is None:
        return
    yield Hostile("excel, spaces", lambda: workbook(b" " * (100 << 20)), "label", "EXCEL_TOO_LARGE")
    yield Hostile("excel, a long cell", lambda: workbook(CELL % b"region" + CELL % (b"9" * (30 << 20))), "label",
                  "EXCEL_TOO_LARGE")  # fmt: skip
    yield Hostile("excel, nested", lambda: workbook(CELL % b"region" + b"<row><c>" + b"<x>" * (5 << 20)), "label",
                  "EXCEL_CORRUPT")  # fmt: skip
    yield Hostile("excel, a far row", lambda: workbook(CELL % b"region" + b'<row r="%d"/>' % 10**12), "label",
                  "TOO_MANY_ROWS")  # fmt: skip


def too_much_for_one_process() -> Iterator[Hostile]:
    """Files that no look beforehand shows to be large: only the limits of a worker hold them."""
    yield Hostile("a page larger than its footer says", partial(lying_page, 300), "label", "counted")
    yield Hostile("a million labels", lambda: b"region\n" + b"\n".join(b"%d" % n for n in range(10**6)), "label",
                  "counted")  # fmt: skip


def attempt(file: bytes, use: str) -> str:
    """Count a file in the core; return "counted" or the code of its refusal."""
    from treedp_core.checks import InputError
    from treedp_core.records import count_bins, count_hierarchy, domain_taken_from_the_data, inspect
    from treedp_core.records.read.column_cache import hold

    with suppress(InputError):  # what a page does first; what it refuses is counted from the file
        hold(file)
    try:
        inspect(file)
        if use == "bins":
            count_bins(file, "n", lower=0, upper=100, n_bins=10)
        else:
            weight = "n" if use == "weight" else None
            count_hierarchy(file, ["region"], domain=domain_taken_from_the_data(), weight=weight)
    except InputError as error:
        return error.code
    return "counted"


def write(folder: Path) -> None:
    """Write every file once, under its number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, hostile in enumerate(hostile_files()):
        data = hostile.make()
        ending = next((name for start, name in ENDINGS.items() if data.startswith(start)), "csv.gz")
        (folder / f"hostile_{number:02d}.{ending}").write_bytes(data)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
