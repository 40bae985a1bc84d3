"""Pin below every figure: what the notebook keeps of it, on every page, and whether true counts may be in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import RAGGED, dataset, figure, open_page, press
from pages.ui.notebook import book
from pages.views.notebook.cell import made_from, short_of
from sample_data.catalogue import count_sample
from treedp_core.notebook import Cell
from treedp_core.notebook.code import call, given
from treedp_core.notebook.data_lineage import may_hold_counts
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")
OWN = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100], name="own.csv")


def pins(app: AppTest) -> list[str]:
    return [one.key for one in app.button if str(one.key).endswith("_pin")]


def cells(app: AppTest) -> list[Cell]:
    return list(app.session_state["_notebook"].notebook.cells)


def test_a_pinned_figure_is_kept_with_everything_it_came_from() -> None:
    app = press(open_page("lab", eps="0.5", lab_view="level", seed="3"), "lab_figure_pin")
    (cell,) = cells(app)
    assert (cell.page, cell.view, cell.part, cell.seed) == ("lab", "level", "lab_figure", 3)
    assert cell.settings["eps"] == ("0.5",)
    assert cell.settings["lab_view"] == ("level",)
    assert cell.figure is not None and figure(app, "lab_figure")["data"][0]["name"] == cell.figure["data"][0]["name"]
    assert cell.columns is not None and "level" in cell.columns
    assert cell.badges == ("formula",)
    assert "finding = error_by_level(LabInputs(epsilon=0.5, seed=3), tables)" in cell.code
    assert cell.data is None and not cell.holds_counts
    assert cell.answer


@pytest.mark.parametrize("source", ["upload", "file"])
@pytest.mark.parametrize("before", ["sample", "generate"])
def test_a_cell_of_what_stands_in_for_a_file_says_so(before: str, source: str) -> None:
    """Once a file is counted, it is still opened and made again on the data that it was made from."""
    app = press(open_page("lab", source=before, gen_branching="4,4"), "lab_figure_pin")
    app.session_state["source"] = source
    press(app, "lab_figure_pin")
    first, second = cells(app)
    assert second.about == first.about
    assert second.settings == {"source": ("sample",), **first.settings}


def test_a_cell_of_a_counted_file_says_so() -> None:
    (cell,) = cells(press(open_page("lab", OWN), "lab_figure_pin"))
    assert cell.settings["source"] == ("upload",)


@pytest.mark.parametrize(
    ("page", "key", "about"),
    [
        ("cdf", "cdf_release_pin", "Ages (synthetic) · 128 bins · replace one · ε = 1 · seed 7"),
        ("start", "start_tree_pin", "seven made-up counts · replace one · ε = 1 · seed 7"),
        ("consistency", "con_figure_pin", "own.csv · 3 levels · 12 leaves · replace one · ε = 1 · seed 7"),
    ],
)  # fmt: skip
def test_a_cell_says_what_its_page_said_it_was_made_from(page: str, key: str, about: str) -> None:
    app = press(open_page(page, OWN, **({"cdf_source": "ages"} if page == "cdf" else {})), key)
    (cell,) = cells(app)
    assert cell.about == about
    bare = cell.without_counts()
    assert bare.about == ("" if cell.holds_counts else about)
    assert short_of(bare) == ([cell.data.name if cell.data else "", "ε = 1"] if cell.holds_counts else short_of(cell))
    assert "Small town" not in made_from(bare), "whatever its settings say"
    app.switch_page("pages/notebook.py").run()
    assert any(about in one.value.replace("\u00a0", " ") for one in app.caption)


def test_two_pins_of_one_figure_have_names_of_their_own() -> None:
    app = press(press(open_page("lab"), "lab_figure_pin"), "lab_figure_pin")
    assert [one.name for one in cells(app)] == ["Error lab: Error vs ε", "Error lab: Error vs ε 2"]


def test_nothing_can_be_pinned_in_a_presentation() -> None:
    assert pins(open_page("lab", present="1")) == []


@pytest.mark.parametrize(
    ("page", "link", "key", "holds"),
    [
        ("data", {}, "tree_0_pin", True),
        ("lab", {"lab_view": "draw"}, "lab_draw_pin", True),
        ("consistency", {}, "con_figure_pin", True),
        ("branching", {"bra_bins": "64"}, "bra_ranking_pin", False),
        ("multiplicative", {"mul_view": "growth"}, "mul_growth_pin", False),
    ],
)
def test_what_may_hold_true_counts_of_ones_own_data_is_known(
    page: str, link: dict[str, Any], key: str, holds: bool
) -> None:
    app = open_page(page, RAGGED, **link)
    if key not in pins(app):
        pytest.fail(f"{key} is not among {pins(app)}")
    (cell,) = cells(press(app, key))
    assert cell.holds_counts is holds


SAMPLE = {"source": "sample"}


@pytest.mark.parametrize(
    ("page", "link", "key"),
    [
        ("data", SAMPLE, "tree_0_pin"),
        ("data", {"source": "generate"}, "tree_0_pin"),
        ("lab", {"lab_view": "draw"} | SAMPLE, "lab_draw_pin"),
        ("consistency", SAMPLE, "con_figure_pin"),
        ("cdf", {"cdf_source": "ages"}, "cdf_release_pin"),
        ("topdown", {"td_source": "trips"}, "td_rows_pin"),
    ],
)
def test_a_cell_of_a_sample_holds_nothing_of_the_file_that_the_session_has_besides(
    page: str, link: dict[str, Any], key: str
) -> None:
    (cell,) = cells(press(open_page(page, RAGGED, **link), key))
    assert not cell.holds_counts and cell.without_counts().about == cell.about


def test_a_cell_of_a_sample_whose_split_was_tuned_on_counts_may_hold_them() -> None:
    of_a_sample = call(len, call(count_sample, "geography").named("data").get("counts"))
    public = [of_a_sample.args[0].of.value]
    assert not may_hold_counts(of_a_sample, [RAGGED], "NOT PRIVATE: true counts beside", public=public)
    assert may_hold_counts(of_a_sample, [RAGGED], label="NOT PRIVATE: tuned on the true counts.", public=public)
    assert may_hold_counts(call(max, of_a_sample, given(RAGGED, max)), [RAGGED], public=public)
    assert may_hold_counts(call(max, of_a_sample, RAGGED.counts), [], public=public)
    assert may_hold_counts(call(max, 3, 5), [RAGGED], "NOT PRIVATE", public=public)


@pytest.mark.parametrize("numbers", [[0.1 + k / 7 for k in range(500)], list(range(500)), [], ["a name"] * 50])
def test_a_cell_weighs_about_what_its_figure_does_as_json(numbers: list[Any]) -> None:
    """Between what it is and twice that: a file of what a session may keep can be opened again."""
    drawn: Any = {
        "data": [{"type": "scatter", "x": numbers, "text": "word " * 99, "line": {"dash": "dot"}}],
        "layout": {},
    }
    cell = Cell(id="0" * 16, name="A", page="lab", version="1", made="2026-11-22T15:00:00+00:00", figure=drawn)
    assert 1 <= book.weight(cell) / len(json.dumps(drawn, separators=(",", ":"))) <= 2
