"""What the error lab says about its numbers, in plain words; labels of the data never appear here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy.prior_provenance import CHOOSE, NOT_PRIVATE
from treedp_core.studies.sweep.lines import Line, Simulation
from treedp_core.studies.sweep.series import DRAW, LEVEL, Series
from treedp_core.tree import Tree
from treedp_core.views.lab.inputs import LabInputs
from treedp_core.words import Z95, fixed, percent, plural, setting_text, short, upper_first, whole, with_noun

ROUNDS: Final = (
    "Thresholds: tuned plan at α = {alpha} (Ghazi et al., Theorem 4.1, corrected), simulation only; errors depend "
    "on the true counts: NOT PRIVATE. No marker where the total is too small for a plan."
)
THRESHOLDS_ALONE: Final = (
    "Thresholds have no noise of levels, so there is no budget split; *Release plan* states their rounds, once a "
    "public bound on the total is given."
)


def settings_used(base: Experiment) -> str:
    """Return the settings a metric takes, or nothing.

    >>> settings_used(Experiment(metric="alpha_rmse")), settings_used(Experiment())
    ('α = 0.1', '')
    """
    shown = {"alpha": f"α = {short(base.alpha)}", "threshold": f"τ = {short(base.threshold)}"}
    return ", ".join(shown[name] for name in METRICS[base.metric].uses)


def sought(base: Experiment) -> str:
    """Return the caption of the smallest ε for an error: a relative error makes it a function of the true counts."""
    told = "Found by bisection on the formula, to 0.1 %."
    return f"{NOT_PRIVATE}: sought on the true counts. {CHOOSE} {told}" if METRICS[base.metric].reads_counts else told


def depends_on_counts(lines: Sequence[Line], base: Experiment, view: str) -> bool:
    """Whether anything shown is a function of the true counts, hence not private."""
    by_rounds = any(line.has_simulation and not line.series.has_levels for line in lines)
    return view == DRAW or METRICS[base.metric].reads_counts or by_rounds or bool(_biased(lines))


def _biased(lines: Sequence[Line]) -> list[str]:
    """Names of the pipelines whose simulated error depends on the true counts."""
    shown = dict.fromkeys(line.series.pipeline for line in lines if line.has_simulation)
    return [name for name in shown if not all(POSTPROCESSORS[step].linear for step in CHAINS[name].steps)]


def badges(lines: Sequence[Line], base: Experiment, view: str, label: str = "") -> tuple[str, ...]:
    """Return the badges of a figure: where its numbers come from, and whether they, or the split, are private."""
    names = ["formula"] if not lines or any(line.has_formula for line in lines) else []
    if view == DRAW or any(line.has_simulation for line in lines):
        names.append("simulation")
    if label.startswith(NOT_PRIVATE) or depends_on_counts(lines, base, view):
        names.append(NOT_PRIVATE)
    return tuple(names or ["simulation"])


def nothing_chosen(inputs: LabInputs) -> str:
    """Return what to do where nothing is compared, or nothing of it has a number yet."""
    if inputs.compared:
        return "No formula is known for what is compared: press **Run**."
    post = "Pick at least one post-processing; “None” shows the noise as it is."
    return "Pick at least one mechanism." if inputs.postprocess else post


def caption(lines: Sequence[Line], base: Experiment, view: str, tree: Tree) -> str:
    """Return a figure's caption: what is drawn, on what tree, with how many runs, from which theorem."""
    words = []
    if any(line.has_formula for line in lines):
        words.append(f"{'Bars' if view == LEVEL else 'Lines'}: closed form ({METRICS[base.metric].source}).")
    fresh = [line for line in lines if line.has_simulation and not line.is_stale]
    if fresh:
        words.append(
            f"Markers: mean of {whole(base.trials)} simulated releases with 95 % intervals, seed {base.seed}"
            + (", simulation on the true counts." if depends_on_counts(lines, base, view) else ".")
        )
    words.append(f"{plural(tree.n_leaves, 'leaf', 'leaves')}, {plural(tree.n_levels, 'level')}.")
    used = settings_used(base)
    if used:
        words.append(f"{used}; depends on the true counts: NOT PRIVATE.")
    elif _biased(lines):
        names = "; ".join(CHAINS[name].label for name in _biased(lines))
        words.append(f"Errors after a biased step ({names}) depend on the true counts: NOT PRIVATE.")
    words += [ROUNDS.format(alpha=short(base.alpha))] if any(not line.series.has_levels for line in lines) else []
    return " ".join(words)


def band(series: Series) -> str:
    """Return what the band of one draw shows; thresholds have none, as they state no variance."""
    told = f"; band: true count ± {short(Z95)} standard deviations of the noise before post-processing"
    return told if series.has_levels else "; no band, as thresholds state no variance"


