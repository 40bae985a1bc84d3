"""Ghazi, Kamath, Kumar, Manurangsi and Wu, "On Differentially Private Counting on Trees": every claim, checked."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np

from treedp_core.allocation.minimax import certificate, squared_norm
from treedp_core.mechanisms.thresholds.estimation import classification_level
from treedp_core.mechanisms.thresholds.plans import provable_plan_error, tuned_plan
from treedp_core.mechanisms.thresholds.public_bound import plan_thresholds
from treedp_core.mechanisms.thresholds.release import release_with_thresholds
from treedp_core.mechanisms.thresholds.schedule import (
    growth_ratio,
    least_threshold,
    paper_plan,
    printed_schedule,
    rounds_needed,
)
from treedp_core.mechanisms.thresholds.sparse_vector import sparse
from treedp_core.noise import DiscreteLaplace, Gaussian, Laplace
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.privacy import ADDED, NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.methods.papers.claim import (
    Claim,
    Number,
    Verdict,
    drawn_rmse,
    fewer_than_half,
    loss,
    loss_of_density,
    median_is_off,
)
from treedp_core.studies.multiplicative.accuracy import (
    clamped_alpha_rmse,
    noise_accurate_threshold,
)
from treedp_core.studies.multiplicative.by_subtraction import by_subtraction
from treedp_core.studies.multiplicative.curves import Setting, break_even, growth, theorem_error
from treedp_core.studies.multiplicative.lower_bounds import packing_bound
from treedp_core.studies.multiplicative.tree_bounds import additive_bound, embedded_levels, tree_packing_bound
from treedp_core.studies.topdown.accounting import exponent
from treedp_core.tree import FloatArray, Tree
from treedp_core.watch import generator

ALPHA, EPSILON, DELTA, ETA, LEVELS = 0.5, 1.0, 1e-6, 1e-4, 1_000
GROWTH: Final = ("multiplicative", {"mul_view": "growth", "mul_all": "true"})
RUN: Final = ("multiplicative", {"mul_view": "run"})
MEANING: Final = ("multiplicative", {"mul_view": "meaning"})
PREFIXES: Final = ("multiplicative", {"mul_view": "prefixes"})
TABLE_1: Final = (
    ("additive, δ = 0, upper", "laplace", 1.0),
    ("additive, δ > 0, upper", "gaussian", 0.5),
    ("additive, δ > 0, lower", "optimal", 0.5),
    ("multiplicative, δ = 0, upper", "shrunk_laplace", 1.0),
    ("multiplicative, δ = 0, lower", "pure_bound", 1.0),
)
"""Entries of Table 1 that are powers of the number of levels, our curve for each, and the exponent printed."""


def table_1() -> tuple[Number, ...]:
    """Return the measured exponents of Table 1; of its logarithm, what a thousandfold d adds over the one before."""
    levels = np.unique(np.round(np.geomspace(100, 10**6, 9)))
    error = growth(Setting(), levels, tuple(name for _, name, _ in TABLE_1)).error
    powers = [Number(what, exponent(levels, error[name]), printed, 0.05) for what, name, printed in TABLE_1]
    added = np.diff(theorem_error(ALPHA, EPSILON, DELTA, np.array([1e9, 1e12, 1e15])))
    logarithm = Number("multiplicative, δ > 0, upper: added by a thousandfold d", float(added[1] / added[0]), 1.0, 0.05)
    return (*powers, logarithm)


def _definition() -> tuple[Number, ...]:
    """alpha-RMSE of Gaussian noise at a count of 1 against the integral that defines it."""
    z = np.linspace(-12.0, 12.0, 240_001)
    density = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    integral = float(np.trapezoid(np.square(np.maximum(np.abs(z) - ALPHA, 0.0)) * density, z))
    return (
        Number("α-RMSE of a count 1, σ = 1", math.sqrt(float(Gaussian(1.0).excess_square(ALPHA))), math.sqrt(integral)),
    )


def _parallel() -> tuple[Number, ...]:
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    return (Number("parts that one replaced record changes", float(unit.l1_sensitivity(3)[2]), 1.0),)


def _laplace() -> tuple[Number, ...]:
    """The loss of ten counts by listing a density, and their error by draws."""
    d = 10
    return (
        Number("ε of ten counts with noise of scale 10, by listing", d * loss_of_density(Laplace(float(d))), 1.0),
        Number("RMSE of ten levels, drawn; √2 d/ε", drawn_rmse("laplace", d), math.sqrt(2.0) * d, 0.02),
    )


def _gaussian() -> tuple[Number, ...]:
    classic = math.sqrt(2.0 * math.log(1.25 / DELTA)) / EPSILON
    return (Number("σ at ε = 1, δ = 1e-6", gaussian_sigma(EPSILON, DELTA), classic),)


def _baselines() -> tuple[Number, ...]:
    """Exponents of errors that were drawn, over 4, 16 and 64 levels."""
    levels = np.array([4.0, 16.0, 64.0])
    return tuple(
        Number(f"exponent of {label} noise, drawn", exponent(levels, _drawn(mechanism, levels)), printed, 0.03)
        for label, mechanism, printed in (("Laplace", "laplace", 1.0), ("Gaussian", "gaussian", 0.5))
    )


def _drawn(mechanism: str, levels: FloatArray) -> FloatArray:
    return np.array([drawn_rmse(mechanism, int(one)) for one in levels])


def _truncated() -> tuple[Number, ...]:
    """The mass beyond the other's support is delta exactly: an integral of the density e^-|z| cut off at R."""
    r = truncated_bound(EPSILON, DELTA)
    last, half = (np.linspace(low, r, 1_000_001) for low in (r - 1.0, 0.0))
    beyond, all_of_it = (float(np.trapezoid(np.exp(-EPSILON * z), z)) for z in (last, half))
    return (Number("δ of TruncLap at R = 13.66, integrated", beyond / (2.0 * all_of_it), DELTA),)


