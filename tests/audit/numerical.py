"""Numerical accounting: epsilon of whole-number noise, composed, against every outcome of what one unit can change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace
from treedp_core.plans import ReleasePlan
from treedp_core.plans.together import together
from treedp_core.privacy import Accounting, Spread, accounting, epsilon_to_rho, losses
from treedp_core.records.mock_data import generate
from treedp_core.studies.budget import Problem, compare
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.release import plan_tree
from treedp_core.studies.topdown import Wanted, made_up, numerical

from .conversions import _joined
from .neighbours import ADD, REPLACE, UNKNOWN, Who
from .report import Report

SHARP = 2e-4
"""An epsilon that much better would already break the promise."""
DROPPED = 1e-25
Move = tuple[str, float, int]


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compose n random lists of levels, of one law or two, n noises made for a promise, and n pairs of plans."""
    accounting._epsilon.cache_clear()
    losses._discrete_gaussian.cache_clear()
    for i in range(n):
        _levels(report, rng, i)
        _promised(report, rng, i)
        _both(report, rng, i)


def _levels(report: Report, rng: np.random.Generator, i: int) -> None:
    who = (Who(ADD, 1 + i % 3), Who(REPLACE, 1 + i % 2), Who(UNKNOWN, 1 + i % 2, 1 + i % 3))[i % 3]
    delta, base = float(10 ** rng.uniform(-9, -2)), float(np.exp(rng.uniform(-0.4, 1.2)))
    n_levels = 2 + i % 2
    widths = [base * (1.0 if i % 4 else float(np.exp(rng.uniform(-0.3, 0.3)))) for _ in range(n_levels)]
    drawn = [("laplace", 0.5 / s) if i % 5 == 4 and j else ("gaussian", s) for j, s in enumerate(widths)]
    laws = [DiscreteLaplace(p) if kind == "laplace" else DiscreteGaussian(p) for kind, p in drawn]
    found = accounting.epsilon_of_levels(laws, who.unit, delta)
    ways = [[(*drawn[level], by) for level, by in one] for one in changes(who, n_levels)]
    _bound(report, f"{drawn} for {who} at {delta!r}", ways, found, delta)


def _promised(report: Report, rng: np.random.Generator, i: int) -> None:
    epsilon, delta = float(np.exp(rng.uniform(0, 2))), float(10 ** rng.uniform(-8, -3))
    who = (Who(ADD, 1), Who(UNKNOWN, 1, 2), Who(REPLACE, 1))[i % 3]
    one = Experiment("discrete_gaussian", epsilon=epsilon, delta=delta, allocation=("uniform", "minimax")[i % 2],
                     accounting="numerical", **who.settings)  # type: ignore[arg-type]  # fmt: skip
    data = generate("uniform", 100, "2,2", 7)
    made = prepare(one, data.tree)
    what = f"noise by numerical accounting for {who} at ({epsilon!r}, {delta!r})"
    report.holds(made.guarantee.epsilon <= epsilon, f"{what}: epsilon {made.guarantee.epsilon!r}")
    _of_laws(report, what, who, made.noise.laws, made.guarantee.epsilon, delta)
    if i % 3 != 1:  # a CDF knows no columns
        cdf = plan_tree(CdfSettings(4, (2, 2), "discrete_gaussian", epsilon, delta, relation=who.unit.relation.value,
                                    accounting="numerical"))  # fmt: skip
        report.holds(cdf.guarantee.epsilon <= epsilon, f"CDF with {what}: epsilon {cdf.guarantee.epsilon!r}")
        _of_laws(report, f"CDF with {what}", who, cdf.noise.laws, cdf.guarantee.epsilon, delta)
    table = made_up((2, 3), 50, 7)
    wanted = numerical(Wanted(1.0, delta, who.unit, None, Spread.STACKED, "intopt"), table, epsilon)
    ready = wanted.plan(table)
    report.holds(ready.guarantee.epsilon <= epsilon, f"top-down with {what}: epsilon {ready.guarantee.epsilon!r}")
    _of_laws(report, f"top-down with {what}", who, ready.laws, ready.guarantee.epsilon, delta)
    problem = Problem(data.tree, data.counts, "discrete_gaussian", who.unit, within=(epsilon, delta))
    (split,) = compare(problem, problem, epsilon_to_rho(epsilon, delta, False), [("uniform", "minimax")[i % 2]])
    found = problem.composed(split.amounts)
    report.holds(found <= epsilon, f"split with {what}: epsilon {found!r}")
    _of_laws(report, f"split with {what}", who, problem.laws(split.amounts), found, delta)
    plan = ReleasePlan.of(one, data, whom="person")
    report.holds(plan.verify() == (), f"{what}: its plan does not hold: {plan.verify()}")
    report.holds(plan.epsilon == made.guarantee.epsilon, f"{what}: its plan promises {plan.epsilon!r}")


