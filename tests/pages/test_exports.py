"""Files that leave the app: for how long they stay, and tables in which what is true stands apart."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.runtime.media_file_storage import MediaFileKind, MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from browsing import ROOT
from pages.ui.session.download import LINGER_SECONDS, Lingering
from treedp_core.records.export.columns import safe_cell
from treedp_core.records.export.tables import apart, csv_bytes, csv_files, shown, zipped


def test_a_swept_file_stays_for_a_minute_and_longer_if_asked_for_again() -> None:
    time = [0.0]
    below = MemoryMediaFileStorage("/media")
    store = Lingering(below, lambda: time[0])

    def ask() -> str:
        return store.load_and_get_id(b"table", "text/csv", MediaFileKind.DOWNLOADABLE, "table.csv")

    def is_there() -> bool:
        store.sweep()
        try:
            return below.get_file(name).content == b"table"
        except MediaFileStorageError:
            return False

    name = ask()
    assert store.get_url(name) == f"/media/{name}.csv"
    store.delete_file(name)
    time[0] = LINGER_SECONDS - 1
    assert is_there()
    assert ask() == name
    time[0] = LINGER_SECONDS + 1
    assert is_there()
    store.delete_file(name)
    time[0] = 2 * LINGER_SECONDS
    assert is_there()
    time[0] = 2 * LINGER_SECONDS + 1
    assert not is_there()
    with pytest.raises(MediaFileStorageError):
        store.get_url(name)


SECRET = {"place": ["Ulm", "Bonn"], "true (NOT PRIVATE)": [3, 5], "released": [4, 4]}


def test_what_is_true_and_what_is_released_are_files_of_their_own() -> None:
    files = csv_files(SECRET, "rows", private=True, simulated=True)
    assert {name: content.decode("utf-8-sig").splitlines() for name, content in files.items()} == {
        "rows-NOT-PRIVATE.csv": ["place,true (NOT PRIVATE)", "Ulm,3", "Bonn,5"],
        "rows-simulated.csv": [
            "place,released,simulation", "Ulm,4,simulated release", "Bonn,4,simulated release",
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "private", "names"),
    [
        ({"level": ["all"], "error": [1.5]}, False, ["t"]),
        ({"level": ["all"], "error": [1.5]}, True, ["t-NOT-PRIVATE"]),
        ({"NOT PRIVATE: tuned": ["NOT PRIVATE"], "level": ["all"], "released": [1]}, False, ["t-NOT-PRIVATE"]),
        ({"true (NOT PRIVATE)": [1]}, False, ["t-NOT-PRIVATE"]),
        ({"level": ["all"], "true NOT PRIVATE": [1], "bound": [2]}, False, ["t-NOT-PRIVATE", "t-released"]),
        ({"node": [1], "path": ["Ulm"], "count NOT PRIVATE": [1]}, False, ["t-NOT-PRIVATE"]),
        ({}, True, ["t-NOT-PRIVATE"]),
    ],
)
def test_names_of_files_say_what_is_not_private(columns: dict[str, Any], private: bool, names: list[str]) -> None:
    assert list(apart(columns, "t", private=private)) == names


def test_an_archive_is_the_same_for_the_same_files() -> None:
    files = csv_files(SECRET, "rows")
    assert zipped(files) == zipped(files)
    with zipfile.ZipFile(io.BytesIO(zipped(files))) as archive:
        assert archive.testzip() is None
        assert {one: archive.read(one) for one in archive.namelist()} == files


def test_a_table_shown_is_written_where_a_folder_is_given(tmp_path: Path) -> None:
    assert shown(SECRET, "rows", tmp_path / "new")["released"].tolist() == [4, 4]
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == ["rows-NOT-PRIVATE.csv", "rows-released.csv"]
    again = shown(b"\xef\xbb\xbfcity,count\nNA,3\n", "records", tmp_path)
    assert again.to_dict("list") == {"city": ["NA"], "count": [3]}
    assert (tmp_path / "records.csv").exists()


def test_heads_of_what_is_true_are_written_in_one_place() -> None:
    no_head = r'(?! *(?:>>>|\.\.\.|\[))(?!.*(?:label=|Reason\(|"true": ))'
    heads = re.compile(rf'^{no_head}.*"[\w %]+ \(?NOT PRIVATE\)?"', re.MULTILINE)
    found = {str(path): heads.findall(path.read_text(encoding="utf-8"))
             for folder in ("treedp_core", "pages") for path in (ROOT / folder).rglob("*.py")}  # fmt: skip
    assert not {name: lines for name, lines in found.items() if lines}


CELLS = st.text('=+-@ a1,"\n;ä', max_size=4) | st.integers() | st.booleans() | st.floats() | st.none()


@given(rows=st.lists(st.tuples(CELLS, st.text("=+-@ a", max_size=2), st.integers(-9, 9), st.floats()), max_size=12))
@settings(max_examples=60)
def test_a_table_is_written_as_if_cell_by_cell(rows: list[tuple[Any, str, int, float]]) -> None:
    """As lists and as arrays, whatever stands in one column, and however often; numbers are never text."""
    mixed, texts, whole, real = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    columns = {
        "=mixed": mixed, "texts": np.array(texts, dtype=object), "whole": np.array(whole, dtype=np.int64),
        "real": np.array(real, dtype=np.float64), "listed": whole,
    }  # fmt: skip
    out = io.StringIO(newline="")
    csv.writer(out).writerow(["'=mixed", "texts", "whole", "real", "listed"])
    csv.writer(out).writerows([*map(safe_cell, row), row[2]] for row in rows)
    assert csv_bytes(columns) == out.getvalue().encode("utf-8-sig")
