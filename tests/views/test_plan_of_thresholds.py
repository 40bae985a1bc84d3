"""Release plan with thresholds: the rounds of the plan in its figure, answer and table, and what is refused."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oracles_pages import dataset
from refusals import refuses
from treedp_core.mechanisms.thresholds.public_bound import plan_thresholds
from treedp_core.plans import ReleasePlan
from treedp_core.records import count_hierarchy, domain_of_values
from treedp_core.tree import Tree
from treedp_core.views import Tables
from treedp_core.views.finding import Finding
from treedp_core.views.plan import PlanInputs, levels, narrower, release_plan, spent
from treedp_core.words import whole

TREE = Tree.from_branching_factors((3, 4))
TABLES = Tables(dataset(TREE, [0, 1, 2, 3, 5, 8, 130, 210, 0, 0, 400, 1000]))
ASKED = PlanInputs(mechanism="thresholds", public_bound=100_000, delta=1e-6, relation="add_or_remove_one")
FEW = replace(ASKED, alpha=0.9, public_bound=3_000)


def traces(found: Finding) -> dict[str, dict[str, Any]]:
    return {trace.get("name", "costs"): trace for trace in found.figure.data}  # type: ignore[union-attr]


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one", "replace_unknown"])
def test_the_figure_has_the_rounds_of_the_plan(relation: str) -> None:
    """Costs, thresholds and counts given are those of the plan made by hand, and its default value stands last."""
    inputs = replace(FEW, relation=relation, epsilon=2.0, contributions=2)
    unit = inputs.experiment(TABLES.data).unit
    by_hand = plan_thresholds(TREE, unit, 3_000, alpha=0.9, epsilon=2.0, delta=1e-6).rounds
    found = traces(levels(inputs, TABLES))
    steps = 2 if relation == "add_or_remove_one" else 4
    costs = [steps * float(one.exact_epsilon) for one in by_hand.levels]
    np.testing.assert_allclose(found["costs"]["x"], [*costs, 0.0])
    np.testing.assert_allclose(found["threshold"]["x"], [one.classification_threshold for one in by_hand.levels])
    np.testing.assert_allclose(
        found["count given"]["x"], [*(one.value for one in by_hand.levels), by_hand.default_value]
    )
    added = spent(inputs, TABLES).figure.data[0]  # type: ignore[union-attr]
    np.testing.assert_allclose(np.cumsum(added["x"]), np.cumsum(costs))
    np.testing.assert_allclose(added["base"], [0.0, *np.cumsum(costs)[:-1]])


def test_the_plan_is_that_of_the_library_and_says_its_error_and_what_is_open() -> None:
    inputs = replace(ASKED, unit="person", rule="provable")
    made = plan_thresholds(TREE, inputs.experiment(TABLES.data).unit, 100_000, alpha=0.5, epsilon=1.0, delta=1e-6,
                           rule="provable")  # fmt: skip
    assert release_plan(inputs, TABLES) == ReleasePlan.of(made, TABLES.data, whom="person")
    found = levels(inputs, TABLES)
    assert "(ε = 1, δ = 1e-6)-differential privacy" in found.answer and "for every tree" in found.answer
    assert len(found.table["round"]) == len(made.rounds.levels) and "**5 points**" in found.answer
    assert found.badges == ("formula",) and not found.label
    assert "no part of ε" in narrower(release_plan(inputs, TABLES), 1e-6).lower()


def test_many_rounds_have_few_names_and_no_numbers() -> None:
    found = levels(replace(ASKED, alpha=0.1), TABLES)
    names = found.figure.layout["yaxis"]["ticktext"]  # type: ignore[union-attr]
    assert len(names) <= 12 and names[0] == "round 1"
    assert set(traces(found)["count given"]["text"]) == {""}


def test_no_record_moves_what_is_shown() -> None:
    for leaves in ([0] * 12, [10**6, *[0] * 11]):
        other = levels(ASKED, Tables(dataset(TREE, leaves)))
        mine = levels(ASKED, TABLES)
        assert (other.answer, other.caption, other.table) == (mine.answer, mine.caption, mine.table)


def test_steps_shares_and_errors_of_other_mechanisms_are_left_out() -> None:
    other = replace(ASKED, postprocess="least_squares", true_error="rmsre", allocation="custom", shares="x")
    assert release_plan(other, TABLES) == release_plan(replace(ASKED, postprocess="none"), TABLES)


def test_without_a_bound_or_with_too_small_a_one_there_is_no_plan() -> None:
    with refuses("BOUND_REQUIRED", "never taken from these records"):
        levels(replace(ASKED, public_bound=0), TABLES)
    with refuses("PLAN_TOTAL", "A total of at most 30 is too small"):
        levels(replace(ASKED, public_bound=30), TABLES)
    with refuses("TOTAL_RANGE"):
        replace(ASKED, public_bound=10**16)


def test_an_epsilon_that_was_sought_on_the_true_counts_is_marked() -> None:
    found = levels(replace(ASKED, epsilon_tuned=1.0), TABLES)
    assert found.label.startswith("NOT PRIVATE") and "NOT PRIVATE" in found.badges


def test_hand_over_says_why_no_library_takes_it() -> None:
    for library in ("opendp", "tumult"):
        found = spent(replace(ASKED, library=library), TABLES)
        assert "cannot express this plan.** These libraries put noise on answers that are known" in found.answer
        assert "probability that is part of δ" in found.caption


def test_a_plan_of_sums_counts_in_steps() -> None:
    rows = b"a,v\n" + b"\n".join(b"x,3" if i % 2 else b"y,9" for i in range(40))
    data = count_hierarchy(
        io.BytesIO(rows), ["a"], domain=domain_of_values({"a": ["x", "y"]}), value="v", clip=5, grid=1.0
    )
    plan = release_plan(ASKED, Tables(data))
    assert plan.verify() == () and plan.thresholds is not None and plan.thresholds.steps == 5
    assert "to one step added or removed; what one unit has differs by 5 such steps" in plan.sentence()
    assert f"at most {whole(100_000)} steps of 1 in all" in plan.sentence()
    assert "ε of one step" in levels(ASKED, Tables(data)).table


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_public_total_is_the_bound_and_none_below_it_is_taken(relation: str) -> None:
    total = int(TABLES.data.total)
    below, none = (replace(FEW, relation=relation, public_bound=bound) for bound in (total - 1, 0))
    if relation == "replace_one":
        assert release_plan(none, TABLES) == release_plan(replace(none, public_bound=total), TABLES)
        with refuses("PLAN_TOTAL", whole(total)):
            levels(below, TABLES)
    else:  # whether there are more than the bound is nobody's to know
        assert release_plan(below, TABLES).thresholds is not None
        with refuses("BOUND_REQUIRED"):
            levels(none, TABLES)
