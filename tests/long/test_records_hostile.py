"""Files made to fill the memory or to hold up the reader cost little and get a sentence."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hostile_files import attempt, hostile_files, parquet
from refusals import refuses
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import count_bins, count_hierarchy, domain_taken_from_the_data, inspect
from treedp_core.records.read.sources import MAX_LINE_BYTES
from treedp_core.records.read.table_reader import open_table

ROOT = Path(__file__).resolve().parents[2]
FROM_DATA = domain_taken_from_the_data()
LIMIT_MB = 150

# Memory is that of a process of its own which has read a small file of each kind before: what is measured is the file.
CHILD = """
import json, re, resource, sys
from pathlib import Path
from hostile_files import attempt
def kilobytes(what):
    status = Path("/proc/self/status").read_text()
    return int(re.search(what + r":\\s+(\\d+) kB", status).group(1))
folder, cases = sys.argv[1], json.loads(sys.argv[2])
for small in ("small.csv", "small.parquet"):
    attempt(Path(folder, small).read_bytes(), "weight"), attempt(Path(folder, small).read_bytes(), "bins")
resource.setrlimit(resource.RLIMIT_AS, (1024 * kilobytes("VmSize") + (2 << 30),) * 2)
for name, use in cases:
    data = Path(folder, name).read_bytes()
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    try:
        outcome = attempt(data, use)
    except BaseException as error:
        outcome = type(error).__name__
    print(json.dumps([outcome, (kilobytes("VmHWM") - before) // 1024]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits and sizes of a process are read the Linux way")
def test_hostile_files_get_a_sentence_and_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small.csv").write_bytes(b"region,n\nN,1\n")
    (tmp_path / "small.parquet").write_bytes(parquet(region=["N"], n=["1"]))
    cases = list(hostile_files())
    for number, hostile in enumerate(cases):
        (tmp_path / str(number)).write_bytes(hostile.make())
    asked = json.dumps([(str(number), hostile.use) for number, hostile in enumerate(cases)])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), asked],
        capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-2000:]
    got = {hostile.name: answer[0] for hostile, answer in zip(cases, answers, strict=True)}
    assert got == {hostile.name: hostile.outcome for hostile in cases}
    grown = {hostile.name: answer[1] for hostile, answer in zip(cases, answers, strict=True)}
    assert max(grown.values()) <= LIMIT_MB, grown


class EndlessLine(io.RawIOBase):
    """A file of two gigabytes in one line, made as it is read; it counts what was read of it."""

    SIZE = 2 << 30

    def __init__(self) -> None:
        self.at = self.given = 0

    def read(self, size: int = -1) -> bytes:
        size = min(self.SIZE - self.at, self.SIZE if size < 0 else size)
        head = b"a\n"[self.at : self.at + size] if self.at < 2 else b""
        self.at, self.given = self.at + size, self.given + size
        return head + b"9" * (size - len(head))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + (0, self.at, self.SIZE)[whence]
        return self.at

    def tell(self) -> int:
        return self.at


def test_a_line_that_does_not_end_is_given_up_early() -> None:
    file = EndlessLine()
    with pytest.raises(InputError) as caught, open_table(file, None, None).reading(["a"]) as batches:
        list(batches)
    assert caught.value.code == "ROW_TOO_LONG"
    assert file.given < 8 * MAX_LINE_BYTES


def test_a_row_that_fits_into_a_block_is_read_wherever_it_starts() -> None:
    cell = b"x" * (700 << 10)  # three rows span two blocks and more
    file = b"a,b\n" + b"".join(b'"%d",%s\n' % (i, cell) for i in range(5))
    assert count_hierarchy(file, ["a"], domain=FROM_DATA).total == 5


def test_a_gzip_file_that_lies_about_its_size_is_given_up() -> None:
    one_line = gzip.compress(b"region\n" + b"9" * (32 << 20))
    lying = one_line[:-4] + (100).to_bytes(4, "little")
    assert attempt(lying, "label") == "ROW_TOO_LONG"


def test_dates_that_python_has_none_of_are_previewed() -> None:
    far = pa.array([2**31 - 1, 0, None], pa.date32())
    for origin in (parquet(when=far, n=[1, 2, 3]), pa.table({"when": far, "n": [1, 2, 3]})):
        assert [row[0] for row in inspect(origin).rows] == ["…", "1970-01-01", ""]


