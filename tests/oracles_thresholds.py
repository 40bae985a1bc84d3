"""Slow and obvious versions of the threshold mechanism: exact laws by enumeration, and an audit of recorded answers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np


class TapeEnded(Exception):
    """More questions are asked than were recorded."""


@dataclass(frozen=True, eq=False)
class Call:
    """One recorded question with what it saw and what was answered."""

    level: object
    asked: object
    answer: object


@dataclass(frozen=True)
class Record:
    """Passes questions on to another source of answers and keeps them."""

    source: object
    calls: list[Call] = field(default_factory=list)

    def first_above(self, level, queries):
        return self._kept(level, queries, self.source.first_above(level, queries))

    def passes(self, level, tree, counts):
        return self._kept(level, (tree, counts), self.source.passes(level, tree, counts))

    def _kept(self, level, asked, answer):
        self.calls.append(Call(level, asked, answer))
        return answer


@dataclass(frozen=True)
class Replay:
    """Gives the answers of a recording whatever the counts are, and keeps the questions asked this time."""

    recorded: list[Call]
    calls: list[Call] = field(default_factory=list)

    def first_above(self, level, queries):
        return self._next(level, queries)

    def passes(self, level, tree, counts):
        return self._next(level, (tree, counts))

    def _next(self, level, asked):
        if len(self.calls) >= len(self.recorded):
            raise TapeEnded
        answer = self.recorded[len(self.calls)].answer
        self.calls.append(Call(level, asked, answer))
        return answer


def rounds_of_nodes(paths, labels):
    """Round in which each node of the tree behind `paths` was labelled, -1 for none, (n_nodes,)."""
    return labels.round_of(paths.node_edge, paths.level_of)


def estimates_of_nodes(paths, labels, plan, n_copies=1):
    """Released value of each node, (n_copies, n_nodes): a row for each copy of `paths` that was labelled."""
    edge = np.where(paths.node_edge >= 0, paths.node_edge + paths.n_edges * np.arange(n_copies)[:, np.newaxis], -1)
    return labels.estimate(plan, edge, np.broadcast_to(paths.level_of, edge.shape))


def prefixes(rows, counts):
    """Count of every prefix of the leaf paths, by a dictionary of tuples."""
    total = {}
    for row, count in zip(rows, counts, strict=True):
        for level in range(len(row) + 1):
            key = tuple(row[:level])
            total[key] = total.get(key, 0) + count
    return {key: value for key, value in total.items() if value}


def levels_of(parent):
    level = []
    for p in parent:
        level.append(0 if p < 0 else level[p] + 1)
    return level


def subtree(parent, root):
    inside = {root}
    for node, above in enumerate(parent):
        if above in inside:
            inside.add(node)
    return inside


# --- exact laws on the integers, term by term ------------------------------------------------------------------------


def one_sided_tail(rate, x):
    """P(G >= x) of the geometric law on 0, 1, ... with ratio e^-rate."""
    k = math.ceil(x)
    return 1.0 if k <= 0 else math.exp(-rate * k)


def truncated_pmf(rate, bound):
    weights = {k: math.exp(-rate * abs(k)) for k in range(-bound, bound + 1)}
    mass = sum(weights.values())
    return {k: w / mass for k, w in weights.items()}


def first_yes_law(queries, threshold, a, b):
    """Law of the index of the first yes (None for never) of a one-sided test, summed over the threshold's noise."""
    law = dict.fromkeys([*range(len(queries)), None], 0.0)
    for rho in range(math.ceil(45.0 / a)):
        p = math.exp(-a * rho) * -math.expm1(-a)
        for i, query in enumerate(queries):
            yes = one_sided_tail(b, threshold + rho - query)
            law[i] += p * yes
            p *= 1.0 - yes
        law[None] += p
    return law


