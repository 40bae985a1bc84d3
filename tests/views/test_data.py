"""The views of Data and tree as calls: what the noise of a leaf hides, the blocks below a node, and the strips."""

from __future__ import annotations

import math

import pytest

from oracles_pages import RAGGED, dataset
from sample_data.catalogue import count_sample
from treedp_core.records import Dataset
from treedp_core.tree import Tree
from treedp_core.views import Tables, data
from treedp_core.views.data import DataInputs

LEVELS = Tree.from_branching_factors((4, 16))


def answer(of: Dataset) -> str:
    return data.tree(DataInputs(), Tables(of)).answer.replace("\u202f", " ")


def test_the_answer_says_how_many_leaves_the_noise_hides() -> None:
    """Six noisy levels at a sixth of epsilon: b = 12, P(|Z| > 36) <= 1/20 < P(|Z| > 35); 58 of 64 blocks are <= 36."""
    p = math.exp(-1 / 12)
    assert 2 * p**37 / (1 + p) <= 1 / 20 < 2 * p**36 / (1 + p)
    told = answer(count_sample("small_town"))
    assert "1 000 records on 64 leaves; at ε = 1 the 95 % margin of a leaf is 36 records, and 58 leaves" in told


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([9999] * 64, "every leaf is larger than that."),
        ([0] * 64, "no leaf is larger than that."),
        ([9999, *[0] * 63], "63 leaves (98.4 %) are not larger than that."),
        ([*[9999] * 63, 0], "1 leaf (1.56 %) is not larger than that."),
    ],
)
def test_every_and_no_are_said_only_where_that_is_so(counts: list[int], said: str) -> None:
    assert answer(dataset(LEVELS, counts)).endswith(f"records, and {said}")


def test_blocks_start_at_a_node_and_the_parent_stands_for_a_leaf() -> None:
    whole, below, leaf = (data.tree(DataInputs(node=node), Tables(RAGGED)) for node in (0, 2, RAGGED.tree.n_nodes - 1))
    assert whole.figure is not None and below.figure is not None and leaf.figure is not None
    assert len(whole.figure.data[0]["ids"]) == RAGGED.tree.n_nodes
    assert next(iter(below.figure.data[0]["ids"])) == "2"
    assert next(iter(leaf.figure.data[0]["ids"])) == str(RAGGED.tree.parent[-1])
    assert "NOT PRIVATE" in whole.badges and whole.provenance.seed is None


def test_strips_have_every_level() -> None:
    assert set(data.strips(DataInputs(), Tables(RAGGED)).table["level"]) == set(RAGGED.labels.level_names)
