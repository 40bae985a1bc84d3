"""Splits of one promise: normal and whole-number noise are accounted for alike, and every page has the same noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from treedp_core.allocation.shares import shares_from_text
from treedp_core.experiment import Experiment, prepare
from treedp_core.plans import ReleasePlan, Split
from treedp_core.privacy import Accounting, NeighbouringRelation, ProtectedUnit, epsilon_to_rho
from treedp_core.privacy.accounting import epsilon_of_levels
from treedp_core.records.mock_data import generate
from treedp_core.studies.budget import (
    Ask,
    Problem,
    Question,
    Target,
    answer,
    compare,
    curves_of,
    data_free,
    own,
    price,
    prior_of,
    problem_on,
)
from treedp_core.tree import Tree

DATA = generate("zipf", 3000, "3,2,4", 7)
DELTA = 1e-6


def question(law: str, relation: str = "replace_one", epsilon: float = 0.2, prior: str = "public") -> Question:
    return Question(
        Experiment(law, ("least_squares",), metric="rmse", epsilon=epsilon, delta=DELTA, relation=relation, seed=3),
        20, prior, 0.0,
    )  # fmt: skip


def exact_delta(mu: float, epsilon: float) -> float:
    """Of normal noise whose shifts over their deviations have this root of a sum of squares (Balle and Wang, 2018)."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one", "replace_unknown"])
def test_whole_number_noise_errs_as_normal_noise_does(relation: str) -> None:
    """It is so wide here that rounding hardly matters: what differed was the accounting, by 7 %."""
    errors, curves = [], []
    for law in ("gaussian", "discrete_gaussian"):
        asked = question(law, relation)
        truth = problem_on(asked, DATA, DATA.counts)
        rows = [*compare(truth, truth, asked.total), own(truth, asked.total, [0, 0.2, 0.3, 0.25])]
        errors.append({row.name: row.errors.tree for row in rows})
        curves.append(curves_of(replace(asked, prior="none"), DATA, totals=(0.1, 0.2)).errors)
    assert errors[0].keys() == errors[1].keys() >= {"uniform", "greedy", "optimum", "custom"}
    for name, exact in errors[0].items():
        assert errors[1][name] == pytest.approx(exact, rel=2e-3), name
    np.testing.assert_allclose(curves[1], curves[0], rtol=2e-3)


def test_the_noise_of_a_split_is_that_of_an_experiment_with_it() -> None:
    """And it keeps the promise: mu from the shifts of two counts a level, against the formula that is exact of mu."""
    asked = question("discrete_gaussian")
    truth = problem_on(asked, DATA, DATA.counts)
    for row in [*data_free(truth, asked.total), own(truth, asked.total, [0, 0.2, 0.3, 0.25])]:
        shares = {"shares": (0.0, 0.2, 0.3, 0.25)} if row.name == "custom" else {}
        if row.name != "custom" and row.name not in ("uniform", "minimax"):
            continue
        there = prepare(replace(asked.experiment, allocation=row.name, **shares), DATA.tree).noise.laws
        here = truth.laws(row.amounts)
        widths = [[getattr(law, "sigma", 0.0) for law in laws] for laws in (here, there)]
        np.testing.assert_allclose(*widths, rtol=1e-6)
        if row.name != "custom":
            mu = math.sqrt(sum(2 / sigma**2 for sigma in widths[0] if sigma))
            assert 0.99 * DELTA < exact_delta(mu, 0.2) < 1.01 * DELTA
        assert row.ledger.charged <= row.ledger.total
        assert epsilon_of_levels(here, truth.unit, DELTA) <= 0.2


def test_beside_a_prior_that_was_paid_for_all_are_accounted_for_by_the_formula() -> None:
    asked = question("discrete_gaussian", prior="noisy")
    truth, prior = problem_on(asked, DATA, DATA.counts), prior_of(asked, DATA)
    rows = compare(problem_on(asked, DATA, prior.counts), truth, asked.total, origin=prior)
    rho = epsilon_to_rho(0.2, DELTA, False)
    assert {row.ledger.total for row in rows} == {rho} and asked.within is None
    free = question("discrete_gaussian")
    mine = own(problem_on(free, DATA, DATA.counts), free.total, [0, 0.2, 0.2, 0.1], prior.origin)
    assert mine.ledger.total == rho  # so is a split that was tuned on one, wherever it is shown


@pytest.mark.parametrize("law", ["gaussian", "discrete_gaussian"])
def test_a_plan_of_a_split_promises_what_was_asked_for(law: str) -> None:
    asked = question(law)
    truth = problem_on(asked, DATA, DATA.counts)
    for row in [*data_free(truth, asked.total), own(truth, asked.total, [0, 0.2, 0.3, 0.5])]:
        plan = ReleasePlan.of(Split(row.ledger, law, DELTA), DATA, whom="person")
        assert plan.verify() == () and 0.999 * 0.2 < plan.epsilon <= 0.2
        assert plan.accounting is (Accounting.NUMERICAL if law == "discrete_gaussian" else None)


@given(
    factors=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    value=st.floats(0.5, 30.0),
    relation=st.sampled_from(list(NeighbouringRelation)),
)
def test_an_experiment_that_takes_the_smallest_epsilon_reaches_its_targets(
    factors: list[int], value: float, relation: NeighbouringRelation
) -> None:
    """The ε that is set is enough for the noise of the answer, and keeps its promise."""
    tree, unit = Tree.from_branching_factors(tuple(factors)), ProtectedUnit(relation)
    asked = question("discrete_gaussian", relation.value, 1.0)
    problem = Problem(tree, np.ones(tree.n_nodes), "discrete_gaussian", unit, least_squares=False, within=asked.within)
    wanted = [Target(level, Ask.RMSE, value * level) for level in range(1, tree.n_levels)]
    found = answer(problem, wanted)
    cost = price(asked, problem, found.found, None)
    one = replace(asked.experiment, epsilon=cost.to_set, allocation="custom", shares=shares_from_text(cost.shares))
    made = prepare(one, tree)
    assert made.guarantee.epsilon <= cost.to_set < cost.epsilon * 1.01
    spent = np.where(problem.paid > 0, made.budget.per_level, 0.0)
    assert (spent >= np.where(problem.paid > 0, found.found.amounts, 0.0)).all()
    assert cost.epsilon <= asked.epsilon(found.found.total)


def test_a_split_that_is_scaled_promises_no_hair_more_than_was_set() -> None:
    """Seen failing: minimax gives two levels one law; a last digit between them, and 1.4268925 became 1.4269006."""
    small = generate("uniform", 100, "2,2", 7)
    found = [(NeighbouringRelation.ADD_OR_REMOVE_ONE, 1, 1.4268924704598167, 1.780904752110429e-06),
             (NeighbouringRelation.REPLACE_UNKNOWN, 2, 1.2793709798959276, 0.00020716668261606928)]  # fmt: skip
    rng = np.random.default_rng(5)
    drawn = [(relation, 1, float(np.exp(rng.uniform(0, 2))), float(10 ** rng.uniform(-8, -3)))
             for relation in NeighbouringRelation for _ in range(12)]  # fmt: skip
    for relation, known, epsilon, delta in [*found, *drawn]:
        unit = ProtectedUnit(relation, known_levels=known)
        problem = Problem(small.tree, small.counts, "discrete_gaussian", unit, within=(epsilon, delta))
        for row in compare(problem, problem, epsilon_to_rho(epsilon, delta, False), ["uniform", "minimax"]):
            claimed = problem.promised(row.amounts)
            assert claimed <= epsilon and claimed > epsilon * (1 - 2e-4), (relation, epsilon, delta, row.name)
