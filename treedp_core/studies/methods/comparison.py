"""Each entry of the tables beside the others of its kind: what decides between them, computed here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import PUBLISHED_SPLITS, handed_over, shares_from_text
from treedp_core.checks import DELTA_USUAL
from treedp_core.errors import METRICS, Tolerance
from treedp_core.experiment import Experiment, prepare, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.isotonic import FITS, consistent_cdf
from treedp_core.privacy import ADDED, NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.records.mock_data import leaf_counts
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import PHASES
from treedp_core.studies.budget.splits.node_budgets import FINER
from treedp_core.studies.cdf.baselines import BASELINES, errors_over
from treedp_core.studies.cdf.matrices.plan import MatrixPlan, plan_matrix
from treedp_core.studies.cdf.partition import plan_partition
from treedp_core.studies.cdf.release import PARTITION, STRATEGIES, TREE, CdfPlan, CdfSettings, plan_tree
from treedp_core.studies.methods.bounds import BOUNDS
from treedp_core.studies.methods.entries import METHODS, TUNED, Method
from treedp_core.studies.multiplicative.curves import CURVES, Setting, growth
from treedp_core.studies.multiplicative.simple import SIMPLE, draw, tree_in_use
from treedp_core.studies.topdown import made_up
from treedp_core.studies.topdown.marginals import OF, PREFIXES, WAYS, compare_marginals
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.tree import FloatArray, IntArray, Tree
from treedp_core.watch import generator
from treedp_core.words import setting_text, whole

RECORDS: Final = 1_000
SPLITS: Final = 5
EPSILONS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TRIALS: Final = 200
SLACK: Final = 0.5
"""The α of what forgives something."""
MADE_UP: Final = f"Made-up counts: {whole(RECORDS)} records on 32 leaves, 5 binary splits, one record replaced."
CDF_BINS: Final = (4, 8, 16, 32, 64)
FIT_TRIALS: Final = 60
BASELINE_BINS: Final = (16, 64, 256, 1024)
SPARSE_SPLITS, SPARSE_RECORDS, SPARSE_SLACK, SPARSE_TRIALS = 9, 500, 0.1, 12
SPARSE_EPSILONS: Final = (0.1, 0.25, 0.5, 1.0)
SPIKE_BINS, SPIKE_RECORDS, SPIKE_EPSILON, SPIKE_TRIALS = 256, 20_000, 0.1, 12
SPIKES: Final = (2, 4, 8, 16, 32, 64, 128, 256)
COLUMNS: Final = (3,) * 4
RHO: Final = 0.0005
MWEM_TRIALS: Final = 20
KNOWN_BEFORE: Final = tuple(name for name in STRATEGIES if name != PARTITION)
"""Ways to put noise on a CDF whose errors are known before there is any data."""


@dataclass(frozen=True, eq=False)
class Compared:
    """An entry among those of its kind.

    Parameters
    ----------
    over : str
        What `x` (n,) is.
    lines : mapping of str to (n,)
        Label -> error at each x; over the best of all if `is_ratio`, as it is beside a bound.
    chosen : str
        The label of the entry.
    says : str
        What the lines are.
    simulated : bool
        Whether some of it is simulated.
    about : str
        What it was computed for, in a sentence.
    """

    over: str
    x: list[float]
    lines: Mapping[str, list[float]]
    chosen: str
    says: str
    simulated: bool = False
    is_ratio: bool = True
    about: str = MADE_UP

    @cached_property
    def columns(self) -> dict[str, list[float]]:
        """The same as a table."""
        return {self.over: self.x, **self.lines}


def compared(name: str) -> Compared:
    """Return an entry of `METHODS` beside the others of its kind, over what decides between them.

    >>> found = compared("mechanisms.gaussian")
    >>> found.chosen, found.over, min(map(min, found.lines.values()))
    ('Gaussian', 'ε', 1.0)
    """
    one = METHODS[name]
    if one.kind in _BESIDE:
        return _BESIDE[one.kind](one)
    label, cells = {"mechanisms": _mechanisms, "postprocessors": _chains, "metrics": _chains_under}[one.kind](one)
    is_exact = one.kind == "mechanisms"
    epsilons = EPSILONS if is_exact else EPSILONS[::2]
    found = {of: [_error(replace(cell, epsilon=e)) for e in epsilons] for of, cell in cells.items()}
    metric = METRICS[next(iter(cells.values())).metric]
    return Compared("ε", list(epsilons), _over_best(found), label, f"{metric.label} ÷ the best", not is_exact)


def small_tree() -> tuple[Tree, IntArray]:
    """Return a made-up data set: 5 binary splits, 1 000 records on 32 leaves, counts (n_nodes,)."""
    tree = Tree.from_branching_factors((2,) * SPLITS)
    return tree, tree.counts_of_leaves(leaf_counts(tree, "lognormal", RECORDS, generator("methods: made-up records")))


def base(**fields: Any) -> Experiment:
    """Return an experiment on the made-up data set, one record replaced."""
    return Experiment(delta=DELTA_USUAL, alpha=SLACK, trials=TRIALS, **fields)


def _mechanisms(one: Method) -> tuple[str, dict[str, Experiment]]:
    return one.label, {entry.label: base(mechanism=name) for name, entry in MECHANISMS.items()}


def _chains(one: Method) -> tuple[str, dict[str, Experiment]]:
    metric = "alpha_rmse" if "alpha" in POSTPROCESSORS[one.of].uses else "rmse"
    names = {"None": ()} | {entry.label: (name,) for name, entry in POSTPROCESSORS.items()}
    return one.label, {label: base(postprocess=steps, metric=metric) for label, steps in names.items()}


def _chains_under(one: Method) -> tuple[str, dict[str, Experiment]]:
    steps = ("least_squares", "non_negative", "top_down_intopt")
    cells = {"None": base(metric=one.of)} | {
        POSTPROCESSORS[name].label: base(metric=one.of, postprocess=(name,)) for name in steps
    }
    return "", cells


def _of_allocation(one: Method) -> Compared:
    """The root mean square error after least squares over the number of levels, for each split but one's own."""
    heights = range(2, 9)
    entries = [entry for entry in METHODS.values() if entry.kind == "allocations" and entry.of != "custom"]
    found = {entry.label: [_fitted(entry.of, (2,) * h) for h in heights] for entry in entries}
    return Compared(
        "levels", [h + 1.0 for h in heights], _over_best(found), one.label, "RMSE ÷ the best",
        about="Binary trees, Gaussian noise, then least squares; tuned splits know only that all counts weigh alike.",
    )  # fmt: skip


