"""Monte-Carlo: seeded trials in chunks, streamed sums of losses, standard errors, progress and cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.errors.metrics import ErrorSummary, Metric, Summary, Tolerance, level_mean, tree_loss
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Watch, generator

BoolArray = NDArray[np.bool_]

CHUNK_CELLS: Final = 1 << 16
"""Noise draws held at once: about what stays in a core's cache, and few enough to stop at once."""


def simulate(
    tree: Tree,
    metric: Metric,
    counts: AnyArray,
    errors_of: Callable[[np.random.Generator, int], AnyArray],
    tolerance: Tolerance,
    trials: int,
    *,
    entropy: tuple[int, ...],
    watch: Watch,
    by_node: bool = False,
) -> ErrorSummary:
    """Return a metric estimated from independent trials, with standard errors.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts.
    errors_of : function
        ``errors_of(rng, n)`` returns the errors (n, n_nodes) of n trials; nan where nothing was measured.
    trials : int
    entropy : tuple of int
        Seed of this run; chunk i draws from ``generator("trials", *entropy, i)``, so the numbers depend neither
        on the number of workers nor on the order in which they finish.
    watch : Watch
    by_node : bool
        Whether each node's value is wanted too.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    """
    is_largest = metric.summary is Summary.MAX_OF_EXPECTED
    of_nodes = is_largest or by_node
    total, total_square = (np.zeros(tree.n_nodes if of_nodes else 0) for _ in range(2))
    erred = np.zeros(tree.n_nodes if of_nodes else 0, dtype=np.bool_)
    by_trial = np.empty((trials, tree.n_levels))
    done = 0
    for rng, n in _chunks(trials, tree.n_nodes, entropy):
        watch.check()
        errors = errors_of(rng, n).astype(np.float64, copy=False)
        loss = metric.loss(errors, counts, tolerance)
        if of_nodes:
            erred |= (errors != 0).any(axis=0)
            total += loss.sum(axis=0)
            total_square += np.square(loss).sum(axis=0)
        by_trial[done : done + n] = _of_levels(tree, metric, loss)
        done += n
        watch.step(n)
    summary = _summary(tree, metric, _unmeasured_as_infinite(by_trial))
    if not of_nodes:
        return summary
    moments = _unmeasured_as_infinite(total) / trials, total_square / trials
    value, se = _of_nodes(metric, *moments, trials)
    if is_largest:
        summary = _largest_node(tree, moments[0], value, se, erred, summary.single_runs)
    return replace(summary, node=value, node_se=se) if by_node else summary


def _chunks(trials: int, n_nodes: int, entropy: tuple[int, ...]) -> Iterator[tuple[np.random.Generator, int]]:
    size = max(1, CHUNK_CELLS // n_nodes)
    _keep_freed_memory()
    for i, start in enumerate(range(0, trials, size)):
        yield generator("trials", *entropy, i), min(size, trials - start)


def _keep_freed_memory() -> None:
    """Have the C library keep a chunk's arrays for the next chunk, instead of returning and faulting in their pages.

    glibc does so for blocks smaller than the largest it has seen freed; measured, chunks then run three times faster.
    """
    np.empty(32 * CHUNK_CELLS)


def _of_levels(tree: Tree, metric: Metric, loss: AnyArray) -> FloatArray:
    """Each trial's loss by level: the mean over its nodes, or the largest."""
    if metric.summary in (Summary.EXPECTED_MAX, Summary.MAX_OF_EXPECTED):
        return np.asarray(np.maximum.reduceat(loss, tree.level_start[:-1], axis=-1))
    return level_mean(tree, loss)


def _unmeasured_as_infinite(losses: FloatArray) -> FloatArray:
    losses[np.isnan(losses)] = np.inf
    return losses


def _summary(tree: Tree, metric: Metric, by_trial: FloatArray) -> ErrorSummary:
    """Means over trials; the standard error of a square root by the delta method."""
    of_tree = tree_loss(tree, metric, by_trial)
    level, level_se = _mean_and_error(metric, by_trial)
    whole, whole_se = _mean_and_error(metric, of_tree)
    return ErrorSummary(level, level_se, float(whole), float(whole_se), metric.value(of_tree))


def _mean_and_error(metric: Metric, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    trials = losses.shape[0]
    mean = losses.mean(axis=0)
    with np.errstate(invalid="ignore"):
        se = losses.std(axis=0, ddof=1) / np.sqrt(trials) if trials > 1 else np.full_like(mean, np.inf)
    return _finished(metric, mean, se)


def _finished(metric: Metric, mean: FloatArray, se: FloatArray) -> tuple[FloatArray, FloatArray]:
    value = metric.value(mean)
    if metric.root:
        with np.errstate(divide="ignore", invalid="ignore"):
            se = np.where(mean > 0, se / (2 * value), 0.0)
    return np.asarray(value), np.where(np.isfinite(value), se, 0.0)


def _of_nodes(metric: Metric, mean: FloatArray, square: FloatArray, trials: int) -> tuple[FloatArray, FloatArray]:
    """Each node's value and standard error from the means of its losses and of their squares."""
    with np.errstate(invalid="ignore"):
        variance = np.maximum(square - mean**2, 0.0) * (trials / max(trials - 1, 1))
    return _finished(metric, mean, np.sqrt(variance / trials) if trials > 1 else np.full_like(mean, np.inf))


def _largest_node(
    tree: Tree, mean: FloatArray, value: FloatArray, se: FloatArray, erred: BoolArray, single_runs: FloatArray | None
) -> ErrorSummary:
    """The node whose mean loss is largest, of each level and of the tree.

    Choosing the largest of many noisy means is biased upwards by about as much as their standard errors. A node that
    erred, but never beyond its slack, has a loss too rare for these trials: its standard error is inf, not 0.
    """
    unseen = (mean == 0) & erred
    se[unseen] = np.inf
    rank = np.where(unseen, np.nextafter(0, 1), mean)
    worst = [nodes.start + int(np.argmax(rank[nodes])) for nodes in map(tree.level, range(tree.n_levels))]
    overall = worst[int(np.argmax(rank[worst]))]
    return ErrorSummary(value[worst], se[worst], float(value[overall]), float(se[overall]), single_runs)
