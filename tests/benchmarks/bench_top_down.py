"""Row 6: top-down releases against the printed algorithm, line by line, and against drawing their exact noise alone.

The peer is Algorithm 1 of Boninsegna with its loop IntOpt as printed, in numpy: survivors one by one, the children of
each with noise of their own, drawn one by one as the paper's reference says (Canonne, Kamath and Steinke, 2020,
Algorithms 1 to 3). Exact draws need rational numbers; at 10^6 leaves the peer is spared them and draws in floats.
"""

from __future__ import annotations

import math
import random
import statistics
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from timing import paired_ratio, seconds
from treedp_core.experiment import Experiment, Pipeline, prepare
from treedp_core.noise import DiscreteGaussian
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.studies.topdown import made_up, plan
from treedp_core.studies.topdown.marginals import compare_marginals
from treedp_core.studies.topdown.projections import RULES
from treedp_core.studies.topdown.release_spec import Wanted
from treedp_core.studies.topdown.sparse import release
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import count_leaves
from treedp_core.watch import generator

IDS = ("6",)
PROMISED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "relation": "add_or_remove_one"}
LEAST_SQUARES = ("least_squares", "top_down_water_filling")


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
                for kind, draw in peers(len(sizes) == 2):
                    peer = seconds(lambda: printed_algorithm(ready, counts, draw))  # noqa: B023
                    gate = 1 / 150 if (kind == "exact") is (len(sizes) == 2) else None
                    note = f"{1000 * taken:.3g} ms; peer {peer:.3g} s"
                    yield "6", f"top-down, {leaves} / printed, {kind} noise", taken / peer, gate, note
            if len(sizes) == 3:
                ratio = paired_ratio(lambda: ready.release(counts, rng), lambda: ready.noise.draw(rng), rounds)  # noqa: B023
                yield "6", f"{rule}, {leaves} / exact noise alone", ratio, 6.5, f"{1000 * taken:.3g} ms"
                yield "6", f"{rule}, {leaves}, N = 10^7 / 0.2 s", taken / 0.2, None, f"{1000 * taken:.3g} ms"
    yield sparse(1 if quick else 3)
    yield from pruned(2 if quick else 10)
    yield beside_mwem(3 if quick else 20)


def beside_mwem(trials: int) -> tuple[str, str, float | None, float | None, str]:
    """RMSE of all marginals of two columns over that of MWEM at the same rho, by simulation on made-up people."""
    unit, label = ProtectedUnit(NeighbouringRelation.REPLACE_ONE), RULES["water_filling"].label
    wanted = Wanted(0.5, 1e-6, unit, None, Spread.STACKED, "water_filling")
    people = made_up((10, 10, 10), 20_000, 1)
    taken = seconds(lambda: compare_marginals(people, wanted, 2, 1, of="2")) / 2
    tracemalloc.start()
    found = compare_marginals(people, wanted, trials, 1, of="2")
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    rmse = dict(zip(found.ways, np.sqrt(np.square(found.rmse).mean(axis=1)).tolist(), strict=True))
    note = ", ".join(f"{way} {value:.3g}" for way, value in rmse.items())
    note += f"; {1000 * taken:.3g} ms a run of both, {peak:.3g} MB"
    return "6", "marginals of two of three columns, top-down / MWEM", rmse[label] / rmse["MWEM"], 0.5, note


def problem(sizes: Sequence[int], records: int) -> tuple[Tree, np.ndarray]:
    """A level-uniform tree and counts of so many records, unevenly spread."""
    tree, rng = Tree.from_branching_factors(sizes), np.random.default_rng(0)
    return tree, tree.counts_of_leaves(rng.multinomial(records, rng.dirichlet(np.full(tree.n_leaves, 0.3))))


def pipeline(tree: Tree, rule: str) -> Pipeline:
    """Discrete Gaussian noise on every level but the public total, then the projection."""
    return prepare(Experiment("discrete_gaussian", (f"top_down_{rule}",), epsilon=1.0, delta=1e-6), tree)


Draw = Callable[[float], int]


def peers(exact_too: bool) -> list[tuple[str, Draw]]:
    """How the peer draws its noise."""
    rng, bits = np.random.default_rng(1), random.Random(1)
    in_floats: tuple[str, Draw] = ("float", lambda sigma: one_draw(sigma, rng))
    return [in_floats, ("exact", lambda sigma: one_exact_draw(sigma, bits))] if exact_too else [in_floats]


