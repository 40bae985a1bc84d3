"""Privacy accounting: sensitivities against all neighbouring data sets, conversions against many-digit formulas."""

from __future__ import annotations

import math
import operator
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracles_noise as oracles
from oracles_plans import most_moved_by_distinct_records
from treedp_core.checks import InputError
from treedp_core.plans.verify import cases
from treedp_core.privacy import (
    Budget,
    Currency,
    Guarantee,
    NeighbouringRelation,
    Precision,
    ProtectedUnit,
    Spread,
    budget_from_shares,
    conversions,
    epsilon_to_rho,
    exact_shares,
    gaussian_delta,
    gaussian_sigma,
    guarantee,
    rho_to_delta,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)
from treedp_core.privacy.rounding import smallest, smallest_root, sqrt_above
from treedp_core.privacy.spread import Capacities, level_sensitivities
from treedp_core.words import float_above, float_below

ADD, REPLACE, UNKNOWN = NeighbouringRelation

EPSILONS = [1e-4, 0.01, 0.3, 1.0, 3.7, 20.0, 100.0]
DELTAS = [1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.5]
RHOS = [1e-10, 1e-5, 0.01, 0.1, 1.0, 30.0]


EXACT = Precision.EXACT


def code_of(call, *args, **kwargs) -> str:
    with pytest.raises(InputError) as refusal:
        call(*args, **kwargs)
    return refusal.value.code


# ---------------------------------------------------------------- sensitivities and charges

UNITS = [
    (relation, branching, m, known)
    for relation in NeighbouringRelation
    for branching, m in (((2,), 1), ((3, 2), 1), ((2, 2), 2), ((2, 2), 3), ((2, 2, 2), 1), ((2, 3), 2))
    for known in (range(1, len(branching) + 2) if relation is UNKNOWN else [1])
]


@pytest.mark.parametrize(("relation", "branching", "m", "known"), UNITS)
def test_sensitivities_and_charge_against_all_neighbours(relation, branching, m, known):
    """The loss of a pair is the sum over levels of amount x change / calibration; the charge is the largest loss."""
    unit, n_levels = ProtectedUnit(relation, m, known), len(branching) + 1
    changes = oracles.level_changes(relation.value, branching, m, known)
    l1, l2 = unit.l1_sensitivity(n_levels), unit.l2_sensitivity(n_levels)
    twice = 2 if relation is UNKNOWN else 1  # charged in the budget instead of carried in the noise
    for level in range(n_levels):
        unknown = twice if level >= known else 1
        assert max(c[level][0] for c in changes) == unknown * l1[level]
        if level:
            assert max(c[level][0] for c in changes) == m * unit.moved(level)
        assert max(c[level][1] for c in changes) == pytest.approx(unknown * l2[level] ** 2, rel=1e-15)

    for amounts in ([1.0] * n_levels, [2.0**-level for level in range(n_levels)], [0.0] * (n_levels - 1) + [1.0]):
        assert unit.charge(amounts) == pytest.approx(largest_loss(changes, amounts, l1, 0), rel=1e-14)
        assert unit.charge(amounts) == pytest.approx(largest_loss(changes, amounts, l2**2, 1), rel=1e-14)


def largest_loss(changes, amounts, calibration, norm: int) -> float:
    def loss(change) -> float:
        return sum(a * c[norm] / s for a, c, s in zip(amounts, change, calibration, strict=True) if s)

    return max(loss(change) for change in changes)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=7), st.sampled_from([0, 0, 1, 2, 5, 20]), st.integers(2, 9))
