"""Plans of thresholds: what they state, that they hold, what they never contain, and that releases follow them.

The oracles read the plan's own numbers: delta by listing outcomes, and the law of a release on a path by adding up the
probabilities of its noise, term by term.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracles_pages import dataset
from oracles_plans import delta_together
from oracles_thresholds import truncated_pmf
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan, plan_thresholds
from treedp_core.plans import LIBRARIES, NoiseLaw, ReleasePlan, not_covered
from treedp_core.plans.thresholds.statement import PlannedRound, Thresholds
from treedp_core.plans.thresholds.verify import _beyond, _end
from treedp_core.plans.together import less_noise, together
from treedp_core.plans.verify import cost
from treedp_core.plans.words import level_table, summary
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.prior_provenance import Origin, PriorKind
from treedp_core.tree import Tree
from treedp_core.words import whole

TREE = Tree.from_branching_factors((3, 4))
DATA = dataset(TREE, [0, 1, 2, 3, 5, 8, 130, 210, 0, 0, 400, 1000])
ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
UNITS = [ProtectedUnit(relation, m, known)
         for relation in NeighbouringRelation for m, known in ((1, 1), (3, 2), (2, 3))]  # fmt: skip


@cache
def made(
    unit: ProtectedUnit = ADD, bound: int = 100_000, tree: Tree = TREE, alpha: float = 0.5, rule: str = "tuned",
    epsilon: float = 1.0, delta: float = 1e-6,
) -> ThresholdPlan:  # fmt: skip
    return plan_thresholds(tree, unit, bound, alpha=alpha, epsilon=epsilon, delta=delta, rule=rule)


def planned(**how: Any) -> ReleasePlan:
    return ReleasePlan.of(made(**how), DATA, whom="person")


KINDS = (("tuned", 0.5, 1.0), ("provable", 0.3, 2.0), ("tuned", 0.15, 8.0))
PLANS = [planned(unit=unit, rule=rule, alpha=alpha, epsilon=epsilon)
         for i, unit in enumerate(UNITS)
         for rule, alpha, epsilon in (KINDS[i % 3], ("provable", 0.8, 0.2))]  # fmt: skip


def rounds_of(plan: ReleasePlan) -> Thresholds:
    assert plan.thresholds is not None
    return plan.thresholds


def changed(plan: ReleasePlan, **how: Any) -> ReleasePlan:
    return replace(plan, thresholds=replace(rounds_of(plan), **how))


def each(plan: ReleasePlan, change: Callable[[PlannedRound], PlannedRound]) -> ReleasePlan:
    return changed(plan, rounds=tuple(map(change, rounds_of(plan).rounds)))


def named(plan: ReleasePlan) -> str:
    return f"{plan.unit.relation.value}-{plan.unit.contributions}-{rounds_of(plan).rule}"


# ---- the plan holds, is its own file, and states what is drawn


@pytest.mark.parametrize("plan", PLANS, ids=named)
def test_a_plan_holds_when_it_is_worked_out_again_and_is_its_own_file(plan: ReleasePlan) -> None:
    assert plan.verify() == () and ReleasePlan.from_json(plan.to_json()) == plan
    one = rounds_of(plan)
    assert cost(plan) == one.steps * Fraction(one.epsilon) <= Fraction(plan.charged) <= Fraction(plan.total)
    assert plan.law is NoiseLaw.THRESHOLDS and plan.currency is Currency.EPSILON and plan.delta > 0
    assert plan.levels[0].is_public == plan.unit.total_is_public and not any(level.scale for level in plan.levels)
    records = plan.unit.contributions
    assert one.steps in (records, 2 * records)
    known = plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and plan.unit.known_levels == 3
    assert (one.steps == records) == (plan.unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE or known)


@pytest.mark.parametrize("plan", PLANS, ids=named)
def test_the_delta_of_one_record_is_that_of_all_outcomes(plan: ReleasePlan) -> None:
    """Never below the sum over outcomes, and at most 1 % above; the ends by their law, term by term."""
    one = rounds_of(plan)
    listed = delta_together([(r.threshold_rate, r.query_rate, r.pass_rate, True) for r in one.rounds], one.epsilon)
    found = _beyond(one)
    assert 0.999 * listed <= found <= 1.01 * listed + 1e-30
    assert found + float(sum(map(_end, one.rounds))) <= one.delta
    assert listed == 0 or found > 0.3 * one.delta, "half of delta is spent on rounds together"


def test_the_end_of_a_bounded_law_is_what_a_step_uncovers() -> None:
    for rate, bound in ((0.3, 4), (1.5, 2), (0.01, 300)):
        one = PlannedRound(1.0, float(bound), 1.0, 1.0, 1.0, rate, bound)
        p = truncated_pmf(rate, bound)
        uncovered = sum(max(0.0, p[k] - math.exp(rate) * p.get(k - 1, 0.0)) for k in p)
        assert float(_end(one)) == pytest.approx(uncovered, rel=1e-9)


FAULTS: dict[str, Callable[[ReleasePlan], ReleasePlan]] = {
    "less noise on thresholds": lambda p: each(p, lambda r: replace(r, threshold_rate=1.1 * r.threshold_rate)),
    "less noise on queries": lambda p: each(p, lambda r: replace(r, query_rate=1.1 * r.query_rate)),
    "less noise on nodes": lambda p: each(p, lambda r: replace(r, pass_rate=1.1 * r.pass_rate, pass_bound=int(
        r.pass_bound / 1.2))),
    "whole noise of half the sensitivity": lambda p: each(p, lambda r: replace(
        r, threshold_rate=2 * r.threshold_rate, query_rate=2 * r.query_rate)),
    "a narrower bound": lambda p: each(p, lambda r: replace(r, pass_bound=int(0.9 * r.pass_bound))),
    "one step fewer": lambda p: changed(p, steps=max(1, rounds_of(p).steps - 1), epsilon=rounds_of(p).epsilon * (
        1 if rounds_of(p).steps > 1 else 0.99)),
    "a smaller ε of one record": lambda p: changed(p, epsilon=0.98 * rounds_of(p).epsilon),
    "a smaller δ of one record": lambda p: changed(p, delta=0.9 * rounds_of(p).delta),
    "a smaller ε": lambda p: replace(p, epsilon=p.epsilon * (1 - 1e-9)),
    "a smaller δ": lambda p: replace(p, delta=p.delta * (1 - 1e-9)),
    "a smaller cost": lambda p: replace(p, charged=p.charged * (1 - 1e-9)),
    "a cost above the total": lambda p: replace(p, charged=1.01 * p.total),
    "more records": lambda p: replace(p, unit=replace(p.unit, contributions=p.unit.contributions + 1)),
    "empty nodes may pass": lambda p: each(p, lambda r: replace(r, passes_above=r.pass_bound - 0.5)),
    "an error below that of an empty node": lambda p: changed(p, error=0.9 * rounds_of(p).default_value),
    "a level published": lambda p: replace(p, levels=(*p.levels[:-1], replace(p.levels[-1], amount=None))),
    "noise of a level": lambda p: replace(p, levels=(*p.levels[:-1], replace(p.levels[-1], amount=0.5, scale=2.0))),
    "a step that needs variances": lambda p: replace(p, postprocess=("least_squares",)),
    "paid for a split": lambda p: replace(p, tuned=Origin(PriorKind.NOISY, 0.1, Currency.EPSILON, p.unit)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_hold_is_found(fault: str) -> None:
    assert [named(plan) for plan in PLANS if FAULTS[fault](plan).verify() == ()] == []


def test_rounds_that_cost_many_times_their_promise_are_refused_without_being_composed() -> None:
    plan = changed(PLANS[0], epsilon=1e-12)
    assert _beyond(rounds_of(plan)) == 1.0 and plan.verify() != ()


# ---- a release follows its plan


def law_on_a_path(one: Thresholds, weight: int) -> dict[tuple[float, float], float]:
    """Law of the values of a root and its only child, both of this count, from the numbers stated alone."""
    law: dict[tuple[float | None, float | None], float] = {(None, None): 1.0}
    for r in one.rounds:
        passes = sum(p for k, p in truncated_pmf(r.pass_rate, r.pass_bound).items() if weight + k > r.passes_above)
        after: dict[tuple[float | None, float | None], float] = {}
        for (root, leaf), p in law.items():
            open_nodes = (root is None) + (leaf is None)
            stops = _stops(r, weight, open_nodes)  # from the deepest open node up
            named = [[], [(root, r.value)], [(r.value, r.value), (r.value, None)]][open_nodes]
            for stop, value in zip(stops, named, strict=True):
                _add(after, value, p * stop * passes)
            _add(after, (root, leaf), p * (1 - passes * sum(stops)))
        law = after
    rest: dict[tuple[float, float], float] = {}
    for (root, leaf), p in law.items():
        key = tuple(one.default_value if v is None else v for v in (root, leaf))
        rest[key] = rest.get(key, 0.0) + p  # type: ignore[index, arg-type]
    return rest


def _add(law: dict[Any, float], key: Any, p: float) -> None:
    law[key] = law.get(key, 0.0) + p


def _stops(r: PlannedRound, weight: int, n: int) -> list[float]:
    """Probability that the first, second, ... of n queries of one count is the first to reach the noisy threshold."""
    found = [0.0] * n
    for rho in range(math.ceil(40 / r.threshold_rate)):
        p = math.exp(-r.threshold_rate * rho) * -math.expm1(-r.threshold_rate)
        gap = math.ceil(r.threshold + rho - weight)
        yes = 1.0 if gap <= 0 else math.exp(-r.query_rate * gap)
        for i in range(n):
            found[i] += p * (1 - yes) ** i * yes
    return found


def test_a_release_has_the_law_that_its_plan_states_and_not_one_with_a_tenth_less_noise() -> None:
    """A path of two nodes, 6000 releases: chi-square at 1e-4; noise a tenth wider or narrower is rejected."""
    path = Tree.from_branching_factors((1,))
    one = made(tree=path, bound=2_000, alpha=0.8, epsilon=3.0, delta=1e-3)
    stated = rounds_of(ReleasePlan.of(one, dataset(path, [60])))
    weight, rng = 65, np.random.default_rng(5)  # where the noise decides most
    counts = path.counts_of_leaves(np.array([weight]))
    seen: dict[tuple[float, ...], int] = {}
    for _ in range(6000):
        key = tuple(one.release(counts, rng).estimate.tolist())
        seen[key] = seen.get(key, 0) + 1
    assert _misfit(seen, law_on_a_path(stated, weight)) < 1
    for by in (0.9, 1.1):
        rounds = tuple(
            replace(r, threshold_rate=by * r.threshold_rate, query_rate=by * r.query_rate, pass_rate=by * r.pass_rate)
            for r in stated.rounds
        )
        assert _misfit(seen, law_on_a_path(replace(stated, rounds=rounds), weight)) > 1


def _misfit(seen: dict[Any, int], law: dict[Any, float]) -> float:
    """Chi-square over its quantile at 1e-4 (Wilson and Hilferty); outcomes expected fewer than 8 times are one."""
    n, cells = sum(seen.values()), []
    rare = [key for key in {*law, *seen} if n * law.get(key, 0.0) < 8]
    cells = [(seen.get(key, 0), n * law[key]) for key in law if key not in rare]
    cells.append((sum(seen.get(key, 0) for key in rare), max(1e-3, n * sum(law.get(key, 0.0) for key in rare))))
    cells = cells if cells[-1][1] >= 8 or cells[-1][0] > 12 else cells[:-1]
    square, k = sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1
    return square / (k * (1 - 2 / (9 * k) + 3.719 * math.sqrt(2 / (9 * k))) ** 3)


@pytest.mark.parametrize("rule", ["tuned", "provable"])
def test_errors_stay_below_what_a_plan_states_and_an_empty_node_s_is_its_default_value(rule: str) -> None:
    one = made(rule=rule, bound=2_000)
    stated, rng = rounds_of(ReleasePlan.of(one, DATA)), np.random.default_rng(9)
    drawn = np.array([one.release(DATA.counts, rng).estimate for _ in range(300)])
    beyond = np.maximum(np.abs(drawn - DATA.counts) - 0.5 * DATA.counts, 0.0)
    largest = np.sqrt(np.square(beyond).mean(axis=0)).max()
    assert largest <= stated.error * 1.1
    empty = DATA.counts == 0
    assert (drawn[:, empty] == stated.default_value).all()
    assert set(drawn.ravel()) <= {stated.default_value, *(r.value for r in stated.rounds)}


def test_the_error_of_whole_numbers_is_stated_rounded_up() -> None:
    one = made()
    stated = rounds_of(ReleasePlan.of(one, DATA))
    assert one.rounds.error is not None
    assert Fraction(stated.error) >= Fraction(one.rounds.error) + Fraction(1, 2) > Fraction(stated.error) - 1


# ---- no count decides anything


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_no_plan_depends_on_a_count(unit: ProtectedUnit) -> None:
    """Of the same tree, whatever lies on its leaves; only whether δ fits may follow a total that is public."""
    plans = []
    for leaves in ([0] * 12, [7] * 12, [10**9, *[0] * 11]):
        data = dataset(TREE, leaves)
        plans.append(replace(ReleasePlan.of(made(unit), data), delta_fits=None))
    assert plans[0] == plans[1] == plans[2]
    assert not {"1000", "1759"} & set(ReleasePlan.of(made(unit), DATA).to_json().replace(",", " ").split())


@pytest.mark.parametrize("total", [0, 1, 99_999, 100_000, 100_001, 10**12])
def test_a_release_ends_well_whatever_the_total_is_and_beyond_the_bound_too(total: int) -> None:
    for unit in UNITS[::3]:
        counts = TREE.counts_of_leaves(np.array([total, *[0] * 11]))
        released = made(unit).release(counts, np.random.default_rng(1))
        assert released.estimate.shape == (TREE.n_nodes,) and released.guarantee == made(unit).guarantee
        assert (released.estimate[0] == total) or not unit.total_is_public


def test_no_part_of_the_budget_is_spent_on_the_total() -> None:
    """The bound is public: all of epsilon and delta is the rounds'."""
    one = made()
    assert one.rounds.epsilon == one.epsilon == 1.0 and one.rounds.delta == 1e-6 and one.rounds.max_total == 100_000


