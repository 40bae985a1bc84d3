"""What stands under *More* in the Error lab: errors of the whole tree, the split, the values, ε for a wanted error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.sweep.lines import Simulation
from treedp_core.studies.sweep.series import LEVEL
from treedp_core.studies.sweep.split import distance_from_optimum, target_table
from treedp_core.studies.sweep.tables import line_table
from treedp_core.views import split
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.views.lab import words
from treedp_core.views.lab.inputs import LabInputs
from treedp_core.views.lab.view import shown_lines
from treedp_core.words import privacy_text, setting_text


def whole_tree(
    inputs: LabInputs, tables: Tables, *, view: str = LEVEL, slow: Simulation | None = None, memo: Memo = forgetful
) -> Finding:
    """Return each series' error for the whole tree at your ε, how it compares with the best, and with the optimum."""
    data = tables.data
    question = inputs.question(view, data)
    lines = shown_lines(question, data, slow, memo)
    values = [line.whole for line in lines]
    best = min((one.value for one in values if math.isfinite(one.value)), default=math.nan)
    gaussian = [one for one in inputs.compared if MECHANISMS[one.mechanism].continuous_gaussian]
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
    if not inputs.compared:
        return Finding(answer=words.nothing_chosen(inputs))
    return split.split_by_level(inputs.compared[0].of(base), data, inputs.label)


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
