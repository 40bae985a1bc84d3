"""What stands under *More* on the page Consistency: what the draw changed, sums of a family, the split, and bias."""

from __future__ import annotations

from functools import partial

from treedp_core.studies.sweep.before_after import MAX_ROWS, bias_table, family_table
from treedp_core.views import split
from treedp_core.views.consistency import words
from treedp_core.views.consistency.inputs import ConsistencyInputs
from treedp_core.views.consistency.view import drawn, expected
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.words import plural, short, whole


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


def split_by_level(inputs: ConsistencyInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return who gets what: each level's nodes, share, budget and noise."""
    return split.split_by_level(inputs.release(tables.data), tables.data, inputs.label)


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
