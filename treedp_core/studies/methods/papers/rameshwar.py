"""Rameshwar, Tandon and Sharma, "Optimal Tree-Based Mechanisms for DP Approximate CDFs": every claim, checked."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Final

import numpy as np

from treedp_core.noise import Laplace
from treedp_core.postprocess.isotonic import consistent_cdf, distance_from, fit_of_distance
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records.count.bins import count_bins
from treedp_core.studies.branching.factors import (
    best_factors,
    best_factors_from_two,
    best_whole,
    bound_on_trees,
    mean_variance,
    number_of_trees,
    sandwich,
)
from treedp_core.studies.branching.question import best_branching, loss_factor
from treedp_core.studies.cdf.absolute import tree_error
from treedp_core.studies.cdf.error import Criterion, optimal_shares, total_squared_error
from treedp_core.studies.cdf.error.criterion import histogram_error, range_queries_error
from treedp_core.studies.cdf.error.prefixes import counts_behind, two_view_variances
from treedp_core.studies.cdf.experiment import PUBLISHED, SECTION_VI, consistency_gains
from treedp_core.studies.cdf.release import CdfSettings, plan_tree
from treedp_core.studies.methods.papers.claim import (
    Claim,
    Number,
    Verdict,
    best_bins,
    least_sum,
    loss_of_density,
    moved_prefixes,
    summed_variance,
)
from treedp_core.studies.methods.papers.factors import (
    best_height_between,
    best_height_of_prime_powers,
    chain_of_lemma_v2,
    equal_is_best,
    heights,
    prime_exponents,
    prime_powers,
)
from treedp_core.tree import Tree
from treedp_core.tree.workloads import Shape, equal_tree, prefix_estimates
from treedp_core.watch import generator

BINS: Final = 256
TRIALS: Final = 40
RUNS_OF_THE_PAPER: Final = 100
ERROR: Final = ("cdf", {"cdf_view": "error", "cdf_bins": "256"})
EXPERIMENT: Final = ("cdf", {"cdf_view": "experiment"})
RELEASE: Final = ("cdf", {"cdf_view": "release"})
BRANCHING: Final = ("branching", {"bra_bins": "2^20"})
BOTH_SIDES: Final = ("cdf", {"cdf_view": "release", "cdf_tree": "binary", "cdf_post": "0", "cdf_estimate": "average"})
BUDGETS: Final = ("branching", {"bra_bins": "256", "bra_given": "0.6, 0.4"})
VIEWS: Final = (2, 2, 2)
"""Children by level of the tree on which Appendix B is tried."""


def _laplace() -> tuple[Number, ...]:
    """How far a replaced record moves bins, and what noise of that scale over ε then loses, by listing."""
    moved = float(ProtectedUnit(NeighbouringRelation.REPLACE_ONE).l1_sensitivity(2)[1])
    return (
        Number("records that one replaced record moves between bins", moved, 2.0),
        Number("ε of two bins with noise of scale 2, by listing", 2.0 * loss_of_density(Laplace(moved)), 1.0),
    )


def _last_bin() -> tuple[Number, ...]:
    """Three records in [0, 20], one at each bound; the paper's bins as it defines them, [a + (j - 1) w, a + j w)."""
    values, width = (0.0, 10.0, 20.0), 10.0
    printed = sum(j * width <= x < (j + 1) * width for x in values for j in range(2))
    told = count_bins("\n".join(["x", *map(str, values)]).encode(), "x", lower=0.0, upper=20.0, n_bins=2).report
    ours = float(told.counted - told.other)
    return (Number("of 3 records at 0, 10 and 20, those in 2 bins of [0, 20]", ours, float(printed)),)


def _every_prefix() -> tuple[Number, ...]:
    """The formula, and the sensitivity by listing pairs of bins: variance 2 sensitivity^2 on each of K - 1."""
    moved = moved_prefixes(BINS)
    return (
        Number("N² E₂ of 256 bins, ε = 1", range_queries_error(BINS, 1.0, 1), 2.0 * (BINS - 1) ** 3),
        Number("the same by listing pairs of bins", 2.0 * moved**2 * (BINS - 1), 2.0 * (BINS - 1) ** 3),
    )


