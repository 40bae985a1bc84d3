"""What ε protects: its answer, its warning, and both of its sides."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from oracles_pages import answer, dataset, figure, open_page, pick, table, words
from treedp_core.experiment import Experiment
from treedp_core.figures.protects.attacker import beliefs_and_levels, misses_and_levels
from treedp_core.studies.protects.attacker import belief_table, best_tests, more_records, protected
from treedp_core.tree import Tree
from treedp_core.views import Tables, protects
from treedp_core.views.protects import ProtectsInputs

TREE = Tree.from_branching_factors((3, 4))
SMALL = dataset(TREE, [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])


def test_the_answer_is_the_bound_and_both_sides_move_with_epsilon() -> None:
    before = protects.beliefs(ProtectsInputs(), Tables(SMALL))
    assert (
        "sure that this record is yours. Once all 16 counts are out, they are at most **73.11 %** sure."
        in before.answer
    )
    assert "not “safe”" in before.learnt and "odds grow at most 2.719-fold" in before.learnt
    inputs = ProtectsInputs(epsilon=2.0, prior=0.01, records=5)
    after = protects.beliefs(inputs, Tables(SMALL))
    odds = math.exp(10) * 0.01 / 0.99
    assert f"**{math.ceil(1e4 * odds / (1 + odds)) / 100:g} %** sure" in after.answer  # five records at ε = 2
    assert before.figure is not None and after.figure is not None
    (law, _, levels), (other_law, _, other_levels) = before.figure.data, after.figure.data
    assert law["y"].tolist() != other_law["y"].tolist() and levels["x"].tolist() != other_levels["x"].tolist()
    assert protects.several_records(inputs, Tables(SMALL)).table["ε"] == pytest.approx([2, 4, 6, 10, 20, 40, 100])
    gaussian = protects.best_test(replace(inputs, mechanism="gaussian"), Tables(SMALL))
    assert "in all but one of 1 000 000" in gaussian.answer.replace("\u202f", " ")
    assert gaussian.provenance.line().endswith("δ = 1e-6")


def test_the_page_shows_what_the_view_finds_for_its_controls() -> None:
    app = pick(open_page("protects", SMALL), pro_view="tests", eps=2.0, pro_prior=0.9, pro_records=2)
    found = protects.best_test(ProtectsInputs(epsilon=2.0, prior=0.9, records=2), Tables(SMALL))
    assert not app.exception and answer(app) == found.answer and found.learnt in words(app)
    assert len(figure(app, "pro_tests")["data"]) == 3 and table(app, "records")["records"].tolist()[-1] == 50


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
        assert fig.data[-1]["text"][0] == "exact" and fig.data[-1]["text"][1].startswith("± ")
    assert "&lt;i&gt;" in beliefs_and_levels(found, 0.9, ("a", "b"), ["a", "<i>", "c"]).layout["yaxis2"]["ticktext"]
