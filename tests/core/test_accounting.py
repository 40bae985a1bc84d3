"""Numerical accounting: against Google's accountant, enumeration in exact arithmetic, and what is said of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import live_accountant
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draw_once, identity, prepare, total_of
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Laplace, Law
from treedp_core.plans import ReleasePlan
from treedp_core.plans.handover import opendp_program
from treedp_core.plans.together import gaussian_from, less_noise, together
from treedp_core.plans.words import conversion
from treedp_core.privacy import (
    Accounting,
    Budget,
    Currency,
    NeighbouringRelation,
    Precision,
    ProtectedUnit,
    Spread,
    guarantee,
    rho_to_epsilon,
)
from treedp_core.privacy.accounting import epsilon_of_levels, largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.losses import of_changes
from treedp_core.records.mock_data import generate
from treedp_core.studies.budget import Problem, compare, composed_epsilon
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.release import plan_tree
from treedp_core.studies.topdown import Wanted, made_up, numerical, rho_of

KNOWN = json.loads(live_accountant.FILE.read_text(encoding="utf-8"))
ONE = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
LAWS = {"discrete_gaussian": DiscreteGaussian, "discrete_laplace": DiscreteLaplace}
NUMERICAL = Experiment(
    "discrete_gaussian", epsilon=1.0, delta=1e-6, relation="add_or_remove_one", accounting="numerical"
)


def found(levels: list[tuple[str, float, int]], delta: float) -> float:
    return of_changes([(LAWS[law](parameter), change) for law, parameter, change in levels]).epsilon(delta)


def test_epsilon_is_google_s_within_a_thousandth_and_never_below_its_lower_bound() -> None:
    assert len(KNOWN) == live_accountant.N == 200
    for i, (low, high) in enumerate(KNOWN):
        assert low <= found(*live_accountant.release(i)) <= 1.001 * high, i


def test_the_known_numbers_are_google_s() -> None:
    pytest.importorskip("dp_accounting")
    for i in (4, 20):
        told = [live_accountant.google(i, above) for above in (False, True)]
        assert told == pytest.approx(KNOWN[i], abs=1e-8)


# ---- enumeration: losses as fractions, masses as decimals of 40 digits


def outcomes(law: str, parameter: Fraction, change: int) -> list[tuple[Fraction, Decimal]]:
    """Loss and probability of every outcome of one noise; what is left out (below 1e-40) only takes away."""
    weigh = (lambda k: k * k / (2 * parameter**2)) if law == "discrete_gaussian" else lambda k: abs(k) * parameter
    reach = next(k for k in range(1, 1000) if weigh(k) > 92)
    exponents = {k: weigh(Fraction(k)) for k in range(-reach, reach + 1)}
    weights = {k: (-Decimal(e.numerator) / Decimal(e.denominator)).exp() for k, e in exponents.items()}
    total = sum(weights.values())
    return [(weigh(Fraction(k - change)) - exponents[k], weight / total) for k, weight in weights.items()]


def exact_delta(levels: list[tuple[str, float, int]], epsilon: Fraction) -> Decimal:
    """Every outcome of all levels: losses that are equal are added up, as fractions."""
    found = {Fraction(0): Decimal(1)}
    for law, parameter, change in levels:
        joined: dict[Fraction, Decimal] = {}
        for loss, mass in outcomes(law, Fraction(parameter), change):
            for before, weight in found.items():
                joined[before + loss] = joined.get(before + loss, Decimal(0)) + mass * weight
        found = joined
    return sum(
        (mass * (1 - (Decimal((epsilon - loss).numerator) / Decimal((epsilon - loss).denominator)).exp())
         for loss, mass in found.items() if loss > epsilon),
        Decimal(0),
    )  # fmt: skip


SMALL = {
    "one level": [("discrete_gaussian", 1.0, 1)],
    "a wide lattice": [("discrete_gaussian", 0.75, 1)] * 3,
    "alike, moved twice": [("discrete_gaussian", 1.5, 2)] * 2,
    "two widths": [("discrete_gaussian", 2.0, 1), ("discrete_gaussian", 1.25, 1)],
    "two laws": [("discrete_gaussian", 1.5, 1), ("discrete_laplace", 0.5, 2)],
    "geometric": [("discrete_laplace", 0.5, 1), ("discrete_laplace", 0.375, 1)],
    "hardly any noise": [("discrete_gaussian", 0.025, 1), ("discrete_laplace", 0.5, 2)],  # a loss beyond e^709
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_epsilon_is_enough_in_exact_arithmetic_and_hardly_more(name: str, delta: float) -> None:
    levels = SMALL[name]
    epsilon = found(levels, delta)
    with localcontext() as context:
        context.prec = 40
        assert exact_delta(levels, Fraction(epsilon)) <= Decimal(delta)
        assert exact_delta(levels, Fraction(epsilon) * (1 - Fraction(1, 5000))) > Decimal(delta)


@pytest.mark.parametrize(
    ("sigma", "n", "delta", "epsilon"),
    [(1.0, 1, 1e-6, 4.499591), (1.0, 3, 1e-6, 9.344855), (2.0, 4, 1e-9, 6.187001), (5.0, 6, 1e-6, 2.203332)],
)
def test_known_answers(sigma: float, n: int, delta: float, epsilon: float) -> None:
    assert epsilon_of_levels([DiscreteGaussian(sigma)] * n, ONE, delta) == pytest.approx(epsilon, abs=1e-6)


def test_wide_noise_loses_what_normal_noise_does_and_not_less() -> None:
    from treedp_core.privacy import rho_to_epsilon_gaussian

    for sigma, n in ((1e5, 512), (400.0, 512), (5.0, 400)):
        normal = rho_to_epsilon_gaussian(n / (2 * sigma**2), 1e-6)
        assert 1 - 1e-9 <= epsilon_of_levels([DiscreteGaussian(sigma)] * n, ONE, 1e-6) / normal <= 1.0005


# ---- the inverse


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 8.4504), (0.1, 72.609)])
def test_the_smallest_noise_of_four_levels(epsilon: float, sigma: float) -> None:
    rho = largest_total(lambda total: [DiscreteGaussian((2 / total) ** 0.5)] * 4, ONE, epsilon, 1e-6)
    assert (2 / rho) ** 0.5 == pytest.approx(sigma, rel=1e-4)
    assert epsilon_of_levels([DiscreteGaussian((2 / rho) ** 0.5)] * 4, ONE, 1e-6) <= epsilon


@pytest.mark.parametrize("relation", [one.value for one in NeighbouringRelation])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_numerical_accounting_keeps_the_promise_with_less_noise(relation: str, epsilon: float) -> None:
    tree = generate("zipf", 100, "4,4,4", 7).tree
    numerical = replace(NUMERICAL, relation=relation, epsilon=epsilon, contributions=2, known_levels=2)
    formula = replace(numerical, accounting="formula")
    less, more = prepare(numerical, tree), prepare(formula, tree)
    assert 0.9995 * epsilon <= less.guarantee.epsilon <= epsilon
    assert less.guarantee.accounting is Accounting.NUMERICAL and more.guarantee.accounting is Accounting.FORMULA
    assert less.guarantee.epsilon >= epsilon_of_levels(less.noise.laws, numerical.unit, 1e-6)
    noise = [np.sqrt(one.noise.level_variance[-1]) for one in (less, more)]
    assert 0.90 < noise[0] / noise[1] < 0.96
    assert total_of(numerical, tree) > total_of(numerical) == total_of(formula)


def test_what_custom_shares_leave_is_not_spent() -> None:
    """Four tenths are spent: 1 / sqrt(2.5) of sigma 8.4504 (see above) where all of it would be on four levels."""
    tree, wanted = (
        generate("uniform", 100, "2,2,2", 7).tree,
        Wanted(1.0, 1e-6, ONE, (0.1,) * 4, Spread.STACKED, "intopt"),
    )
    one = replace(NUMERICAL, allocation="custom", shares=(0.1,) * 4)
    cdf = CdfSettings(8, (2, 2, 2), "discrete_gaussian", 1.0, 1e-6, "custom", (0.1,) * 4, relation=one.relation,
                      accounting="numerical")  # fmt: skip
    table = made_up((2, 2, 2), 50, 7)
    found = [prepare(one, tree), plan_tree(cdf), numerical(wanted, table, 1.0).plan(table)]
    sigmas = [getattr(laws[-1], "sigma") for laws in (found[0].noise.laws, found[1].noise.laws, found[2].laws)]  # noqa: B009
    assert sigmas == pytest.approx([8.4504 * 2.5**0.5] * 3, rel=1e-3)
    assert all(0.5 < made.guarantee.epsilon < 0.62 for made in found)


def test_the_formula_stays_what_it_was() -> None:
    data = generate("zipf", 100, "4,4,4", 7)
    plain = replace(NUMERICAL, accounting="formula")
    assert identity(plain) != identity(NUMERICAL)
    assert "by the zCDP formula" in draw_once(plain, data.tree, data.counts)[0].sentence()
    pure = replace(NUMERICAL, mechanism="discrete_laplace")
    assert prepare(pure, data.tree).guarantee.accounting is None
    exact = prepare(replace(NUMERICAL, mechanism="gaussian"), data.tree).guarantee
    assert exact.accounting is None and exact.epsilon <= 1.0
    with pytest.raises(InputError, match="accounting"):
        prepare(replace(NUMERICAL, accounting="by hand"), data.tree)


def test_what_is_not_covered_is_left_to_the_formula() -> None:
    budget, laws = Budget(Currency.RHO, (0.1, 0.1)), [DiscreteGaussian(3.0)] * 2
    several = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, 3)
    apart = guarantee(budget, several, 1e-6, False, precision=Precision.EXACT, spread=Spread.DISTINCT, laws=laws)
    assert apart.accounting is Accounting.FORMULA and apart.epsilon == rho_to_epsilon(apart.rho or 0, 1e-6)
    other: list[Law | None] = [Laplace(3.0), None]
    assert guarantee(budget, ONE, 1e-6, False, precision=Precision.IDEAL, laws=other).accounting is Accounting.FORMULA
    # below what is left out of the laws only the formula knows an epsilon
    tiny = guarantee(budget, ONE, 1e-40, False, precision=Precision.EXACT, laws=laws)
    assert tiny.epsilon == rho_to_epsilon(0.2, 1e-40) < epsilon_of_levels(laws, ONE, 1e-40)


def sigma_of_normal(n: int, epsilon: float, delta: float) -> float:
    """Deviation of normal noise on n counts that move by one, by its own delta (Balle and Wang, 2018)."""

    def too_little(sigma: float) -> float:
        moved = math.sqrt(n) / sigma
        above, below = moved / 2 - epsilon / moved, -moved / 2 - epsilon / moved
        return float(norm.cdf(above) - math.exp(epsilon) * norm.cdf(below) - delta)

    return float(brentq(too_little, 0.1, 1e4))


@pytest.mark.parametrize(("epsilon", "delta", "m"), [(1.0, 1e-6, 1), (1.0, 1e-12, 3), (0.3, 1e-9, 1), (2.0, 1e-4, 3)])
def test_from_so_many_levels_on_gaussian_noise_is_the_narrower_one(epsilon: float, delta: float, m: int) -> None:
    """By normal noise, which wide whole-number noise is all but, and a geometric law's variance, level by level."""

    def ratio(n: int) -> float:
        return sigma_of_normal(n, epsilon, delta) ** 2 * (math.cosh(epsilon / (m * n)) - 1) * m**2

    levels = gaussian_from(replace(ONE, contributions=m), epsilon, delta)
    assert levels is not None and ratio(levels) < 1.001 and ratio(levels - 1) > 0.999
    assert all(ratio(n) > 1 for n in range(1, levels - 1))