def _fitted(allocation: str, factors: tuple[int, ...]) -> float:
    tree = Tree.from_branching_factors(factors)
    chosen = tuned_split(allocation, factors) if allocation in TUNED else {"allocation": allocation}
    experiment = base(**chosen, postprocess=("least_squares",), mechanism="gaussian")
    formula = run(experiment, tree, np.zeros(tree.n_nodes, dtype=np.int64), simulated=False).formula
    return np.nan if formula is None else formula.tree


def _of_published(one: Method) -> Compared:
    """The root mean square error of each level after least squares, beside splits that need no such history."""
    split = PUBLISHED_SPLITS[one.of]
    factors = (3,) * (len(split.exact) - 1)
    found = {one.label: _by_level(factors, allocation="custom", shares=split.shares)}
    found |= {ALLOCATIONS[name].label: _by_level(factors, allocation=name) for name in ("uniform", "minimax")}
    about = (
        f"A tree with {factors[0]} children a node, Gaussian noise, then least squares; one record added or removed."
    )
    levels = list(map(float, range(len(split.exact))))
    return Compared("level", levels, _over_best(found), one.label, "RMSE ÷ the best", about=about)


def _by_level(factors: tuple[int, ...], **chosen: Any) -> list[float]:
    tree = Tree.from_branching_factors(factors)
    added = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    cell = base(**chosen, mechanism="gaussian", postprocess=("least_squares",), relation=added)
    variance = prepare(cell, tree).postprocessing[1]
    assert variance is not None
    return list(map(float, np.sqrt(variance[tree.level_start[:-1]])))


