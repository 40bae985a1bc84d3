"""Exact error after least squares on a level-uniform tree over K bins, padded or not, in O(height): nothing is built.

Noise is independent, with one precision p_l = 1 / variance for each level. Let u be the variance of the best estimate
of a node from its own subtree, and w a node with children c, U = sum u_c. Least squares gives

    best(c) = u_c / U best(w) + (part that is uncorrelated with best(w) and with everything outside w's subtree),

so a prefix of j of w's bins is phi(j) best(w) + D(j) with D(j) uncorrelated with the rest. Sums of phi, phi^2, Var D
over j, and the variance of sum_j D(j), follow from those of the children; whole subtrees of a level are all alike,
with phi(j) = j / s, and only the one on the right edge, cut by K, is carried along beside them.
With K = prod n_i this is Var = sum_l K (n_l - 1)(n_l s_l^2 + 1) / (6 n_l s_l) / a_l with a_l = sum_{i >= l} s_i p_i.

Only sums, products and quotients are used, so precisions may be complex: `gradient` differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, Workload

Number = Any  # a float, or an array of complex floats when differentiating


@dataclass(frozen=True)
class Part:
    """A node's subtree: its bins, its own variance u, and sums over the prefixes of its bins.

    `functional` is the variance of the sum over j of D(j).
    """

    bins: int
    u: Number
    phi: Number
    phi_square: Number
    var_d: Number
    functional: Number


def mean_variance(shape: Shape, level_variance: FloatArray, workload: Workload) -> float:
    """Return the mean variance of a workload's queries after least squares, in records squared.

    Parameters
    ----------
    shape : Shape
    level_variance : (n_levels,)
        Noise variance of each level: 0 known exactly (a public total), inf not measured.
    workload : Workload
        Means are over the K prefixes, the K (K + 1) / 2 ranges, or the nodes below the root.

    Returns
    -------
    float
        inf when the measurements do not determine the bins.

    Examples
    --------
    A histogram of K bins with a known total: 4 (K^2 - 1) / (3 epsilon^2) summed over the prefixes.

    >>> mean_variance(Shape((5,), 5), np.array([0.0, 8.0]), Workload.CDF) * 5
    32.0
    """
    with np.errstate(divide="ignore"):
        precision = 1.0 / np.asarray(level_variance, dtype=float)
    if not precision[-1] > 0:
        return np.inf
    return float(mean_from_precisions(shape, precision.tolist(), workload))


def gradient(shape: Shape, precision: FloatArray, workload: Workload) -> tuple[float, FloatArray]:
    """Return the mean variance and its derivatives by the precisions (n_levels,), 0 for a root known exactly (inf).

    Complex steps: f(p + i t e_k) = f(p) + i t df/dp_k + O(t^2), exact to rounding for t = 1e-30.
    """
    step = 1e-30
    first = 1 if np.isinf(precision[0]) else 0
    noisy = precision[first:]
    moved = noisy[:, None] + 1j * step * np.eye(noisy.size)
    value = mean_from_precisions(shape, [*precision[:first].tolist(), *moved], workload)
    return float(value[0].real), np.concatenate([np.zeros(first), value.imag / step])


def mean_from_precisions(shape: Shape, precision: Sequence[Number], workload: Workload) -> Number:
    """Return the mean variance from the precisions (n_levels,) of the levels, inf for a root known exactly."""
    if workload is Workload.NODES:
        return _mean_of_nodes(shape, precision)
    whole = _subtree(shape, precision)
    root = 0.0 if np.isscalar(precision[0]) and precision[0] == np.inf else 1.0 / (precision[0] + 1.0 / whole.u)
    total = whole.var_d + whole.phi_square * root
    bins = shape.n_bins
    if workload is Workload.CDF:
        return total / bins
    of_sum = whole.functional + whole.phi**2 * root
    return ((bins + 1) * total - of_sum) / (bins * (bins + 1) / 2)


def _subtree(shape: Shape, precision: Sequence[Number]) -> Part:
    """The whole tree as one part, without the root's own measurement."""
    edge, whole = None, _leaf(precision[-1])
    for level, n in reversed(list(enumerate(shape.branching_factors))):
        q, rest = divmod(shape.n_bins % (n * whole.bins), whole.bins)
        own = precision[level] if level else 0.0
        edge = _edge(whole, q, edge if rest else None, own) if q or rest else None
        if level or edge is None:
            whole = _family(whole, n, own)
    return edge or whole


def _leaf(precision: Number) -> Part:
    zero = 0.0 * precision
    return Part(1, 1.0 / precision, 1.0 + zero, 1.0 + zero, zero, zero)


