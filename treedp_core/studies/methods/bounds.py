"""Bounds: what nobody can beat, or what is never exceeded, each beside mechanisms that are compared with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation.minimax import squared_norm
from treedp_core.experiment import Experiment, prepare
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread, epsilon_to_rho
from treedp_core.registry import NO_CARD, MethodCard, Table, table
from treedp_core.studies.budget import Ask, Problem, Target, smallest_budget
from treedp_core.studies.budget.targets.finalize_split import Truth
from treedp_core.studies.budget.targets.target import Bound as Bounded
from treedp_core.studies.cdf.error import Criterion, cdf_lower_bound, optimal_shares
from treedp_core.studies.cdf.error.bound import any_mechanism
from treedp_core.studies.cdf.matrices.plan import mean_variance
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.multiplicative.curves import Setting, growth
from treedp_core.studies.multiplicative.tree_bounds import additive_bound
from treedp_core.studies.topdown import Wanted as TopDown
from treedp_core.studies.topdown import draw, made_up
from treedp_core.studies.topdown.accounting import bound, bound_by_exact_tails, largest_of_level
from treedp_core.studies.topdown.plan import plan
from treedp_core.tree import Tree
from treedp_core.tree.workloads import Shape, equal_tree

Lines = dict[str, list[float]]
"""Columns by name: first what they are over, then the bound, then what is compared with it."""
BETA: Final = 0.1
"""Probability with which InfTDA's bound may fail."""
TABLES: Final = (8,) * 4
"""Categories of four columns."""
RELEASES: Final = 20


@dataclass(frozen=True)
class Bound:
    """A table entry: `lines` gives a bound over what it depends on, beside what mechanisms attain, in `unit`.

    `simulated` says what of it is, if anything.
    """

    name: str
    label: str
    help: str
    lines: Callable[[], Lines]
    unit: str
    opens: tuple[str, dict[str, str]]
    card: MethodCard = NO_CARD
    simulated: str = ""


def _nodes() -> Lines:
    """Standard deviation of the worst node of a binary tree, at 2 rho = 1, one record added or removed."""
    heights = range(1, 11)
    found: Lines = {"levels": [h + 1.0 for h in heights]}
    found["lower bound γ₂"] = [math.sqrt(squared_norm((2,) * h)) for h in heights]
    for label, allocation, steps in (
        ("minimax, least squares", "minimax", ("least_squares",)),
        ("uniform, least squares", "uniform", ("least_squares",)),
        ("uniform", "uniform", ()),
    ):
        found[label] = [_worst_node(h, allocation, steps) for h in heights]
    return found


def _worst_node(height: int, allocation: str, steps: tuple[str, ...]) -> float:
    relation = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    experiment = Experiment("gaussian", steps, allocation, delta=1e-6, relation=relation)
    ready = prepare(experiment, Tree.from_branching_factors((2,) * height))
    variance = ready.postprocessing[1]
    assert variance is not None
    return math.sqrt(float(variance.max()) * 2.0 * math.fsum(ready.budget.per_level))


def _packing(bound_name: str, *others: str) -> Callable[[], Lines]:
    def lines() -> Lines:
        levels = np.unique(np.round(np.geomspace(4, 10**5, 40)))
        error = growth(Setting(), levels, (bound_name, *others)).error
        labels = {bound_name: "lower bound", "shrunk_laplace": "Laplace, shrunk", "laplace": "Laplace"}
        labels |= {"gaussian": "Gaussian", "shrunk_optimal": "minimax, least squares, shrunk"}
        return {"levels": levels.tolist()} | {labels[name]: error[name].tolist() for name in (bound_name, *others)}

    return lines


def _additive() -> Lines:
    """Root mean squared error of the worst node of a binary tree, one record added or removed."""
    setting, levels = Setting(), np.unique(np.round(np.geomspace(2, 10**4, 25)))
    norms = np.sqrt((levels + 2.0) / 3.0).tolist()
    found: Lines = {"levels": levels.tolist()}
    found["lower bound"] = [additive_bound(norm, setting.epsilon, setting.delta) for norm in norms]
    labels = {"optimal": "minimax, least squares", "gaussian": "Gaussian", "laplace": "Laplace"}
    error = growth(setting, levels, tuple(labels)).error
    return found | {label: error[name].tolist() for name, label in labels.items()}


