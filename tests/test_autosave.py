"""What the page takes of a browser that says it keeps a notebook: only what has the right form."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from hostile_notebooks import sound
from oracles_pages import codes, open_page, words
from pages.ui import autosave, uploads

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
    monkeypatch.setenv(uploads.PUBLIC_VARIABLE, "1")
    app = open_page("lab")
    app.session_state["side_notebook"] = True
    app.run()
    assert not [one for one in app.toggle if one.key == autosave._SWITCH]
    assert len(app.main.get("bidi_component")) == 1
    assert "This browser keeps" not in words(app)
