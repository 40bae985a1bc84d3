"""The Error lab: how large the error is, of which mechanism, at which ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.experiment import draw_once
from treedp_core.figures.sweep import draw_figure, line_figure
from treedp_core.figures.trees.draw import MAX_POINTS
from treedp_core.mechanisms import RELEASES
from treedp_core.notebook.comparison.pairs import AnySide, Side
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies.sweep import lines as sweep
from treedp_core.studies.sweep.lines import Line, Question, Simulation, off_by
from treedp_core.studies.sweep.series import DRAW, EPSILON, LEVEL, N_LEVELS, VIEWS, Cell
from treedp_core.studies.sweep.tables import distance_from_optimum, draw_table, line_table, target_table
from treedp_core.views import split
from treedp_core.views.entries import Entry, Work
from treedp_core.views.finding import Finding, Memo, Tables, forgetful, of_releases
from treedp_core.views.lab import words
from treedp_core.views.lab.inputs import LabInputs
from treedp_core.words import plural, privacy_text, setting_text

# ---- the views of the Error lab: errors against ε, by level and against the number of levels, and one draw


def error_against_epsilon(
    inputs: LabInputs, tables: Tables, *, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the errors of some series along ε: formulas as lines, simulations as markers.

    Parameters
    ----------
    slow : Simulation, optional
        The last simulation on this table in this view: what is of other inputs is grey.

    Raises
    ------
    InputError
        What `LabInputs.base` refuses; what mechanisms, splits and post-processors do.
    """
    return _of_lines(EPSILON, inputs, tables, slow, memo)


