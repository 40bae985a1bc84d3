"""The views of the page Consistency as calls: one draw before and after an estimator, by oracles of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracles_figures import decoded
from oracles_pages import DEGENERATE, dataset, mean_gap, tree_rmsre
from refusals import refuses
from sample_data.catalogue import count_sample
from treedp_core.experiment import Experiment, draw_once, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.registry import Promise
from treedp_core.studies.sweep.before_after import Draw, draw, expected
from treedp_core.tree import Tree
from treedp_core.views import Finding, Tables, consistency
from treedp_core.views.consistency import ConsistencyInputs, words
from treedp_core.words import literal, short

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
FOUR = dataset(Tree.from_branching_factors((2, 2, 2)), [5, 0, 1, 20, 3, 3, 0, 7])
LEAST_SQUARES = Experiment(postprocess=("least_squares",))
SECTIONS: tuple[Callable[..., Finding], ...] = (
    *(one.find for one in consistency.ENTRIES), consistency.changes, consistency.sums, consistency.bias_by_size,
)  # fmt: skip


def look(view: Callable[..., Finding], data: Dataset = SMALL, **inputs: Any) -> Finding:
    return view(ConsistencyInputs(**inputs), Tables(data))


def cards(data: Dataset = SMALL, **inputs: Any) -> dict[str, tuple[str, str]]:
    """Each number after the estimator, and what is said of the one before."""
    table = look(consistency.changes, data, **inputs).table
    return dict(zip(table["number"], zip(table["after"], table["change"], strict=True), strict=True))


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_cards_tell_of_this_draw() -> None:
    raw, _ = draw_once(Experiment(), SMALL.tree, SMALL.counts)
    parent, starts = SMALL.tree.parent.tolist(), SMALL.tree.level_start.tolist()
    errors, shown = (raw.estimate - SMALL.counts).tolist(), cards()
    assert shown["Mean parent–children gap"] == ("0", f"was {short(mean_gap(parent, raw.estimate.tolist()))}")
    rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
    assert shown["RMSE, all nodes"][1].endswith(f"was {short(rmse)}")
    assert shown["RMSRE"][1].endswith(f"was {short(tree_rmsre(starts, errors, SMALL.counts.tolist(), 10.0))}")
    assert shown["Negative counts"][1] == f"was {sum(v < 0 for v in raw.estimate.tolist())}"


def test_expected_errors_are_the_cores_formulas() -> None:
    before = run(Experiment(), SMALL.tree, SMALL.counts, simulated=False).formula
    after = run(LEAST_SQUARES, SMALL.tree, SMALL.counts, simulated=False).formula
    assert before is not None and after is not None
    assert f"RMSE {short(before.tree)} before, {short(after.tree)} after" in look(consistency.changes).answer
    shown = decoded(look(consistency.expected_by_level).figure)
    bars = [trace for trace in shown["data"] if trace["mode"] == "lines"]
    for bar, wanted in zip(bars, (before, after), strict=True):
        assert {round(y, 9) for y in bar["y"] if not math.isnan(y)} == {round(y, 9) for y in wanted.level[1:].tolist()}


def test_numerical_accounting_draws_the_least_noise_of_the_promise() -> None:
    """Four levels at (1, 1e-6): sigma 8.4504 by the sum of four laws (see test_accounting), 9.06 by the formula."""
    given = {"mechanism": "discrete_gaussian", "relation": "add_or_remove_one", "delta": 1e-6}
    assert "RMSE 9.06 before" in look(consistency.changes, FOUR, **given, accounting="formula").answer
    assert "RMSE 8.45 before" in look(consistency.changes, FOUR, **given, accounting="numerical").answer
    line = look(consistency.balance, FOUR, **given, accounting="numerical").provenance.line()
    assert "δ = 1e-6 by numerical accounting" in line


def test_the_answer_on_the_small_town() -> None:
    """16.9 and 11.9 records: the formula's, twice computed elsewhere. The mean gap is this draw's."""
    town = count_sample("small_town")
    found = look(consistency.balance, town)
    assert found.answer.startswith("In this draw sums fail by 19 records on average; least squares makes them exact")
    assert "lowers the expected RMSE from 16.9 to 11.9" in found.answer and "Negative" not in found.answer
    _, parent, children, gap = decoded(found.figure)["data"]
    assert sum(children["x"]) == parent["x"][0] + gap["x"][0]  # 328 + 429 = 714 + 43
    assert gap["x"][0] > 0.03 * parent["x"][0]  # twenty pixels and more
    _, parent, *rest = decoded(look(consistency.balance, town, shown="after").figure)["data"]
    assert len(rest) == 1
    assert sum(rest[0]["x"]) == pytest.approx(parent["x"][0])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("post", CHAINS)
def test_every_estimator_keeps_its_promises_with_every_mechanism(mechanism: str, post: str) -> None:
    given, steps = {"delta": 1e-6, "mechanism": mechanism, "postprocess": post}, CHAINS[post].steps
    if "non_negative" in steps:
        assert "after a biased step no formula is known" in look(consistency.changes, **given).answer
        assert "Setting negatives to 0 is biased" in look(consistency.bias_by_size, **given).answer
    promises, shown = POSTPROCESSORS[steps[-1]].promises if steps else (), cards(**given)
    if Promise.CONSISTENT in promises or post == "least_squares":
        assert shown["Mean parent–children gap"][0] == "0"
    if Promise.NON_NEGATIVE in promises:
        assert shown["Negative counts"][0] == "0"


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_chain_on_small_and_odd_trees(name: str, every: bool) -> None:
    """Each chain of a tree under one of the relations, or under all."""
    for nth, post in enumerate(CHAINS, list(DEGENERATE).index(name)):
        for relation in NeighbouringRelation if every else [list(NeighbouringRelation)[nth % 3]]:
            for section in SECTIONS:
                found = look(section, DEGENERATE[name], relation=relation.value, postprocess=post)
                assert len(set(map(len, found.table.values()))) == 1 and (found.figure is None or found.figure.figure())


def test_everything_of_the_true_counts_says_so() -> None:
    for section in SECTIONS:
        found, told = look(section), section.__name__
        is_private = told != "expected_by_level"
        assert ("NOT PRIVATE" in found.caption) is is_private is found.is_simulated, told
        assert found.figure is None or ("NOT PRIVATE" in found.badges) is is_private, told
    tuned = {"allocation": "custom", "shares": "0, 0.5, 0.5", "tuned_on": "true_counts"}
    assert all(look(section, **tuned).label.startswith("NOT PRIVATE") for section in SECTIONS)
    assert "NOT PRIVATE" in look(consistency.expected_by_level, **tuned).badges


def test_a_refused_split_is_refused_by_all() -> None:
    for section in SECTIONS:
        with refuses("BUDGET_SPLIT", "got 2"):
            look(section, allocation="custom", shares="0, 0.5")


def test_levels_that_are_not_measured() -> None:
    given = {"node": 1, "allocation": "leaves_only"}
    assert cards(**given)["RMSE, all nodes"][1] == "was ∞"
    assert "nothing to compare it with" in look(consistency.sums, **given).answer
    assert "it is not measured, but follows from the others" in look(consistency.bias_by_size, **given).answer
    assert cards(**given, postprocess="none")["RMSE, all nodes"][0] == "∞"
    for strips in (consistency.strips_before, consistency.strips_after):
        found = look(strips, **given, postprocess="none")
        assert found.figure is not None and found.figure.data[0]["type"] == "heatmap"
        assert math.isnan(found.table["value (NOT PRIVATE)"][0]) is False
        assert np.isnan(found.table["value (NOT PRIVATE)"]).any()


def test_the_counts_of_a_family_and_their_sum() -> None:
    raw, _ = draw_once(Experiment(), SMALL.tree, SMALL.counts)
    family = [2, 8, 9, 10, 11]
    found = look(consistency.sums, node=2)
    assert found.table["path"] == ["n1.1", *(f"n1.1 › n2.{i}" for i in range(4, 8))]
    assert list(found.table["true count (NOT PRIVATE)"]) == SMALL.counts[family].tolist()
    assert list(found.table["before"]) == raw.estimate[family].tolist()
    after = list(found.table["after"])
    assert sum(after[1:]) == pytest.approx(after[0])
    assert found.answer.startswith(f"before   {words.equation(SMALL.tree, 2, raw.estimate)}\n")
    alike = (look(consistency.sums, node=node).table for node in (0, 4_000_000))
    assert len({repr(table) for table in alike}) == 1
    assert repr(look(consistency.sums, node=5).table) == repr(look(consistency.sums, node=1).table)  # a leaf


def test_another_node_is_shown_of_the_same_draw() -> None:
    """All that is shown takes one draw and its formulas, whatever node, and counts before or after, are looked at."""
    kept: dict[Hashable, Any] = {}

    def memo(key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    for section in SECTIONS:
        for node, shown in ((0, "before"), (1, "before"), (1, "after")):
            section(ConsistencyInputs(node=node, shown=shown), Tables(SMALL), memo=memo)
    assert [key[0] for key in kept] == ["consistency.draw", "consistency.expected"]  # type: ignore[index]


HOSTILE = ("<img src=x onerror=alert(1)>", "![x](http://192.0.2.1/b.png)", "$\\href{javascript:1}{x}$", ":red[x] `a`")


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_said_literally(label: str) -> None:
    data = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], name=label, prefix=label)
    said = [one for section in SECTIONS for one in _markdown(look(section, data, node=1)) if label in one]
    pieces = [literal(f"{label}level1", 40), literal(f"{label}level2", 40)]
    assert said and all(any(piece in text for piece in pieces) for text in said)


def _markdown(found: Finding) -> tuple[str, ...]:
    return (found.answer, found.caption, found.how, found.label, *found.notes)


# --- the answer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAINS)
def test_the_answer_promises_what_the_steps_do(name: str) -> None:
    experiment = Experiment(postprocess=CHAINS[name].steps, seed=7)
    the = draw(experiment, SMALL.tree, SMALL.counts)
    told = words.answer(the, expected(experiment, name, SMALL.tree, SMALL.counts))
    assert ("makes them exact" in told) == (bool(CHAINS[name].steps) and the.gaps[1] == 0)
    assert ("expected RMSE from" in told) == (name == "least_squares")


@pytest.mark.parametrize(
    ("shares", "steps", "starts", "rest"),
    [
        ("0, 0, 1, 0", "least_squares", "No count is measured", "nothing tells 8 of the 15 counts: give the lowest"),
        ("0, 0, 1, 0", "none", "No count is measured", "nothing tells 10 of the 15 counts: give the lowest"),
        ("0, 0, 0, 1", "least_squares", "No count is measured", "works the others out and lowers the expected RMSE"),
        ("0, 0.5, 0.5, 0", "none", "In this draw sums fail by", "nothing tells 8 of the 15 counts: give the lowest"),
    ],
)
def test_sums_of_what_is_not_measured_are_not_said_to_be_exact(shares: str, steps: str, starts: str, rest: str) -> None:
    """Four levels of 1, 2, 4 and 8 counts; the total is public."""
    chosen = Experiment(
        postprocess=CHAINS[steps].steps, allocation="custom", shares=tuple(map(float, shares.split(", "))), seed=7
    )
    the = draw(chosen, FOUR.tree, FOUR.counts)
    told = words.answer(the, expected(chosen, steps, FOUR.tree, FOUR.counts))
    assert told.startswith(starts) and rest in told
    assert ("sums fail by" in told) == ("0.5" in shares) and "RMSE of ∞" not in told


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([27, 12, 7, 5], "12 + 7 + 5 = 24 ≠ 27"), ([24.6, 12.2, 7.4, 5.0], "12.2 + 7.4 + 5 = 24.6 = 24.6"),
        ([5, -1, 7, -2], "−1 + 7 − 2 = 4 ≠ 5"), ([0.1 + 0.2 + 0.3, 0.1, 0.2, 0.3], "0.1 + 0.2 + 0.3 = 0.6 = 0.6"),
        ([math.nan, 1, 1, 1], "1 + 1 + 1 = 3: nothing to compare it with"),
    ],
)  # fmt: skip
def test_equation(values: list[float], text: str) -> None:
    assert words.equation(Tree.from_branching_factors((3,)), 0, np.array(values)) == text


def test_large_counts_are_not_taken_for_equal() -> None:
    """One record apart in nine thousand million is not equal."""
    assert "≠" in words.equation(Tree.from_branching_factors((2,)), 0, np.array([9e9, 4e9, 5e9 - 1]))


def test_the_bias_line_quotes_this_draw() -> None:
    """All nodes of the level but the root, which is published exactly, are 0 and come out 1.5 too large."""
    tree = Tree.from_branching_factors((20,))
    zero, after = np.zeros(21, dtype=np.int64), np.array([0.0] + [1.5] * 20)
    clipped = Draw(Experiment(postprocess=("non_negative",)), tree, zero, after, after, np.array([0.0, 2.0]))
    assert "20 counts of true size 0 came out 1.5 records too large" in words.bias_line(clipped)
    assert "unbiased" in words.bias_line(replace(clipped, experiment=LEAST_SQUARES))
    few = Tree.from_branching_factors((2,))
    assert words.bias_line(replace(clipped, tree=few, counts=zero[:3], before=after[:3], after=after[:3])).endswith(
        "noise above 0 stays."
    )