def test_what_numerical_accounting_saves_of_the_noise_of_a_plan() -> None:
    """Four levels at (1, 1e-6): 8.4504 (see above) beside the formula of Canonne, Kamath and Steinke on a grid."""
    alpha = 1 + np.geomspace(1e-2, 1e4, 200_001)
    of_rho = brentq(lambda rho: float((rho * alpha + np.log1p(-1 / alpha) - np.log(1e-6 * alpha) / (alpha - 1)).min())
                    - 1.0, 1e-4, 1.0)  # fmt: skip
    saved = 1 - 8.4504 / math.sqrt(4 / (2 * of_rho))
    for accounting in ("numerical", "formula"):
        one = replace(NUMERICAL, accounting=accounting)
        found = less_noise(ReleasePlan.of(one, generate("uniform", 100, "2,2,2", 7), whom="person"))
        assert found == pytest.approx(saved, rel=2e-3)


# ---- plans


def plan_of(one: Experiment) -> ReleasePlan:
    return ReleasePlan.of(one, generate("zipf", 100, "3,3", 7), whom="person")


@pytest.mark.parametrize("relation", [one.value for one in NeighbouringRelation])
@pytest.mark.parametrize("m", [1, 2])
def test_a_plan_is_worked_out_again(relation: str, m: int) -> None:
    plan = plan_of(replace(NUMERICAL, relation=relation, contributions=m, known_levels=2, allocation="minimax"))
    assert plan.accounting is Accounting.NUMERICAL and plan.verify() == ()
    assert plan.epsilon <= 1.0 < rho_to_epsilon(plan.charged, 1e-6)
    for wrong in (replace(plan, epsilon=0.999 * plan.epsilon), replace(plan, accounting=Accounting.FORMULA),
                  replace(plan, accounting=None), replace(plan, delta=0.99e-6)):  # fmt: skip
        assert any("does not keep the promise" in one for one in wrong.verify())