def _family(child: Part, n: int, precision: Number) -> Part:
    """A node with n whole children."""
    s, u = child.bins, child.u
    bins = n * s
    var_d = n * child.var_d + u * _ratio((n - 1) * (n * s * s + 1), 6 * s)
    functional = n * child.functional + u * _ratio(s * s * n * (n * n - 1), 12)
    return Part(
        bins,
        1.0 / (precision + 1.0 / (n * u)),
        _ratio(bins + 1, 2) + 0.0 * u,
        _ratio((bins + 1) * (2 * bins + 1), 6 * bins) + 0.0 * u,
        var_d,
        functional,
    )


def _edge(child: Part, q: int, cut: Part | None, precision: Number) -> Part:
    """A node with q whole children and, behind them, perhaps one that is cut."""
    s, u = child.bins, child.u
    cut = cut or Part(0, 0.0 * u, 0.0 * u, 0.0 * u, 0.0 * u, 0.0 * u)
    total = q * u + cut.u
    # i + x over the prefixes of whole child i that end a share x into it, and the same squared
    places = s * (q * (q - 1) // 2) + q * child.phi
    places_square = s * ((q - 1) * q * (2 * q - 1) // 6) + q * (q - 1) * child.phi + q * child.phi_square
    before = q * u
    ends = cut.bins * before + cut.phi * cut.u
    ends_square = cut.bins * before**2 + 2.0 * before * cut.u * cut.phi + cut.u**2 * cut.phi_square
    squares = places_square * u**2 + ends_square
    in_whole = u * (s * (q * (q - 1) // 2) + q * child.phi_square) + q * child.var_d
    in_cut = cut.bins * before + cut.u * cut.phi_square + cut.var_d
    return Part(
        q * s + cut.bins,
        1.0 / (precision + 1.0 / total),
        (places * u + ends) / total,
        squares / total**2,
        in_whole + in_cut - squares / total,
        _functional(child, q, cut),
    )


def _functional(child: Part, q: int, cut: Part) -> Number:
    """Variance of the sum over prefixes of D: each child's total counts in all prefixes behind it."""
    s, u = child.bins, child.u
    inner = q * child.functional + cut.functional
    if q == 0:
        return inner
    mean_of_whole = child.phi + cut.bins + s * (q - 1) / 2.0
    mean = (q * u * mean_of_whole + cut.u * cut.phi) / (q * u + cut.u)
    spread = q * (mean_of_whole - mean) ** 2 + _ratio(s * s * q * (q * q - 1), 12)
    return inner + u * spread + cut.u * (cut.phi - mean) ** 2


def _mean_of_nodes(shape: Shape, precision: Sequence[Number]) -> Number:
    """Mean variance of the nodes below the root: from the root down, whole nodes as a sum, the cut one by itself."""
    whole_u, cut_u = _own_variances(shape, precision)
    known = np.isscalar(precision[0]) and precision[0] == np.inf
    cut_root = shape.padding > 0
    root_u = cut_u[0] if cut_root else whole_u[0]
    root = 0.0 * root_u if known else 1.0 / (precision[0] + 1.0 / root_u)
    n_whole, whole_sum, cut = (0, 0.0 * root, root) if cut_root else (1, root, None)
    total = 0.0 * root
    for level, n in enumerate(shape.branching_factors):
        u, s = whole_u[level + 1], shape.leaves_below[level + 1]
        sums = whole_sum / n + n_whole * (n - 1) * u
        n_whole *= n
        if cut is not None:
            q, rest = divmod(shape.n_bins % shape.leaves_below[level], s)
            last = cut_u[level + 1] if rest else 0.0
            below = q * u + last
            sums = sums + q * ((u / below) ** 2 * cut + u * (1.0 - u / below))
            n_whole += q
            cut = (last / below) ** 2 * cut + last * (1.0 - last / below) if rest else None
        whole_sum = sums
        total = total + sums + (0.0 if cut is None else cut)
    return total / sum(shape.level_sizes[1:])


def _own_variances(shape: Shape, precision: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """Variance from its own subtree of a whole and of the cut node of each level; the root without its own reading."""
    whole, cut = [1.0 / precision[-1]], [0.0 * precision[-1]]
    for level in reversed(range(shape.height)):
        n, s = shape.branching_factors[level], shape.leaves_below[level + 1]
        own = precision[level] if level else 0.0
        q, rest = divmod(shape.n_bins % (n * s), s)
        below = q * whole[-1] + (cut[-1] if rest else 0.0)
        cut.append(1.0 / (own + 1.0 / below) if q or rest else 0.0 * whole[-1])
        whole.append(1.0 / (own + 1.0 / (n * whole[-1])))
    return whole[::-1], cut[::-1]


def _ratio(numerator: int, denominator: int) -> float:
    return numerator / denominator
