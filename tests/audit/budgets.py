"""Budgets by node and by subtree, topped up, tuned on a prior, for a CDF: what they charge against enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np

from treedp_core import checks
from treedp_core.allocation import split
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms import MECHANISMS, LevelNoise
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import Currency, budget_from_shares, rho_to_epsilon
from treedp_core.privacy import prior_provenance as ledgers
from treedp_core.studies.budget import attribution, strategies
from treedp_core.studies.budget import prior as priors
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import greedy
from treedp_core.studies.budget.splits.node_budgets import path_charge, split_by_subtree, topped_up
from treedp_core.studies.budget.targets.inverse import smallest_budget
from treedp_core.studies.budget.targets.target import Ask, Target
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.matrices.blocks import local_matrix
from treedp_core.studies.cdf.matrices.plan import plan_matrix
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.watch import Watch

from . import losses
from .decimals import concentrated_delta, gaussian_delta_of_rho
from .neighbours import ADD, REPLACE, UNKNOWN, Pairs, Small, Who, data_sets, everyone, list_pairs, random_tree
from .report import Report

CDF_SHAPES = ((3, (3,)), (4, (2, 2)), (5, (3, 2)), (6, (2, 3)))


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Audit the budgets of n trees and of n CDFs."""
    for i in range(n):
        small = _with_levels(rng)
        most = 3 if len(small.leaves) < 5 else 2
        data = list(data_sets(small, rng, most))
        for who in everyone(small, range(1, most + 1)):
            pairs = list_pairs(small, who, data)
            report.pairs += pairs.n
            law = str(rng.choice(list(MECHANISMS)))
            problem = Problem(small.tree, data[-1] @ small.below + 1, law, who.unit, least_squares=bool(i % 2))
            _by_node(report, rng, pairs, problem)
            _by_level(report, rng, pairs, problem)
            _reported(report, rng, pairs)
        by_search = bool(i % 2)  # least squares needs a search, so one law a tree
        laws = [list(MECHANISMS)[i // 2 % len(MECHANISMS)]] if by_search else list(MECHANISMS)
        for relation, law in product((ADD, REPLACE, UNKNOWN), laws):
            who = Who(relation, int(rng.integers(1, most + 1)), int(rng.integers(1, small.n_levels + 1)))
            _inverse(report, rng, list_pairs(small, who, data), law, by_search)
        _cdf(report, rng, *CDF_SHAPES[i % len(CDF_SHAPES)])
        _matrix(report, rng, CDF_SHAPES[i % len(CDF_SHAPES)][0])


def _with_levels(rng: np.random.Generator) -> Small:
    small = random_tree(rng, int(rng.integers(3, 9)))
    return small if len(small.leaves) <= 5 else _with_levels(rng)


# ---------------------------------------------------------------- amounts for nodes


def laws_of_nodes(small: Small, problem: Problem, amounts: Any) -> list[object | None]:
    """Law of each node's noise, as a release of node amounts would draw it."""
    found: list[object | None] = []
    for level, amount in zip(small.levels, amounts.tolist(), strict=True):
        found.append(problem.laws(np.where(np.arange(small.n_levels) == level, amount, 0.0))[level])
    return found


def lost_by_nodes(pairs: Pairs, problem: Problem, amounts: Any) -> Fraction:
    """Largest exact loss of node amounts over all neighbours."""
    moved = np.abs(pairs.changes)
    return losses.worst(laws_of_nodes(pairs.small, problem, amounts), (moved, moved**2))


def _by_node(report: Report, rng: np.random.Generator, pairs: Pairs, problem: Problem) -> None:
    small, unit = pairs.small, pairs.who.unit
    what = f"{problem.law} on {small.parent} for {pairs.who}"
    total = float(np.exp(rng.uniform(-3, 2)))
    some = rng.exponential(0.3, len(small.parent)) * (rng.random(len(small.parent)) < 0.8) + 1e-3
    report.spent(
        f"node amounts, {what}", lost_by_nodes(pairs, problem, some), path_charge(small.tree, unit, some), pairs.n
    )
    budget = problem.budget(rng.dirichlet(np.ones(small.n_levels)) + 1e-3, total)
    more = topped_up(small.tree, unit, np.array(budget.per_level), total)
    report.spent(f"topped up, {what}", lost_by_nodes(pairs, problem, more), total, pairs.n)
    report.holds(path_charge(small.tree, unit, more) <= total, f"topped up, {what}: charge")
    if small.n_levels > 2:
        level = int(rng.integers(1, small.n_levels - 1))
        split = split_by_subtree(problem, total, level, _solver(rng))
        report.spent(f"by subtree, {what}", lost_by_nodes(pairs, problem, split.node_amounts), total, pairs.n)


def _solver(rng: np.random.Generator) -> Callable[[Problem, float], Any]:
    if rng.random() < 0.5:
        return lambda problem, total: greedy(problem, total, 20).amounts
    return lambda problem, total: problem.scaled(rng.random(problem.paid.size) + 1e-3, total)


# ---------------------------------------------------------------- amounts for levels, with a prior


def _by_level(report: Report, rng: np.random.Generator, pairs: Pairs, problem: Problem) -> None:
    what = f"{problem.law} on {pairs.small.parent} for {pairs.who}"
    total = float(np.exp(rng.uniform(-3, 2)))
    moved = pairs.by_level()
    name = str(rng.choice([n for n in strategies.STRATEGIES if n != "optimum"]))
    prior, spied = _prior(rng, problem, total * float(rng.uniform(0.1, 0.9)))
    left = ledgers.left_after(total, prior, problem.currency)
    shares = strategies.STRATEGIES[name].amounts(problem, left, 20)
    budget = problem.budget(shares, left)
    amounts = tuple(a if paid else 0.0 for a, paid in zip(budget.per_level, problem.paid, strict=True))
    try:
        ledger = ledgers.Ledger(pairs.who.unit, problem.currency, total, prior, amounts)
    except InputError as refusal:
        report.holds(False, f"ledger, {what}: what prior and total leave is refused ({refusal.code})")
        return
    laws = [*problem.laws(np.array(amounts)), *spied]
    both = (np.tile(moved[0], 2), np.tile(moved[1], 2))
    spent = losses.worst(laws, both)
    report.spent(f"ledger with a prior, {name}, {what}", spent, ledger.charged, pairs.n)
    report.holds(ledger.charged <= Fraction(total), f"ledger, {what}: above its total")


def _reported(report: Report, rng: np.random.Generator, pairs: Pairs) -> None:
    """Whole numbers sent to an aggregation service: what one record can move, times them, against the noise of each."""
    what, total = f"reports on {pairs.small.parent} for {pairs.who}", float(np.exp(rng.uniform(-3, 2)))
    unit = pairs.who.unit
    budget = budget_from_shares(rng.dirichlet(np.ones(pairs.small.n_levels)), total, Currency.EPSILON, unit)
    amounts = [0.0 if unit.total_is_public and i == 0 else a for i, a in enumerate(budget.per_level)]
    made = attribution.reports(unit, total, amounts)
    prices = [losses.price(made.law)[1] * value for value in made.values]
    report.spent(what, losses.largest(prices, pairs.by_level()[0]), made.charged, pairs.n)
    report.holds(made.charged <= Fraction(total), f"{what}: above the service's epsilon")
    most = max((int(row @ made.values) for row in pairs.by_level()[0]), default=0)
    report.holds(most <= 65_536, f"{what}: moves {most} units of the service")


def _prior(rng: np.random.Generator, problem: Problem, amount: float) -> tuple[priors.Prior, Sequence[object | None]]:
    """A noisy prior, and the laws of the noise it really drew."""
    seen: list[Sequence[object | None]] = []
    honest = LevelNoise.draw

    def spy(noise: LevelNoise, *arguments: Any) -> Any:
        seen.append(noise.laws)
        return honest(noise, *arguments)

    with patch.object(LevelNoise, "draw", spy):
        for _ in range(100):  # a prior of nothing but noise may come out empty, which is refused
            try:
                found = priors.noisy(problem.tree, problem.counts, problem.unit, problem.law, amount, rng)
                return found, seen[-1]
            except InputError as refusal:
                if refusal.code != "PRIOR_EMPTY":
                    raise
    raise AssertionError("a hundred priors came out empty")


# ---------------------------------------------------------------- the smallest budget for a target


def _inverse(report: Report, rng: np.random.Generator, pairs: Pairs, law: str, least_squares: bool) -> None:
    """Its total pays for its amounts, and an experiment with its shares and total spends these and no more."""
    small, unit = pairs.small, pairs.who.unit
    problem = Problem(small.tree, np.ones(len(small.parent), dtype=np.int64), law, unit, least_squares=least_squares)
    what = f"smallest budget, {law} on {small.parent} for {pairs.who}"
    levels = range(1, small.n_levels)
    found = smallest_budget(problem, [Target(level, Ask.RMSE, float(np.exp(rng.uniform(0.5, 4)))) for level in levels])
    charged, total = problem.charge(found.amounts), Fraction(found.total)
    report.holds(charged <= total, f"{what}: above its total")
    in_epsilon = MECHANISMS[law].currency is Currency.EPSILON
    epsilon = found.total if in_epsilon else rho_to_epsilon(found.total, 1e-6)
    if epsilon < checks.EPSILON_LOW:  # of a total in rho that is next to nothing
        return
    experiment = Experiment(
        law, allocation="custom", epsilon=epsilon, delta=0.0 if in_epsilon else 1e-6, shares=found.shares,
        relation=pairs.who.relation, contributions=unit.contributions, known_levels=unit.known_levels,
    )  # fmt: skip
    try:
        ready = prepare(experiment, small.tree)
        budget = split(small.tree, found.total, problem.currency, unit, "custom", found.shares)
    except InputError as refusal:
        report.holds(False, f"{what}: an experiment refuses it ({refusal.code})")
        return
    given = [0.0 if amount == np.inf else amount for amount in budget.per_level]
    report.holds(given == found.amounts.tolist(), f"{what}: its shares give other amounts")
    laws = problem.laws(found.amounts)
    report.spent(what, losses.worst(laws, pairs.by_level()), total, pairs.n)
    if in_epsilon:
        losses.refuse_exact(ready.noise.exact, pairs.by_level()[0])
        report.spent(f"experiment of the {what}", losses.worst(ready.noise.laws, pairs.by_level()), total, pairs.n)


# ---------------------------------------------------------------- cumulative counts


def _cdf(report: Report, rng: np.random.Generator, n_bins: int, factors: tuple[int, ...]) -> None:
    for settings in _cdf_settings(rng, n_bins, factors):
        ready = plan_cdf(settings)
        small, who = Small(tuple(ready.tree.parent.tolist())), Who(settings.relation, settings.contributions)
        pairs = list_pairs(small, who, data_sets(small, rng, who.contributions))
        report.pairs += pairs.n
        moved = pairs.by_level()
        losses.refuse_exact(ready.noise.exact, moved[0])
        spent, promise = losses.worst(ready.noise.laws, moved), ready.guarantee
        pure = MECHANISMS[settings.mechanism].currency is Currency.EPSILON
        claimed = promise.epsilon if pure else promise.rho
        assert claimed is not None
        report.spent(f"CDF, {settings}", spent, claimed, pairs.n)
        report.holds(promise.epsilon <= settings.epsilon, f"CDF, {settings}: promises more than was asked for")
        if not pure:
            delta_of = gaussian_delta_of_rho if settings.mechanism == "gaussian" else concentrated_delta
            right = delta_of(spent, promise.epsilon) <= Fraction(settings.delta)
            report.holds(right, f"CDF, {settings}: (epsilon, delta)")


def _matrix(report: Report, rng: np.random.Generator, n_bins: int) -> None:
    """Noise on whole sums of all bins: what they change by, over all neighbours, at the cost of its law."""
    small = Small(tuple(CdfSettings(n_bins, (n_bins,)).shape.tree().parent.tolist()))
    made_for = (("root", "cdf"), ("root", "ranges"), ("optimal", "cdf"), ("optimal", "ranges"), ("optimal", "own"),
                ("identity", "cdf"), ("identity", "ranges"), ("identity", "own"), ("local sums", "cdf"))  # fmt: skip
    own = ((1, 2), ((1, 1, 1.0), (2, n_bins, -0.5)))
    for relation, (strategy, workload), which in product((ADD, REPLACE, UNKNOWN), made_for, (0, 1)):
        named = "identity" if strategy == "local sums" else strategy
        mechanism = STRATEGIES[named].mechanisms[which]
        who = Who(relation, int(rng.integers(1, 3)))
        epsilon = float(np.exp(rng.uniform(-3, 2)))
        settings = CdfSettings(n_bins, (), mechanism, epsilon, 1e-6, relation=relation, contributions=who.contributions,
                               strategy=named, workload=workload,
                               ranges=own if workload == "own" else ())  # fmt: skip
        local = local_matrix(settings.wanted, settings.unit.by_pairs, Watch()) if strategy == "local sums" else None
        ready = plan_matrix(settings, local)
        pairs = list_pairs(small, who, data_sets(small, rng, who.contributions))
        report.pairs += pairs.n
        moved = (ready.matrix.encode(change).tolist() for change in pairs.changes[:, small.leaves])
        power, cost = losses.price(ready.law)
        claimed = ready.guarantee.rho if power == 2 else ready.guarantee.epsilon
        assert claimed is not None
        most = max(sum(abs(one) ** power for one in change) for change in moved)
        spent = cost * most
        what = f"CDF by the {strategy} matrix for {workload} of {n_bins} bins, {mechanism} for {who}"
        report.spent(what, spent, claimed, pairs.n)
        report.holds(ready.guarantee.epsilon <= epsilon, f"{what}: promises more than was asked for")
        bins = Bins("small", "bin", np.ones(n_bins, dtype=np.int64), np.arange(n_bins + 1.0), "", numeric=False)
        plan = ReleasePlan.of(ready, bins)
        report.spent(f"plan of a {what}", spent, plan.charged, pairs.n)
        assert plan.matrix is not None
        columns = max(plan.matrix.pair, 0 if relation == REPLACE else plan.matrix.column)
        report.holds(most <= who.contributions**power * columns, f"plan of a {what}: states shorter columns")
        stated = Fraction(plan.levels[1].scale or 0.0) * 2**plan.matrix.bits
        paid = 1 / stated if power == 1 else 1 / (2 * stated**2)
        report.holds(paid >= cost * (1 - Fraction(1, 2**51)), f"plan of a {what}: states more noise than is drawn")
        report.holds(plan.verify() == (), f"plan of a {what}: {plan.verify()}")


def _cdf_settings(rng: np.random.Generator, n_bins: int, factors: tuple[int, ...]) -> Iterator[CdfSettings]:
    n_levels = len(factors) + 1
    for mechanism in MECHANISMS:
        allocation = str(rng.choice(["uniform", "optimal", "custom"]))
        shares = (rng.dirichlet(np.ones(n_levels)) * rng.uniform(0.3, 0.99)).tolist() if allocation == "custom" else ()
        yield CdfSettings(
            n_bins=n_bins,
            branching_factors=factors,
            mechanism=mechanism,
            epsilon=float(np.exp(rng.uniform(-3, 2))),
            delta=float(10 ** rng.uniform(-9, -2.5)),
            allocation=allocation,
            shares=tuple(shares),
            least_squares=bool(rng.random() < 0.5),
            relation=str(rng.choice([ADD, REPLACE])),
            contributions=int(rng.integers(1, 4)),
            accounting="formula",  # its claim is compared here; that of composed laws, in `numerical` and `conversions`
        )
