"""CDF and ranges: release, ranges, quantiles, error curves, the paper's experiment; every refusal as one sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import (
    Later,
    answer,
    codes,
    dataset,
    figure,
    metric_values,
    open_page,
    press,
    widget,
    words,
    written,
)
from pages.ui.jobs import jobs
from pages.ui.tables.session_tables import Kept
from treedp_core.notebook.export.script import script_of
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_taken_from_the_data
from treedp_core.studies.cdf import PUBLISHED, consistency_gains
from treedp_core.studies.cdf.matrices.plan import seek
from treedp_core.studies.cdf.pipelines import SQUARES
from treedp_core.tree import Tree
from treedp_core.views.cdf import release
from treedp_core.watch import Cancelled, Watch

pytestmark = pytest.mark.usefixtures("own_jobs")

NUMBERS = [0.5, 1.5, 1.5, 3.0, 7.99, 8.0, 2.2]


def binned(values: list[float] = NUMBERS, n_bins: int = 8, upper: float = 8.0) -> Any:
    text = "size\n" + "\n".join(map(str, values)) + "\n"
    return count_bins(text.encode(), "size", lower=0, upper=upper, n_bins=n_bins, outside="refuse", name="sizes.csv")


# --- one release -----------------------------------------------------------------------------------------------------


def test_a_matrix_takes_gaussian_noise_and_says_what_it_spends() -> None:
    """128 bins by a matrix err less than any tree; other noise is refused, and one press takes the right one."""
    app = open_page("cdf", cdf_tree="root")
    assert codes(app) == ["STRATEGY_NOISE"]
    widget(app, "cdf_fit_noise").click()
    app.run()
    assert not codes(app)
    assert "Discrete Gaussian noise by the square-root matrix" in words(app)
    spent = written(app, "of the release").set_index("of the release")["value"]
    assert spent["matrix"] == "Square-root matrix" and spent["answers"] == "128" and spent["ε"] == "1"


def test_a_matrix_is_sought_for_the_counts_that_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"cdf_tree": "optimal", "cdf_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one"}
    app = open_page("cdf", **link, cdf_for="own", cdf_ranges="1-10, 5-20")
    assert not codes(app) and "by the optimal matrix for own ranges" in words(app)
    spent = written(app, "of the release").set_index("of the release")["value"]
    assert spent["matrix"] == "Optimal matrix for own ranges"
    assert widget(app, "cdf_plan") is not None
    assert float(spent["mean variance above the least possible"].removesuffix(" %")) <= 0.5
    widget(app, "cdf_ranges").set_value("1-10, 1-10")
    assert codes(app.run()) == ["RANGE_BOUNDS"]
    monkeypatch.setattr(jobs, "pool", Later)
    monkeypatch.setattr(release, "AT_ONCE", 64)
    widget(app, "cdf_for").set_value("ranges")
    app.run()
    assert "Seeking the optimal matrix: 0 of 14 rounds" in app.get("progress")[0].proto.text
    press(app, "matrix_cancel")
    assert "Seeking the optimal matrix: cancelled." in words(app.run())


def test_the_best_matrix_so_far_is_released_while_its_search_goes_on(
    monkeypatch: pytest.MonkeyPatch, own_jobs: Any
) -> None:
    """A press of Cancel keeps it; a handle that moves meanwhile has a figure; the whole search takes its place."""
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page(
        "cdf",
        binned(n_bins=1200),
        cdf_source="current",
        cdf_tree="identity",
        cdf_mechanism="laplace",
        nbr="add_or_remove_one",
    )
    job = own_jobs.slots.get("matrix")
    assert job is not None and "Seeking the p-identity matrix: 0 %" in app.get("progress")[0].proto.text
    shown: list[Any] = []
    with pytest.raises(Cancelled):
        seek(job.key[1], Watch(cancelled=lambda: len(shown) > 1, offer=shown.append))
    bands = []
    for job.best in shown:
        app.run()
        assert not codes(app) and "The best matrix so far, " in words(app)
        assert "Seeking the p-identity matrix: 0 %" in app.get("progress")[0].proto.text
        bands.append(answer(app))
    assert bands[0] != bands[1], "a better one has a narrower band"
    press(app, "matrix_cancel")
    app.run()
    assert "cancelled." in words(app) and "The best matrix so far, after " in words(app) and answer(app) == bands[1]
    job.result, job.state = replace(shown[1], searched=1.0), "done"
    app.run()
    assert "The best matrix so far" not in words(app) and not app.get("progress")


def test_marks_of_a_table_of_ranges_that_leave_a_doubt_are_asked() -> None:
    app = open_page("cdf", cdf_tree="optimal", cdf_mechanism="discrete_gaussian", cdf_for="own", cdf_ranges="2-3")
    app.file_uploader[0].upload("mine.csv", b"lower;upper\n1.000;2.000\n").run()
    assert not codes(app) and "in more than one way" in words(app), "seen failing: refused, naming the option marks"
    for column in ("lower", "upper"):
        asked = next(one for one in app.segmented_control if one.key.startswith(f"cdf_queries_marks_{column}_"))
        asked.set_value(",.").run()
    assert "— 1 range, file discarded" in words(app)


def test_a_table_of_ranges_is_used_and_stays_in_the_session() -> None:
    """Its ranges are released and answered, and leave with a cell's code; no link has them, and a refusal keeps all."""
    link = {"cdf_tree": "optimal", "cdf_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one", "cdf_for": "own"}
    app = open_page("cdf", **link, cdf_ranges="2-3")
    assert "lower,upper,weight" in app.code[0].value
    app.file_uploader[0].upload("bad.csv", b"lower,upper\n5,2\n").run()
    assert codes(app) == ["RANGE_BOUNDS"] and "Nothing was changed." in words(app)
    assert written(app, "range of bins")["range of bins"].tolist() == ["2-3"]
    app.file_uploader[0].upload("mine.csv", b"lower;upper;weight\n11;20;1\n5;17;0,5\n").run()
    assert not codes(app) and not app.file_uploader and "— 2 ranges, file discarded" in words(app)
    found = written(app, "range of bins")
    assert found["range of bins"].tolist() == ["11-20", "0.5*5-17"]
    assert re.search(r" Your 2 ranges are all within ± \d+ records, nineteen times in twenty; a", answer(app))
    assert "It is not made for all 128 cumulative counts: ± " in answer(app)
    assert " From 10 to 20: " in answer(app), "the first of them, in the column's unit"
    assert "cdf_ranges" not in {one.key for one in app.text_input}
    word = app.session_state["cdf_listed"]
    assert app.session_state["cdf_ranges"] == "" and re.fullmatch("[0-9a-f]{8}", word)
    press(app, "cdf_own_pin")
    (cell,) = app.session_state["_notebook"].notebook.cells
    script = script_of([cell], "Mine")
    assert "5, 17, 0.5" in script and "mine.csv" not in script
    assert app.session_state["_ranges_listed"][word].name == "mine.csv", "where a saved notebook has them from"
    press(app, "cdf_queries_remove")
    assert codes(app.run()) == ["RANGE_BOUNDS"]
    elsewhere = open_page("cdf", **link, cdf_listed=word)
    assert "These ranges stood in a table that is not here" in words(elsewhere)


