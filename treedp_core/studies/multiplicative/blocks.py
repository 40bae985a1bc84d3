"""A run as blocks of a picture on the page Multiplicative error: which nodes are shown, when each got its value."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pages.ui.text import plural, short, whole
from treedp_core.figures.multiplicative import Blocks
from treedp_core.mechanisms.thresholds.trace import Step
from treedp_core.studies.multiplicative.run import Run
from treedp_core.studies.multiplicative.trees import Source
from treedp_core.tree import FloatArray, IntArray
from treedp_core.tree.path_tree import PathTree

FAINT, TESTED, FRESH = 0, 1, 2


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
    paths = source.paths
    if source.is_small:
        return _of_nodes(source, np.full(_size(source), np.nan), np.full(_size(source), FAINT))
    left, width, edge = source.columns
    parts = Parts(edge, paths.top[edge], paths.bottom[edge], np.zeros(edge.size, dtype=np.int64))
    return _of_parts(paths, left, width, parts, np.full(1, np.nan))


def _of_story(made: Run, step: int) -> Blocks:
    """A small tree: one block a node."""
    n = _size(made.source)
    value, mark = np.full(n, np.nan), np.full(n, FAINT)
    for i, one in enumerate(made.story[:step]):
        value[list(one.labelled)] = one.value
        if i == step - 1:
            mark[list(one.tested)] = TESTED
            mark[list(one.labelled)] = FRESH
    if step >= made.n_searches:
        value = np.where(np.isnan(value), made.estimation.plan.default_value, value)
        if made.public_total is not None:
            value[0] = made.public_total
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
    paths, labels, plan = made.source.paths, made.estimation.labels, made.estimation.plan
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


def _size(source: Source) -> int:
    return 0 if source.tree is None else source.tree.n_nodes


def step_text(made: Run, step: int) -> str:
    """Return what happened in the last of a number of steps, in one or two sentences of ours."""
    plan = made.estimation.plan
    if step == 0:
        return (
            f"Start: no node has a value; {plural(len(plan.levels), 'round')} follow, the largest threshold first. "
            f"Nodes that none of them labels get {short(plan.default_value)}."
        )
    if step > made.n_searches:
        return _clamped(made)
    ending = f" Every other node gets the default {short(plan.default_value)}." if step == made.n_searches else ""
    if step == made.n_searches and made.public_total is not None:
        ending += " The root gets the public total."
    if made.story:
        return _told(made.story[step - 1]) + ending
    level, found = plan.levels[step - 1], [s for s in made.estimation.labels.searches if s.round == step - 1]
    trees, yes = sum(s.root_edge.size for s in found), sum(int((s.fired >= 0).sum()) for s in found)
    tested, passed = sum(s.edge.size for s in found), sum(int(s.passed.sum()) for s in found)
    return (
        f"Round {step}, threshold {short(level.classification_threshold)}: of {plural(trees, 'tree')} tested, "
        f"{whole(yes)} answered yes; {whole(passed)} of {plural(tested, 'node')} tested alone passed, and got "
        f"{short(level.value)} with all unlabelled nodes above.{ending}"
    )


def _clamped(made: Run) -> str:
    moved = f"{whole(made.moved)} of {plural(made.nodes.truth.size, 'node')} moved into their interval."
    return (
        f"Clamp: every count is measured once more, with noise of at most R = {short(made.reach or 0.0)}, and what is "
        f"further than R from its measurement moves there, so no error exceeds 2 R. {moved}"
        + ("" if made.source.is_small else " They are not drawn one by one: the picture keeps the rounds' values.")
    )


def _told(one: Step) -> str:
    start = f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{start}no level of any remaining tree answered yes."
    told = f"{start}in the tree below node {one.root}, level {one.fired} was the deepest to answer yes; "
    told += f"{whole(len(one.passed))} of {plural(len(one.tested), 'node')} tested alone passed"
    if not one.labelled:
        return f"{told}, so nothing is labelled."
    return f"{told}. {plural(len(one.labelled), 'node')} got {short(one.value)}: what passed and the unlabelled above."
