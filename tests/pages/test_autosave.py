"""What the page takes of a browser that says it keeps a notebook: only what has the right form."""

from __future__ import annotations

import base64
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from browsing import eventually
from hostile_notebooks import sound
from oracles_pages import codes, open_page, press, words
from pages.ui.notebook import autosave
from pages.ui.notebook import autosave as writer
from treedp_core.cli import PUBLIC_VARIABLE
from treedp_core.notebook.file.archive import open_study, save

pytestmark = pytest.mark.usefixtures("own_jobs")
FOUND = {"kind": "found", "title": "Survey", "when": 1_795_000_000_000, "size": 5_000}


def after(monkeypatch: pytest.MonkeyPatch, told: Any) -> Any:
    state: dict[str, Any] = {autosave._KEY: SimpleNamespace(told=told)}
    monkeypatch.setattr(st, "session_state", state)
    autosave._told()
    return autosave._auto()


@pytest.mark.parametrize(
    "told",
    [None, "found", [], {}, {"kind": "found"}, {**FOUND, "title": 3}, {**FOUND, "title": "x" * 201},
     {**FOUND, "when": "now"}, {**FOUND, "when": 1e300}, {**FOUND, "size": None}, {**FOUND, "kind": ["found"]},
     {"kind": "content", "content": 3}],
)  # fmt: skip
def test_what_has_another_form_changes_nothing(monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    auto = after(monkeypatch, told)
    assert (auto.on, auto.found, auto.other, auto.coming) == (False, None, None, b"")


def test_what_the_browser_keeps_is_offered_and_nothing_is_written_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = after(monkeypatch, FOUND)
    assert auto.on and auto.found.title == "Survey" and auto.has_question


@pytest.mark.parametrize("state", ["found", "other"])
def test_what_is_gone_from_the_browser_is_not_asked_about_and_not_kept_there_again(state: str) -> None:
    app = open_page("lab")
    auto = app.session_state["_autosave"]
    auto.on = True
    setattr(auto, state, autosave._record(FOUND))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "session_state", {autosave._KEY: SimpleNamespace(told={"kind": "none"}), "_autosave": auto})
        autosave._told()
    app.run()
    assert not auto.on and not auto.has_question and not app.sidebar.info and not app.sidebar.warning


def test_what_the_browser_could_not_keep_is_said_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = press(open_page("lab"), "lab_figure_pin")
    auto = app.session_state["_autosave"]
    auto.on, auto.failed = True, autosave.FULL
    app.run()
    assert "no room left" in app.sidebar.warning[0].value
    nth = auto.written.nth
    press(app, "autosave_retry")
    assert auto.written.nth == nth + 1
    assert not after(monkeypatch, {"kind": "written"}).failed
    assert after(monkeypatch, {"kind": "failed", "is_open": True}).failed == autosave.FULL
    assert after(monkeypatch, {"kind": "failed", "is_open": False}).failed == autosave.CLOSED


def test_a_table_that_could_not_be_kept_is_not_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("visits.csv", b"place\nx\ny\n").run()
    next(one for one in app.multiselect if one.label.startswith("Columns")).set_value(["place"]).run()
    app.button(key="upload_count").click().run()
    app.button(key="autosave_table").click().run()
    assert "Kept in this browser" in words(app)
    for why in (autosave.FULL, autosave.CLOSED):
        app.session_state["_autosave"].failed = why
        app.run()
        assert f"**Not kept**: {why}" in words(app)
        assert "Kept in this browser" not in words(app), "seen failing: it was said to be kept, and gone after a reload"


def test_a_title_is_shown_as_it_is() -> None:
    app = open_page("lab")
    app.session_state["_autosave"].found = autosave._record({**FOUND, "title": "![x](http://192.0.2.1/b.png)"})
    app.run()
    assert "`![x](http://192.0.2.1/b.png)`" in app.sidebar.info[0].value


@pytest.mark.parametrize("content", [base64.b64encode(b"PK\x03\x04x").decode(), "not base64", ""])
def test_a_record_that_is_no_notebook_is_refused_and_nothing_changes(content: str) -> None:
    app = open_page("lab", eps="0.5")
    with pytest.MonkeyPatch.context() as patch:
        auto = after(patch, {**FOUND, "kind": "content", "content": content})
    app.session_state["_autosave"].coming = auto.coming
    app.run()
    assert app.session_state["eps"] == 0.5
    if content:
        assert next(one.value.splitlines()[-1] for one in app.sidebar.error).startswith(":small[`NOTEBOOK_")


def test_a_record_that_is_one_takes_the_place_of_the_session() -> None:
    app = open_page("lab", eps="0.5")
    app.session_state["_autosave"].coming = sound()
    app.run()
    assert not app.exception and not codes(app)
    assert app.session_state["eps"] == 2.0
    assert [one.name for one in app.session_state["_notebook"].notebook.cells] == ["Errors"]


def test_a_public_app_keeps_nothing_in_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLIC_VARIABLE, "1")
    app = open_page("lab")
    app.session_state["side_notebook"] = True
    app.run()
    assert not [one for one in app.toggle if one.key == autosave._SWITCH]
    scripts = [one.key for one in app.main.get("bidi_component")]
    assert scripts == ["shell_script", "follow_script"], "and none that writes"
    assert "This browser keeps" not in words(app)


def kept_in(app: AppTest) -> list[str]:
    """The names of the cells that the browser is given to keep."""
    content = app.session_state["_autosave"].written.content
    return [one.name for one in open_study(content).notebook.cells] if content else []


def test_a_large_notebook_is_written_beside_the_page_which_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SMALL", (0, 0))
    may_go, now = threading.Event(), [100.0]
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(writer, "save", lambda study, with_data: may_go.wait(60) and save(study, with_data=with_data))
    app = press(open_page("lab"), "lab_figure_pin")
    app.session_state["_autosave"].on = True
    app.run()
    assert not app.exception
    auto = app.session_state["_autosave"]
    assert auto.written.writing is not None and not auto.written.writing.is_over and kept_in(app) == []
    press(app, "lab_figure_pin")  # done while it is written
    may_go.set()
    eventually(lambda: auto.written.writing.is_over)
    app.run()
    assert kept_in(app) == ["Error lab: Error vs ε"] and auto.written.writing is None, "the next one waits for its time"
    now[0] += writer.PAUSE_SECONDS
    app.run()
    eventually(
        lambda: auto.written.writing is None or auto.written.writing.is_over
    )  # it may have been over within that run
    app.run()
    assert len(kept_in(app)) == 2 and not app.sidebar.warning


def test_what_is_too_large_for_the_browser_is_said_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    app = press(open_page("lab"), "lab_figure_pin")
    app.session_state["_autosave"].on = True
    monkeypatch.setattr(writer, "LARGEST", (0, 0))
    app.run()
    assert "too large by now to be kept in the browser" in app.sidebar.warning[0].value
    monkeypatch.setattr(writer, "LARGEST", (10**6, 10**9))
    assert not app.run().sidebar.warning
    monkeypatch.setattr(writer, "SMALL", (0, 0))
    monkeypatch.setattr(writer, "MOST_BYTES", 10)
    press(app, "lab_figure_pin")
    eventually(lambda: bool(app.run().sidebar.warning))
    assert len(kept_in(app)) == 1 and "save it as a file" in app.sidebar.warning[0].value
