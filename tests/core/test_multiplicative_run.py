"""One run of the thresholds beside simple rules: what is released, what is drawn of it, and how it did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from treedp_core.experiment import Experiment
from treedp_core.studies.multiplicative import run as running
from treedp_core.studies.multiplicative import simple
from treedp_core.studies.multiplicative import simple as trees
from treedp_core.studies.multiplicative.blocks import FRESH, blocks
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

SIGMA = 4.2246788893268353
"""Of one count at epsilon 1, delta 1e-6, solved elsewhere from the exact Gaussian trade-off."""


def made(source: Any, plan: str = "tuned", **settings: Any) -> running.Run:
    return running.run(source, plan, Experiment(**{"alpha": 0.5, "delta": 1e-8, **settings}))


def test_the_small_tree_is_stepped_from_nothing_to_the_release() -> None:
    one = made(trees.small_tree())
    assert one.source.paths.total == 15_600
    seen = np.zeros(31, dtype=bool)
    for step in range(one.n_steps):
        values = blocks(one, step).value
        assert (np.isfinite(values) | ~seen).all()  # what has a value keeps it
        seen = np.isfinite(values)
    np.testing.assert_array_equal(blocks(one, one.n_steps).value, one.nodes.released)
    assert not np.isfinite(blocks(one, 0).value).any()


def test_blocks_of_a_larger_tree_show_every_node_as_released() -> None:
    """48 leaves, all with records: each is a column, so the block at a node's place must have its value."""
    tree = Tree.from_branching_factors((4, 4, 3))
    counts = tree.counts_of_leaves(np.arange(1, 49) ** 2 * 4)
    one = made(trees.tree_in_use("larger", tree, counts))
    assert not one.story
    final = blocks(one, one.n_steps)
    for node in range(tree.n_nodes):
        x, y = tree.leaf_start[node] + 0.5, tree.level_of[node] + 0.5
        inside = (final.left < x) & (x < final.left + final.width) & (final.top < y) & (y < final.top + final.height)
        assert inside.sum() == 1
        assert final.value[inside][0] == one.nodes.released[node]
        assert final.least[inside][0] <= counts[node] <= final.count[inside][0]


def test_alike_leaves_do_not_hide_the_heavy_branches() -> None:
    """100 groups of 100 leaves with one record each, but group 70 with 50 each: it is drawn, and so are 59 others."""
    tree = Tree.from_branching_factors((100, 100))
    leaves = np.ones(10_000, dtype=np.int64)
    leaves[7000:7100] = 50
    source = trees.tree_in_use("alike", tree, tree.counts_of_leaves(leaves))
    left, width, shown = source.columns
    paths = source.paths
    groups = shown[(paths.top[shown] <= 1) & (paths.bottom[shown] >= 1) & (paths.parent[shown] >= 0)]
    assert paths.weight[groups].max() == 5000
    assert width[0] == 60  # the root spans them all
    assert (left[shown] + width[shown] <= 60).all()
    wide = trees.tree_in_use("wide", tree, tree.counts_of_leaves(np.ones(10_000, dtype=np.int64)))
    assert (wide.paths.top[wide.columns[2]] == 1).sum() >= 59  # as many groups as there are columns


def test_rounds_colour_only_what_they_labelled() -> None:
    one = made(trees.deep_tree(200, 300, 1))
    values = [level.value for level in one.plan.levels]
    for step in range(one.n_steps):
        shown = blocks(one, step)
        assert set(shown.value[np.isfinite(shown.value)]) <= set(values[:step])
        assert set(shown.value[shown.mark == FRESH]) <= set(values[step - 1 : step])
    last = blocks(one, one.n_steps)
    assert np.isfinite(last.value).all()
    assert last.left.size <= 400


def test_a_deep_tree_is_as_asked() -> None:
    paths = trees.deep_tree(1000, 100, 3).paths
    assert paths.n_levels == 1000
    assert paths.n_leaves == 100
    assert 100 * 50 <= paths.total <= 100 * 51  # 50 each on average, every leaf rounded up
    tops = paths.top[1:]
    assert tops.min() < 250  # it branches all the way down
    assert tops.max() > 750


@pytest.mark.parametrize(("relation", "scale"), [("add_or_remove_one", 5.0), ("replace_one", 8.0)])
def test_simple_rules_keep_the_same_promise(relation: str, scale: float) -> None:
    """Five levels, epsilon 1: Laplace scale 5 a level; replacing a record moves two counts, but the root is public."""
    one = made(trees.small_tree(), relation=relation, delta=1e-6)
    rules = one.nodes.simple
    assert rules["laplace"].worst == pytest.approx(math.sqrt(2) * scale)
    assert rules["shrunk_laplace"].worst == pytest.approx(0.5 * scale)
    if relation == "add_or_remove_one":
        assert rules["gaussian"].worst == pytest.approx(SIGMA * math.sqrt(5), rel=1e-6)
        # the binary tree of 5 levels has gamma_2^2 = 1 + 4 / 3; least squares with minimax budgets attains it
        assert rules["shrunk_optimal"].worst == pytest.approx(0.5 * SIGMA * math.sqrt(7 / 3) / math.sqrt(2), rel=1e-3)
    else:
        assert rules["shrunk_gaussian"].released[0] == 15_600
        assert rules["shrunk_optimal"].released[0] == pytest.approx(15_600)
    assert simple.best(rules) == "shrunk_optimal" if relation == "add_or_remove_one" else "shrunk_laplace"


