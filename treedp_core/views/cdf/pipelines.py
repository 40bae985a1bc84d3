"""Whole pipelines against ε, the published experiment, and how far trees are from the least possible error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treedp_core.experiment import EPSILON_GRID
from treedp_core.figures.cdf import gain_figure, pipeline_figure, ratio_bars
from treedp_core.privacy import ProtectedUnit
from treedp_core.studies.branching import best_shape
from treedp_core.studies.cdf import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf import pipelines as study
from treedp_core.studies.cdf.absolute import MOST_BUILT, absolute_curves
from treedp_core.studies.cdf.baselines import baseline_table
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS, ROUNDS, MatrixBound
from treedp_core.studies.cdf.experiment import experiment_table, gain_rows, gain_table, label_of, mean_text
from treedp_core.studies.cdf.pipelines import BOUND_BINS, OPTIMAL_MATRIX, ROOT_MATRIX, distance_table, least_possible
from treedp_core.tree.workloads import Shape, Workload
from treedp_core.views.cdf import words
from treedp_core.views.cdf.inputs import NORMS, ExperimentInputs, OptimalInputs, PipelineInputs
from treedp_core.views.cdf.words import PROTECTS
from treedp_core.views.entries import Entry, Work, alone
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.watch import Watch
from treedp_core.words import above_least, lower_first, plural, setting_text, short, whole

N_RECORDS: Final = 900
LARGEST_SHOWN: Final = 5.0
"""Epsilon beyond which bounds for every mechanism fall so fast that a figure of them shows nothing else."""
COUNTS: Final = {"cdf": "cumulative count", "ranges": "range"}
"""One of the counts whose mean error the least possible is asked of."""


def error_against_epsilon(inputs: PipelineInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the errors of whole pipelines against ε, and beside them at your ε.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for no number of bins, and what `bins_of` refuses.
    """
    bins, at, curves, _ = _curves(inputs, tables, memo)
    columns = study.errors_at(curves, at.epsilon)
    answer = words.error_answer(columns["pipeline"], columns["RMSE of a cumulative count"], at.epsilon)
    return Finding(
        figure=pipeline_figure(curves, at.epsilon),
        columns=partial(study.error_table, curves),
        answer=answer,
        caption=f"K = {whole(bins)}. Root of the mean expected squared error of the cumulative counts, equal budgets, "
        f"one record replaced, N public; Laplace noise, or Gaussian where it says so, at δ = {setting_text(at.delta)}. "
        "Formula: Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al. (four of the lines are those of their "
        "Fig. 1, there with K = 256); least squares: own derivation; square-root matrix: Fichtenberger, Henzinger and "
        "Upadhyay (2023), the total added by least squares.",
        alt=answer,
        badges=("formula",),
        provenance=_made_from(bins, at),
    )


