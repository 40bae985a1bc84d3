"""Closed forms: the exact expected loss of every node, where theory knows the law of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treedp_core.errors.metrics import ErrorSummary, Metric, Summary, Tolerance, exact_summary, summarise
from treedp_core.noise import Gaussian, Law, expected_maximum
from treedp_core.tree import AnyArray, FloatArray, Tree


@dataclass(frozen=True, eq=False)
class NodeErrors:
    """What is known of the nodes' errors, all of them unbiased.

    Parameters
    ----------
    variance : (n_nodes,)
        Exact; 0 known, inf not measured.
    laws : tuple or None
        The law of each level's independent errors (None inside: known or not measured), when they are still
        independent; None after least squares.
    gaussian : bool
        Whether every error is exactly normal.
    """

    variance: FloatArray
    laws: Sequence[Law | None] | None
    gaussian: bool


def expected_errors(
    tree: Tree, metric: Metric, counts: AnyArray, errors: NodeErrors, tolerance: Tolerance, *, by_node: bool = False
) -> ErrorSummary | None:
    """Return the exact value of a metric for each level and the tree, or None where no closed form is known.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts; only metrics relative to them use them.
    by_node : bool
        Whether each node's value is wanted too.

    Notes
    -----
    Root mean square errors follow from variances alone, after least squares too. Losses that are not squares (and
    the alpha-RMSE) need the law of the error: known before least squares, and after it for Gaussian noise.
    """
    is_largest = metric.summary is Summary.EXPECTED_MAX
    loss = None if is_largest and not by_node else _node_loss(tree, metric, counts, errors, tolerance)
    if is_largest:
        found = None if errors.laws is None else _expected_largest(tree, metric, errors, errors.laws)
    else:
        found = None if loss is None else summarise(tree, metric, loss)
    if found is None or loss is None or not by_node:
        return found
    return replace(found, node=metric.value(loss), node_se=np.zeros(loss.size))


def _node_loss(
    tree: Tree, metric: Metric, counts: AnyArray, errors: NodeErrors, tolerance: Tolerance
) -> FloatArray | None:
    """Expected loss of each node: from the variance where that says all, else from the law of the error."""
    if metric.expected is None:
        return np.asarray(metric.loss(np.sqrt(errors.variance), counts, tolerance))
    loss = np.where(np.isinf(errors.variance), np.inf, 0.0)
    if errors.laws is not None:
        for level, law in enumerate(errors.laws):
            if law is not None:
                nodes = tree.level(level)
                loss[nodes] = metric.expected(law, counts[nodes], tolerance)
        return loss
    if not errors.gaussian:
        return None
    noisy = (errors.variance > 0) & np.isfinite(errors.variance)
    loss[noisy] = metric.expected(_Normals(np.sqrt(errors.variance[noisy])), counts[noisy], tolerance)
    return loss


@dataclass(frozen=True, eq=False)
class _Normals:
    """Moments of normal errors with a standard deviation for each node, by scaling the standard normal's."""

    sigma: FloatArray

    @property
    def mean_absolute(self) -> FloatArray:
        return self.sigma * Gaussian(1.0).mean_absolute

    def excess_square(self, t: FloatArray) -> FloatArray:
        return np.asarray(np.square(self.sigma) * Gaussian(1.0).excess_square(t / self.sigma))


def _expected_largest(tree: Tree, metric: Metric, errors: NodeErrors, laws: Sequence[Law | None]) -> ErrorSummary:
    """Expected largest |error| of each level and of the tree, from the distribution functions of independent errors."""
    variance = errors.variance[tree.level_start[:-1]]
    sized = zip(laws, tree.level_sizes.tolist(), strict=True)
    noisy = [[(law, size)] if law is not None else [] for law, size in sized]
    by_level = [expected_maximum(one) if one else float(v) for one, v in zip(noisy, variance, strict=True)]
    everything = [pair for one in noisy for pair in one]
    whole = expected_maximum(everything) if everything and np.isfinite(by_level).all() else max(by_level)
    return exact_summary(metric, np.array(by_level), np.asarray(whole))
