"""A notebook named on the command line: opened as a session begins, written with every change, never over another's."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from browsing import eventually
from hostile_notebooks import sound
from oracles_pages import dataset, open_page, press
from pages.ui.tables.session_tables import Kept
from treedp_core import cli
from treedp_core.checks import InputError
from treedp_core.notebook import Notebook
from treedp_core.notebook.file.archive import open_study, save
from treedp_core.notebook.study import Study, Table
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")


def names(path: Path) -> list[str]:
    return [one.name for one in open_study(path.read_bytes()).notebook.cells] if path.exists() else []


def cells(app: AppTest) -> list[str]:
    return [one.name for one in app.session_state["_notebook"].notebook.cells]


def test_the_command_tells_records_from_notebooks_and_where_to_save(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.treedp").write_bytes(sound())
    records = cli.environment({}, str(tmp_path / "a.csv"), save=str(tmp_path / "c.treedp"))
    assert records["TREEDP_FILE"] == str(tmp_path / "a.csv") and "TREEDP_NOTEBOOK" not in records
    assert records["TREEDP_SAVE"] == str(tmp_path / "c.treedp") and records["TREEDP_KEY"]
    notebook = cli.environment({"TREEDP_SAVE": "/old.treedp"}, str(tmp_path / "b.treedp"))
    assert notebook["TREEDP_NOTEBOOK"] == str(tmp_path / "b.treedp")
    assert "TREEDP_FILE" not in notebook and notebook["TREEDP_SAVE"] == notebook["TREEDP_NOTEBOOK"]
    both = cli.environment({}, str(tmp_path / "b.treedp"), save=str(tmp_path / "c.treedp"))
    assert (both["TREEDP_NOTEBOOK"], both["TREEDP_SAVE"]) == (str(tmp_path / "b.treedp"), str(tmp_path / "c.treedp"))
    assert "TREEDP_SAVE" not in cli.environment({}, str(tmp_path / "b.treedp"), network=True), "others would write it"
    (tmp_path / "b.treedp").chmod(0o444)
    is_root = os.access(tmp_path / "b.treedp", os.W_OK)
    assert ("TREEDP_SAVE" in cli.environment({}, str(tmp_path / "b.treedp"))) == is_root
    for place in (tmp_path / "x.csv", tmp_path / "no" / "x.treedp", tmp_path):
        with pytest.raises(InputError) as refused:
            cli.environment({}, save=str(place))
        assert refused.value.code == "SAVE_PLACE"


def test_a_session_begins_with_the_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "study.treedp"
    path.write_bytes(sound())
    monkeypatch.setenv("TREEDP_NOTEBOOK", str(path))
    app = open_page("notebook")
    assert not app.exception
    assert cells(app) == ["Errors"] and app.session_state["eps"] == 2.0
    assert app.session_state["_from_file"]["upload"].data.counts.tolist() == [3, 2, 1, 0]
    press(app, "nb_follow")
    assert path.read_bytes() == sound(), "it is only opened"


def test_a_notebook_that_is_refused_leaves_a_session_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "study.treedp"
    path.write_bytes(sound()[:-5])
    monkeypatch.setenv("TREEDP_NOTEBOOK", str(path))
    app = open_page("lab", eps="0.5")
    assert "NOTEBOOK_DAMAGED" in app.sidebar.error[0].value
    assert app.session_state["eps"] == 0.5
    assert not app.run().sidebar.error, "said once"


@pytest.mark.parametrize("with_data", [True, False])
def test_a_notebook_that_is_opened_is_written_as_what_it_is(
    with_data: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Seen failing: only what --save names was written."""
    path = tmp_path / "study.treedp"
    own = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], name="own.csv")
    study = Study(settings={"source": "upload"}, tables=(Table("upload", own, None, datetime.now(UTC)),), version="1")
    path.write_bytes(save(study, with_data=with_data))
    for name in ("TREEDP_NOTEBOOK", "TREEDP_SAVE"):
        monkeypatch.setenv(name, str(path))
    app = open_page("lab")
    said = "saved in `study.treedp`, " + ("which holds TRUE COUNTS" if with_data else "without data")
    assert any(said in one.value for one in app.sidebar.caption)
    if not with_data:
        app.session_state["_from_file"] = {"upload": Kept(own)}
    press(app.run(), "lab_figure_pin")
    eventually(lambda: names(path) == ["Error lab: Error vs ε"])
    found = open_study(path.read_bytes())
    assert [one.data.fingerprint for one in found.tables] == ([own.fingerprint] if with_data else [])
    assert (found.notebook.cells[0].columns is not None) == with_data
    assert len(found.asked) == (0 if with_data else 1)


