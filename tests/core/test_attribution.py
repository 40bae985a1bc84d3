"""Counts released through the Attribution Reporting API: values, noise, errors and capping by obvious loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from oracles_tree import generalised_least_squares, level_starts
from treedp_core.checks import InputError
from treedp_core.errors import Tolerance
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Problem
from treedp_core.studies.budget.attribution import (
    CLICKS,
    SALES,
    Reports,
    counted,
    credit_table,
    key_bits,
    last_touch,
    lost,
    reports,
    room_table,
)
from treedp_core.tree import Tree

UNKNOWN, REPLACE, ADD = (NeighbouringRelation(name) for name in
                         ("replace_unknown", "replace_one", "add_or_remove_one"))  # fmt: skip


@pytest.mark.parametrize("relation", [UNKNOWN, REPLACE, ADD])
@pytest.mark.parametrize("m", [1, 3])
def test_no_click_costs_more_than_the_service_s_epsilon(relation: NeighbouringRelation, m: int) -> None:
    unit, amounts = ProtectedUnit(relation, m, 2), (0.0 if relation is REPLACE else 0.4, 0.35, 0.25)
    made = reports(unit, 1.0, amounts)
    for value, amount in zip(made.values, amounts, strict=True):
        units = m * (2 if relation is REPLACE else 1)  # what one unit moves, in conversions
        assert value * units <= 65_536 * amount < (value + 1) * units
    noise = Fraction(made.law.inverse_scale)
    assert float(noise) == pytest.approx(1 / 65_536)
    gone, changed = [m] * 3, [0, 0, 2 * m]  # one click's conversions vanish; their unknown columns change
    moves = {ADD: [gone], REPLACE: [[0, 2 * m, 2 * m]], UNKNOWN: [gone, changed]}[relation]
    worst = max(sum(by * value for by, value in zip(move, made.values, strict=True)) for move in moves)
    assert made.charged == noise * worst <= 1
    with pytest.raises(InputError, match="65536"):
        Reports(unit, 1.0, tuple(2 * 65_536 // m for _ in amounts))


@pytest.mark.parametrize("least_squares", [True, False])
def test_errors_are_those_of_dense_algebra_and_hardly_more_than_the_split_s_own(least_squares: bool) -> None:
    parent, counts = [-1, 0, 0, 1, 1, 2, 2, 2], np.array([60, 20, 40, 3, 17, 40, 0, 0])
    tree, unit = Tree(np.array(parent), np.array(level_starts(parent))), ProtectedUnit(UNKNOWN, 1, 2)
    problem = Problem(tree, counts, "discrete_laplace", unit, "rmsre", Tolerance(threshold=5.0), least_squares)
    amounts = np.array([0.2, 0.3, 0.5])
    made = reports(unit, 1.0, amounts.tolist())
    p = math.exp(-1 / 65_536)
    variance = np.array([2 * p / (1 - p) ** 2 / value**2 for value in made.values])[[0, 1, 1, 2, 2, 2, 2, 2]]
    if least_squares:
        variance = generalised_least_squares(parent, np.zeros(8), variance)[1]
    relative = variance / np.maximum(counts, 5.0) ** 2
    by_level = [relative[0], relative[1:3].mean(), relative[3:].mean()]
    found = made.errors(problem)
    np.testing.assert_allclose(found.level, np.sqrt(by_level), rtol=1e-6)
    assert found.tree == pytest.approx(math.sqrt(sum(by_level) / 3), rel=1e-6)
    own = problem.summary(amounts).tree
    assert own < found.tree < 1.05 * own  # Var = 2 / e^2 against 2 / e^2 - 1/6, and values rounded down


def test_drawn_counts_err_as_told() -> None:
    made = reports(ProtectedUnit(UNKNOWN, 2, 2), 2.0, (0.5, 1.0))
    drawn = made.drawn(1, np.full(40_000, 7), np.random.default_rng(3))
    square = np.square(drawn - 7)
    assert abs(drawn.mean() - 7) < 4 * drawn.std() / 200
    distance = np.abs(square.mean() - made.variance[1] * np.array([0.9, 1.0, 1.1])) / (square.std() / 200)
    assert distance[1] < 4 < distance[[0, 2]].min()


def test_conversions_are_credited_and_counted_as_an_event_loop_does() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        clicks, conversions = np.sort(rng.random(rng.integers(0, 6))), np.sort(rng.random(12))
        most = int(rng.integers(1, 4))
        room, expected, kept = dict.fromkeys(range(clicks.size), most), [], []
        for time in conversions:
            click = -1
            for i, at in enumerate(clicks):
                if at <= time:
                    click = i
            expected.append(click)
            kept.append(click >= 0 and room[click] > 0)
            if click >= 0:
                room[click] -= 1
        found = last_touch(clicks, conversions)
        assert found.tolist() == expected
        assert counted(found, most).tolist() == kept


def test_what_finds_no_room_is_the_power_that_it_is_said_to_be() -> None:
    rng, repeat, most = np.random.default_rng(5), 0.4, 2
    of_click = rng.geometric(1 - repeat, 40_000)
    click = np.repeat(np.arange(of_click.size), of_click)
    parts = (~counted(click, most)).reshape(-1)
    seen, n = parts.mean(), click.size
    spread = 1.6 * math.sqrt(seen * (1 - seen) / n)  # conversions of one click are lost together
    assert abs(seen - lost(repeat, most)) < 4 * spread < 0.1 * lost(repeat, most)


def test_room_for_more_conversions_costs_noise_in_proportion() -> None:
    table = room_table(reports(ProtectedUnit(UNKNOWN, 2, 2), 1.0, (0.5, 0.5)), 1, (0.5,))
    noise = table["noise st. dev."]
    alone = reports(ProtectedUnit(UNKNOWN, 1, 2), 1.0, (0.5, 0.5))
    assert noise == pytest.approx([k * math.sqrt(alone.variance[1]) for k in (1, 2, 4, 8)])
    assert list(table.values())[-1] == [0.5, 0.25, 0.0625, 0.00390625]


def test_a_key_has_room_for_128_bits() -> None:
    assert key_bits([2, 3]) == 2 + 1 + 2  # three levels, two and three categories
    assert key_bits([2**31] * 4) > 126


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_table_of_a_person_credits_and_caps_as_an_event_loop_does(most: int) -> None:
    made = reports(ProtectedUnit(UNKNOWN, most, 2), 1.0, (0.5, 0.5))
    added, rows = dict.fromkeys(CLICKS, 0), []
    room = dict.fromkeys(CLICKS, most)
    for day in SALES:
        before = [click for click in CLICKS if click <= day]
        if before and room[before[-1]]:
            room[before[-1]] -= 1
            added[before[-1]] += sum(made.values)
        rows.append((str(int(before[-1])) if before else "none before it", added[before[-1]] if before else 0))
    table = credit_table(made)
    assert list(zip(table["credited to the click of day"], table["its click has added"], strict=True)) == rows
    assert max(table["its click has added"]) <= made.of_a_click <= 65_536
    assert table["counts"].count("yes") == sum(min(most, n) for n in (3, 1, 4))
