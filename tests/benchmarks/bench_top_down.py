"""Row 6: top-down releases against the printed algorithm, line by line, and against drawing their exact noise alone.

The peer is Algorithm 1 of Boninsegna with its loop IntOpt as printed, in numpy: survivors one by one, the children of
each with noise of their own. It draws from the same law with the same sampler.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from timing import paired_ratio, seconds
from treedp_core.experiment import Experiment, Pipeline, prepare
from treedp_core.leaf_table import count_leaves
from treedp_core.montecarlo import generator
from treedp_core.top_down import plan, release
from treedp_core.tree import Tree

IDS = ("6",)


def rows(quick: bool) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """The rows, as they are measured."""
    rounds = 3 if quick else 15
    for sizes, records in (((100, 100), 10**5), ((100, 100, 20) if quick else (100, 100, 100), 10**7)):
        tree, counts = problem(sizes, records)
        leaves = f"{tree.n_leaves:,} leaves"
        for rule in ("intopt", "water_filling"):
            ready, rng = pipeline(tree, rule), generator(6)
            taken = statistics.median(seconds(lambda: ready.release(counts, rng)) for _ in range(rounds))  # noqa: B023
            if rule == "intopt":
                peer = seconds(lambda: printed_algorithm(ready, counts, np.random.default_rng(1)))  # noqa: B023
                note = f"{1000 * taken:.3g} ms; peer {peer:.3g} s"
                yield "6", f"top-down, {leaves} / printed algorithm", taken / peer, 1 / 150, note
            if len(sizes) == 3:
                ratio = paired_ratio(lambda: ready.release(counts, rng), lambda: ready.noise.draw(rng), rounds)  # noqa: B023
                yield "6", f"{rule}, {leaves} / exact noise alone", ratio, 6.5, f"{1000 * taken:.3g} ms"
                yield "6", f"{rule}, {leaves}, N = 10^7 / 0.2 s", taken / 0.2, None, f"{1000 * taken:.3g} ms"
    yield sparse(1 if quick else 3)


def problem(sizes: Sequence[int], records: int) -> tuple[Tree, np.ndarray]:
    """A level-uniform tree and counts of so many records, unevenly spread."""
    tree, rng = Tree.from_branching_factors(sizes), np.random.default_rng(0)
    return tree, tree.counts_of_leaves(rng.multinomial(records, rng.dirichlet(np.full(tree.n_leaves, 0.3))))


def pipeline(tree: Tree, rule: str) -> Pipeline:
    """Discrete Gaussian noise on every level but the public total, then the projection."""
    return prepare(Experiment("discrete_gaussian", (f"top_down_{rule}",), epsilon=1.0, delta=1e-6), tree)


def printed_algorithm(ready: Pipeline, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 1 as printed: released counts of all nodes; those never reached stay 0."""
    tree, out = ready.tree, np.zeros_like(counts)
    out[0] = counts[0]
    for level in range(tree.height):
        law = ready.noise.laws[level + 1]
        assert law is not None
        for node in range(tree.level(level).start, tree.level(level).stop):
            if out[node] > 0:
                children = tree.children(node)
                noisy = counts[children] + law.sample(rng, children.stop - children.start)
                out[children] = printed_loop(noisy, int(out[node]))
    return out


def printed_loop(x: np.ndarray, c: int) -> np.ndarray:
    """The procedure IntOpt as printed."""
    goal = c - x.sum()
    z = np.maximum(-(-goal // x.size), -x)
    t = np.abs(z).max()
    order = np.argsort(x, kind="stable")
    j = 0
    while z.sum() > goal:
        i = order[j]
        z[i] = max(z[i] - (z.sum() - goal), -x[i], -t)
        j = (j + 1) % x.size
        t += j == 0
    return x + z


def sparse(rounds: int) -> tuple[str, str, float, None, str]:
    """A domain of 10^9 cells and 10^5 records, in seconds."""
    rng = np.random.default_rng(2)
    table = count_leaves([(rng.zipf(1.5, 100_000) - 1) % 1000 for _ in range(3)], (1000,) * 3)
    ready = plan((1000,) * 3, 0.5)
    taken = statistics.median(seconds(lambda: release(table, ready, rng)) for _ in range(rounds))
    return "6", "sparse run, 10^9 cells, 10^5 records / 1 s", taken, None, f"{1000 * taken:.3g} ms"
