"""The page What ε protects: its answer, its warning, and both of its sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracles_pages import answer, dataset, figure, open_page, pick, table, words
from treedp_core.experiment import Experiment
from treedp_core.figures.protects import beliefs_and_levels, misses_and_levels
from treedp_core.studies.protects import belief_table, best_tests, more_records, protected
from treedp_core.tree import Tree

TREE = Tree.from_branching_factors((3, 4))
SMALL = dataset(TREE, [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])


def test_the_answer_is_the_bound_and_both_sides_move_with_epsilon() -> None:
    app = open_page("protects", SMALL)
    said = answer(app)
    assert "sure that this record is yours. Once all 16 counts are out, he is at most **73.11 %** sure." in said
    assert "not “safe”" in words(app) and "odds grow at most 2.719-fold" in words(app)
    before = figure(app, "pro_beliefs")["data"]
    pick(app, eps=2.0, pro_prior=0.01, pro_records=5)
    assert not app.exception
    odds = math.exp(10) * 0.01 / 0.99
    assert f"**{math.ceil(1e4 * odds / (1 + odds)) / 100:g} %** sure" in answer(app)  # five records at ε = 2
    after = figure(app, "pro_beliefs")["data"]
    assert before[0]["y"] != after[0]["y"] and before[2]["x"] != after[2]["x"]
    assert table(app, "records")["ε"].tolist() == pytest.approx([2, 4, 6, 10, 20, 40, 100])
    pick(app, pro_mechanism="gaussian")
    assert "in all but one of 1 000" in answer(app).replace("\u202f", " ")
    app.session_state["pro_view"] = "tests"
    app.run()
    assert not app.exception and len(figure(app, "pro_tests")["data"]) == 3


def test_the_numbers_behind_the_figure_are_shares() -> None:
    found = protected(Experiment("discrete_gaussian", epsilon=1.0, delta=1e-6), TREE, 1)
    shares = belief_table(found, 0.9)
    for name in ("share of releases with them", "share of releases without"):
        assert math.fsum(shares[name]) == pytest.approx(1.0, abs=1e-9)
    tests = best_tests(found)
    assert tests["misses, at least"][0] == pytest.approx(1.0, abs=1e-9) and tests["misses, at least"][-1] == 0.0
    several = more_records(found, 0.5, (1, 2, 10))
    assert (np.diff(several["sure, at most"]) > 0).all() and several["sure, at most"][2] < 1
    for fig in (beliefs_and_levels(found, 0.9, ("<b>", "b"), ["a", "<i>", "c"]), misses_and_levels(found, "abc")):
        assert fig.data[-1].text[0] == "exact" and fig.data[-1].text[1].startswith("± ")
    assert "&lt;i&gt;" in beliefs_and_levels(found, 0.9, ("a", "b"), ["a", "<i>", "c"]).layout.yaxis2.ticktext