@example([6, 4, 3, 3, 1], 0, 7)  # the sums of both parts must be the same, and no part takes the two largest nodes
@example([3, 1], 1, 4)
@settings(max_examples=300, deadline=None)
def test_what_distinct_records_move_is_exact_where_sizes_differ(sizes, elsewhere, m):
    """Plans are made and checked by two pieces of code; both against every change there is, never more nor less."""
    unit, classes = ProtectedUnit(REPLACE, m), tuple(sorted(Counter(sizes).items(), reverse=True))
    l1, square = most_moved_by_distinct_records(sizes, elsewhere, m)
    found = level_sensitivities(unit, [Capacities(classes, elsewhere)], Spread.DISTINCT)
    assert found[0].tolist() == [l1] and found[1].tolist() == [sqrt_above(square) if square else 0.0]
    root = SimpleNamespace(leaves=sum(sizes) + elsewhere, capacities=((sum(sizes) + elsewhere, 1),))
    level = SimpleNamespace(leaves=sum(sizes), capacities=classes)
    plan = SimpleNamespace(unit=unit, spread=Spread.DISTINCT, matrix=None, levels=[root, level])
    assert cases(plan) == [[(0, 0), (l1, square)]]


def test_units_by_hand():
    assert ProtectedUnit(ADD, 3).l1_sensitivity(2).tolist() == [3.0, 3.0]
    assert ProtectedUnit(REPLACE, 3).l1_sensitivity(2).tolist() == [0.0, 6.0]
    assert ProtectedUnit(REPLACE, 1).l2_sensitivity(2).tolist() == [0.0, math.sqrt(2)]
    assert ProtectedUnit(UNKNOWN, 3, 2).l2_sensitivity(3).tolist() == [3.0, 3.0, 3.0]
    assert [ProtectedUnit(r).total_is_public for r in NeighbouringRelation] == [False, True, False]
    assert ProtectedUnit(REPLACE).charge([math.inf, 0.5, 0.25]) == 0.75
    assert ProtectedUnit(REPLACE).charge([math.inf]) == 0.0
    assert ProtectedUnit(UNKNOWN, 1, 2).charge([0.5, 0.25, 0.25]) == 1.0
    assert ProtectedUnit(UNKNOWN, 1, 1).charge([0.25, 0.25, 0.5]) == 1.5
    assert ProtectedUnit(UNKNOWN, 1, 7).charge([0.25, 0.25, 0.5]) == 1.0


def test_l2_sensitivity_is_the_smallest_float_above_the_root():
    for m in range(1, 1001):
        root = float(ProtectedUnit(REPLACE, m).l2_sensitivity(2)[1])
        assert Fraction(root) ** 2 >= 2 * m * m > Fraction(math.nextafter(root, 0)) ** 2


def test_charge_is_exact_and_rounded_up():
    # added one by one, 0.1 ten times is 0.9999999999999999, but each 0.1 is a little more than a tenth
    assert reduce(operator.add, [0.1] * 10) < 1 < ADD_UNIT.charge([0.1] * 10)
    assert ADD_UNIT.charge([1.0, 1e-30]) == math.nextafter(1.0, 2.0)


ADD_UNIT = ProtectedUnit(ADD)


def test_unit_refusals():
    assert code_of(ProtectedUnit, ADD, 0) == "CONTRIBUTIONS_RANGE"
    assert code_of(ProtectedUnit, ADD, 1001) == "CONTRIBUTIONS_RANGE"
    assert code_of(ProtectedUnit, ADD, 1.5) == "CONTRIBUTIONS_RANGE"
    assert code_of(ProtectedUnit, UNKNOWN, 1, 0) == "VALUE_RANGE"
    assert code_of(ADD_UNIT.charge, [math.inf, 1.0]) == "EXACT_NOT_PRIVATE"
    assert code_of(ProtectedUnit(REPLACE).charge, [math.inf, math.inf]) == "EXACT_NOT_PRIVATE"
    assert code_of(ProtectedUnit(UNKNOWN).charge, [math.inf, 0.0]) == "EXACT_NOT_PRIVATE"
    assert code_of(ADD_UNIT.charge, [-1.0]) == "BUDGET_SPLIT"
    assert code_of(ADD_UNIT.charge, [math.nan]) == "BUDGET_SPLIT"


def test_every_relation_says_who_is_protected():
    for relation in NeighbouringRelation:
        one, many = ProtectedUnit(relation), ProtectedUnit(relation, 5)
        assert relation.description.endswith(".") and relation.label[0].isupper()
        assert "one record" in one.described and "at most 5" in many.described
    assert "total is public" in ProtectedUnit(REPLACE).described
    added = ProtectedUnit(ADD).described
    assert "total is protected" in added and "public" not in added