def without_formula(lines: Sequence[Line]) -> str:
    """Return a sentence naming the series theory has no number for, or nothing."""
    silent = [line for line in lines if not line.has_formula]
    if not silent:
        return ""
    names = "; ".join(line.series.label for line in silent)
    waiting = any(not line.has_simulation for line in silent)
    return f"No closed form, simulation only: {names}." + (" Press **Run** to see them." if waiting else "")


def stale_note(lines: Sequence[Line]) -> str:
    """Return a sentence saying what the greyed markers were computed for, or nothing."""
    old = sorted({", ".join(line.computed_for) for line in lines if line.is_stale and line.has_simulation})
    return f"Grey markers: computed for {'; '.join(old)}. Press **Run** for the present settings." if old else ""


def other_metric(simulation: Simulation | None, base: Experiment) -> str:
    """Return a sentence on a simulation whose metric is not the one shown, or nothing."""
    if simulation is None or simulation.question.base.metric == base.metric:
        return ""
    return "The last simulation was of another metric. Press **Run** for this one."


def plain_line(lines: Sequence[Line], base: Experiment, tree: Tree) -> str:
    """Return the main result in plain words: how far off a count is with the best series shown."""
    known = [line for line in lines if math.isfinite(line.whole.value)]
    if not known:
        return ""
    best = min(known, key=lambda line: line.whole.value)
    off = METRICS[base.metric].sentence.format(
        value=short(best.whole.value),
        percent=percent(best.whole.value),
        nodes=plural(tree.n_nodes, "count"),
        threshold=short(base.threshold),
        slack=percent(base.alpha),
    )
    lead = f"At ε = {setting_text(base.epsilon)}, with {best.series.label}, {off} ({best.whole.source})."
    return upper_first(lead)


def answer(lines: Sequence[Line], base: Experiment, tree: Tree) -> str:
    """Return the main result, and how much worse the next series is.

    Where only one series has a number, the sentence is about that one.
    """
    first = plain_line(lines, base, tree) or _unbounded(lines, base)
    known = sorted((line for line in lines if math.isfinite(line.whole.value)), key=lambda line: line.whole.value)
    if len(known) < 2 or not known[0].whole.value > 0:
        return first
    last = known[-1]
    return f"{first} {last.series.label}: {short(last.whole.value / known[0].whole.value)} times as much."


def _unbounded(lines: Sequence[Line], base: Experiment) -> str:
    """Return why the error of all that is shown is infinite; nothing where it is not."""
    if not any(math.isinf(line.whole.value) for line in lines):
        return ""
    return (
        f"The {METRICS[base.metric].title} is ∞: a level has no budget, and nothing tells its counts. Give the lowest "
        "level a share, and take least squares, which works out those above."
    )


def draw_line(mean: float, largest: float, label: str, n_nodes: int) -> str:
    """Return what one draw did to the counts of a level.

    >>> draw_line(3.21, 17.0, "Laplace", 64)
    'In this draw with Laplace the error of the 64 counts is 3.21 records on average, at most 17.'
    """
    counts = plural(n_nodes, "count")
    errors = f"{with_noun(short(mean), 'record')} on average, at most {short(largest)}"
    return f"In this draw with {label} the error of the {counts} is {errors}."


def ratio(value: float, best: float) -> str:
    """Return how a value compares with the best one.

    >>> ratio(45.3, 21.9), ratio(2.0, 2.0), ratio(math.inf, 1.0)
    ('2.07× the best', 'the best', '∞')
    """
    if math.isinf(value):
        return "∞"
    if not best > 0 or value == best:
        return "the best" if value == best else "the best is 0"
    return f"{fixed(value / best, 2) if value < 10 * best else short(value / best)}× the best"


def optimum(label: str, apart: float | None) -> str:
    """Return what the factorisation norm says of a Gaussian series, or nothing where it says nothing.

    >>> optimum("Gaussian, least squares", 1.0)[-26:]
    'the factorisation norm γ₂.'
    """
    if apart is None:
        return ""
    if math.isinf(apart):
        return f"{label}: some counts are not determined at all, so the largest error is ∞."
    if apart < 1 + 1e-6:
        return (
            f"{label}: attains the optimum. No unbiased Gaussian mechanism has a smaller largest node error on this "
            "tree (formula): it equals the factorisation norm γ₂."
        )
    return (
        f"{label}: the largest node standard deviation is {short(apart)}× the least that any unbiased Gaussian "
        "mechanism can have on this tree (formula, factorisation norm γ₂)."
    )