def _histogram() -> tuple[Number, ...]:
    first = next(k for k in range(2, 10) if histogram_error(k, 1.0, 1) < range_queries_error(k, 1.0, 1))
    return (
        Number("N² E₂ of 256 bins, ε = 1", histogram_error(BINS, 1.0, 1), 4.0 * BINS * (BINS - 1)),
        Number("the same from the matrix of sums", summed_variance(BINS, 8.0), 4.0 * BINS * (BINS - 1)),
        Number("bins from which it is better", float(first), 4.0),
    )


def _unequal() -> tuple[Number, ...]:
    """Budgets of single bins by trying many, for 2, 3 and 4 bins."""
    return tuple(
        Number(f"N² E₂ of {k} bins, best budgets by search", best_bins(k), histogram_error(k, 1.0, 1))
        for k in (2, 3, 4)
    )


def _covers() -> tuple[Number, ...]:
    tree = Shape.full((4, 3, 5)).tree()
    most = max(tree.prefix_cover(j).size for j in range(1, tree.n_leaves))
    return (Number("nodes of the longest cover, 4 × 3 × 5", float(most), float(3 + 2 + 4)),)


def _private() -> tuple[Number, ...]:
    """The scales of a release's noise: a replaced record moves two counts of each level by 1."""
    ready = plan_tree(CdfSettings(64, (4, 16), "laplace", 1.0, allocation="optimal", least_squares=False))
    scales = np.sqrt(ready.noise.variance[[1, 5]] / 2.0)
    lost = math.fsum(2.0 * loss_of_density(Laplace(float(one))) for one in scales)
    return (Number("ε of a replaced record on 4 × 16, by listing", lost, 1.0),)


def _tree_error() -> tuple[Number, ...]:
    """Theorem IV.1 by its own sum, and by simulating nothing: digit sums of the covers."""
    factors, epsilons, records = (16, 16), (0.05, 0.05), 900
    printed = 4.0 * 256 / records**2 * sum((n - 1) / e**2 for n, e in zip(factors, epsilons, strict=True))
    ours = total_squared_error(Shape.full(factors), epsilons, records)
    tree = Shape.full((2, 3)).tree()
    uses = np.zeros(tree.n_levels)
    for j in range(1, tree.n_leaves):
        np.add.at(uses, tree.level_of[tree.prefix_cover(j)], 1)
    counted = float(8.0 * (uses[1] * 9.0 + uses[2] * 2.25))
    return (
        Number("E₂ of 16 × 16, ε = 0.1, N = 900", ours, printed),
        Number("N² E₂ of 2 × 3, ε = 1/3 and 2/3, by counting covers", counted, 324.0),
    )


def _user_level() -> tuple[Number, ...]:
    many = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, contributions=3)
    shape, split = Shape.full((16, 16)), (0.5, 0.5)
    return (
        Number("E₂, 900 users with 3 records, N counts records", total_squared_error(shape, split, 2_700, many),
               4.0 * 256 / 900**2 * (15.0 / 0.25 + 15.0 / 0.25)),
    )  # fmt: skip


def _budgets() -> tuple[Number, ...]:
    first, second = optimal_shares(Shape.full((2, 8)), Criterion()).shares[1:].tolist()
    part = 1.0 / (1.0 + 7.0 ** (1 / 3))
    by_shares = 1.0 / first**2 + 7.0 / second**2
    return (
        Number("share of level 1 of 2 × 8", first, part),
        Number("share of level 2", second, 1.0 - part),
        Number("Σ (nᵢ − 1) / εᵢ² by them, and the least by search", by_shares, least_sum((1.0, 7.0))),
    )


def _factors() -> tuple[Number, ...]:
    """The formula against a search: budgets 0.6 and 0.4 over 256 bins."""
    ours = best_factors(256, (0.6, 0.4))
    grid = np.linspace(2.0, 128.0, 1_260_001)
    error = (grid - 1.0) / 0.36 + (256.0 / grid - 1.0) / 0.16
    found = float(grid[np.argmin(error)])
    return (Number("children of level 1, 256 bins, ε = 0.6 and 0.4", ours[0], found, 1e-4),)


def _small_factors() -> tuple[Number, ...]:
    """With 2 children at least, and the best whole tree: the formula's factors, where they are a tree's."""
    found, least = best_factors(16, (0.9, 0.1)), best_factors_from_two(16, (0.9, 0.1))
    grid = np.linspace(2.0, 8.0, 600_001)
    error = (grid - 1.0) / 0.81 + (16.0 / grid - 1.0) / 0.01
    by_search = float(16.0 / grid[np.argmin(error)])
    return (
        Number("children of level 2, 16 bins, ε = 0.9 and 0.1, at least 2, by search", by_search, found[1]),
        Number("the same by the corrected rule", least[1], found[1]),
    )