def _both(report: Report, rng: np.random.Generator, i: int) -> None:
    """Compare what two plans promise together with the worst that one unit can change in both releases."""
    who, delta = (Who(ADD, 1), Who(UNKNOWN, 1, 1 + i % 2), Who(REPLACE, 1))[i % 3], float(10 ** rng.uniform(-8, -3))
    data, plans, ways = generate("uniform", 100, "2", 7), [], []
    for mechanism in ("discrete_gaussian", ("discrete_laplace", "discrete_gaussian")[i % 2]):
        slack = delta if mechanism == "discrete_gaussian" else 0.0
        one = Experiment(mechanism, epsilon=float(np.exp(rng.uniform(0, 1.5))), delta=slack, **who.settings)  # type: ignore[arg-type]
        plans.append(ReleasePlan.of(one, data, whom="person"))
        laws = prepare(one, data.tree).noise.laws
        moves = [(*_named(law), level) for level, law in enumerate(laws) if law is not None]
        ways.append([[(kind, parameter, by) for kind, parameter, level in moves for at, by in way if at == level]
                     for way in changes(who, len(laws))])  # fmt: skip
    found = together(plans, delta)
    both = [[*first, *second] for first, second in zip(*ways, strict=True)]
    what = f"two plans for {who} at {delta!r}: {[(one.law.value, one.epsilon) for one in plans]}"
    _bound(report, what, both, found.epsilon, delta, is_sharp=found.accounting is Accounting.NUMERICAL)


def _named(law: object) -> tuple[str, float]:
    if isinstance(law, DiscreteLaplace):
        return "laplace", law.inverse_scale
    assert isinstance(law, DiscreteGaussian)
    return "gaussian", law.sigma


def _of_laws(report: Report, what: str, who: Who, laws: Sequence[object | None], epsilon: float, delta: float) -> None:
    """Compare the promise of discrete Gaussian levels with the worst of what one unit can change."""
    sigmas = {level: float(vars(law)["sigma"]) for level, law in enumerate(laws) if law is not None}
    every = changes(who, len(laws))
    ways = [[("gaussian", sigmas[level], by) for level, by in way if level in sigmas] for way in every]
    _bound(report, what, ways, epsilon, delta)


def changes(who: Who, n_levels: int) -> list[list[tuple[int, int]]]:
    """Level and change of every count that moves, in every way in which records on as few leaves as can be change."""
    m, known = who.contributions, who.known_levels
    if who.relation == ADD:
        return [[(level, m) for level in range(n_levels)]]
    if who.relation == REPLACE:
        return [[(level, m) for level in range(n_levels) for _ in range(2)]]
    ways = []
    for new in range(m + 1):
        for lost in range(m + 1 - new):
            moved = m - new - lost
            own = [by for by in (new + moved, lost + moved) if by]
            here = [by for by in (new, lost) if by]
            ways.append([(level, by) for level in range(n_levels) for by in (here if level < known else own)])
    return ways


def _bound(
    report: Report, what: str, ways: Sequence[Sequence[Move]], epsilon: float, delta: float, *, is_sharp: bool = True
) -> None:
    worst = max(delta_of(way, epsilon) for way in ways)
    report.pairs += len(ways)
    report.holds(worst <= delta * (1 + 1e-10), f"{what}: exact delta {worst!r} at epsilon {epsilon!r}")
    if not is_sharp:
        return
    sharp = max(delta_of(way, epsilon * (1 - SHARP)) for way in ways)
    report.holds(epsilon == 0 or sharp > delta * (1 - 1e-3), f"{what}: epsilon {epsilon!r} is too cautious")


def delta_of(moves: Sequence[Move], epsilon: float) -> float:
    """Smallest delta at epsilon of independent noises on counts that move: every outcome, equal ratios together."""
    ratio, mass = np.zeros(1), np.ones(1)
    for kind, parameter, by in moves:
        reach = abs(by) + math.ceil(70 / parameter if kind == "laplace" else 12 * parameter)
        x = np.arange(-reach, reach + 1, dtype=float)
        cost = (
            (lambda z, p=parameter: p * np.abs(z)) if kind == "laplace" else (lambda z, p=parameter: (z / p) ** 2 / 2)
        )
        weight = np.exp(-cost(x))
        ratio = np.add.outer(ratio, cost(x - by) - cost(x)).ravel()
        mass = np.multiply.outer(mass, weight / weight.sum()).ravel()
        kept = mass > DROPPED
        ratio, mass = _joined(ratio[kept], mass[kept])
    over = ratio > epsilon
    return float((mass[over] * -np.expm1(epsilon - ratio[over])).sum())
