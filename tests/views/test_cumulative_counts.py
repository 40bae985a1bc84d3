"""Cumulative counts and ranges as calls: bands, ranges, quantiles, matrices, partitions, pipelines, the experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles_pages import dataset
from refusals import refuses
from sample_data.catalogue import count_sample
from treedp_core.checks import InputError
from treedp_core.postprocess.isotonic import FITS
from treedp_core.records import Dataset, count_bins
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import PUBLISHED, CdfSettings, consistency_gains, plan_cdf
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.pipelines import SQUARES, distance_table
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Finding, Tables, cdf
from treedp_core.views.cdf import CdfInputs, ExperimentInputs, OptimalInputs, PipelineInputs
from treedp_core.views.cdf.pipelines import distances, repeat
from treedp_core.views.cdf.release import search
from treedp_core.views.entries import ON_ITS_WAY

NUMBERS = [0.5, 1.5, 1.5, 3.0, 7.99, 8.0, 2.2]
ADDED = {"relation": "add_or_remove_one", "mechanism": "discrete_gaussian"}


@cache
def ages() -> Dataset:
    return count_sample("ages")


def binned(values: list[float] = NUMBERS, n_bins: int = 8, upper: float = 8.0) -> Dataset:
    text = "size\n" + "\n".join(map(str, values)) + "\n"
    return count_bins(text.encode(), "size", lower=0, upper=upper, n_bins=n_bins, outside="refuse", name="sizes.csv")


def band(data: Dataset | None = None, **inputs: Any) -> Finding:
    return cdf.error_band(CdfInputs(**inputs), Tables(data or ages()))


def of(section: str, data: Dataset | None = None, **inputs: Any) -> Finding:
    return VIEWS[f"cdf.release.{section}"].found(CdfInputs(**inputs), Tables(data or ages()))


def refused(**inputs: Any) -> str:
    with pytest.raises(InputError) as error:
        band(**inputs)
    return error.value.code


def curves(found: Finding) -> Mapping[str, Any]:
    assert found.figure is not None
    return {trace.name: trace for trace in found.figure.figure().data}


def margins(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"± ([\d.]+)", text)]


# --- one release -----------------------------------------------------------------------------------------------------


def test_a_release_of_the_ages() -> None:
    found = band()
    traces = curves(found)
    assert {"true (NOT PRIVATE)", "noisy", "consistent", "95 % band"} <= set(traces)
    truth, noisy, fit = (traces[name].y for name in ("true (NOT PRIVATE)", "noisy", "consistent"))
    assert truth[-1] == fit[-1] == 12_000 and noisy[-1] == pytest.approx(12_000)
    assert (np.diff(fit) >= 0).all() and (fit == np.rint(fit)).all()
    assert "NOT PRIVATE: one simulated release" in found.caption
    np.testing.assert_allclose(curves(of("errors"))["noisy − true"].y, noisy - truth)


def test_a_matrix_takes_gaussian_noise_and_says_what_it_spends() -> None:
    """128 bins by a matrix err less than any tree; other noise is refused."""
    assert refused(tree="root") == "STRATEGY_NOISE"
    matrix = {"tree": "root", "mechanism": "discrete_gaussian"}
    assert "Discrete Gaussian noise by the square-root matrix" in band(**matrix).caption
    spent = dict(zip(*of("spent", **matrix).table.values(), strict=True))
    assert spent["matrix"] == "Square-root matrix" and spent["answers"] == "128" and spent["ε"] == "1"
    mine, binary = margins(band(**matrix).answer)[:2]
    assert mine < 0.8 * binary
    assert of("spent").is_empty, "a tree spends level by level"


def test_views_from_the_left_and_the_right_narrow_the_band_and_least_squares_more() -> None:
    """The released counts follow, the promise stays; where least squares is on the choice says nothing."""
    plain = {"least_squares": False, "tree": "sixteen"}
    shown = [band(**plain), *(band(**plain, estimate=one) for one in ("average", "weighted")), band(tree="sixteen")]
    halves = [float(np.mean(one.table["half width, yours"])) for one in shown]
    assert halves == sorted(halves, reverse=True) and len(set(halves)) == 4
    assert "combined with their descendants, averaged" in shown[1].caption
    assert "combined" not in shown[0].caption + shown[3].caption
    assert len({one.caption.partition("seed")[2].partition("ε")[0] for one in shown[:3]}) == 1
    assert band(estimate="average").answer == band().answer
    assert refused(**plain, estimate="right", relation="add_or_remove_one") == "ESTIMATE"
    with refuses("PLAN_ESTIMATE"):
        cdf.release_plan(CdfInputs(**plain, estimate="left"), Tables(ages()), whom="person")


def test_a_matrix_is_sought_for_the_counts_that_are_wanted() -> None:
    sought = {"tree": "optimal", **ADDED, "workload": "own", "ranges": "1-10, 5-20"}
    assert "by the optimal matrix for own ranges" in band(**sought).caption
    spent = dict(zip(*of("spent", **sought).table.values(), strict=True))
    assert spent["matrix"] == "Optimal matrix for own ranges"
    assert float(spent["mean variance above the least possible"].removesuffix(" %")) <= 0.5
    assert refused(**sought | {"ranges": "1-10, 1-10"}) == "RANGE_BOUNDS"
    assert refused(**sought | {"ranges": ""}) == "RANGE_BOUNDS"
    assert cdf.release_plan(CdfInputs(**sought), Tables(ages()), whom="person").sentence()


def test_of_many_bins_a_release_waits_for_its_matrix_and_takes_that_of_its_question_only() -> None:
    many = dataset(Tree.from_branching_factors((130,)), [3] * 130)
    inputs = CdfInputs(tree="optimal", workload="ranges", **ADDED)
    work = search(inputs, Tables(many))
    assert work is not None and work.is_exact and work.is_shared and not work.parts
    with refuses(ON_ITS_WAY, "still sought"):
        cdf.error_band(inputs, Tables(many))
    found = cdf.error_band(inputs, Tables(many), slow=work.on(Tables(many))())
    assert "by the optimal matrix for all ranges" in found.caption
    assert search(CdfInputs(tree="root", **ADDED), Tables(many)) is None
    assert search(inputs, Tables(ages())) is None, "sought at once"
    own = search(CdfInputs(tree="optimal", workload="own", ranges="1-3", **ADDED), Tables(many))
    assert own is not None and not own.is_shared, "a user's own ranges reach no other session"


def test_one_range_of_ones_own_is_off_by_one_number() -> None:
    """What is said of all of them is said of the one that is read off: simulated both, and not by another formula."""
    own = {"tree": "optimal", **ADDED, "epsilon": 0.3, "workload": "own", "ranges": "11-20", "start": 10, "stop": 20}
    assert len(set(re.findall(r"± ([\d.]+) records", band(**own).answer))) == 1


def test_ranges_of_a_table_are_among_the_tables_and_refused_where_they_are_not_there() -> None:
    inputs = CdfInputs(tree="optimal", **ADDED, workload="own", listed="0123abcd", ranges="2-3")
    tables = Tables(ages(), ranges=((11, 20), ((5, 17, 0.5),)))
    assert tables.fingerprints != Tables(ages()).fingerprints
    found = VIEWS["cdf.release.own"].found(inputs, tables)
    assert list(found.table["range of bins"]) == ["11-20", "0.5*5-17"]
    said = cdf.error_band(inputs, tables).answer
    assert re.search(r" Your 2 ranges are all within ± \d+ records, nineteen times in twenty; a", said)
    assert "It is not made for all 128 cumulative counts: ± " in said
    with pytest.raises(InputError, match="These ranges stood in a table that is not here"):
        cdf.error_band(inputs, Tables(ages()))


def test_a_partition_says_its_share_when_it_pays_and_why_dawas_is_none() -> None:
    parts = {"tree": "partition", "workload": "bins", "epsilon": 0.1}
    found = band(**parts)
    assert "half of ε for the partition" in found.provenance.line()
    assert "0.05 of it for the partition" in found.caption and "Of its ε, 0.05 found the partition." in found.caption
    assert re.search(r"\d+ buckets for 128 bins: where one ends.+The error of single bins is", found.answer)
    spent = dict(zip(*of("spent", **parts).table.values(), strict=True))
    assert spent["ε of the partition"] == spent["ε of their counts"] == "0.05" and spent["ε"] == "0.1"
    when = of("when", **parts).caption
    assert "From public numbers alone: up to ε × N = " in when and "choose on a sample or an earlier year" in when
    assert "15.1 times as likely: a loss of 2.71, above the ε = 1" in of("dawa").caption
    assert refused(**parts, mechanism="gaussian") == "STRATEGY_NOISE"
    with refuses("PLAN_PARTITION"):
        cdf.release_plan(CdfInputs(**parts), Tables(ages()), whom="person")


@pytest.mark.parametrize(
    ("inputs", "yours", "binary", "of_range"),
    [
        ({"tree": "own", "factors": "8,16"}, 51, 85, 11.7),
        ({"tree": "own", "factors": "12,11"}, 49, 85, None),
        ({"tree": "histogram"}, 54, 85, 15.3),
    ],
)
def test_the_answer_says_how_far_all_cumulative_counts_are_off(
    inputs: dict[str, Any], yours: float, binary: float, of_range: float | None
) -> None:
    """12 000 ages at ε = 1 after least squares; margins were simulated elsewhere too, hence 4 %."""
    found = band(**inputs)
    said = margins(found.answer)
    assert said[:2] == pytest.approx([yours, binary], rel=0.04)
    assert "All 128 cumulative counts" in found.answer and "a binary tree needs ±" in found.answer
    assert of_range is None or said[2] == pytest.approx(math.log(20) / math.sqrt(2) * of_range + 1, abs=1.0)
    assert found.figure is not None
    drawn = {t.name: max(t.y) for t in found.figure.figure().data if t.yaxis != "y2"}
    mine = next(iter(drawn))
    assert mine.startswith("yours") and drawn["binary tree ± 87"] == max(drawn.values())
    assert [math.ceil(drawn[mine]), math.ceil(drawn["binary tree ± 87"])] == said[:2]


def test_a_tenth_of_the_budget_is_ten_times_the_margin() -> None:
    one, tenth = (margins(band(epsilon=eps, mechanism="laplace", tree="sixteen").answer) for eps in (1.0, 0.1))
    assert tenth[0] == pytest.approx(10 * one[0], rel=0.03)


def test_the_worst_of_the_trees_shown_may_be_ones_own() -> None:
    assert "a histogram needs only ± 53" in band(tree="binary").answer


def test_many_bins_are_compared_when_asked() -> None:
    many = dataset(Tree.from_branching_factors((10_000,)), [1] * 10_000)
    assert "needs" not in band(many, tree="sixteen").answer


def test_another_draw_changes_only_the_noise() -> None:
    before, after = curves(band()), curves(band(seed=8))
    assert (before["true (NOT PRIVATE)"].y == after["true (NOT PRIVATE)"].y).all()
    assert (before["noisy"].y != after["noisy"].y).any()


def test_the_range_is_read_by_every_mechanism() -> None:
    """Laplace histogram without a total: 47 bins of variance 8 each; noise on every count: twice 2 (127)^2."""
    table = of("range", mechanism="laplace").table
    rows = dict(zip(table["mechanism"], table["st. dev."], strict=True))
    assert rows["Noise on every cumulative count"] == math.sqrt(4) * 127
    assert math.isnan(rows["Your release, consistent"])
    flat = plan_cdf(CdfSettings(128, (128,), "laplace", least_squares=False))
    by_hand = math.sqrt(8 * (18 + 65))  # a range is the difference of two prefixes of 18 and of 65 bins that share 18
    assert flat.range_variance(18, 65) == pytest.approx(8 * (65 - 18))
    assert rows["Histogram"] == pytest.approx(math.sqrt(8 * 47), abs=0.1)
    known = [value for value in rows.values() if not math.isnan(value)]
    assert known == sorted(known) and by_hand > rows["Histogram"]


def test_ranges_on_a_small_column() -> None:
    small = {"start": 1, "stop": 3, "epsilon": 50.0}
    found = of("range", binned(), **small)
    assert found.answer == "true: 3 (NOT PRIVATE)"
    assert all(abs(count - 3) < 10 for count in found.table["released"])


def test_an_empty_range_is_read_as_a_bin_and_says_so_a_reversed_one_is_read() -> None:
    (note,) = band(start=20, stop=20).notes
    assert note.endswith("the bin beside it is shown. Move the sliders apart.")
    assert "From 20 to 21: " in band(start=20, stop=20).answer
    reversed_ = band(start=65, stop=18)
    assert "From 18 to 65: " in reversed_.answer and "the range between them is shown" in reversed_.notes[0]


def test_a_range_beyond_the_bounds_ends_at_them() -> None:
    assert "From 0 to 128: " in band(start=-1e9, stop=1e9).answer
    assert of("range", start=-1e9, stop=1e9).answer == "true: 12\u202f000 (NOT PRIVATE)"


def test_nothing_cut_is_called_true() -> None:
    cut = count_bins(b"size\n" + b"3\n" * 97 + b"9\n" * 3, "size", lower=0, upper=8, n_bins=8, outside="clamp")
    names = [*curves(band(cut)), *curves(of("errors", cut)), *of("quantiles", cut).table]
    assert "cut to the bounds (NOT PRIVATE)" in names and not any(str(name).startswith("true") for name in names)


def test_quantiles_with_intervals() -> None:
    table = of("quantiles").table
    assert table["quantile"] == ["5 %", "25 %", "50 %", "75 %", "95 %"]
    low, true, high = (np.array(table[name]) for name in ("from", "true (NOT PRIVATE)", "to"))
    assert (low <= true).all() and (true <= high).all(), "the band of this seed covers the truth, as 19 in 20 do"


def test_true_quantiles_by_hand() -> None:
    """7 records; half of them, 3.5, is reached in bin [2, 3), which holds record 4: 2, as no bin is finer than 1."""
    assert of("quantiles", binned()).table["true (NOT PRIVATE)"][2] == 2
    finer = of("quantiles", binned(n_bins=32)).table  # bins of a quarter
    assert finer["true (NOT PRIVATE)"][2] == 2.1  # the record 2.2 is the fourth, in [2, 2.25): 2 + 1 / 8


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one", "replace_unknown"])
def test_the_median_is_of_the_records_in_the_bins_whoever_is_protected(relation: str) -> None:
    """901 ages with the median 31, and 500 cells without a number, which are none of them."""
    rows = "10\n" * 450 + "31\n" + "50\n" * 450 + "?\n" * 500
    found = band(
        count_bins(f"age\n{rows}".encode(), "age", lower=0, upper=64, n_bins=64), relation=relation, epsilon=50.0
    )
    median = re.search(r"Median (\d+) \((\d+) to (\d+)\) of the records within the bounds", found.answer)
    assert median is not None and median[1] == "31" and int(median[2]) <= 31 < int(median[3])
    assert re.search(r"(499|500|501) ± \S+ records are outside the bounds or have no number", found.answer)
    assert "consistent" in curves(found)


def test_a_category_is_told_by_its_name_and_no_records_have_no_median() -> None:
    tree = Tree.from_branching_factors((3,))
    said = band(dataset(tree, [1, 900, 1], prefix="town"), epsilon=50.0).answer
    assert "Median category, in their order: `town1.1` (no other is likely)." in said
    assert "is 0 or less, so there is no median" in band(dataset(tree, [0, 0, 0])).answer


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"tree": "own", "factors": "2,2"}, "TREE_SHAPE"),
        ({"tree": "own"}, "TREE_SHAPE"),
        ({"allocation": "custom", "shares": "0,0.5,0.6"}, "BUDGET_SPLIT"),
        ({"allocation": "custom", "shares": "0.5"}, "BUDGET_SPLIT"),
        ({"allocation": "optimal", "relation": "replace_unknown"}, "RELATION"),
    ],
)
def test_settings_that_are_refused(inputs: dict[str, Any], code: str) -> None:
    assert refused(**inputs) == code


@pytest.mark.parametrize("fit", list(FITS))
@pytest.mark.parametrize("allocation", ["uniform", "optimal"])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete_gaussian"])
def test_all_choices_give_a_release(fit: str, allocation: str, mechanism: str) -> None:
    inputs = {"fit": fit, "mechanism": mechanism, "delta": 1e-6}
    found = band(allocation=allocation, **inputs)
    is_refused = any(note.startswith("Consistent counts are left out.") for note in found.notes)
    assert is_refused == (fit == "hamming"), "least squares leaves no whole counts"
    if fit == "hamming" and mechanism == "discrete_gaussian":
        assert not band(least_squares=False, **inputs).notes


def test_leaves_on_different_levels_and_a_single_bin_are_refused() -> None:
    ragged = Tree.from_child_counts([np.array([2]), np.array([0, 2])])
    assert refused(data=dataset(ragged, [1, 2, 3])) == "CDF_SHAPE"
    assert refused(data=dataset(Tree.from_branching_factors((1,)), [4])) == "TREE_SHAPE"


@pytest.mark.parametrize(
    "counts", [[0] * 8, [50, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 50]], ids=["N=0", "first", "last"]
)
def test_no_records_and_all_in_one_bin(counts: list[int]) -> None:
    assert band(dataset(Tree.from_branching_factors((8,)), counts)).answer


# --- whole pipelines -------------------------------------------------------------------------------------------------


def test_figure_1_of_the_paper() -> None:
    """K = 256 at epsilon = 1 by hand: 2 * 255^3; 4 * 256 * 255; 4 * 256 * 8^3 * 1; 4 * 256 * 2^3 * 15."""
    inputs, tables = PipelineInputs(bins="256"), Tables(ages())
    table = cdf.errors_at(inputs, tables).table
    values = dict(zip(table["pipeline"], table[SQUARES], strict=True))
    assert values["Noise on every cumulative count"] == 2 * 255**3
    assert values["Histogram"] == 4 * 256 * 255
    assert values["Binary tree"] == pytest.approx(4 * 256 * 8**3)
    assert values["16-ary tree"] == pytest.approx(4 * 256 * 2**3 * 15)
    assert values["16-ary tree, least squares"] == pytest.approx(41_040, abs=1)
    found = cdf.error_against_epsilon(inputs, tables)
    drawn = {name: curve for name, curve in curves(found).items() if name is not None}
    pure = [curve for name, curve in drawn.items() if not name.startswith("Gaussian")]
    assert all(np.allclose(c.y * c.x, c.y[0] * c.x[0]) for c in pure) and len(drawn) == len(pure) + 2
    assert drawn["Histogram"].y[0] * drawn["Histogram"].x[0] == pytest.approx(math.sqrt(4 * 255))
    assert (
        f"At ε = 1 the RMSE of a cumulative count is {math.sqrt(41_040 / 256):.3g} records with 16-ary tree, least"
        in found.answer
    )


def test_pipelines_are_of_one_relation_and_of_any_number_of_bins() -> None:
    for view in (cdf.error_against_epsilon, cdf.distance_from_optimal):
        found = view(OptimalInputs(relation="add_or_remove_one", bins="16"), Tables(ages()))
        assert "replace one, whatever the sidebar says" in found.provenance.line()
    assert "K = 128." in cdf.error_against_epsilon(PipelineInputs(), Tables(ages())).caption
    with refuses("TREE_SHAPE"):
        cdf.error_against_epsilon(PipelineInputs(bins="one"), Tables(ages()))


def test_the_experiment_puts_our_numbers_beside_the_papers() -> None:
    inputs, made = ExperimentInputs(), repeat((100, 7))
    table = cdf.beside_the_paper(inputs, Tables(), slow=made).table
    assert [values[0] for values in table.values()] == ["paper (100 runs)", "502.81", "286.43", "18.54", "10.72"]
    gains = consistency_gains(trials=100, seed=7)
    assert str(table["ℓ₂ consistent"][1]).startswith(f"{gains[0].l2_consistent.mean:.4g} ± ")
    best = gains[-1].l2_consistent.mean
    assert best < PUBLISHED["l2_consistent"] / 2.5
    found = cdf.published_experiment(inputs, Tables(), slow=made)
    assert f"comes to {best:.3g}, {PUBLISHED['l2_consistent'] / best:.3g} times as close" in found.answer
    *_, (name, value, closer, _) = cdf.headline(made.gains)
    assert name == "Best: padded 10³, least squares" and value.startswith(f"{best:.4g} ±")
    assert closer.startswith(f"{PUBLISHED['l2_consistent'] / best:.3g}× closer than the paper")
    assert "ours are being drawn" in cdf.published_experiment(inputs, Tables()).answer
    other = cdf.published_experiment(ExperimentInputs(seed=8), Tables(), slow=made)
    assert other.notes == ("Shown meanwhile: 100 runs and seed 7.",)


# --- how far from optimal --------------------------------------------------------------------------------------------


def test_a_gaussian_release_is_compared_with_the_bound() -> None:
    gaussian = {"mechanism": "gaussian", "delta": 1e-6}
    assert re.search(r"counts is \*\*[0-9.]+ % above the least\*\* that any", of("distance", **gaussian).answer)
    said = of("distance", tree="optimal", **gaussian).answer
    assert re.search(r"counts is \*\*0\.[0-9]+ % above the least\*\* that any", said), "not: 1 times the least"


def test_the_bound_is_of_as_many_bins_as_are_asked_for_up_to_where_it_is_too_much_work() -> None:
    entry, tables = VIEWS["cdf.optimal"], Tables(ages())
    assert entry.slow is not None
    many = entry.find(OptimalInputs(bins="1026"), tables)
    assert (
        "K = 256 is shown instead of 1\u202f026" in many.notes[0]
        and entry.slow(OptimalInputs(bins="1026"), tables) is None
    )
    work = entry.slow(OptimalInputs(bins="300"), tables)
    assert work is not None and work.question == (300, "cdf") and work.is_exact
    assert entry.slow(OptimalInputs(bins="256"), tables) is None
    assert "K = 256, Gaussian noise" in entry.find(OptimalInputs(bins="300"), tables).caption
    assert (
        "K = 20, Gaussian noise" in entry.find(OptimalInputs(bins="300"), tables, slow=distances((20, "cdf"))).caption
    )


def test_the_distance_from_the_bound_is_said_of_the_best_tree() -> None:
    found = cdf.distance_from_optimal(OptimalInputs(bins="64"), Tables(ages()))
    said = found.answer
    labels, ratios = distance_table(64, best_shape(64, Criterion("gaussian", least_squares=True))).values()
    rows = dict(zip(labels, ratios, strict=True))
    root = next(ratio for label, ratio in rows.items() if label.startswith("Square-root"))
    tree = min(ratio for label, ratio in rows.items() if "matrix" not in label)
    assert root < tree and f"the variance of the best tree is {100 * (tree - 1):.3g} % above the least" in said
    assert f"its typical error {100 * (tree**0.5 - 1):.3g} % above the least" in found.caption
    assert f"the square-root matrix {100 * (root - 1):.3g} % above the least" in said
    assert 1 < min(ratios) <= 1.003, "as near as the matrix that is released"


def test_where_the_best_tree_is_optimal_it_is_said_to_be_the_least() -> None:
    said = cdf.distance_from_optimal(OptimalInputs(bins="2"), Tables(ages())).answer
    assert "the variance of the best tree is the least that any linear Gaussian mechanism can have" in said
    assert "of the square-root matrix the least." in said and "0 %" not in said


def test_the_bound_is_of_ranges_where_they_are_asked_for() -> None:
    """Two bins by hand: of three ranges two have the error of the one number there is, of cumulative counts one."""
    inputs, tables = OptimalInputs(bins="2", epsilon=1.0, queries="ranges"), Tables(ages())
    main, any_one = cdf.distance_from_optimal(inputs, tables), cdf.every_mechanism(inputs, tables)
    table = any_one.table
    at = list(table["epsilon"]).index(1.0)
    pure, _, tree, _ = (float(list(values)[at]) for name, values in table.items() if name != "epsilon")
    assert pure == pytest.approx(math.sqrt(1 / (3 * (math.cosh(1.0) - 1))), rel=1e-6)
    assert tree == pytest.approx(math.sqrt(8 * 2 / 6), rel=1e-6), "Laplace noise of scale 2 on both, halved"
    assert "For ranges of 2 bins" in main.answer and "of all ranges" in any_one.caption
    work = VIEWS["cdf.optimal"].slow
    assert work is not None
    sought = work(replace(inputs, bins="300"), tables)
    assert sought is not None and sought.question == (300, "ranges")


def test_what_every_mechanism_has_at_least_is_shown_below_the_best_that_we_have() -> None:
    """Two bins by hand: 1 / (4 (cosh 1 - 1)) without a delta; of three records of a unit three times the error."""
    two, tables = OptimalInputs(bins="2", epsilon=1.0), Tables(ages())
    table = cdf.every_mechanism(two, tables).table
    at = list(table["epsilon"]).index(1.0)
    pure, both, tree, matrix = (list(map(float, values)) for name, values in table.items() if name != "epsilon")
    assert pure[at] == pytest.approx(math.sqrt(1 / (4 * (math.cosh(1.0) - 1))), rel=1e-6)
    assert all(b < a < c and b < d for a, b, c, d in zip(pure, both, tree, matrix, strict=True))
    found, main = cdf.every_mechanism(two, tables), cdf.distance_from_optimal(two, tables)
    said = "Every mechanism, linear or not, has an RMSE of at least 0.677 records at ε = 1, with δ = "
    assert said in main.answer and said in found.answer and "has 1.41 records, 2.08 times as much" in found.answer
    three = cdf.every_mechanism(replace(two, contributions=3), tables).table
    assert [list(three[name])[at] for name in three if name != "epsilon"] == pytest.approx(
        [3 * one[at] for one in (pure, both, tree, matrix)]
    )
    assert "K = 20." in cdf.every_mechanism(OptimalInputs(bins="300"), tables, slow=distances((20, "cdf"))).caption
    assert "K = 256." in cdf.every_mechanism(OptimalInputs(bins="300"), tables).caption
