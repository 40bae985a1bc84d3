"""Made-up records: how many fall on each leaf of a tree, under a few shapes that real data have, and data of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, labels_of
from treedp_core.registry import Table, lookup, table
from treedp_core.tree import FloatArray, IntArray, Tree
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import powers

MIN_RECORDS: Final = 100
MAX_RECORDS: Final = 10_000_000
ACTIVE_SHARE: Final = 0.03

Weights = Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Shape:
    """A table entry: ``weights(n_leaves, rng)`` says how likely a record falls on each leaf, in any positive scale."""

    name: str
    label: str
    help: str
    weights: Weights


def _uniform(n_leaves: int, rng: np.random.Generator) -> FloatArray:
    return np.ones(n_leaves)


def _zipf(n_leaves: int, rng: np.random.Generator) -> FloatArray:
    return 1.0 / rng.permutation(np.arange(1.0, n_leaves + 1.0))


def _lognormal(n_leaves: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.exp(1.5 * rng.standard_normal(n_leaves)))


def _sparse(n_leaves: int, rng: np.random.Generator) -> FloatArray:
    weights = np.zeros(n_leaves)
    active = rng.choice(n_leaves, size=max(1, round(ACTIVE_SHARE * n_leaves)), replace=False)
    weights[active] = 1.0 / np.arange(1.0, active.size + 1.0)
    return weights


SHAPES: Final[Table[Shape]] = table(
    Shape("uniform", "Uniform", "Every leaf is equally likely.", _uniform),
    Shape("zipf", "Zipf", "The k-th most likely leaf has weight 1/k; the order of the leaves is random.", _zipf),
    Shape("lognormal", "Lognormal", "Weights are e to 1.5 times a standard normal: places of many sizes.", _lognormal),
    Shape("sparse", "Sparse conversions", "Only 3 % of the leaves occur at all, and those follow Zipf's law.", _sparse),
)


def leaf_counts(tree: Tree, shape: str, n_records: int, rng: np.random.Generator) -> IntArray:
    """Return the number of records on each leaf, (n_leaves,) int64 in left-to-right order.

    Records fall independently, so the counts are one multinomial draw of `n_records`.

    Parameters
    ----------
    tree : Tree
    shape : str
        A name in `SHAPES`.
    n_records : int
        100 to 10 000 000.
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for the shape, ``RECORDS_RANGE`` for the number.

    Examples
    --------
    >>> tree = Tree.from_branching_factors((4, 4))
    >>> counts = leaf_counts(tree, "zipf", 1000, np.random.default_rng(7))
    >>> counts.shape, int(counts.sum())
    ((16,), 1000)
    """
    weights = lookup(SHAPES, shape, "shape").weights(tree.n_leaves, rng)
    n = checks.integer("records", n_records, low=MIN_RECORDS, high=MAX_RECORDS, code="RECORDS_RANGE")
    return rng.multinomial(n, weights / weights.sum())


def generate(shape: str, n_records: int, branching: str, seed: int) -> Dataset:
    """Return a made-up data set: `n_records` on the leaves of a tree, drawn from a seed.

    Parameters
    ----------
    shape : str
        A name in `SHAPES`.
    n_records : int
    branching : str
        As people type branching factors: "3,4" or "2^6".
    seed : int

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``RECORDS_RANGE``, ``VALUE_UNKNOWN``.

    Examples
    --------
    >>> generate("zipf", 1000, "3,4", 7).total
    1000
    """
    factors = branching_factors_from_text(branching)
    drawn = leaf_counts(Tree.from_branching_factors(factors), shape, n_records, np.random.default_rng(seed))
    made = of_leaf_counts(branching, drawn.tolist(), f"{SHAPES[shape].label} on {powers(factors)} (generated)")
    return replace(made, is_made_up=True)


def of_leaf_counts(branching: str, leaves: Sequence[int], name: str = "Counts") -> Dataset:
    """Return a data set of given counts, one for each leaf in order.

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``COUNTS_SHAPE``.

    >>> of_leaf_counts("2,2", [3, 0, 20, 7]).counts.tolist()
    [30, 3, 27, 3, 0, 20, 7]
    """
    factors = branching_factors_from_text(branching)
    tree = Tree.from_branching_factors(factors)
    counts = tree.counts_of_leaves(np.array(leaves, dtype=np.int64))
    codes = [np.tile(np.arange(k), tree.level_sizes[level]) for level, k in enumerate(factors)]
    words = [[str(child) for child in range(1, k + 1)] for k in factors]
    names = [f"level {level}" for level in range(1, tree.n_levels)]
    report = ReadReport(rows=int(counts[0]), counted=int(counts[0]))
    return Dataset(name, tree, labels_of(tree, codes, words, names), counts, DomainSource.PUBLIC, report)