# ---------------------------------------------------------------- budgets


@pytest.mark.parametrize("bad", [-1.0, math.nan, -math.inf, 101.0, 1e300, "1", True])
def test_budget_refusals(bad):
    assert code_of(Budget, Currency.EPSILON, (1.0, bad)) == "EPS_RANGE"
    if bad != 101.0:
        assert code_of(Budget, Currency.RHO, (1.0, bad)) == "RHO_RANGE"


@pytest.mark.parametrize("nothing", [(), (0.0,), (0.0, 0.0)])
def test_a_budget_of_nothing_is_refused(nothing):
    assert code_of(Budget, Currency.EPSILON, nothing) == "EPS_RANGE"
    assert code_of(Budget, Currency.RHO, nothing) == "RHO_RANGE"


shares_of_levels = st.lists(
    st.one_of(
        st.floats(0, 1e6, allow_subnormal=False),
        st.fractions(0, 1),
        st.integers(0, 5).map(float),
    ),
    min_size=1,
    max_size=8,
)


@given(
    shares=shares_of_levels,
    total=st.floats(1e-4, 100),
    currency=st.sampled_from(Currency),
    relation=st.sampled_from(NeighbouringRelation),
    known=st.integers(1, 8),
)
@example(shares=[0, 1.0, 3.0], total=1.0, currency=Currency.EPSILON, relation=UNKNOWN, known=1)
def test_budgets_never_cost_more_than_the_total(shares, total, currency, relation, known):
    unit = ProtectedUnit(relation, 2, known)
    counted = [Fraction(s) for s in (shares[1:] if unit.total_is_public else shares)]
    if not any(counted):
        if not (unit.total_is_public and len(shares) == 1):
            assert code_of(budget_from_shares, shares, total, currency, unit) == "BUDGET_SPLIT"
        return
    amounts = budget_from_shares(shares, total, currency, unit).per_level
    assert (amounts[0] == math.inf) == unit.total_is_public
    spent = [Fraction(a) for a in (amounts[1:] if unit.total_is_public else amounts)]
    first_unknown = known - (1 if unit.total_is_public else 0)
    cost = sum(spent)
    weight = sum(counted)
    if relation is UNKNOWN:
        cost = max(cost, 2 * sum(spent[first_unknown:]))
        weight = max(weight, 2 * sum(counted[first_unknown:]))
    assert cost <= Fraction(total)
    assert unit.charge(amounts) <= total
    for amount, share in zip(spent, counted, strict=True):  # and each amount is the largest float that allows
        assert amount <= share / weight * Fraction(total) < Fraction(math.nextafter(float(amount), 1e9))


def test_rounding_to_nearest_would_overspend():
    """The mutant: nearest instead of downward rounding spends more than the total in a good share of splits."""
    over = 0
    for n in range(2, 60):
        nearest = [float(Fraction(1) / n)] * n
        over += sum(map(Fraction, nearest)) > 1
        assert sum(map(Fraction, budget_from_shares([1] * n, 1.0, Currency.EPSILON, ADD_UNIT).per_level)) <= 1
    assert over > 10


def test_budget_from_shares_refusals():
    for total, currency, code in [
        (0.0, Currency.EPSILON, "EPS_RANGE"),
        (1e-5, Currency.EPSILON, "EPS_RANGE"),
        (math.nan, Currency.EPSILON, "EPS_RANGE"),
        (0.0, Currency.RHO, "RHO_RANGE"),
        (-1.0, Currency.RHO, "RHO_RANGE"),
        (math.nan, Currency.RHO, "RHO_RANGE"),
    ]:
        assert code_of(budget_from_shares, [1.0], total, currency, ADD_UNIT) == code
    for shares in ([], [0.0], [1.0, -1.0], [math.nan], [math.inf], [Fraction(-1, 2)]):
        assert code_of(budget_from_shares, shares, 1.0, Currency.EPSILON, ADD_UNIT) == "BUDGET_SPLIT"
    assert code_of(budget_from_shares, [1.0, 0.0], 1.0, Currency.EPSILON, ProtectedUnit(REPLACE)) == "BUDGET_SPLIT"