def test_long_text_is_cut_before_it_is_shown() -> None:
    for origin in (parquet(a=["é" * 500, None]), pa.table({"a": pa.array(["é" * 500, None]).dictionary_encode()})):
        assert inspect(origin).rows == (("é" * 80,), ("",))


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("x"), pa.ArrowCapacityError("x")])
def test_want_of_memory_is_a_refusal(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    for origin in (b"a\n1\n", parquet(a=["1"])):
        for count in (
            lambda origin=origin: count_hierarchy(origin, ["a"], domain=FROM_DATA),
            lambda origin=origin: count_bins(origin, "a", lower=0, upper=1, n_bins=2),
        ):
            with monkeypatch.context() as patch, pytest.raises(InputError) as caught:
                patch.setattr("treedp_core.records.count.counting.PathCounter.add", fail)
                count()
            assert caught.value.code == "FILE_TOO_LARGE" and caught.value.__context__ is None


def test_other_errors_of_the_reader_quote_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise pa.ArrowInvalid("cell 4711")

    monkeypatch.setattr("treedp_core.records.count.counting.PathCounter.add", fail)
    with refuses("FILE_UNREADABLE") as caught:
        count_hierarchy(pa.table({"a": ["x"]}), ["a"], domain=FROM_DATA)
    assert "4711" not in str(caught.value)


# ---- dictionaries of numbers


def coded(codes: list[int | None], words: list[str | None], index: pa.DataType) -> pa.Table:
    column = pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(words))
    return pa.table({"a": ["x", "y"] * (len(codes) // 2), "n": column})


@pytest.mark.parametrize("index", [pa.int8(), pa.int32(), pa.uint16(), pa.int64()])
def test_coded_numbers_are_read_as_the_plain_ones(index: pa.DataType) -> None:
    table = coded([2, 0, 2, 0], ["7", "not used, and no number: " + "x" * 99, "5"], index)
    plain = pa.table({"a": ["x", "y", "x", "y"], "n": ["5", "7", "5", "7"]})
    for origin in (table, table.slice(0, 4)):
        got = count_hierarchy(origin, ["a"], domain=FROM_DATA, weight="n")
        assert got.counts.tolist() == count_hierarchy(plain, ["a"], domain=FROM_DATA, weight="n").counts.tolist()
    part = count_hierarchy(table.slice(1, 2), ["a"], domain=FROM_DATA, weight="n")
    assert part.counts.tolist() == [12, 5, 7]
    assert count_bins(table, "n", lower=4, upper=8, n_bins=2).counts.tolist()[:3] == [4, 2, 2]


@pytest.mark.parametrize(
    ("codes", "words", "code", "place"),
    [
        ([0, 0, 1, 1], ["5", "-5"], "COUNT_NEGATIVE", "row 3"),
        ([0, None, 0, 0], ["5"], "COUNT_MISSING", "row 2"),
        ([0, 0, 0, 1], ["5", None], "COUNT_MISSING", "row 4"),
        ([0, 1, 1, 1], ["5", "9" * 99], "COUNT_TOO_LARGE", "row 2"),
        ([0, 1, 1, 1], ["5", "x" * 99], "COUNT_NOT_INTEGER", "row 2"),
    ],
)
def test_coded_counts_are_refused_by_row(
    codes: list[int | None], words: list[str | None], code: str, place: str
) -> None:
    with refuses(code) as caught:
        count_hierarchy(coded(codes, words, pa.int32()), ["a"], domain=FROM_DATA, weight="n")
    assert place in str(caught.value)


def test_coded_blanks_are_no_numbers() -> None:
    data = count_bins(coded([0, None, 1, 2], ["5", None, ""], pa.int32()), "n", lower=4, upper=8, n_bins=2)
    assert data.report.other == 3


# ---- many labels


def test_labels_are_told_apart_in_order_of_first_appearance_however_they_are_written() -> None:
    words = ["b", "é", " ", "a", "e\u0301", "b ", "c" * checks.MAX_LABEL]
    table = pa.table({"a": [*words, *words]})
    data = count_hierarchy(table, ["a"], domain=FROM_DATA)
    assert data.counts.tolist() == [14, 2, 2, 2, 2, 4, 2]
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["x", "y", "x"]))
    assert count_hierarchy(pa.table({"a": twice}), ["a"], domain=FROM_DATA).counts.tolist() == [3, 2, 1]


def test_too_many_labels_are_refused_by_the_length_of_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(raw: str) -> None:
        assert raw == "a", "a label was looked at"  # the column's own name may be

    monkeypatch.setattr(checks, "MAX_NODES", 50)
    monkeypatch.setattr("treedp_core.records.read.text.problem", look)
    with refuses("TOO_MANY_NODES"):
        count_hierarchy(pa.table({"a": [f"{i}\u00e9" for i in range(60)]}), ["a"], domain=FROM_DATA)