def _error(experiment: Experiment) -> float:
    """The closed form, or a simulation where there is none."""
    tree, counts = small_tree()
    found = run(experiment, tree, counts, simulated=False).formula
    if found is None:
        found = run(experiment, tree, counts).simulation
    assert found is not None
    return found.tree


def _of_bound(one: Method) -> Compared:
    columns = BOUNDS[one.of].lines()
    over, limit = list(columns)[:2]
    lines = {name: values for name, values in columns.items() if name != over}
    simulated = BOUNDS[one.of].simulated
    return Compared(over, columns[over], lines, limit, BOUNDS[one.of].unit, simulated=bool(simulated), is_ratio=False,
                    about=simulated)  # fmt: skip


def _of_strategy(one: Method) -> Compared:
    """The root mean square error of K cumulative counts at one promise, each way by the noise that it is for."""
    if one.of == PARTITION:
        return _of_partition(one)
    found = {STRATEGIES[name].label: [_typical(name, k) for k in CDF_BINS] for name in KNOWN_BEFORE}
    about = (
        f"Cumulative counts at ε = 1, δ = {setting_text(DELTA_USUAL)} for Gaussian noise; one record replaced, N "
        "public. Each by the noise that it is for, the binary tree by the better of both kinds."
    )
    return Compared("bins", [float(k) for k in CDF_BINS], _over_best(found), one.label, "RMSE ÷ the best", about=about)


def _of_fit(one: Method) -> Compared:
    """The root mean square error of 32 made-up cumulative counts after each fit, by simulated histograms."""
    found = {"None": [_after(None, e) for e in EPSILONS[::2]]}
    found |= {entry.label: [_after(name, e) for e in EPSILONS[::2]] for name, entry in FITS.items()}
    return Compared(
        "ε",
        list(EPSILONS[::2]),
        _over_best(found),
        one.label,
        "RMSE ÷ the best",
        simulated=True,
        about=f"{MADE_UP} Cumulative counts of a histogram's whole noise, N public.",
    )


def _of_partition(one: Method) -> Compared:
    """The root mean square error of single bins behind a partition and without one, by simulated releases."""
    found = {label: [_single_bins(label == one.label, e) for e in EPSILONS[::2]] for label in (one.label, "Bins alone")}
    says = "RMSE of a bin ÷ the best"
    return Compared("ε", list(EPSILONS[::2]), _over_best(found), one.label, says, simulated=True,
                    about=f"{MADE_UP} N is public.")  # fmt: skip


@lru_cache(maxsize=16)
def _single_bins(is_divided: bool, epsilon: float) -> float:
    """Root mean square error of 32 single bins, in records."""
    tree, counts = small_tree()
    bins = counts[tree.leaves]
    settings = CdfSettings(bins.size, (bins.size,), "discrete_laplace", epsilon)
    plan = plan_partition(replace(settings, strategy=PARTITION)) if is_divided else plan_tree(settings)
    rng = generator("methods: single bins", int(is_divided), 7)
    drawn = np.stack([plan.release(bins, rng).cumulative for _ in range(FIT_TRIALS)])
    return math.sqrt(float(np.square(np.diff(drawn, prepend=0.0, axis=1) - bins).mean()))


def cdf_plan(name: str, n_bins: int) -> CdfPlan | MatrixPlan:
    """Return the release of K cumulative counts by a strategy, with continuous noise of its own kind, ε = 1."""
    noise = next((one for one in ("gaussian", "laplace") if one in STRATEGIES[name].mechanisms), "gaussian")
    settings = CdfSettings(n_bins, (2,) * (n_bins - 1).bit_length(), noise, 1.0, DELTA_USUAL, strategy=name)
    return plan_tree(settings) if name == TREE else plan_matrix(settings)


@lru_cache(maxsize=64)
def _typical(name: str, n_bins: int) -> float:
    """Root of the mean variance of K cumulative counts, on a tree by the better of both kinds of noise."""
    plan = cdf_plan(name, n_bins)
    found = [float(plan.variance.mean())]
    if name == TREE:
        found.append(float(plan_tree(replace(plan.settings, mechanism="laplace", delta=0.0)).variance.mean()))
    return math.sqrt(min(found))