def test_exact_shares():
    assert exact_shares(["0.1", "0.2", "0.7"]) == exact_shares([0.1, 0.2, 0.7]) == [
        Fraction(1, 10), Fraction(1, 5), Fraction(7, 10),
    ]  # fmt: skip
    assert exact_shares([" .5 ", "5e-1", "0"]) == [Fraction(1, 2), Fraction(1, 2), 0]
    assert exact_shares([Fraction(1, 3)] * 3) == [Fraction(1, 3)] * 3
    assert exact_shares([]) == []


@pytest.mark.parametrize(
    "bad",
    [
        ["0.1", "0.2", "0.7000001"], [1, 1e-300], ["-0.1"], ["0,5"], ["1/3"], ["٠.٥"], ["nan"], [""], ["1e9999999"],
        ["0." + "1" * 400], ["1e999", "0"], ["9" * 40] * 9,
        [math.nan], [math.inf], [True], [None], [Fraction(-1, 2)], ["1_0"],
    ],
)  # fmt: skip
def test_exact_shares_refusals(bad):
    assert code_of(exact_shares, bad) == "BUDGET_SPLIT"
    with pytest.raises(InputError) as caught:
        exact_shares(bad)
    assert len(str(caught.value)) < 120  # a share of a thousand digits is not written out


# ---------------------------------------------------------------- guarantees


def test_guarantees():
    half = (0.5, 0.25, 0.25)
    pure = guarantee(Budget(Currency.EPSILON, half), ADD_UNIT, 1e-6, False, precision=EXACT)
    assert pure == Guarantee(ADD_UNIT, 1.0, 0.0, None, precision=EXACT, spread=Spread.STACKED)
    moved = guarantee(
        Budget(Currency.EPSILON, half), ProtectedUnit(UNKNOWN, 1, 1), 0.0, False, precision=Precision.EXACT
    )
    assert moved.epsilon == 1.0
    tenth = Budget(Currency.RHO, (0.05, 0.05))
    discrete, smooth = (guarantee(tenth, ADD_UNIT, 1e-6, continuous, precision=EXACT) for continuous in (False, True))
    assert discrete.rho == smooth.rho == 0.1
    assert discrete.epsilon == rho_to_epsilon(0.1, 1e-6) > smooth.epsilon == rho_to_epsilon_gaussian(0.1, 1e-6)
    public = guarantee(
        Budget(Currency.RHO, (math.inf,)), ProtectedUnit(REPLACE), 1e-6, False, precision=Precision.EXACT
    )
    assert (public.epsilon, public.delta, public.rho) == (0.0, 0.0, 0.0)


def test_guarantee_refusals():
    rho = Budget(Currency.RHO, (0.5,))
    assert code_of(guarantee, rho, ADD_UNIT, 0.0, True, precision=EXACT) == "DELTA_REQUIRED"
    for bad in (1.0, -0.1, math.nan):
        assert code_of(guarantee, rho, ADD_UNIT, bad, True, precision=EXACT) == "DELTA_RANGE"
        assert (
            code_of(guarantee, Budget(Currency.EPSILON, (0.5,)), ADD_UNIT, bad, True, precision=EXACT) == "DELTA_RANGE"
        )
    exact_root = Budget(Currency.RHO, (math.inf, 1.0))
    assert code_of(guarantee, exact_root, ADD_UNIT, 1e-6, True, precision=EXACT) == "EXACT_NOT_PRIVATE"


@pytest.mark.parametrize(
    ("epsilon", "delta", "start"),
    [
        (1.0, 1e-6, "(ε = 1, δ = 1e-6)-differential privacy; protects one record, replaced"),
        (0.1, 0.0, "(ε = 0.1)-differential privacy;"),
        (0.1 + 0.2, 0.0, "(ε = 0.3001)-"),  # a float above 0.3
        (2.14181, 2.5e-9, "(ε = 2.142, δ = 2.5e-9)-"),
        (1e-4, 0.01, "(ε = 1e-4, δ = 0.01)-"),
        (99.991, 0.0, "(ε = 100)-"),
    ],
)
def test_sentences_round_up(epsilon, delta, start):
    assert (
        Guarantee(ProtectedUnit(REPLACE), epsilon, delta, precision=EXACT, spread=Spread.STACKED)
        .sentence()
        .startswith(start)
    )


