"""Rows 3a, 7 and 9: a CDF release against OpenDP's, consistency against trellises, the search for the best tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from timing import paired_ratio, seconds
from treedp_core.postprocess.isotonic import consistent_cdf
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.shapes.primes import divisors
from treedp_core.studies.cdf.shapes.search import Cost, cheapest
from treedp_core.tree.workloads import Shape, prefix_estimates

IDS = ("3a", "7", "9")
Line = tuple[str, str, float | None, float | None, str]


def rows(quick: bool) -> Iterator[Line]:
    """The rows, as they are measured."""
    yield from releases(quick)
    yield from consistency(quick)
    yield from branching(quick)


# ---- 3a


def releases(quick: bool) -> Iterator[Line]:
    """One release with least squares, cumulative counts included, against the same steps in OpenDP."""
    for power, target in ((16, 1 / 150),) if quick else ((16, 1 / 150), (20, 1 / 200)):
        yield release_against_opendp(power, target)


def release_against_opendp(power: int, target: float) -> Line:
    """One ratio of row 3a, after a look at whether both CDFs are about right."""
    n_bins, name = 1 << power, f"CDF release and tree consistency, K=2^{power} / OpenDP"
    try:
        theirs = opendp_release(n_bins)
    except ImportError:
        return "3a", name, None, None, "opendp"
    plan = plan_cdf(CdfSettings(n_bins, (16,) * (power // 4)))
    rng = np.random.default_rng(1)
    counts = rng.poisson(5.0, n_bins)
    given, truth = counts.tolist(), np.cumsum(counts)[:-1]
    reach = 32 * np.sqrt(plan.variance.max())
    assert np.abs(plan.release(counts, rng).cumulative[:-1] - truth).max() < reach
    assert np.abs(theirs(given)[:-1] - truth).max() < reach
    ratio = paired_ratio(lambda: plan.release(counts, rng), lambda: theirs(given), 3)
    return "3a", name, ratio, target, "exact discrete Laplace noise on every level, 16-ary"


def opendp_release(n_bins: int) -> Callable[[list[int]], np.ndarray]:
    """OpenDP's tree of counts with discrete Laplace noise, its consistency step, and cumulative sums."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    tree = dp.t.make_b_ary_tree(*space, leaf_count=n_bins, branching_factor=16)
    levels = (n_bins.bit_length() - 1) // 4
    noisy = tree >> dp.m.then_laplace(scale=2.0 * levels)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=16)
    return lambda counts: np.cumsum(consistent(noisy(counts)))


# ---- 7


def consistency(quick: bool) -> Iterator[Line]:
    """Consistent cumulative counts of the paper's experiment, and of a million bins."""
    y = random_walk(997, 900)
    for error in ("squared", "absolute"):
        ours, theirs = consistent_cdf(y, 900, error), trellis(y, 900, error)
        np.testing.assert_allclose(cost(ours, y, error), cost(theirs, y, error), rtol=1e-9)
    rounds = 3 if quick else 9
    yield row7("squared error, K=997 / trellis O(K N)", y, "squared", trellis, 1 / 40, rounds)
    yield row7("absolute error, K=997 / trellis O(K N)", y, "absolute", trellis, 1 / 15, rounds)
    ratio = seconds_of(lambda: consistent_cdf(y, 900)) / seconds(lambda: slow_trellis(y[:30], 900)) * 30 / 997
    yield (
        "7",
        "squared error, K=997 / trellis O(K N^2), 30 bins extrapolated",
        ratio,
        1 / 1000,
        "the paper's, vectorised over a stage; compiled code was not at hand",
    )
    yield million_bins(rounds)


def row7(name: str, y: np.ndarray, error: str, theirs: Callable[..., object], target: float, rounds: int) -> Line:
    """One ratio of row 7."""
    ratio = paired_ratio(lambda: consistent_cdf(y, 900, error), lambda: theirs(y, 900, error), rounds)
    return "7", f"CDF consistency, {name}", ratio, target, "equal costs"