def test_draw_again_changes_only_the_noise() -> None:
    app = open_page("cdf")
    before = figure(app, "cdf_release")["data"]
    widget(app, "cdf_draw").click()
    app.run()
    after = figure(app, "cdf_release")["data"]
    names = [trace.get("name") for trace in before]
    true, noisy = names.index("true (NOT PRIVATE)"), names.index("noisy")
    assert before[true]["y"] == after[true]["y"]
    assert before[noisy]["y"] != after[noisy]["y"]
    assert app.session_state["cdf_from"] == 18.0


@pytest.mark.parametrize("n_bins", [2, 3, 10])
def test_a_range_of_other_data_that_holds_no_bin_becomes_the_middle_half(n_bins: int) -> None:
    """18 to 65 falls on one edge of bins 1000 wide: that is no error of the user, who chose no range yet."""
    data = binned([500.0] * 9, n_bins, upper=1000.0 * n_bins)
    app = open_page("cdf", data, cdf_source="current")
    assert codes(app) == []
    ends = [1000 * (n_bins // 4), 1000 * (n_bins - n_bins // 4)]
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == ends


def test_the_sliders_stand_where_the_range_ends() -> None:
    app = open_page("cdf", binned(n_bins=4), cdf_source="current", cdf_from="1.2", cdf_to="5.1")
    assert "Records from 2 to 6" in words(app)
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == [2, 6]


def test_a_range_that_would_be_hardly_visible_on_other_data_is_not_kept() -> None:
    app = open_page("cdf", binned([5000.0] * 9, 1000, upper=100_000.0))
    assert "Records from 18 to 65" in words(app)
    app.session_state["cdf_source"] = "current"
    app.run()
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == [25_000, 75_000]
    app.session_state["cdf_from"] = 74_000.0  # chosen on these data: kept
    app.run()
    assert app.session_state["cdf_from"] == 74_000


def test_a_range_starts_from_the_column_never_from_the_one_before() -> None:
    app = open_page("cdf", binned([50.0] * 9, 100, upper=100.0), cdf_source="current")
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == [25, 75]  # not the default for ages
    app.session_state["cdf_from"], app.session_state["cdf_to"] = 30.0, 60.0
    app.run()
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == [30, 60]
    app.session_state["cdf_source"] = "ages"  # bounds of much the same size
    app.run()
    assert [app.session_state["cdf_from"], app.session_state["cdf_to"]] == [32, 96]


def test_a_refusal_keeps_the_last_release() -> None:
    app = open_page("cdf")
    before = figure(app, "cdf_release")["data"]
    widget(app, "cdf_tree").set_value("own")
    app.run()
    assert codes(app) == ["TREE_SHAPE"]
    assert figure(app, "cdf_release")["data"] == before
    assert "Shown meanwhile: Ages (synthetic)" in words(app)
    widget(app, "cdf_factors").set_value("12,11")
    app.run()
    assert codes(app) == []
    assert "on the tree 12 · 11" in words(app)


# --- where the bins come from ----------------------------------------------------------------------------------------


def test_leaves_on_different_levels_are_refused() -> None:
    ragged = Tree.from_child_counts([np.array([2]), np.array([0, 2])])
    app = open_page("cdf", dataset(ragged, [1, 2, 3]), cdf_source="current")
    assert codes(app) == ["CDF_SHAPE"]
    assert "Ages (synthetic) is shown meanwhile" in words(app)


def asked(app: AppTest, label: str) -> Any:
    """A question about the column of a file."""
    return next(one for one in [*app.number_input, *app.radio, *app.selectbox] if one.label.startswith(label))


def upload(app: AppTest, text: str, values: dict[str, Any]) -> AppTest:
    app.file_uploader[0].upload("sizes.csv", text.encode(), "text/csv")
    app.run()
    for label, value in values.items():
        asked(app, label).set_value(value)
    app.run()  # both bounds are there: now it can be counted
    return widget(app, "upload_count").click().run()


def test_an_uploaded_column_is_the_data_set_of_every_page() -> None:
    app = open_page("cdf", cdf_source="upload")
    assert "Ages (synthetic) is shown meanwhile" in words(app)
    upload(app, "size\n1\n3\n3\n9\n", {"Lower": 0.0, "Upper": 8.0, "Bins K": 8})
    assert not app.exception
    assert codes(app) == []
    assert "8 bins" in words(app)
    assert app.session_state["source"] == "upload"
    curve = next(
        t for t in figure(app, "cdf_release")["data"] if t.get("name") == "true within the bounds (NOT PRIVATE)"
    )
    assert curve["y"] == [0, 0, 1, 1, 3, 3, 3, 3, 3]  # the record beyond the bounds is none of them
    assert "8 bins, other records counted apart" in words(app)


def test_what_lies_outside_the_bounds_is_in_no_quantile_and_never_called_true() -> None:
    """Two of five sizes lie beyond 8: quantiles are those of 1, 3, 3, and the sliders end at the bound."""
    app = upload(
        open_page("cdf", cdf_source="upload", eps="50"),
        "size\n1\n3\n3\n9\n9\n",
        {"Lower": 0.0, "Upper": 8.0, "Bins K": 8},
    )
    found = written(app, "quantile").set_index("quantile")
    assert found.columns[-1] == "true within the bounds (NOT PRIVATE)"
    assert [found.iloc[:, -1][one] for one in ("5 %", "50 %", "75 %")] == ["1", "3", "3"]
    assert app.slider(key="cdf_to").max == 8.0
    assert "40 % of the records lie outside the bounds" in words(app)


def test_the_data_set_in_use_says_what_its_bounds_cut() -> None:
    mine = open_page("cdf", _cut(), cdf_source="current")
    assert "75 % of the records lie outside the bounds" in words(mine) and not mine.exception


def _cut() -> Dataset:
    """Three of four values lie beyond the bounds."""
    return count_bins(b"size\n1\n9\n9\n9\n", "size", lower=0, upper=8, n_bins=8)


@pytest.mark.parametrize(
    ("text", "values", "code"),
    [
        ("size\n1\n", {"Lower": 5.0, "Upper": 5.0}, "BOUNDS"),
        ("size\n1\n", {"Lower": 0.0, "Upper": 5.0, "Bins K": 1}, "TREE_SHAPE"),
    ],
)
def test_a_column_that_cannot_be_counted(text: str, values: dict[str, Any], code: str) -> None:
    app = upload(open_page("cdf", cdf_source="upload"), text, values)
    assert codes(app) == [code]
    assert "Ages (synthetic) is shown meanwhile" in words(app)
    assert not app.exception


def test_a_public_app_takes_no_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEDP_PUBLIC", "1")
    app = open_page("cdf", cdf_source="upload")
    assert not app.file_uploader
    assert "takes no files" in words(app)
    assert [one for one in widget(open_page("cdf"), "cdf_source").options if "Column" in one] == []


# --- error against epsilon -------------------------------------------------------------------------------------------


def test_the_papers_numbers_keep_all_their_digits_on_screen() -> None:
    """Five digits would turn 2 * 255^3 = 33,162,750 into 33,163,000 and 524,288 into 524,290."""
    app = open_page("cdf", cdf_view="error", cdf_bins="256")
    assert {"33\u202f162\u202f750", "524\u202f288"} <= set(written(app, SQUARES)[SQUARES])


def test_other_bins_and_bad_ones() -> None:
    app = open_page("cdf", cdf_view="error")
    assert "K = 128." in words(app)
    widget(app, "cdf_bins").set_value("2^12")
    app.run()
    assert "K = 4\u202f096." in words(app)
    widget(app, "cdf_bins").set_value("one")
    app.run()
    assert codes(app) == ["TREE_SHAPE"]
    assert "K = 4\u202f096." in words(app) and "Shown meanwhile: 4\u202f096 bins" in words(app)


# --- the experiment of Section VI ------------------------------------------------------------------------------------


def test_the_preset_puts_our_numbers_beside_the_papers() -> None:
    app = open_page("cdf")
    widget(app, "cdf_preset_Published experiment").click()
    app.run()
    assert not app.exception
    rows = written(app, "ℓ₂ consistent")
    assert rows.iloc[0].tolist() == ["paper (100 runs)", "502.81", "286.43", "18.54", "10.72"]
    gains = consistency_gains(trials=100, seed=7)
    assert rows.iloc[1]["ℓ₂ consistent"].startswith(f"{gains[0].l2_consistent.mean:.4g} ± ")
    best = gains[-1].l2_consistent.mean
    assert best < PUBLISHED["l2_consistent"] / 2.5
    assert f"comes to {best:.3g}, {PUBLISHED['l2_consistent'] / best:.3g} times as close" in answer(app)
    assert metric_values(app)["Best: padded 10³, least squares"].startswith(f"{best:.4g} ±")
    assert f"{PUBLISHED['l2_consistent'] / best:.3g}× closer than the paper" in [m.delta for m in app.metric][2]


def test_stale_results_stay_and_say_what_they_were_computed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("cdf", cdf_view="experiment", cdf_trials="20")
    monkeypatch.setattr(jobs, "pool", Later)
    app.session_state["seed"] = 8
    app.run()
    assert "Shown meanwhile: 20 runs and seed 7" in words(app)
    assert len(written(app, "ℓ₁")) == 6


def test_the_experiment_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("cdf", cdf_view="experiment")
    assert "ours are being drawn" in answer(app)
    press(app, "cdf_experiment_cancel")
    assert not app.exception


# --- how far from optimal --------------------------------------------------------------------------------------------


def test_a_bound_being_sought_can_be_cancelled_and_sought_again(monkeypatch: pytest.MonkeyPatch, own_jobs: Any) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("cdf", cdf_view="optimal", cdf_bins="1024")
    assert "Seeking the bound for K = 1\u202f024 (K = 256 is shown)" in app.get("progress")[0].proto.text
    assert "K = 256, Gaussian noise" in words(app)
    press(app, "cdf_optimal_cancel")
    assert "cancelled" in words(app.run()) and "K = 256, Gaussian noise" in words(app)
    press(app, "cdf_optimal_again")
    assert "Seeking the bound" in app.get("progress")[0].proto.text


def test_one_press_releases_with_the_matrix_that_the_bound_found() -> None:
    app = open_page("cdf", cdf_view="optimal", cdf_bins="64", cdf_post="0")
    press(app, "cdf_use")
    assert not codes(app) and "Discrete Gaussian noise by the optimal matrix for cumulative counts" in words(app)
    assert re.search(r"counts is \*\*0\.\d+ % above the least\*\*", words(app))


def test_more_bins_than_the_bound_is_computed_for_are_released_with_the_square_root_matrix() -> None:
    app = open_page("cdf", cdf_view="optimal", cdf_source="current", gen_branching="1100", cdf_bins="64")
    assert next(one for one in app.button if one.key == "cdf_use").label == "Release with the square-root matrix"
    press(app, "cdf_use")
    assert not codes(app) and "Discrete Gaussian noise by the square-root matrix" in words(app)


# --- speed and frame -------------------------------------------------------------------------------------------------


def test_the_strip_and_the_promise_are_those_of_the_column_that_is_counted_here() -> None:
    """Seen failing: the strip told of the table, and one record of each unit was protected of a column with three."""
    rows = b"who,age\n" + b"".join(b"%d,%d\n" % (i % 40, i % 80) for i in range(400))
    table = replace(count_hierarchy(rows, ["age"], domain=domain_taken_from_the_data()), name="visits.csv")
    column = count_bins(rows, "age", lower=0, upper=80, n_bins=8, unit="who", contributions=3)
    app = open_page("cdf", table, cdf_source="upload")
    app.session_state["_from_file"] = {"upload": Kept(table), "cdf": Kept(replace(column, name="visits.csv"))}
    app.run()
    strip = next(caption.value for caption in app.main.caption if "unit: " in caption.value)
    assert strip.endswith("· unit: who, at most 3 records counted and protected, 1 set")
    assert "all records of one unit (at most 3)" in words(app)
    app.switch_page("pages/consistency.py").run()
    strip = next(caption.value for caption in app.main.caption if "unit: " in caption.value)
    assert strip.endswith("· unit: not said yet, one record"), "there the table stands"


def test_an_estimate_is_chosen_where_no_least_squares_follows() -> None:
    """Its choice stands under More, moves the figure, and a plan says why there is none."""
    app = open_page("cdf")
    assert not [one for one in app.selectbox if one.key == "cdf_estimate"]
    plain = open_page("cdf", cdf_post="0")
    box = next(one for one in plain.selectbox if one.key == "cdf_estimate")
    before = answer(plain)
    box.set_value("average").run()
    assert answer(plain) != before and "combined with their descendants, averaged" in words(plain)
    assert "whose mean squared error is below" in words(plain)
    assert not plain.exception and not plain.error
