"""A run as blocks of a picture on the page Multiplicative error: which nodes are shown, when each got its value."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pages.ui.multiplicative_run import Run
from pages.ui.text import plural, short, whole
from treedp_core.figures.multiplicative import Blocks
from treedp_core.thresholds.path_tree import PathTree
from treedp_core.thresholds.trace import Step
from treedp_core.tree import IntArray

MAX_COLUMNS: Final = 60
FAINT, TESTED, FRESH = 0, 1, 2

BoolArray = NDArray[np.bool_]


def blocks(made: Run, step: int) -> Blocks:
    """Return the tree after a number of steps, of large ones the heaviest nodes; blocks are (n,)."""
    return _of_story(made, step) if made.story else _of_rounds(made, step)


def _of_story(made: Run, step: int) -> Blocks:
    """A small tree: one block a node."""
    tree, plan = made.source.tree, made.estimation.plan
    assert tree is not None
    assert made.source.counts is not None
    value = np.full(tree.n_nodes, np.nan)
    mark = np.full(tree.n_nodes, FAINT)
    for i, one in enumerate(made.story[:step]):
        value[list(one.labelled)] = one.value
        if i == step - 1:
            mark[list(one.tested)] = TESTED
            mark[list(one.labelled)] = FRESH
    if step >= made.n_steps:
        value = np.where(np.isnan(value), plan.default_value, value)
    size = tree.leaf_count.astype(float)
    return Blocks(
        left=tree.leaf_start.astype(float),
        width=size,
        top=tree.level_of.astype(float),
        height=np.ones(tree.n_nodes),
        count=np.asarray(made.source.counts, dtype=float),
        least=np.asarray(made.source.counts, dtype=float),
        value=value,
        mark=mark,
        is_final=step >= made.n_steps,
    )


def _of_rounds(made: Run, step: int) -> Blocks:
    """A large tree: one block for each part of a column that got its value in one round."""
    paths, labels, plan = made.source.paths, made.estimation.labels, made.estimation.plan
    left, width, shown = columns(paths)
    open_from = paths.top.copy()
    np.maximum.at(open_from, labels.edge, labels.last + 1)
    rest = np.flatnonzero(shown & (open_from <= paths.bottom))
    kept = shown[labels.edge]
    edge = np.concatenate([labels.edge[kept], rest])
    first = np.concatenate([labels.first[kept], open_from[rest]])
    last = np.concatenate([labels.last[kept], paths.bottom[rest]])
    number = np.concatenate([labels.round[kept], np.full(rest.size, len(plan.levels))])
    order = np.lexsort((first, edge))
    edge, first, last, number = edge[order], first[order], last[order], number[order]
    # going down a column, parts of the same round are one block; where a path branches its columns change
    alike = (np.diff(number) == 0) & (np.diff(left[edge]) == 0) & (np.diff(width[edge]) == 0)
    begin = np.flatnonzero(np.append(True, ~alike))
    end = np.append(begin[1:], edge.size) - 1
    heavy, light = paths.weight[edge[begin]], paths.weight[edge[end]]
    last, edge, first, number = last[end], edge[begin], first[begin], number[begin]
    values = np.array([*(level.value for level in plan.levels), plan.default_value])
    is_final = step >= len(plan.levels)
    value = np.where((number < step) | is_final, values[number], np.nan)
    return Blocks(
        left=left[edge],
        width=width[edge],
        top=first.astype(float),
        height=(last - first + 1).astype(float),
        count=heavy.astype(float),
        least=light.astype(float),
        value=value,
        mark=np.where((number == step - 1) & (number < len(plan.levels)), FRESH, FAINT),
        is_final=is_final,
    )


def columns(paths: PathTree, most: int = MAX_COLUMNS) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the left end and the width of every edge's block in columns, and which edges are shown.

    The heaviest `most` edges at the ends of paths are a column each; an edge above spans the columns below it.
    """
    is_last = paths.end == np.arange(paths.n_edges) + 1
    lasts = np.flatnonzero(is_last)
    chosen = lasts[np.argsort(-paths.weight[lasts], kind="stable")[:most]]
    before = np.zeros(paths.n_edges + 1, dtype=np.int64)
    before[chosen + 1] = 1
    np.cumsum(before, out=before)
    width = before[paths.end] - before[:-1]
    return before[:-1], width, width > 0


def step_text(made: Run, step: int) -> str:
    """Return what happened in the last of a number of steps, in one or two sentences of ours."""
    plan, n = made.estimation.plan, made.n_steps
    if step == 0:
        return (
            f"Start: no node has a value; {plural(len(plan.levels), 'round')} follow, the largest threshold first. "
            f"Nodes that none of them labels get {short(plan.default_value)}."
        )
    ending = f" Every other node gets the default {short(plan.default_value)}." if step >= n else ""
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


def _told(one: Step) -> str:
    start = f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{start}no level of any remaining tree answered yes."
    told = f"{start}in the tree below node {one.root}, level {one.fired} was the deepest to answer yes; "
    told += f"{whole(len(one.passed))} of {plural(len(one.tested), 'node')} tested alone passed"
    if not one.labelled:
        return f"{told}, so nothing is labelled."
    return f"{told}. {plural(len(one.labelled), 'node')} got {short(one.value)}: what passed and the unlabelled above."