def million_bins(rounds: int) -> Line:
    """A tree release of 10^6 bins and 10^9 records against running maxima from both sides."""
    n_bins = 10**6
    rng = np.random.default_rng(2)
    counts = rng.poisson(1000.0, n_bins)
    tree = Shape((16,) * 5, n_bins).tree()
    noise = rng.laplace(scale=100.0, size=tree.n_nodes)
    noise[0] = 0.0
    y, total = np.cumsum(counts) + prefix_estimates(tree, noise), int(counts.sum())
    ratio = paired_ratio(
        lambda: consistent_cdf(y, total), lambda: (np.maximum.accumulate(y), np.maximum.accumulate(y[::-1])), rounds
    )
    return "7", "CDF consistency, K=1e6, N=1e9 / two maximum.accumulate", ratio, 2.0, "16-ary tree, epsilon = 0.1"


def random_walk(n_bins: int, n_records: int) -> np.ndarray:
    """Cumulative counts of uniform records with the noise of the paper's histogram at epsilon = 0.1."""
    rng = np.random.default_rng(3)
    counts = rng.multinomial(n_records, np.full(n_bins, 1 / n_bins))
    return np.cumsum(counts) + np.cumsum(rng.laplace(scale=20.0, size=n_bins))


def stage(values: np.ndarray, y: float, error: str) -> np.ndarray:
    """Cost of each value for one bin."""
    return np.square(values - y) if error == "squared" else np.abs(values - y)


def cost(fit: np.ndarray, y: np.ndarray, error: str) -> float:
    """Cost of a fit over all bins but the last."""
    return float(stage(fit[:-1].astype(float), y[:-1], error).sum())


def trellis(y: np.ndarray, n_records: int, error: str) -> np.ndarray:
    """Dynamic programming over all values with running minima, vectorised over the values."""
    values = np.arange(n_records + 1.0)
    behind, tables = np.zeros(values.size), []
    for x in y[-2::-1]:
        total = stage(values, x, error) + behind
        behind = np.minimum.accumulate(total[::-1])[::-1]
        tables.append(total)
    path, v = [], 0
    for total in reversed(tables):
        v += int(np.argmin(total[v:]))
        path.append(v)
    return np.array([*path, n_records])


def slow_trellis(y: np.ndarray, n_records: int) -> np.ndarray:
    """The same with every edge looked at, as printed in the paper, vectorised over the edges of a stage."""
    values = np.arange(n_records + 1.0)
    allowed = np.where(values[:, None] <= values, 0.0, np.inf)
    behind = np.zeros(values.size)
    for x in y[-2::-1]:
        behind = (allowed + (stage(values, x, "squared") + behind)).min(axis=1)
    return behind


def seconds_of(work: Callable[[], object]) -> float:
    """Median time of five calls."""
    return sorted(seconds(work) for _ in range(5))[2]


# ---- 9


def branching(quick: bool) -> Iterator[Line]:
    """The best padded tree for 10^15 bins against 5 ms, and the best exact one against a search over all divisors."""
    cost_of = Cost(2.0, 1.0)
    bins = 10**15 - 11
    took = sorted(seconds(lambda: cheapest(bins, cost_of, padded=True)) for _ in range(9))[4]
    yield "9", "best padded tree, K = 10^15 - 11 / 5 ms", took / 0.005, 1.0, f"{1000 * took:.2f} ms"
    highly = 720_720
    assert cheapest(highly, cost_of, padded=False)[0][0] == by_divisors(highly)
    ratio = paired_ratio(
        lambda: cheapest(highly, cost_of, padded=False), lambda: by_divisors(highly), 1 if quick else 3
    )
    yield "9", "best exact tree, K = 720,720 / dynamic programming", ratio, 1 / 20, "over divisors and heights"


def by_divisors(n_bins: int) -> float:
    """Least height^2 sum (n_i - 1), by least sums over the divisors for every height."""
    all_divisors = divisors(n_bins)

    @cache
    def least(product: int, height: int) -> float:
        if height == 1:
            return product - 1.0 if product > 1 else np.inf
        below = (d for d in all_divisors if 1 < d < product and product % d == 0)
        return min((d - 1 + least(product // d, height - 1) for d in below), default=np.inf)

    return min(h * h * least(n_bins, h) for h in range(1, 21))