def _sparse() -> tuple[Number, ...]:
    """Answers that the loop "while t < c" gives, each with noise for a c-th of epsilon, where all queries are large."""
    c = max(one.cut_off for one in paper_plan(ALPHA, EPSILON, DELTA, 100, 1e9).levels)
    given = sparse(generator("papers: sparse", 7), np.full(9, 1e9), 1.0, EPSILON, c)
    real, t = 1.0 + ALPHA, 0
    while t < real:
        t += 1
    return (Number("privacy loss ÷ ε: whole cut-off; cut-off 1.5", float(given.sum()) / c, t / real),)


def _accurate() -> tuple[Number, ...]:
    """Lemma 3.2 as printed, against the noise's own tail, and how many of a million draws are within."""
    law, wide, eta = Laplace(1.0), ALPHA, 0.01
    printed = math.sqrt(2.0) / ((wide - 0.25) * math.sqrt(eta))
    ours = noise_accurate_threshold(law, wide, eta)
    drawn = law.sample(generator("papers: accurate from a threshold on", 7), 1_000_000)
    within = float((np.abs(drawn) <= wide * ours).mean())
    return (
        Number("τ for 99 %, Laplace noise of scale 1", ours, printed),
        Number("share of a million draws within ατ", within, 1.0 - eta, 0.001),
    )


def _clamp() -> tuple[Number, ...]:
    """The lemma's bound against the worst that its premise allows at any count: ατ, and 2R with probability η."""
    tau, eta, reach = 60.0, 0.01, 200.0
    bound = math.sqrt((ALPHA * tau) ** 2 + 4.0 * eta * reach**2)
    counts = np.linspace(0.0, 500.0, 5_001)
    usual = np.maximum(ALPHA * np.maximum(counts, tau) - ALPHA * counts, 0.0)
    rare = np.maximum(2.0 * reach - ALPHA * counts, 0.0)
    worst = math.sqrt(float(((1.0 - eta) * usual**2 + eta * rare**2).max()))
    return (
        Number("bound at τ = 60, η = 0.01, R = 200", clamped_alpha_rmse(ALPHA, tau, eta, reach), bound),
        Number("the worst case listed over the bound, at most 1", max(1.0, worst / bound), 1.0),
    )


