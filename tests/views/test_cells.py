"""Cells are made again by their views: of the tables that they were made of, and whole once their work is done."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import dataset, open_page, pick, press
from pages.ui.jobs import jobs
from pages.ui.tables.session_tables import Kept
from treedp_core.notebook import Cell
from treedp_core.notebook.file.archive import open_study, save
from treedp_core.notebook.study import Study
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")
OWN = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100], name="own.csv")
OTHER = dataset(Tree.from_branching_factors((2,)), [7, 8], name="other.csv")


class Held:
    """An executor that does its work when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, tuple[Any, ...]]] = []

    def submit(self, work: Any, *arguments: Any) -> None:
        self.waiting.append((work, arguments))

    def now(self) -> None:
        for work, arguments in self.waiting:
            work(*arguments)
        self.waiting.clear()


def cells(app: AppTest) -> tuple[Cell, ...]:
    found: tuple[Cell, ...] = app.session_state["_notebook"].notebook.cells
    return found


def again(app: AppTest) -> AppTest:
    """Press *Run all again* on the page of the notebook, and let all of it run."""
    app = press(pick(app.switch_page("pages/notebook.py").run(), nb_view="all"), "nb_again_all")
    while "_run_again" in app.session_state:
        app.run()
    assert not app.exception
    return app


def replaced(app: AppTest) -> AppTest:
    """Another table counted in the place of the one in use."""
    app.session_state["_from_file"] = {"upload": Kept(OTHER)}
    return app.run()


def test_a_hierarchy_that_another_one_replaced_stays_for_its_cells_until_the_last_is_gone() -> None:
    app = replaced(press(open_page("lab", OWN), "lab_figure_pin"))
    (before,) = cells(app)
    (after,) = cells(again(app))
    assert (after.data, after.columns, after.answer) == (before.data, before.columns, before.answer)
    assert [one.data.name for one in app.session_state["_held_for_cells"].values()] == ["own.csv"]
    app.session_state["_notebook"].notebook = app.session_state["_notebook"].notebook.delete(before.id)
    assert app.run().session_state["_held_for_cells"] == {}


def test_both_kinds_of_saved_notebook_have_every_hierarchy_of_a_cell() -> None:
    """Seen failing: with data one table was saved, without data only the last was asked for."""
    app = replaced(press(open_page("lab", OWN), "lab_figure_pin"))
    app = press(app, "lab_figure_pin")
    first, second = cells(app)
    assert (first.data and first.data.name, second.data and second.data.name) == ("own.csv", "other.csv")
    study = _study(app)
    assert sorted(one.data.name for one in open_study(save(study, with_data=True)).tables) == ["other.csv", "own.csv"]
    asked = open_study(save(study, with_data=False)).asked
    assert sorted(one.note.name for one in asked) == ["other.csv", "own.csv"]


def _study(app: AppTest) -> Study:
    """What a file of this session would hold: asked of the app itself, in a run of it."""

    def ask() -> None:
        import streamlit as st

        from pages.ui.notebook import session_study

        st.session_state["_study_of_test"] = session_study.study()

    asking = AppTest.from_function(ask)
    for key in ("_notebook", "_from_file", "_shelf", "_held_for_cells"):
        if key in app.session_state:
            asking.session_state[key] = app.session_state[key]
    study: Study = asking.run().session_state["_study_of_test"]
    return study


def test_a_table_that_its_owner_removes_is_gone_for_cells_too_and_they_say_so() -> None:
    app = press(open_page("lab", OWN), "lab_figure_pin")
    (before,) = cells(app)
    app.session_state["_from_file"] = {}
    app.session_state["_held_for_cells"] = {}
    (after,) = cells(again(app.run()))
    assert after == before
    assert "Its data are not here" in " ".join(one.value for one in app.toast)


def test_a_cell_pinned_while_its_simulation_runs_becomes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen failing: its columns of the simulation stayed empty for good."""
    later = Held()
    monkeypatch.setattr(jobs, "pool", lambda: later)
    app = press(press(open_page("lab", OWN), "lab_run"), "lab_figure_pin")
    (early,) = cells(app)
    assert early.columns is not None and set(early.columns["simulation"]) == {None}
    later.now()
    app.switch_page("pages/start.py").run()
    (whole,) = cells(app)
    assert whole.columns is not None and all(isinstance(one, float) for one in whole.columns["simulation"][:1])
    assert "simulation" in whole.badges and whole.name == early.name
    assert "_cells_awaiting" not in app.session_state or app.session_state["_cells_awaiting"] == {}
