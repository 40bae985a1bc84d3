"""What the Consistency page says about its numbers; labels of the data only as `literal` text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from treedp_core.errors.compare import adds_up, largest_gain
from treedp_core.experiment import Experiment
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Labels
from treedp_core.studies.sweep.before_after import Draw, Expected
from treedp_core.tree import AnyArray, Tree
from treedp_core.words import halves, literal, lower_first, percent, plural, short, signed, whole, with_noun

MAX_TERMS: Final = 8
MAX_WEIGHED: Final = 60
"""Characters that fit over a balance in a window of 900 px."""
LEAST_GROUP: Final = 10
LEAST_CHANGE: Final = 0.01
"""A smaller part of a number may not be seen in three digits."""


def change(before: float, after: float) -> str:
    """Return how a number changed.

    >>> change(8.0, 6.0), change(0.0, 0.0), change(math.inf, 3.0)
    ('−25 %, was 8', 'was 0', 'was ∞')
    """
    was = f"was {short(before)}"
    if not math.isfinite(before) or not math.isfinite(after) or before == 0:
        return was
    return f"{signed(100 * (after / before - 1))} %, {was}"


def answer(the: Draw, found: Sequence[Expected]) -> str:
    """Return what this draw and the formula say to the page's question."""
    off, left = the.gaps
    if the.tree.height == 0:
        return "One count stands alone: there is no sum that could fail."
    steps = the.experiment.postprocess
    start = f"In this draw sums fail by {with_noun(short(off, 2), 'record')} on average"
    if not the.has_sums:
        start = "No count is measured together with its children, so no sum can fail"
    if the.untold[0]:
        advice = "give the lowest level a share" if the.untold[1] else "least squares works them out from the others"
        return f"{start}; nothing tells {whole(the.untold[0])} of the {whole(the.tree.n_nodes)} counts: {advice}."
    if not steps:
        return f"{start}; post-processing can make them exact, free of charge."
    does = "makes them exact" if left == 0 else f"leaves {short(left, 2)}"
    start += f"; {_name(steps)} {does if the.has_sums else 'works the others out'}"
    if is_biased(the.experiment) or not found:
        return f"{start}, free of charge. After a biased step no formula tells the expected RMSE."
    return f"{start} and {_does(found[0].summary.tree, found[-1].summary.tree)}, free of charge."


def _does(before: float, after: float) -> str:
    """Return what becomes of the expected RMSE; where both are named their three digits differ.

    >>> _does(16.9, 11.9), _does(2.83449, 2.82551), _does(2.5, 2.5)
    ('lowers the expected RMSE from 16.9 to 11.9', 'hardly lowers the expected RMSE of 2.83', 'leaves the expected \
RMSE of 2.5 as it is')
    """
    if math.isclose(before, after):
        return f"leaves the expected RMSE of {short(before)} as it is"
    does = "lowers" if after < before else "raises"
    if abs(before - after) < LEAST_CHANGE * max(before, after):
        return f"hardly {does} the expected RMSE of {short(before)}"
    return f"{does} the expected RMSE from {short(before)} to {short(after)}"


def _name(steps: Sequence[str]) -> str:
    return lower_first(next(one.label for one in CHAINS.values() if one.steps == tuple(steps)))


def weighed(tree: Tree, node: int, values: AnyArray) -> str:
    """Return the children's sum against their parent, and by how much it is off.

    >>> import numpy as np
    >>> weighed(Tree.from_branching_factors((2,)), 0, np.array([100, 69, 41]))
    '69 + 41 = 110 ≠ 100: 10 too many'
    >>> weighed(Tree.from_branching_factors((2,)), 0, np.array([100, 62.5, 37.5]))
    '62.5 + 37.5 = 100: it adds up'
    """
    sums = [_weighed(tree, node, values, terms) for terms in range(MAX_TERMS, 0, -1)]
    return next((told for told in sums if len(told) <= MAX_WEIGHED), sums[-1])