def printed_algorithm(ready: Pipeline, counts: np.ndarray, draw: Draw) -> np.ndarray:
    """Algorithm 1 as printed: released counts of all nodes; those never reached stay 0."""
    tree, out = ready.tree, np.zeros_like(counts)
    out[0] = counts[0]
    for level in range(tree.height):
        law = ready.noise.laws[level + 1]
        assert isinstance(law, DiscreteGaussian)
        for node in range(tree.level(level).start, tree.level(level).stop):
            if out[node] > 0:
                children = tree.children(node)
                noisy = counts[children] + [draw(law.sigma) for _ in range(children.stop - children.start)]
                out[children] = printed_loop(noisy, int(out[node]))
    return out


def one_draw(sigma: float, rng: np.random.Generator) -> int:
    """One discrete Gaussian number by rejection from a discrete Laplace one."""
    t = int(sigma) + 1
    q = 1 - math.exp(-1 / t)
    while True:
        y = rng.geometric(q) - rng.geometric(q)
        if rng.random() < math.exp(-((abs(y) - sigma**2 / t) ** 2) / (2 * sigma**2)):
            return int(y)


def one_exact_draw(sigma: float, bits: random.Random) -> int:
    """One discrete Gaussian number by Algorithms 1 to 3 of the reference, in rational numbers."""
    square, t = Fraction(sigma) ** 2, int(sigma) + 1
    while True:
        u = bits.randrange(t)
        if not exponential_coin(Fraction(u, t), bits):
            continue
        v = 0
        while exponential_coin(Fraction(1), bits):
            v += 1
        negative, y = bits.randrange(2), u + t * v
        if negative and y == 0:
            continue
        if exponential_coin((y - square / t) ** 2 / (2 * square), bits):
            return -y if negative else y


def exponential_coin(exponent: Fraction, bits: random.Random) -> bool:
    """True with probability e^-exponent exactly."""
    while exponent > 1:
        if not exponential_coin(Fraction(1), bits):
            return False
        exponent -= 1
    k = 1
    while bits.randrange(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


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


def pruned(trials: int) -> Iterator[tuple[str, str, float, float | None, str]]:
    """Against least squares and water filling on sparse trees, Zipf 1.2; and on 2^64 leaves, time and memory."""
    for law, sizes, records, most in (
        ("discrete_gaussian", (2,) * 12, 20_000, 1.2), ("discrete_gaussian", (2,) * 16, 20_000, 1.2),
        ("discrete_gaussian", (2,) * 18, 200_000, 1.2), ("discrete_laplace", (16,) * 3, 20_000, 1.4),
    ):  # fmt: skip
        tree, rng = Tree.from_branching_factors(sizes), np.random.default_rng(0)
        share = np.arange(1, tree.n_leaves + 1) ** -1.2
        counts = tree.counts_of_leaves(rng.permutation(rng.multinomial(records, share / share.sum())))
        sums = np.zeros((2, 2))
        first = prepare(Experiment(law, ("pruned",), **PROMISED), tree)
        other = prepare(Experiment(law, LEAST_SQUARES, **PROMISED), tree)
        for _ in range(max(2, trials * (1 << 16) // tree.n_leaves)):
            noisy = counts + first.noise.draw(rng)
            for i, ready in enumerate((first, other)):
                error = ready.postprocessing[0](noisy) - counts
                sums[i] += np.mean(error**2), ((counts == 0) & (error > 0)).sum()
        (mine, filled), (theirs, others) = sums
        about = f"pruned, {law}, {tree.n_levels} levels, {records:,} records / least squares and water filling"
        yield "6", f"{about}: RMSE", math.sqrt(mine / theirs), most, ""
        yield "6", f"{about}: false positives", filled / others, 0.01, ""
    people = made_up((16,) * 16, 100_000, 1)
    ready, rng = plan((16,) * 16, 0.0244), np.random.default_rng(1)
    taken = seconds(lambda: release(people.table, ready, rng, "pruned"))
    tracemalloc.start()
    release(people.table, ready, rng, "pruned")
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    note = f"{1000 * taken:.3g} ms, {peak:.3g} MB"
    yield "6", "pruned, 2^64 leaves, 10^5 records / 2 s", taken / 2, 1.0, note
    yield "6", "pruned, 2^64 leaves, 10^5 records / 100 MB", peak / 100, 1.0, note
