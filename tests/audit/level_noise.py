"""Noise on the levels of a tree: every mechanism, relation, contribution and allocation, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, Pipeline, prepare
from treedp_core.mechanisms import MECHANISMS, level_noise
from treedp_core.privacy import Budget, Currency
from treedp_core.watch import generator

from . import losses
from .decimals import concentrated_delta, gaussian_delta_of_rho
from .neighbours import IntArray, Pairs, Small, Who, data_sets, everyone, list_pairs, neighbours, small_trees
from .report import Leak, Report

ALLOCATIONS = ("uniform", "leaves_only", "minimax", "cube_root", "custom", "custom")
POST = ("least_squares", "non_negative")
CONVERTED = 0.1
"""Part of the settings whose (epsilon, delta) is compared in decimal numbers, which takes a hundred times longer."""


def audit(report: Report, rng: np.random.Generator, n_trees: int) -> None:
    """Compare claims and losses on so many trees."""
    for small in small_trees(rng, n_trees):
        most = 3 if len(small.leaves) < 5 else 2
        data = list(data_sets(small, rng, most))
        for who in everyone(small, range(1, most + 1)):
            pairs = list_pairs(small, who, data)
            report.pairs += pairs.n
            moved = pairs.by_level()
            for experiment in experiments(rng, small, who):
                _one(report, pairs, moved, experiment, bool(rng.random() < CONVERTED))
        _replayed(report, rng, small, data)
        _never_exact(report, small)


def experiments(rng: np.random.Generator, small: Small, who: Who) -> Iterator[Experiment]:
    """Every mechanism with an allocation of its own; custom shares leave levels out and budget unspent."""
    for mechanism in MECHANISMS:
        yield Experiment(
            mechanism=mechanism,
            allocation=(allocation := str(rng.choice(ALLOCATIONS))),
            shares=_shares(rng, small.n_levels) if allocation == "custom" else (),
            epsilon=float(np.exp(rng.uniform(-4, 2))),
            delta=float(10 ** rng.uniform(-9, -2.5)),
            accounting="formula",  # its claim is compared here; that of composed laws, in `numerical` and `conversions`
            **who.settings,  # type: ignore[arg-type]
        )


def _shares(rng: np.random.Generator, n_levels: int) -> tuple[float, ...]:
    """Shares of at most 1 in all, the last one never 0; in hundredths every other time, as a person would type."""
    parts = rng.dirichlet(np.ones(n_levels + 1))[:n_levels] * (rng.random(n_levels) < 0.8)
    parts[-1] = parts[-1] or 0.125
    if rng.random() < 0.5:
        parts = np.maximum(np.floor(100 * parts), [0] * (n_levels - 1) + [1]) / 100
    return tuple((parts * (1 - 2.0**-40)).tolist() if parts.sum() > 1 - 1e-12 else parts.tolist())


def _one(
    report: Report, pairs: Pairs, moved: tuple[IntArray, IntArray], experiment: Experiment, converted: bool
) -> None:
    what = f"{experiment.mechanism}, {experiment.allocation} on {pairs.small.parent} for {pairs.who}"
    try:
        ready = prepare(experiment, pairs.small.tree)
        losses.refuse_exact(ready.noise.exact, moved[0])
    except InputError as refusal:  # a public root and nothing else to spend on
        report.holds(refusal.code == "BUDGET_SPLIT", f"{what}: refused with {refusal.code}")
        return
    except Leak as leak:
        report.holds(False, f"{what}: {leak}")
        return
    spent = losses.worst(ready.noise.laws, moved)
    promise = ready.guarantee
    report.spent(what, spent, promise.epsilon if promise.rho is None else promise.rho, pairs.n)
    report.holds(promise.epsilon <= experiment.epsilon, f"{what}: promises more than was asked for")
    if promise.rho is None or not spent:
        return
    report.holds(promise.delta <= experiment.delta, f"{what}: promises a larger delta than was asked for")
    if converted:
        delta_of = gaussian_delta_of_rho if experiment.mechanism == "gaussian" else concentrated_delta
        report.holds(delta_of(spent, promise.epsilon) <= Fraction(promise.delta), f"{what}: (epsilon, delta)")


def _never_exact(report: Report, small: Small) -> None:
    """A budget that would publish a level that depends on anybody is refused."""
    for who in everyone(small, (1, 2)):
        levels = range(small.n_levels)
        for level in levels:
            root_is_public = who.unit.total_is_public
            amounts = tuple(math.inf if i == level or (i == 0 and root_is_public) else 1.0 for i in levels)
            public = level == 0 and root_is_public
            try:
                level_noise(small.tree, Budget(Currency.EPSILON, amounts), who.unit, "laplace")
                refused = False
            except InputError as refusal:
                refused = refusal.code == "EXACT_NOT_PRIVATE"
            report.holds(refused is not public, f"level {level} of {small.parent} published exactly for {who}")


# ---------------------------------------------------------------- replay: nothing but the noisy values comes out


class Tape(SimpleNamespace):
    """A law that notes each draw in `log`, or that hands out the `answers` it was given instead of drawing."""

    def sample(self, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        """Draw, or hand out what was recorded for this level."""
        if self.answers is None:
            self.log.append((self.level, self.law.sample(rng, size)))
            return np.asarray(self.log[-1][1])
        if not self.answers or self.answers[0][0] != self.level or self.answers[0][1].shape != size:
            raise Leak("the noise that is asked for depends on private data")
        return np.asarray(self.answers.pop(0)[1])


def _taped(ready: Pipeline, log: list, answers: list | None) -> Pipeline:
    laws = tuple(
        law and Tape(law=law, level=i, log=log, answers=answers, integer=law.integer, variance=law.variance)
        for i, law in enumerate(ready.noise.laws)
    )
    return replace(ready, noise=replace(ready.noise, laws=laws))


def replay(ready: Pipeline, counts: IntArray, others: IntArray) -> None:
    """Release `counts`, then the neighbours' counts (k, n_nodes) with the same noisy values: all must be the same.

    Raises
    ------
    Leak
        When the output depends on the data through more than the noisy values.
    """
    tree, log = ready.tree, []
    one = _taped(ready, log, None).release(counts, generator(1), 1)
    answers = [(i, counts[tree.level(i)] + drawn - others[:, tree.level(i)]) for i, drawn in log]
    other = _taped(ready, log, answers).release(others, generator(1), len(others))
    if answers:
        raise Leak("less noise is asked for on a neighbour")
    for before, after in zip(one, other, strict=True):
        if not np.allclose(before.estimate, after.estimate, rtol=0, atol=1e-6, equal_nan=True):
            raise Leak("the output is not a function of the noisy values")
        if before.guarantee != ready.guarantee or after.guarantee != ready.guarantee:
            raise Leak("the guarantee depends on private data")


def _replayed(report: Report, rng: np.random.Generator, small: Small, data: list[IntArray]) -> None:
    """One setting of each relation and mechanism, all neighbours of every data set at once."""
    for who in everyone(small, (2,)):
        for experiment in experiments(rng, small, who):
            try:
                ready = prepare(replace(experiment, postprocess=POST), small.tree)
            except InputError:
                continue
            for one in data:
                others = neighbours(small, one, who)
                wrong = _leaks(ready, one @ small.below, others @ small.below) if len(others) else None
                what = f"{experiment.mechanism} on {small.parent} for {who}: {wrong}"
                report.holds(wrong is None, what, max(1, len(others)))


def _leaks(ready: Pipeline, counts: IntArray, others: IntArray) -> str | None:
    try:
        replay(ready, counts, others)
    except Leak as leak:
        return str(leak)
    return None