def _composed() -> tuple[Number, ...]:
    """Two whole counts with noise of ε = 0.3 and 0.7: their loss together, and that of their sum, by listing."""
    one, other = DiscreteLaplace(0.3), DiscreteLaplace(0.7)
    values = np.arange(-200, 201)
    summed = np.convolve(one.pmf(values), other.pmf(values))[350:451]
    of_sum = float(np.abs(np.log(summed[2:] / summed[:-2])).max())  # a record moves both counts by 1
    return (
        Number("ε of two counts with 0.3 and 0.7, by listing", loss(one) + loss(other), 1.0),
        Number("ε of their sum over that, at most 1", max(1.0, of_sum), 1.0),
    )


def _group() -> tuple[Number, ...]:
    return (Number("ε of 3 records, one count with ε = 0.5, by listing", loss(DiscreteLaplace(0.5), 3), 1.5),)


def _labels() -> tuple[Number, ...]:
    """At the printed threshold the noise of a round leaves room: Δ + 2R over ατ."""
    d, eta, most = 10, 0.1, 1e6
    rest = max(math.sqrt(48.0 * math.log(2 * d / eta)), math.sqrt(6.0 * math.log1p(math.expm1(EPSILON / 2) / DELTA)))
    tau = math.sqrt(2.0 * most / (ALPHA * EPSILON)) * rest
    one = classification_level(most, eta, ALPHA, tau, EPSILON, DELTA, n_levels=d)
    taken = (tau - one.pass_threshold + one.pass_bound) / (ALPHA * tau)
    return (Number("(Δ + 2R) ÷ ατ at the printed τ, at most 1", max(1.0, taken), 1.0),)


def _median() -> tuple[Number, ...]:
    """Three answers, each off with probability 0.1: how often their median is, and what the proof prints for it."""
    return (Number("P(median of 3 is off), by listing", median_is_off(0.1, 3), fewer_than_half(0.1, 3)),)


def _rounds() -> tuple[Number, ...]:
    """Rounds for a total below the threshold: the printed logarithm is negative, and at least one round is needed."""
    tau = least_threshold(ALPHA, EPSILON, DELTA, ETA, 100)
    below = 0.25 * ALPHA * tau
    printed = math.ceil(math.log(below / (ALPHA * tau)) / math.log(growth_ratio(ALPHA)))
    return (Number("rounds for a total of a quarter of ατ", float(rounds_needed(ALPHA, tau, below)), float(printed)),)


def _constant(private: bool, printed: float) -> tuple[Number, ...]:
    eps = EPSILON
    rest = 8.0 * math.log(4.0 * 100 / ETA)
    ours = least_threshold(ALPHA, eps, DELTA, ETA, 100, private_root=private)
    return (Number("τ at 100 levels (records)", ours, printed * (1 + ALPHA) ** 2 / (ALPHA**4 * eps) * rest),)


def _theorem_41() -> tuple[Number, ...]:
    theorem = float(theorem_error(ALPHA, EPSILON, DELTA, LEVELS))
    provable = float(provable_plan_error(ALPHA, EPSILON, DELTA, LEVELS, 1e4))
    return (Number("proven α-RMSE at 1 000 levels (records)", provable, theorem),)


def _public_bound() -> tuple[Number, ...]:
    """The error of a release by a bound that is public, against one whose bound costs half of the budget."""
    tree = Tree.from_branching_factors((2,) * 9)
    public = plan_thresholds(tree, ADDED, 100_000, alpha=ALPHA, epsilon=EPSILON, delta=DELTA).rounds.error
    halved = tuned_plan(ALPHA, EPSILON / 2, DELTA / 2, tree.n_levels, 100_000).error
    none = math.nan
    return (Number("α-RMSE, 10 levels, at most 100 000 records", public or none, halved or none),)


def _break_even() -> tuple[Number, ...]:
    """Levels from which on the threshold mechanism is proven to beat shrunk least squares, as powers of ten."""
    far = break_even(Setting(), "paper", "gaussian", high=10**15)
    near = break_even(Setting(), "provable", "gaussian", high=10**6)
    ours, printed = (math.nan if one is None else math.log10(one) for one in (near, far))
    return (Number("levels where it beats Gaussian noise (log₁₀)", ours, printed),)