# ---------------------------------------------------------------- conversions


@pytest.mark.parametrize("epsilon", [0.0, *EPSILONS])
@pytest.mark.parametrize("x", [-6.0, -1.0, -0.3, 0.0, 0.5, 3.0, 8.0, 14.0])
def test_gaussian_delta_is_an_upper_bound_to_ten_digits(epsilon, x):
    """Points with epsilon sigma - 1 / (2 sigma) = x, so that delta runs from nearly 1 down to about 1e-50."""
    shift = -x + math.sqrt(x * x + 2 * epsilon)
    for sensitivity in (1.0, math.sqrt(2)):
        sigma = sensitivity / shift if shift else 1e6
        exact = oracles.gaussian_delta(epsilon, sigma, sensitivity)
        got = Decimal(gaussian_delta(epsilon, sigma, sensitivity))
        assert exact <= got <= exact * (1 + Decimal("1e-10")) + Decimal("1e-299")


def test_gaussian_delta_stays_positive_where_floats_underflow():
    assert 0 < gaussian_delta(100.0, 5e4) < 1e-200
    assert 0 < gaussian_delta(1.0, 1e300) < 1e-200


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [(0.000760691083439667, 0.1631190067738419, 7.3), (2.3170102358977083, 2.367986054635734e-07, 0.1)],
)
def test_gaussian_sigma_is_enough_where_the_quotient_alone_is_not(epsilon, delta, sensitivity):
    """Two of six thousand random settings whose first sigma has a delta a rounding above the one asked for."""
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert gaussian_delta(epsilon, sigma, sensitivity) <= delta
    assert gaussian_delta(epsilon, sigma * (1 - 1e-12), sensitivity) > delta


def test_epsilon_of_gaussian_noise_holds_at_the_delta_it_is_stated_for():
    """Where sigma is exact (rho = 1/2, 2, 8): no slack at all, and a float less of epsilon is not enough."""
    for sigma in (1.0, 0.5, 0.25):
        for delta in (1e-12, 1e-6, 1e-3):
            epsilon = rho_to_epsilon_gaussian(0.5 / sigma**2, delta)
            assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(math.nextafter(epsilon, 0.0), sigma)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_gaussian_sigma_is_enough_and_no_more(epsilon, delta):
    for sensitivity in (1.0, 3 * math.sqrt(2)):
        sigma = gaussian_sigma(epsilon, delta, sensitivity)
        assert gaussian_delta(epsilon, sigma, sensitivity) <= delta
        assert oracles.gaussian_delta(epsilon, sigma, sensitivity) <= Decimal(delta)
        assert oracles.gaussian_delta(epsilon, sigma * (1 - 1e-8), sensitivity) > Decimal(delta)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.3, 2.0, 40.0])
def test_rho_to_delta_is_an_upper_bound_to_twelve_digits(rho, epsilon):
    exact = min(Decimal(1), oracles.log_delta_of_rho(rho, epsilon).exp())
    got = Decimal(rho_to_delta(rho, epsilon))
    assert min(exact, Decimal(1)) <= got <= exact * (1 + Decimal("1e-11")) + Decimal("1e-299")


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_rho_to_epsilon_is_an_upper_bound_to_twelve_digits(rho, delta):
    exact = max(Decimal(0), oracles.epsilon_of_rho(rho, delta))
    got = Decimal(rho_to_epsilon(rho, delta))
    # where the bound is a small difference of terms of the order of one, rounding is relative to those
    assert exact <= got <= exact * (1 + Decimal("1e-12")) + Decimal("1e-13")
    simple = Decimal(rho) + 2 * (Decimal(rho) * -Decimal(delta).ln()).sqrt()
    assert simple <= Decimal(rho_to_epsilon_simple(rho, delta)) <= simple * (1 + Decimal("1e-14"))
    assert rho_to_epsilon(rho, delta) <= rho_to_epsilon_simple(rho, delta)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_rho_to_epsilon_gaussian_is_enough_and_no_more(rho, delta):
    epsilon = rho_to_epsilon_gaussian(rho, delta)
    assert oracles.composed_gaussian_delta(rho, epsilon) <= Decimal(delta)
    if epsilon > 0:
        assert oracles.composed_gaussian_delta(rho, epsilon * (1 - 1e-8)) > Decimal(delta)
    assert epsilon <= rho_to_epsilon(rho, delta)