def _cumulative() -> Lines:
    """Root of the mean variance of K cumulative counts, in records, at rho = 1, one record replaced."""
    bins = (4, 8, 16, 32, 64, 128)
    limits = [cdf_lower_bound(k, 0.01) for k in bins]
    fitted = Criterion("gaussian", least_squares=True)
    trees = [optimal_shares(equal_tree(k, 2), fitted).value for k in bins]
    matrices = [mean_variance(Wanted(k), fitted.unit) for k in bins]
    histograms = [optimal_shares(Shape((k,), k), fitted).value for k in bins]
    columns = {
        "lower bound": [one.lower for one in limits],
        "optimal matrix": [one.attained for one in limits],
        "square-root matrix": matrices,
        "binary tree, least squares": trees,
        "histogram, least squares": histograms,
    }
    return {"bins": [float(k) for k in bins]} | {
        label: [math.sqrt(value) for value in values] for label, values in columns.items()
    }


def _cumulative_any() -> Lines:
    """Root of the mean squared error of K cumulative counts, in records, at epsilon = 1, one record replaced."""
    bins = (2, 4, 8, 16, 32, 64, 128)
    limits = [cdf_lower_bound(k, 0.01) for k in bins]
    fitted = Criterion(least_squares=True)
    columns = {
        "lower bound, with δ": [any_mechanism(one.lower, 1.0, checks.DELTA_USUAL) for one in limits],
        "lower bound, without": [any_mechanism(one.lower, 1.0) for one in limits],
        "Laplace, 16-ary tree, least squares": [fitted.at_equal_shares(equal_tree(k, min(k, 16))) for k in bins],
        "Gaussian, optimal matrix": [one.attained / epsilon_to_rho(1.0, checks.DELTA_USUAL, True) for one in limits],
    }
    return {"bins": [float(k) for k in bins]} | {
        label: [math.sqrt(value) for value in values] for label, values in columns.items()
    }


def _cumulative_laplace() -> Lines:
    """Root of the mean variance of K cumulative counts, in records, at epsilon = 1: N^2 E_2 / K, equal splits."""
    bins = (16, 64, 256, 1024, 4096)
    plain = Criterion()
    shapes = {"16-ary tree": 16, "binary tree": 2}
    found: Lines = {"bins": [float(k) for k in bins], "over real factors": [_real_factors(k) for k in bins]}
    for label, b in shapes.items():
        found[label] = [math.sqrt(optimal_shares(equal_tree(k, b), plain).value) for k in bins]
    found["histogram"] = [math.sqrt(optimal_shares(Shape((k,), k), plain).value) for k in bins]
    return found


def _real_factors(n_bins: int) -> float:
    """Least over real factors of at least 3 with product K: h^3 (K^(1/h) - 1), times 4, by Lemma V.1 for each h."""
    heights = range(1, max(1, int(math.log(n_bins) / math.log(3.0))) + 1)
    return math.sqrt(min(4.0 * h**3 * math.expm1(math.log(n_bins) / h) for h in heights))


def _top_down() -> Lines:
    """Largest error of each level that is exceeded with probability at most BETA, in records, at rho = 1."""
    ready = plan(TABLES, 1.0)
    levels = range(1, ready.n_levels)
    return {
        "level k": [float(k) for k in levels],
        "Theorem 1": bound(ready, BETA)[1:].tolist(),
        "Theorem 1, exact tails": bound_by_exact_tails(ready, BETA)[1:].tolist(),
        "not projected, exact": [float(largest_of_level(ready, k, BETA)) for k in levels],
    }