def test_the_summary_counts_by_hand() -> None:
    truth, released = np.array([0.0, 10.0, 100.0]), np.array([3.0, 14.0, 30.0])
    assert running.excess(truth, released, 0.5).tolist() == [3.0, 0.0, 20.0]
    one = made(trees.small_tree())
    table = running.summary(one)
    off = running.excess(one.nodes.truth, one.nodes.released, 0.5)
    assert table["rule"][0] == "Thresholds"
    assert table["largest error beyond α w"][0] == off.max()
    assert table["nodes within α w"][0] == pytest.approx(sum(x == 0 for x in off) / 31)


def test_few_nodes_are_drawn_the_smallest_and_the_largest_among_them() -> None:
    one = made(trees.deep_tree(100, 2000, 2))
    drawn = running.drawn(one.nodes.truth)
    assert drawn.size <= 400
    assert one.nodes.truth[drawn[0]] == 0
    assert one.nodes.truth[drawn[-1]] == one.source.paths.total
    assert len(set(drawn.tolist())) == drawn.size
    assert running.drawn(made(trees.small_tree()).nodes.truth).size == 31


def test_the_round_table_adds_up() -> None:
    one = made(trees.deep_tree(100, 200, 2))
    rounds = one.rounds
    assert rounds["round"] == list(range(1, one.n_steps + 1))
    assert rounds["threshold"] == sorted(rounds["threshold"], reverse=True)
    for yes, trees_tested, passed, tested in zip(
        rounds["answered yes"], rounds["trees tested"], rounds["passed"], rounds["nodes tested"], strict=True
    ):
        assert yes <= trees_tested
        assert passed <= tested


def test_a_public_total_is_released_as_it_is() -> None:
    """Where the total is public it is the root's estimate, as in a release by the core; elsewhere it is a label."""
    small, deep = made(trees.small_tree()), made(trees.deep_tree(200, 300, 1))
    for one in (small, deep):
        total = one.source.paths.total
        assert set(one.nodes.released[one.nodes.level == 0]) == {total}
        shown = blocks(one, one.n_steps)
        assert shown.value[(shown.top == 0) & (shown.height == 1)].tolist() == [total]
    other = made(trees.small_tree(), relation="add_or_remove_one")
    assert other.nodes.released[0] in [level.value for level in other.plan.levels]


@pytest.mark.parametrize("source", [trees.small_tree(), trees.deep_tree(100, 50, 2)])
@pytest.mark.parametrize("plan", list(running.PLANS))
def test_the_clamp_is_the_last_step(source: Any, plan: str) -> None:
    """Bounded noise on every count: nothing stays further than 2 R from its count, nothing moves away from it."""
    settings = Experiment(alpha=0.5, delta=1e-8, relation="add_or_remove_one")
    one = running.run(source, plan, settings, clamped=True)
    assert one.reach is not None
    assert one.n_steps == one.n_searches + 1
    before = one.found.estimation.values(one.nodes.edge, one.nodes.level)
    off = np.abs(one.nodes.released - one.nodes.truth)
    assert (off <= 2 * one.reach).all()
    assert (off <= np.abs(before - one.nodes.truth)).all()
    assert one.moved == (before != one.nodes.released).sum()
    if source.is_small:
        assert (blocks(one, one.n_steps).mark == FRESH).sum() == one.moved
    assert one.error is not None
    if plan == "paper":  # Lemma 3.3 with alpha tau, eta = 1e-4: its only bound
        tau = one.plan.default_value / 0.5
        assert one.error == pytest.approx(math.sqrt((0.5 * tau + 0.5) ** 2 + 4e-4 * one.reach**2))
        assert one.moved > 0
        assert running.run(source, plan, settings).error is None


def test_a_run_counts_its_rounds_and_stops_between_them() -> None:
    """Cancelled before the third of its rounds: two rounds' share of the hundred steps were reported."""
    steps: list[int] = []
    rounds = len(made(trees.small_tree()).plan.levels)
    with pytest.raises(Cancelled):
        running.run(
            trees.small_tree(), "tuned", Experiment(alpha=0.5, delta=1e-8),
            watch=Watch(steps.append, lambda: len(steps) == 2),
        )  # fmt: skip
    assert rounds > 2
    assert sum(steps) == 200 // rounds