@pytest.mark.parametrize("continuous", [True, False])
def test_a_split_that_costs_a_little_less_promises_no_more_than_was_asked_for(continuous: bool) -> None:
    """Levels that share a budget add up to a few units in the last place less, and epsilons are rounded one by one."""
    rng = np.random.default_rng(2211)
    forward = rho_to_epsilon_gaussian if continuous else rho_to_epsilon
    asked = [(5.067920826745206, 1.587950812296518e-07)]
    asked += zip(np.exp(rng.uniform(-3, 2, 150)).tolist(), (10 ** rng.uniform(-12, -2, 150)).tolist(), strict=True)
    for epsilon, delta in asked:
        rho = epsilon_to_rho(epsilon, delta, continuous)
        assert max(forward(rho * (1 - k * 2.0**-52), delta) for k in range(5)) <= epsilon, (epsilon, delta)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_to_rho_is_enough_and_no_more(epsilon, delta):
    rho = epsilon_to_rho(epsilon, delta, False)
    assert rho_to_epsilon(rho, delta) <= epsilon
    assert oracles.epsilon_of_rho(rho, delta) <= Decimal(epsilon) < oracles.epsilon_of_rho(rho * (1 + 1e-8), delta)
    smooth = epsilon_to_rho(epsilon, delta, True)
    assert rho_to_epsilon_gaussian(smooth, delta) <= epsilon
    assert oracles.composed_gaussian_delta(smooth, epsilon) <= Decimal(delta)
    assert oracles.composed_gaussian_delta(smooth * (1 + 1e-8), epsilon) > Decimal(delta)
    assert smooth >= rho


@given(epsilon=st.floats(1e-4, 100), delta=st.floats(1e-15, 0.5), continuous=st.booleans())
def test_converting_back_and_forth_never_gains(epsilon, delta, continuous):
    rho = epsilon_to_rho(epsilon, delta, continuous)
    forward = rho_to_epsilon_gaussian if continuous else rho_to_epsilon
    assert forward(rho, delta) <= epsilon
    assert rho_to_delta(rho, epsilon) <= delta * (1 + 1e-9) or continuous


def test_conversion_refusals():
    for rho in (0.0, -1.0, math.nan, math.inf):
        for convert in (rho_to_epsilon, rho_to_epsilon_gaussian, rho_to_epsilon_simple):
            assert code_of(convert, rho, 1e-6) == "RHO_RANGE"
        assert code_of(rho_to_delta, rho, 1.0) == "RHO_RANGE"
    for delta, code in (
        (0.0, "DELTA_REQUIRED"),
        (1.0, "DELTA_RANGE"),
        (-1.0, "DELTA_RANGE"),
        (math.nan, "DELTA_RANGE"),
    ):
        for convert in (rho_to_epsilon, rho_to_epsilon_gaussian, rho_to_epsilon_simple, gaussian_sigma):
            assert code_of(convert, 1.0, delta) == code
        assert code_of(epsilon_to_rho, 1.0, delta, False) == code
    for epsilon in (-1.0, math.nan, math.inf):
        assert code_of(gaussian_delta, epsilon, 1.0) == "EPS_RANGE"
        assert code_of(epsilon_to_rho, epsilon, 1e-6, True) == "EPS_RANGE"
        assert code_of(gaussian_sigma, epsilon, 1e-6) == "EPS_RANGE"