def test_a_plan_says_how_it_was_accounted_for() -> None:
    numerical, formula = plan_of(NUMERICAL), plan_of(replace(NUMERICAL, accounting="formula"))
    for plan, told in ((numerical, "by numerical accounting"), (formula, "by the zCDP formula")):
        assert told in opendp_program(plan) and told in repr(plan)
        assert told.removeprefix("by the ").removeprefix("by ") in conversion(plan)
        assert ReleasePlan.from_json(plan.to_json()) == plan
    assert "by numerical accounting" in numerical.sentence() and "Canonne, Kamath" in formula.sentence()
    assert plan_of(replace(NUMERICAL, mechanism="discrete_laplace")).accounting is None


# ---- several releases


@pytest.mark.parametrize("relation", [one.value for one in NeighbouringRelation])
def test_releases_of_one_study_cost_less_together_than_added_up(relation: str) -> None:
    gaussian = plan_of(replace(NUMERICAL, relation=relation, known_levels=2))
    laplace = plan_of(replace(NUMERICAL, relation=relation, known_levels=2, mechanism="discrete_laplace", epsilon=0.5))
    alone = together([gaussian], 1e-6)
    assert alone.epsilon == pytest.approx(gaussian.epsilon, rel=1e-6)
    both = together([gaussian, laplace, gaussian], 2e-6)
    assert both.accounting is Accounting.NUMERICAL and gaussian.epsilon < both.epsilon < 0.85 * both.added
    known, rest = [], []
    for plan in (gaussian, laplace, gaussian):
        drawn: list[tuple[str, float, int]] = []
        for i, one in enumerate(plan.levels):
            law, scale = ("discrete_gaussian", one.scale) if plan.delta else ("discrete_laplace", 1 / (one.scale or 1))
            drawn += [(law, scale, i)] if one.scale else []
        known += [(law, scale or 0.0) for law, scale, i in drawn if i < 2]
        rest += [(law, scale or 0.0) for law, scale, i in drawn if i >= 2]
    ways = {
        "add_or_remove_one": [[(*one, 1) for one in known + rest]],
        "replace_one": [[(*one, 1) for one in known + rest for _ in range(2)]],
        "replace_unknown": [[(*one, 1) for one in known + rest], [(*one, 1) for one in rest for _ in range(2)]],
    }[relation]
    assert both.epsilon == pytest.approx(max(found(way, 2e-6) for way in ways), rel=1e-3)
    assert together([laplace, laplace], 0.0).sentence().startswith("2 releases together: (ε = 1)-differential privacy")


