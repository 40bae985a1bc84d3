"""Marginals of a top-down release and of other ways: counted record by record, exact laws, and neighbours listed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.special import ndtr

from audit.losses import price
from oracles_pages import dataset
from oracles_top_down import product_data
from treedp_core import postprocess
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread, epsilon_to_rho
from treedp_core.studies.topdown import (
    Plan,
    Subject,
    Wanted,
    made_up,
    numerical,
    orders,
    product_of_columns,
    some_orders,
    tree_as_it_is,
)
from treedp_core.studies.topdown.marginals import (
    CELLS,
    LEVELS,
    TABLES,
    WEIGHTS,
    chances,
    compare_marginals,
    marginal_table,
    mwem,
    of_cells,
    of_levels,
    rho_of_weights,
    some_marginals,
    table_law,
)
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree
from treedp_core.watch import generator

REPLACE, ADD, UNKNOWN = (NeighbouringRelation(name) for name in
                         ("replace_one", "add_or_remove_one", "replace_unknown"))  # fmt: skip
SIZES = (3, 2, 4)


def wanted(rho: float, relation: NeighbouringRelation = REPLACE, m: int = 1) -> Wanted:
    return Wanted(rho, 1e-6, ProtectedUnit(relation, m), None, Spread.STACKED, "intopt")


@pytest.fixture(scope="module")
def people() -> Subject:
    return made_up(SIZES, 500, 3)


def cells_of(table: np.ndarray, columns: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Counts of a marginal, cell by cell of the table."""
    found: Counter[tuple[int, ...]] = Counter()
    for at in product(*(range(n) for n in table.shape)):
        found[tuple(at[i] for i in columns)] += float(table[at])
    return found