# ---- refusals and words


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: made(bound=0), "BOUND_REQUIRED"), (lambda: made(bound=-1), "TOTAL_RANGE"),
        (lambda: made(bound=10**16), "TOTAL_RANGE"), (lambda: made(bound=1.5), "TOTAL_RANGE"),
        (lambda: made(bound=20), "PLAN_TOTAL"), (lambda: made(alpha=0.0), "ALPHA_RANGE"),
        (lambda: made(delta=0.0), "DELTA_REQUIRED"), (lambda: made(rule="printed"), "VALUE_UNKNOWN"),
        (lambda: made(tree=Tree.from_branching_factors(())), "LEVELS_RANGE"),
        (lambda: ReleasePlan.of(made(), dataset(Tree.from_branching_factors((2, 6)), [1] * 12)), "PLAN_DATA"),
        (lambda: ReleasePlan.of(made(), DATA, reads_counts=True), "PLAN_DATA"),
        (lambda: ReleasePlan.of(made(), DATA, tuned=Origin(PriorKind.NOISY, 0.1, Currency.EPSILON, ADD)),
         "PRIOR_OTHER"),
        (lambda: made().release(np.zeros(3), np.random.default_rng(1)), "COUNTS_SHAPE"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_one_sentence(call: Callable[[], object], code: str) -> None:
    with refuses(code):
        call()


def test_more_rounds_than_a_plan_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treedp_core.plans.thresholds.planned.MOST_ROUNDS", 5)
    with refuses("PLAN_ROUNDS", "more than 5 rounds"):
        planned()


def test_no_library_is_handed_a_plan_of_thresholds_and_says_why() -> None:
    for library in LIBRARIES:
        with refuses("HANDOVER", "ask in each round what the answers before left") as refused:
            library.write(PLANS[0])
        assert str(refused.value).count(".") == 1
    assert not_covered(PLANS[0])


def test_several_releases_are_added_up_and_nothing_is_composed() -> None:
    both = together([PLANS[0], PLANS[0]])
    assert (both.epsilon, both.delta) == (2.0, 2e-6) and less_noise(PLANS[0]) == 0.0
    with refuses("PLAN_LAW"):
        together([PLANS[0], PLANS[0]], 1e-6)


@pytest.mark.parametrize("plan", PLANS[:6], ids=named)
def test_a_plan_says_its_rounds_its_bound_its_error_and_its_promise(plan: ReleasePlan) -> None:
    one, told = rounds_of(plan), plan.sentence()
    assert f"In {len(one.rounds)} rounds" in told and f"at most {whole(100_000)} records in all, a public bound" in told
    assert ("for every tree" if one.rule == "provable" else "certified for empty nodes") in told
    assert (f"differs by {one.steps} such records" in told) == (one.steps > 1)
    assert "-differential privacy." in told and "is not measured" not in told
    assert any("was not read from these" in point for point in plan.open_points)
    assert dict(summary(plan))["Mechanism"].startswith("Thresholds, ")
    assert {len(column) for column in level_table(plan).values()} == {len(one.rounds)}
    assert "## Rounds" in plan.to_markdown() and "<h2>Rounds</h2>" in plan.to_html()
    assert "Checked: what all rounds lose was composed again" in plan.to_html()
    assert plan.running_costs()[-1] == pytest.approx(
        one.steps * sum(r.threshold_rate + r.query_rate + r.pass_rate for r in one.rounds)
    )


def test_a_budget_that_was_sought_on_the_true_counts_is_marked() -> None:
    plan = ReleasePlan.of(made(), DATA, tuned=Origin(PriorKind.TRUE_COUNTS))
    assert plan.label.startswith("NOT PRIVATE") and "tuned on" in plan.sentence()


# ---- hostile files

TEXT = PLANS[0].to_json()


def spoilt(**how: Any) -> str:
    found = json.loads(TEXT)
    found["thresholds"] |= how
    return json.dumps(found)


@pytest.mark.parametrize("text", [
    TEXT.replace('"law": "thresholds"', '"law": "laplace"'),
    json.dumps(json.loads(TEXT) | {"thresholds": None}),
    spoilt(rounds=[]), spoilt(alpha=1.0), spoilt(bound=0), spoilt(rule="mine"), spoilt(epsilon=0.0), spoilt(steps=0),
    spoilt(rounds=[{**json.loads(TEXT)["thresholds"]["rounds"][0], "pass_rate": 1e-300}]),
    spoilt(rounds=[{**json.loads(TEXT)["thresholds"]["rounds"][0], "query_rate": 1e300}]),
    spoilt(rounds=[{**json.loads(TEXT)["thresholds"]["rounds"][0], "pass_bound": 2**41}]),
])  # fmt: skip
def test_what_thresholds_cannot_mean_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        ReleasePlan.from_json(text)
    assert refused.value.code == "PLAN_INVALID" and "\n" not in str(refused.value)


def test_whatever_number_stands_in_a_round_is_worked_out_or_refused() -> None:
    """Every number of every place replaced by odd ones: a refusal, or a plan that is checked and written."""
    places = [*json.loads(TEXT)["thresholds"]["rounds"][0]]
    for place in places:
        for value in (0, 1, 1e-18, 200, 1e21, 2**40, 3.5):
            first = json.loads(TEXT)["thresholds"]["rounds"]
            first[0][place] = value
            try:
                plan = ReleasePlan.from_json(spoilt(rounds=first))
            except InputError:
                continue
            plan.verify()
            assert plan.to_markdown() and plan.to_html() and plan.sentence()