def test_without_a_delta_releases_keep_the_largest_of_theirs_or_their_sum() -> None:
    one, pure = plan_of(NUMERICAL), plan_of(replace(NUMERICAL, mechanism="discrete_laplace", epsilon=0.5))
    both = together([one, pure])
    assert both == together([one, pure], 1e-6) and both.delta == 1e-6
    normal = plan_of(replace(NUMERICAL, mechanism="gaussian"))
    assert 2e-6 <= together([one, normal]).delta < 2.0001e-6
    assert together([pure, pure]).delta == 0 and together([pure, pure]).epsilon == 1.0


def test_releases_that_do_not_add_up_are_refused() -> None:
    one = plan_of(NUMERICAL)
    with pytest.raises(InputError, match="same unit"):
        together([one, plan_of(replace(NUMERICAL, contributions=2))], 1e-6)
    normal = plan_of(replace(NUMERICAL, mechanism="gaussian"))
    assert together([one, normal], 2e-6).epsilon == pytest.approx(one.epsilon + normal.epsilon)
    with pytest.raises(InputError, match="only be added up"):
        together([one, normal], 1e-6)


def test_a_cdf_and_a_table_have_less_noise_at_the_same_promise() -> None:
    """That the promise is kept is listed outcome by outcome in the audit."""
    bins, settings = (
        Bins("ages", "age", np.array([3, 0, 9, 4, 0, 1, 7, 2]), np.arange(9.0), "ages"),
        CdfSettings(8, (2, 4), "discrete_gaussian", 1.0, 1e-6, "optimal"),
    )
    formula, less = (plan_tree(replace(settings, accounting=one.value)) for one in Accounting)
    assert formula.guarantee.accounting is Accounting.FORMULA and less.guarantee.accounting is Accounting.NUMERICAL
    assert 0.9 < math.sqrt(less.variance.mean() / formula.variance.mean()) < 0.96
    assert less.guarantee.epsilon <= 1.0 and "by numerical accounting" in less.guarantee.sentence()
    table = made_up((3, 4), 200, 1)
    wanted = Wanted(rho_of("", 1.0, 1e-6), 1e-6, ONE, None, Spread.STACKED, "intopt")
    found = numerical(wanted, table, 1.0)
    ready = found.plan(table)
    assert wanted.rho < found.rho and ready.guarantee.epsilon <= 1.0 == found.within
    assert ready.guarantee.accounting is Accounting.NUMERICAL
    for made, data in ((less, bins), (ready, table)):
        plan = ReleasePlan.of(made, data)
        assert plan.verify() == () and plan.epsilon == made.guarantee.epsilon <= 1.0
        assert plan.accounting is Accounting.NUMERICAL
    halves = [plan_tree(replace(settings, allocation="custom", shares=(0, 0.25, 0.25), accounting=one.value))
              for one in Accounting]  # fmt: skip
    for half in halves:  # a share that is left is not spent, and is part of the total
        plan = ReleasePlan.of(half, bins)
        assert plan.total == half.total == pytest.approx(2 * plan.charged) and plan.verify() == ()
    apart = replace(wanted, unit=replace(ONE, contributions=2), spread=Spread.DISTINCT)
    assert numerical(apart, table, 1.0) == replace(apart, within=0.0)  # not covered: the formula


def test_a_split_says_the_epsilon_of_its_own_noise() -> None:
    data = generate("zipf", 100, "3,3", 7)
    problem = Problem(data.tree, data.counts, "discrete_gaussian", ONE)
    rho = epsilon_to_rho(1.0, 1e-6, False)
    (split,) = compare(problem, problem, rho, ["uniform"])
    told = composed_epsilon(problem, split, 1e-6)
    assert told == min(epsilon_of_levels(problem.laws(split.amounts), ONE, 1e-6), 1.0) and 0.9 < told < 0.95
    pure = replace(problem, law="discrete_laplace")
    assert composed_epsilon(pure, compare(pure, pure, 1.0, ["uniform"])[0], 1e-6) is None
