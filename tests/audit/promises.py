"""What is said: one sentence for one set of neighbours, numbers no better than the truth, simulations that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draw_once, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.thresholds.release import threshold_guarantee
from treedp_core.privacy import Currency, Guarantee, Provenance, prior_provenance
from treedp_core.studies.budget import prior
from treedp_core.studies.topdown.plan import plan

from . import losses
from .neighbours import Pairs, Small, Who, both_spreads, data_sets, everyone, list_pairs
from .report import Report

SMALL = Small((-1, 0, 0, 1, 1, 2, 2))
NUMBER = re.compile(r"[0-9.]+(?:e-?[0-9]+)?")


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare the sentences of n budgets for everyone with what is listed, drawn and charged."""
    units = list(both_spreads(everyone(SMALL, (1, 2, 3))))
    data = list(data_sets(SMALL, rng, 3))
    listed = {who: list_pairs(SMALL, who, data) for who in units}
    report.pairs += sum(pairs.n for pairs in listed.values())
    _one_sentence_for_one_unit(report, listed)
    for _ in range(n):
        who = units[int(rng.integers(len(units)))]
        for what, promise, spent in _promises(rng, who, listed[who]):
            _numbers(report, what, promise, spent)
        _ledgers(report, rng, units)
    _simulations(report, rng)


# ---------------------------------------------------------------- who


def _one_sentence_for_one_unit(report: Report, listed: dict[Who, Pairs]) -> None:
    """Where the neighbours differ, the sentences do: nobody can read a weaker promise as a stronger one."""
    said: dict[str, tuple[Who, frozenset[tuple[int, ...]]]] = {}
    for who, pairs in listed.items():
        changes = frozenset(map(tuple, pairs.changes.tolist()))
        for guarantee in _all_guarantees(who):
            text = guarantee.sentence()
            first, before = said.setdefault(text, (who, changes))
            report.holds(before == changes, f"one sentence for {first} and {who}: {text}")


def _all_guarantees(who: Who) -> Iterator[Guarantee]:
    """Promises of an equal (epsilon, delta) by every kind of release that serves this unit."""
    if not who.distinct:
        for mechanism in MECHANISMS:
            ready = prepare(Experiment(mechanism, epsilon=1.0, delta=1e-6, **who.settings), SMALL.tree)  # type: ignore[arg-type]
            yield _at(ready.guarantee, 1.0, 1e-6)
        yield _at(threshold_guarantee(who.unit, 1.0, 1e-6), 1.0, 1e-6)
    yield _at(plan((2, 2), 0.1, unit=who.unit, spread=who.spread).guarantee, 1.0, 1e-6)


def _at(promise: Guarantee, epsilon: float, delta: float) -> Guarantee:
    return Guarantee(promise.unit, epsilon, delta, precision=promise.precision, spread=promise.spread)


# ---------------------------------------------------------------- how much


def _promises(rng: np.random.Generator, who: Who, pairs: Pairs) -> Iterator[tuple[str, Guarantee, Fraction]]:
    """Promises with what the worst neighbour really loses: epsilon, or rho."""
    moved = pairs.by_level()
    if not who.distinct:
        mechanism = str(rng.choice(list(MECHANISMS)))
        experiment = Experiment(mechanism, epsilon=float(np.exp(rng.uniform(-4, 3))), delta=1e-6, **who.settings)  # type: ignore[arg-type]
        ready = prepare(experiment, SMALL.tree)
        yield f"{mechanism} for {who}", ready.guarantee, losses.worst(ready.noise.laws, moved)
    top_down = plan((2, 2), float(np.exp(rng.uniform(-4, 1))), unit=who.unit, spread=who.spread)
    yield f"top-down for {who}", top_down.guarantee, losses.worst(top_down.laws, moved)


def _numbers(report: Report, what: str, promise: Guarantee, spent: Fraction) -> None:
    told = promise.sentence()
    epsilon = _said(told, "ε = ")
    report.holds(epsilon >= promise.epsilon, f"{what}: {told} for epsilon = {promise.epsilon!r}")
    if promise.rho is None:
        report.holds(epsilon >= spent, f"{what}: {told} where {float(spent)!r} is lost")
        report.holds("δ" not in told, f"{what}: {told} has a delta")
    else:
        report.holds(_said(told, "δ = ") >= promise.delta, f"{what}: {told} for delta = {promise.delta!r}")
        report.holds(spent <= Fraction(promise.rho), f"{what}: loses more than its rho")


def _said(text: str, symbol: str) -> Fraction:
    found = NUMBER.search(text.partition(symbol)[2])
    assert found is not None, text
    return Fraction(found[0])


def _ledgers(report: Report, rng: np.random.Generator, units: list[Who]) -> None:
    """A prior is charged in full, and only together with levels that protect the same in the same currency."""
    mine, other = (units[int(i)] for i in rng.integers(len(units), size=2))
    amounts = rng.uniform(0, 0.3, 3).tolist()
    kinds = list(Currency)
    currency, paid_in = (kinds[int(i)] for i in rng.integers(2, size=2))
    tuned = prior_provenance.Origin(
        prior_provenance.PriorKind.NOISY, float(rng.uniform(0.01, 0.5)), paid_in, other.unit
    )
    cost = mine.unit.exact_charge([0.0 if mine.unit.total_is_public and i == 0 else a for i, a in enumerate(amounts)])
    what = f"ledger of {mine} in {currency.value} with a prior for {other} in {paid_in.value}"
    total = float(cost + Fraction(tuned.spent)) * float(rng.uniform(0.98, 1.05))
    try:
        made = prior_provenance.Ledger(mine.unit, currency, total, tuned, tuple(amounts))
    except InputError:
        report.holds(True, what)
        return
    exact = cost + Fraction(tuned.spent)
    report.holds(paid_in is currency and _protects(other) == _protects(mine), f"{what}: accepted")
    report.holds(exact <= Fraction(total) and made.charged >= exact, f"{what}: charges less than both cost")
    told = made.sentence()
    right = "the whole of this budget" in told or _said(told, "charged ") >= exact
    report.holds(right, f"{what}: {told} for {float(exact)!r}")


def _protects(who: Who) -> tuple[str, int, int]:
    known = who.known_levels if who.relation == "replace_unknown" else 1
    return who.relation, who.contributions, known


# ---------------------------------------------------------------- simulated or real


def _simulations(report: Report, rng: np.random.Generator) -> None:
    """What comes from a seed says so first, and continuous noise is never called a release."""
    counts = np.array([3, 0, 1, 2]) @ SMALL.below
    for mechanism in MECHANISMS:
        experiment = Experiment(mechanism, delta=1e-6)
        for one in draw_once(experiment, SMALL.tree, counts):
            told = one.sentence()
            report.holds(told.startswith("Simulation") and told in repr(one), f"{mechanism}, simulated: {told}")
        ready = prepare(experiment, SMALL.tree)
        whole = MECHANISMS[mechanism].name.startswith("discrete")
        try:
            ready.release(counts, rng, None, Provenance.RELEASE)
            accepted = True
        except InputError as refusal:
            accepted = refusal.code != "RELEASE_PRECISION"
        report.holds(accepted is whole, f"{mechanism} as a release: accepted is {accepted}")
    private = prior.true_counts(SMALL.tree, counts)
    report.holds(private.label.startswith("NOT PRIVATE"), f"true counts as a prior: {private.label}")