def _by_subtraction() -> tuple[Number, ...]:
    """What one more level adds to a node's error, by its law for large d; and what it is with few levels."""
    found = by_subtraction([2, 16, 17])
    adds = math.sqrt(2.0) * math.log(2.0) / math.pi
    return (
        Number("a level adds to a node's error, in σ", float(found.node[2] - found.node[1]), adds, 0.01),
        Number("a node's error on 2 levels, in σ", float(found.node[0]), 1.25),  # rows (1, 0), (1/2, 1) of the root
    )


def _gap() -> tuple[Number, ...]:
    """How far what is simulated lies above what is proved to be needed, at 10 000 levels."""
    setting, levels = Setting(ALPHA, EPSILON, DELTA), np.array([10_000])
    error = growth(setting, levels, ("tuned", "approximate_bound")).error
    return (
        Number(
            "tuned plan ÷ lower bound, 10 000 levels", float(error["tuned"][0] / error["approximate_bound"][0]), 1.0
        ),
    )


def _cancelled() -> tuple[Number, ...]:
    """What counts of k and -k on two leaves hide from a search that begins above them: their parent's count."""
    tree, k = Tree.from_branching_factors((2,)), 1_000
    weights = tree.add_up(np.array([0, k, -k]))
    return (Number(f"count of a parent of {k} and −{k}", float(weights[0]), float(k)),)


def overspending(rounds: int = 20) -> tuple[Number, ...]:
    """Return what the budgets of Algorithm 4 add up to over epsilon, corrected and as printed."""
    found = printed_schedule(ALPHA, EPSILON, rounds)
    return (Number(f"spent ÷ ε, {rounds} rounds", found.corrected_total / EPSILON, found.overspend),)


def _thresholds() -> tuple[Number, ...]:
    """(1 + beta) tau_i over M_(i-1), at most 1 by inequality (4)."""
    beta = ALPHA / (6.0 + 5.0 * ALPHA)
    plan = paper_plan(ALPHA, EPSILON, DELTA, 100, 1e9)
    above, below = plan.levels[0], plan.levels[1]
    ours = (1.0 + beta) * above.classification_threshold / below.value
    return (Number("(1 + β) τᵢ ÷ Mᵢ₋₁, at most 1", ours, growth_ratio(ALPHA)),)


def _bounds_of_rounds() -> tuple[Number, ...]:
    printed = math.log1p(math.expm1(EPSILON) / DELTA) / EPSILON
    return (Number("R at ε = 1, δ = 1e-6 (records)", truncated_bound(EPSILON, DELTA), printed),)


def _reduction() -> tuple[Number, ...]:
    """On an empty tree no node passes; as printed every subtree is then dropped without a value."""
    tree, unit = Tree.from_branching_factors((2, 2, 2)), ADDED
    found = release_with_thresholds(
        tree, np.zeros(tree.n_nodes, dtype=np.int64), partial(tuned_plan, ALPHA), unit, EPSILON, DELTA,
        rng=generator("papers: an empty tree", 7),
    )  # fmt: skip
    without = float((~np.isfinite(found.release.estimate)).sum())
    return (Number("nodes without a value, no record", without, float(tree.n_nodes)),)


def _packing() -> tuple[Number, ...]:
    at_zero, at_high = (float(packing_bound(a, EPSILON, LEVELS)) for a in (0.0, 0.9))
    return (Number("bound at α = 0.9 over that at 0", at_high / at_zero, (1 - 0.9) ** 2, more=True),)


def _grows() -> tuple[Number, ...]:
    levels = np.array([100.0, 10_000.0])
    grown = exponent(levels, packing_bound(0.0, EPSILON, levels))
    return (Number("exponent of the bound", grown, 1.0, 0.02),)


