"""Privacy of the threshold mechanism: exact laws on tiny trees, and recorded answers replayed on every neighbour."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import oracles_thresholds as oracle
from audit.neighbours import Small
from audit.thresholds import lost
from refusals import refuses
from treedp_core.mechanisms.thresholds import estimation
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel, rounds_together
from treedp_core.mechanisms.thresholds.plans import tuned_plan
from treedp_core.mechanisms.thresholds.reduction import label_nodes
from treedp_core.mechanisms.thresholds.release import release_with_thresholds
from treedp_core.mechanisms.thresholds.schedule import printed_schedule
from treedp_core.mechanisms.thresholds.sparse_vector import Draw, Queries
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.tree import Tree
from treedp_core.tree.path_tree import PathTree

ADD_REMOVE = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
RISK = 1e-6  # of rejecting the right law, for each comparison of a sample with its law

SMALL = Tree.from_branching_factors((2, 2))
RAGGED = Tree.from_child_counts([np.array([2]), np.array([2, 1]), np.array([0, 0, 1])])
CHAINS = Tree.from_branching_factors((1, 2, 1, 1))
COUNTS = {
    "chains": (CHAINS, CHAINS.counts_of_leaves(np.array([5, 2]))),
    "small": (SMALL, SMALL.counts_of_leaves(np.array([6, 1, 0, 3]))),
    "ragged": (RAGGED, RAGGED.counts_of_leaves(np.array([6, 2, 0]))),
}


def tiny_level(threshold: float, a: float, b: float, t: float, delta: float) -> PlanLevel:
    bound = truncated_bound(t, delta)
    return PlanLevel(2 * threshold, threshold, bound + 0.5, a, b, t, delta, bound)


def tiny_plan() -> Plan:
    levels = (tiny_level(6.0, 0.5, 0.7, 1.2, 0.02), tiny_level(3.0, 0.6, 0.4, 1.5, 0.03))
    return Plan("tiny", 4.9001, 0.05, levels, 1.0, 0.5)


def rule_of(level: PlanLevel) -> dict[str, float]:
    """The round as the oracle wants it; its integer bound by adding up, not by the formula."""
    bound = 0
    while oracle.truncated_pmf(level.pass_epsilon, bound)[bound] > level.pass_delta:
        bound += 1
    return {
        "threshold": level.classification_threshold,
        "a": level.threshold_epsilon,
        "b": level.query_epsilon,
        "t": level.pass_epsilon,
        "bound": bound,
        "exceed": bound + level.pass_threshold - level.pass_bound,
    }


def exact_law(tree: Tree, counts: np.ndarray, plan: Plan) -> dict[tuple[int, ...], float]:
    law = oracle.mechanism_law(tree.parent.tolist(), counts.tolist(), [rule_of(level) for level in plan.levels])
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
    return law


def sample(paths: PathTree, plan: Plan, n: int, seed: int, skip: bool = True) -> list[tuple[int, ...]]:
    labels = label_nodes(paths.copies(n), plan, Draw(np.random.default_rng(seed)), skip=skip)
    assert paths.node_edge is not None
    assert paths.level_of is not None
    edge = np.where(paths.node_edge >= 0, paths.node_edge + paths.n_edges * np.arange(n)[:, None], -1)
    return [tuple(row) for row in labels.round_of(edge, np.broadcast_to(paths.level_of, edge.shape)).tolist()]


def fits(drawn: list[Any], law: dict[Any, float]) -> bool:
    statistic, freedom = oracle.misfit(Counter(drawn), law, len(drawn))
    return bool(statistic <= stats.chi2.isf(RISK, freedom))


# --- the exact law ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTS)
def test_the_exact_law_keeps_the_promise(name: str) -> None:
    tree, counts = COUNTS[name]
    plan, law = tiny_plan(), exact_law(*COUNTS[name], tiny_plan())
    for other in oracle.neighbours(tree.parent.tolist(), counts.tolist()):
        near = exact_law(tree, np.array(other), plan)
        for p, q in ((law, near), (near, law)):
            assert oracle.hockey_stick(p, q, plan.epsilon) <= plan.delta


@pytest.mark.parametrize("name", COUNTS)
def test_the_exact_law_keeps_a_promise_that_is_smaller_than_the_sum(name: str) -> None:
    """Two rounds that cost 4.9 in sum, promised together: at four fifths of it, whatever else a neighbour is."""
    tree, counts = COUNTS[name]
    levels = tiny_plan().levels
    part = 0.8 * 4.9
    rare = max(one.delta(part) for one in rounds_together((*rates(x), x.test_law) for x in levels))
    plan = Plan("together", part, 0.05 + 1.001 * rare, levels, 1.0, 0.5)
    assert plan.exact_epsilon > 1.2 * plan.epsilon
    law = exact_law(tree, counts, plan)
    for other in oracle.neighbours(tree.parent.tolist(), counts.tolist()):
        near = exact_law(tree, np.array(other), plan)
        for p, q in ((law, near), (near, law)):
            assert oracle.hockey_stick(p, q, plan.epsilon) <= plan.delta


def rates(level: PlanLevel) -> tuple[float, float, float]:
    return level.threshold_epsilon, level.query_epsilon, level.pass_epsilon


def test_the_exact_law_shows_halved_noise() -> None:
    worst = {1: 0.0, 2: 0.0}
    for factor in worst:
        rule = {"threshold": 4.0, "a": 0.5 * factor, "b": 0.5 * factor, "t": 0.5 * factor, "bound": 5, "exceed": 5.0}
        laws = [oracle.mechanism_law([-1, 0], [w, w], [rule]) for w in range(10)]
        for p, q in zip(laws[1:], laws[:-1], strict=True):
            worst[factor] = max(worst[factor], oracle.hockey_stick(p, q, 1.5), oracle.hockey_stick(q, p, 1.5))
    assert worst[1] <= oracle.truncated_pmf(0.5, 5)[5] < worst[2]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(("dense", "skip"), [(True, False), (True, True), (False, True), (False, False)])
def test_skipping_empty_nodes_changes_no_law(name: str, dense: bool, skip: bool) -> None:
    tree, counts = COUNTS[name]
    law, paths = exact_law(tree, counts, tiny_plan()), PathTree.from_tree(tree, counts, dense=dense)
    assert fits(sample(paths, tiny_plan(), 60_000, 7, skip), law)


def test_forgetting_levels_with_empty_nodes_only_is_noticed() -> None:
    tree, counts = COUNTS["ragged"]
    paths, law = PathTree.from_tree(tree, counts), exact_law(*COUNTS["ragged"], tiny_plan())
    assert not fits(sample(replace(paths, reach=paths.bottom), tiny_plan(), 60_000, 7), law)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_other_noise_is_noticed(factor: float) -> None:
    law, paths = exact_law(*COUNTS["small"], tiny_plan()), PathTree.from_tree(*COUNTS["small"])
    levels = tuple(replace(x, query_epsilon=factor * x.query_epsilon) for x in tiny_plan().levels)
    assert not fits(sample(paths, replace(tiny_plan(), epsilon=9.0, levels=levels), 60_000, 7), law)


def test_several_answers_follow_algorithm_1() -> None:
    """Cut-off 2 and two-sided noise against the algorithm node by node; two samples, false alarm 1e-6."""
    tree = Tree.from_child_counts([np.array([2]), np.array([0, 2]), np.array([0, 1])])
    counts, n = tree.counts_of_leaves(np.array([9, 2, 6])), 6000
    bound = truncated_bound(0.75, 0.05)
    level = PlanLevel(1.0, 5.0, bound + 1.0, 1.0, 2.0, 1.5, 0.1, bound, 2, "laplace")
    plan = Plan("two answers", 4.6, 0.11, (level,), 0.0, 0.5)
    paths = PathTree.from_tree(tree, counts, dense=True)
    assert paths.node_edge is not None
    edge = paths.node_edge + paths.n_edges * np.arange(n)[:, None]
    labels = label_nodes(paths.copies(n), plan, Draw(np.random.default_rng(1), "continuous"), skip=False)
    ours = Counter(map(tuple, (labels.round_of(edge, np.tile(tree.level_of, (n, 1))) == 0).tolist()))
    rule = {"threshold": 5.0, "a": 1.0, "b": 2.0, "t": 1.5, "bound": bound, "pass": bound + 1.0}
    p_values = {}
    for c in (2, 1):
        g = np.random.default_rng(2)
        theirs = Counter(
            oracle.algorithm_1(tree.parent.tolist(), counts.tolist(), rule | {"c": c}, g) for _ in range(n)
        )
        common = [key for key in ours | theirs if ours[key] + theirs[key] >= 40]
        table = np.array([[x[key] for key in common] + [n - sum(x[key] for key in common)] for x in (ours, theirs)])
        p_values[c] = stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue
    assert p_values[1] < RISK < p_values[2]


def test_a_too_small_bound_breaks_the_promise() -> None:
    # one round on a chain of two nodes, a test that always says yes: what is left is the pass round alone
    parent, rule = [-1, 0], {"threshold": -1e3, "a": 1.0, "b": 1.0, "t": 0.5, "bound": 6, "exceed": 6.0}
    worst = {}
    for bound in (6, 3):
        p, q = (oracle.mechanism_law(parent, [w, w], [rule | {"bound": bound, "exceed": bound}]) for w in (0, 1))
        worst[bound] = max(oracle.hockey_stick(p, q, 2.5), oracle.hockey_stick(q, p, 2.5))
    assert worst[6] <= oracle.truncated_pmf(0.5, 6)[6] * (1 + 1e-12) < worst[3]


# --- recorded answers, replayed: `audit.thresholds` does so for sound plans and planted faults


def test_the_printed_schedule_is_flagged() -> None:
    """The budgets of Algorithm 4 as printed, alpha = 1/2, twelve rounds: r = 4/3, eps_i = eps (r - 1)^2 i r^(i - 1)."""
    alpha, epsilon, delta, n = 0.5, 1.0, 1e-3, 12
    r = 1 + 2 * alpha / 3
    shares = [(r - 1) ** 2 * i * r ** (i - 1) for i in range(1, n + 1)]
    # sum of i r^(i-1) in closed form: eps (1 + r^n (n (r - 1) - 1)), far more than eps
    assert sum(shares) == pytest.approx(1 + r**n * (n * (r - 1) - 1))
    levels = []
    for i in reversed(range(n)):
        e, d = epsilon * shares[i], min(delta * shares[i], 0.5)
        bound = truncated_bound(e / 2, d)
        levels.append(PlanLevel(1.0, bound, bound, e / 4, e / 4, e / 2, d, bound, 1, "laplace"))
    unchecked = SimpleNamespace(levels=tuple(levels), delta=1.0, default_value=0.0)
    worst, _, _ = lost(Small((-1, 0, 0, 1, 1, 2, 2)), np.array([9, 4, 2, 1]), unchecked)  # type: ignore[arg-type]
    assert float(worst) > 5 * epsilon
    with pytest.raises(ValueError, match="more than the promised"):
        Plan("printed", epsilon, delta, tuple(levels), 1.0, alpha)
    assert not isinstance(printed_schedule(alpha, epsilon, n), Plan)


# --- the clamp and the root ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_the_clamp_brings_no_estimate_further_from_its_count(noise) -> None:
    g = np.random.default_rng(2)
    counts, wild = g.integers(0, 1000, 500), g.normal(0, 5000, 500)
    law = estimation.bounded_noise(0.25, 2.5e-4, noise)
    tamed = estimation.clamp(wild, counts, 4, 1.0, 1e-3, g, noise=noise)
    assert (np.abs(tamed - counts) <= np.minimum(np.abs(wild - counts), 2 * law.support)).all()
    assert (np.abs(tamed - counts) < np.abs(wild - counts)).any()


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_the_root_bound_is_an_upper_bound_of_bounded_error(noise) -> None:
    law = estimation.bounded_noise(0.5, 1e-3, noise)
    drawn = [estimation.root_bound(100, 0.5, 1e-3, np.random.default_rng(s), noise) for s in range(400)]
    assert min(drawn) >= 100
    assert max(drawn) <= 100 + 2 * law.support
    assert math.isclose(np.mean(drawn), 100 + law.support, rel_tol=0.05)


@pytest.mark.statistical
def test_the_root_bound_has_the_noise_it_promises() -> None:
    """Chi-square of 4000 bounds against the law by adding up; false alarm 1e-6; half the noise is rejected."""
    law = estimation.bounded_noise(0.5, 1e-2, "discrete")
    drawn = [estimation.root_bound(100, 0.5, 1e-2, np.random.default_rng(s)) - 100 for s in range(4000)]
    noise = [int(x - law.support) for x in drawn]
    assert fits(noise, oracle.truncated_pmf(0.5, int(law.support)))
    assert not fits(noise, oracle.truncated_pmf(1.0, int(law.support)))


@pytest.mark.statistical
def test_every_node_is_clamped_with_noise_of_its_own() -> None:
    """An estimate far too low ends on the lower end of its interval, so count plus noise is seen.

    Chi-square of 4000 clamps for each of two nodes, false alarm 1e-6 each; no correlation within 6 standard errors.
    """
    g, counts = np.random.default_rng(3), np.array([7, 20])
    law = estimation.clamp_noise(2, 1.0, 1e-2)
    low = np.full((4000, 2), -1e6)
    noise = estimation.clamp(low, counts, 2, 1.0, 1e-2, g) + law.support - counts
    for of_node in noise.T.astype(int).tolist():
        assert fits(of_node, oracle.truncated_pmf(0.5, int(law.support)))
    assert abs(np.corrcoef(noise.T)[0, 1]) < 6 / math.sqrt(4000)


def test_a_clamp_shows_the_noisy_count_whatever_the_true_one_is() -> None:
    """The same noise on a neighbour: every node that moved by one record is clamped one record further."""
    counts = np.array([9, 4, 5])
    one_more = counts + np.array([1, 0, 1])
    low = np.full(3, -1e6)
    ours, theirs = (estimation.clamp(low, c, 2, 1.0, 1e-3, np.random.default_rng(8)) for c in (counts, one_more))
    assert (theirs - ours).tolist() == [1.0, 0.0, 1.0]
    assert len(set((ours - counts).tolist())) > 1


@pytest.mark.parametrize("private_root", [True, False])
@pytest.mark.parametrize(("of_epsilon", "of_delta"), [(1.5, 0.1), (0.5, 1.5)])
def test_a_planner_that_overspends_one_of_its_two_budgets_is_refused(
    private_root: bool, of_epsilon: float, of_delta: float
) -> None:
    paths = PathTree.from_tree(SMALL, SMALL.counts_of_leaves(np.array([900, 40, 0, 7])))

    def greedy(epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
        return tuned_plan(0.5, of_epsilon * epsilon, of_delta * delta, n_levels, max_total)

    with refuses("PLAN_BUDGET"):
        total = None if private_root else 1000.0
        estimation.estimate(paths, greedy, 1.0, 1e-6, np.random.default_rng(1), max_total=total)


@pytest.mark.parametrize("clamp_share", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_root_rounds_and_clamp_cost_together_what_is_claimed(
    noise, clamp_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bounded noise that is drawn is counted: one for the root, one for the clamp that each level spends."""
    made: list[tuple[Fraction, Fraction]] = []
    honest = estimation.bounded_noise

    class Drawn:
        """A law that notes that it was drawn from."""

        def __init__(self, epsilon: float, delta: float, noise: str) -> None:
            self.law = honest(epsilon, delta, noise)  # type: ignore[arg-type]
            self.pair = Fraction(epsilon), Fraction(delta)

        def __getattr__(self, name: str) -> object:
            return getattr(self.law, name)

        def sample(self, *arguments: object) -> object:
            made.append(self.pair)
            return self.law.sample(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(estimation, "bounded_noise", Drawn)
    tree = Tree.from_branching_factors((3, 2, 2))
    counts = tree.counts_of_leaves(np.arange(12) * 300)
    planner = partial(tuned_plan, 0.5)
    run = release_with_thresholds(
        tree, counts, planner, ADD_REMOVE, 1.0, 1e-6, rng=np.random.default_rng(1), noise=noise, clamp_share=clamp_share
    )
    assert len(made) == 1 + (clamp_share > 0)
    plan = run.estimation.plan
    for spent, rounds, claimed in ((0, Fraction(plan.epsilon), run.epsilon), (1, Fraction(plan.delta), run.delta)):
        times = [1, *(tree.n_levels for _ in made[1:])]
        cost = rounds + sum(n * pair[spent] for n, pair in zip(times, made, strict=True))
        assert cost <= Fraction(claimed)
        assert cost >= Fraction(claimed) * Fraction(98, 100)
    assert (run.epsilon, run.delta) == (1.0, 1e-6)


def test_budgets_of_the_clamp_and_of_parts_are_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """One fifth of 1 and three tenths of 0.3: the nearest float is above, and five of it above the whole."""
    assert Fraction(1.0 / 5) * 5 > 1
    made: list[Fraction] = []
    honest = estimation.bounded_noise

    def spy(epsilon: float, delta: float, noise: str) -> object:
        made.extend((Fraction(epsilon), Fraction(delta)))
        return honest(epsilon, delta, noise)  # type: ignore[arg-type]

    monkeypatch.setattr(estimation, "bounded_noise", spy)
    estimation.clamp_noise(5, 1.0, 1e-3)
    assert 5 * made[0] <= 1 and 5 * made[1] <= Fraction(1e-3)
    assert Fraction(float(Fraction(0.3) ** 2)) > Fraction(0.3) ** 2
    for part in estimation.shares(0.3, 0.3, 0.3, 0.3):
        assert Fraction(part) <= Fraction(0.3) ** 2


def test_continuous_bounded_noise_has_the_scale_of_its_epsilon() -> None:
    law = estimation.bounded_noise(0.5, 1e-3, "continuous")
    assert (law.scale, law.bound) == (2.0, truncated_bound(0.5, 1e-3))  # type: ignore[union-attr]
    narrow = estimation.bounded_noise(0.1, 1e-3, "continuous")
    assert Fraction(narrow.scale) * Fraction(0.1) >= 1  # type: ignore[union-attr]


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_trees_and_nodes_of_a_round_draw_noise_of_their_own(noise) -> None:
    """3000 rounds with two trees of one query, and two nodes: no correlation of answers within 6 standard errors."""
    draw, level = Draw(np.random.default_rng(4), noise), tiny_level(6.0, 0.2, 5.0, 0.5, 0.02)
    one = np.zeros(2, dtype=np.int64)
    queries = Queries(np.arange(2), np.full(2, 9), one, one + 1, 2)
    fired = np.array([draw.first_above(level, queries) for _ in range(3000)])
    passed = np.array([draw.passes(level, np.arange(2), np.full(2, 3)) for _ in range(3000)])
    for answers in (fired, passed):
        assert 0.05 < (answers > 0).mean() + (answers == 0).mean() * (answers.min() < 0) < 0.95
        assert abs(np.corrcoef(answers.T)[0, 1]) < 6 / math.sqrt(3000)
