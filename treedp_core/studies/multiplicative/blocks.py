"""A run as blocks of a picture: which nodes are shown, and when each got its value."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from treedp_core.studies.multiplicative.run import Run
from treedp_core.studies.multiplicative.simple import Source
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.path_tree import PathTree

FAINT, TESTED, FRESH = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Blocks:
    """A tree as blocks, level 0 on top; arrays are (n,).

    Parameters
    ----------
    left, width : columns
    top, height : first level, and number of levels
    count, least : true count at the top and at the bottom of the block, in records
    value : value given so far, in records; nan where there is none
    mark : FAINT, TESTED alone in this step, or FRESH: labelled in this step
    """

    left: FloatArray
    width: FloatArray
    top: FloatArray
    height: FloatArray
    count: FloatArray
    least: FloatArray
    value: FloatArray
    mark: IntArray


def blocks(made: Run, step: int) -> Blocks:
    """Return the tree after a number of steps, of large ones the heaviest nodes; blocks are (n,).

    What is released is shown at the end, but that a clamp moves nodes of a large tree by themselves is not drawn.
    """
    if made.source.is_small:
        return _of_story(made, step)
    shown = _of_rounds(made, min(step, made.n_searches))
    return shown if made.public_total is None or step < made.n_searches else _with_root(shown, made.public_total)


def _with_root(shown: Blocks, total: int) -> Blocks:
    """The root as a block of its own, with that value."""
    at = int(np.flatnonzero(shown.top == 0)[0])
    parts = {field.name: getattr(shown, field.name) for field in fields(Blocks)}
    if shown.height[at] > 1:
        parts = {name: np.append(part, part[at]) for name, part in parts.items()}
        parts["top"][at], parts["height"][at] = 1.0, parts["height"][at] - 1.0
        at = parts["top"].size - 1
    else:
        parts = {name: part.copy() for name, part in parts.items()}
    parts["height"][at], parts["value"][at], parts["least"][at] = 1.0, total, total
    return Blocks(**parts)


def bare(source: Source) -> Blocks:
    """Return a tree before any run: no node has a value."""
    paths, counts = source.paths, source.counts
    if source.is_small and counts is not None:
        return _of_nodes(source, np.full(counts.size, np.nan), np.full(counts.size, FAINT))
    left, width, edge = source.columns
    parts = Parts(edge, paths.top[edge], paths.bottom[edge], np.zeros(edge.size, dtype=np.int64))
    return _of_parts(paths, left, width, parts, np.full(1, np.nan))


def _of_story(made: Run, step: int) -> Blocks:
    """A small tree: one block a node."""
    n = made.nodes.truth.size
    value, mark = np.full(n, np.nan), np.full(n, FAINT)
    for i, one in enumerate(made.story[:step]):
        value[list(one.labelled)] = one.value
        if i == step - 1:
            mark[list(one.tested)] = TESTED
            mark[list(one.labelled)] = FRESH
    if step >= made.n_searches:
        value = made.found.unclamped
    if step > made.n_searches:
        mark[value != made.nodes.released] = FRESH
        value = made.nodes.released
    return _of_nodes(made.source, value, mark)


def _of_nodes(source: Source, value: FloatArray, mark: IntArray) -> Blocks:
    tree, counts = source.tree, source.counts
    assert tree is not None
    assert counts is not None
    count = np.asarray(counts, dtype=float)
    left, width, top = (x.astype(float) for x in (tree.leaf_start, tree.leaf_count, tree.level_of))
    return Blocks(left, width, top, np.ones(tree.n_nodes), count, count, value, mark)


def _of_rounds(made: Run, step: int) -> Blocks:
    """A large tree: one block for each part of a column that got its value in one round."""
    paths, labels, plan = made.source.paths, made.labels, made.plan
    left, width, shown = made.source.columns
    kept, last_round = width[labels.edge] > 0, len(plan.levels)
    open_from = paths.top.copy()
    np.maximum.at(open_from, labels.edge[kept], labels.last[kept] + 1)
    rest = shown[open_from[shown] <= paths.bottom[shown]]
    parts = Parts(
        np.concatenate([labels.edge[kept], rest]),
        np.concatenate([labels.first[kept], open_from[rest]]),
        np.concatenate([labels.last[kept], paths.bottom[rest]]),
        np.concatenate([labels.round[kept], np.full(rest.size, last_round)]),
    )
    values = np.array([*(level.value for level in plan.levels), plan.default_value])
    if step < last_round:
        values[step:] = np.nan
    return _of_parts(paths, left, width, parts, values, fresh=step - 1)


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of edges that got their value in one round; arrays are (n,)."""

    edge: IntArray
    first: IntArray
    last: IntArray
    round: IntArray


def _of_parts(
    paths: PathTree, left: IntArray, width: IntArray, parts: Parts, values: FloatArray, fresh: int = -1
) -> Blocks:
    """Join parts of one round that follow each other down a column; where a path branches, its columns change."""
    order = np.lexsort((parts.first, parts.edge))
    edge, first, last, number = (x[order] for x in (parts.edge, parts.first, parts.last, parts.round))
    alike = (np.diff(number) == 0) & (np.diff(left[edge]) == 0) & (np.diff(width[edge]) == 0)
    begin = np.flatnonzero(np.append(True, ~alike))
    end = np.append(begin[1:], edge.size) - 1
    top, number = first[begin], number[begin]
    return Blocks(
        left=left[edge[begin]].astype(float),
        width=width[edge[begin]].astype(float),
        top=top.astype(float),
        height=(last[end] - top + 1).astype(float),
        count=paths.weight[edge[begin]].astype(float),
        least=paths.weight[edge[end]].astype(float),
        value=values[number],
        mark=np.where((number == fresh) & (fresh < values.size - 1), FRESH, FAINT),
    )