def round_law(parent, w, root, rule):
    """Law of the set of nodes that one round labels in the tree below root (cut-off 1, one-sided tests)."""
    level, inside = levels_of(parent), subtree(parent, root)
    deepest_first = sorted({level[v] for v in inside}, reverse=True)
    queries = [max(w[v] for v in inside if level[v] == here) for here in deepest_first]
    law = {}
    yes = first_yes_law(queries, rule["threshold"], rule["a"], rule["b"])
    noise = truncated_pmf(rule["t"], rule["bound"])
    for i, p in yes.items():
        nodes = [] if i is None else [v for v in sorted(inside) if level[v] == deepest_first[i]]
        passing = [sum(q for k, q in noise.items() if w[v] + k > rule["exceed"]) for v in nodes]
        for bits in itertools.product((False, True), repeat=len(nodes)):
            chance = p * math.prod(q if bit else 1.0 - q for q, bit in zip(passing, bits, strict=True))
            if chance == 0.0:
                continue
            labelled = set()
            for v, bit in zip(nodes, bits, strict=True):
                while bit and v != parent[root]:
                    labelled.add(v)
                    v = parent[v]
            key = frozenset(labelled)
            law[key] = law.get(key, 0.0) + chance
    return law


def mechanism_law(parent, w, rules):
    """Exact law of the rounds in which the nodes are labelled (-1 for never), a dictionary of tuples."""
    law = {(frozenset([0]), (-1,) * len(parent)): 1.0}
    for number, rule in enumerate(rules):
        after = {}
        for (roots, labels), p in law.items():
            branches = [((), 1.0)]
            for root in sorted(roots):
                outcome = round_law(parent, w, root, rule)
                branches = [((*done, key), q * r) for done, q in branches for key, r in outcome.items()]
            for done, q in branches:
                labelled = frozenset().union(*done)
                fresh = tuple(number if v in labelled else old for v, old in enumerate(labels))
                open_roots = {v for v, x in enumerate(fresh) if x < 0 and (v == 0 or fresh[parent[v]] >= 0)}
                key = (frozenset(open_roots), fresh)
                after[key] = after.get(key, 0.0) + p * q
        law = after
    out = {}
    for (_, labels), p in law.items():
        out[labels] = out.get(labels, 0.0) + p
    return out


def hockey_stick(p, q, epsilon):
    """Smallest delta for which p is (epsilon, delta)-indistinguishable from q."""
    return sum(max(0.0, mass - math.exp(epsilon) * q.get(key, 0.0)) for key, mass in p.items())


def neighbours(parent, w):
    """All counts with one record more or fewer at one leaf."""
    leaves = [v for v in range(len(parent)) if v not in parent]
    for leaf, step in itertools.product(leaves, (1, -1)):
        if w[leaf] + step < 0:
            continue
        other, v = list(w), leaf
        while v >= 0:
            other[v] += step
            v = parent[v]
        yield other


# --- an audit of what was answered -----------------------------------------------------------------------------------


class Violation(Exception):
    pass


def audit(calls, replayed, rates):
    """Exact (epsilon, delta) that recorded answers can lose between two neighbours.

    `rates(level)` tells what noise was used: rate of the threshold's noise, rate of a query's, whether it is one-sided,
    and (rate, delta) of a pass. Trees hold disjoint records, so of those asked together the most expensive one counts.
    """
    if len(calls) != len(replayed):
        raise Violation("another number of questions")
    epsilon, delta = Fraction(0), Fraction(0)
    for call, other in zip(calls, replayed, strict=True):
        threshold, query, one_sided, (rate, slack) = rates(call.level)
        if isinstance(call.asked, tuple):
            (tree, counts), (tree2, counts2) = call.asked, other.asked
            if tree.tolist() != tree2.tolist():
                raise Violation("other nodes were tested")
            moved = {}
            for t, x, y in zip(tree.tolist(), counts.tolist(), counts2.tolist(), strict=True):
                moved[t] = moved.get(t, 0) + abs(x - y)
            most = max(moved.values(), default=0)
            if most > 1:
                raise Violation("a record moves two nodes of one level")
            epsilon, delta = epsilon + most * Fraction(rate), delta + most * Fraction(slack)
        else:
            p, q = call.asked, other.asked
            if (p.tree.tolist(), p.bottom.tolist(), p.length.tolist()) != (
                q.tree.tolist(),
                q.bottom.tolist(),
                q.length.tolist(),
            ):
                raise Violation("other levels were asked")
            steps = [int(y - x) for x, y in zip(p.query, q.query, strict=True)]
            if max(map(abs, steps), default=0) > 1 or (one_sided and {1, -1} <= set(steps)):
                raise Violation("queries are more sensitive than the test allows")
            if any(steps):
                epsilon += Fraction(threshold) + (1 if one_sided else 2) * Fraction(query)
    return epsilon, delta


