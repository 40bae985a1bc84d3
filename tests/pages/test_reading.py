"""Reading a file: in a worker with limits, with progress and Cancel, and what is in use stays where it is refused."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from hostile_files import lying_page
from oracles_pages import Later, codes, open_page, press, words
from pages.ui.jobs import jobs
from pages.ui.jobs.workers import Workers
from pages.ui.tables import worker_read
from pages.ui.tables.worker_read import limits_of
from test_pages_data import VISITS, count, held, labelled, uploaded
from treedp_core.checks import InputError
from treedp_core.records import ReadOptions, count_hierarchy, domain_of_paths, domain_taken_from_the_data
from treedp_core.records.worker_read import STEPS, look_at, read
from treedp_core.watch import Cancelled, Watch

FROM_DATA = domain_taken_from_the_data()
LARGE = b"region,n\n" + b"N,1\nS,2\n" * 600_000


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    mine = Workers(["treedp_core.records.worker_read"])
    yield mine
    mine.close()


# ---- what a worker does


def test_a_file_is_counted_there_as_here_and_all_its_steps_are_told(workers: Workers) -> None:
    done: list[int] = []
    work = partial(read, count_hierarchy, LARGE, ["region"], domain=FROM_DATA, weight="n")
    there = workers.run(work, Watch(done.append), limits=limits_of(LARGE))
    here = count_hierarchy(LARGE, ["region"], domain=FROM_DATA, weight="n")
    assert there.fingerprint == here.fingerprint and there.report == here.report
    assert there.source_digest == here.source_digest and not there.counts.flags.writeable
    assert sum(done) == STEPS


def test_columns_come_back_and_are_counted_like_the_file(workers: Workers) -> None:
    look = partial(look_at, LARGE, name="t.csv", options=ReadOptions(), limit=64 << 20)
    preview, columns, _ = workers.run(look, Watch(), limits=limits_of(LARGE))
    assert preview.columns == ("region", "n") and columns is not None
    again = workers.run(partial(read, count_hierarchy, columns, ["region"], domain=FROM_DATA), Watch())
    assert again.fingerprint == count_hierarchy(LARGE, ["region"], domain=FROM_DATA).fingerprint


def warned(app: AppTest, said: str) -> bool:
    return any(said in one.value for one in app.warning)


@pytest.mark.parametrize(
    ("last", "said", "button", "option"),
    [
        ("Köln,x\n".encode("cp1252"), "look like cp1252", "Read as cp1252", "encoding"),
        (b"Ulm,x\nUlm\n".replace(b"x", b"x,y"), "has 3 cells but the table has 2 columns", "", ""),
        (b'Ulm,"x\n', "is not closed", "", ""),
    ],
)
def test_what_contradicts_the_first_rows_is_said_before_anything_is_counted(
    last: bytes, said: str, button: str, option: str, workers: Workers, own_jobs: jobs.Jobs
) -> None:
    """Seen failing: nothing was said, columns and suggestions only were not there."""
    content = b"region,n\n" + b"Ulm,1\n" * 100_000 + last
    look = partial(look_at, content, name="t.csv", options=ReadOptions(), limit=64 << 20)
    looked = workers.run(look, Watch(), limits=limits_of(content))
    assert looked.columns is None and looked.refused is not None and said in str(looked.refused)
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("visits.csv", content).run()
    assert warned(app, said) and not app.error and not app.exception
    offered = [one for one in app.button if one.key.startswith("upload_mend")]
    assert [one.label for one in offered] == ([button] if button else [])
    if button:
        offered[0].click().run()
        assert not warned(app, said) and labelled(app.selectbox, "Encoding").value == "cp1252"
        labelled(app.multiselect, "Columns").set_value(["region"]).run()
        count(app)
        assert held(app).total == 100_001 and getattr(held(app).report.recipe, option) == "cp1252"


@pytest.mark.parametrize("at", [2, 60_000])
def test_short_rows_are_filled_with_blanks_by_a_press(at: int, own_jobs: jobs.Jobs) -> None:
    """Seen failing: the page showed no way but the fold of options."""
    lines = [b"Ulm,1,2"] * 60_010
    lines[at] = b"Ulm,1"
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("visits.csv", b"\n".join([b"region,n,m", *lines])).run()
    if at < 10:  # guessed from the first rows, until it is said otherwise
        labelled(app.selectbox, "Short rows").set_value("none").run()
        assert codes(app) == ["ROW_WIDTH"]
    next(one for one in app.button if one.label == "Fill short rows with blanks").click().run()
    assert not warned(app, "but the table has") and not app.error
    labelled(app.multiselect, "Columns").set_value(["m"]).run()
    count(app)
    assert held(app).labels.of_level(1).tolist() == ["2", "(blank)"]


def test_keys_of_records_are_told_and_said_otherwise_by_one_choice(own_jobs: jobs.Jobs) -> None:
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("visits.json", b'{"x": {"a": 1}, "y": {"a": 2}}').run()
    assert list(labelled(app.multiselect, "Columns").options) == ["key", "a"]
    for said, shown in (("", ["x.a", "y.a"]), ("{}", ["key", "a"])):
        labelled(app.selectbox, "Records").set_value(said).run()
        assert list(labelled(app.multiselect, "Columns").options) == shown


def test_several_files_of_an_archive_are_one_table_by_a_typed_pattern(own_jobs: jobs.Jobs) -> None:
    """Seen failing: the list took no pattern."""
    app, stored = open_page("data", source="upload"), io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        for name in ("visits-1.csv", "visits-2.csv", "other.csv"):
            archive.writestr(name, VISITS)
    app.file_uploader[0].upload("all.zip", stored.getvalue()).run()
    records = labelled(app.selectbox, "Records")
    assert records.placeholder == "visits-1.csv" and records.proto.accept_new_options
    for said, total in (("v-*.csv", 0), ("visits-*.csv", 12)):
        records = labelled(app.selectbox, "Records")
        records.options.append(said)  # typed: what drives the page here only picks what is listed
        records.set_value(said).run()
        assert codes(app) == ([] if total else ["PART"])
    labelled(app.multiselect, "Columns").set_value(["place"]).run()
    count(app)
    assert held(app).total == 12 and held(app).report.recipe.part == "visits-*.csv"


def test_a_domain_file_is_read_there_too(workers: Workers) -> None:
    listed = partial(domain_of_paths, b"region\nN\nE\nS\n")
    found = workers.run(partial(read, count_hierarchy, LARGE, ["region"], domain=listed), Watch())
    assert found.labels.of_level(1).tolist()[:3] == ["N", "E", "S"]


def test_reading_stops_where_its_watch_says_so() -> None:
    stopped = Watch(cancelled=lambda: True)
    for work in (
        partial(read, count_hierarchy, LARGE, ["region"], domain=FROM_DATA),
        partial(look_at, LARGE, name="t", options=ReadOptions(), limit=1 << 20),
    ):
        with pytest.raises(Cancelled):
            work(watch=stopped)


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_a_page_that_lies_about_its_size_breaks_the_limit_and_not_the_server(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lying_page(128)
    monkeypatch.setattr(worker_read, "READ_BYTES", 64 << 20)
    for work in (
        partial(look_at, file, name="t.parquet", options=ReadOptions(), limit=0),
        partial(read, count_hierarchy, file, ["region"], domain=FROM_DATA),
    ):
        with pytest.raises(InputError, match="This file needs more than 64 MB or 60 seconds to read") as refused:
            workers.run(work, Watch(), limits=limits_of(file))
        assert refused.value.code == "FILE_TOO_LARGE"
    monkeypatch.setattr(worker_read, "READ_BYTES", 1 << 30)
    assert workers.run(work, Watch(), limits=limits_of(file)).total == 640_000


def test_a_larger_file_may_take_longer(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(LARGE)
    assert limits_of(b"").seconds == 60
    assert limits_of(LARGE).seconds == limits_of(tmp_path / "f").seconds == 60 + (len(LARGE) >> 20)


# ---- on the page


def waiting(monkeypatch: pytest.MonkeyPatch, app: AppTest) -> AppTest:
    """The page after Count was pressed, while the count waits for its turn."""
    monkeypatch.setattr(jobs, "pool", Later)
    monkeypatch.setattr(worker_read, "QUICK_SECONDS", 0.0)
    return count(app)


def test_a_count_shows_its_progress_and_is_cancelled(monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs) -> None:
    app = waiting(monkeypatch, uploaded(VISITS, ["place"]))
    before = held(app).fingerprint
    assert "Counting: 0 %" in words(app) and held(app).name != "visits.csv"
    press(app, "upload_counting_cancel")
    app.run()
    assert own_jobs.slots["upload_counting"].stop.is_set()
    assert "Counting: cancelled." in words(app) and held(app).fingerprint == before
    press(app, "upload_counting_again")
    assert "Counting: 0 %" in words(app)


def test_a_first_look_shows_its_progress_and_is_cancelled(monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    monkeypatch.setattr(worker_read, "QUICK_SECONDS", 0.0)
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("visits.csv", VISITS).run()
    assert "Reading: 0 %" in words(app) and not app.multiselect
    press(app, "upload_look_cancel")
    app.run()
    assert "Reading: cancelled." in words(app)


def test_what_was_asked_for_is_counted_whatever_is_chosen_meanwhile(
    monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    app = waiting(monkeypatch, uploaded(VISITS, ["place"]))
    work = own_jobs.slots["upload_counting"]
    labelled(app.multiselect, "Columns").set_value(["who"]).run()
    assert own_jobs.slots["upload_counting"] is work and not work.stop.is_set()


def test_a_file_that_goes_takes_its_work_with_it(monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs) -> None:
    app = waiting(monkeypatch, uploaded(VISITS, ["place"]))
    work = own_jobs.slots["upload_counting"]
    app.switch_page("pages/lab.py").run()
    app.run()
    assert work.stop.is_set() and "upload_counting" not in own_jobs.slots
    assert app.session_state["_upload_upload"].counting is None


def test_columns_that_are_removed_take_their_work_with_them(
    monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    app = count(uploaded(VISITS, ["place"]))
    waiting(monkeypatch, app)
    work = own_jobs.slots["upload_counting"]
    press(app, "upload_remove")
    assert work.stop.is_set() and "upload_counting" not in own_jobs.slots
    assert app.session_state["_upload_upload"].counting is None


class Broken:
    """Workers whose limits every file breaks."""

    def run(self, work: Any, watch: Watch, is_wanted: Any, limits: Any) -> Any:
        raise InputError(*limits.broken)


def test_a_file_that_breaks_the_limits_changes_nothing(monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs) -> None:
    app = count(uploaded(VISITS, ["place"]))
    before = held(app).fingerprint
    press(app, "upload_replace")
    app.file_uploader[0].upload("other.csv", b"place\nx\ny\n").run()
    labelled(app.multiselect, "Columns").set_value(["place"]).run()
    monkeypatch.setattr(jobs, "WORKERS", Broken())
    count(app)
    assert codes(app) == ["FILE_TOO_LARGE"] and "Nothing was changed." in words(app)
    assert held(app).fingerprint == before and "upload_counting" not in own_jobs.slots


@pytest.mark.parametrize(("name", "content", "says"), [
    ("survey.dat", b"region;n\nNorth;1\nSouth;2\n", ""), ("survey", b"region;n\nNorth;1\nSouth;2\n", ""),
    ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\1" * 600, "an old Office document"),
    ("report.pdf", b"%PDF-1.7\n" + b"x" * 600, "a PDF document"),
])  # fmt: skip
def test_a_file_of_any_name_is_taken_and_told_by_what_is_in_it(name: str, content: bytes, says: str) -> None:
    """Seen failing: the uploader itself refused names that it did not know, and did not say what to do."""
    app = open_page("data", source="upload")
    assert not app.file_uploader[0].proto.type
    app.file_uploader[0].upload(name, content).run()
    assert not app.exception and (says in words(app)) and bool(app.error) == bool(says)
