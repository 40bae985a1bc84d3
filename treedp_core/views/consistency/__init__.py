"""Consistency: why noisy counts do not add up, and what making them do so buys and costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from treedp_core.errors.compare import most_visible
from treedp_core.figures import sweep
from treedp_core.figures.consistency import balance_and_tree
from treedp_core.figures.trees import levels, strips
from treedp_core.figures.trees.icicle import HOW
from treedp_core.notebook.comparison.pairs import AnySide, Side
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies.sweep import before_after
from treedp_core.studies.sweep.before_after import (
    MAX_ROWS,
    Draw,
    Expected,
    bias_table,
    box_table,
    draw,
    expected_table,
    family_table,
)
from treedp_core.views.consistency import words
from treedp_core.views.consistency.inputs import ConsistencyInputs
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Tables, forgetful, of_releases
from treedp_core.words import plural, short, whole

# The views of the page Consistency: one draw on a balance and as a tree, its errors by level, sums and bias.


def balance(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return a family of one draw, its children against their parent, above the tree coloured by error.

    Raises
    ------
    InputError
        What `ConsistencyInputs.release` refuses; what mechanisms, splits and post-processors do.
    """
    data, after = tables.data, inputs.shown == "after"
    the, forms = drawn(inputs, data, memo), expected(inputs, data, memo)
    root, labels = data.tree.family(inputs.node), data.labels
    family = root or most_visible(data.tree, the.before)
    told = words.weighed(data.tree, family, the.after if after else the.before)
    return _of_draw(
        inputs, data, the,
        figure=balance_and_tree(the, labels, family, after=after, root=root, equation=told),
        columns=partial(family_table, the, family, labels),
        alt=f"{labels.label(family)}: {told}. Below, signed errors of the counts as an icicle.",
        answer=words.answer(the, forms),
        caption=f"NOT PRIVATE: one simulated draw, {inputs.shown} post-processing (seed {inputs.seed}). Top: a family "
        "whose sum fails visibly, or that of the node you chose; hatched: what the children have too many or too few "
        "of. Tree: area is the true count, colour the signed error, orange too low, blue too high, clipped "
        f"{short(the.clip)} records to either side (4 noise scales).",
        how=HOW,
        badges=("formula", "simulation", NOT_PRIVATE),
    )  # fmt: skip


