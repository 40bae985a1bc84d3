"""A public place for records that fit no category, so that the number of counted records is that of all records.

Where the total is public, replacing a record by one that fits nowhere must not change it: such records are counted in
one more leaf below the root. It is there whether or not any record needs it, so the tree says nothing about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.checks import InputError
from treedp_core.records.read import text
from treedp_core.tree import Tree
from treedp_core.words import plural

IntArray = NDArray[np.int64]
Words = tuple[Sequence[str], ...]

OUTSIDE_RULES: Final = ("other", "refuse")


def with_other_leaf(
    tree: Tree, own: IntArray, level_codes: Sequence[IntArray], vocabularies: Words, n_records: int
) -> tuple[Tree, IntArray, tuple[IntArray, ...], Words]:
    """Return a tree with a leaf "(other)" last on level 1 that holds `n_records` more, or its own if it lists one.

    Parameters
    ----------
    own : (n_nodes,) int64
        Records on each leaf.
    level_codes, vocabularies
        The label of every node below the root, level by level.

    Examples
    --------
    >>> tree, own, codes, words = with_other_leaf(
    ...     Tree.from_branching_factors((1, 2)),
    ...     np.array([0, 0, 4, 5]),
    ...     (np.array([0]), np.array([0, 1])),
    ...     (("x",), "yz"),
    ...     7,
    ... )
    >>> tree.parent.tolist(), own.tolist(), [c.tolist() for c in codes], words[0]
    ([-1, 0, 0, 1, 1], [0, 0, 7, 4, 5], [[0, 1], [0, 1]], ('x', '(other)'))
    """
    if tree.height == 0:  # a single node takes everything
        return tree, own + n_records, tuple(level_codes), vocabularies
    first, words = tree.level(1), tuple(vocabularies[0])
    label = text.OTHER
    while label in words:
        listed = np.flatnonzero((level_codes[0] == words.index(label)) & tree.is_leaf[first])
        if listed.size:
            own = own.copy()
            own[first.start + int(listed[0])] += n_records
            return tree, own, tuple(level_codes), vocabularies
        label = f"({label})"
    children = [tree.n_children[tree.level(level)] for level in range(tree.height)]
    children[0] = children[0] + 1
    if tree.height > 1:
        children[1] = np.append(children[1], 0)
    return (
        Tree.from_child_counts(children),
        np.insert(own, first.stop, n_records),
        (np.append(level_codes[0], len(words)), *level_codes[1:]),
        ((*words, label), *vocabularies[1:]),
    )


def refuse_outside(n_records: int, tail: str = "") -> None:
    """Refuse records that fit no category where that was asked for.

    Raises
    ------
    InputError
        ``OUTSIDE_DOMAIN``.
    """
    if n_records:
        raise InputError(
            "OUTSIDE_DOMAIN",
            f"{plural(n_records, 'record fits', 'records fit')} no category{tail}; list their categories, or "
            f"count them under {text.OTHER}.",
        )
