"""CDF and ranges: release, ranges, quantiles, error curves, the paper's experiment; every refusal as one sentence."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import (
    Inline,
    Later,
    answer,
    codes,
    dataset,
    figure,
    metric_values,
    open_page,
    press,
    read,
    widget,
    words,
    written,
)
from pages.ui import jobs
from pages.ui.kept import Kept
from pages.views.cdf import draw
from pages.views.cdf.settings import FITS
from treedp_core.notebook.script import script_of
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_taken_from_the_data
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import PUBLISHED, CdfSettings, consistency_gains, plan_cdf
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.pipelines import SQUARES, distance_table
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

NUMBERS = [0.5, 1.5, 1.5, 3.0, 7.99, 8.0, 2.2]


def binned(values: list[float] = NUMBERS, n_bins: int = 8, upper: float = 8.0) -> Any:
    text = "size\n" + "\n".join(map(str, values)) + "\n"
    return count_bins(text.encode(), "size", lower=0, upper=upper, n_bins=n_bins, outside="refuse", name="sizes.csv")


# --- one release -----------------------------------------------------------------------------------------------------


def test_a_release_of_the_ages() -> None:
    app = open_page("cdf")
    assert not app.exception
    assert not app.main.error
    traces = {trace.get("name"): trace for trace in figure(app, "cdf_release")["data"]}
    assert {"true (NOT PRIVATE)", "noisy", "consistent", "95 % band"} <= set(traces)
    truth, noisy, fit = (traces[name]["y"] for name in ("true (NOT PRIVATE)", "noisy", "consistent"))
    assert truth[-1] == fit[-1] == 12_000
    assert noisy[-1] == pytest.approx(12_000)
    assert fit == sorted(fit)
    assert all(value == int(value) for value in fit)
    assert "NOT PRIVATE: one simulated release" in words(app)
    off = {trace.get("name"): trace["y"] for trace in figure(app, "cdf_errors")["data"]}
    np.testing.assert_allclose(off["noisy − true"], np.array(noisy) - np.array(truth))


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
    mine, binary = margins(answer(app))[:2]
    assert mine < 0.8 * binary


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
    monkeypatch.setattr(draw, "AT_ONCE", 64)
    widget(app, "cdf_for").set_value("ranges")
    app.run()
    assert "Seeking the optimal matrix: 0 of 14 rounds" in app.get("progress")[0].proto.text
    press(app, "matrix_cancel")
    assert "Seeking the optimal matrix: cancelled." in words(app.run())


def test_one_range_of_ones_own_is_off_by_one_number() -> None:
    """What is said of all of them is said of the one that is read off: simulated both, and not by another formula."""
    link = {"cdf_tree": "optimal", "cdf_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one", "eps": "0.3"}
    said = answer(open_page("cdf", **link, cdf_for="own", cdf_ranges="11-20"))
    assert len(set(re.findall(r"± ([\d.]+) records", said))) == 1, said


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


def test_a_partition_says_its_share_when_it_pays_and_why_dawas_is_none() -> None:
    app = open_page("cdf", cdf_tree="partition", cdf_for="bins", eps="0.1")
    assert not codes(app)
    said = words(app)
    assert "half of ε for the partition" in said and "0.05 of it for the partition" in said
    assert "Of its ε, 0.05 found the partition." in said
    assert "No release plan can be made behind a private partition" in said
    assert "cdf_plan" not in {button.key for button in app.button}
    spent = written(app, "of the release").set_index("of the release")["value"]
    assert spent["ε of the partition"] == spent["ε of their counts"] == "0.05" and spent["ε"] == "0.1"
    assert re.search(r"\d+ buckets for 128 bins: where one ends.+Single bins are off by", answer(app))
    assert "From public numbers alone: up to ε × N = " in said
    assert "15.1 times as likely: a loss of 2.71, above the ε = 1" in said
    assert "choose on a sample or an earlier year" in said
    widget(app, "cdf_mechanism").set_value("gaussian")
    assert codes(app.run()) == ["STRATEGY_NOISE"]


def margins(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"± ([\d.]+)", text)]


@pytest.mark.parametrize(
    ("link", "yours", "binary", "of_range"),
    [
        ({"cdf_tree": "own", "cdf_factors": "8,16"}, 51, 85, 11.7),
        ({"cdf_tree": "own", "cdf_factors": "12,11"}, 49, 85, None),
        ({"cdf_tree": "histogram"}, 54, 85, 15.3),
    ],
)
def test_the_answer_says_how_far_all_cumulative_counts_are_off(
    link: dict[str, str], yours: float, binary: float, of_range: float | None
) -> None:
    """12 000 ages at ε = 1 after least squares; margins were simulated elsewhere too, hence 4 %."""
    app = open_page("cdf", **link)
    said = answer(app)
    found = margins(said)
    assert found[:2] == pytest.approx([yours, binary], rel=0.04)
    assert "All 128 cumulative counts" in said and "a binary tree needs ±" in said
    assert of_range is None or found[2] == pytest.approx(math.log(20) / math.sqrt(2) * of_range + 1, abs=1.0)
    drawn = {t["name"]: max(t["y"]) for t in figure(app, "cdf_release")["data"] if t.get("yaxis") != "y2"}
    mine = next(iter(drawn))
    assert mine.startswith("yours") and drawn["binary tree ± 87"] == max(drawn.values())
    assert [math.ceil(drawn[mine]), math.ceil(drawn["binary tree ± 87"])] == found[:2]


def test_a_tenth_of_the_budget_is_ten_times_the_margin() -> None:
    link = {"cdf_mechanism": "laplace", "cdf_tree": "sixteen"}
    one, tenth = (margins(answer(open_page("cdf", eps=eps, **link))) for eps in ("1", "0.1"))
    assert tenth[0] == pytest.approx(10 * one[0], rel=0.03)


def test_the_worst_of_the_trees_shown_may_be_ones_own() -> None:
    said = answer(open_page("cdf", cdf_tree="binary"))
    assert "a histogram needs only ± 53" in said


def test_many_bins_are_compared_when_asked() -> None:
    many = {"cdf_source": "current", "cdf_tree": "sixteen"}
    data = dataset(Tree.from_branching_factors((10_000,)), [1] * 10_000)
    assert "needs" not in answer(open_page("cdf", data, **many))


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


def test_the_range_is_read_by_every_mechanism() -> None:
    """Laplace histogram without a total: 47 bins of variance 8 each; noise on every count: twice 2 (127)^2."""
    app = open_page("cdf", cdf_mechanism="laplace")
    rows = written(app, "mechanism").set_index("mechanism")["st. dev."]
    assert read(rows["Noise on every cumulative count"]) == math.sqrt(4) * 127
    assert rows["Your release, consistent"] == "–"
    assert {one.proto.placeholder for one in app.dataframe} == {"–"}  # else a browser writes None
    flat = plan_cdf(CdfSettings(128, (128,), "laplace", least_squares=False))
    by_hand = math.sqrt(8 * (18 + 65))  # a range is the difference of two prefixes of 18 and of 65 bins that share 18
    assert flat.range_variance(18, 65) == pytest.approx(8 * (65 - 18))
    assert read(rows["Histogram"]) == pytest.approx(math.sqrt(8 * 47), abs=0.1)
    known = [read(value) for value in rows if value != "–"]
    assert known == sorted(known)
    assert by_hand > read(rows["Histogram"])


def test_ranges_on_a_small_column() -> None:
    data = binned()
    app = open_page("cdf", data, cdf_source="current", cdf_from="1", cdf_to="3", eps="50")
    assert "true: 3 (NOT PRIVATE)" in words(app)
    released = written(app, "mechanism")["released"].tolist()
    assert all(abs(read(count) - 3) < 10 for count in released)


def test_an_empty_range_is_refused_and_a_reversed_one_read() -> None:
    app = open_page("cdf", cdf_from="20", cdf_to="20")
    assert codes(app) == ["RANGE_BOUNDS"]
    app = open_page("cdf", cdf_from="65", cdf_to="18")
    assert codes(app) == []
    assert "Records from 18 to 65" in words(app)


def test_a_range_beyond_the_bounds_ends_at_them() -> None:
    app = open_page("cdf", cdf_from="-1e9", cdf_to="1e9")
    assert "Records from 0 to 128" in words(app)
    assert "true: 12\u202f000 (NOT PRIVATE)" in words(app)


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


def test_nothing_cut_is_called_true() -> None:
    text = "size\n" + "3\n" * 97 + "9\n" * 3
    app = open_page("cdf", cdf_source="upload")
    app.file_uploader[0].upload("sizes.csv", text.encode()).run()
    for label, value in {"Lower": 0.0, "Upper": 8.0, "Bins K": 8, "Values outside": "clamp"}.items():
        asked(app, label).set_value(value)
    app.run()
    widget(app, "upload_count").click().run()
    names = [trace.get("name", "") for key in ("cdf_release", "cdf_errors") for trace in figure(app, key)["data"]]
    assert "cut to the bounds (NOT PRIVATE)" in names and not any("true" in name for name in names)
    assert "cut to the bounds (NOT PRIVATE)" in written(app, "quantile")
    assert "3 % of the records lie outside the bounds" in words(app)
    assert not app.exception


def test_an_upload_shows_what_its_bounds_cut_off_before_it_is_counted() -> None:
    app = open_page("cdf", cdf_source="upload")
    app.file_uploader[0].upload("sizes.csv", b"size,age\n1,2\n3,300\n").run()
    asked(app, "Numeric column").set_value(1).run()
    assert "% inside" not in words(app)  # no bound is typed yet
    asked(app, "Upper").set_value(2.0).run()
    assert "50 % of the rows lie outside the bounds" in words(app)
    asked(app, "Numeric column").set_value(2).run()
    assert asked(app, "Upper").value is None  # bounds of one column are no other's


def test_quantiles_with_intervals() -> None:
    quantiles = written(open_page("cdf"), "quantile")
    assert quantiles["quantile"].tolist() == ["5 %", "25 %", "50 %", "75 %", "95 %"]
    low, true, high = (quantiles[name].map(read) for name in ("from", "true (NOT PRIVATE)", "to"))
    assert (low <= true).all()  # the band of this seed covers the truth, as 19 in 20 do
    assert (true <= high).all()


def test_true_quantiles_by_hand() -> None:
    """7 records; half of them, 3.5, is reached in bin [2, 3), which holds record 4: 2, as no bin is finer than 1."""
    quantiles = written(open_page("cdf", binned(), cdf_source="current"), "quantile")
    assert quantiles["true (NOT PRIVATE)"].tolist()[2] == "2"
    finer = written(open_page("cdf", binned(n_bins=32), cdf_source="current"), "quantile")  # bins of a quarter
    assert finer["true (NOT PRIVATE)"].tolist()[2] == 2.1  # the record 2.2 is the fourth, in [2, 2.25): 2 + 1 / 8


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one", "replace_unknown"])
def test_the_median_stands_on_the_first_screen_whoever_is_protected(relation: str) -> None:
    """901 ages with the median 31, and 500 cells without a number, which are none of them."""
    numbers = "10\n" * 450 + "31\n" + "50\n" * 450
    unknown = "?\n" * 500
    data = count_bins(f"age\n{numbers}{unknown}".encode(), "age", lower=0, upper=64, n_bins=64)
    app = open_page("cdf", data, cdf_source="current", nbr=relation, eps="50")
    assert codes(app) == [] and not app.error and not app.exception
    found = re.search(r"Median (\d+) \((\d+) to (\d+)\) of the records within the bounds", words(app))
    assert found is not None and found[1] == "31"
    assert int(found[2]) <= 31 < int(found[3])
    assert re.search(r"(499|500|501) ± \S+ records are outside the bounds or have no number", words(app))
    assert "consistent" in [trace.get("name") for trace in figure(app, "cdf_release")["data"]]


def test_a_category_is_told_by_its_name_and_no_records_have_no_median() -> None:
    tree = Tree.from_branching_factors((3,))
    app = open_page("cdf", dataset(tree, [1, 900, 1], prefix="town"), cdf_source="current", eps="50")
    assert "Median category, in their order: `town1.1` (no other is likely)." in words(app)
    app = open_page("cdf", dataset(tree, [0, 0, 0]), cdf_source="current")
    assert "is 0 or less, so no median can be told" in words(app) and not app.exception


@pytest.mark.parametrize(
    ("link", "code"),
    [
        ({"cdf_tree": "own", "cdf_factors": "2,2"}, "TREE_SHAPE"),
        ({"cdf_tree": "own"}, "TREE_SHAPE"),
        ({"cdf_allocation": "custom", "cdf_shares": "0,0.5,0.6"}, "BUDGET_SPLIT"),
        ({"cdf_allocation": "custom", "cdf_shares": "0.5"}, "BUDGET_SPLIT"),
        ({"cdf_allocation": "optimal", "nbr": "replace_unknown"}, "RELATION"),
    ],
)
def test_refused_settings_are_one_sentence_and_the_page_stays(link: dict[str, str], code: str) -> None:
    app = open_page("cdf", **link)
    assert code in codes(app)
    assert all(len(error.value.splitlines()) == 2 for error in app.main.error)
    assert figure(app, "cdf_release")["data"]
    assert not app.exception


def test_a_refusal_keeps_the_last_release() -> None:
    app = open_page("cdf")
    before = figure(app, "cdf_release")["data"]
    widget(app, "cdf_tree").set_value("own")
    app.run()
    assert codes(app) == ["TREE_SHAPE"]
    assert figure(app, "cdf_release")["data"] == before
    assert "Shown meanwhile: Discrete Laplace noise" in words(app)
    widget(app, "cdf_factors").set_value("12,11")
    app.run()
    assert codes(app) == []
    assert "on the tree 12 · 11" in words(app)


@pytest.mark.parametrize("fit", list(FITS))
@pytest.mark.parametrize("allocation", ["uniform", "optimal"])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete_gaussian"])
def test_all_choices_give_a_release(fit: str, allocation: str, mechanism: str) -> None:
    app = open_page("cdf", cdf_fit=fit, cdf_allocation=allocation, cdf_mechanism=mechanism, delta="1e-06")
    assert not app.exception
    assert codes(app) == (["FIT_WHOLE"] if fit == "hamming" else [])  # least squares leaves no whole counts
    assert figure(app, "cdf_release")["data"] != []
    if fit == "hamming" and mechanism == "discrete_gaussian":
        whole = open_page("cdf", cdf_fit=fit, cdf_mechanism=mechanism, delta="1e-06", cdf_post="0")
        assert codes(whole) == [] and not whole.exception


# --- where the bins come from ----------------------------------------------------------------------------------------


def test_leaves_on_different_levels_are_refused() -> None:
    ragged = Tree.from_child_counts([np.array([2]), np.array([0, 2])])
    app = open_page("cdf", dataset(ragged, [1, 2, 3]), cdf_source="current")
    assert codes(app) == ["CDF_SHAPE"]
    assert "Ages (synthetic) is shown meanwhile" in words(app)


@pytest.mark.parametrize(
    "counts", [[0] * 8, [50, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 50]], ids=["N=0", "first", "last"]
)
def test_no_records_and_all_in_one_bin(counts: list[int]) -> None:
    app = open_page("cdf", dataset(Tree.from_branching_factors((8,)), counts), cdf_source="current")
    assert not app.exception
    assert codes(app) == []


def test_one_bin_is_refused() -> None:
    app = open_page("cdf", dataset(Tree.from_branching_factors((1,)), [4]), cdf_source="current")
    assert codes(app) == ["TREE_SHAPE"]


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


def test_figure_1_of_the_paper() -> None:
    """K = 256 at epsilon = 1 by hand: 2 * 255^3; 4 * 256 * 255; 4 * 256 * 8^3 * 1; 4 * 256 * 2^3 * 15."""
    app = open_page("cdf")
    widget(app, "cdf_preset_Published error curves").click()
    app.run()
    assert app.session_state["cdf_bins"] == "256"
    values = written(app, SQUARES).set_index("pipeline")[SQUARES].str.replace("\u202f", "").astype(float)
    assert values["Noise on every cumulative count"] == 2 * 255**3
    assert values["Histogram"] == 4 * 256 * 255
    assert values["Binary tree"] == pytest.approx(4 * 256 * 8**3)
    assert values["16-ary tree"] == pytest.approx(4 * 256 * 2**3 * 15)
    assert values["16-ary tree, least squares"] == pytest.approx(41_040)
    curves = {curve["name"]: curve for curve in figure(app, "cdf_error")["data"] if "name" in curve}
    pure = [curve for name, curve in curves.items() if not name.startswith("Gaussian")]
    assert all(np.allclose(np.array(c["y"]) * c["x"], c["y"][0] * c["x"][0]) for c in pure)
    assert len(curves) == len(pure) + 2
    assert curves["Histogram"]["y"][0] * curves["Histogram"]["x"][0] == pytest.approx(math.sqrt(4 * 255))
    assert (
        f"At ε = 1 a cumulative count is off by {math.sqrt(41_040 / 256):.3g} records with 16-ary tree, least"
        in answer(app)
    )


@pytest.mark.parametrize("view", ["error", "optimal"])
def test_a_view_of_one_relation_says_so_whatever_the_sidebar_has(view: str) -> None:
    for relation in ("replace_one", "add_or_remove_one"):
        assert "replace one, whatever the sidebar says" in words(open_page("cdf", cdf_view=view, nbr=relation))


def test_the_papers_numbers_keep_all_their_digits_on_screen() -> None:
    """Five digits would turn 2 * 255^3 = 33,162,750 into 33,163,000 and 524,288 into 524,290."""
    app = open_page("cdf", cdf_view="error", cdf_bins="256")
    assert {"33\u202f162\u202f750", "524\u202f288"} <= set(written(app, SQUARES)[SQUARES])


def test_other_bins_and_bad_ones() -> None:
    app = open_page("cdf", cdf_view="error")
    assert "K = 128." in words(app)
    widget(app, "cdf_bins").set_value("2^20")
    app.run()
    assert "K = 1\u202f048\u202f576." in words(app)
    widget(app, "cdf_bins").set_value("one")
    app.run()
    assert codes(app) == ["TREE_SHAPE"]
    assert "K = 128." in words(app)


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
    press(app, "cdf_runs_cancel")
    assert not app.exception


# --- how far from optimal --------------------------------------------------------------------------------------------


def test_a_gaussian_release_is_compared_with_the_bound() -> None:
    said = words(open_page("cdf", cdf_mechanism="gaussian", delta="1e-06"))
    assert re.search(r"counts is \*\*[0-9.]+ % above the least\*\* that any", said)
    said = words(open_page("cdf", cdf_mechanism="gaussian", delta="1e-06", cdf_tree="optimal"))
    assert re.search(r"counts is \*\*0\.[0-9]+ % above the least\*\* that any", said), "not: 1 times the least"


def test_the_bound_is_shown_for_few_bins_only() -> None:
    app = open_page("cdf", cdf_view="optimal", cdf_bins="1026")
    assert "K = 256 is shown instead of 1\u202f026" in words(app)
    assert not app.exception


def test_the_bound_of_more_bins_is_sought_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    text = words(open_page("cdf", cdf_view="optimal", cdf_bins="300"))
    assert "K = 300, Gaussian noise" in text
    assert "meanwhile" not in text


def test_a_bound_being_sought_can_be_cancelled_and_sought_again(monkeypatch: pytest.MonkeyPatch, own_jobs: Any) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("cdf", cdf_view="optimal", cdf_bins="1024")
    assert "Seeking the bound for K = 1\u202f024 (K = 256 is shown)" in app.get("progress")[0].proto.text
    assert "K = 256, Gaussian noise" in words(app)
    press(app, "cdf_bound_cancel")
    assert "cancelled" in words(app.run()) and "K = 256, Gaussian noise" in words(app)
    press(app, "cdf_bound_again")
    assert "Seeking the bound" in app.get("progress")[0].proto.text


def test_the_distance_from_the_bound_is_said_of_the_best_tree() -> None:
    said = answer(open_page("cdf", cdf_view="optimal", cdf_bins="64"))
    labels, ratios = distance_table(64, best_shape(64, Criterion("gaussian", least_squares=True))).values()
    rows = dict(zip(labels, ratios, strict=True))
    root = next(ratio for label, ratio in rows.items() if label.startswith("Square-root"))
    tree = min(ratio for label, ratio in rows.items() if "matrix" not in label)
    assert root < tree and f"the variance of the best tree is {100 * (tree - 1):.3g} % above the least" in said
    assert f"its typical error {100 * (tree**0.5 - 1):.3g} % above the least" in said
    assert f"the square-root matrix is {100 * (root - 1):.3g} % above the least" in said
    assert 1 < min(ratios) <= 1.003, "as near as the matrix that is released"


def test_where_the_best_tree_is_optimal_it_is_said_to_be_the_least() -> None:
    said = answer(open_page("cdf", cdf_view="optimal", cdf_bins="2"))
    assert "the variance of the best tree is the least that any linear Gaussian mechanism can have" in said
    assert "of the worst shown 2 times the least." in said and "0 %" not in said


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
