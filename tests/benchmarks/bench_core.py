"""Rows 3b, 4a and 11: Monte-Carlo, tree least squares, sweeps over two workers and over a cluster's executor."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.linalg import lsmr

from pages.ui.jobs.workers import Workers
from timing import paired_ratio
from treedp_core.batch.executors import executor_of
from treedp_core.experiment import Experiment, Outcome, run, sweep
from treedp_core.postprocess import least_squares
from treedp_core.tree import Tree
from treedp_core.watch import Watch, generator

IDS = ("3b", "4a", "11", "11p", "11d")


def rows(quick: bool) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """The rows, as they are measured."""
    rounds = 3 if quick else 15
    yield monte_carlo(rounds)
    yield values_against_copies((60, 40, 2 if quick else 28), rounds)
    yield values_against_lsmr(1 if quick else 3)
    yield from sweeps(3 if quick else 7)


def monte_carlo(rounds: int) -> tuple[str, str, float, float, str]:
    """1000 releases of a 16-ary tree over 4096 leaves, errors and standard errors included, against drawing as much."""
    tree = Tree.from_branching_factors((16, 16, 16))
    counts, rng, trials = np.zeros(tree.n_nodes), generator(3), 1000
    ratio = paired_ratio(
        lambda: run(Experiment(trials=trials, relation="add_or_remove_one"), tree, counts),
        lambda: rng.laplace(size=(trials, tree.n_nodes)),
        rounds,
    )
    return "3b", "Monte-Carlo 1000 trials, K=4096 / rng.laplace of the draws", ratio, 0.8, "discrete Laplace, RMSE"


def irregular(family_means: Sequence[float], rng: np.random.Generator) -> Tree:
    """A ragged tree with Poisson families of the given mean size on each level below the first."""
    families = [np.array([50])]
    for mean in family_means:
        families.append(rng.poisson(mean, families[-1].sum()))
    return Tree.from_child_counts(families)


def problem(family_means: Sequence[float]) -> tuple[Tree, np.ndarray, np.ndarray]:
    """A tree, equal noise variances as under a uniform split, and noisy values."""
    rng = np.random.default_rng(0)
    tree = irregular(family_means, rng)
    variance = np.ones(tree.n_nodes)
    return tree, variance, rng.normal(size=tree.n_nodes)


def values_against_copies(family_means: Sequence[float], rounds: int) -> tuple[str, str, float, float, str]:
    """Least squares of one release against copying its values three times."""
    tree, variance, noisy = problem(family_means)
    estimator, _ = least_squares.prepare(tree, variance)
    ratio = paired_ratio(lambda: estimator(noisy), lambda: [noisy.copy() for _ in range(3)], rounds)
    return "4a", "least squares values / three copies of the values", ratio, 4.0, f"{tree.n_nodes:,} ragged nodes"


def values_against_lsmr(rounds: int) -> tuple[str, str, float, float, str]:
    """Least squares of one release against scipy's iterative solver at tolerance 1e-10 on the same problem."""
    tree, variance, noisy = problem((6, 7, 6, 5.5))
    estimator, _ = least_squares.prepare(tree, variance)
    weight = 1 / np.sqrt(variance)
    system = diags_array(weight) @ leaf_incidence(tree)

    def theirs() -> object:
        return lsmr(system, weight * noisy, atol=1e-10, btol=1e-10, maxiter=10_000)[0]

    leaves = np.flatnonzero(tree.is_leaf)
    np.testing.assert_allclose(theirs(), estimator(noisy)[leaves], atol=1e-3)
    ratio = paired_ratio(lambda: estimator(noisy), theirs, rounds)
    return "4a", "least squares values / LSMR (1e-10)", ratio, 1 / 1000, f"{tree.n_nodes:,} ragged nodes"


def leaf_incidence(tree: Tree) -> csr_matrix:
    """Which leaves (columns, by node number) lie below which nodes (rows)."""
    leaves = np.flatnonzero(tree.is_leaf)
    pairs, above = [], leaves.copy()
    while above.size and (above >= 0).any():
        inside = above >= 0
        pairs.append((above[inside], np.flatnonzero(inside)))
        above = np.where(inside, tree.parent[np.maximum(above, 0)], -1)
    rows, columns = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return csr_matrix((np.ones(rows.size), (rows, columns)), shape=(tree.n_nodes, leaves.size))