def test_the_release_s_errors_are_those_counted_cell_by_cell(people: Subject) -> None:
    asked, trials = wanted(0.3), 5
    found = compare_marginals(people, asked, trials, 8, of="2")
    assert found.of == tuple(combinations(range(3), 2)) and found.cells == (6, 12, 8)
    noise = noise_on_tree(asked.plan(people), people.tree)
    step = postprocess.prepare(people.tree, noise.variance, RULES["intopt"].steps)[0]
    truth = people.counts[people.tree.leaves].reshape(SIZES)
    for place, columns in enumerate(found.of):
        squares = []
        for trial in range(trials):
            rng = generator("marginals of TopDown", 8, trial)
            table = step(noise.draw(rng) + people.counts)[people.tree.leaves].reshape(SIZES)
            errors = cells_of(table - truth, columns)
            squares.append(sum(x * x for x in errors.values()) / math.prod(SIZES[i] for i in columns))
        assert found.rmse[0, place] == pytest.approx(math.sqrt(np.mean(squares)), rel=1e-12)
    assert list(marginal_table(found))[2:4] == [found.ways[0], f"{found.ways[0]}, se"]
    assert not found.se[1:4].any() and found.is_simulated == (True, False, False, False, True)
    # rules that keep everything lose nothing
    assert compare_marginals(people, wanted(900.0), 2, 8).rmse[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_formulas_of_noise_alone_agree_with_draws(people: Subject, relation: NeighbouringRelation) -> None:
    asked, rng, trials = wanted(0.2, relation), np.random.default_rng(9), 4000
    ready = asked.plan(people)
    marginals = [(0,), (2,), (0, 2), (1, 2)]
    by_level = [law.sample(rng, (trials, *SIZES[:level])) if law else 0 for level, law in enumerate(ready.laws)]
    table = table_law(asked.unit, asked.rho, 1)
    for place, columns in enumerate(marginals):
        level = max(columns) + 1
        drawn = by_level[level]
        others = tuple(1 + i for i in range(level) if i not in columns)
        square = np.square(drawn.sum(axis=others)).reshape(trials, -1).mean(axis=1)
        agrees(square, of_levels(ready, marginals)[place] ** 2)
        cells = table.sample(rng, (trials, *SIZES)).sum(axis=tuple(1 + i for i in range(3) if i not in columns))
        agrees(np.square(cells).reshape(trials, -1).mean(axis=1), of_cells(table, SIZES, marginals)[place] ** 2)


def agrees(square: np.ndarray, formula: float) -> None:
    se = square.std() / math.sqrt(square.size)
    far = np.abs(square.mean() - formula * np.array([0.9, 1.0, 1.1])) / se
    assert far[1] < 4 < far[[0, 2]].min(), far


def test_known_answers_at_one_rho(people: Subject) -> None:
    found = compare_marginals(people, wanted(0.5), 3, 1, of="1")
    at = {way: found.rmse[i] for i, way in enumerate(found.ways)}
    # one record replaced, the total public: sigma^2 = levels / rho, 1 / rho for one table, tables / rho for each of 3
    np.testing.assert_allclose(at[LEVELS], np.sqrt([6.0, 6.0 * 3, 6.0 * 6]), rtol=1e-6)
    np.testing.assert_allclose(at[CELLS], np.sqrt([2.0 * 8, 2.0 * 12, 2.0 * 6]), rtol=1e-6)
    np.testing.assert_allclose(at[TABLES], np.sqrt([6.0] * 3), rtol=1e-6)
    assert WEIGHTS in at
    assert WEIGHTS not in compare_marginals(people, wanted(0.5, ADD), 2, 1).ways


@pytest.mark.parametrize(("relation", "m"), [(REPLACE, 1), (REPLACE, 2), (ADD, 2), (UNKNOWN, 1)])
@pytest.mark.parametrize("n", [1, 3])
def test_no_neighbour_moves_the_tables_by_more_than_is_paid(relation: NeighbouringRelation, m: int, n: int) -> None:
    rho = 0.7
    cost = price(table_law(ProtectedUnit(relation, m), rho, n))[1]
    places, columns = list(product(range(2), range(2))), [(0,), (1,), (0, 1)][:n] if n > 1 else [(0, 1)]
    worst = Fraction(0)
    before = list(product(places, repeat=m))
    after = [()] if relation is ADD else before if relation is REPLACE else [(), *before]
    for gone, new in product(before, after):
        square = 0
        for one in columns:
            moved = Counter(tuple(at[i] for i in one) for at in new)
            moved.subtract(tuple(at[i] for i in one) for at in gone)
            square += sum(by * by for by in moved.values())
        worst = max(worst, cost * square)
    assert 0.999 * rho < worst <= Fraction(rho)


@pytest.mark.parametrize("m", [1, 2])
def test_the_choice_of_a_cell_costs_what_is_said(m: int) -> None:
    """Its loss lies in a range of epsilon (Cesar and Rogers, 2021), over all neighbours of a small table."""
    rho, table = 0.02, np.array([[3, 1], [0, 2]])
    guess = np.full((2, 2), 1.5)

    def scores(counts: np.ndarray) -> np.ndarray:
        parts = [(counts - guess).sum(axis=1), (counts - guess).sum(axis=0), (counts - guess).ravel()]
        return np.abs(np.concatenate(parts))

    here, widest = chances(scores(table), rho, m), 0.0
    for gone, new in permutations(range(4), 2):
        other = table.ravel().copy()
        moved = min(m, other[gone])
        other[gone] -= moved
        other[new] += moved
        loss = np.log(here / chances(scores(other.reshape(2, 2)), rho, m))
        widest = max(widest, float(loss.max() - loss.min()))
    assert 0.4 * math.sqrt(8 * rho) < widest <= math.sqrt(8 * rho) * (1 + 1e-9)


class Taped:
    """A generator that notes which places it chose."""

    def __init__(self, seed: int) -> None:
        self.rng, self.places = np.random.default_rng(seed), list[int]()

    def choice(self, n: int, p: np.ndarray) -> int:
        """One place of n."""
        self.places.append(int(self.rng.choice(n, p=p)))
        return self.places[-1]


@pytest.mark.parametrize("rho", [0.001, 0.05, 2.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_multiplicative_weights_are_those_of_the_definition(
    rho: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Played again with what was chosen and drawn: rows of a matrix, each measured thrice in a round, and the rest."""
    counts, rng = np.random.default_rng(seed).integers(0, 40, (3, 2, 2)), Taped(seed)
    noises: list[float] = []

    class Law:
        """Noise that is noted."""

        def sample(self, tape: Taped, shape: tuple[int, ...]) -> float:
            """One number."""
            noises.append(float(np.rint(tape.rng.normal(0, 3 / math.sqrt(rho)))))
            return noises[-1]

    monkeypatch.setattr("treedp_core.studies.topdown.marginals.level_law", lambda *_: Law())
    found = mwem(counts, [(0,), (1, 2)], rho, 1, rng)  # type: ignore[arg-type]
    rows = [np.eye(12, dtype=bool)[[4 * i + j for j in range(4)]].any(axis=0) for i in range(3)]
    rows += [np.eye(12, dtype=bool)[[4 * i + j for i in range(3)]].any(axis=0) for j in range(4)]
    x, true, told = np.full(12, counts.sum() / 12), counts.ravel(), list[tuple[np.ndarray, float]]()
    assert len(noises) == len(rng.places) == 14
    for place, noise in zip(rng.places, noises, strict=True):
        told.append((rows[place], np.clip(true[rows[place]].sum() + noise, 0.001 * true.sum(), 0.999 * true.sum())))
        for row, wanted_of_row in told * 3:
            x = np.where(row, x * wanted_of_row / x[row].sum(), x * (true.sum() - wanted_of_row) / x[~row].sum())
    np.testing.assert_allclose(found.ravel(), x, rtol=1e-6)


@pytest.mark.parametrize("rho", [1e-4, 1e-2, 1.0])
def test_multiplicative_weights_keep_the_total_however_noisy(rho: float) -> None:
    """Noise far beyond all records empties no cell for good, and no rounding grows to more records than there are."""
    subject = made_up((3, 3, 3), 1_000, 7)
    assert subject.tree is not None and subject.counts is not None
    truth = subject.counts[subject.tree.leaves].reshape(3, 3, 3)
    for seed in range(6):
        found = mwem(truth, [(0,), (1,), (2,)], rho, 1, generator("marginals: the total", seed))
        assert found.sum() == pytest.approx(1_000, rel=1e-9) and found.min() > 0.0


def test_weights_keep_the_total_and_come_near_with_a_large_budget() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 60, size=(4, 3))
    found = mwem(counts, [(0,), (1,)], 500.0, 1, rng)
    assert found.sum() == pytest.approx(counts.sum())
    np.testing.assert_allclose(found.sum(axis=1), counts.sum(axis=1), atol=2.5)
    np.testing.assert_allclose(found.sum(axis=0), counts.sum(axis=0), atol=2.5)
    assert (found >= 0).all()


@pytest.mark.parametrize("rho", [1e-12, 1e-3, 1.0])
def test_measurements_that_contradict_one_another_leave_a_table(rho: float) -> None:
    """Among them some that took all weight from a cell, which the next one was to scale up from nothing."""
    for seed in range(6):
        for shape, asked in (((2, 3, 2), [(0,), (0, 1), (0, 1, 2)]), ((3, 50), [(0,), (1,)])):
            rng = np.random.default_rng(seed)
            counts = rng.integers(0, 3, shape)
            counts.flat[0] += seed * 1000
            found = mwem(counts, asked, rho, 1, rng)
            assert np.isfinite(found).all() and (found >= 0).all()
            assert found.sum() == pytest.approx(counts.sum(), rel=1e-9)


def test_what_has_no_marginals_is_refused(people: Subject) -> None:
    with pytest.raises(InputError, match="at least 3 columns"):
        some_marginals(2, "3")
    nested = tree_as_it_is(dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4]))
    with pytest.raises(InputError, match="nested"):
        compare_marginals(nested, wanted(1.0), 2, 1)
    with pytest.raises(InputError, match="too many combinations"):
        compare_marginals(made_up((1000, 1000), 10, 1), wanted(1.0), 2, 1)
    assert product_of_columns(product_data(), (1,)).is_product


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("of", ["1", "2"])
def test_every_way_keeps_the_promise_and_spends_it(relation: NeighbouringRelation, of: str) -> None:
    """Normal noise of a total mu has (epsilon, delta) exactly, and whole-number noise as wide as here has hardly less.

    mu is found by bisection of Balle and Wang's formula; the spread of each way follows from what a record moves.
    """
    subject, epsilon, delta = made_up(SIZES, 500, 3), 0.2, 1e-6
    one = numerical(wanted(1.0, relation), subject, epsilon)
    found = compare_marginals(subject, one, 1, 1, of=of)
    at = {way: found.rmse[i] for i, way in enumerate(found.ways)}
    low, high = 0.001, 10.0
    for _ in range(60):
        mu = (low + high) / 2
        over = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) > delta
        low, high = (low, mu) if over else (mu, high)
    moved, n = (2 if relation is REPLACE else 1), len(found.of)
    levels, tables, cells = (math.sqrt(moved * k) / low for k in (len(SIZES) + (relation is ADD), n, 1))
    first = [math.prod(SIZES[: max(columns) + 1]) for columns in found.of]
    every = [math.prod(SIZES[i] for i in columns) for columns in found.of]
    np.testing.assert_allclose(at[TABLES], [tables] * n, rtol=2e-3)
    np.testing.assert_allclose(at[LEVELS], levels * np.sqrt(np.divide(first, every)), rtol=2e-3)
    np.testing.assert_allclose(at[CELLS], cells * np.sqrt(np.divide(math.prod(SIZES), every)), rtol=2e-3)
    assert rho_of_weights(one) == epsilon_to_rho(epsilon, delta, False) < one.rho


def test_every_order_of_the_columns_keeps_one_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where known columns move, levels are public in one order and not in another: each order has its own total."""
    plans: list[Plan] = []
    monkeypatch.setattr(orders, "_one_order", lambda turned, order, ready, *_, watch: plans.append(ready))
    subject, unit = made_up((2, 3, 2), 60, 2), ProtectedUnit(UNKNOWN, 1, 2)
    one = numerical(Wanted(1.0, 1e-6, unit, None, Spread.STACKED, "intopt"), subject, 1.0).for_orders()
    orders.compare_orders(subject.table, some_orders(3), one, 1, 1)
    assert len(plans) == 6 and len({plan.guarantee.rho for plan in plans}) > 1
    assert all(0.9995 < plan.guarantee.epsilon <= 1.0 for plan in plans)
