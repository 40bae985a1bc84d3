"""Made-up records: shapes have the weights they say, counts are a fair draw, and bad shapes of a tree are refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from refusals import refuses
from treedp_core.records.mock_data import MAX_RECORDS, SHAPES, leaf_counts
from treedp_core.tree import Tree
from treedp_core.tree.text import branching_factors_from_text

TREE = Tree.from_branching_factors((10, 10))
FALSE_ALARM = 1e-6


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_add_up_and_repeat_with_the_seed(shape: str) -> None:
    counts = leaf_counts(TREE, shape, 12_345, rng())
    assert counts.dtype == np.int64
    assert counts.shape == (100,)
    assert counts.min() >= 0
    assert counts.sum() == 12_345
    assert (counts == leaf_counts(TREE, shape, 12_345, rng())).all()
    if shape != "uniform":  # the weights themselves are drawn
        assert (counts != leaf_counts(TREE, shape, 12_345, rng(8))).any()


def test_zipf_weights_are_the_harmonic_ones_in_random_order() -> None:
    weights = SHAPES["zipf"].weights(5, rng())
    assert sorted(weights, reverse=True) == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]


def test_sparse_weights_leave_all_but_3_percent_empty() -> None:
    weights = SHAPES["sparse"].weights(1000, rng())
    assert np.count_nonzero(weights) == 30
    assert (leaf_counts(Tree.from_branching_factors((1000,)), "sparse", 10_000, rng())[weights == 0] == 0).all()


def is_uniform(counts: np.ndarray) -> bool:
    """Chi-square test against equal weights."""
    expected = counts.sum() / counts.size
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic < stats.chi2.isf(FALSE_ALARM, counts.size - 1)


@pytest.mark.statistical
def test_uniform_counts_are_a_fair_draw() -> None:
    """False alarm 1e-6; a draw in which half the leaves are 3 % likelier is rejected."""
    assert is_uniform(leaf_counts(TREE, "uniform", 1_000_000, rng()))
    loaded = np.repeat([1.03, 1.0], 50)
    assert not is_uniform(rng().multinomial(1_000_000, loaded / loaded.sum()))


def has_log_spread(weights: np.ndarray, sigma: float) -> bool:
    """Whether log weights have variance sigma^2: n times the ratio follows a chi-square law."""
    n = weights.size
    statistic = float((np.log(weights) ** 2).sum()) / sigma**2
    return stats.chi2.ppf(FALSE_ALARM / 2, n) < statistic < stats.chi2.isf(FALSE_ALARM / 2, n)


@pytest.mark.statistical
def test_lognormal_weights_have_the_spread_they_say() -> None:
    """False alarm 1e-6; 0.7 and 1.3 times the spread are rejected."""
    weights = SHAPES["lognormal"].weights(10_000, rng())
    assert has_log_spread(weights, 1.5)
    assert not has_log_spread(weights**0.7, 1.5)
    assert not has_log_spread(weights**1.3, 1.5)


@pytest.mark.parametrize(
    ("shape", "n", "code"),
    [
        ("surprise", 1000, "VALUE_UNKNOWN"), ("zipf", 99, "RECORDS_RANGE"),
        ("zipf", MAX_RECORDS + 1, "RECORDS_RANGE"), ("zipf", 1000.5, "RECORDS_RANGE"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(shape: str, n: float, code: str) -> None:
    with refuses(code):
        leaf_counts(TREE, shape, n, rng())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "TREE_SHAPE"), ("1", "TREE_SHAPE"), ("0", "TREE_SHAPE"), ("-1", "TREE_SHAPE"), ("2,2,x", "TREE_SHAPE"),
        ('[2,2,"x"]', "TREE_SHAPE"), ("1.5", "TREE_SHAPE"), ("٣", "TREE_SHAPE"), ("16,,16", "TREE_SHAPE"),
        ("2," * 150 + "2", "TREE_SHAPE"), ("1000000000", "TOO_MANY_NODES"), (",".join(["10"] * 13), "TOO_MANY_NODES"),
    ],
)  # fmt: skip
def test_bad_branching_factors_are_refused(text: str, code: str) -> None:
    with refuses(code) as refused:
        branching_factors_from_text(text)
    assert len(str(refused.value)) < 300