def sweeps(rounds: int) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """Eight cells on two workers and on one, of this machine and of a Dask cluster."""
    tree = Tree.from_branching_factors((16, 16, 16))
    counts = tree.counts_of_leaves(np.arange(4096) % 50)
    cells = [replace(Experiment(trials=4000), epsilon=2.0**i, postprocess=("least_squares",)) for i in range(-4, 4)]
    alone = sweep(cells, tree, counts)
    yield on_workers(cells, tree, counts, alone, rounds)
    yield on_processes(cells, tree, counts, alone, rounds)
    yield on_dask(cells, tree, counts, alone, rounds)


def on_workers(
    cells: list[Experiment], tree: Tree, counts: np.ndarray, alone: list[Outcome], rounds: int
) -> tuple[str, str, float, float, str]:
    """The app's worker processes, two against one, as a multiple of what two threads that only draw gain on one."""
    workers = Workers()

    def swept(pool: Executor) -> list[Outcome]:
        return list(pool.map(lambda cell: workers.run(partial(run, cell, tree, counts), Watch()), cells))

    try:
        with ThreadPoolExecutor(2) as two, ThreadPoolExecutor(1) as one:
            same(alone, swept(two))
            ratio, note = over_the_limit(lambda: swept(two), lambda: swept(one), rounds)
    finally:
        workers.close()
    return "11", "sweep of 8 cells, 2 workers / 1, over the machine's limit", ratio, 1.2, note


def on_processes(
    cells: list[Experiment], tree: Tree, counts: np.ndarray, alone: list[Outcome], rounds: int
) -> tuple[str, str, float, float, str]:
    """`treedp run --executor processes:2` against `processes:1`, measured alike once all processes are there."""
    with executor_of("processes:2") as two, executor_of("processes:1") as one:
        for pool in (two, one):
            same(alone, sweep(cells, tree, counts, executor=pool))
        ratio, note = over_the_limit(
            lambda: sweep(cells, tree, counts, executor=two), lambda: sweep(cells, tree, counts, executor=one), rounds
        )
    return "11p", "sweep of 8 cells, processes:2 / processes:1, over the limit", ratio, 1.2, note


def over_the_limit(two: Callable[[], object], one: Callable[[], object], rounds: int) -> tuple[float, str]:
    """Work of two against that of one, as a multiple of what two threads that only draw gain on one; and a note."""

    def drawn(pool: ThreadPoolExecutor) -> object:
        return list(pool.map(draw_exponentials, range(8)))

    with ThreadPoolExecutor(2) as both, ThreadPoolExecutor(1) as single:
        gains = [
            (paired_ratio(two, one, 1), paired_ratio(lambda: drawn(both), lambda: drawn(single), 1))
            for _ in range(rounds)
        ]
    ours, limit = (statistics.median(values) for values in zip(*gains, strict=True))
    ratio = statistics.median(sweeps / draws for sweeps, draws in gains)
    return ratio, f"identical numbers; {ours:.2f} of one's time, where two threads that only draw take {limit:.2f}"


def draw_exponentials(seed: int) -> None:
    """Fill a small array with exponential draws, over and over."""
    rng, draws = np.random.Generator(np.random.SFC64(seed)), np.empty(1 << 14)
    for _ in range(1_500):
        rng.standard_exponential(out=draws)


def on_dask(
    cells: list[Experiment], tree: Tree, counts: np.ndarray, alone: list[Outcome], rounds: int
) -> tuple[str, str, float | None, float | None, str]:
    """`treedp run --executor dask://HOST:PORT` on a cluster of two processes of this machine, against `processes:2`."""
    name = "sweep of 8 cells, dask:// with 2 workers / processes:2"
    try:
        from distributed import LocalCluster
    except ImportError:
        return "11d", name, None, None, "dask[distributed]"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp", "dask", 1)
        with executor_of(address) as theirs, executor_of("processes:2") as ours:
            for pool in (theirs, ours):
                same(alone, sweep(cells, tree, counts, executor=pool))
            ratio = paired_ratio(
                lambda: sweep(cells, tree, counts, executor=theirs),
                lambda: sweep(cells, tree, counts, executor=ours),
                rounds,
            )
    return "11d", name, ratio, None, "identical numbers; one machine, so a cost, not a gain"


def same(alone: list[Outcome], together: list[Outcome]) -> None:
    """Refuse to time sweeps that differ in any number."""
    for a, b in zip(alone, together, strict=True):
        assert a.simulation is not None and b.simulation is not None
        np.testing.assert_array_equal(a.simulation.level, b.simulation.level)
