"""What thresholds are compared with: noise on every count, then shrinkage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core import checks
from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms.stability import LAWS, Stability, stability
from treedp_core.mechanisms.thresholds.schedule import check_levels
from treedp_core.noise import Gaussian, Laplace, Law
from treedp_core.postprocess import shrunk
from treedp_core.registry import MethodCard, Table, table
from treedp_core.studies.multiplicative import method_cards as of
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import generator

# Trees to run thresholds on: a small one, deep ones made up, a data set's.

SOURCES: Final = {"small": "Small tree, step by step", "deep": "Deep tree, generated", "current": "Data set in use"}
DEEP_LEVELS: Final = (10, 30, 100, 300, 1000, 3000)
DEEP_LEAVES: Final = (10, 100, 1000, 10_000)
DEEP_RECORDS: Final = (2, 5, 20, 50, 200, 1000)
SMALL_LEAVES: Final = (8200, 900, 310, 40, 1800, 0, 150, 60, 3600, 420, 0, 0, 90, 25, 5, 0)
"""Records on the leaves of the small tree: some of every size, so that every threshold has something to find."""
SMALL_NODES: Final = 64
"""Trees of at most this many nodes are stepped test by test, larger ones round by round."""
MEAN_RECORDS: Final = 50
MAX_COLUMNS: Final = 60


@dataclass(frozen=True, eq=False)
class Source:
    """A counted tree (private) to run on.

    Parameters
    ----------
    name : str
    paths : PathTree
    tree : Tree or None
        None for a generated deep tree, of which only the paths with records exist.
    counts : (n_nodes,) or None
    """

    name: str
    paths: PathTree
    tree: Tree | None = None
    counts: AnyArray | None = None

    @property
    def is_small(self) -> bool:
        """Whether it is stepped test by test."""
        return self.tree is not None and self.tree.n_nodes <= SMALL_NODES

    @cached_property
    def columns(self) -> tuple[IntArray, IntArray, IntArray]:
        """Left end and width (n_edges,) of every edge's block in columns, and the edges shown (n,).

        The 60 heaviest branches are a column each, followed down to the end of their heaviest path; an edge above
        spans the columns below it. (The heaviest leaves would not do: where all are alike they are neighbours.)
        """
        paths = self.paths
        chosen = _heaviest_branches(paths)
        before = np.zeros(paths.n_edges + 1, dtype=np.int64)
        before[chosen + 1] = 1
        np.cumsum(before, out=before)
        width = before[paths.end] - before[:-1]
        return before[:-1], width, np.flatnonzero(width)


def _heaviest_branches(paths: PathTree) -> IntArray:
    """Ends of at most 60 heavy paths; a branch is an edge that is not the heaviest below its parent."""
    order = np.lexsort((-paths.weight, paths.parent))
    heaviest = order[np.append(True, np.diff(paths.parent[order]) != 0)]
    heaviest = heaviest[paths.parent[heaviest] >= 0]
    below = np.arange(paths.n_edges)
    below[paths.parent[heaviest]] = heaviest
    while (below[below] != below).any():
        below = below[below]
    branches = np.setdiff1d(np.arange(paths.n_edges), heaviest, assume_unique=True)
    return np.asarray(below[branches[np.argsort(-paths.weight[branches], kind="stable")[:MAX_COLUMNS]]])


def small_tree() -> Source:
    """Return the tree of 31 nodes that is stepped by hand."""
    tree = Tree.from_branching_factors((2, 2, 2, 2))
    counts = tree.counts_of_leaves(np.array(SMALL_LEAVES))
    return Source("small tree", PathTree.from_tree(tree, counts), tree, counts)


@lru_cache(maxsize=2)
def deep_tree(n_levels: int, n_leaves: int, seed: int, mean_records: int = MEAN_RECORDS) -> Source:
    """Return a binary tree of many levels whose records sit on few leaves, branching at all levels, sizes uneven.

    Leaves double: each copy keeps a prefix of its original, of a length drawn evenly, and goes its own way from there.
    The r-th leaf has about 1/r of the largest one's records; on average they have `mean_records`.

    >>> deep_tree(50, 20, 1).paths.n_levels
    50
    """
    rng = generator("deep tree", seed)
    codes = rng.integers(0, 2, (1, n_levels - 1), dtype=np.uint8)
    at = np.arange(n_levels - 1)
    while codes.shape[0] < n_leaves:
        fresh = codes[: n_leaves - codes.shape[0]].copy()
        branch = rng.integers(0, n_levels - 1, (fresh.shape[0], 1))
        fresh[at > branch] = rng.integers(0, 2, int((at > branch).sum()), dtype=np.uint8)
        fresh[at == branch] ^= 1
        codes = np.concatenate([codes, fresh])
    weights = 1.0 / (1.0 + rng.permutation(n_leaves))
    counts = np.ceil(weights / weights.sum() * mean_records * n_leaves).astype(np.int64)
    return Source("deep tree", PathTree.from_leaves(codes, counts))


def tree_in_use(name: str, tree: Tree, counts: AnyArray) -> Source:
    """Return a data set's tree; counts (n_nodes,) in records.

    Raises
    ------
    InputError
        ``LEVELS_RANGE`` for a tree of one level.
    """
    check_levels(tree.n_levels)
    return Source(name, PathTree.from_tree(tree, counts), tree, counts)


# ---- exact alpha-RMSE of a noisy count, plain and shrunk to max(0, (1 - alpha) y).
#
# Shrinking is the best simple rule to compare thresholds with. With noise Z of a symmetric law, y = w + Z and
# s = 2 alpha / (1 - alpha), the part of the error beyond alpha w is (1 - alpha) min(-Z, w) downwards (the estimate
# stops at 0) and (1 - alpha) max(Z - s w, 0) upwards, so that
#
#     alpha-RMSE^2 = (1 - alpha)^2 / 2 (E[min(|Z|, w)^2] + E[max(|Z| - s w, 0)^2]).
#
# It is (1 - alpha) sqrt(variance / 2) at w = 0 and for large w; between them it is larger only for small alpha.


_REACH: Final = 40.0  # standard deviations; beyond, E[min(|Z|, w)^2] is the variance and nothing is left upwards
_GRID: Final = 401
_ZOOMS: Final = 4


def shrunk_alpha_rmse(law: Law, alpha: float, counts: ArrayLike) -> FloatArray:
    """Exact alpha-RMSE of counts estimated as max(0, (1 - alpha) (count + noise)), in records, shape of `counts`.

    >>> from treedp_core.noise import Gaussian
    >>> round(float(shrunk_alpha_rmse(Gaussian(2.0), 0.5, 0.0)), 6)  # 0.5 * 2 / sqrt(2)
    0.707107
    """
    a, w = _alpha(alpha), _counts(counts)
    down = np.maximum(law.variance - law.excess_square(w) - 2.0 * w * law.excess(w), 0.0)
    up = law.excess_square(2.0 * a / (1.0 - a) * w)
    return np.asarray((1.0 - a) * np.sqrt(0.5 * (down + up)))


@lru_cache(maxsize=4096)
def worst_shrunk_alpha_rmse(law: Law, alpha: float) -> float:
    """Largest alpha-RMSE over all counts w >= 0 of max(0, (1 - alpha) (w + noise)), in records.

    The search is over real w, so for whole counts it is an upper bound; for alpha >= 0.3 both are
    (1 - alpha) sqrt(variance / 2).

    >>> from treedp_core.noise import Gaussian
    >>> round(worst_shrunk_alpha_rmse(Gaussian(1.0), 0.5), 9)
    0.353553391
    """
    at_ends = (1.0 - _alpha(alpha)) * float(np.sqrt(0.5 * law.variance))
    low, high = 0.0, _REACH * float(np.sqrt(law.variance))
    largest = at_ends
    for _ in range(_ZOOMS):
        counts = np.linspace(low, high, _GRID)
        values = shrunk_alpha_rmse(law, alpha, counts)
        best = int(np.argmax(values))
        largest = max(largest, float(values[best]))
        low, high = counts[max(best - 1, 0)], counts[min(best + 1, _GRID - 1)]
    return largest


def _alpha(alpha: float) -> float:
    return checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")


def _counts(counts: ArrayLike) -> FloatArray:
    w = np.asarray(counts, dtype=float)
    if w.size:
        checks.number("a count", w.min(), low=0, code="COUNT_RANGE")
    return w


@dataclass(frozen=True)
class Rule:
    """A table entry; `about` says what it does, within a sentence."""

    name: str
    label: str
    about: str
    card: MethodCard

    @property
    def help(self) -> str:
        """What it does, as a sentence."""
        return f"{self.about}."


_NORMAL: Final = "Gaussian noise on every count, equal budgets"
_DOUBLE: Final = "Laplace noise on every count, equal budgets"
_SHRUNK: Final = "shrunk to max(0, (1 − α) y)"
SIMPLE: Final[Table[Rule]] = table(
    Rule("gaussian", "Gaussian", _NORMAL, of.GAUSSIAN),
    Rule("shrunk_gaussian", "Shrunk Gaussian", f"{_NORMAL}, {_SHRUNK}", of.SHRUNK_GAUSSIAN),
    Rule("laplace", "Laplace", _DOUBLE, of.LAPLACE),
    Rule("shrunk_laplace", "Shrunk Laplace", f"{_DOUBLE}, {_SHRUNK}", of.SHRUNK_LAPLACE),
    Rule("shrunk_optimal", "Shrunk least squares", f"Gaussian noise with minimax budgets, least squares, {_SHRUNK}",
         of.SHRUNK_OPTIMAL),
    Rule("stability", "Stability histogram", "Whole-number noise on counts above 0, by level, told above a threshold; "
         "no domain need be public", of.STABILITY),
    Rule("stability_leaves", "Stability histogram, leaves", "Whole-number noise on leaves above 0, told above a "
         "threshold; every other count is their sum", of.STABILITY_LEAVES),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Simple:
    """One draw of a simple rule at the judged nodes, (n,), and its exact worst-case alpha-RMSE, in records or inf."""

    released: FloatArray
    worst: float


def draw(
    source: Source,
    edge: IntArray,
    level: IntArray,
    truth: FloatArray,
    settings: Experiment,
    rng: np.random.Generator,
) -> dict[str, Simple]:
    """Return one draw of every simple rule that this tree allows, by its name in `SIMPLE`.

    Parameters
    ----------
    edge, level, truth : (n,)
        Edge, level and true count, in records, of the judged nodes; all nodes in order where the source has a tree.
    """
    alpha = settings.alpha
    sigma, b = (
        deviations(source.paths.n_levels, replace(settings, mechanism="gaussian")),
        deviations(source.paths.n_levels, replace(settings, mechanism="laplace")) / math.sqrt(2.0),
    )
    normal = truth + rng.standard_normal(truth.size) * sigma[level]
    double = truth + rng.laplace(size=truth.size) * b[level]
    of_normal, of_double = Gaussian(float(sigma.max())), Laplace(float(b.max()))
    rules = {
        "gaussian": Simple(normal, math.sqrt(of_normal.variance)),
        "shrunk_gaussian": Simple(shrunk(alpha, sigma[level], normal), worst_shrunk_alpha_rmse(of_normal, alpha)),
        "laplace": Simple(double, math.sqrt(of_double.variance)),
        "shrunk_laplace": Simple(shrunk(alpha, b[level], double), worst_shrunk_alpha_rmse(of_double, alpha)),
    }
    if source.tree is not None and source.counts is not None:
        rules["shrunk_optimal"] = _least_squares(source.tree, truth, settings, rng)
    rules["stability"] = _stability(source.paths.n_levels, level, truth, settings, rng)
    rules["stability_leaves"] = Simple(_summed_leaves(source, edge, level, settings, rng), math.inf)
    return rules


def best(rules: Mapping[str, Simple]) -> str:
    """Return the name of the rule with the smallest worst case."""
    return min(rules, key=lambda name: rules[name].worst)


def deviations(n_levels: int, settings: Experiment) -> FloatArray:
    """Standard deviation of the noise on each level, (n_levels,), in records; 0 where a count is public.

    Equal budgets; the counts of a level do not matter, so a tree of one node a level stands for all.
    """
    chain = Tree(np.arange(-1, n_levels - 1), np.arange(n_levels + 1))
    laws = prepare(replace(settings, metric="rmse", allocation="uniform", postprocess=()), chain).noise.laws
    return np.array([0.0 if law is None else math.sqrt(law.variance) for law in laws])


def _stability(
    n_levels: int, level: IntArray, truth: FloatArray, settings: Experiment, rng: np.random.Generator
) -> Simple:
    """The stability histogram of every level, by the law whose worst case is the smaller one."""
    public = settings.unit.total_is_public
    every = [stability(settings.unit, range(n_levels), settings.epsilon, settings.delta, law) for law in LAWS]
    made = min(every, key=lambda one: one.worst(settings.alpha))
    told = made.release(truth, rng).astype(float)
    return Simple(np.where((level == 0) & public, truth, told), made.worst(settings.alpha))


def leaves_alone(source: Source, settings: Experiment) -> Stability:
    """Return the stability histogram of the leaves at the whole budget, by the law that tells smaller counts."""
    n = source.paths.n_levels
    every = [stability(settings.unit, range(n - 1, n), settings.epsilon, settings.delta, law) for law in LAWS]
    return min(every, key=lambda one: one.threshold)


def leaf_edges(source: Source) -> IntArray:
    """Return the edges of a source that end in a leaf, (n_leaves,)."""
    return np.flatnonzero(source.paths.end == np.arange(source.paths.n_edges) + 1)


def _summed_leaves(
    source: Source, edge: IntArray, level: IntArray, settings: Experiment, rng: np.random.Generator
) -> FloatArray:
    """What is told of leaves, added up to the judged nodes; many small leaves are lost together, without a bound."""
    paths, leaves = source.paths, leaf_edges(source)
    before = np.zeros(paths.n_edges + 1)
    before[leaves + 1] = leaves_alone(source, settings).release(paths.weight[leaves], rng)
    np.cumsum(before, out=before)
    sums = before[paths.end] - before[:-1]
    told = np.where(edge >= 0, sums[np.maximum(edge, 0)], 0.0)
    return np.where((level == 0) & settings.unit.total_is_public, paths.total, told)


def _least_squares(tree: Tree, truth: FloatArray, settings: Experiment, rng: np.random.Generator) -> Simple:
    """Minimax budgets and least squares; a node's error is normal, so its alpha-RMSE is exact."""
    best_split = replace(
        settings, mechanism="gaussian", allocation="minimax", postprocess=("least_squares",), metric="rmse"
    )
    _, release = prepare(best_split, tree).release(truth, rng)
    sigma = np.sqrt(np.zeros(truth.size) if release.variance is None else release.variance)
    law = Gaussian(float(sigma.max()))
    released = shrunk(settings.alpha, sigma, release.estimate)
    return Simple(released, worst_shrunk_alpha_rmse(law, settings.alpha))