def _certificate() -> Lines:
    """Mean bound that a release certifies for all levels at once but with probability BETA, in records, at rho = 1."""
    what = made_up(TABLES, 20_000, 7)
    asked = TopDown(1.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")
    releases = [draw(what, asked, seed) for seed in range(RELEASES)]
    certified = np.mean([one.certificate(1.0 - BETA).by_level for one in releases], axis=0)
    seen = np.mean([[level.max_error for level in one.levels] for one in releases], axis=0)
    theorem = _top_down()
    return {
        "level k": theorem["level k"],
        "certificate": certified[1:].tolist(),
        "Theorem 1": theorem["Theorem 1"],
        "Theorem 1, exact tails": theorem["Theorem 1, exact tails"],
        "largest error, seen": seen[1:].tolist(),
    }


def _smallest_budget() -> Lines:
    """Epsilon for which every count of two levels is within a number of records, 95 % sure; discrete Laplace noise."""
    tree, unit = Tree.from_branching_factors((4, 5)), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    within = (4.0, 8.0, 16.0, 32.0, 64.0)
    found: Lines = {
        "within (records)": list(within),
        "lower bound": [],
        "best split": [],
        "the same ε on each level": [],
    }
    problem = Problem(tree, np.full(tree.n_nodes, 100), "discrete_laplace", unit)
    even = np.ones(tree.n_levels)
    for reach in within:
        targets = [Target(level, Ask.EVERY_NODE, reach, 0.95, in_records=True) for level in (1, 2)]
        best = smallest_budget(problem, targets)
        truth = Truth(problem, [Bounded(problem, target) for target in targets])
        values = best.lower_bound, best.total, float(problem.charge(truth.enough(even)))
        for name, value in zip(list(found)[1:], values, strict=True):
            found[name].append(value)
    return found


BOUNDS: Final[Table[Bound]] = table(
    Bound(
        "gamma_2", "Any node, Gaussian", "The smallest possible error of the worst node with Gaussian noise.",
        _nodes, "st. dev. at 2ρ = 1 (records)",
        ("lab", {"lab_mechanisms": "gaussian", "lab_allocation": "minimax", "lab_view": "level"}),
        MethodCard(
            assumptions="Unbiased linear estimates from Gaussian noise; all nodes of a level have "
            "equally many children.",
            formula=r"\max_v\sigma_v\ \ge\ \frac{\gamma_2}{\sqrt{2\rho}},\qquad"
            r"\gamma_2^2=1+\sum_\ell\frac{n_\ell-1}{n_\ell+1}",
            source="Ghazi et al., Theorems 5.2, A.2 and A.3; the exact value is our own.",
            strengths="Minimax shares and least squares attain it: nothing is left to gain.",
            limitations="Estimates with bias, and errors that forgive a part of the count: it says nothing of them.",
        ),
    ),
    Bound(
        "additive", "Any node, α = 0", "The smallest possible error of the worst node, whatever the noise.",
        _additive, "RMSE at ε = 1 (records)", ("multiplicative", {"mul_view": "growth"}),
        MethodCard(
            assumptions="(ε, δ), one record added or removed, nothing forgiven; any mechanism at all.",
            formula=r"\max_v\sqrt{\mathbb E(\hat x_v-x_v)^2}\ \ge\ \gamma_2\,\frac{\sqrt{1-\kappa^2}}{2\kappa},\qquad"
            r"\kappa=\tanh\tfrac\varepsilon2+\bigl(1-\tanh\tfrac\varepsilon2\bigr)\sqrt\delta",
            source="Ghazi et al., Theorem 5.2; its constant and the proof are our own.",
            strengths="Many levels: it grows as fast as minimax shares with least squares, so that "
            "nothing grows slower.",
            limitations="Small δ: Gaussian noise pays for it with a logarithm that the bound does not have.",
        ),
    ),
    Bound(
        "packing", "Any node, δ = 0", "The smallest possible α-RMSE of the worst node without δ.",
        _packing("pure_bound", "shrunk_laplace", "laplace"), "α-RMSE at ε = 1 (records)",
        ("multiplicative", {"mul_view": "growth"}),
        MethodCard(
            assumptions="Pure ε, one record added or removed, a binary tree; any mechanism at all.",
            formula=r"\text{α-mRMSE}\ \ge\ 0.0586\,(1-\alpha)\,\frac{d-1}{\varepsilon}",
            source="Ghazi et al., Lemma 5.3 and Theorem 5.1, with a shorter proof and its constant.",
            strengths="Many levels: it grows as fast as Laplace noise does, so that nothing grows slower.",
            limitations="Few levels: the constant is loose by a factor that the figure shows.",
        ),
    ),
    Bound(
        "packing_delta", "Any node, δ > 0", "The smallest possible α-RMSE of the worst node with a δ.",
        _packing("approximate_bound", "shrunk_optimal", "gaussian"), "α-RMSE at ε = 1 (records)",
        ("multiplicative", {"mul_view": "growth"}),
        MethodCard(
            assumptions="(ε, δ), one record added or removed, a binary tree; any mechanism at all.",
            formula=r"e^{-(d-1)H(\eta)}\le\frac{e^{k\varepsilon}}{2^{d-1}}+"
            r"\delta\,\frac{e^{k\varepsilon}-1}{e^\varepsilon-1}"
            r"\ \Rightarrow\ \text{α-mRMSE}\ge(1-\alpha)\tfrac k2\sqrt{\eta}",
            source="Ghazi et al., Corollary 5.4 and Remark 5.6, with a shorter proof and its constant.",
            strengths="Up to about log₂(1/δ) levels.",
            limitations="Beyond them: it stops growing, and mechanisms that grow with the logarithm stop soon after.",
        ),
    ),
    Bound(
        "cumulative", "Cumulative counts, Gaussian", "The smallest possible error of them, Gaussian noise.",
        _cumulative, "RMSE at ρ = 1 (records)", ("cdf", {"cdf_view": "optimal"}),
        MethodCard(
            assumptions="Unbiased linear estimates from Gaussian noise, one record replaced, N public.",
            formula=r"\operatorname{tr}Q^{-1}\ \ge\ \frac{(\operatorname{tr}G^{1/2})^2}{2\rho},\qquad "
            r"G=\sum_I\pi_I\,1_I1_I^{\top}",
            source="Our own; the primal is the matrix mechanism (Li et al., 2015).",
            strengths="Up to 1 024 bins: it is certified to half a per cent.",
            limitations="Laplace noise and estimates with bias: the bound for any mechanism is of them.",
        ),
    ),
    Bound(
        "cumulative_any", "Cumulative counts, any mechanism", "The smallest possible error of them, whatever is done.",
        _cumulative_any, "RMSE at ε = 1 (records)", ("cdf", {"cdf_view": "optimal"}),
        MethodCard(
            assumptions="(ε, δ), also without δ, one record replaced, N public; any mechanism, on its worst data.",
            formula=r"\text{mean squared error}\ \ge\ \frac{(\operatorname{tr}G^{1/2})^2}{2\rho},\qquad "
            r"\rho=\frac{2\kappa^2}{1-\kappa^2},\quad "
            r"\kappa=\tanh\tfrac\varepsilon2+\bigl(1-\tanh\tfrac\varepsilon2\bigr)\sqrt\delta",
            source="Our own, by the argument for the worst node of a tree from the bound for Gaussian noise.",
            strengths="No assumption on noise, bias or linearity; ranges have one, too.",
            limitations="Many bins without δ, or a large ε: mechanisms known are then several times above it.",
        ),
    ),
    Bound(
        "cumulative_laplace", "Cumulative counts, Laplace", "What real factors would give trees of Laplace noise.",
        _cumulative_laplace, "RMSE at ε = 1 (records)", ("branching", {"bra_bins": "4096"}),
        MethodCard(
            assumptions="Laplace noise, no least squares, factors of at least 3.",
            formula=r"N^2E_2\ \ge\ \frac{4K}{\varepsilon^2}\,\min_h h^3\,(K^{1/h}-1)",
            source="Rameshwar et al., Lemmas IV.3 and V.1, Theorem IV.3.",
            strengths="Many bins: whole factors come close to it.",
            limitations="After least squares: smaller errors are then possible.",
        ),
    ),
    Bound(
        "inftda", "Each level, top-down", "What the largest error of a level exceeds with probability at most β.",
        _top_down, "largest error at ρ = 1 (records)", ("topdown", {"td_more": "release"}),
        MethodCard(
            assumptions="Discrete Gaussian noise with ρ/d on each level, then IntOpt or water filling; N public.",
            formula=r"\max_{v\in k}|\hat x_v-x_v|\ \le\ \sum_{\ell\le k}"
            r"\sqrt{\frac{8d}{\rho}\ln\frac{k\prod_{j\le\ell}|X_j|}{\beta}}",
            source="Boninsegna, Theorem 1 and Corollary 1.",
            strengths="A guarantee for any data, whatever the projection does.",
            limitations="Deep trees: it grows as k¹·⁵, what is seen rather as k⁰·⁵.",
        ),
    ),
    Bound(
        "certificate", "Each count, top-down, afterwards",
        "What no error exceeds, on no level, but with probability β: read off a release.",
        _certificate, "largest error at ρ = 1 (records)", ("topdown", {"td_more": "release"}),
        MethodCard(
            assumptions="Whole-number noise on every level, and any post-processing; the noisy counts are at hand.",
            formula=r"|\hat x_v-x_v|\ \le\ t_\ell+|\tilde x_v-\hat x_v|,\qquad "
            r"P(|Z|\le t_\ell)^{m_\ell}\ \ge\ (1-\beta)^{1/L}",
            source="Our own; the proof stands in treedp_core.studies.topdown.certificate.",
            strengths="All counts of all levels at once, and a bound for each: what the projection moved is seen.",
            limitations="Before a release: only Theorem 1 says something then.",
        ),
        f"Certificate and largest error: means of {RELEASES} simulated releases of 20 000 made-up records.",
    ),
    Bound(
        "smallest_budget", "ε for targets", "The smallest ε for which every count can be as close as is wanted.",
        _smallest_budget, "ε", ("budget", {"bud_view": "targets"}),
        MethodCard(
            assumptions="Noise by level budgets, then least squares; any split of ε over the levels.",
            formula=r"\varepsilon\ \ge\ \min_a\Bigl\{\sum_\ell a_\ell\ :\ "
            r"\sum_\ell s_\ell\,q_\ell(a_\ell)\ge1\text{ for all tangents }s\Bigr\}",
            source="Our own; the proofs stand in branch_and_bound, level_chain, relaxation and box_limits of "
            "treedp_core.studies.budget.",
            strengths="Levels of one kind: RMSE up to ten, every count with Laplace noise up to eight: "
            "within 0.1 % of what is found.",
            limitations="Whole numbers within few records: 1 % between; many counts at once, and discrete Gaussian "
            "noise: 4 to 50 %.",
        ),
    ),
)  # fmt: skip
