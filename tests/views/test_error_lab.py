"""Views of the Error lab, called: lines are the core's formulas, markers agree with them, and what is said of both."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles_figures import decoded
from oracles_pages import DEGENERATE, RAGGED, dataset, tree_of
from oracles_tree import random_parents
from sample_data.catalogue import count_sample
from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.experiment import EPSILON_GRID, Experiment, run, smallest_epsilon
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Dataset
from treedp_core.studies.sweep.lines import Line, Simulation, Value
from treedp_core.studies.sweep.series import VIEWS, Series
from treedp_core.tree import Tree
from treedp_core.views import VIEWS as ENTRIES
from treedp_core.views import Finding, Tables, lab
from treedp_core.views.lab import LabInputs
from treedp_core.views.lab import words as lab_words
from treedp_core.watch import Watch
from treedp_core.words import short

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
LAPLACE = Experiment(mechanism="laplace")
ONE = ("laplace",)
RELATIONS = ("replace_one", "add_or_remove_one", "replace_unknown")


@cache
def simulated(view: str, inputs: LabInputs, data: Dataset = SMALL) -> Simulation:
    work = ENTRIES[f"lab.{view}"].slow(inputs, Tables(data))  # type: ignore[misc]
    return work.on(Tables(data))(Watch())  # type: ignore[union-attr, no-any-return]


def look(view: str = "epsilon", data: Dataset = SMALL, slow: Simulation | None = None, **inputs: Any) -> Finding:
    return ENTRIES[f"lab.{view}"].found(LabInputs(**inputs), Tables(data), slow)


def traces(found: Finding, mode: str) -> list[dict[str, Any]]:
    drawn = decoded(found.figure)["data"]
    return [one for one in drawn if one.get("mode") == mode and one.get("showlegend", True)]


def markers(found: Finding) -> list[dict[str, Any]]:
    return [one for one in decoded(found.figure)["data"] if one.get("mode") == "markers"]


def cards(
    data: Dataset = SMALL, view: str = "level", slow: Simulation | None = None, **inputs: Any
) -> dict[str, float]:
    found = lab.whole_tree(LabInputs(**inputs), Tables(data), view=view, slow=slow).table
    return dict(zip(found["series"], found["value"], strict=True))


def formula(one: Experiment, data: Dataset = SMALL) -> float:
    found = run(one, data.tree, data.counts, simulated=False).formula
    assert found is not None
    return found.tree


# --- formulas --------------------------------------------------------------------------------------------------------


def test_lines_and_cards_are_the_cores_formulas() -> None:
    found, shown = look(mechanisms=ONE), cards(mechanisms=ONE)
    for pipeline, steps in (("none", ()), ("least_squares", ("least_squares",))):
        label, here = Series("laplace", pipeline).label, replace(LAPLACE, postprocess=steps)
        assert shown[label] == pytest.approx(formula(here))
        line = next(one for one in traces(found, "lines") if one["name"] == label)
        assert line["x"] == sorted(EPSILON_GRID)
        np.testing.assert_allclose(line["y"], [formula(replace(here, epsilon=e)) for e in line["x"]])
    assert found.badges == ("formula",)
    table = look().table
    assert list(table["epsilon"]) == [*EPSILON_GRID] * 2 and not any(table["simulation"])


def test_laplace_by_hand() -> None:
    """Two noisy levels, epsilon 1/2 each, sensitivity 2: scale 4, standard deviation 4 sqrt 2; the root is public."""
    asked: dict[str, Any] = {"mechanisms": ONE, "postprocess": ("none",)}
    assert cards(**asked) == {"Laplace": pytest.approx(math.sqrt(2 * 4**2 * 15 / 16))}
    bar = traces(look("level", **asked), "lines")[0]
    assert {round(y, 9) for y in bar["y"] if not math.isnan(y)} == {round(4 * math.sqrt(2), 9)}


def test_number_of_levels_cuts_the_tree() -> None:
    found = look("n_levels", mechanisms=ONE, postprocess=("least_squares",))
    line, here = traces(found, "lines")[0], replace(LAPLACE, postprocess=("least_squares",))
    tops = [(SMALL.tree.top(n), SMALL.counts[: SMALL.tree.level_start[n]]) for n in (2, 3)]
    assert line["x"] == [2.0, 3.0]
    np.testing.assert_allclose(line["y"], [run(here, *top, simulated=False).formula.tree for top in tops])  # type: ignore[union-attr]
    axis = decoded(found.figure)["layout"]["xaxis"]
    assert (axis["tick0"], axis["dtick"]) == (2, 1)  # there are no half levels


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_in_every_view_says_what_it_takes(metric: str) -> None:
    asked: dict[str, Any] = {"metric": metric, "mechanisms": tuple(MECHANISMS), "postprocess": tuple(CHAINS)}
    assert len(cards(delta=1e-6, **asked)) == len(MECHANISMS) * len(CHAINS)
    for view in VIEWS:
        found = look(view, delta=1e-6, **asked)
        for name, text in {"alpha": "α = 0.5", "threshold": "τ = 10"}.items():
            assert view == "draw" or (text in found.caption) == (name in METRICS[metric].uses)


def test_what_depends_on_the_counts_says_not_private() -> None:
    private = [look(**asked) for asked in ({"metric": "rmsre"}, {"view": "draw"})]
    assert all("NOT PRIVATE" in one.caption and "NOT PRIVATE" in one.badges for one in private)
    assert "NOT PRIVATE" not in look().caption and "NOT PRIVATE" not in look().badges


@pytest.mark.parametrize("metric", METRICS)
def test_plain_words_for_every_metric(metric: str) -> None:
    line = Line(Series("laplace", "none"), *(np.array([1.0]) for _ in range(4)), cells=(),
                whole=Value(0.5, 0.0, "formula"))  # fmt: skip
    sentence = lab_words.plain_line([line], replace(LAPLACE, metric=metric), SMALL.tree)
    assert sentence.startswith("At ε = 1, with Laplace, ")
    assert ("50 %" in sentence) == (METRICS[metric].unit == "")


def test_thresholds_are_simulated_beside_noise() -> None:
    """No formula, no split, no chain; markers where a plan exists, and true counts enter."""
    town = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 130, 210, 0, 0, 400, 1000])
    asked = LabInputs(mechanisms=("laplace", "thresholds"), metric="alpha_rmse", trials=4)
    assert [one.label for one in asked.compared] == ["Laplace", "Laplace, least squares", "Thresholds"]
    before = lab.error_against_epsilon(asked, Tables(town))
    assert "Thresholds. Press **Run** to see them." in " ".join(before.notes) and "simulation only" in before.caption
    for view in ("epsilon", "level", "n_levels"):
        found = ENTRIES[f"lab.{view}"].found(asked, Tables(town), simulated(view, asked, town))
        rows = [row for row in zip(*found.table.values(), strict=True) if row[0] == "Thresholds"]
        assert {"simulation", "NOT PRIVATE"} < set(found.badges) and all(row[2] is None for row in rows)
        assert sum(row[3] is not None for row in rows) >= (1 if view == "n_levels" else 3)
        assert "α = 0.5" in found.caption and "NOT PRIVATE" in found.caption
        assert found.provenance.delta == asked.usable_delta(town.total) > 0
    small = dataset(Tree.from_branching_factors((3, 4)), [1] * 12)
    few = ENTRIES["lab.epsilon"].found(asked, Tables(small), simulated("epsilon", asked, small))
    rows = [row for row in zip(*few.table.values(), strict=True) if row[0] == "Thresholds"]
    assert any(row[3] is not None for row in rows) and rows[0][3] is None  # 12 records: no plan at a small epsilon
    draw = lab.one_draw(LabInputs(mechanisms=("thresholds",)), Tables(town))
    assert "no band" in draw.caption and "formula" not in draw.badges and "with Thresholds" in draw.answer
    alone = LabInputs(mechanisms=("thresholds",), target=5.0)
    assert "no budget split" in lab.split_by_level(alone, Tables(town)).answer
    assert list(lab.smallest_epsilons(alone, Tables(town)).table["note"]) == ["no closed form to search on"]


def test_what_else_changes_makes_simulated_thresholds_stale() -> None:
    """α does, whatever the metric; the split does not."""
    town = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 130, 210, 0, 0, 400, 1000])
    asked = LabInputs(mechanisms=("thresholds",), trials=3)
    last = simulated("level", asked, town)
    for change, is_stale in (({"alpha": 0.3}, True), ({"allocation": "minimax"}, False), ({"seed": 9}, True)):
        found = ENTRIES["lab.level"].found(replace(asked, **change), Tables(town), last)
        assert any("Grey markers" in note for note in found.notes) == is_stale, change


def test_what_has_no_formula_is_named_and_nothing_is_drawn_of_it() -> None:
    mixed = look(postprocess=("none", "non_negative"))
    assert any("simulation only: Discrete Laplace, non-negative. Press **Run**" in note for note in mixed.notes)
    asked = LabInputs(postprocess=("non_negative",))
    found = look(postprocess=("non_negative",))
    assert found.answer == "No formula is known for what is compared: press **Run**."
    assert decoded(found.figure)["data"] == []
    assert len(markers(lab.error_against_epsilon(asked, Tables(SMALL), slow=simulated("epsilon", asked)))) == 1


def test_infinity_is_written_not_drawn() -> None:
    """Leaves only: without least squares the middle level has no estimate at all."""
    found = look("level", allocation="leaves_only")
    assert cards(allocation="leaves_only")["Discrete Laplace"] == math.inf
    assert any("∞" in text for one in decoded(found.figure)["data"] if one["mode"] == "text" for text in one["text"])
    alone = look("level", allocation="leaves_only", postprocess=("none",)).answer
    assert "a level has no budget, and nothing tells its counts" in alone and "No formula" not in alone


def test_the_answer_says_the_best_and_how_much_worse_the_other_is() -> None:
    """On the small town least squares halves the variance: 11.9 records, and without it the square root of two."""
    found = look(data=count_sample("small_town")).answer
    assert "Discrete Laplace, least squares" in found and "11.9 records" in found
    assert "Discrete Laplace: 1.41 times as much." in found


# --- budget split ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0.2, 0.3", "one share for each of the 3 levels, got 2"), ("0.5, 0.5, 0.0000001", "sum to at most 1"),
        ("0.2, x, 0.5", "decimal number"), ("0.2, -0.3, 0.5", "decimal number"), ("", "got 0"),
        ("0, 0, 0", "share above 0"),
    ],
)  # fmt: skip
def test_custom_shares_are_checked(text: str, part: str) -> None:
    with pytest.raises(InputError, match=part) as refused:
        look(allocation="custom", shares=text)
    assert refused.value.code == "BUDGET_SPLIT"


def test_custom_shares_are_used_and_have_one_number_of_levels() -> None:
    shown = cards(allocation="custom", shares="0 0.25; 0.75", mechanisms=ONE)
    assert shown["Laplace"] == pytest.approx(formula(replace(LAPLACE, allocation="custom", shares=(0.0, 0.25, 0.75))))
    with pytest.raises(InputError, match="belong to one number of levels"):
        look("n_levels", allocation="custom", shares="0 0.5 0.5")
    table = lab.split_by_level(LabInputs(), Tables(SMALL)).table
    assert list(table["level"]) == list(SMALL.labels.level_names) and list(table["share"]) == [0, 0.5, 0.5]


def test_numerical_accounting_shows_the_least_noise_of_the_promise() -> None:
    """Four levels at (1, 1e-6): sigma 8.4504 by the sum of four laws (see test_accounting), 9.06 by the formula."""
    data = dataset(Tree.from_branching_factors((2, 2, 2)), [5, 0, 1, 20, 3, 3, 0, 7])
    asked: dict[str, Any] = {
        "mechanisms": ("discrete_gaussian",), "relation": "add_or_remove_one", "delta": 1e-6
    }  # fmt: skip
    for way, shown in (("formula", "9.06"), ("numerical", "8.45")):
        assert short(cards(data, **asked, accounting=way)["Discrete Gaussian"]) == shown
    shares = {"allocation": "custom", "shares": "0.25 0.25 0.25 0.25", "accounting": "numerical"}
    said = look(data=data, **asked, **shares, tuned_on="public").provenance.line()
    assert short(cards(data, **asked, **shares, tuned_on="public")["Discrete Gaussian"]) == "8.45"
    assert "δ = 1e-6 by numerical accounting" in said
    with pytest.raises(InputError, match="Prior and levels cost"):
        look(data=data, **asked, **shares, tuned_on="noisy rho 0.001 add_or_remove_one 1 1")
    other = look(data=data, mechanisms=("gaussian",), accounting="numerical").provenance.line()
    assert "by numerical accounting" not in other


# --- simulation ------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_markers_agree_with_the_lines() -> None:
    """False alarm: 14 markers beyond 6 standard errors, below 1e-7; a formula 1.3 times as large is rejected."""
    found = look(mechanisms=ONE, slow=simulated("epsilon", LabInputs(mechanisms=ONE)))
    assert len(markers(found)) == 2 and "400 simulated releases" in found.caption
    for dots in markers(found):
        line = next(one for one in traces(found, "lines") if one["name"] == dots["legendgroup"])
        exact, error = np.interp(dots["x"], line["x"], line["y"]), np.array(dots["error_y"]["array"]) / 1.96
        assert len(dots["x"]) == 7
        assert np.max(np.abs(np.array(dots["y"]) - exact) / error) < 6
        assert np.min(np.abs(np.array(dots["y"]) - 1.3 * exact) / error) > 6


def test_a_simulated_value_is_that_of_run_and_never_a_stale_one() -> None:
    asked: dict[str, Any] = {"postprocess": ("non_negative",), "trials": 100}
    slow = simulated("level", LabInputs(**asked))
    alone = run(Experiment(postprocess=("non_negative",), trials=100), SMALL.tree, SMALL.counts).simulation
    assert alone is not None
    shown = lab.whole_tree(LabInputs(**asked), Tables(SMALL), slow=slow).table
    assert (shown["value"][0], shown["standard error"][0]) == (alone.tree, alone.tree_se)
    assert "NOT PRIVATE" in look("level", slow=slow, **asked).caption
    assert math.isnan(cards(slow=slow, seed=8, **asked)["Discrete Laplace, non-negative"])


@pytest.mark.parametrize("pipeline", CHAINS)
def test_a_simulation_of_a_biased_pipeline_is_not_private_and_of_a_linear_one_is(pipeline: str) -> None:
    asked: dict[str, Any] = {"postprocess": (pipeline,), "trials": 100}
    found = look("level", slow=simulated("level", LabInputs(**asked)), **asked)
    biased = not all(POSTPROCESSORS[step].linear for step in CHAINS[pipeline].steps)
    assert ("NOT PRIVATE" in found.badges) is biased
    assert ("depend on the true counts: NOT PRIVATE" in found.caption) is biased


@pytest.mark.parametrize(
    ("view", "moved", "note"),
    [
        ("epsilon", {"seed": 8}, "Grey markers: computed for seed 7. Press **Run**"), ("epsilon", {"epsilon": 2.5}, ""),
        ("level", {"epsilon": 4.0}, "Grey markers: computed for ε = 1."),
        ("epsilon", {"alpha": 0.3, "threshold": 20.0, "delta": 1e-7}, ""),
        ("epsilon", {"mechanisms": ("discrete_laplace", "laplace")}, ""),
        ("epsilon", {"metric": "rmsre"}, "The last simulation was of another metric."),
    ],
)  # fmt: skip
def test_markers_of_other_inputs_are_grey(view: str, moved: dict[str, Any], note: str) -> None:
    slow = simulated(view, LabInputs())
    found = look(view, slow=slow, **moved)
    assert [one for one in found.notes if one.startswith(note or ("Grey", "The last"))] == (
        [one for one in found.notes if note in one] if note else []
    )
    assert (note in " ".join(found.notes)) and len(markers(found)) == (0 if "metric" in moved else 2)
    colours = {one["marker"]["color"] for one in markers(found)}
    assert (colours == {"#7A7A7A"}) == note.startswith("Grey") and "#7A7A7A" not in (set() if note else colours)


def test_too_large_a_run_is_refused_with_the_limit() -> None:
    wide = dataset(Tree.from_branching_factors((100, 100, 10)), [1] * 10**5)
    work = lab.simulation("epsilon", LabInputs(trials=6400), Tables(wide))
    with pytest.raises(
        InputError, match=r"got 6400 .the limit is 2\u202f000\u202f000\u202f000 draws; this run"
    ) as large:
        work.steps()
    assert large.value.code == "TRIALS_RANGE"
    assert lab.simulation("epsilon", LabInputs(trials=100), Tables(wide)).steps() > 0


# --- optimum and target ----------------------------------------------------------------------------------------------


def test_gaussian_noise_is_compared_with_the_optimum() -> None:
    def told(data: Dataset = SMALL, **more: Any) -> str:
        asked = LabInputs(mechanisms=("gaussian",), delta=1e-6, **more)
        return " ".join(lab.whole_tree(asked, Tables(data)).notes)

    assert "attains the optimum" in told(allocation="minimax")
    assert "× the least that any unbiased Gaussian mechanism" in told()
    assert "unbiased Gaussian mechanism" not in told(RAGGED)


def test_target_error_gives_the_smallest_epsilon() -> None:
    """By hand: sqrt(2) * 2 / (epsilon / 2) * sqrt(15 / 16) = 3."""
    asked: dict[str, Any] = {"mechanisms": ONE, "postprocess": ("none", "non_negative")}
    answers = lab.smallest_epsilons(LabInputs(target=3.0, **asked), Tables(SMALL)).table
    found = smallest_epsilon(LAPLACE, SMALL.tree, SMALL.counts, 3.0).epsilon
    assert found == pytest.approx(4 * math.sqrt(2) * math.sqrt(15 / 16) / 3, rel=2e-3)
    assert list(answers["smallest ε"]) == ["1.827", "–"] and 1.826 < found <= 1.827  # rounded up, never down
    assert list(answers["note"]) == ["", "no closed form to search on"]
    far = lab.smallest_epsilons(LabInputs(target=1e-6, mechanisms=ONE), Tables(SMALL)).table
    assert list(far["note"]) == ["not within reach of any ε up to 100"] * 2


@pytest.mark.parametrize(("metric", "is_data"), [("rmse", False), ("rmsre", True)])
def test_a_smallest_epsilon_that_is_data_says_so(metric: str, is_data: bool) -> None:
    asked = LabInputs(metric=metric, target=0.9, mechanisms=ONE)
    found = lab.smallest_epsilons(asked, Tables(count_sample("geography")))
    notes = [one for one in found.table["note"] if one != "not within reach of any ε up to 100"]
    assert all(("NOT PRIVATE" in note) is is_data for note in notes) and ("NOT PRIVATE" in found.caption) is is_data


# --- one draw, and odd trees -----------------------------------------------------------------------------------------


def test_one_draw_shows_truth_and_release() -> None:
    for level, counts in ((2, SMALL.counts[4:]), (1, SMALL.counts[1:4])):
        drawn = decoded(look("draw", level=level).figure)["data"]
        truth = next(one for one in drawn if one.get("name") == "true count")
        assert truth["y"] == sorted(counts.tolist(), reverse=True)
    wide = dataset(Tree.from_branching_factors((401,)), [1] * 401)
    found = look("draw", wide)
    assert len(decoded(found.figure)["data"][-1]["x"]) == 400
    assert "400 of 401 nodes, evenly spaced" in found.caption and "evenly spaced" not in look("draw").caption
    with pytest.raises(InputError, match="This level is not measured"):
        look("draw", level=1, allocation="leaves_only", postprocess=("none",))


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_view_on_small_and_odd_trees(name: str, every: bool) -> None:
    """Each view meets each relation; `make contract` tries them all."""
    shift, data = list(DEGENERATE).index(name), DEGENERATE[name]
    for i, relation in enumerate(RELATIONS):
        asked: dict[str, Any] = {"relation": relation, "delta": 1e-6, "mechanisms": ("gaussian",)}
        lab.smallest_epsilons(LabInputs(target=2.0, **asked), Tables(data))
        for view in [view for j, view in enumerate(VIEWS) if every or (i + j + shift) % 3 == 0]:
            slow = None if view == "draw" else simulated(view, LabInputs(**asked), data)
            assert look(view, data, **asked if slow is None else asked | {"slow": slow}).answer


def test_a_random_ragged_tree_is_shown_by_every_view() -> None:
    tree = tree_of(random_parents(np.random.default_rng(5), 60))
    data = dataset(tree, list(range(tree.n_leaves)))
    assert all(look(view, data, postprocess=tuple(CHAINS)).answer for view in VIEWS)