def _whole_factors() -> tuple[Number, ...]:
    """The best whole tree for budgets against all trees of 64 bins and 3 levels, listed, at ε = 0.5, 0.3, 0.2."""
    noise = 8.0 / np.array([0.5, 0.3, 0.2]) ** 2
    trees = [one for a in range(2, 33) for b in range(2, 33) if (one := (-(-64 // (a * b)), a, b))[0] >= 2]
    digits = [sum(np.sum(j // s % n) * v for n, s, v in zip(one, (one[1] * one[2], one[2], 1), noise, strict=True))
              for one in trees for j in [np.arange(64)]]  # fmt: skip
    found = best_whole(64, noise)
    return (Number("mean variance of the best whole tree, 64 bins", found.value, min(digits) / 64.0),)


def _between() -> tuple[Number, ...]:
    """How often the error is not between half of the approximation and all of it, over trees of 2 to 4 levels."""
    rng = generator("papers: sandwich", 9)
    fails = 0
    for _ in range(200):
        height = int(rng.integers(1, 5))
        factors, shares = rng.integers(2, 12, height), rng.dirichlet(np.ones(height))
        exact = mean_variance(Shape.full(factors.tolist()), 8.0 / shares**2)
        above = float(4.0 * (factors / shares**2).sum())
        fails += not above / 2.0 * (1.0 - 1e-9) <= exact <= above
    rows = sandwich(4_096, Criterion(), [3])
    return (
        Number("violations over 200 trees", float(fails), 0.0),
        Number("E of 16³ over its approximation", rows["exact"][0] / rows["approximation"][0], 15.0 / 16.0),
    )


def _how_many() -> tuple[Number, ...]:
    """Ordered factors of K by listing them; the bound of the paper counts more."""
    listed = [_ordered(k) for k in (12, 64, 360)]
    return (
        *(Number(f"trees for K = {k}", float(number_of_trees(k)), float(n))
          for k, n in zip((12, 64, 360), listed, strict=True)),
        Number("of 360 above the bound Ω(K)^Ω(K)", max(0.0, float(number_of_trees(360) - bound_on_trees(360))), 0.0),
    )  # fmt: skip


def _ordered(k: int) -> int:
    return 1 + sum(_ordered(k // n) for n in range(2, k) if k % n == 0)


def _upper_bound() -> tuple[Number, ...]:
    """Least of 4 K sum n_i / eps_i^2 over 4 096 bins and 3 levels: equal factors and budgets against a search."""
    bins, height = 4_096, 3
    lemma = 4.0 * bins ** ((height + 1) / height) * height**3
    grid = np.geomspace(2.0, bins / 4.0, 400)
    a, b = np.meshgrid(grid, grid)
    c = bins / a / b
    searched = np.where(c >= 1.0, (np.cbrt(a) + np.cbrt(b) + np.cbrt(c)) ** 3, np.inf).min()
    return (Number("least of the approximation, 4 096 bins, 3 levels", lemma, float(4.0 * bins * searched), 1e-3),)


def _optimal_error() -> tuple[Number, ...]:
    """Theorem IV.3 where factors are whole, and that unequal ones are never better."""
    bins, height = 4_096, 3
    printed = 4.0 * bins * height**3 * (bins ** (1.0 / height) - 1.0)
    equal = bins * optimal_shares(Shape.full((16, 16, 16)), Criterion()).value
    others = min(
        bins * optimal_shares(Shape.full(one), Criterion()).value for one in ((8, 16, 32), (4, 32, 32), (8, 8, 64))
    )
    return (
        Number("N² E₂ of 16³, best budgets", equal, printed),
        Number("unequal factors over it, at least 1", float(min(1.0, others / printed)), 1.0),
    )


def _needs_three() -> tuple[Number, ...]:
    """With factors of at least 2 unequal ones can be better: 9 bins, 2 levels, best budgets."""
    unequal, equal = (least_sum((one - 1.0, other - 1.0)) for one, other in ((2.0, 4.5), (3.0, 3.0)))
    return (Number("least Σ of 9 bins by search, factors 2 and 4.5; 3 and 3", unequal, equal),)


def _best_factor() -> tuple[Number, ...]:
    found = best_branching(Criterion())
    return (
        Number("β*", found.beta, 16.79),
        Number("best whole β", float(found.whole or 0), 17.0),
        Number(
            "f(17) ÷ f(16), below 1",
            loss_factor(17, Criterion()) / loss_factor(16, Criterion()),
            0.703529 / 0.703777,
            1e-5,
        ),
    )


def _figure_1() -> tuple[Number, ...]:
    trees = [(f"{b}-ary tree", _equal_error(b), printed) for b, printed in ((2, 524_288.0), (16, 122_880.0))]
    return (
        Number("noise on every cumulative count", range_queries_error(BINS, 1.0, 1), 33_162_750.0),
        Number("histogram", histogram_error(BINS, 1.0, 1), 261_120.0),
        *(Number(name, ours, printed) for name, ours, printed in trees),
    )


def _equal_error(b: int) -> float:
    shape = equal_tree(BINS, b)
    return total_squared_error(shape, [1.0 / shape.height] * shape.height, 1)


def _figure_1_better() -> tuple[Number, ...]:
    shape, fitted = equal_tree(BINS, 16), Criterion(least_squares=True)
    ours = BINS * fitted.at_equal_shares(shape)
    return (Number("N² E₂ of 16 × 16 after least squares", ours, _equal_error(16)),)


def _refined(beta: int, height: int, epsilon: float) -> float:
    """Lemma IV.4 as printed, times N^2, at a budget per level."""
    weights = sum(1.0 / sum(float(beta) ** -j for j in range(height - i + 1)) for i in range(1, height + 1))
    return float(2.0 * beta**height * (beta - 1) / epsilon**2 * weights)


def two_views(weighted: bool = False) -> float:
    """Return N^2 E_2 of both views of every cumulative count of 2^3 bins, averaged or weighted, at epsilon = 1."""
    tree = Tree.from_branching_factors(VIEWS)
    variance = np.repeat([0.0, *[8.0 * len(VIEWS) ** 2] * len(VIEWS)], tree.level_sizes)
    return float(two_view_variances(tree, variance, weighted=weighted).sum())


def _two_views() -> tuple[Number, ...]:
    return (Number("N² E₂ of 2³ bins, ε = 1", two_views(), _refined(2, 3, 1.0 / 3.0)),)


def _best_views() -> tuple[Number, ...]:
    shape, fitted = Shape.full(VIEWS), Criterion(least_squares=True)
    blue = shape.n_bins * fitted.at_equal_shares(shape)
    return (
        Number("both views weighted, 2³ bins, ε = 1", two_views(weighted=True), two_views()),
        Number("least squares", blue, two_views()),
    )


def _variance_of_a_view() -> tuple[Number, ...]:
    """A child of the root of 2^3 bins after it is combined with its descendants: 8 / eps_level^2 over 1 + 1/2 + 1/4."""
    from_bottom = 8.0 * 9.0
    for _ in range(2):
        from_bottom = 1.0 / (1.0 / 72.0 + 1.0 / (2.0 * from_bottom))
    return (Number("variance of a node of level 1, 2³ bins, ε = 1", from_bottom, 8.0 / (1.0 + 0.5 + 0.25)),)


def _right_covers() -> tuple[Number, ...]:
    tree = Shape.full((3, 2, 4)).tree()
    counts = tree.counts_of_leaves(generator("papers: right covers", 7).integers(0, 99, tree.n_leaves)).astype(float)
    both = prefix_estimates(tree, counts) + counts_behind(tree, counts)
    return (Number("largest gap of left plus right to N", float(np.abs(both - counts[0]).max()), 0.0),)


def _trellis() -> tuple[Number, ...]:
    """The trellis of Section VI with a distance of one's own against the direct fits, on noisy counts."""
    y = np.array([0.9, 0.4, 0.4, 3.0])

    def by_hand(values: np.ndarray, at: float) -> np.ndarray:
        return np.abs(values - at)

    def more_is_better(values: np.ndarray, at: float) -> np.ndarray:
        return np.where(values < at, 3.0, 1.0) * np.abs(values - at)

    costs = [float(np.abs(consistent_cdf(y, 3, how)[:3] - y[:3]).sum()) for how in ("absolute", by_hand)]
    own = fit_of_distance("own", "Own", "", more_is_better).solve(y[:3], 3)
    listed = min(
        sum(float(more_is_better(np.array([v]), x)[0]) for v, x in zip(one, y.tolist(), strict=False))
        for one in combinations_with_replacement(range(4), 3)
    )
    return (
        Number("ℓ₁ cost of (0.9, 0.4, 0.4)", costs[0], 1.3),
        Number("by the trellis", costs[1], 1.3),
        Number("too few records three times as bad, as an entry, by listing",
               distance_from(np.append(own, 3), y, more_is_better), listed),
    )  # fmt: skip


def section_vi() -> tuple[Number, ...]:
    """Return the experiment of Section VI, simulated with fewer runs, beside the paper's means of 100 runs."""
    found = consistency_gains(SECTION_VI[:1], trials=TRIALS)[0]
    numbers = []
    for name, label in (
        ("l1", "ℓ₁"),
        ("l1_consistent", "ℓ₁ consistent"),
        ("l2", "ℓ₂"),
        ("l2_consistent", "ℓ₂ consistent"),
    ):
        one = getattr(found, name)
        both = one.se * math.sqrt(1.0 + TRIALS / RUNS_OF_THE_PAPER)
        numbers.append(Number(label, one.mean, PUBLISHED[name], 3.0 * both / PUBLISHED[name]))
    return tuple(numbers)


def _absolute() -> tuple[Number, ...]:
    """The mean l1 distance of the published histogram without simulation, beside a direct sum over its bins."""
    nodes = np.arange(1, 997)
    summed = math.fsum(math.exp(math.lgamma(m + 0.5) - math.lgamma(m)) for m in nodes.tolist())
    exact = 997 * tree_error(Shape((997,), 997), 2.0 / 0.1) / 900.0
    return (
        Number("ℓ₁ of the histogram, 997 bins", exact, PUBLISHED["l1"], 0.1),
        Number("the same, summed bin by bin", exact, 40.0 / math.sqrt(math.pi) * summed / 900.0),
    )


def _section_vi_better() -> tuple[Number, ...]:
    found = consistency_gains(SECTION_VI[-1:], trials=TRIALS // 2)[0]
    return (
        Number("ℓ₁ consistent, padded 10³, least squares", found.l1_consistent.mean, PUBLISHED["l1_consistent"]),
        Number("ℓ₂ consistent", found.l2_consistent.mean, PUBLISHED["l2_consistent"]),
    )


R, C, S, N = Verdict.REPRODUCED, Verdict.CORRECTED, Verdict.SHARPENED, Verdict.NOT_APPLICABLE
CLAIMS: Final = (
    Claim("Definitions II.1 to II.3, Theorem II.1", "Laplace noise for a replaced record.", R, _laplace, "", RELEASE),
    Claim("Section II, bins", "Every bin is closed below and open above.", C, _last_bin,
          "A record at the upper bound b is then in no bin; here the last bin holds it.", ("data", {})),
    Claim("Lemma III.1", "Noise on every cumulative count: 2 (K − 1)³.", R, _every_prefix, "", ERROR),
    Claim("Lemma III.2", "A histogram: 4 K (K − 1), better from 4 bins on.", R, _histogram, "", ERROR),
    Claim("Sec. III, remark on unequal bins", "Bins with budgets of their own gain nothing.", C, _unequal,
          "True from 4 bins on; with 2 and 3 bins they gain: one bin of two needs noise for 1, not for 2.",
          ("ranges", {})),
    Claim("Definition IV.1, Lemma IV.1", "A cumulative count adds up at most Σ (nᵢ − 1) nodes.", R, _covers,
          "Nodes of level i have nᵢ₊₁ children; the text says nᵢ.", ("ranges", {})),
    Claim("Proposition IV.1", "Budgets of levels that sum to ε are ε-private.", R, _private, "", RELEASE),
    Claim("Theorem IV.1", "E₂ = 4 K / N² Σ (nᵢ − 1) / εᵢ².", R, _tree_error, "", ERROR),
    Claim("Sec. IV, remark on users with many records", "The same error as with one.", R, _user_level,
          "L enters the noise and N alike.", ("cdf", {"contributions": "3"})),
    Claim("Theorem IV.2 (i)", "The best budgets are cube roots.", R, _budgets, "",
          ("lab", {"lab_allocation": "cube_root"})),
    Claim("Theorem IV.2 (ii)", "The best factors are squares of the budgets.", R, _factors, "", BUDGETS),
    Claim("Theorem IV.2 (ii), few bins", "Factors for any budgets.", C, _small_factors,
          "Factors below 2 come out for unequal budgets; no tree has them. With 2 at least the others share the rest.",
          BUDGETS),
    Claim("Theorem IV.2 (ii), whole factors", "Whole factors for given budgets.", R, _whole_factors,
          "By an exact recursion from the leaves up, padding and all.", BUDGETS),
    Claim("Sec. IV, before Lemma IV.2", "½ Ē₂ ≤ E₂ ≤ Ē₂.", R, _between, "", BRANCHING),
    Claim("Section V, number of trees", "At most Ω(K)^Ω(K) trees.", R, _how_many,
          "The exact number, by inclusion and exclusion over the factors 1, is on the page.", BRANCHING),
    Claim("Lemma IV.2", "Equal factors and budgets are best for the approximation.", R, _upper_bound, "", BRANCHING),
    Claim("Theorem IV.3", "They are best for the true error, from 3 children on.", R, _optimal_error, "",
          ("methods", {"met_view": "methods", "met_one": "bounds.cumulative_laplace"})),
    Claim("Theorem IV.3, Appendix A, condition", "Equal factors are best if each is at least 3.", S, _needs_three,
          "The condition is needed: with 2 children allowed, 2 and 4.5 beat 3 and 3.", BRANCHING),
    Claim("Lemma IV.3", "β* is about 16.79; the best whole number is 17.", C, _best_factor, "16.80; 17 is right.",
          BRANCHING),
    Claim("Figure 1", "Four mechanisms, 256 bins.", R, _figure_1, "N² E₂ at ε = 1.", ERROR),
    Claim("Figure 1, improved", "The 16-ary tree is the best of them.", S, _figure_1_better,
          "Least squares costs nothing and divides its error by three.", ERROR),
    Claim("Lemma IV.4", "Views from left and right, averaged.", R, _two_views, "By the views' own variances.",
          BOTH_SIDES),
    Claim("Lemma IV.4, improved", "The plain average.", S, _best_views,
          "Weights by precision are better, and least squares is better still.", BOTH_SIDES),
    Claim("Proposition B.1", "Variance of a node combined with its descendants.", C, _variance_of_a_view,
          "8/ε² must be 8/ε̂², with the budget of a level.", BOTH_SIDES),
    Claim("Lemma B.1", "Right covers.", R, _right_covers, "", BOTH_SIDES),
    Claim("Lemma V.1", "No factors beat equal real ones.", R, equal_is_best, "", BRANCHING),
    Claim("Theorem V.1", "For K = pᵗ exponents that differ by at most 1 are best.", R, prime_powers, "Violations.",
          BRANCHING),
    Claim("Theorem V.2", "On which side of h the best height is.", R, heights, "Violations.", BRANCHING),
    Claim("Corollary V.1", "The best height of prime powers.", R, best_height_of_prime_powers, "Violations.",
          BRANCHING),
    Claim("Corollary V.2", "Between which heights the best one is.", R, best_height_between, "Violations.", BRANCHING),
    Claim("Lemma V.2", "For 2ᵗ, t prime, unequal factors are three times better.", R, prime_exponents, "Violations.",
          ("branching", {"bra_bins": "2^11"})),
    Claim("Lemma V.2, its proof", "A chain of inequalities.", C, chain_of_lemma_v2,
          "False at t = 11; with (64 s³ + 144 s²)/3 it holds, and so does the lemma.",
          ("branching", {"bra_bins": "2^11"})),
    Claim("Section VI, trellis", "Consistent counts for any distance that adds up.", R, _trellis,
          "Rounding a real fit is not enough for ℓ₁; the trellis takes O(K N) steps, not O(K N²).", RELEASE),
    Claim("Section VI, experiment", "997 bins, 900 records, ε = 0.1: means of 100 runs.", R, section_vi,
          "Within three standard errors of both.", EXPERIMENT),
    Claim("Section VI, ℓ₁ without runs", "The ℓ₁ distance of the histogram.", R, _absolute,
          "Exact: a sum of m Laplace errors has the mean absolute value 2 Γ(m + ½) / (√π Γ(m)).", ERROR),
    Claim("Section VI, improved", "997 is prime, so a histogram is reasonable.", S, _section_vi_better,
          "Padding to 10 · 10 · 10 and least squares: a third of the distance. The closest prime power is no rule: "
          "997 is one itself.", EXPERIMENT),
    Claim("K = 1", "One bin.", N, None, "A count needs no tree."),
)  # fmt: skip