# --- quadrature of the sparse vector tests ---------------------------------------------------------------------------


def first_yes_density(queries, threshold, law, a, b, n=400_001):
    """P(the last query is the first yes) for continuous noise of rates a and b, by the trapezoidal rule."""
    import numpy as np

    reach = 60.0 / a
    rho = np.linspace(0.0 if law == "exponential" else -reach, reach, n)
    density = a * np.exp(-a * np.abs(rho)) * (1.0 if law == "exponential" else 0.5)

    def tail(x):
        if law == "exponential":
            return np.exp(-b * np.maximum(x, 0.0))
        return np.where(x > 0, 0.5 * np.exp(-b * np.abs(x)), 1.0 - 0.5 * np.exp(-b * np.abs(x)))

    for query, times in queries[:-1]:
        density = density * (1.0 - tail(threshold + rho - query)) ** times
    return float(np.trapezoid(density * tail(threshold + rho - queries[-1][0]), rho))


def misfit(observed, expected, n):
    """Chi-square statistic of counts against an exact law and its degrees of freedom; rare outcomes are pooled."""
    rare = [key for key, p in expected.items() if n * p < 20.0]
    cells = [(observed.get(key, 0), n * p) for key, p in expected.items() if n * p >= 20.0]
    pooled = n * sum(expected[key] for key in rare)
    seen = n - sum(count for count, _ in cells)
    if pooled >= 20.0:
        cells.append((seen, pooled))
    elif seen > 200.0 + 10.0 * pooled:
        return math.inf, len(cells)
    return sum((o - e) ** 2 / e for o, e in cells), len(cells) - 1


# --- reductions with exact answers -----------------------------------------------------------------------------------


def reduction_as_printed(parent, w, thresholds, values, rest):
    """Algorithm 2 to the letter, each classification answered exactly; None where no value is ever set."""
    estimate = [None] * len(parent)
    forest = [set(range(len(parent)))]
    for threshold, value in zip(thresholds, values, strict=True):
        after = []
        for tree in forest:
            top = {v for v in tree if w[v] >= threshold}
            for u in sorted(top):
                below = (subtree(parent, u) & tree) - {u}
                if below & top:
                    continue
                v = u
                while v >= 0:
                    estimate[v] = value
                    v = parent[v]
                after += [subtree(parent, c) & tree for c in below if parent[c] == u]
        forest = after
    for tree in forest:
        for v in tree:
            estimate[v] = rest
    return estimate


def reduction_as_needed(w, thresholds, values, rest):
    """What the proof of Lemma 4.6 wants: the value of the largest threshold that a count reaches."""
    return [next((v for t, v in zip(thresholds, values, strict=True) if x >= t), rest) for x in w]


def algorithm_1(parent, w, rule, g):
    """Algorithm 1 node by node with two-sided noise on the reals; returns the labelled nodes as a tuple of bools."""
    level, c = levels_of(parent), rule["c"]
    left, labelled = set(range(len(parent))), set()
    yes, noisy = 0, rule["threshold"] + g.laplace(0, c / rule["a"])
    for here in sorted(set(level), reverse=True):
        nodes = [v for v in sorted(left) if level[v] == here]
        if not nodes:
            continue
        left -= set(nodes)
        if yes >= c or max(w[v] for v in nodes) + g.laplace(0, 2 * c / rule["b"]) < noisy:
            continue
        yes, noisy = yes + 1, rule["threshold"] + g.laplace(0, c / rule["a"])
        for v in nodes:
            z = math.inf
            while abs(z) > rule["bound"]:
                z = g.laplace(0, c / rule["t"])
            passed = w[v] + z > rule["pass"]
            while passed and v >= 0:
                labelled.add(v)
                left.discard(v)
                v = parent[v]
    return tuple(v in labelled for v in range(len(parent)))