def _weighed(tree: Tree, node: int, values: AnyArray, terms: int) -> str:
    told, children, parent = equation(tree, node, values, terms), values[tree.children(node)], float(values[node])
    off = float(children.sum()) - parent
    if not children.size or not math.isfinite(off):
        return told
    if adds_up(children, parent):
        return f"{told.rpartition(' = ')[0]}: it adds up"
    return f"{told}: {amount(abs(off))} too {'many' if off > 0 else 'few'}"


def expected_line(found: Sequence[Expected], experiment: Experiment) -> str:
    """Return the sentence on expected errors, from the formula."""
    if not found:
        return ""
    start = f"**Expected over all draws (formula):** RMSE {short(found[0].summary.tree)} before"
    if is_biased(experiment):
        return f"{start}; after a biased step no formula is known."
    return f"{start}, {short(found[-1].summary.tree)} after."


def is_biased(experiment: Experiment) -> bool:
    """Return whether a step of its post-processing is."""
    return not all(POSTPROCESSORS[step].linear for step in experiment.postprocess)


def gain_line(found: Sequence[Expected], labels: Labels) -> str:
    """Return the sentence on the level that gains most, from the formula; nothing where there is none."""
    best = largest_gain(found[0].summary.level, found[-1].summary.level) if found else None
    if best is None:
        return ""
    level, left = best
    name = literal(labels.level_names[level], 40)
    if left == 0:
        return f"The gain is largest on level {level} ({name}): it is not measured, but follows from the others."
    return f"The gain is largest on level {level} ({name}): its RMSE falls to {percent(left)} (formula)."


def bias_line(the: Draw) -> str:
    """Return the sentence on bias: why a biased step lifts or lowers counts, with this draw's numbers."""
    biased = [step for step in the.experiment.postprocess if not POSTPROCESSORS[step].linear]
    if not biased:
        return "Noise and least squares are unbiased: over many draws, errors are 0 on average at every size of count."
    why, worst = POSTPROCESSORS[biased[-1]].why_biased, the.bias[1].worst(LEAST_GROUP)
    if worst is None:
        return why
    size, nodes, error = worst
    return (
        f"{why} In this draw, {plural(nodes, 'count')} of true size {size} came out {short(abs(error))} "
        f"records too {'large' if error > 0 else 'small'} on average."
    )


def equation(tree: Tree, node: int, values: AnyArray, most: int = MAX_TERMS) -> str:
    """Return the children's sum against their parent, as text; at `most` so many children are told apart.

    >>> import numpy as np
    >>> equation(Tree.from_branching_factors((3,)), 0, np.array([27, 12, 7, 5]))
    '12 + 7 + 5 = 24 ≠ 27'
    """
    children = values[tree.children(node)]
    if not children.size:
        return f"{amount(float(values[node]))} (no children)"
    total, parent = float(children.sum()), float(values[node])
    terms = amount(float(children[0])) + "".join(_term(float(value)) for value in children[1:most])
    if children.size > most:
        terms += f" + … ({plural(children.size - most, 'more child', 'more children')})"
    if not math.isfinite(total):
        return f"{terms}: nothing to compare with {amount(parent)}" if math.isfinite(parent) else terms
    if not math.isfinite(parent):
        return f"{terms} = {amount(total)}: nothing to compare it with"
    return f"{terms} = {amount(total)} {'=' if adds_up(children, parent) else '≠'} {amount(parent)}"


def amount(value: float) -> str:
    """Return a count as text: whole numbers and those from 1 000 on as such, others to one decimal place.

    >>> amount(12.0), amount(-3.04), amount(float("nan"))
    ('12', '−3.0', '(not measured)')
    """
    if not math.isfinite(value):
        return "(not measured)"
    return whole(round(value)) if abs(value) >= 1000 else halves(value)


def _term(value: float) -> str:
    return f" − {amount(-value)}" if value < 0 else f" + {amount(value)}"
