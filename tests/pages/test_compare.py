"""Cells side by side on the page Notebook, and what is said of them (see `long/test_comparison.py`)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import Inline, Later, answer, figure, open_page, pick, press, table, words
from pages.ui.jobs import jobs
from pages.ui.notebook.book import COMPARED, Held
from pages.ui.tables.session_tables import Kept
from test_notebook import cell
from test_pages_data import labelled
from test_pages_notebook import OTHER, OWN
from test_pages_own_data import counted
from treedp_core.checks import InputError
from treedp_core.figures.base.cell_figures import redrawn
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.comparison.compare import same_promise
from treedp_core.registry import CLAIM

pytestmark = pytest.mark.usefixtures("own_jobs")


def tabled(number: int, **columns: Any) -> Any:
    return cell(number, columns={name: tuple(values) for name, values in columns.items()})


def test_a_promise_that_nobody_reviewed_is_not_simply_the_same() -> None:
    """Seen failing on the page: "All of them promise the same." beside noise of a plug-in."""
    ours, theirs = cell(1, badges=("formula",)), cell(2, badges=("formula", "not reviewed"))
    assert same_promise([ours, ours]) == "All of them promise the same."
    assert same_promise([ours, theirs]) == f"All of them promise the same, but B is {CLAIM}."
    assert same_promise([theirs, ours, theirs]) == f"All of them promise the same, but each of A and C is {CLAIM}."
    app = open_page("notebook", nb_view="compare")
    app.session_state["_notebook"] = Held(Notebook("n", (ours, theirs)))
    assert CLAIM in answer(app.run())


def test_two_budgets_are_compared_in_three_clicks() -> None:
    app = press(open_page("lab"), "lab_figure_pin")
    pick(app, eps=2.0)
    app = press(app, "lab_figure_compare")
    assert not app.exception and not app.error
    together = figure(app, "nb_together")
    assert {line["name"].partition(" · ")[0] for line in together["data"]} == {"A = B"}, "each has all ε"
    assert [one["label"]["text"] for one in together["layout"]["shapes"]] == [*"AABB"], "one for each panel"
    assert [one.name for one in compared(app)] == ["Error lab: Error vs ε", "Error lab: Error vs ε, ε 2"]
    assert "Different promises" in answer(app) and "ε is 1 in A and 2 in B" in answer(app)
    assert table(app, "what").to_dict("list") == {"what": ["ε"], "A": ["1"], "B": ["2"]}
    assert "formula, B ÷ A" in table(app, "epsilon").columns


def test_compare_without_a_change_says_so_and_keeps_nothing() -> None:
    """Seen failing: the same figure was pinned once more, and stood beside itself."""
    app = press(press(open_page("lab"), "lab_figure_pin"), "lab_figure_compare")
    assert not app.exception and len(app.session_state["_notebook"].notebook.cells) == 1
    assert app.toast[-1].value.startswith("Nothing has changed since `Error lab: Error vs ε` was pinned")


def compared(app: AppTest) -> list[Cell]:
    cells = {one.id: one for one in app.session_state["_notebook"].notebook.cells}
    return [cells[id] for id in app.session_state["nb_compared"]]


def test_two_tables_are_compared_in_three_clicks_and_the_one_in_use_stays() -> None:
    app = open_page("lab", OWN, eps="0.5")
    app.session_state["_shelf"] = [Kept(OTHER)]
    app = press(app, "lab_figure_pin")
    app = press(press(app, "lab_figure_other"), "lab_figure_other_table_0")
    assert not app.exception and not app.error
    one, other = compared(app)
    assert (one.data.name, other.data.name) == ("own.csv", "other.csv")  # type: ignore[union-attr]
    assert one.settings["eps"] == other.settings["eps"] and one.figure != other.figure
    assert app.session_state["_from_file"]["upload"].data is OWN
    assert [one.data.name for one in app.session_state["_shelf"]] == ["other.csv"]
    assert app.title[0].value == "What have I found so far?"


def test_two_samples_are_compared_in_three_clicks() -> None:
    app = press(open_page("consistency", eps="0.5"), "con_figure_pin")
    app = press(press(app, "con_figure_other"), "con_figure_other_mobility")
    assert not app.exception and not app.error
    one, other = compared(app)
    assert one.settings["sample"] == ("geography",) and other.settings["sample"] == ("mobility",)
    assert one.columns != other.columns and app.session_state["sample"] == "geography"


def test_a_figure_of_no_table_is_not_offered_on_other_data() -> None:
    app = press(open_page("branching"), "bra_live_pin")
    assert not app.exception and len(app.session_state["_notebook"].notebook.cells) == 1
    assert not [one for one in app.button if one.label == "Other data"]


def test_two_hierarchies_of_one_file_are_compared_in_four_clicks() -> None:
    app = press(counted().switch_page("pages/lab.py").run(), "lab_figure_pin")
    app = press(app, "lab_figure_other")
    labelled(app.multiselect, "Another").set_value(
        ["region"]
    )  # and pressed in one run: a part of a page that runs by itself is not one here
    app = press(app, "lab_figure_other_count")
    assert not app.exception and not app.error
    one, other = compared(app)
    assert (one.data.levels, other.data.levels) == (("region", "city"), ("region",))  # type: ignore[union-attr]
    assert other.name == f"{one.name}, region", "the file is the same, its levels are not"
    assert one.data.source_digest == other.data.source_digest != ""  # type: ignore[union-attr]
    assert app.session_state["_from_file"]["upload"].data.labels.level_names[1:] == ("region", "city")


@pytest.mark.parametrize(
    ("page", "link", "part"),
    [
        ("lab", {"lab_mechanisms": ["laplace"], "lab_post": ["none"]}, "lab_figure"),
        ("budget", {"bud_view": "custom", "bud_mechanism": "laplace", "bud_least_squares": "0"}, "bud_custom"),
        ("cdf", {"cdf_mechanism": "laplace", "nbr": "add_or_remove_one"}, "cdf_release"),
    ],
)
def test_cells_are_simulated_again_on_the_same_noise(
    page: str, link: dict[str, Any], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = press(open_page(page, **link), f"{part}_pin")
    pick(app, eps=2.0)
    app = press(press(app, f"{part}_compare").switch_page("pages/notebook.py").run(), "nb_same_noise")
    assert not app.exception and not app.error
    found = table(app, "ratio")
    assert found["cells"].tolist() == ["B ÷ A"] * len(found)
    known = found[~found["level"].isin(["all", "cumulative counts made consistent"])]  # public, and no linear estimate
    assert len(known) and known["ratio"].tolist() == pytest.approx([0.5] * len(known), rel=1e-9)
    assert known["standard error"].tolist() == pytest.approx([0.0] * len(known), abs=1e-9)
    assert "one stream of noise, seed 7" in words(app) and "Different promises" in answer(app)
    app.session_state[COMPARED] = app.session_state[COMPARED][::-1]
    assert "The last result was of other cells. Press **Compare on the same noise**" in words(app.run())


def test_a_comparison_under_way_shows_how_far_it_is_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = pick(press(open_page("consistency"), "con_figure_pin"), eps=2.0)
    app = press(press(app, "con_figure_compare").switch_page("pages/notebook.py").run(), "nb_same_noise")
    assert app.button(key="nb_same_noise_job_cancel").label == "Cancel" and not app.exception
    press(app, "nb_same_noise_job_cancel").run()
    assert "cancelled" in words(app)


def test_ratios_of_formulas_are_said_to_be_exact() -> None:
    given: dict[str, Any] = {"page": "branching", "badges": ("formula",)}
    app = open_page("notebook", nb_view="compare")
    two = (tabled(1, k=("2", "3"), error=(4.0, 3.0)), tabled(2, k=("2", "3"), error=(8.0, 9.0)))
    app.session_state["_notebook"] = Held(Notebook("n", two))
    assert "their ratios are exact" not in words(app.run())
    app.session_state["_notebook"] = Held(Notebook("n", tuple(replace(one, **given) for one in two)))
    assert words(app.run()).count("their ratios are exact") == 2 and not app.exception


def test_figures_of_other_kinds_stand_below_one_another() -> None:
    app = press(open_page("lab"), "lab_figure_pin")
    app = press(app.switch_page("pages/consistency.py").run(), "con_figure_pin")
    app = pick(app.switch_page("pages/notebook.py").run(), nb_view="compare")
    assert not app.exception and not app.error
    assert "stand below one another" in words(app)
    assert "no rows or no numbers in common" in words(app)


def test_a_kept_figure_is_checked_once_and_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, checked = go.Figure, list[bool]()

    def counted(*given: Any, **how: Any) -> go.Figure:
        checked.append(how.get("_validate", True))
        return whole(*given, **how)

    monkeypatch.setattr(go, "Figure", counted)
    kept = {"data": [{"type": "scatter", "y": [1, 2], "line": {"dash": "dot"}}], "layout": {"title": {"text": "once"}}}
    before = deepcopy(kept)
    for _ in range(3):
        fig = redrawn(kept)
        fig.update_layout(title_text="twice")
        fig.data[0].update(line_dash="dash", y=[5])
        assert kept == before
    assert checked == [True, False, False, False]
    for _ in range(2):
        with pytest.raises(InputError, match="cannot be shown"):
            redrawn({"data": [{"type": "scatter", "colour": "red"}]})
