"""What a release tells about one unit, against enumeration: all neighbours of small trees, all outcomes of noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest

from audit.neighbours import ADD, REPLACE, UNKNOWN, Small, Who, list_pairs
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, rho_to_delta
from treedp_core.privacy.accounting import Risk, risk_of_levels
from treedp_core.privacy.losses import MOST_CELLS, NormalLosses, of_changes

ONE = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
TWICE_TWO = Small((-1, 0, 0, 1, 1, 2, 2))
RAGGED = Small((-1, 0, 0, 0, 2, 2))
REACH = {DiscreteLaplace: 80, DiscreteGaussian: 12}
"""Whole numbers beyond which the noise hardly ever lies."""
EPSILONS = (0.0, 0.3, 0.7, 1.0, 1.6)


def pmf(law: Law, reach: int) -> dict[int, float]:
    """P(Z = k) from its definition, summed to 1 over so many whole numbers."""
    if isinstance(law, DiscreteLaplace):
        weights = {k: math.exp(-law.inverse_scale * abs(k)) for k in range(-reach, reach + 1)}
    else:
        assert isinstance(law, DiscreteGaussian)
        weights = {k: math.exp(-k * k / (2 * law.sigma**2)) for k in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def enumerated(laws: list[Law | None], small: Small, change: np.ndarray) -> list[tuple[float, float]]:
    """Every outcome of the counts that change, as its probabilities with and without: products over the nodes."""
    found = {0.0: (1.0, 1.0)}
    for node, by in enumerate(change.tolist()):
        law = laws[small.levels[node]]
        if not by or law is None:
            continue
        reach = REACH[type(law)]
        inner = pmf(law, reach)
        pairs: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for k in range(-reach, reach + 1):
            here, there = inner.get(k, 0.0), inner.get(k - by, 0.0)
            if here and there:  # equal ratios are told apart by nobody
                ratio = round(math.log(here / there), 9)
                pairs[ratio][0] += here
                pairs[ratio][1] += there
        both: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for r, (p, q) in found.items():
            for s, (p2, q2) in pairs.items():
                both[round(r + s, 9)][0] += p * p2
                both[round(r + s, 9)][1] += q * q2
        found = {ratio: (p, q) for ratio, (p, q) in both.items()}
    return list(found.values())


def delta(outcomes: Iterable[tuple[float, float]], epsilon: float) -> float:
    return math.fsum(max(p - math.exp(epsilon) * q, 0.0) for p, q in outcomes)


LAWS: dict[str, list[Law | None]] = {
    "geometric": [DiscreteLaplace(0.4), DiscreteLaplace(0.4), DiscreteLaplace(0.4)],
    "geometric, uneven": [None, DiscreteLaplace(0.7), DiscreteLaplace(0.31)],
    "discrete Gaussian": [None, DiscreteGaussian(1.1), DiscreteGaussian(1.1)],
}


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize(
    "who",
    [Who(ADD), Who(ADD, 2), Who(REPLACE), Who(REPLACE, 2), Who(UNKNOWN, 1, 2), Who(UNKNOWN, 2, 2)],
    ids=lambda who: f"{who.relation} {who.contributions}",
)
def test_the_risk_is_that_of_the_worst_neighbour(who: Who, laws: str) -> None:
    everyone = np.full(4, 2)
    changes = list_pairs(TWICE_TWO, who, [everyone]).changes
    alike = {tuple(sorted(zip(TWICE_TWO.levels, map(abs, one), strict=True))): one for one in changes.tolist()}
    worlds = [enumerated(LAWS[laws], TWICE_TWO, np.array(one)) for one in alike.values()]
    public = who.relation == REPLACE
    risk = risk_of_levels([None, *LAWS[laws][1:]] if public else LAWS[laws], who.unit)
    for epsilon in EPSILONS:
        worst = max(delta(world, epsilon) for world in worlds)
        assert risk.delta_at(epsilon) == pytest.approx(worst, rel=1e-6, abs=1e-12), epsilon
    for prior in (0.01, 0.5, 0.9):
        best = max(math.fsum(max(prior * p, (1 - prior) * q) for p, q in world) for world in worlds)
        assert risk.right(prior) == pytest.approx(best, rel=1e-8)


def test_on_a_ragged_tree_no_neighbour_is_worse() -> None:
    laws: list[Law | None] = [DiscreteLaplace(0.5), DiscreteLaplace(0.4), DiscreteLaplace(0.3)]
    changes = list_pairs(RAGGED, Who(ADD, 2), [np.full(4, 2)]).changes
    risk = risk_of_levels(laws, Who(ADD, 2).unit)
    worlds = [enumerated(laws, RAGGED, change) for change in changes]
    assert max(delta(world, 0.5) for world in worlds) == pytest.approx(risk.delta_at(0.5), rel=1e-8)


@pytest.mark.parametrize("relation", [relation.value for relation in NeighbouringRelation])
@pytest.mark.parametrize("m", [1, 3])
def test_a_pure_promise_bounds_what_one_can_become_sure_of(relation: str, m: int) -> None:
    for name in ("laplace", "discrete_laplace"):
        one = Experiment(name, epsilon=1.0, relation=relation, contributions=m, known_levels=2)
        made = prepare(one, TWICE_TWO.tree)
        risk = risk_of_levels(made.noise.laws, one.unit)
        assert risk.loss() == pytest.approx(1.0, abs=1e-9)
        assert risk.posterior(0.5) == pytest.approx(math.e / (1 + math.e), abs=1e-9)
        assert risk.delta_at(1.0) == pytest.approx(0.0, abs=1e-12)
        assert 0.5 < risk.right(0.5) < risk.posterior(0.5)
        assert 0 < 1 - risk.posterior(0.01) < 0.99
        alone = risk_of_levels(made.noise.laws, one.unit, 1)
        assert alone.loss() == pytest.approx(1.0 / m, abs=1e-9)  # a record of several is hidden better
        assert risk_of_levels(made.noise.laws, one.unit, 2 * m).loss() > 1.9


def test_one_level_of_laplace_noise_is_what_its_formula_says() -> None:
    risk = Risk((of_changes([(Laplace(2.0), 1)]),))
    for epsilon in (0.0, 0.1, 0.3, 0.45):  # P(loss above) closed form: 1 - e^((epsilon - ratio) / 2)
        exact = 1 - math.exp((epsilon - 0.5) / 2)
        assert exact <= risk.delta_at(epsilon) <= exact + 1e-6
    assert risk.delta_at(0.5) == 0.0
    narrow = of_changes([(Laplace(0.001), 1)])  # a loss of 1000, half of the time: e^1000 is no number
    assert narrow.epsilon(1e-6) == pytest.approx(1000 + 2 * math.log1p(-1e-6), abs=1e-5)
    assert narrow.above(np.zeros(1))[1][0] == pytest.approx(math.exp(-500) / 2, rel=1e-6)


def test_losses_far_apart_beside_small_ones_take_no_memory_to_speak_of() -> None:
    """Where the narrow noise errs, once in 10^2171 times, its loss is another by 10 000: 10^8 cells of a fine grid."""
    found = of_changes([(DiscreteGaussian(0.01), 1), (DiscreteGaussian(700.0), 2), (DiscreteGaussian(800.0), 1)])
    assert found.loss.size <= MOST_CELLS  # type: ignore[union-attr]
    wide = of_changes([(DiscreteGaussian(700.0), 2), (DiscreteGaussian(800.0), 1)])
    assert 5000 + wide.epsilon(1e-6) <= found.epsilon(1e-6) <= 5000.1


@pytest.mark.parametrize(
    "changes",
    [
        [(Laplace(3.0), 1), (Laplace(2.0), 2)],
        [(Laplace(3.0), 1)] * 3,
        [(DiscreteGaussian(2000.0), 1), (DiscreteGaussian(1000.0), 3)],
        [(DiscreteLaplace(0.01 * i), 7) for i in range(1, 9)],
    ],
    ids=["two widths", "one width", "wide", "many"],
)
def test_what_is_put_on_a_grid_is_never_too_good(changes: list[tuple[Law, int]]) -> None:
    """Beside it: the drawn losses themselves, which 400,000 draws tell to 0.001 (5 standard errors)."""
    rng, n = np.random.default_rng(5), 400_000
    loss = np.zeros(n)
    for law, by in changes:
        x = law.sample(rng, n).astype(float)
        if isinstance(law, DiscreteGaussian):
            loss += ((x - by) ** 2 - x**2) / (2 * law.sigma**2)
        else:
            rate = law.inverse_scale if isinstance(law, DiscreteLaplace) else 1 / law.scale  # type: ignore[attr-defined]
            loss += rate * (np.abs(x - by) - np.abs(x))
    found = of_changes(changes)
    for epsilon in (0.0, 0.5 * float(np.std(loss)), float(np.std(loss))):
        drawn = np.maximum(-np.expm1(epsilon - loss), 0.0)
        assert found.delta(epsilon) == pytest.approx(float(drawn.mean()), abs=5 * float(drawn.std()) / n**0.5 + 1e-9)
    assert found.largest >= loss.max() - 1e-9
    with_it, without = (float(one[0]) for one in found.above(np.array([-1e9])))
    assert with_it == pytest.approx(1.0, abs=1e-12) and without == pytest.approx(1.0, abs=1e-6)


def test_normal_noise_has_its_closed_form() -> None:
    found = of_changes([(Gaussian(4.0), 1), (Gaussian(3.0), 2)])
    assert isinstance(found, NormalLosses)
    assert found.mu == pytest.approx(math.sqrt(1 / 16 + 4 / 9))
    assert found.delta(1.0) <= rho_to_delta(found.mu**2 / 2, 1.0)
    alarms, misses = found.tests()
    assert (np.diff(alarms) >= 0).all() and (np.diff(misses) <= 0).all()
    for i in (200, 500, 700):  # tangents: nowhere above the curve, Phi(Phi^-1(1 - a) - mu)
        exact = _normal_cdf(_normal_quantile(1 - alarms[i]) - found.mu)
        assert exact - 1e-4 <= misses[i] <= exact + 1e-12
    assert NormalLosses(40.0).tests()[1].tolist() == [0.0, 0.0]


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _normal_quantile(p: float) -> float:
    low, high = -40.0, 40.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _normal_cdf(middle) < p else (low, middle)
    return low


def test_tests_and_beliefs_are_those_of_the_losses() -> None:
    one = Experiment("discrete_laplace", epsilon=1.2)
    risk = risk_of_levels(prepare(one, TWICE_TWO.tree).noise.laws, one.unit)
    alarms = np.linspace(0, 1, 101)
    misses = risk.misses(alarms)
    assert misses[0] == pytest.approx(1.0) and misses[-1] == 0.0 and (np.diff(misses, 2) >= -1e-12).all()
    assert 1 - float((alarms + misses).min()) <= 2 * risk.right(0.5) - 1 + 1e-9
    edges = np.linspace(0.02, 0.98, 50)  # 50 % is the middle of a cell
    with_it, without = risk.beliefs(0.5, edges)
    assert with_it.sum() == pytest.approx(1) and without.sum() == pytest.approx(1)
    assert with_it[edges[1:] < 1 - risk.posterior(0.5)].sum() == 0.0
    np.testing.assert_allclose(with_it, without[::-1], atol=1e-12)  # replacing one by another works both ways


def test_delta_is_what_may_go_wrong() -> None:
    one = Experiment("gaussian", epsilon=1.0, delta=1e-6)
    risk = risk_of_levels(prepare(one, TWICE_TWO.tree).noise.laws, one.unit, delta=1e-6)
    above = risk.worst.above(np.array([risk.loss()]))[0][0]
    assert above <= 1e-6 and risk.worst.above(np.array([risk.loss() - 1e-6]))[0][0] > 1e-6
    assert risk.loss() > 1.0 > risk.loss() - 0.2  # P(loss > epsilon) is more than delta
    assert risk.delta_at(1.0) <= 1e-6
    assert risk_of_levels([Gaussian(1.0)], ONE).posterior(0.5) == 1.0  # without delta nothing is ruled out


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match="No privacy losses"):
        of_changes([(TruncatedLaplace(1.0, 3.0), 1)])
    with pytest.raises(InputError, match="prior"):
        risk_of_levels([DiscreteLaplace(1.0)], ONE).right(1.0)
    assert risk_of_levels([None, None], ONE).right(0.3) == pytest.approx(0.7)