def error_by_level(
    inputs: LabInputs, tables: Tables, *, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the errors of some series by level of the tree at your ε: see `error_against_epsilon`."""
    return _of_lines(LEVEL, inputs, tables, slow, memo)


def error_against_levels(
    inputs: LabInputs, tables: Tables, *, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the errors of some series along the number of levels released: see `error_against_epsilon`."""
    return _of_lines(N_LEVELS, inputs, tables, slow, memo)


def one_draw(inputs: LabInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return true and released counts of one level in one simulated release.

    Raises
    ------
    InputError
        As `error_against_epsilon`; ``LEVEL_UNMEASURED`` where the level has no counts.
    """
    data, base = tables.data, inputs.base(tables.data)
    if not inputs.compared:
        return Finding(answer=words.nothing_chosen(inputs), provenance=of_releases(data, base, ()))
    series = inputs.compared[min(inputs.series, len(inputs.compared) - 1)]
    level = min(inputs.level, data.tree.n_levels - 1)
    settings = series.of(base)
    releases = memo(("lab.draw", data.fingerprint, settings), lambda: draw_once(settings, data.tree, data.counts))
    if math.isnan(releases[1].estimate[data.tree.level_start[level]]):
        raise InputError("LEVEL_UNMEASURED", "This level is not measured, and this post-processing does not derive it.")
    n_nodes = int(data.tree.level_sizes[level])
    thinned = f"; {MAX_POINTS} of {plural(n_nodes, 'node')}, evenly spaced in the ranking"
    return Finding(
        figure=draw_figure(series, releases, data.counts, data.tree, level, data.labels),
        columns=partial(draw_table, releases, data.counts, data.tree, level, data.labels),
        answer=words.draw_line(*off_by(releases[1], data.counts, data.tree, level), series.label, n_nodes),
        caption="NOT PRIVATE: one simulated release beside the true counts. Grey line: true counts; markers: released"
        f"{words.band(series)}{thinned if n_nodes > MAX_POINTS else ''}. Seed {settings.seed}.",
        alt=f"True and released counts of one simulated release with {series.label} on level {level}.",
        label=inputs.label,
        badges=(*(["formula"] if series.has_levels else []), "simulation", NOT_PRIVATE),
        provenance=of_releases(data, base, (settings,), drawn=True),
        is_simulated=True,
    )


def _of_lines(view: str, inputs: LabInputs, tables: Tables, slow: Simulation | None, memo: Memo) -> Finding:
    data = tables.data
    question = inputs.question(view, data)
    lines, names, base = shown_lines(question, data, slow, memo), data.labels.level_names, question.base
    drawn = any(line.has_simulation and not line.is_stale for line in lines)
    notes = (words.stale_note(lines), words.without_formula(lines), words.other_metric(slow, base))
    return Finding(
        figure=line_figure(question, lines, names),
        columns=partial(line_table, view, lines, names) if lines else None,
        answer=words.answer(lines, base, data.tree) or words.nothing_chosen(inputs),
        caption=words.caption(lines, base, view, data.tree),
        alt=words.plain_line(lines, base, data.tree) or "Empty axes: nothing to draw.",
        notes=tuple(filter(None, notes)),
        label=inputs.label,
        badges=words.badges(lines, base, view, inputs.label),
        provenance=of_releases(data, base, [line.series.of(base) for line in lines], drawn=drawn),
    )


def shown_lines(question: Question, data: Dataset, slow: Simulation | None, memo: Memo) -> Sequence[Line]:
    """Return the lines of a question: formulas and, as far as they were run, simulations."""

    def solve(wanted: Sequence[Cell]) -> sweep.Formulas:
        key = ("lab.formulas", data.fingerprint, tuple(wanted))
        return memo(key, lambda: sweep.formulas_of(wanted, data.tree, data.counts))

    return sweep.lines(question, data.tree, slow, solve)


def releases(inputs: LabInputs, tables: Tables) -> list[AnySide]:
    """Return the release of every series, to be drawn beside others on the same noise."""
    data = tables.data
    base, names = inputs.base(data), tuple(data.labels.level_names)
    return [Side(one.label, one.of(base), data.tree, data.counts, names) for one in inputs.compared]


def simulation(view: str, inputs: LabInputs, tables: Tables) -> Work:
    """Return the simulation of a view: what is run for its markers."""
    question: Question = inputs.question(view, tables.data)
    return Work(sweep.simulate, question, ("data.tree", "data.counts"), partial(question.trials, tables.data.tree))


_FOUND = {EPSILON: error_against_epsilon, LEVEL: error_by_level, N_LEVELS: error_against_levels}
ENTRIES = (
    *(
        Entry(
            page="lab", view=view, part="lab_figure", label=VIEWS[view], inputs=LabInputs, find=find,
            slow=partial(simulation, view), releases=releases,
        )
        for view, find in _FOUND.items()
    ),
    Entry(
        page="lab", view=DRAW, part="lab_draw", label=VIEWS[DRAW], inputs=LabInputs, find=one_draw, releases=releases,
    ),
)  # fmt: skip


# ---- what stands under *More* in the Error lab: errors of the whole tree, the split, the values, ε for a wanted error


def whole_tree(
    inputs: LabInputs, tables: Tables, *, view: str = LEVEL, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return each series' error for the whole tree at your ε, how it compares with the best, and with the optimum."""
    data = tables.data
    question = inputs.question(view, data)
    lines = shown_lines(question, data, slow, memo)
    values = [line.whole for line in lines]
    best = min((one.value for one in values if math.isfinite(one.value)), default=math.nan)
    gaussian = [one for one in inputs.compared if RELEASES[one.mechanism].continuous_gaussian]
    apart = [(one, distance_from_optimum(one.of(question.base), data.tree)) for one in gaussian]
    columns: dict[str, list[Any]] = {
        "series": [line.series.label for line in lines],
        "value": [one.value for one in values],
        "standard error": [one.standard_error for one in values],
        "source": [one.source for one in values],
        "beside the best": [words.ratio(one.value, best) if not math.isnan(one.value) else "" for one in values],
    }
    return Finding(
        columns=lambda: columns,
        caption=f"{METRICS[question.base.metric].title} at your ε = {setting_text(inputs.epsilon)}",
        answer=words.plain_line(lines, question.base, data.tree),
        alt="Error for the whole tree of each series",
        notes=tuple(words.optimum(one.label, by) for one, by in apart if by is not None),
    )


def split_by_level(inputs: LabInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return who gets what with the first series: each level's nodes, share, budget and noise."""
    data, base = tables.data, inputs.base(tables.data)
    first = next((one for one in inputs.compared if one.has_levels), None)
    if first is None:
        return Finding(answer=words.THRESHOLDS_ALONE if inputs.compared else words.nothing_chosen(inputs))
    return split.split_by_level(first.of(base), data, inputs.label)


def values(
    inputs: LabInputs, tables: Tables, *, view: str = LEVEL, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the values behind the figure of a view."""
    lines = shown_lines(inputs.question(view, tables.data), tables.data, slow, memo)
    return Finding(
        columns=partial(line_table, view, lines, tables.data.labels.level_names), alt="The values behind the figure"
    )


def smallest_epsilons(inputs: LabInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return for each series the smallest ε whose formula for the whole tree meets `target`."""
    data, base = tables.data, inputs.base(tables.data)
    if not inputs.target or not inputs.compared:
        return Finding()
    key = ("lab.target", data.fingerprint, inputs.target, inputs.compared, base)
    found = memo(key, lambda: target_table(inputs.compared, base, data.tree, data.counts, inputs.target))
    columns: dict[str, Sequence[str]] = {
        "series": [one.label for one, _, _ in found],
        "smallest ε": [privacy_text(least) if least is not None else "–" for _, least, _ in found],
        "note": [why for _, _, why in found],
    }
    return Finding(
        columns=lambda: columns,
        alt="Smallest epsilon for the target error, for each series",
        caption=words.sought(base),
    )


__all__ = [
    "ENTRIES",
    "LabInputs",
    "error_against_epsilon",
    "error_against_levels",
    "error_by_level",
    "one_draw",
    "smallest_epsilons",
    "split_by_level",
    "values",
    "whole_tree",
]