def test_every_change_is_written_and_gone_on_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "study.treedp"
    monkeypatch.setenv("TREEDP_SAVE", str(path))
    app = open_page("lab")
    assert not path.exists(), "nothing has been done yet"
    press(app, "lab_figure_pin")
    eventually(lambda: names(path) == ["Error lab: Error vs ε"])
    assert [one.name for one in tmp_path.iterdir()] == ["study.treedp"]
    if os.name != "nt":
        assert path.stat().st_mode & 0o077 == 0, "nobody else may read it"
    press(app, "lab_figure_pin")
    eventually(lambda: len(names(path)) == 2)
    assert len(cells(open_page("lab"))) == 2


@pytest.mark.parametrize("named", [False, True])
def test_a_table_read_where_it_lay_is_in_use_again_also_where_no_file_is_named(
    named: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "study.treedp"
    own = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], name="own.csv")
    table = Table("file", own, None, datetime.now(UTC))
    path.write_bytes(save(Study(settings={"source": "file"}, tables=(table,), version="1"), with_data=True))
    monkeypatch.setenv("TREEDP_NOTEBOOK", str(path))
    if named:
        monkeypatch.setenv("TREEDP_FILE", str(tmp_path / "own.csv"))
    app = open_page("consistency")
    assert app.session_state["source"] == ("file" if named else "upload")
    assert any("own.csv` · 3 levels" in one.value for one in app.caption)
    press(app, "con_figure_pin")
    (cell,) = app.session_state["_notebook"].notebook.cells
    assert cell.settings["source"] == (app.session_state["source"],)
    before = replace(cell, settings={})  # as those were kept that had the file's place as their default
    again = Study(notebook=Notebook("S", (before,)), tables=(table,), version="1")
    path.write_bytes(save(again, with_data=True))
    monkeypatch.delenv("TREEDP_FILE", raising=False)
    app = open_page("notebook")
    app.button(key="nb_follow").click().run()
    assert app.session_state["source"] == "upload", "where a cell is opened, too"


def test_what_somebody_else_has_written_is_not_written_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "study.treedp"
    monkeypatch.setenv("TREEDP_SAVE", str(path))
    app = open_page("lab")
    path.write_bytes(sound())
    press(app, "lab_figure_pin")
    assert "Which one is to stay?" in app.sidebar.warning[0].value
    assert path.read_bytes() == sound()
    press(app, "disk_mine")
    eventually(lambda: names(path) == ["Error lab: Error vs ε"])
    path.write_bytes(sound())
    press(app, "lab_figure_pin")
    eventually(lambda: app.session_state["_disk"].is_other)
    path.write_bytes(sound()[:-5])
    press(app.run(), "disk_open")
    assert "NOTEBOOK_DAMAGED" in app.sidebar.error[0].value and len(cells(app)) == 2
    assert "Which one is to stay?" in app.run().sidebar.warning[0].value, "what cannot be read is not written over"
    path.write_bytes(sound())
    press(app, "disk_open")
    assert cells(app) == ["Errors"]


def test_a_file_that_is_gone_is_written_anew_and_is_no_fault_where_it_is_to_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "study.treedp"
    monkeypatch.setenv("TREEDP_SAVE", str(path))
    app = press(open_page("lab"), "lab_figure_pin")
    eventually(lambda: len(names(path)) == 1)
    path.unlink()
    press(app, "lab_figure_pin")
    assert not app.sidebar.warning
    eventually(lambda: len(names(path)) == 2)
    path.unlink()
    monkeypatch.setenv("TREEDP_NOTEBOOK", str(path))
    app = open_page("lab")
    assert not app.exception and "FILE_MISSING" in app.sidebar.error[0].value