def _logarithm_of_delta() -> tuple[Number, ...]:
    """The bound stops growing at about log2(1 / delta) levels, so its height grows with log(1 / delta)."""
    levels = np.arange(2.0, 400.0)
    tops = [float(packing_bound(ALPHA, 0.1, levels, delta).max()) for delta in (1e-10, 1e-20, 1e-30)]
    added = (tops[2] - tops[1]) / (tops[1] - tops[0])
    return (Number("added to the bound by δ = 1e-30 and 1e-20", added, 1.0, 0.05),)


def _gamma() -> tuple[Number, ...]:
    """The norm, and a number for C: what the paper says of it is that it is above 0."""
    least = additive_bound(math.sqrt(squared_norm((2,) * 999)), EPSILON, DELTA) / math.sqrt(1_000)
    return (
        Number("γ₂ of 10 levels, lower bound", math.sqrt(squared_norm((2,) * 9)), _certificate(10, 0.5), more=True),
        Number("C at ε = 1, δ = 1e-6, 1 000 levels", least, 0.0, more=True),
    )


def ragged() -> Tree:
    """Return a tree whose leaves lie on three levels."""
    return Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 2, 0, 3, 0, 1])])


def _dual() -> tuple[Number, ...]:
    """The nuclear norm at our weights equals the norm: primal and dual meet."""
    found = certificate(ragged())
    return (
        Number("γ₂ of 6 levels: primal, and dual", math.sqrt(squared_norm((2,) * 5)), _certificate(6, None)),
        Number("γ₂ of a ragged tree: primal, and dual", found.upper, found.lower, 1e-4),
    )


def _any_arity() -> tuple[Number, ...]:
    """Trees that are no complete binary ones: five children a node, and a path with a leaf beside each of its nodes."""
    path = Tree.from_child_counts([np.array([2]), *[np.array([0, 2])] * 62])
    complete = float(packing_bound(ALPHA, 0.05, embedded_levels(path)))
    return (
        Number(
            "levels of the binary tree in one of 6 levels", embedded_levels(Tree.from_branching_factors((5,) * 5)), 6
        ),
        Number("bound of a path of 64 leaves (records)", tree_packing_bound(path, ALPHA, 0.05), complete, more=True),
    )


def _own_thresholds() -> tuple[Number, ...]:
    """Share of nodes within alpha max(count, tau of the node), counts below and above it."""
    tree, unit = Tree.from_branching_factors((2, 2)), ADDED
    least = 2.0 * least_threshold(ALPHA, EPSILON, DELTA, ETA, tree.n_levels)
    tau = least * np.array([4.0, 1.0, 2.0, 1.0, 3.0, 1.0, 8.0])
    counts, rng = (
        tree.counts_of_leaves((least * np.array([0.0, 5.0, 0.9, 2.1])).astype(np.int64)),
        generator("papers: 3.1"),
    )
    planner = partial(paper_plan, ALPHA, eta=ETA, threshold=tau)
    errors = [
        np.abs(release_with_thresholds(tree, counts, planner, unit, EPSILON, DELTA, rng=rng).release.estimate - counts)
        for _ in range(40)
    ]
    within = np.array(errors) <= ALPHA * np.maximum(counts, tau)
    return (Number("nodes within α max(w, τᵤ), 1 − η or more", float(within.mean()), 1.0 - ETA, more=True),)


def _certificate(n_levels: int, power: float | None) -> float:
    """Nuclear norm of the tree's matrix, rows of level l weighted: equal masses of levels, or our masses without power.

    W o v u' with u uniform over the n leaves; v^2 of a level shares its mass p_l equally among its nodes.
    """
    h = n_levels - 1
    below = 2.0 ** np.arange(h, -1, -1)
    if power is None:
        t = np.concatenate([[below[0] ** 2], (below[:-1] / 3.0) ** 2, [0.0]])
        mass = (t[:-1] - t[1:]) / below**2
        mass = mass / mass.sum()
    else:
        mass = np.full(n_levels, 1.0 / n_levels)
    # eigenvalues of U'U: of the constant, and of the 2^l contrasts between children of level l's nodes
    held = np.cumsum((mass / 4.0 ** np.arange(n_levels))[::-1])[::-1]
    return float(np.sqrt(held[0]) + (2.0 ** np.arange(h) * np.sqrt(held[1:])).sum())


