"""Non-negative least squares on a tree, exactly: counts of at least 0 that add up, closest to what was measured.

The leaves y >= 0 minimise sum over nodes (sum of y below the node - noisy)^2 / variance. Let F(s) be the least cost of
a subtree whose total is s, and g the inverse of F' / 2: the total a subtree takes at price p.

    leaf        g(p) = max(0, noisy + variance p)
    inner node  its children share a price q and take h(q) = sum of their g(q); the node itself adds
                p = q + (h(q) - noisy) / variance, and g(p) = h(q)

Every g is a constant plus sum d_i max(0, p - b_i) with d_i >= 0, one term for each leaf below. So a sweep up moves
the break points b_i and damps the cumulative slopes, D -> D / (1 + D / variance); a sweep down reads off totals from
the root's price, 0. No iteration and no tolerance: the answer is exact up to the rounding of floats.

On the way down q is found from the break point nearest to p, never as p - (h(q) - noisy) / variance: narrow discrete
noise has variances like 1e-22, which would make the rounding of h(q) - noisy millions of records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treedp_core.postprocess.least_squares import variance_checked
from treedp_core.postprocess.top_down import refuse_without_leaves
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree


@dataclass(frozen=True, eq=False)
class _Segments:
    """The leaves below the inner nodes of a level, side by side.

    `nodes` are those inner nodes, `leaves` positions in left-to-right order, `of` the number of the segment of each
    such leaf, `begin` where the segments start, `rank` the place of each leaf in its segment.
    """

    nodes: IntArray
    leaves: IntArray
    of: IntArray
    begin: IntArray
    rank: IntArray


def prepare(tree: Tree, variance: FloatArray | None) -> tuple[Callable[[AnyArray], AnyArray], None]:
    """Return the non-negative least squares estimator for noise of the given variances.

    Arguments and refusals are those of `least_squares.prepare`, variances (n_nodes,) too, and ``LEAVES_NEEDED`` when
    leaves were not measured.

    Examples
    --------
    A root known to be 3, and children measured equally well that say 3, 1 and -2:

    >>> function, _ = prepare(Tree.from_branching_factors((3,)), np.array([0.0, 1.0, 1.0, 1.0]))
    >>> function(np.array([3.0, 3.0, 1.0, -2.0])).round(12).tolist()
    [3.0, 2.5, 0.5, 0.0]
    """
    variance = variance_checked(tree, variance)
    refuse_without_leaves(tree, variance)
    segments = [_segments(tree, level) for level in range(tree.height)]

    def function(estimate: AnyArray) -> AnyArray:
        noisy = np.asarray(estimate, dtype=np.float64)
        rows = np.where(np.isinf(variance), 0.0, noisy).reshape(-1, tree.n_nodes)
        out = np.stack([_solve(tree, segments, variance, row) for row in rows])
        return out.reshape(noisy.shape)

    return function, None


def _segments(tree: Tree, level: int) -> _Segments:
    nodes = np.arange(tree.n_nodes)[tree.level(level)]
    nodes = nodes[~tree.is_leaf[nodes]]
    size = tree.leaf_count[nodes]
    begin = np.cumsum(size) - size
    rank = np.arange(int(size.sum())) - np.repeat(begin, size)
    leaves = rank + np.repeat(tree.leaf_start[nodes], size)
    return _Segments(nodes, leaves, np.repeat(np.arange(nodes.size), size), begin, rank)


def _solve(tree: Tree, segments: list[_Segments], variance: FloatArray, noisy: FloatArray) -> FloatArray:
    """Return the estimates (n_nodes,) of one release."""
    own = variance[tree.leaves]
    terms = _Terms(
        at=-noisy[tree.leaves] / np.where(own == 0, 1.0, own),
        slope=own.copy(),
        fixed=np.where(variance == 0, np.maximum(noisy, 0.0), 0.0),
        price=np.zeros(tree.n_nodes),
    )
    lifted = []
    for level in reversed(range(tree.height)):
        part = segments[level]
        below = tree.sum_children(level, terms.fixed[tree.level(level + 1)])[part.nodes - tree.level_start[level]]
        lifted.append(_lift(part, variance, noisy, below, terms))
    out = _read_off(tree, segments, variance, noisy, lifted[::-1], terms)
    total = tree.add_up(np.where(tree.is_leaf, out, 0.0))
    total[variance == 0] = out[variance == 0]
    return total


@dataclass(frozen=True, eq=False)
class _Lifted:
    """The inner nodes of a level as functions of their price p, by segment and ascending break point.

    From p = `at` on the children's price is q = `b` + (p - at) / (1 + slope / variance) and the total is h(q) =
    `value` + `slope` (q - b), until the next break point.
    """

    at: FloatArray
    b: FloatArray
    slope: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class _Terms:
    """The functions g on the way up: break points and slopes by leaf, constants by node; prices q of exact nodes."""

    at: FloatArray
    slope: FloatArray
    fixed: FloatArray
    price: FloatArray


def _lift(part: _Segments, variance: FloatArray, noisy: FloatArray, below: FloatArray, terms: _Terms) -> _Lifted:
    """Turn the h of a level's inner nodes into their g, in place; where a node is known exactly, find its price."""
    order = part.leaves[np.lexsort((terms.at[part.leaves], part.of))]
    b, own = terms.at[order], variance[part.nodes]
    slope = _running(terms.slope[order], part)
    steps = np.diff(b, prepend=b[:1])
    steps[part.begin] = 0.0
    value = below[part.of] + _running(np.concatenate([[0.0], slope[:-1]]) * steps, part)
    exact = own == 0
    terms.price[part.nodes] = _price_of(part, b, slope, value, terms.fixed[part.nodes])
    terms.fixed[part.nodes] = np.where(exact, terms.fixed[part.nodes], below)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms.at[order] = np.where(exact[part.of], 0.0, b + (value - noisy[part.nodes][part.of]) / own[part.of])
        damped = np.where(exact[part.of], 0.0, slope / (1.0 + slope / own[part.of]))
    rise = np.diff(damped, prepend=0.0)
    rise[part.begin] = damped[part.begin]
    terms.slope[order] = np.maximum(rise, 0.0)
    return _Lifted(terms.at[order], b, slope, value)


