"""What a plan states of the domain of its data: names and categories, never counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import numpy as np

from treedp_core.plans.statement import (
    LISTED,
    Bins,
    Categories,
    Domain,
)
from treedp_core.records import Dataset
from treedp_core.records.read.text import OTHER
from treedp_core.studies.cdf.bins import Bins as CountedBins
from treedp_core.studies.cdf.bins import bins_of
from treedp_core.studies.topdown.contingency_table import Subject, is_product
from treedp_core.tree import IntArray, Tree

Data = Dataset | Subject | CountedBins

MOST_LEAVES: Final = 100_000
"""Of a tree whose paths are listed, or taken into a fingerprint."""


def domain_of(data: Data, source: Dataset | None, factors: tuple[int, ...]) -> Domain:
    """Return the domain that a plan states of such data: listed, as bins, or by its fingerprint; `factors` of bins."""
    origin = Categories.PUBLIC if source is None else Categories(source.domain_source.value)
    if origin is Categories.FROM_DATA:
        return Domain(origin)
    if isinstance(data, CountedBins) and factors:
        if not data.numeric or (source is not None and not source.report.recipe.numbers):
            return _in_a_row(origin, source, Bins("", data.n_bins, factors))
        return Domain(origin, bins=Bins(data.unit, data.n_bins, factors, _edges(data), data.has_other))
    if source is not None and source.report.recipe.numbers and not isinstance(data, CountedBins):
        return domain_of(bins_of(source), source, _factors(source.tree, source.other_leaf is not None))
    if isinstance(data, Subject) and data.is_product:
        return _listed(origin, tuple(tuple(map(str, words)) for words in data.words), ())
    if isinstance(data, CountedBins):
        return Domain(origin)
    return _of_labels(origin, data)


def _edges(data: CountedBins) -> tuple[float, ...]:
    """The bounds of equal bins; else every edge."""
    return data.ends(0, data.n_within) if data.are_equal else tuple(data.edges.tolist())


def _in_a_row(origin: Categories, source: Dataset | None, bins: Bins) -> Domain:
    """The domain of bins that are leaves: their labels in order, and last the leaf of what lies beside them."""
    if source is None:
        return Domain(origin, bins=bins)
    listed = _of_labels(origin, source)
    if source.edges is not None:
        listed = _intervals(listed, source)
    leaves = tuple(sorted(listed.leaves, key=len, reverse=True))
    return replace(listed, leaves=leaves, bins=replace(bins, columns=tuple(source.labels.level_names[1:])))


def _intervals(listed: Domain, source: Dataset) -> Domain:
    """The domain of leaves of which some lie beside intervals: where those are several, all of them are "(other)"."""
    paths, inside = list(listed.labels()), source.labels.paths_of(source.interval_leaves)
    beside = sorted(set(paths) - set(inside), key=lambda path: path == (OTHER,))
    if len(beside) > 1 and beside[-1] != (OTHER,):
        return Domain(listed.source)
    in_order = tuple([*inside, *beside[-1:]])
    return listed if in_order == tuple(paths) or not paths else _listed(listed.source, (), in_order)


def _of_labels(origin: Categories, data: Dataset | Subject) -> Domain:
    if data.labels is None or data.tree is None:
        return Domain(origin)
    if isinstance(data, Dataset) and is_product(data):
        return _listed(origin, tuple(tuple(map(str, words)) for words in data.labels.vocabularies[1:]), ())
    if data.tree.n_leaves > MOST_LEAVES:
        return Domain(origin)
    return _listed(origin, (), tuple(data.labels.paths_of(_in_order(data.tree))))


def _in_order(tree: Tree) -> IntArray:
    """Return the leaves of a tree, (n_leaves,), as they stand from left to right, whatever their levels."""
    below, before = tree.add_up(tree.is_leaf.astype(np.int64)), np.zeros(tree.n_nodes, dtype=np.int64)
    for level in range(tree.height):
        parents, children = tree.level(level), tree.level(level + 1)
        of_inner = np.where(tree.is_leaf[parents], 0, below[parents])
        first = np.cumsum(of_inner) - of_inner  # leaves of the next level's nodes that are no children of theirs
        start = np.cumsum(below[children]) - below[children]
        before[children] = tree.spread(level, before[parents] - first) + start
    return tree.leaves[np.argsort(before[tree.leaves])]


def _factors(tree: Tree, has_other: bool) -> tuple[int, ...]:
    """Branching factors of a tree over bins, without a leaf "(other)" that stands beside deeper ones."""
    sizes = tree.level_sizes.copy()
    sizes[1] -= has_other and tree.height > 1
    return tuple((sizes[1:] // sizes[:-1]).tolist())


def _listed(source: Categories, categories: tuple[tuple[str, ...], ...], leaves: tuple[tuple[str, ...], ...]) -> Domain:
    """A domain with its list, or where that is too long with its fingerprint alone."""
    whole = Domain(source, categories, leaves)
    few = math.prod(map(len, categories)) <= MOST_LEAVES
    digest = fingerprint(whole.paths()) if few else ""
    short = sum(len(text) + 8 for texts in (*categories, *leaves) for text in texts) <= LISTED
    return replace(whole, digest=digest) if short else Domain(source, digest=digest)


def fingerprint(paths: Iterable[tuple[str, ...]]) -> str:
    r"""SHA-256 (hex) of the paths of leaves, sorted: their labels joined by "\x1f", each path ended by "\n".

    >>> fingerprint([("b",), ("a", "x")])[:8]
    '3d0a4095'
    """
    text = "".join("\x1f".join(path) + "\n" for path in sorted(paths))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