def test_no_sensitivity_costs_nothing():
    assert gaussian_delta(0.0, 1.0, 0.0) == 0.0


# ---------------------------------------------------------------- rounding


@given(numerator=st.integers(-(10**30), 10**30), denominator=st.integers(1, 10**30))
def test_float_above_and_below_are_the_neighbouring_floats(numerator, denominator):
    exact = Fraction(numerator, denominator)
    above, below = float_above(exact), float_below(exact)
    assert Fraction(math.nextafter(above, -math.inf)) < exact <= Fraction(above)
    assert Fraction(below) <= exact < Fraction(math.nextafter(below, math.inf))


@given(square=st.fractions(Fraction(1, 10**20), 10**20))
def test_sqrt_above_is_the_smallest_float_that_is_enough(square):
    root = sqrt_above(square)
    assert Fraction(math.nextafter(root, 0)) ** 2 < square <= Fraction(root) ** 2


@given(
    root=st.floats(1e-6, 1e6), slope=st.floats(0.1, 6.0), bend=st.floats(-0.05, 0.05), low=st.floats(1.0, 1e6),
    high=st.floats(1.0, 1e6), step=st.sampled_from([0.0, 0.5]),
)  # fmt: skip
def test_a_root_is_the_point_that_bisection_finds_in_fewer_steps(
    root: float, slope: float, bend: float, low: float, high: float, step: float
) -> None:
    seen = []

    def room(x: float) -> float:
        seen.append(x)
        u = math.log(x / root)
        return -slope * u + bend * math.sin(u) + (step if x < root else -step)

    ends = (root / low, root * high)
    expected = smallest(lambda x: room(x) <= 0.0, *ends, 1e-11)
    n_bisected = len(seen)
    seen.clear()
    assert smallest_root(room, *ends, 1e-11) == expected
    assert len(seen) <= n_bisected + 30


def test_a_smooth_root_takes_a_third_of_the_steps_of_bisection() -> None:
    seen = []

    def room(x: float) -> float:
        seen.append(x)
        return -2.0 * math.log(x / 3.7) + 0.1 * math.sin(math.log(x))

    smallest(lambda x: room(x) <= 0.0, 1.0, 16.0, 1e-11)
    n_bisected = len(seen)
    seen.clear()
    smallest_root(room, 1.0, 16.0, 1e-11)
    assert len(seen) <= n_bisected / 3


# ---- what is handed on inside a conversion is rounded the safe way too


@given(rho=st.floats(1e-6, 50.0), sigma=st.floats(1e-3, 1e4), sensitivity=st.floats(1e-3, 1e4))
def test_shifts_inside_conversions_are_never_below_the_exact_ones(rho: float, sigma: float, sensitivity: float) -> None:
    """Delta / sigma and sqrt(2 rho), seen where they are used: one rounding step down would promise too much."""
    shifts: list[float] = []
    exact_delta = conversions._shift_delta

    def spy(loss: float, shift: float) -> float:
        shifts.append(shift)
        return exact_delta(loss, shift)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversions, "_shift_delta", spy)
        conversions.gaussian_delta.__wrapped__(1.0, sigma, sensitivity)
        assert all(Fraction(shift) * Fraction(sigma) >= Fraction(sensitivity) for shift in shifts)
        shifts.clear()
        conversions.rho_to_epsilon_gaussian.__wrapped__(rho, 1e-6)
        assert shifts and all(Fraction(shift) ** 2 >= 2 * Fraction(rho) for shift in shifts)


@given(shift=st.floats(1e-3, 10.0))
def test_the_rho_of_a_shift_is_never_above_the_exact_one(shift: float) -> None:
    """Without the check that follows it: rho is at most the half of the square, and the next float is above that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversions, "_largest_shift", lambda epsilon, delta: shift)
        patch.setattr(conversions, "rho_to_epsilon_gaussian", lambda rho, delta: 0.0)
        rho = conversions.epsilon_to_rho.__wrapped__(1.0, 1e-6, True)
    assert Fraction(rho) <= Fraction(shift) ** 2 / 2 < Fraction(math.nextafter(rho, math.inf))