def _price_of(part: _Segments, b: FloatArray, slope: FloatArray, value: FloatArray, total: FloatArray) -> FloatArray:
    """Prices q at which the h of the segments reach the given totals, (nodes,)."""
    anchor, room = _anchor(part, value, slope, total)
    return np.asarray(b[anchor] + np.where(room > 0, (total - value[anchor]) / np.where(room > 0, room, 1.0), 0.0))


def _anchor(part: _Segments, ascending: FloatArray, slope: FloatArray, x: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the break point next to x, below or above, in each segment, and the slope there; each (nodes,).

    The nearer one, because break points of narrow noise are as far off as 10^22, where a float cannot tell records.
    """
    passed = np.add.reduceat((ascending <= x[part.of]).astype(np.int64), part.begin)
    last = part.begin + np.maximum(passed - 1, 0)
    after = np.minimum(last + 1, np.append(part.begin[1:], ascending.size) - 1)
    nearer = (passed > 0) & (ascending[after] - x < x - ascending[last]) & (ascending[after] > x)
    return np.where(nearer, after, last), np.where(passed > 0, slope[last], 0.0)  # nothing is taken before the first


def _read_off(
    tree: Tree,
    segments: list[_Segments],
    variance: FloatArray,
    noisy: FloatArray,
    lifted: list[_Lifted],
    terms: _Terms,
) -> FloatArray:
    """Return all totals from the root's price, 0: g at the price of a node, and the price of its children."""
    given = np.zeros(tree.n_nodes)  # the price at which a node is asked
    out = np.empty(tree.n_nodes)
    exact = variance == 0
    for level in range(tree.n_levels):
        nodes = tree.level(level)
        if level:
            given[nodes] = tree.spread(level - 1, terms.price[tree.level(level - 1)])
        with np.errstate(invalid="ignore"):
            out[nodes] = np.maximum(noisy[nodes] + variance[nodes] * given[nodes], 0.0)
        if level < tree.height:
            part = segments[level]
            price, out[part.nodes] = _at_price(part, lifted[level], given[part.nodes], variance[part.nodes])
            terms.price[part.nodes] = np.where(exact[part.nodes], terms.price[part.nodes], price)
        out[nodes] = np.where(exact[nodes], terms.fixed[nodes], out[nodes])
    return out


def _at_price(part: _Segments, g: _Lifted, p: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the prices of the children and the totals at the prices p of the nodes, each (nodes,)."""
    anchor, slope = _anchor(part, g.at, g.slope, p)
    with np.errstate(divide="ignore", invalid="ignore"):  # where a node is known exactly neither result is used
        beyond = (p - g.at[anchor]) / (1.0 + slope / own)
    return g.b[anchor] + beyond, g.value[anchor] + slope * beyond


def _running(values: FloatArray, part: _Segments) -> FloatArray:
    """Cumulative sums that start anew in every segment, none of which sees the numbers of another.

    The difference of two sums over all segments would lose slopes of 1e-22 beside slopes of 1.
    """
    longest = int(part.rank.max()) + 1
    if longest * part.nodes.size == values.size:
        return np.asarray(values.reshape(-1, longest).cumsum(axis=1).reshape(-1))
    sums, reach = values.copy(), 1
    while reach < longest:  # sums over the last 1, 2, 4, ... of a segment
        sums[reach:] += np.where(part.rank[reach:] >= reach, sums[:-reach], 0.0)
        reach *= 2
    return sums