def _relative() -> tuple[Number, ...]:
    """REL of Gaussian noise, and what bounds it: with the factor of the paper and without."""
    kappa, sigma = 10.0, 2.0
    worst = math.sqrt(float(Gaussian(sigma).excess_square(0.0)))
    printed = math.sqrt(2.0) * worst / kappa + ALPHA
    drawn = np.abs(generator("papers: relative error", 7).standard_normal(100_000) * sigma) / kappa
    return (
        Number("bound on the relative error, κ = 10, σ = 2", worst / kappa + ALPHA, printed),
        Number("the relative error, drawn, and our bound", float(drawn.mean()), worst / kappa + ALPHA),
    )


R, C, S, N = Verdict.REPRODUCED, Verdict.CORRECTED, Verdict.SHARPENED, Verdict.NOT_APPLICABLE
CLAIMS: Final = (
    Claim("Table 1", "Errors grow as d, √d or log d.", R, table_1, "Exponents measured.", GROWTH),
    Claim("Definitions 1.1 and 1.4", "The α-RMSE forgives α times the count.", R, _definition, "",
          ("lab", {"lab_metric": "alpha_rmse"})),
    Claim("Problems 1.2, 1.3, 4.1, 4.2 and 4.4", "Counts of all nodes, thresholds for them, forests of trees.", N, None,
          "They only say what is asked; their mechanisms are checked below.", RUN),
    Claim("Facts 2.1 and 2.3", "Budgets add up, and what is computed from a release is free.", R, _composed, "",
          ("budget", {"bud_view": "custom"})),
    Claim("Fact 2.2", "k records lose k ε.", R, _group, "", ("protects", {})),
    Claim("Fact 2.4", "What is computed on disjoint parts costs the larger of both.", C, _parallel,
          "Not when a record is replaced: it leaves one part and enters another."),
    Claim("Lemma 2.5", "Laplace noise of scale d/ε on every count is private.", R, _laplace, "", GROWTH),
    Claim("Lemma 2.6", "Gaussian noise of the classic σ is private for ε < 1.", S, _gaussian,
          "The exact σ is a fifth smaller, and right for every ε.", ("lab", {"lab_mechanisms": "gaussian"})),
    Claim("Corollary 2.7", "Baselines grow as d and √d.", R, _baselines, "", GROWTH),
    Claim("Lemma 2.8", "Laplace noise cut off at R is (ε, δ)-private.", R, _truncated, "Exact, not only enough.", RUN),
    Claim("Lemma 2.9, Algorithm 3", "Sparse answers c times for ε, also for a real c.", C, _sparse,
          "A real c admits ⌈c⌉ answers with noise for c; a whole cut-off, here 1, keeps the promise.", RUN),
    Claim("Problem 3.1", "Every node may have a threshold of its own.", S, _own_thresholds,
          "The plan is made for the smallest: a path through a large one may end at a small one.", MEANING),
    Claim("Lemma 3.2", "A small α-RMSE makes counts accurate from a threshold on.", S, _accurate,
          "Markov's inequality knows nothing of the noise; its own tail gives a smaller threshold.", MEANING),
    Claim("Lemma 3.3", "Clamped to a noisy count, accurate estimates have a small α-RMSE.", R, _clamp, "", RUN),
    Claim("Theorems 1.8 and 4.1", "The α-RMSE grows only with log d.", S, _theorem_41,
          "The same proof of privacy with other thresholds proves thousands of times less.", GROWTH),
    Claim("Section 1.3", "Thresholds release a tree, with an error of Ω(d) where √d is possible.", R, _by_subtraction,
          "Worse than counts each by itself from 6 levels on; what α forgives does not survive subtraction.", PREFIXES),
    Claim("Section 6, α and d", "Can the error grow less with d, or with 1/α?", Verdict.OPEN, _gap,
          "Nobody knows: the lower bound stops growing at log₂(1/δ) levels, the tuned plan goes on as log d.", GROWTH),
    Claim("Section 6, counts below 0", "Does α help where counts may be negative?", Verdict.OPEN, _cancelled,
          "Unknown. A search from above misses what cancels, so this mechanism does not apply.", RUN),
    Claim("Theorem 4.1, when to use it", "It beats Gaussian noise on deep trees.", S, _break_even,
          "From thousands of levels on, not from millions of millions.", GROWTH),
    Claim("Lemma 4.3, Corollary 4.5", "From a threshold on, every node is labelled right but with probability η.", R,
          _labels, "Every search draws its threshold's noise anew, so that its rounds simply compose.", RUN),
    Claim("Algorithm 1, R", "Noise of a round is cut off at R.", S, _bounds_of_rounds,
          "Without the 2 of Lemma 2.8 only half of δ is spent: safe, but wider than it must be.", RUN),
    Claim("Algorithm 2, Lemma 4.6", "Rounds label every node.", C, _reduction,
          "As printed, subtrees below nodes that did not pass are dropped, and ancestors overwritten.", RUN),
    Claim("Algorithm 4, budgets", "All rounds together cost ε.", C, overspending,
          "One sign in an exponent: the printed series diverges. With it reversed the sum is ε.", MEANING),
    Claim("Algorithm 4, thresholds", "Thresholds obey inequality (4).", C, _thresholds,
          "rⁱ must be rⁱ⁻¹, as in the proof of Theorem A.1.", RUN),
    Claim("Algorithm 4, number of rounds", "As many rounds as it takes from τ to M.", C, _rounds,
          "At least one: for a small M the logarithm is negative.", RUN),
    Claim("Corollary 4.7", "Constant 324.", C, partial(_constant, True, 324.0),
          "72 (3 + 2α)³ / (6 + 5α), once the budgets add up.", MEANING),
    Claim("Corollary 4.7, the root", "Half of the budget bounds the root.", S, _public_bound,
          "A fiftieth of ε does; a bound that is public costs nothing, and a release plan states it with all rounds.",
          ("plan", {"plan_mechanism": "thresholds", "plan_bound": "100000"})),
    Claim("Theorem A.1", "Constant 162.", C, partial(_constant, False, 162.0),
          "36 (3 + 2α)³ / (6 + 5α), once the budgets add up.", MEANING),
    Claim("Theorems 1.5, 1.7 and 5.1", "Without δ every mechanism has an error of Ω(d).", R, _grows, "", GROWTH),
    Claim("Lemma 5.3", "The bound falls as (1 − α)².", S, _packing,
          "A walk that is never repeated loses only 1 − α. A tree of depth d has 2ᵈ⁻¹ leaves, not 2ᵈ.", GROWTH),
    Claim("Corollary 5.4, Appendix A.6", "A median is off when fewer than half of its copies are.", C, _median,
          "When at least half are; with that the corollary holds.", MEANING),
    Claim("Theorems 1.6, 5.2 and A.2", "With δ and α = 0 every mechanism has an error of Ω(√d).", S, _gamma,
          "The norm is known exactly, minimax shares attain it, and C is a number: for κ = tanh(ε/2) + "
          "(1 − tanh(ε/2)) √δ every mechanism has an error of at least γ₂ √(1 − κ²) / (2κ). The same argument bounds "
          "cumulative counts and ranges (CDF and ranges, How far from optimal).",
          ("methods", {"met_view": "methods", "met_one": "bounds.additive"})),
    Claim("Theorem A.3", "γ₂ is a largest nuclear norm.", R, _dual, "Both sides meet, on ragged trees, too.",
          ("methods", {"met_view": "methods", "met_one": "bounds.gamma_2"})),
    Claim("Remark 5.5", "The bounds hold for other trees by embedding.", S, _any_arity,
          "Any embedded binary tree may be walked, complete or not, and the best one is found.", GROWTH),
    Claim("Remark 5.6", "The factor log(1/δ) is needed.", R, _logarithm_of_delta, "", GROWTH),
    Claim("Lemma B.1", "A small α-RMSE bounds the smoothed relative error.", S, _relative,
          "The factor √2 is not needed.", ("lab", {"lab_metric": "smoothed_relative_error"})),
)  # fmt: skip
