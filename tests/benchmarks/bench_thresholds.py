"""Row 8: classification on sparse deep trees against a dictionary of all prefixes; errors of plans, the theorem's."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

from bench_core import irregular
from timing import paired_ratio, seconds
from treedp_core.allocation.minimax import certificate
from treedp_core.mechanisms.thresholds.plan_search import (
    least_error,
    least_error_together,
    proven_rounds,
    tuned_rounds,
)
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import tuned_plan
from treedp_core.mechanisms.thresholds.reduction import label_nodes
from treedp_core.mechanisms.thresholds.sparse_vector import Draw
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.multiplicative.curves import CURVES, Setting
from treedp_core.studies.multiplicative.tree_bounds import bounds_table
from treedp_core.tree.path_tree import PathTree

IDS = ("8",)
N_LEVELS = 1024
THRESHOLDS = ("paper", "provable", "tuned")
WIDE = [np.array([x]) for x in (0.1, 1.0, 1e-6, float(N_LEVELS), 1e5)]


def rows(quick: bool) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """The rows, as they are measured."""
    n = 10_000 if quick else 100_000
    codes, counts = leaves(2000)
    plan = tuned_plan(0.5, 1.0, 1e-6, N_LEVELS, float(counts.sum()))
    first = Plan("one round", plan.epsilon, plan.delta, plan.levels[-1:], plan.default_value, plan.alpha)

    def ours() -> None:
        paths = PathTree.from_leaves(codes, counts)
        label_nodes(paths, first, Draw(np.random.default_rng(1)))

    ratio = paired_ratio(ours, lambda: dictionary(codes, counts, first), 1 if quick else 3)
    yield "8", "one round from leaf paths / dictionary of prefixes", ratio, 1 / 50, f"2,000 leaves, {N_LEVELS} levels"
    codes, counts = leaves(n)
    paths = PathTree.from_leaves(codes, counts)
    yield "8", "stored edges / leaves", paths.n_edges / paths.n_leaves, 2.0, f"{n:,} leaves, {N_LEVELS} levels"
    build = seconds(lambda: PathTree.from_leaves(codes, counts))
    plan = tuned_plan(0.5, 1.0, 1e-6, N_LEVELS, float(counts.sum()))
    run = seconds(lambda: label_nodes(paths, plan, Draw(np.random.default_rng(1))))
    note = f"{n:,} leaves: {build:.2f} s; {len(plan.levels)} rounds of a tuned plan: {run:.2f} s"
    yield "8", "all rounds / building the paths", run / build, None, note
    error = {name: float(CURVES[name].error(Setting(), np.array([float(N_LEVELS)]))[0]) for name in THRESHOLDS}
    for name in THRESHOLDS[1:]:
        note = f"{error[name]:.4g} records, theirs {error['paper']:.4g}"
        yield "8", f"worst α-RMSE, {name} plan, {N_LEVELS} levels / theorem", error[name] / error["paper"], 1e-3, note

    for name, rule in (("tuned", tuned_rounds), ("provable", proven_rounds)):
        together, in_sum = (find(rule, *WIDE) for find in (least_error_together, least_error))
        ratio = float(together[0][0] / in_sum[0])
        yield (
            "8",
            f"default value, {name} plan, rounds composed / in sum",
            ratio,
            0.9,
            "α = 0.1, δ = 1e-6, 10^5 records",
        )
    yield from bounds((1.0,) if quick else (2.0, 1.5))


def bounds(family_means: tuple[float, ...]) -> Iterator[tuple[str, str, float | None, float | None, str]]:
    """The factorisation norm of a ragged tree from both sides, and how far Gaussian noise is above what is possible."""
    tree = irregular(family_means, np.random.default_rng(0))
    tracemalloc.start()
    begun = time.perf_counter()
    found = certificate(tree)
    took, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    about = f"{tree.n_nodes:,} ragged nodes"
    yield "8", f"γ₂ of {about}, upper / lower", found.upper / found.lower, 1.001, f"{took:.2g} s, {peak >> 20} MB"
    least = bounds_table(tree, 0.5, 1.0, 1e-6)["error at least (records)"][2]
    best = found.upper * gaussian_sigma(1.0, 1e-6)
    yield "8", f"best Gaussian noise, {about} / what none can beat", best / least, None, f"{best:.3g} and {least:.3g}"


def leaves(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Binary paths in families of 50 that part ways at random levels, with skewed counts."""
    g = np.random.default_rng(0)
    codes = g.integers(0, 2, (n, N_LEVELS - 1), dtype=np.uint8)
    for start in range(0, n, 50):
        shared = int(g.integers(0, N_LEVELS))
        codes[start : start + 50, :shared] = codes[start, :shared]
    return codes, np.ceil(g.lognormal(2.0, 2.0, n)).astype(np.int64)


def dictionary(codes: np.ndarray, counts: np.ndarray, plan: Plan) -> dict[bytes, bool]:
    """The same round with every non-zero node in a dictionary, keyed by its path."""
    g, level = np.random.default_rng(1), plan.levels[0]
    weights: list[dict[bytes, int]] = [{} for _ in range(codes.shape[1] + 1)]
    for row, count in zip(codes, counts.tolist(), strict=True):
        path = row.tobytes()
        for here, below in enumerate(weights):
            below[path[:here]] = below.get(path[:here], 0) + count
    threshold = level.classification_threshold + g.exponential(1 / level.threshold_epsilon)
    labels: dict[bytes, bool] = {}
    for nodes in reversed(weights):
        if max(nodes.values()) + g.exponential(1 / level.query_epsilon) < threshold:
            continue
        noise = g.laplace(0.0, 1 / level.pass_epsilon, len(nodes)).clip(-level.pass_bound, level.pass_bound)
        for (path, weight), z in zip(nodes.items(), noise.tolist(), strict=True):
            if weight + z > level.pass_threshold:
                labels.update((path[:here], True) for here in range(len(path) + 1))
        break
    return labels
