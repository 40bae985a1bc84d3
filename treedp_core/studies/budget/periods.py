"""Two periods in one table: earlier records tune a split, later ones are released (Dawson et al., Section 6)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.records import Dataset
from treedp_core.records.count import paths
from treedp_core.records.count.elsewhere import with_other_leaf
from treedp_core.records.dataset import labels_of
from treedp_core.tree import IntArray
from treedp_core.words import plural

_ENDED: Final = -1


def by_period(data: Dataset, level: int, earlier: Collection[str], keep: str = "later") -> Dataset:
    r"""Return the records of the later periods in a table, or of the earlier ones, on a tree without their level.

    Both have one tree, whichever periods a leaf is listed in. Of records without a place of their own ("(other)") the
    period is not known: they are later ones.

    Parameters
    ----------
    data : Dataset
    level : int
        Of the periods, from 1 on; at least one other level stays.
    earlier : collection of str
        Categories of the earlier periods; all others are later ones.
    keep : {"later", "earlier"}

    Raises
    ------
    InputError
        ``ONE_LEVEL``, ``VALUE_UNKNOWN``; ``PERIOD`` where no category is earlier or none is later, one is not there, or
        branches that end early leave open what the tree is without the periods.

    >>> from treedp_core.records import count_hierarchy, domain_of_values
    >>> domain = domain_of_values({"year": ["1", "2"], "sex": ["F", "M"]})
    >>> data = count_hierarchy(b"year,sex\n1,F\n2,F\n2,M\n", ["year", "sex"], domain=domain)
    >>> by_period(data, 1, ["1"]).counts.tolist(), by_period(data, 1, ["1"], "earlier").counts.tolist()
    ([2, 1, 1, 0], [1, 1, 0, 0])
    """
    checks.one_of("keep", keep, ("later", "earlier"))
    if data.tree.height < 2 or not 1 <= level <= data.tree.height:
        raise InputError("ONE_LEVEL", "Expected a level of periods and at least one more; add a level.")
    words = data.labels.vocabularies[level].tolist()
    first = [word in set(earlier) for word in words]
    if not set(earlier) <= set(words) or not any(first) or all(first):
        raise InputError("PERIOD", "Expected some of the level's categories as the earlier periods, and others after.")
    leaves, codes = _leaf_codes(data)
    if (codes[:, level - 1] == _ENDED).any():
        raise InputError("PERIOD", "Some branches end above the level of periods, so their records have none.")
    others = [i for i in range(codes.shape[1]) if i != level - 1]
    distinct, place = np.unique(codes[:, others], axis=0, return_inverse=True)
    length = paths.lengths(distinct, [_ENDED] * len(others))
    built = paths.build(distinct, length, np.ones(length.size, dtype=np.bool_), keep_blank=False)
    if built.extended is not None:
        raise InputError("PERIOD", "In one period a branch ends where in another it goes on; list the same leaves.")
    chosen = np.array(first)[codes[:, level - 1]] == (keep == "earlier")
    own = np.zeros(built.tree.n_nodes, dtype=np.int64)
    np.add.at(own, built.leaf_of_path[place.reshape(-1)[chosen]], data.counts[leaves[chosen]])
    return _on(data, built, others, own, keep)


def _on(data: Dataset, built: paths.PathTree, others: Sequence[int], own: IntArray, keep: str) -> Dataset:
    """The records of a period (n_nodes,) on its tree; those without a place of their own are later ones."""
    without = 0 if data.other_leaf is None or keep == "earlier" else int(data.counts[data.other_leaf])
    names = [data.labels.level_names[1 + i] for i in others]
    words: tuple[Sequence[str], ...] = tuple(data.labels.vocabularies[1 + i].tolist() for i in others)
    tree, codes = built.tree, built.codes
    if data.other_leaf is not None:
        if others[0] == 0:
            words = (words[0][:-1], *words[1:])  # the last one is its label
        tree, own, codes, words = with_other_leaf(tree, own, codes, words, without)
    counts = tree.add_up(own)
    told = f"The records of the {keep} periods only; the whole table has {plural(data.total, 'record')}."
    notices = (*data.report.notices, ("PERIOD", told))
    other = data.report.other if without else 0
    report = replace(data.report, counted=int(counts[0]), other=other, notices=notices)
    labels = labels_of(tree, codes, words, names)
    return Dataset(f"{data.name}, {keep}", tree, labels, counts, data.domain_source, report)


def _leaf_codes(data: Dataset) -> tuple[IntArray, NDArray[np.int32]]:
    """The leaves but "(other)", (n_leaves,), and the code of each of their levels, (n_leaves, height); -1 below."""
    tree = data.tree
    leaves = np.array([leaf for leaf in tree.leaves.tolist() if leaf != data.other_leaf], dtype=np.int64)
    codes = np.full((leaves.size, tree.height), _ENDED, dtype=np.int32)
    at = leaves.copy()
    for level in reversed(range(1, tree.n_levels)):
        here = tree.level_of[at] == level
        codes[here, level - 1] = data.labels.codes[at[here]]
        at[here] = tree.parent[at[here]]
    return leaves, codes