def errors_by_level(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the signed errors of one draw by level, before and after, as boxes; refuses as `balance` does."""
    data = tables.data
    the, names = drawn(inputs, data, memo), data.labels.level_names
    return _of_draw(
        inputs, data, the,
        figure=levels.error_boxes(the.quantiles, names),
        columns=partial(box_table, the.quantiles, names),
        alt="Boxes of signed errors before and after, for each level.",
        caption=f"NOT PRIVATE: signed errors of this draw (simulation on the true counts, seed {inputs.seed}). Boxes: "
        "quartiles and median; dashed: mean; whiskers: 95 % of the nodes.",
    )  # fmt: skip


def expected_by_level(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the expected errors by level, before and after, from closed forms; refuses as `balance` does."""
    data, release = tables.data, inputs.release(tables.data)
    forms, names = expected(inputs, data, memo), data.labels.level_names
    return Finding(
        figure=sweep.expected_by_level(forms, names),
        columns=partial(expected_table, forms, names),
        alt="Expected root mean square error of each level, before and after.",
        caption="Expected RMSE by level: formula, from noise variances (after least squares Dawson et al., Algorithm 2)"
        + ("." if inputs.label else "; it does not depend on the counts.")  # a tuned split does
        + (" After a biased step no formula is known." if words.is_biased(release) else ""),
        label=inputs.label,
        badges=("formula", NOT_PRIVATE) if inputs.label.startswith(NOT_PRIVATE) else ("formula",),
        provenance=of_releases(data, release, (release,)),
    )


def strips_before(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the signed errors of one draw before post-processing as strips; refuses as `balance` does."""
    return _strips("before", inputs, tables.data, memo)


def strips_after(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the signed errors of one draw after post-processing as strips; refuses as `balance` does."""
    return _strips("after", inputs, tables.data, memo)


def _strips(when: str, inputs: ConsistencyInputs, data: Dataset, memo: Memo) -> Finding:
    the = drawn(inputs, data, memo)
    figure = strips.error_strips(the, data.labels.level_names, after=when == "after")
    return _of_draw(
        inputs, data, the,
        figure=figure,
        columns=partial(strips.strip_table, figure),
        alt=f"Largest signed errors {when}, level by level, leaves from left to right.",
        caption=f"NOT PRIVATE: signed errors of this draw {when}; each column shows the error furthest from 0 among "
        f"its nodes, clipped {short(the.clip)} records to either side.",
    )  # fmt: skip


def changes(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what post-processing changed in one draw, in four numbers, and what it changes on average."""
    the = drawn(inputs, tables.data, memo)
    gaps, below = the.gaps, the.negatives
    rmse, rmsre = the.metric("rmse"), the.metric("rmsre")
    tau = f"Relative to the count, or to τ = {short(the.experiment.threshold)} if that is larger."
    rows = (
        ("Mean parent–children gap", short(gaps[1]), f"was {short(gaps[0])}",
         "Mean of |parent − sum of its children|, in records."),
        ("RMSE, all nodes", short(rmse[1]), words.change(*rmse), "Root mean square error of this draw, in records."),
        ("RMSRE", short(rmsre[1]), words.change(*rmsre), tau),
        ("Negative counts", whole(below[1]), f"was {whole(below[0])}", f"Of {plural(the.tree.n_nodes, 'count')}."),
    )  # fmt: skip
    columns = dict(zip(("number", "after", "change", "about"), zip(*rows, strict=True), strict=True))
    return Finding(
        columns=lambda: columns,
        answer=words.expected_line(expected(inputs, tables.data, memo), the.experiment),
        caption="This draw only: simulation on the true counts, NOT PRIVATE.",
        label=inputs.label,
        is_simulated=True,
    )


def sums(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return whether the children of `node` add up to it in one draw, before and after: their counts and both sums."""
    data = tables.data
    the, here = drawn(inputs, data, memo), data.tree.family(inputs.node)
    n_children = int(data.tree.n_children[here])
    more = f" The first {whole(MAX_ROWS)} of {plural(n_children, 'child', 'children')}." * (n_children > MAX_ROWS)
    before, after = (words.equation(data.tree, here, values) for values in (the.before, the.after))
    return Finding(
        columns=partial(family_table, the, here, data.labels),
        answer=f"before   {before}\nafter    {after}",
        alt="The chosen node and its children: true count, and released counts before and after",
        caption=f"NOT PRIVATE: true counts, and one simulated release of them.{more}",
        label=inputs.label,
        is_simulated=True,
    )


def bias_by_size(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the mean errors of one draw by size of the true count, and where the expected error falls most."""
    data = tables.data
    the = drawn(inputs, data, memo)
    told = (words.gain_line(expected(inputs, data, memo), data.labels), words.bias_line(the))
    return Finding(
        columns=partial(bias_table, the),
        answer="  \n".join(filter(None, told)),
        alt="Mean signed error of this draw by size of the true count",
        caption="NOT PRIVATE: mean signed error of this draw by true count; levels published exactly are left out.",
        label=inputs.label,
        is_simulated=True,
    )


def _of_draw(inputs: ConsistencyInputs, data: Dataset, the: Draw, **found: Any) -> Finding:
    """A finding of one draw; unless it says more, all of it is simulated on the true counts."""
    used = of_releases(data, the.experiment, (the.experiment,), drawn=True)
    shared: dict[str, Any] = {
        "label": inputs.label,
        "badges": ("simulation", NOT_PRIVATE),
        "provenance": used,
        "is_simulated": True,
    }
    return Finding(**shared | found)


def drawn(inputs: ConsistencyInputs, data: Dataset, memo: Memo) -> Draw:
    """Return one simulated release before and after post-processing."""
    release = inputs.release(data)
    return memo(("consistency.draw", data.fingerprint, release), partial(draw, release, data.tree, data.counts))


def expected(inputs: ConsistencyInputs, data: Dataset, memo: Memo) -> list[Expected]:
    """Return the closed forms before and after post-processing, where theory knows them."""
    asked = (inputs.release(data), inputs.postprocess)
    compute = partial(before_after.expected, *asked, data.tree, data.counts)
    return memo(("consistency.expected", data.fingerprint, asked), compute)


def releases(inputs: ConsistencyInputs, tables: Tables) -> list[AnySide]:
    """Return the release, to be drawn beside others on the same noise."""
    data = tables.data
    return [Side(inputs.series.label, inputs.release(data), data.tree, data.counts, tuple(data.labels.level_names))]


def _entry(find: Callable[..., Finding], part: str, section: str = "") -> Entry:
    return Entry(page="consistency", part=part, section=section, inputs=ConsistencyInputs, find=find, releases=releases)


ENTRIES = (
    _entry(balance, "con_figure"),
    _entry(errors_by_level, "con_boxes", "errors_by_level"),
    _entry(expected_by_level, "con_levels", "expected_by_level"),
    _entry(strips_before, "con_strips_before", "strips_before"),
    _entry(strips_after, "con_strips_after", "strips_after"),
)


__all__ = [
    "ENTRIES", "ConsistencyInputs", "balance", "bias_by_size", "changes", "errors_by_level", "expected_by_level",
    "strips_after", "strips_before", "sums",
]  # fmt: skip