@lru_cache(maxsize=64)
def _after(fit: str | None, epsilon: float) -> float:
    """Root mean square error of the cumulative counts of 32 bins after a fit, in records."""
    tree, counts = small_tree()
    truth = np.cumsum(counts[tree.leaves])
    plan = plan_tree(CdfSettings(truth.size, (truth.size,), "discrete_laplace", epsilon, least_squares=False))
    noisy = truth + plan.errors(generator("methods: consistent counts", 7), FIT_TRIALS)
    fitted = noisy if fit is None else np.stack([consistent_cdf(one, int(truth[-1]), fit) for one in noisy])
    return math.sqrt(float(np.square(fitted - truth).mean()))


@lru_cache(maxsize=64)
def tuned_split(name: str, factors: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields of an experiment with the split that is found where nothing is known of the counts."""
    tree = Tree.from_branching_factors(factors)
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    problem = Problem(tree, np.zeros(tree.n_nodes), "gaussian", unit, "rmse", Tolerance(), least_squares=True)
    amounts = TUNED[name].amounts(problem, 1.0, PHASES)
    return {"allocation": "custom", "shares": shares_from_text(handed_over(amounts.tolist(), 1.0, 1.0))}


def _of_thresholds(one: Method) -> Compared:
    """The alpha-RMSE over the number of levels, beside the noise that thresholds are to beat."""
    levels = np.unique(np.round(np.geomspace(10, 10**6, 11)))
    names = [name for name, curve in CURVES.items() if curve.is_thresholds] + ["gaussian", "shrunk_optimal"]
    error = growth(Setting(), levels, tuple(names)).error
    found = {CURVES[name].label: error[name].tolist() for name in names}
    return Compared(
        "levels",
        levels.tolist(),
        _over_best(found),
        one.label,
        "α-RMSE at ε = 1 ÷ the best",
        about="The worst tree of so many levels, at α = 0.5, δ = 1e-6, one record added or removed.",
    )


def _of_simple(one: Method) -> Compared:
    """The alpha-RMSE of all counts of a mostly empty tree, by simulated releases of every rule."""
    found = {name: [_sparse(e)[name] for e in SPARSE_EPSILONS] for name in SIMPLE}
    named = _over_best({SIMPLE[name].label: values for name, values in found.items()})
    about = (
        f"{SPARSE_SPLITS} binary splits, {whole(SPARSE_RECORDS)} made-up records on some leaves; α = {SPARSE_SLACK}, "
        f"δ = {setting_text(DELTA_USUAL)}, one record added or removed."
    )
    return Compared("ε", list(SPARSE_EPSILONS), named, one.label, "α-RMSE ÷ the best", simulated=True, about=about)


@lru_cache(maxsize=16)
def _sparse(epsilon: float) -> dict[str, float]:
    """The alpha-RMSE of all counts of a sparse tree after each simple rule, in records."""
    tree = Tree.from_branching_factors((2,) * SPARSE_SPLITS)
    rng = generator("methods: a sparse tree", 7)
    counts = tree.counts_of_leaves(leaf_counts(tree, "sparse", SPARSE_RECORDS, rng))
    source, truth = tree_in_use("sparse", tree, counts), counts.astype(float)
    added = NeighbouringRelation.ADD_OR_REMOVE_ONE.value
    settings = replace(base(epsilon=epsilon, relation=added), alpha=SPARSE_SLACK)
    edge = source.paths.node_edge
    assert edge is not None
    drawn = [draw(source, edge, tree.level_of, truth, settings, rng) for _ in range(SPARSE_TRIALS)]
    return {name: math.sqrt(np.mean([_beyond(one[name].released, truth) for one in drawn])) for name in SIMPLE}


def _beyond(released: FloatArray, truth: FloatArray) -> float:
    """Mean square of what errors are beyond alpha times the count."""
    return float(np.square(np.maximum(np.abs(released - truth) - SPARSE_SLACK * truth, 0.0)).mean())


def _of_marginals(one: Method) -> Compared:
    """The root mean square error of questions by one to three columns: by formula, of MWEM by simulated releases."""
    kinds = [name for name in OF if name != PREFIXES]
    found = [_questions(of) for of in kinds]
    ways = {way.label: [each[way.label] for each in found] for way in WAYS.values()}
    about = (
        f"All questions by so many of {len(COLUMNS)} columns of {COLUMNS[0]} categories, {whole(RECORDS)} made-up "
        f"records; ρ = {setting_text(RHO)}, one record replaced, N public."
    )
    return Compared("columns asked", list(map(float, kinds)), _over_best(ways), one.label, "RMSE ÷ the best",
                    simulated=True, about=about)  # fmt: skip


@lru_cache(maxsize=16)
def _questions(of: str) -> dict[str, float]:
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    wanted = Wanted(RHO, DELTA_USUAL, unit, None, Spread.STACKED, next(iter(RULES)))
    found = compare_marginals(made_up(COLUMNS, RECORDS, 7), wanted, MWEM_TRIALS, 7, of=of)
    return dict(zip(found.ways, np.sqrt(np.square(found.rmse).mean(axis=1)).tolist(), strict=True))


def _of_finer(one: Method) -> Compared:
    entry = FINER[one.of]
    over, x, found = entry.gain()
    return Compared(over, x, _over_best(found), one.label, entry.says, about=entry.about)


def _of_baseline(one: Method) -> Compared:
    if BASELINES[one.of].error is None:
        return _of_spikes(one)
    bins = list(map(float, BASELINE_BINS))
    about = "Of cumulative counts: Laplace noise, one record replaced, N public."
    found = _over_best(errors_over(BASELINE_BINS))
    return Compared("bins", bins, found, one.label, "RMSE ÷ the best", about=about)


def _of_spikes(one: Method) -> Compared:
    """The root mean square error of single bins, of which a few hold all records, by simulated releases."""
    found: dict[str, list[float]] = {label: [] for label in (one.label, STRATEGIES[PARTITION].label, "Bins alone")}
    for filled in SPIKES:
        for values, value in zip(found.values(), _spikes(one.of, filled), strict=True):
            values.append(value)
    about = (
        f"{SPIKE_BINS} bins, of which so many hold {whole(SPIKE_RECORDS)} made-up records; ε = "
        f"{setting_text(SPIKE_EPSILON)}, one record added or removed. Alone by formula."
    )
    return Compared("filled bins", list(map(float, SPIKES)), _over_best(found), one.label,
                    "RMSE of a bin ÷ the best", simulated=True, about=about)  # fmt: skip


@lru_cache(maxsize=16)
def _spikes(name: str, filled: int) -> tuple[float, float, float]:
    unit, release = ADDED, BASELINES[name].release
    assert release is not None
    counts = np.zeros(SPIKE_BINS, dtype=np.int64)
    counts[np.arange(filled) * SPIKE_BINS // filled] = SPIKE_RECORDS // filled
    settings = CdfSettings(
        SPIKE_BINS, (), epsilon=SPIKE_EPSILON, relation=unit.relation.value, strategy=PARTITION, workload="bins"
    )
    plan, rng = plan_partition(settings), generator("methods: spikes", name, filled)
    theirs = np.stack([release(counts, unit, SPIKE_EPSILON, rng) for _ in range(SPIKE_TRIALS)])
    ours = np.diff([plan.release(counts, rng).cumulative for _ in range(SPIKE_TRIALS)], prepend=0.0, axis=1)
    alone = math.sqrt(2.0) / SPIKE_EPSILON
    off, of_ours = (math.sqrt(float(np.square(of - counts).mean())) for of in (theirs, ours))
    return off, of_ours, alone


_BESIDE: Final[Mapping[str, Callable[[Method], Compared]]] = {
    "bounds": _of_bound, "allocations": _of_allocation, "strategies": _of_strategy, "fits": _of_fit,
    "thresholds": _of_thresholds, "baselines": _of_baseline,
    "published": _of_published, "simple": _of_simple, "marginals": _of_marginals,
    "finer": _of_finer,
}  # fmt: skip
"""How entries are compared where no experiment of the lab does it."""


def _over_best(found: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    values = np.array(list(found.values()), dtype=float)
    best = np.nanmin(np.where(np.isfinite(values), values, np.nan), axis=0)
    return dict(zip(found, (values / best).tolist(), strict=True))