def absolute_errors(inputs: PipelineInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return mean absolute errors of whole pipelines against ε: ℓ₁; it refuses as `error_against_epsilon`."""
    bins, at, squared, fitted = _curves(inputs, tables, memo)
    plain = Criterion(unit=ProtectedUnit(PROTECTS, at.contributions))
    best = memo(("cdf.best", bins, plain), lambda: best_shape(bins, plain))
    grid = squared[0].x.tolist()
    key = ("cdf.absolute", bins, tuple(grid), at.contributions, at.delta)
    curves = memo(key, lambda: absolute_curves(bins, grid, at.contributions, best, fitted, at.delta))
    named = sorted((float(one.y[grid.index(at.epsilon)]), lower_first(one.label)) for one in curves)
    answer = (
        f"ℓ₁: at ε = {setting_text(at.epsilon)} a cumulative count is {short(named[0][0])} records from the true one "
        f"on average with {named[0][1]}, {short(named[-1][0] / named[0][0])} times as far with {named[-1][1]}."
    )
    return Finding(
        figure=pipeline_figure(curves, at.epsilon, "mean absolute error (records)"),
        columns=partial(study.error_table, curves),
        answer=answer,
        caption=f"K = {whole(bins)}. Mean absolute error of a cumulative count: the expected ℓ₁ distance of the CDFs, "
        "times N / K. Laplace noise without least squares: exact, as m nodes have a mean absolute error of "
        "2 Γ(m + ½) / (√π Γ(m)) scales together (own derivation); after least squares it has no closed form. Gaussian "
        f"noise, δ = {setting_text(at.delta)}: exact, up to {whole(MOST_BUILT)} bins. Equal budgets, one record "
        "replaced, N public. Formula.",
        alt=answer,
        badges=("formula",),
        provenance=_made_from(bins, at),
    )


def errors_at(inputs: PipelineInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the errors of whole pipelines at your ε, the least first; it refuses as `error_against_epsilon`."""
    bins, at, curves, _ = _curves(inputs, tables, memo)
    return Finding(
        columns=partial(study.errors_at, curves, at.epsilon),
        caption=f"The same formulas at ε = {setting_text(at.epsilon)}, the least first; the summed squares are "
        "what Rameshwar et al. call N² E₂.",
        alt="Values at your ε",
        badges=("formula",),
        provenance=_made_from(bins, at),
    )


def baselines(inputs: PipelineInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return named mechanisms beside the best found tree; it refuses as `error_against_epsilon`."""
    bins, at, _, best = _curves(inputs, tables, memo)
    return Finding(
        columns=partial(baseline_table, bins, at.epsilon, at.contributions, best),
        caption=f"Mechanisms by name, Laplace noise, ε = {setting_text(at.epsilon)}, one record replaced, N public; "
        "ours is the best found tree with equal budgets. Formula. The error of AHP, MWEM and DAWA depends on the "
        "records: AHP and DAWA are under the private partition of the error band, MWEM under the marginals of TopDown.",
        alt="Named mechanisms for cumulative counts, at your ε",
        badges=("formula",),
        provenance=_made_from(bins, at),
    )


def _made_from(bins: int, at: PipelineInputs) -> Provenance:
    return Provenance(
        about=(plural(bins, "bin"),), relation=PROTECTS, is_fixed=True, epsilon=at.epsilon, delta=at.delta
    )


def _curves(
    inputs: PipelineInputs, tables: Tables, memo: Memo
) -> tuple[int, PipelineInputs, list[study.PipelineCurve], Shape]:
    """K, the inputs with all that they take of a table, the curves, and the best tree."""
    bins = inputs.n_bins(tables.data)
    at = inputs.apart(tables.data) or inputs
    grid = tuple(sorted({*EPSILON_GRID[::2], at.epsilon}))
    criterion = Criterion(least_squares=True, unit=ProtectedUnit(PROTECTS, at.contributions))
    best = memo(("cdf.best", bins, criterion), lambda: best_shape(bins, criterion))
    key = ("cdf.curves", bins, grid, at.contributions, at.delta)
    return bins, at, memo(key, lambda: study.error_curves(bins, grid, at.contributions, best, at.delta)), best


@dataclass(frozen=True, eq=False)
class Repeated:
    """The published experiment, repeated so often with a seed."""

    trials: int
    seed: int
    gains: list[ConsistencyGain]


def repeat(question: tuple[int, int], watch: Watch | None = None) -> Repeated:
    """Return the published experiment, repeated as often as is asked for, with a seed: see `consistency_gains`."""
    trials, seed = question
    return Repeated(trials, seed, consistency_gains(SECTION_VI, N_RECORDS, trials, seed, watch))


def published_experiment(
    inputs: ExperimentInputs, tables: Tables, *, slow: Repeated | None = None, memo: Memo = forgetful
) -> Finding:
    """Return how close better pipelines come to the true CDF than the published one.

    Parameters
    ----------
    slow : Repeated, optional
        The last repetition; one of other inputs is shown as what it is. Without one only published values are.
    """
    gains = [] if slow is None else slow.gains
    rows = gain_rows(gains, inputs.norm)
    answer = words.gain_answer(rows)
    is_other = slow is not None and (slow.trials, slow.seed) != (inputs.trials, inputs.seed)
    runs = "" if slow is None else f"{whole(slow.trials)} runs, 95 % intervals, seed {slow.seed}. Simulation."
    return Finding(
        figure=gain_figure(rows, x_title=f"{NORMS[inputs.norm]} distance from the true CDF"),
        columns=partial(gain_table, gains, inputs.norm),
        answer=answer,
        caption=f"{N_RECORDS} records fall uniformly into 997 bins, ε = 0.1. Squares: as released; circles: made "
        f"consistent; {runs or 'published values.'} The paper puts noise on a histogram, as 997 is prime.",
        alt=answer,
        notes=(f"Shown meanwhile: {whole(slow.trials)} runs and seed {slow.seed}.",) if slow and is_other else (),
        badges=("simulation",),
        provenance=_of_the_experiment(slow),
    )


def _of_the_experiment(slow: Repeated | None) -> Provenance:
    return Provenance(
        about=("997 bins", plural(N_RECORDS, "record")), relation=PROTECTS, is_fixed=True,
        epsilon=SECTION_VI[0].epsilon, seed=None if slow is None else slow.seed,
    )  # fmt: skip


def beside_the_paper(
    inputs: ExperimentInputs, tables: Tables, *, slow: Repeated | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the paper's numbers beside those of a repetition."""
    gains, trials = ([], 0) if slow is None else (slow.gains, slow.trials)
    return Finding(
        columns=partial(experiment_table, gains, trials),
        caption="Paper: Rameshwar et al., Sec. VI, one set of 100 runs. Ours: mean ± 95 % interval, Laplace noise, "
        "records drawn anew in every run; the first row repeats the paper's pipeline, and “apart” says how many "
        "standard errors, of a mean of 100 runs and of ours together, lie between the two. Distances are of cumulative "
        f"counts divided by N = {N_RECORDS}; consistency minimises the distance it is judged by. Simulation on "
        "synthetic records.",
        alt="The paper's numbers beside ours",
        badges=("simulation",),
        provenance=_of_the_experiment(slow),
    )


def headline(gains: list[ConsistencyGain]) -> tuple[tuple[str, str, str, str], ...]:
    """Return the paper's number, ours for its pipeline, and the best of ours, each with what it compares and means."""
    ours, best = gains[0], min(gains, key=lambda gain: gain.l2_consistent.mean)
    about, published = "Mean ℓ₂ distance ± its 95 % interval.", PUBLISHED["l2_consistent"]
    return (
        ("Paper, ℓ₂ consistent", setting_text(published), f"before: {setting_text(PUBLISHED['l2'])}", about),
        ("The same pipeline, ours", mean_text(ours.l2_consistent), f"before: {mean_text(ours.l2)}", about),
        (f"Best: {label_of(best)}", mean_text(best.l2_consistent),
         f"{short(published / best.l2_consistent.mean)}× closer than the paper, same ε", about),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Distances:
    """How far trees and matrices of K bins are from the least possible: see `distance_table`."""

    bins: int
    columns: dict[str, list[Any]]
    bound: MatrixBound


def distances(asked: tuple[int, str], watch: Watch | None = None) -> Distances:
    """Return how far trees and matrices are from the least possible; it refuses as `distance_table`.

    Parameters
    ----------
    asked : K, and a name in `QUERIES`
    """
    bins, workload = asked[0], Workload(asked[1])
    bound = least_possible(bins, watch, workload)
    best = best_shape(bins, Criterion("gaussian", workload, least_squares=True))
    return Distances(bins, distance_table(bins, best, bound=bound, workload=workload), bound)


def search(inputs: OptimalInputs, tables: Tables) -> Work | None:
    """Return the search for the bound, where it takes long: cubic work."""
    bins = inputs.n_bins(tables.data)
    if not BOUND_BINS < bins <= MAX_BOUND_BINS:
        return None
    return Work(distances, (bins, inputs.queries), (), lambda: ROUNDS, name="bound", is_exact=True)


def distance_from_optimal(
    inputs: OptimalInputs, tables: Tables, *, slow: Distances | None = None, memo: Memo = forgetful
) -> Finding:
    """Return how far trees are from the least error of any linear Gaussian mechanism, worst first.

    Parameters
    ----------
    slow : Distances, optional
        Of these bins, where there are more than `BOUND_BINS`: without it K = `BOUND_BINS` is shown.

    Raises
    ------
    InputError
        As `error_against_epsilon`.
    """
    asked = inputs.n_bins(tables.data)
    at = inputs.apart(tables.data) or inputs
    found = _distances(inputs, asked, slow, memo)
    labels, ratios = found.columns.values()
    rows = dict(zip(labels, ratios, strict=True))
    best = min(rows.keys() - {ROOT_MATRIX, OPTIMAL_MATRIX}, key=rows.__getitem__)
    answer = (
        f"For {COUNTS[at.queries]}s of {whole(found.bins)} bins the variance of the best tree is "
        f"{above_least(rows[best])} that any linear Gaussian mechanism can have, of the square-root matrix "
        f"{above_least(rows[ROOT_MATRIX])}. "
        + words.bound_of_all(
            *study.bounds_at(found.bound, at.epsilon, at.contributions, at.delta), at.epsilon, at.delta
        )
    )
    note = (
        f"The bound takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins: K = {BOUND_BINS} is shown instead of "
        f"{whole(asked)}."
    )
    return Finding(
        figure=ratio_bars(labels, ratios, x_title=f"mean variance of a {COUNTS[at.queries]} ÷ lower bound"),
        columns=lambda: found.columns,
        answer=answer,
        caption=f"K = {whole(found.bins)}, Gaussian noise at the same ρ, one record replaced, N public. Best tree: "
        f"{best}, its typical error {above_least(math.sqrt(rows[best]))}; it takes "
        "linear instead of cubic work. The bound holds for every mechanism that adds Gaussian noise to linear queries "
        "and estimates linearly without bias (optimal matrix mechanism, certified by duality), at every ρ, as all "
        "errors fall alike. That for every mechanism is of some data, see below *More*. Formula and numerical bound.",
        alt=answer,
        notes=(note,) if asked > MAX_BOUND_BINS else (),
        badges=("formula",),
        provenance=_made_from(found.bins, at),
    )


def _distances(inputs: OptimalInputs, asked: int, slow: Distances | None, memo: Memo) -> Distances:
    question = min(asked, BOUND_BINS), inputs.queries
    return slow or memo(("cdf.distances", *question), lambda: distances(question))


def every_mechanism(
    inputs: OptimalInputs, tables: Tables, *, slow: Distances | None = None, memo: Memo = forgetful
) -> Finding:
    """Return what error every mechanism has at least, linear or not, without and with δ, beside two that we have.

    Parameters
    ----------
    slow : Distances, optional
        See `distance_from_optimal`.

    Raises
    ------
    InputError
        As `error_against_epsilon`.
    """
    at = inputs.apart(tables.data) or inputs
    found = _distances(inputs, inputs.n_bins(tables.data), slow, memo)
    unit = ProtectedUnit(PROTECTS, at.contributions)
    criterion = Criterion(workload=at.workload, least_squares=True, unit=unit)
    best = memo(("cdf.best", found.bins, criterion), lambda: best_shape(found.bins, criterion))
    grid = tuple(sorted({*(one for one in EPSILON_GRID[::2] if one <= LARGEST_SHOWN), at.epsilon}))
    curves = study.curves_beside_bounds(found.bound, at.workload, grid, at.contributions, best, at.delta)
    answer = words.bound_answer([float(one.y[grid.index(at.epsilon)]) for one in curves], at.epsilon, at.delta)
    return Finding(
        figure=pipeline_figure(curves, at.epsilon),
        columns=partial(study.error_table, curves),
        answer=answer,
        caption=f"K = {whole(found.bins)}. Root of the mean expected squared error of all {COUNTS[at.queries]}s, one "
        f"record replaced, N public; δ = {setting_text(at.delta)} if there is one. Lower bound: whatever a mechanism "
        "does, with noise of any law and any bias, some data set has at least this error. Own derivation: the bound "
        "for Gaussian noise at ρ = 2κ² / (1 − κ²), κ = t + (1 − t)√δ, t = tanh(ε/2). Formula and numerical bound.",
        alt=answer,
        badges=("formula",),
        provenance=_made_from(found.bins, at),
    )


_pipelines = partial(Entry, page="cdf", inputs=PipelineInputs, apart=PipelineInputs.apart)
_optimal = partial(_pipelines, view="optimal", inputs=OptimalInputs, slow=search, start="auto")
_experiment = partial(
    Entry, page="cdf", view="experiment", inputs=ExperimentInputs, apart=alone, start="auto",
    slow=lambda inputs, tables: Work(
        repeat, (inputs.trials, inputs.seed), (), lambda: inputs.trials * len(SECTION_VI), name="repeated"
    ),
)  # fmt: skip
ENTRIES = (
    _pipelines(view="error", part="cdf_error", label="Error against ε", find=error_against_epsilon,
               question="Which tree has the smallest error at my ε?"),
    _pipelines(view="error", part="cdf_error_at", section="at", find=errors_at),
    _pipelines(view="error", part="cdf_absolute", section="absolute", find=absolute_errors),
    _pipelines(view="error", part="cdf_baselines", section="named", find=baselines),
    _experiment(part="cdf_gains", label="Published experiment",
                question="How close does a released CDF come to the true one?", find=published_experiment),
    _experiment(part="cdf_experiment", section="paper", find=beside_the_paper),
    _optimal(part="cdf_optimal", label="How far from optimal", question="How much better could any mechanism be?",
             find=distance_from_optimal),
    _optimal(part="cdf_any", section="any", find=every_mechanism),
)  # fmt: skip
