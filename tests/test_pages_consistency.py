"""The Consistency page: one draw before and after an estimator, its cards, pictures and ledger."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import DEGENERATE, dataset, figure, mean_gap, metric_values, open_page, pick, read, tree_rmsre, words
from pages.ui.text import lit
from pages.views.consistency.words import amount, answer, bias_line, change, equation, expected_line, gain_line, weighed
from treedp_core.errors import ErrorSummary
from treedp_core.experiment import Experiment, draw_once, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.registry import Promise
from treedp_core.studies.sweep.before_after import Draw, Expected, draw, expected
from treedp_core.studies.sweep.series import Series
from treedp_core.tree import Tree
from treedp_core.words import short

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
LEAST_SQUARES = Experiment(postprocess=("least_squares",))
RELATIONS = ("replace_one", "add_or_remove_one", "replace_unknown")


@pytest.fixture
def page() -> Callable[..., AppTest]:
    return lambda data=SMALL, **link: open_page("consistency", data, **link)


def summary(levels: list[float]) -> Expected:
    return Expected(Series("laplace", "none"), ErrorSummary(np.array(levels), np.zeros(len(levels)), 1.0, 0.0))


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_cards_tell_of_this_draw(page: Callable[..., AppTest]) -> None:
    app = page()
    assert not app.exception
    assert not app.error
    raw, _ = draw_once(Experiment(), SMALL.tree, SMALL.counts)
    parent, starts = SMALL.tree.parent.tolist(), SMALL.tree.level_start.tolist()
    errors = (raw.estimate - SMALL.counts).tolist()
    deltas = {metric.label: metric.delta for metric in app.metric}
    assert metric_values(app)["Mean parent–children gap"] == "0"
    assert deltas["Mean parent–children gap"] == f"was {short(mean_gap(parent, raw.estimate.tolist()))}"
    rmse = math.sqrt(sum(e * e for e in errors) / len(errors))
    assert deltas["RMSE, all nodes"].endswith(f"was {short(rmse)}")
    assert deltas["RMSRE"].endswith(f"was {short(tree_rmsre(starts, errors, SMALL.counts.tolist(), 10.0))}")
    assert deltas["Negative counts"] == f"was {sum(v < 0 for v in raw.estimate.tolist())}"


def test_expected_errors_are_the_cores_formulas(page: Callable[..., AppTest]) -> None:
    before = run(Experiment(), SMALL.tree, SMALL.counts, simulated=False).formula
    after = run(LEAST_SQUARES, SMALL.tree, SMALL.counts, simulated=False).formula
    assert before is not None
    assert after is not None
    app = page()
    assert f"RMSE {short(before.tree)} before, {short(after.tree)} after" in words(app)
    bars = [trace for trace in figure(app, "con_levels")["data"] if trace["mode"] == "lines"]
    for bar, wanted in zip(bars, (before, after), strict=True):
        assert {round(y, 9) for y in bar["y"] if not math.isnan(y)} == {round(y, 9) for y in wanted.level[1:].tolist()}


def test_numerical_accounting_draws_the_least_noise_of_the_promise(page: Callable[..., AppTest]) -> None:
    """Four levels at (1, 1e-6): sigma 8.4504 by the sum of four laws (see test_accounting), 9.06 by the formula."""
    data = dataset(Tree.from_branching_factors((2, 2, 2)), [5, 0, 1, 20, 3, 3, 0, 7])
    link = {"con_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one", "delta": "1e-6"}
    assert "RMSE 9.06 before" in words(page(data, **link, con_accounting="formula"))
    app = page(data, **link, con_accounting="numerical")
    assert "RMSE 8.45 before" in words(app) and "δ = 1e-6 by numerical accounting" in words(app)


def test_the_answer_on_the_small_town(page: Callable[..., AppTest]) -> None:
    """16.9 and 11.9 records: the formula's, twice computed elsewhere. The mean gap is this draw's."""
    app = page(None, sample="small_town", level="Basic")
    raw = figure(app, "con_figure")["data"]
    answer = next(part.value for part in app.main.markdown if "free of charge" in part.value)
    assert answer.startswith("In this draw sums are off by 19 records on average; least squares makes them exact")
    assert "lowers the expected RMSE from 16.9 to 11.9" in answer
    _, parent, children, gap = raw
    assert sum(children["x"]) == parent["x"][0] + gap["x"][0]  # 328 + 429 = 714 + 43
    assert gap["x"][0] > 0.03 * parent["x"][0]  # twenty pixels and more
    assert "Negative" not in answer
    _, parent, *rest = figure(pick(app, con_shown="after"), "con_figure")["data"]
    assert len(rest) == 1
    assert sum(rest[0]["x"]) == pytest.approx(parent["x"][0])


@pytest.mark.parametrize("name", CHAINS)
def test_the_answer_promises_what_the_steps_do(name: str) -> None:
    experiment = Experiment(postprocess=CHAINS[name].steps, seed=7)
    the = draw(experiment, SMALL.tree, SMALL.counts)
    told = answer(the, expected(experiment, name, SMALL.tree, SMALL.counts))
    assert ("makes them exact" in told) == (bool(CHAINS[name].steps) and the.gaps[1] == 0)
    assert ("expected RMSE from" in told) == (name == "least_squares")


@pytest.mark.parametrize(
    ("shares", "steps", "starts", "rest"),
    [
        ("0, 0, 1, 0", "least_squares", "No count is measured", "nothing tells 8 of the 15 counts: give the lowest"),
        ("0, 0, 1, 0", "none", "No count is measured", "nothing tells 10 of the 15 counts: give the lowest"),
        ("0, 0, 0, 1", "least_squares", "No count is measured", "works the others out and lowers the expected RMSE"),
        ("0, 0.5, 0.5, 0", "none", "In this draw sums are off by", "nothing tells 8 of the 15 counts: give the lowest"),
    ],
)
def test_sums_of_what_is_not_measured_are_not_said_to_be_exact(shares: str, steps: str, starts: str, rest: str) -> None:
    """Four levels of 1, 2, 4 and 8 counts; the total is public."""
    data = dataset(Tree.from_branching_factors((2, 2, 2)), [5, 0, 1, 20, 3, 3, 0, 7])
    chosen = Experiment(
        postprocess=CHAINS[steps].steps, allocation="custom", shares=tuple(map(float, shares.split(", "))), seed=7
    )
    the = draw(chosen, data.tree, data.counts)
    told = answer(the, expected(chosen, steps, data.tree, data.counts))
    assert told.startswith(starts) and rest in told
    assert ("are off by" in told) == ("0.5" in shares) and "RMSE of ∞" not in told


def test_a_sum_of_what_is_not_measured_is_compared_with_nothing() -> None:
    one = Tree.from_branching_factors((2,))
    assert weighed(one, 0, np.array([100, np.nan, 41])) == "(not measured) + 41: nothing to compare with 100"
    assert weighed(one, 0, np.array([np.nan, 3, 4])) == "3 + 4 = 7: nothing to compare it with"


# --- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_estimator_with_every_mechanism(page: Callable[..., AppTest], mechanism: str) -> None:
    app = page(delta="1e-6", level="Advanced", con_mechanism=mechanism)
    for post, chain in CHAINS.items():
        pick(app, con_post=post)
        assert not app.exception, post
        assert not app.error, post
        assert len(app.get("plotly_chart")) == 3, post
        if "non_negative" in chain.steps:
            assert "after a biased step no formula is known" in words(app), post
            assert "Setting negatives to 0 is biased" in words(app), post
        values, promises = metric_values(app), POSTPROCESSORS[chain.steps[-1]].promises if chain.steps else ()
        if Promise.CONSISTENT in promises or post == "least_squares":
            assert values["Mean parent–children gap"] == "0", post
        if Promise.NON_NEGATIVE in promises:
            assert values["Negative counts"] == "0", post


def test_everything_of_the_true_counts_says_so(page: Callable[..., AppTest]) -> None:
    app = page()
    captions = [caption.value for caption in app.main.caption]
    assert sum("NOT PRIVATE" in caption for caption in captions) == 3  # boxes, ledger, bias
    assert any(part.value.startswith("NOT PRIVATE: one simulated draw") for part in app.main.markdown)  # the figure
    assert any("NOT PRIVATE" in badge.value for badge in app.main.markdown)


def test_draw_again_takes_the_next_seed(page: Callable[..., AppTest]) -> None:
    app = page()
    first = metric_values(app)
    app.button(key="con_draw").click().run()
    assert app.session_state["seed"] == 8
    assert metric_values(app) != first
    app.number_input(key="seed").set_value(7).run()
    assert metric_values(app) == first


def test_gaussian_without_delta_takes_one_that_fits(page: Callable[..., AppTest]) -> None:
    app = pick(page(), con_mechanism="gaussian")
    assert not app.error
    assert "δ = 1e-6 is used on this page" in words(app)
    before = metric_values(app)
    app.button(key="con_set_delta").click().run()
    assert not app.error
    assert metric_values(app) == before
    assert app.metric


def test_custom_shares(page: Callable[..., AppTest]) -> None:
    app = pick(pick(page(), con_allocation="custom"), con_shares="0, 0.5")
    assert "got 2" in words(app)
    assert "BUDGET_SPLIT" in words(app)
    app = pick(app, con_shares="0, 0.5, 0.5")
    assert not app.error


def test_levels_that_are_not_measured(page: Callable[..., AppTest]) -> None:
    app = pick(page(con_node="1"), con_allocation="leaves_only")
    assert {metric.label: metric.delta for metric in app.metric}["RMSE, all nodes"] == "was ∞"
    assert "nothing to compare it with" in words(app)
    assert "it is not measured, but follows from the others" in words(app)
    app = pick(app, con_post="none")
    assert not app.exception
    assert not app.error
    assert metric_values(app)["RMSE, all nodes"] == "∞"


def test_the_ledger_of_a_node(page: Callable[..., AppTest]) -> None:
    raw, _ = draw_once(Experiment(), SMALL.tree, SMALL.counts)
    app = page(con_node="2")
    ledger = app.dataframe[0].value
    assert ledger["path"].tolist() == ["n1.1", *(f"n1.1 › n2.{i}" for i in range(4, 8))]
    assert ledger["true count (NOT PRIVATE)"].map(read).tolist() == SMALL.counts[[2, 8, 9, 10, 11]].tolist()
    assert ledger["before"].map(read).tolist() == raw.estimate[[2, 8, 9, 10, 11]].tolist()
    after = ledger["after"].map(read)
    assert after[1:].sum() == pytest.approx(after[0], abs=0.05 * 5)  # each to one decimal place
    assert f"before   {equation(SMALL.tree, 2, raw.estimate)}" in words(app)


def test_up_and_home(page: Callable[..., AppTest]) -> None:
    app = page(con_node="5")  # a leaf: its family is its parent's
    assert app.button(key="con_node_to_1").label == lit("n1.0")
    app.button(key="con_node_up").click().run()
    assert app.session_state["con_node"] == 0
    assert app.button(key="con_node_up").disabled
    assert app.button(key="con_node_to_0").disabled


def test_a_node_beyond_the_tree_means_the_whole_tree(page: Callable[..., AppTest]) -> None:
    app = page(con_node="4000000")
    assert not app.exception
    assert not app.error
    assert app.button(key="con_node_to_0").disabled


def test_the_finder_lists_labels(page: Callable[..., AppTest]) -> None:
    app = pick(page(), con_find="N2.1")
    assert app.dataframe[0].value["path"].tolist() == ["n1.0 › n2.1", "n1.2 › n2.10", "n1.2 › n2.11"]
    assert "No label contains that." in words(pick(app, con_find="zebra"))


def test_strips_of_a_tree_too_large_to_show(page: Callable[..., AppTest]) -> None:
    app = page(None, source="generate", gen_branching="30,30")
    app.session_state["con_strips"] = True
    app.run()
    assert not app.exception
    assert figure(app, "con_strips_after")["data"][0]["type"] == "heatmap"


def test_strips_with_levels_that_are_not_measured(page: Callable[..., AppTest]) -> None:
    app = page(None, source="generate", gen_branching="30,30", con_allocation="leaves_only", con_post="none")
    app.session_state["con_strips"] = True
    app.run()
    assert not app.exception
    assert not app.error


def test_removed_data_leave_no_draw_behind(page: Callable[..., AppTest]) -> None:
    app = page()
    app.session_state["_from_file"] = {}
    app.session_state["source"] = "sample"
    app.run()
    kept = app.session_state["_remembered"]["results"]["con_draw"].values
    assert all(shown.draw.counts is not SMALL.counts for shown, _ in kept.values())
    assert len(kept) == 1


@pytest.mark.parametrize("name", DEGENERATE)
def test_small_and_odd_trees(page: Callable[..., AppTest], name: str) -> None:
    """Every chain on every tree, relations in turn: each chain meets each relation; `make contract` tries them all."""
    shift = list(DEGENERATE).index(name)
    for i, relation in enumerate(RELATIONS):
        takes_all(page(DEGENERATE[name], nbr=relation), list(CHAINS)[(i + shift) % 3 :: 3])


@pytest.mark.contract
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_every_chain_on_small_and_odd_trees(page: Callable[..., AppTest], name: str, relation: str) -> None:
    takes_all(page(DEGENERATE[name], nbr=relation), list(CHAINS))


def takes_all(app: AppTest, chains: list[str]) -> None:
    """The page shows each chain of steps without an error."""
    for post in chains:
        pick(app, con_post=post)
        assert not app.exception, post
        assert not app.error, post


HOSTILE = ("<img src=x onerror=alert(1)>", "![x](http://192.0.2.1/b.png)", "$\\href{javascript:1}{x}$", ":red[x] `a`")


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_reach_only_what_shows_them_literally(page: Callable[..., AppTest], label: str) -> None:
    data = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], name=label, prefix=label)
    app = pick(page(data, con_node="1"), con_find=label[:5])
    assert not app.exception
    prose = [part.value for part in [*app.main.markdown, *app.main.caption, *app.main.info]]
    shown = [text for text in prose if label in text]
    assert shown
    pieces = [lit(label), lit(f"{label}1.0", 40), lit(f"{label}level1", 40), lit(f"{label}level2", 40)]
    assert all(any(piece in text for piece in pieces) for text in shown)
    assert app.dataframe[-2].value["path"].tolist()[0] == f"{label}1.0"


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([27, 12, 7, 5], "12 + 7 + 5 = 24 ≠ 27"),
        ([24.6, 12.2, 7.4, 5.0], "12.2 + 7.4 + 5 = 24.6 = 24.6"),
        ([5, -1, 7, -2], "−1 + 7 − 2 = 4 ≠ 5"),
        ([0.1 + 0.2 + 0.3, 0.1, 0.2, 0.3], "0.1 + 0.2 + 0.3 = 0.6 = 0.6"),
        ([math.nan, 1, 1, 1], "1 + 1 + 1 = 3: nothing to compare it with"),
    ],
)
def test_equation(values: list[float], text: str) -> None:
    assert equation(Tree.from_branching_factors((3,)), 0, np.array(values)) == text


def test_equation_of_many_children_and_of_none() -> None:
    tree = Tree.from_branching_factors((12,))
    assert equation(tree, 0, np.array([12] + [1] * 12)) == f"{' + '.join('1' * 8)} + … (4 more children) = 12 = 12"
    assert equation(tree, 3, np.array([12] + [1] * 12)) == "1 (no children)"


def test_a_large_family_is_weighed_in_a_line_that_fits() -> None:
    tree = Tree.from_branching_factors((16,))
    assert weighed(tree, 0, np.array([1038, 20, 32, *[70] * 13, 134])) == (
        "20 + 32 + … (14 more children) = 1\u202f096 ≠ 1\u202f038: 58 too many"
    )


def test_large_counts_are_not_taken_for_equal() -> None:
    """One record apart in nine thousand million is not equal."""
    assert "≠" in equation(Tree.from_branching_factors((2,)), 0, np.array([9e9, 4e9, 5e9 - 1]))


def test_amounts() -> None:
    assert [amount(x) for x in (1234.0, -0.04, math.inf)] == ["1\u202f234", "0.0", "(not measured)"]


def test_words_for_changes() -> None:
    assert change(4.0, 5.0) == "+25 %, was 4"
    assert change(2.0, math.inf) == "was 2"
    labels = SMALL.labels
    assert gain_line([summary([1.0, 4.0, 4.0]), summary([1.0, 2.0, 3.0])], labels).startswith(
        f"The gain is largest on level 1 ({lit('nlevel1')}): its RMSE falls to 50 %"
    )
    assert gain_line([summary([1.0])], labels) == ""
    assert expected_line([], Experiment()) == ""


def test_the_bias_line_quotes_this_draw() -> None:
    """All nodes of the level but the root, which is published exactly, are 0 and come out 1.5 too large."""
    tree = Tree.from_branching_factors((20,))
    zero, after = np.zeros(21, dtype=np.int64), np.array([0.0] + [1.5] * 20)
    clipped = Draw(Experiment(postprocess=("non_negative",)), tree, zero, after, after, np.array([0.0, 2.0]))
    assert "the 20 counts of true size 0 come out 1.5 records too large" in bias_line(clipped)
    assert "unbiased" in bias_line(replace(clipped, experiment=LEAST_SQUARES))
    few = Tree.from_branching_factors((2,))
    assert bias_line(replace(clipped, tree=few, counts=zero[:3], before=after[:3], after=after[:3])).endswith(
        "noise above 0 stays."
    )
