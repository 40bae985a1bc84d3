"""The threshold mechanism: its questions replayed on every neighbour with the rates really drawn, and its bounds.

A run is recorded, then repeated on each neighbour with the same answers: the same must come out, and what the answers
can lose adds up question by question. The noises of the root, of the rounds and of the clamp are read off the laws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import oracles_thresholds as oracle
from oracles_plans import delta_together
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds import estimation, sparse_vector
from treedp_core.mechanisms.thresholds import release as releases
from treedp_core.mechanisms.thresholds import sparse_vector as answering
from treedp_core.mechanisms.thresholds.estimation import classification_level
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.plans import provable_plan, tuned_plan
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan, plan_thresholds
from treedp_core.mechanisms.thresholds.reduction import label_nodes
from treedp_core.mechanisms.thresholds.schedule import paper_plan
from treedp_core.mechanisms.thresholds.sparse_vector import Draw
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.noise.truncated_laplace import discrete_bound, discrete_delta, truncated_bound
from treedp_core.plans import ReleasePlan
from treedp_core.plans.thresholds.statement import Thresholds
from treedp_core.tree.path_tree import PathTree

from .decimals import decimal, delta_of_group, digits
from .neighbours import ADD, REPLACE, UNKNOWN, IntArray, Small, Who, neighbours, random_tree
from .plans import data_on, for_more
from .report import Leak, Report

ONE = Who(ADD)
"""The relation that the mechanism is made for."""
BOUNDS = 40
"""Bounds compared in decimal numbers for each plan that is replayed."""


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Replay n plans and n/2 whole releases, and compare bounds, group steps and laws of the sparse vector."""
    for i in range(n):
        small, data = _data(rng)
        _replayed(report, rng, small, data, _plan(rng, small.n_levels, int(data.sum()), i))
        _bounds(report, rng)
        _parts(report, _any_plan(rng))
        _refused(report, rng)
        _group(report, rng)
        _sparse_vector(report, rng)
        _planned(report, rng, *_data(rng))
        if i % 2:
            _released(report, rng, *_data(rng), noise=("discrete", "continuous")[i // 2 % 2])


def _data(rng: np.random.Generator) -> tuple[Small, IntArray]:
    """A tree of at least two levels and records on its leaves: none, a few, or thousands on some."""
    small = random_tree(rng, int(rng.integers(3, 12)))
    counts = rng.integers(0, (5, 60, 5000)[int(rng.integers(3))], len(small.leaves))
    return small, counts * (rng.random(counts.size) < 0.7)


# ---------------------------------------------------------------- plans, replayed


def _plan(rng: np.random.Generator, n_levels: int, total: int, i: int) -> Plan:
    alpha, epsilon, delta = float(rng.uniform(0.1, 0.9)), float(rng.uniform(0.3, 3)), float(10 ** rng.uniform(-7, -2))
    make = (None, tuned_plan, provable_plan, paper_plan, _classification)[i % 5]
    most = float(max(total, 100) * rng.integers(1, 1000))
    try:
        return _any_plan(rng) if make is None else make(alpha, epsilon, delta, n_levels, most)
    except InputError:  # a total too small for thresholds
        return _any_plan(rng)


def _classification(alpha: float, epsilon: float, delta: float, n_levels: int, most: float) -> Plan:
    level = classification_level(most, alpha, 0.5, most, epsilon, delta, n_levels=n_levels, c=3)
    return Plan("Algorithm 1", epsilon, delta, (level,), 1.0, alpha)


def _any_plan(rng: np.random.Generator) -> Plan:
    """Rounds nobody would choose, but within their promise; with several answers and both laws."""
    levels = []
    for _ in range(int(rng.integers(1, 4))):
        a, b, t, delta = *rng.uniform(0.05, 1.5, 3).tolist(), float(10 ** rng.uniform(-5, -2.5))
        c = int(rng.integers(1, 4))
        bound = truncated_bound(t / c, delta / c)
        law: Any = "exponential" if rng.random() < 0.5 else "laplace"
        threshold = float(rng.uniform(0.5, 40))
        levels.append(PlanLevel(2 * threshold, threshold, bound + float(rng.random()), a, b, t, delta, bound, c, law))
    spent = sum((level.exact_epsilon for level in levels), Fraction(0))
    slack = sum((Fraction(level.pass_delta) for level in levels), Fraction(0))
    return Plan("any", _above(spent), _above(slack), tuple(levels), 1.0, 0.5)


def _above(exact: Fraction) -> float:
    return math.nextafter(float(exact), math.inf)


@lru_cache(maxsize=4096)
def exact_delta(law: Any) -> Fraction:
    """Delta of a unit shift of a bounded Laplace law, from its definition, in 60 digits."""
    with digits():
        if isinstance(law, TruncatedLaplace):
            rate, bound = 1 / decimal(law.scale), decimal(law.bound)
            found = (rate.exp() - 1) / ((rate * bound).exp() - 1) / 2
        else:
            q, r = (-decimal(law.inverse_scale)).exp(), law.bound
            found = q**r * (1 - q) / (1 + q - 2 * q ** (r + 1))
        return Fraction(min(found, Decimal(1)))


def rate(law: Any) -> Fraction:
    """Loss of a unit shift of a bounded Laplace law where both have mass."""
    return 1 / Fraction(law.scale) if isinstance(law, TruncatedLaplace) else Fraction(law.inverse_scale)


def used_rates(level: PlanLevel, noise: Any = "discrete") -> tuple[Fraction, Fraction, bool, tuple[Fraction, Fraction]]:
    """What noise the mechanism really draws in a round, read off its laws."""
    threshold, query = answering.round_noises(level, noise)
    law = answering.pass_noise(level, noise).law
    one_sided = level.test_law == "exponential"
    return Fraction(threshold.rate), Fraction(query.rate), one_sided, (rate(law), exact_delta(law))


def _dense(small: Small, leaf_counts: IntArray) -> PathTree:
    return PathTree.from_tree(small.tree, leaf_counts @ small.below, dense=True)


def lost(
    small: Small, data: IntArray, plan: Plan, seed: int = 0, noise: Any = "discrete"
) -> tuple[Fraction, Fraction, int]:
    """Largest (epsilon, delta) of one recorded run over all neighbours, and their number.

    Raises
    ------
    Leak
        When a neighbour is asked other questions, or is labelled otherwise.
    """
    paths, tape = _dense(small, data), oracle.Record(Draw(np.random.default_rng(seed), noise))
    labels = label_nodes(paths, plan, tape, skip=False)
    worst, slack, others = Fraction(0), Fraction(0), neighbours(small, data, ONE)
    for other in others:
        near, replay = _dense(small, other), oracle.Replay(tape.calls)
        try:
            again = label_nodes(near, plan, replay, skip=False)
            spent = oracle.audit(tape.calls, replay.calls, partial(used_rates, noise=noise))
        except (InputError, oracle.TapeEnded, oracle.Violation) as error:
            raise Leak(str(error) or "more questions than answers") from error
        if (oracle.rounds_of_nodes(paths, labels) != oracle.rounds_of_nodes(near, again)).any():
            raise Leak("other labels for the same answers")
        worst, slack = max(worst, spent[0]), max(slack, spent[1])
    return worst, slack, len(others)


def _replayed(report: Report, rng: np.random.Generator, small: Small, data: IntArray, plan: Plan) -> None:
    what = f"plan {plan.name!r} on {small.parent} with {data.tolist()}"
    for seed in rng.integers(1 << 30, size=2).tolist():
        try:
            epsilon, delta, n = lost(small, data, plan, seed, str(rng.choice(["discrete", "continuous"])))
        except Leak as leak:
            report.holds(False, f"{what}: {leak}")
            continue
        report.pairs += n
        if epsilon > Fraction(plan.epsilon):  # then it is promised that so much is rare
            epsilon, delta = Fraction(plan.epsilon), delta + Fraction(_rare(plan))
        report.spent(what, epsilon, plan.epsilon, n)
        report.holds(delta <= Fraction(plan.delta), f"{what}: delta")


def _rare(plan: Plan) -> float:
    """Delta of all rounds above the plan's epsilon, each part of them as loud as the noise that is drawn allows."""
    rounds = []
    for level in plan.levels:
        threshold, query, one_sided, (passing, _) = used_rates(level)
        c = level.cut_off
        rounds.append((float(c * threshold), float((1 if one_sided else 2) * c * query), float(c * passing), one_sided))
    return delta_together(rounds, plan.epsilon)


# ---------------------------------------------------------------- whole releases, replayed


@dataclass
class Bounded:
    """A bounded law that notes each draw, or hands out answers."""

    law: Any
    log: list[tuple[Any, IntArray]]
    answers: list[IntArray] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.law, name)

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Draw, or hand out."""
        drawn = self.law.sample(rng, size) if self.answers is None else self.answers.pop(0)
        if np.shape(drawn) != (size if isinstance(size, tuple) else (size,)):
            raise Leak("one draw answers for several counts")
        self.log.append((self.law, drawn))
        return drawn


@dataclass
class Run:
    """A release with everything it drew."""

    out: IntArray
    bounded: list[tuple[Any, IntArray]]
    calls: list[Any] = field(default_factory=list)


def _run(
    small: Small, counts: IntArray, who: Who, settings: dict[str, Any], planner: Any, answers: Run | None = None
) -> Run:
    """Release counts of all nodes, with fresh noise or with the answers of another run.

    Empty nodes are asked about too. That leaving them out changes no law is a test of its own.
    """

    def call(rng: np.random.Generator, **how: Any) -> Any:
        return releases.release_with_thresholds(small.tree, counts, planner, who.unit, rng=rng, **how).release

    return _recorded(partial(call, **settings), answers)


def _recorded(call: Callable[[], Any], answers: Run | None) -> Run:
    """Whatever a release asks and draws while it is called."""
    log: list[tuple[Any, IntArray]] = []
    tapes: list[Any] = []
    handed = None if answers is None else [drawn for _, drawn in answers.bounded]
    honest = estimation.bounded_noise

    def draw(rng: np.random.Generator, noise: Any) -> Any:
        tapes.append(oracle.Record(Draw(rng, noise)) if answers is None else oracle.Replay(answers.calls))
        return tapes[-1]

    with (
        patch.object(releases, "PathTree", SimpleNamespace(from_tree=partial(PathTree.from_tree, dense=True))),
        patch.object(estimation, "label_nodes", partial(label_nodes, skip=False)),
        patch.object(estimation, "bounded_noise", lambda *a, **k: Bounded(honest(*a, **k), log, handed)),
        patch.object(estimation, "Draw", draw),
    ):
        found = call()
    return Run(found.estimate, log, [call for tape in tapes for call in tape.calls])


def _released(report: Report, rng: np.random.Generator, small: Small, data: IntArray, noise: str) -> None:
    """Root, rounds and clamp of one release together, for one record; and what that means for the unit."""
    who = [Who(ADD), Who(ADD, 2), Who(REPLACE), Who(UNKNOWN)][int(rng.integers(4))]
    epsilon, delta, share = float(rng.uniform(0.5, 4)), float(10 ** rng.uniform(-6, -2)), float(rng.choice([0, 0.5]))
    plan = _any_plan(rng)
    settings = {"epsilon": epsilon, "delta": delta, "noise": noise, "clamp_share": share}
    what = f"release with thresholds, {noise}, clamp {share}, on {small.parent} with {data.tolist()} for {who}"
    counts = data @ small.below
    paper = partial(_scaled, plan)
    first = _run(small, counts, who, settings | {"rng": np.random.default_rng(3)}, paper)
    expected = int(not who.unit.total_is_public) + int(share > 0)
    report.holds(
        len(first.bounded) == expected, f"{what}: {len(first.bounded)} bounded noises for {expected} questions"
    )
    for other in neighbours(small, data, who) if len(first.bounded) == expected else ():
        report.pairs += 1
        moved = counts - other @ small.below
        root = [] if who.unit.total_is_public else [first.bounded[0][1] + moved[0]]
        clamp = [first.bounded[-1][1] + moved] if share else []
        answers = Run(first.out, [(None, x) for x in [*root, *clamp]], first.calls)
        try:
            again = _run(small, other @ small.below, who, settings | {"rng": np.random.default_rng(4)}, paper, answers)
        except (InputError, IndexError, Leak) as error:
            report.holds(False, f"{what}: {error}")
            continue
        report.holds(bool(np.allclose(first.out, again.out, atol=1e-6)), f"{what}: another output on a neighbour")
    _whole_cost(report, what, first, small, settings, who)


# ---------------------------------------------------------------- plans with a public bound, and what they state

WHO = (Who(ADD), Who(ADD, 2), Who(REPLACE), Who(REPLACE, 2), Who(UNKNOWN), Who(UNKNOWN, 2, 2))


def _planned(report: Report, rng: np.random.Generator, small: Small, data: IntArray) -> None:
    """A release by a plan, replayed on all neighbours of the unit, and its statement against the noise drawn."""
    who, bound = WHO[int(rng.integers(len(WHO)))], int(10 ** rng.uniform(3, 6))
    how = {"alpha": float(rng.uniform(0.2, 0.9)), "epsilon": float(rng.uniform(0.5, 4)),
           "delta": float(10 ** rng.uniform(-7, -2)), "rule": str(rng.choice(["tuned", "provable"]))}  # fmt: skip
    try:
        made = plan_thresholds(small.tree, who.unit, bound, **how)  # type: ignore[arg-type]
    except InputError:  # a bound too small for thresholds
        return
    plan = ReleasePlan.of(made, data_on(small))
    what = f"plan of thresholds {how} for at most {bound} on {small.parent} with {data.tolist()} for {who}"
    first = _recorded(lambda: made.release(data @ small.below, np.random.default_rng(3)), None)
    report.holds(first.bounded == [], f"{what}: draws for a total that is public")
    for other in neighbours(small, data, who) if not first.bounded else ():
        report.pairs += 1
        near = other @ small.below
        try:
            again = _recorded(partial(made.release, near, np.random.default_rng(4)), Run(first.out, [], first.calls))
        except (InputError, IndexError, Leak, oracle.TapeEnded) as error:
            report.holds(False, f"{what}: {error}")
            continue
        report.holds(bool((first.out == again.out).all()), f"{what}: another output on a neighbour")
    _stated(report, what, made, plan, who)


def _stated(report: Report, what: str, made: ThresholdPlan, plan: ReleasePlan, who: Who) -> None:
    """The rates and bounds that are drawn, against those stated; their losses and the unit's, against the promise."""
    one = plan.thresholds
    assert one is not None
    report.holds(plan.verify() == (), f"{what}: {plan.verify()}")
    summed, ends, rounds = Fraction(0), Fraction(0), []
    for level, stated in zip(made.rounds.levels, one.rounds, strict=True):
        a, b, one_sided, (t, end) = used_rates(level)
        said = stated.threshold_rate, stated.query_rate, stated.pass_rate
        report.holds(one_sided and (a, b, t) == tuple(map(Fraction, said)), f"{what}: states other noise than is drawn")
        law = sparse_vector.pass_noise(level, "discrete")
        report.holds((law.law.support, law.exceed) == (stated.pass_bound, stated.passes_above), f"{what}: other bound")
        summed, ends = summed + a + b + t, ends + end
        rounds.append((float(a), float(b), float(t), one_sided))
    rare = Fraction(delta_together(rounds, one.epsilon)) if summed > Fraction(one.epsilon) else Fraction(0)
    report.spent(what, min(summed, Fraction(one.epsilon)), one.epsilon)
    report.holds(ends + rare <= Fraction(one.delta), f"{what}: delta of one record")
    moves = who.relation == REPLACE or (who.relation == UNKNOWN and who.known_levels < len(plan.levels))
    steps = who.contributions * (2 if moves else 1)
    report.holds(steps * Fraction(one.epsilon) <= Fraction(plan.epsilon), f"{what}: epsilon of the unit")
    report.holds(delta_of_group(one.epsilon, one.delta, steps) <= decimal(plan.delta), f"{what}: delta of the unit")
    louder = tuple(replace(r, threshold_rate=1.1 * r.threshold_rate, query_rate=1.1 * r.query_rate) for r in one.rounds)
    shorter = tuple(replace(r, pass_bound=int(0.9 * r.pass_bound)) for r in one.rounds)
    for spoilt in (replace(one, rounds=louder), replace(one, rounds=shorter)):
        if _delta_of_one(spoilt) > 1.02 * one.delta:  # a plan of few rounds may have spent less than it could
            report.holds(replace(plan, thresholds=spoilt).verify() != (), f"{what}: nothing is wrong with {spoilt!r}")
    report.holds(for_more(plan).verify() != (), f"{what}: holds for a record more")


def _delta_of_one(one: Thresholds) -> float:
    """What stated rounds lose of one record above their epsilon: outcomes listed, and ends by their definition."""
    rounds = [(r.threshold_rate, r.query_rate, r.pass_rate, True) for r in one.rounds]
    rare = delta_together(rounds, one.epsilon) if sum(sum(r[:3]) for r in rounds) > one.epsilon else 0.0
    return rare + float(sum(_discrete(r.pass_rate, r.pass_bound) for r in one.rounds))


def _scaled(plan: Plan, epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
    """A plan with the same split that costs what it is given, a little less for the rounding of its parts."""
    by, slack = 0.999 * epsilon / plan.epsilon, 0.999 * delta / plan.delta
    levels = []
    for level in plan.levels:
        t, d, c = level.pass_epsilon * by, level.pass_delta * slack, level.cut_off
        bound = truncated_bound(t / c, d / c)
        levels.append(
            PlanLevel(level.value, level.classification_threshold, bound + 0.5, level.threshold_epsilon * by,
                      level.query_epsilon * by, t, d, bound, c, level.test_law)
        )  # fmt: skip
    return Plan("scaled", epsilon, delta, tuple(levels), 1.0, 0.5)


def _whole_cost(report: Report, what: str, run: Run, small: Small, settings: dict[str, Any], who: Who) -> None:
    """A record moves the root's count, one path of questions, and one count of each level in the clamp."""
    epsilon = delta = Fraction(0)
    for law, drawn in run.bounded:
        times = 1 if np.size(drawn) == 1 and len(small.parent) > 1 else small.n_levels
        epsilon, delta = epsilon + times * rate(law), delta + times * exact_delta(law)
    for level in dict.fromkeys(call.level for call in run.calls):
        threshold, query, one_sided, (passing, slack) = used_rates(level, settings["noise"])
        c = level.cut_off
        epsilon += c * (threshold + (1 if one_sided else 2) * query + passing)
        delta += c * slack
    steps = who.contributions * (1 if who.relation == ADD else 2)
    report.spent(what, steps * epsilon, settings["epsilon"])
    report.holds(delta_of_group(epsilon, delta, steps) <= decimal(settings["delta"]), f"{what}: delta")


# ---------------------------------------------------------------- bounds and steps, in decimal numbers


def _bounds(report: Report, rng: np.random.Generator) -> None:
    for _ in range(BOUNDS):
        epsilon, delta = float(np.exp(rng.uniform(-6, 3))), float(10 ** rng.uniform(-30, -0.1))
        what = f"bound of ({epsilon!r}, {delta!r})"
        whole, real = discrete_bound(epsilon, delta), truncated_bound(epsilon, delta)
        discrete, exact = _discrete(epsilon, whole), _truncated(epsilon, real)
        report.holds(discrete <= Fraction(delta), f"discrete {what} is too small")
        report.holds(exact <= Fraction(delta), f"{what} is too small")
        report.holds(not whole or _discrete(epsilon, whole - 1) > Fraction(delta) * Fraction(0.999), f"{what} is wide")
        report.holds(_truncated(epsilon, real * (1 - 1e-9)) > Fraction(delta), f"{what} is wider than it need be")
        said = Fraction(discrete_delta(epsilon, whole))
        report.holds(abs(said - discrete) <= discrete * Fraction(1e-11), f"delta stated for a {what}")


def _parts(report: Report, plan: Plan) -> None:
    """What the noises of each round, and of a clamp with as many levels, cost: at most their parts of the budget."""
    for level in plan.levels:
        c = level.cut_off
        for noise in ("discrete", "continuous"):
            threshold, query, one_sided, (passing, slack) = used_rates(level, noise)
            what = f"{noise} round with cut-off {c}"
            report.holds(c * threshold <= Fraction(level.threshold_epsilon), f"{what}: threshold")
            report.holds((1 if one_sided else 2) * c * query <= Fraction(level.query_epsilon), f"{what}: queries")
            report.holds(c * passing <= Fraction(level.pass_epsilon), f"{what}: passes")
            report.holds(c * slack <= Fraction(level.pass_delta), f"{what}: delta of passes")
            law = estimation.clamp_noise(c + 1, level.pass_epsilon, level.pass_delta, noise)  # type: ignore[arg-type]
            report.holds((c + 1) * rate(law) <= Fraction(level.pass_epsilon), f"{noise} clamp of {c + 1} levels")
            report.holds((c + 1) * exact_delta(law) <= Fraction(level.pass_delta), f"{noise} clamp of {c + 1}: delta")


def _refused(report: Report, rng: np.random.Generator) -> None:
    """A plan of two rounds that costs more than it promises, and a planner that spends more than it is given."""
    plan = _any_plan(rng)
    levels = (plan.levels[0], plan.levels[-1])
    epsilon = sum((x.exact_epsilon for x in levels), Fraction(0))
    delta = sum((Fraction(x.pass_delta) for x in levels), Fraction(0))
    enough = _above(epsilon), _above(delta)
    paths = PathTree.from_leaves(np.array([[0, 1], [1, 0]]), np.array([3, 2]))
    for part in ((1.0, 0.999), (0.999, 1.0)):
        promised = enough[0] * part[0], enough[1] * part[1]
        _must_refuse(report, lambda p=promised: Plan("too much", *p, levels, 1.0, 0.5))  # type: ignore[misc]
        given = {"epsilon": promised[0], "delta": promised[1], "rng": rng, "max_total": 10.0}
        _must_refuse(
            report, lambda g=given: estimation.estimate(paths, lambda *_: Plan("all", *enough, levels, 1.0, 0.5), **g)
        )  # type: ignore[misc]


def _must_refuse(report: Report, call: Callable[[], object]) -> None:
    try:
        call()
        refused = False
    except InputError as refusal:
        refused = refusal.code == "PLAN_BUDGET"
    report.holds(refused, "a plan above its budget is not refused")


def _discrete(epsilon: float, bound: int) -> Fraction:
    with digits():
        q = (-decimal(epsilon)).exp()
        return Fraction(q**bound * (1 - q) / (1 + q - 2 * q ** (bound + 1)))


def _truncated(epsilon: float, bound: float) -> Fraction:
    with digits():
        e = decimal(epsilon)
        return Fraction((e.exp() - 1) / ((e * decimal(bound)).exp() - 1) / 2)


def _group(report: Report, rng: np.random.Generator) -> None:
    for relation in (ADD, REPLACE, UNKNOWN):
        n_levels = int(rng.integers(2, 4))
        who = Who(relation, int(rng.integers(1, 8)), int(rng.integers(1, n_levels + 1)))
        epsilon, delta = float(np.exp(rng.uniform(-6, 3))), float(10 ** rng.uniform(-30, -2))
        one, slack = releases.budget_for_one_record(who.unit, epsilon, delta, n_levels)
        moves = relation == REPLACE or (relation == UNKNOWN and who.known_levels < n_levels)
        steps = who.contributions * (2 if moves else 1)
        what = f"({epsilon!r}, {delta!r}) for one record of {who}"
        report.spent(what, steps * Fraction(one), epsilon)
        report.holds(delta_of_group(one, slack, steps) <= decimal(delta), f"{what}: delta")


# ---------------------------------------------------------------- exact law of the sparse vector with whole numbers


def _sparse_vector(report: Report, rng: np.random.Generator) -> None:
    """Every sequence of answers, on two sets of queries that one record tells apart: no ratio beyond the budget."""
    c, one_sided = int(rng.integers(1, 3)), bool(rng.random() < 0.5)
    a, b = rng.uniform(0.3, 2, 2).tolist()
    level = PlanLevel(9.0, 3.0, 60.0, a, b, 1.0, 0.01, 60.0, c, "exponential" if one_sided else "laplace")
    noises = sparse_vector.round_noises(level, "discrete")
    queries = rng.integers(0, 7, int(rng.integers(2, 5)))
    step = rng.integers(0 if one_sided else -1, 2, queries.size)
    p, q = (answer_law(f.tolist(), 3, c, *noises) for f in (queries, queries + step))
    ratio = max(abs(math.log(p[key] / q[key])) for key in p)
    claimed = float(level.threshold_epsilon + level.query_epsilon)
    report.holds(ratio <= claimed * (1 + 1e-9), f"sparse vector, c = {c}, {level.test_law}: {ratio:g} of {claimed:g}")


def answer_law(
    queries: Sequence[int], threshold: int, c: int, of_threshold: Any, of_query: Any
) -> dict[tuple[bool, ...], float]:
    """Exact law of the answers (Algorithm 3) with whole-number noise, summed over the noise of every threshold."""
    law: dict[tuple[bool, ...], float] = {}

    def go_on(told: tuple[bool, ...], chance: float, left: int) -> None:
        if len(told) == len(queries) or not left:
            rest = (False,) * (len(queries) - len(told))
            law[told + rest] = law.get(told + rest, 0.0) + chance
            return
        start = len(told)
        never = 0.0
        first = [0.0] * (len(queries) - start)
        for rho, weight in _noise(of_threshold):
            for i, query in enumerate(queries[start:]):
                yes = _at_least(of_query, threshold + rho - query)
                first[i] += weight * yes
                weight *= 1.0 - yes
            never += weight
        for i, p in enumerate(first):
            go_on((*told, *(False,) * i, True), chance * p, left - 1)
        rest = (False,) * (len(queries) - start)
        law[told + rest] = law.get(told + rest, 0.0) + chance * never

    go_on((), 1.0, c)
    return law


def _noise(law: Any) -> Iterator[tuple[int, float]]:
    reach = math.ceil(40 / law.rate)
    q = math.exp(-law.rate)
    for k in range(0 if law.kind == "exponential" else -reach, reach + 1):
        yield k, q ** abs(k) * ((1 - q) if law.kind == "exponential" else (1 - q) / (1 + q))


def _at_least(law: Any, x: int) -> float:
    q = math.exp(-law.rate)
    if law.kind == "exponential":
        return 1.0 if x <= 0 else q**x
    return q**x / (1 + q) if x > 0 else 1 - q ** (1 - x) / (1 + q)
