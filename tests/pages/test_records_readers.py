"""A kind of file is one reader and one line: a fixed-width one, added from outside, goes through every uploader."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import codes, dataset, open_page, widget, words
from treedp_core.checks import InputError
from treedp_core.cli import PUBLIC_VARIABLE
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan
from treedp_core.records import ReadOptions, count_bins, count_hierarchy, domain_taken_from_the_data, inspect
from treedp_core.records.read import READERS
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.file_checks import checked_columns, encoding_error
from treedp_core.records.read.readers import Reader
from treedp_core.records.read.sniff import PREVIEW_ROWS, Preview
from treedp_core.records.read.sources import ByteStream, FileSource
from treedp_core.registry import CLAIM
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("fixed_width", "own_jobs")

MAGIC = b"#columns"
FILE = b"#columns 8 8 4\nregion  city    n   \nNorth   Kiel    3   \nNorth   Ulm     12  \nSouth   Rome    5   \n"
AGES = b"#columns 4\nage \n3   \n10  \n20  \n99  \n"
FROM_DATA = domain_taken_from_the_data()


# ---- what one writes for a new kind of file


def lines(source: FileSource) -> Iterator[tuple[str, int]]:
    """The lines of a file, and how much of it is read."""
    stream = ByteStream(source, "utf-8")
    try:
        for line in io.BufferedReader(stream):
            try:
                yield line.decode("utf-8").rstrip("\r\n"), stream.done
            except UnicodeDecodeError as error:
                raise encoding_error(error.start) from None
    finally:
        stream.close()


def cells(line: str, ends: Sequence[int], number: int) -> list[str]:
    if len(line) != ends[-1]:
        raise InputError("ROW_WIDTH", f"Row {number:,} has {len(line)} characters but the layout has {ends[-1]}.")
    return [line[start:end].rstrip() for start, end in pairwise([0, *ends])]


def rows(source: FileSource) -> Iterator[tuple[list[str], int]]:
    """The header, and the rows below it."""
    read = lines(source)
    widths = next(read)[0].split()[1:]
    if not widths or not all(width.isdecimal() and 0 < int(width) <= 200 for width in widths):
        raise InputError("FIXED_WIDTH_LAYOUT", "Expected widths from 1 to 200 in the first line.")
    ends = [sum(map(int, widths[: n + 1])) for n in range(len(widths))]
    for number, (line, done) in enumerate(read, start=2):
        yield cells(line, ends, number), done


def preview(source: FileSource, options: ReadOptions) -> Preview:
    read = rows(source)
    columns = tuple(checked_columns(next(read, ([], 0))[0]))
    shown = tuple(tuple(row) for row, _ in islice(read, PREVIEW_ROWS))
    if not shown:
        raise InputError("NO_ROWS", "The file has a header but no rows; expected at least one record.")
    return Preview(source.name, FIXED_WIDTH.name, columns, shown)


def batches(
    source: FileSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[Any], int]]:
    """One row a batch: the worst case for what counts them."""
    read = rows(source)
    next(read)
    for row, done in read:
        yield [pa.array([row[seen.columns.index(name)]]) for name in (*labels, *numeric)], done


FIXED_WIDTH = Reader("Fixed width", ("fwf",), lambda head: head.startswith(MAGIC), preview, batches, first_row=3)


@pytest.fixture
def fixed_width() -> Iterator[None]:
    READERS.register(FIXED_WIDTH)  # the one line
    yield
    READERS.withdraw(FIXED_WIDTH.name)


# ---- what follows from it


def test_it_is_looked_at_and_counted() -> None:
    seen = inspect(FILE, name="t.fwf")
    assert (seen.kind, seen.columns, seen.rows[1]) == ("Fixed width", ("region", "city", "n"), ("North", "Ulm", "12"))
    data = count_hierarchy(FILE, ["region", "city"], domain=FROM_DATA, weight="n")
    assert data.counts.tolist() == [20, 15, 5, 3, 12, 5]
    done: list[tuple[int, int]] = []
    binned = count_bins(AGES, "age", lower=0, upper=20, n_bins=4, progress=lambda *now: done.append(now))
    assert binned.counts.tolist() == [4, 1, 0, 1, 1, 1]
    assert done[-1] == (len(AGES), len(AGES))
    assert data.not_reviewed == binned.not_reviewed == f"Read by own code, {CLAIM}."
    assert hold(FILE, name="t.fwf").preview.notices == seen.notices, "and so of what is counted again"
    assert not count_hierarchy(b"region\nNorth\n", ["region"], domain=FROM_DATA).not_reviewed
    plan = ReleasePlan.of(Experiment(), data)
    assert f"The file was read by own code, {CLAIM}: check its counts by another way." in plan.open_points
    assert ReleasePlan.from_json(plan.to_json()) == plan


def test_the_others_are_read_as_before_whatever_the_order() -> None:
    assert inspect(b"region,n\nNorth,3\n").kind == "CSV"
    out = io.BytesIO()
    pq.write_table(pa.table({"region": ["North"]}), out)
    assert inspect(out.getvalue()).kind == "Parquet"
    assert inspect(pa.table({"region": ["North"]})).kind == "table in memory"


BAD: list[tuple[str, bytes, str]] = [
    ("a.fwf", b"", "FILE_EMPTY"),
    ("a.fwf", b"region,n\nNorth,3\n", "TYPE_MISMATCH"),
    ("a.fwf", b"#columns x\nregion\nNorth\n", "FIXED_WIDTH_LAYOUT"),
    ("a.fwf", b"#columns 6\n      \nNorth \n", "BLANK_COLUMN"),
    ("a.fwf", b"#columns 4 4\nage age \n1   2   \n", "DUPLICATE_COLUMN"),
    ("a.fwf", b"#columns 6\nregion\n", "NO_ROWS"),
    ("a.fwf", b"#columns 6\nregion\nNorth \n\xff\xfe\xfd\xfc\xfb\xfa\n", "ENCODING"),
    ("a.fwf", b"#columns 6\nregion\nNorth\n", "ROW_WIDTH"),
    ("a.fwf", b"#columns 6\nregion\n" + b"9" * (3 << 20), "ROW_TOO_LONG"),
]


@pytest.mark.parametrize(("name", "content", "code"), BAD, ids=[row[2] for row in BAD])
def test_bad_bytes_get_their_code(name: str, content: bytes, code: str) -> None:
    with pytest.raises(InputError) as refused:
        inspect(content, name=name)
    assert refused.value.code == code


def test_a_refusal_names_the_row_as_the_reader_numbers_them() -> None:
    with pytest.raises(InputError, match="row 4") as refused:
        count_hierarchy(FILE.replace(b"12  ", b"-1  "), ["region"], domain=FROM_DATA, weight="n")
    assert refused.value.code == "COUNT_NEGATIVE"


# ---- the three uploaders


def pressed(app: AppTest, key: str) -> AppTest:
    """Press Count; where a bad row was met before, as how numbers are written was looked at, it is refused at once."""
    return app if codes(app) else widget(app, key).click().run()


def tree(app: AppTest) -> AppTest:
    next(one for one in app.multiselect if one.label.startswith("Columns")).set_value(["region", "city"]).run()
    next(one for one in app.selectbox if one.label == "Counts").set_value(3).run()
    return pressed(app, "upload_count")


def bins(app: AppTest) -> AppTest:
    next(one for one in app.selectbox if one.label == "Numeric column").set_value(1).run()
    for label, value in (("Lower", 0.0), ("Upper", 128.0)):
        next(one for one in app.number_input if one.label.startswith(label)).set_value(value)
    app.run()
    return pressed(app, "upload_count")


def prior(app: AppTest) -> AppTest:
    return pressed(app, "bud_prior_count")


SMALL = dataset(Tree.from_branching_factors((3,)), [1, 2, 3])
PRIOR = b"#columns 8 6\nnlevel1 count \nn1.0    4     \nn1.1    5     \nn1.2    6     \n"
UPLOADERS: dict[str, tuple[Callable[[], AppTest], Callable[[AppTest], AppTest], bytes, str]] = {
    "tree": (lambda: open_page("data", source="upload"), tree, FILE, "20 records → 6 counts"),
    "bins": (lambda: open_page("cdf", cdf_source="upload"), bins, AGES, "`good.fwf`"),
    "prior": (lambda: open_page("budget", SMALL, bud_prior="public"), prior, PRIOR, "15 records → 4 counts"),
}


@pytest.mark.parametrize("asks", UPLOADERS)
def test_every_uploader_takes_it_and_refuses_its_bad_bytes(asks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PUBLIC_VARIABLE, raising=False)
    opened, counted, content, told = UPLOADERS[asks]
    app = opened()
    assert not app.file_uploader[0].allowed_type, "any name is taken: what a file is, its reader says"
    app.file_uploader[0].upload("bad.fwf", b"#columns x\nregion\nNorth\n").run()
    assert codes(app) == ["FIXED_WIDTH_LAYOUT"]
    last = content.splitlines(keepends=True)[-1]
    app.file_uploader[0].upload("late.fwf", content + PREVIEW_ROWS * last + b"!" + last).run()
    assert set(codes(counted(app))) == {"ROW_WIDTH"}
    app.file_uploader[0].upload("good.fwf", content).run()
    assert not codes(app) and any(one.label.startswith("Fixed width") for one in app.expander)
    counted(app)
    assert not app.exception and not codes(app)
    assert told in words(app)
    if asks == "tree":
        assert "read by own code, not reviewed" in app.main.caption[0].value
