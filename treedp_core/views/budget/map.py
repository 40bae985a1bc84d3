"""Which counts one can rely on under the chosen split: the tree coloured by a probability, and the useful tree."""

from __future__ import annotations

from functools import partial

from treedp_core.figures.trees.icicle import HOW
from treedp_core.figures.trees.reliability import reliability_icicle, useful_shares
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.studies.budget import Comparison, Reliability, Result, Search, map_table, reliability, useful_table
from treedp_core.views.budget import words
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.budget.splits import chosen, comparison, provenance
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.words import literal, plural, setting_text, short, whole

MAX_BLOCKS = 250


def reliability_map(
    inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the tree coloured by the probability of each count to be close under the chosen split.

    Parameters
    ----------
    slow : Search, optional
        The last search for the best split: one of another question is left out.

    Raises
    ------
    InputError
        What strategies refuse that look at no counts; what one's own split is refused for where it is chosen.
    """
    one, row, found = _found(inputs, tables, slow, memo)
    data = tables.data
    tree, labels = data.tree, data.labels
    root = inputs.node if inputs.node < tree.n_nodes else 0
    return Finding(
        figure=reliability_icicle(
            tree, labels, data.counts, found.probability, root=tree.family(root), max_nodes=MAX_BLOCKS
        ),
        columns=partial(map_table, found, labels),
        answer=_told(inputs, row, found, labels.level_names),
        alt=f"Probability of each count to be within {short(inputs.within)} %, as an icicle.",
        caption=f"{NOT_PRIVATE}: area is the true count. Colour: probability that the released count is within "
        f"{short(inputs.within)} % of it under “{row.label}” ({found.method}; τ = {short(inputs.threshold)}).",
        how=HOW,
        notes=(*words.notes(one.problems), *map(str, one.refusals)),
        label=one.label,
        badges=words.badges(one.question),
        provenance=provenance(one.question, tables),
    )


def useful_tree(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return the share of each level's counts that are useful: close with the wanted probability."""
    one, _, found = _found(inputs, tables, slow, memo)
    names, tree, confidence = tables.data.labels.level_names, tables.data.tree, inputs.confidence
    n_useful = int(found.useful(confidence).sum())
    return Finding(
        figure=useful_shares(names, found.useful_share(confidence), tree.level_sizes),
        columns=partial(useful_table, names, found, confidence, one.label or NOT_PRIVATE),
        alt=f"Useful: {n_useful} of {plural(tree.n_nodes, 'count')}.",
        caption=f"{NOT_PRIVATE}: counts within {short(inputs.within)} % with probability at least "
        f"{short(confidence)}: {whole(n_useful)} of {plural(tree.n_nodes, 'count')}.",
        label=one.label,
        badges=words.badges(one.question),
        provenance=provenance(one.question, tables),
    )


def _found(
    inputs: BudgetInputs, tables: Tables, slow: Search | None, memo: Memo
) -> tuple[Comparison, Result, Reliability]:
    one, row = comparison(inputs, tables, slow=slow, memo=memo), chosen(inputs, tables, slow=slow, memo=memo)
    part, tau = inputs.within / 100.0, inputs.threshold
    key = ("budget.map", tables.fingerprints, one.question, row.name, row.ledger.amounts, part, tau)
    return one, row, memo(key, partial(reliability, one.problems.truth, row.amounts, part, tau))


def _told(inputs: BudgetInputs, row: Result, found: Reliability, names: tuple[str, ...]) -> str:
    """What the map says: how many counts are useful, and on which level most still are."""
    deepest, n_useful = found.deepest_useful(inputs.confidence), int(found.useful(inputs.confidence).sum())
    return (
        f"Under “{row.label}” at ε = {setting_text(inputs.epsilon)}, "
        f"**{whole(n_useful)} of {plural(found.tree.n_nodes, 'count')}** are within {setting_text(inputs.within)} % "
        f"with probability {setting_text(inputs.confidence)} or more, each by itself: "
        + (
            "no level below the root has a majority of them."
            if not deepest
            else f"the finest level with a majority of them is {literal(names[deepest], 40)}."
        )
    )
