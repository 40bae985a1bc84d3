"""What the levels of a data set look like, by hand on six nodes."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracles_pages import dataset
from treedp_core.experiment import Experiment
from treedp_core.records import count_hierarchy, domain_taken_from_the_data
from treedp_core.studies.data import hidden_leaves, level_table
from treedp_core.tree import Tree

CSV = b"region,city,people\nNorth,Kiel,3\nNorth,Ulm,4\nSouth,Rome,5\n"


def test_the_level_table_on_a_small_tree() -> None:
    data = count_hierarchy(CSV, ["region", "city"], domain=domain_taken_from_the_data(), weight="people")
    table = level_table(data)
    assert table["Name"][1:] == ["region", "city"] and table["Categories"][1:] == [2, 3]
    assert table["Nodes"] == [1, 2, 3]
    assert table["Median"] == [12.0, 6.0, 4.0]
    assert table["Largest"] == [12, 7, 5]
    assert table["Empty"] == [0.0, 0.0, 0.0]
    assert table["Children"] == ["2 · 2 · 2", "1 · 1.5 · 2", "–"]


def test_a_leaf_that_ends_early_is_a_leaf() -> None:
    """Two of its leaves, of 1 and 0 records, end above the others, which are all larger than the margin."""
    tree = Tree.from_child_counts([np.array([3]), np.array([2, 0, 0])])
    counts = np.array([901, 900, 1, 0, 400, 500])
    data = dataset(tree, [400, 500, 1, 0])
    assert sorted(data.counts.tolist()) == sorted(counts.tolist())
    assert hidden_leaves(data, Experiment())[1:] == (2, 4)


@given(st.data(), st.sampled_from(("replace_one", "add_or_remove_one", "replace_unknown")))
def test_leaves_are_hidden_wherever_they_end(drawn: st.DataObject, relation: str) -> None:
    """By the parents of all nodes, and the smallest t with P(|Z| > t) <= 1/20 of noise of the same scale everywhere."""
    children, above = [], 1
    for _ in range(drawn.draw(st.integers(1, 3))):
        below = drawn.draw(st.lists(st.integers(0, 3), min_size=above, max_size=above).filter(any))
        children.append(np.array(below))
        above = sum(below)
    tree = Tree.from_child_counts(children)
    leaves = [node for node in range(tree.n_nodes) if node not in tree.parent.tolist()]
    values = drawn.draw(st.lists(st.integers(0, 60), min_size=len(leaves), max_size=len(leaves)))
    epsilon = drawn.draw(st.sampled_from((0.5, 1.0, 4.0)))
    scale = {"replace_one": 2 * tree.height, "add_or_remove_one": tree.height + 1, "replace_unknown": 2 * tree.height}
    p = math.exp(-epsilon / scale[relation])
    margin = next(t for t in range(1000) if 2 * p ** (t + 1) / (1 + p) <= 1 / 20)
    found = hidden_leaves(dataset(tree, values), Experiment(epsilon=epsilon, relation=relation))
    assert found == (margin, sum(value <= margin for value in values), len(leaves))
