"""Boninsegna, "InfTDA: A Simple TopDown Mechanism": every claim, checked; and its open question, drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.noise import DiscreteGaussian, Gaussian
from treedp_core.postprocess.families import int_opt, water_filling
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.conversions import rho_to_epsilon
from treedp_core.studies.methods.papers.claim import Claim, Number, Verdict, int_opt_steps, renyi
from treedp_core.studies.topdown import Wanted, draw, made_up
from treedp_core.studies.topdown.accounting import bound, exponent, largest_of_level, needs_factor_two
from treedp_core.studies.topdown.plan import plan
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.watch import generator

BETA: Final = 0.1
DEEP: Final = (1_000,) * 16
"""Categories of 16 columns: only formulas, nothing is laid out."""
DRAWN: Final = (2,) * 11
TRIALS: Final = 40
RECORDS: Final = 40_000
"""Of the releases that are drawn, in round numbers."""
ALONE: Final = "not projected, a table a query"
CELLS: Final = "one table of all cells (2 categories)"
MWEM: Final = "MWEM, √(nd), constant 1"
RELEASE: Final = ("topdown", {"td_more": "release"})
RULES: Final = ("topdown", {"td_view": "rules"})
FAMILY: Final = (np.array([3, 3, 3, -5]), 5)
"""Noisy counts of a family and its total, on which projections differ."""


def _theorem(rho: float, sizes: tuple[int, ...], k: int) -> float:
    """The printed bound of level k."""
    d, nodes, total = len(sizes), 1, 0.0
    for one in sizes[:k]:
        nodes *= one
        total += math.sqrt(8.0 * d / rho * math.log(k * nodes / BETA))
    return total


def _utility() -> tuple[Number, ...]:
    """The bound by the library and as printed, and on how many levels draws exceed it more often than they may."""
    found = bound(plan((8, 8, 8, 8), 1.0), BETA)
    allowed = np.array([_theorem(float(len(DRAWN)), DRAWN, k) for k in range(1, len(DRAWN) + 1)])
    too_often = (_projected() > allowed).mean(axis=0) > BETA
    return (
        *(Number(f"bound of level {k}, 8⁴ cells, ρ = 1", float(found[k]), _theorem(1.0, (8,) * 4, k)) for k in (1, 4)),
        Number(f"levels of 11 on which over a tenth of {TRIALS} releases exceed it", float(too_often.sum()), 0.0),
    )


def _two_sides() -> tuple[Number, ...]:
    """With little noise one side of the tail is not two: the printed bound is then too small."""
    ready = plan((2, 2), 8.0)
    assert needs_factor_two(ready)[1]
    return (Number("bound of level 2, 2² cells, ρ = 8", float(bound(ready, BETA)[2]), _theorem(8.0, (2, 2), 2)),)


def _certificate() -> tuple[Number, ...]:
    """What a release of made-up records certifies for all levels at once, and the printed bound of one level."""
    asked = Wanted(1.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")
    found = draw(made_up((8,) * 4, 20_000, 7), asked, 7).certificate(1.0 - BETA)
    return tuple(Number(f"bound of level {k}, 8⁴ cells, ρ = 1, after a release", float(found.by_level[k]),
                        _theorem(1.0, (8,) * 4, k)) for k in (1, 4))  # fmt: skip


def _tail() -> tuple[Number, ...]:
    """P(|Z| >= 1) against the inequality that the proof uses for it, at sigma = 1/2."""
    sigma = 0.5
    below = math.exp(-1.0 / (2.0 * sigma**2))
    return (Number("P(|Z| ≥ 1), σ = 0.5", float(DiscreteGaussian(sigma).tail(np.array(0.5))), below),)


def _privacy() -> tuple[Number, ...]:
    ready = plan((10, 10, 10), 1.0)
    return (
        Number("σ² of each level, ρ = 1, 3 columns", float(ready.sigmas[1]) ** 2, 3.0),
        Number("ρ of a replaced record, by listed Rényi divergences", _rho(ready.sigmas[1:].tolist()), 1.0),
    )


def _rho(sigmas: list[float]) -> float:
    """Rényi divergence of order 2 over 2: a replaced record moves two counts of each level by 1."""
    return math.fsum(2.0 * renyi(sigma**2, 2.0) for sigma in sigmas) / 2.0


def _total_unknown() -> tuple[Number, ...]:
    """Where a record comes or goes the total is noisy, too, and one count of each of d + 1 levels moves by 1."""
    added = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    ready = prepare(
        Experiment("discrete_gaussian", delta=1e-6, relation=added), Tree.from_branching_factors((10, 10, 10))
    )
    rho = math.fsum(ready.budget.per_level)
    return (Number("σ² ρ of 3 columns, a record comes or goes", float(ready.noise.variance[-1]) * rho, 3.0, 1e-4),)


def _marginal() -> tuple[Number, ...]:
    """Counts by the last two of three columns, added up from released records, against records counted one by one."""
    sizes, columns = (3, 4, 2), (1, 2)
    tree = Tree.from_branching_factors(sizes)
    ready = prepare(_experiment(), tree)
    _, after = ready.release(tree.counts_of_leaves(np.arange(24) % 5), generator("papers: a marginal", 7))
    records = np.repeat(np.arange(24), after.estimate[tree.leaves].astype(int))
    by_two = records % math.prod(sizes[i] for i in columns)
    summed = after.estimate[tree.leaves].reshape(sizes).sum(axis=0)
    what = "records of category {} of columns 2 and 3"
    return tuple(
        Number(what.format(cell), float(summed.ravel()[cell]), float((by_two == cell).sum())) for cell in (0, 7)
    )


def _steps() -> tuple[Number, ...]:
    steps = int_opt_steps((1_000, 0, 0, 0), 1)
    return (Number("steps for (1 000, 0, 0, 0) to a sum of c = 1", float(steps), 1.0),)


def _conversion() -> tuple[Number, ...]:
    return (Number("ε at ρ = 0.1, δ = 1e-6", rho_to_epsilon(0.1, 1e-6), 0.1 + 2 * math.sqrt(-0.1 * math.log(1e-6))),)


def _chebyshev() -> tuple[Number, ...]:
    """The largest change by IntOpt, and the smallest that any whole counts of at least 0 with that sum need."""
    noisy, total = FAMILY
    grid = np.stack(np.meshgrid(*[np.arange(total + 1)] * noisy.size), -1).reshape(-1, noisy.size)
    feasible = grid[grid.sum(axis=1) == total]
    least = float(np.abs(feasible - noisy).max(axis=1).min())
    return (Number("largest change of (3, 3, 3, −5) to a sum of 5", float(np.abs(_changed(int_opt)).max()), least),)


def _squares() -> tuple[Number, ...]:
    ours, paper = (float(np.square(_changed(project)).sum()) for project in (water_filling, int_opt))
    return (Number("squared change of (3, 3, 3, −5) to a sum of 5", ours, paper),)


def _changed(project: Callable[[AnyArray, AnyArray], IntArray]) -> FloatArray:
    noisy, total = FAMILY
    return np.asarray(project(noisy, np.array(total)) - noisy, dtype=float)


def _consistent() -> tuple[Number, ...]:
    """Observation 1 for released counts: how far children are from their parent."""
    tree = Tree.from_branching_factors((3, 4, 2))
    ready = prepare(_experiment(), tree)
    counts = tree.counts_of_leaves(np.arange(tree.n_leaves) % 5)
    _, after = ready.release(counts, generator("papers: released counts add up", 7))
    off = np.abs(tree.add_up(np.where(tree.is_leaf, after.estimate, 0)) - after.estimate).max()
    return (Number("largest gap between a count and its children", float(off), 0.0),)


def _experiment() -> Experiment:
    return Experiment("discrete_gaussian", ("top_down_intopt",), delta=1e-6)


def growth_of_bound() -> dict[str, list[float]]:
    """Return Theorem 1's bound by level, what the noise alone would reach, what is seen after it, and related work.

    The first two are exact, over 16 columns of 1 000 categories, sigma = 1 on each level, so that rho = d; noise alone
    is also that of one table a query, of which the paper says sqrt(k d). The others are of 11 columns of 2 categories,
    which can be laid out, with the same sigma, nan beyond: the mean largest error of simulated releases; what one table
    of all cells with Gaussian noise for all of rho reaches, exp((d - k) / 2) in the paper; and sqrt(n d), which the
    paper says of MWEM, with constant 1 for the records of those releases.
    """
    ready = plan(DEEP, float(len(DEEP)))
    levels = np.arange(1, len(DEEP) + 1)
    seen, cells, sampled = np.full((3, levels.size), np.nan)
    d = len(DRAWN)
    seen[:d] = _projected().mean(axis=0)
    cells[:d] = [Gaussian(math.sqrt(2.0 ** (d - k) / d)).reach(-math.expm1(math.log1p(-BETA) / 2**k))
                 for k in range(1, d + 1)]  # fmt: skip
    sampled[:d] = math.sqrt(RECORDS * d)
    return {
        "level k": levels.astype(float).tolist(),
        "Theorem 1": bound(ready, BETA)[1:].tolist(),
        ALONE: [float(largest_of_level(ready, int(k), BETA)) for k in levels],
        "projected (2 categories)": seen.tolist(),
        CELLS: cells.tolist(),
        MWEM: sampled.tolist(),
    }


@cache
def _projected() -> FloatArray:
    """Largest errors of each level below the root after IntOpt at σ = 1, (releases, levels)."""
    tree = Tree.from_branching_factors(DRAWN)
    noise = DiscreteGaussian(1.0)
    rng = generator("papers: projected errors", 7)
    counts = tree.counts_of_leaves(rng.integers(0, 40, tree.n_leaves))
    noisy = np.broadcast_to(counts, (TRIALS, tree.n_nodes)) + noise.sample(rng, (TRIALS, tree.n_nodes))
    noisy[:, 0] = counts[0]
    project, _ = prepare(_experiment(), tree).postprocessing
    errors = np.abs(project(noisy) - counts)
    return np.asarray(np.maximum.reduceat(errors, tree.level_start[:-1], axis=1)[:, 1:])


def growth_exponents() -> tuple[Number, ...]:
    """Return the exponents in the level of the two formulas of `growth_of_bound`, from a quarter of its levels on."""
    columns, deep = growth_of_bound(), slice(len(DEEP) // 4, None)
    return (
        Number("exponent of Theorem 1", _slope(columns, "Theorem 1", deep), 1.5, 0.1),
        Number("exponent, not projected", _slope(columns, ALONE, deep), 0.5, 0.1),
    )


def _related_work() -> tuple[Number, ...]:
    """Noise of all cells, added up to a count of the first level and of the last, by draws; and of one table a query.

    The paper's e stands for the root of the categories of a column: 2 here.
    """
    tree, d = Tree.from_branching_factors(DRAWN), len(DRAWN)
    rng = generator("papers: one table of all cells", 7)
    noise = tree.counts_of_leaves(Gaussian(1.0).sample(rng, (20 * TRIALS, tree.n_leaves)))
    first, last = (math.sqrt(float(np.square(noise[:, tree.level(k)]).mean())) for k in (1, d))
    alone = _slope(growth_of_bound(), ALONE, slice(len(DEEP) // 4, None))
    return (
        Number("error of level 1 ÷ that of level 11, one table of all cells", first / last, 2.0 ** ((d - 1) / 2), 0.1),
        Number("exponent of k, one table a query", alone, 0.5, 0.1),
    )


def _seen_exponent() -> tuple[Number, ...]:
    found = _slope(growth_of_bound(), "projected (2 categories)", slice(2, len(DRAWN)))
    return (Number("exponent of simulated releases", found, 1.5),)


def _slope(columns: dict[str, list[float]], name: str, which: slice) -> float:
    return exponent(np.array(columns["level k"])[which], np.array(columns[name])[which])


R, C, S, N = Verdict.REPRODUCED, Verdict.CORRECTED, Verdict.SHARPENED, Verdict.NOT_APPLICABLE
CLAIMS: Final = (
    Claim("Definitions 1, 2 and 4, Observation 1", "Records with d columns are counts on a tree.", R, _consistent,
          "Released counts add up exactly, too.", RELEASE),
    Claim("Figure 1", "A tree of two columns.", N, None, "An illustration; the page Data and tree draws any.",
          ("data", {})),
    Claim("Definition 3", "Marginals of any k columns.", R, _marginal,
          "Those by the first columns are levels; all others are added up from released records.",
          ("topdown", {"td_more": "marginals", "td_marginals": "2"})),
    Claim("Algorithm 1, privacy", "ρ/d on each level is ρ-zCDP.", R, _privacy, "", RELEASE),
    Claim("Algorithm 1, σ² = d/ρ", "The same for every relation.", C, _total_unknown,
          "For a replaced record and a public n; where records come or go, (d + 1)/(2ρ) with a noisy total.", RELEASE),
    Claim("ρ and ε", "ρ + 2 √(ρ ln 1/δ).", S, _conversion, "The conversion of Canonne, Kamath and Steinke.",
          ("topdown", {"td_more": "accounting"})),
    Claim("IntOpt", "The largest change is as small as can be.", R, _chebyshev, "", RULES),
    Claim("IntOpt, its steps", "It takes O(c) steps.", C, _steps,
          "As printed it takes as many as the largest count; here O(n log n) with the same result.", RULES),
    Claim("IntOpt among closest", "One of several closest fits.", S, _squares,
          "Which one depends on the order of ties; water filling is as close in the largest change, closer in squares.",
          RULES),
    Claim("Theorem 1", "No count of level k has a larger error, but with probability β.", R, _utility, "", RELEASE),
    Claim("Theorem 1, little noise", "The same for every ρ.", C, _two_sides,
          "Two sides of the tail: from ρ = 1.054 d on the logarithm needs a factor 2.", RELEASE),
    Claim("Theorem 1, after a release", "The same bound, whatever was drawn.", S, _certificate,
          "What was measured and released bounds every error of all levels at once: our own certificate.", RELEASE),
    Claim("Corollary 1", "P(|Z| ≥ t) ≤ exp(−t²/2σ²).", C, _tail,
          "Stated for one side and used for two; for both it holds exactly when σ ≥ 0.9743.", RELEASE),
    Claim("Section 4, growth", "The bound is O(√(k³ d)); the hierarchical mechanism has Õ(√(k d)).", R,
          growth_exponents, "Exponents measured.", ("methods", {"met_view": "methods", "met_one": "bounds.inftda"})),
    Claim("Section 4, open question", "Is Õ(√(k d)) possible with a table that adds up?", Verdict.OPEN, _seen_exponent,
          "Nobody has a proof. Simulated releases of made-up records grow far slower than the bound.",
          ("methods", {"met_view": "methods", "met_one": "bounds.inftda"})),
    Claim("Section 1, related work", "One table of all cells: Õ(e^((d − k)/2)); one a query: Õ(√(k d)); MWEM: "
          "Õ(√(n d)).", R, _related_work, "The law of MWEM is drawn beside them, not checked.",
          ("topdown", {"td_more": "marginals"})),
    Claim("Experiments", "None in this text.", N, None, "The paper it extends has some, on data that are not public."),
)  # fmt: skip
