"""Strategies side by side: who gets what and what it costs, the verdict, greedy slices, and the chosen one's ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from treedp_core.checks import InputError
from treedp_core.figures import budget as figures
from treedp_core.figures.trees.icicle import HOW, reliability_icicle, useful_shares
from treedp_core.notebook.cell import NOT_REVIEWED
from treedp_core.notebook.comparison.pairs import AnySide, Side
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy import Accounting
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.studies.budget import (
    STRATEGIES,
    Comparison,
    GreedySplit,
    Optimum,
    Question,
    Reliability,
    Result,
    Search,
    best_simple,
    composed_epsilon,
    level_table,
    map_table,
    own,
    reliability,
    search,
    step_table,
    strategy_table,
    topped_up_error,
    useful_table,
)
from treedp_core.studies.budget.comparison import GREEDY, OPTIMUM, at_once
from treedp_core.studies.budget.strategies import CUSTOM
from treedp_core.studies.sweep.series import Series
from treedp_core.views.budget import words
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.entries import Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful, of_releases
from treedp_core.words import literal, plural, setting_text, short, whole

# Which counts one can rely on under the chosen split: the tree coloured by a probability, and the useful tree.

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


def strategies(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return who gets what under every strategy, and the error of the tree.

    Parameters
    ----------
    slow : Search, optional
        The last search for the best split: one of another question is left out.

    Raises
    ------
    InputError
        What strategies refuse that look at no counts, such as ``ONE_LEVEL``.
    """
    one = comparison(inputs, tables, slow=slow, memo=memo)
    told = ", ".join(f"{row.label} {short(row.errors.tree)}" for row in one.rows)
    return _compared(
        one, one.rows, tables,
        alt=f"{one.question.metric} of the tree by strategy: {told}.",
        answer=words.best(one.rows, one.question),
        caption=words.caption(one.question, tables.data.tree, one.rows),
    )  # fmt: skip


def own_split(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return a split of one's own beside all strategies.

    Raises
    ------
    InputError
        As `strategies`; ``BUDGET_SPLIT``, ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` where its shares do not fit.
    """
    inputs = replace(inputs, strategy=CUSTOM)
    row, one = chosen(inputs, tables, slow=slow, memo=memo), comparison(inputs, tables, slow=slow, memo=memo)
    names = [literal(name, 24) for name in tables.data.labels.level_names]
    others = [other for other in one.rows if other.name != CUSTOM]
    told = words.mine(row, others, one.question) + words.unknown(row, one.problems.truth, names)
    return _compared(
        one, [row, *others], tables,
        alt=told.replace("*", ""),
        answer=told,
        caption=f"{NOT_PRIVATE}: expected errors on the true counts (closed form), beside the other strategies.",
    )  # fmt: skip


def _compared(one: Comparison, rows: Sequence[Result], tables: Tables, **said: Any) -> Finding:
    names, title = tables.data.labels.level_names, words.titled(one.question, "the tree")
    drawn = figures.rows_of(rows, len(names), one.to_come)
    return Finding(
        figure=figures.strategies(drawn, names, error_title=title),
        columns=partial(strategy_table, one.rows, names, one.label, one.question.metric),
        notes=(*words.notes(one.problems), *map(str, one.refusals)),
        label=one.label,
        badges=(*words.badges(one.question), *(() if one.is_reviewed else (NOT_REVIEWED,))),
        provenance=provenance(one.question, tables),
        **said,
    )


def comparison(
    inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful
) -> Comparison:
    """Return every strategy that is there: one's own split where it is chosen or was set, the best once it is found.

    Raises
    ------
    InputError
        What strategies refuse that look at no counts.
    """
    question = inputs.question(tables.data)
    key = ("budget.strategies", tables.fingerprints, question)
    one = memo(key, partial(at_once, question, tables.data, tables.prior))
    if slow is not None and slow.question == question:
        one = replace(one, rows=(*one.rows, *slow.rows))
    if inputs.strategy != CUSTOM and not inputs.shares:
        return one
    try:
        return replace(one, rows=(*one.rows, _own(inputs, tables, one)))
    except InputError as error:
        return replace(one, refusals=(*one.refusals, error))


def _own(inputs: BudgetInputs, tables: Tables, one: Comparison) -> Result:
    return own(one.problems.truth, one.question.total, inputs.own_shares(tables.data), inputs.origin)


def chosen(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Result:
    """Return the chosen split, or else the first one.

    Raises
    ------
    InputError
        As `strategies`; where one's own split is chosen, as `own_split`.
    """
    one = comparison(inputs, tables, slow=slow, memo=memo)
    if inputs.strategy == CUSTOM and one.row(CUSTOM) is None:
        return _own(inputs, tables, one)  # which says why
    return one.row(inputs.strategy) or one.rows[0]


def provenance(question: Question, tables: Tables) -> Provenance:
    """Return what splits were compared for: noise is drawn for a noisy prior alone, as errors are formulas."""
    return of_releases(tables.data, question.experiment, (question.experiment,), drawn=question.pays)


def work(inputs: BudgetInputs, tables: Tables) -> Work:
    """Return the search for the best split."""
    question = inputs.question(tables.data)
    has_none = question.from_file and tables.prior is None
    return Work(
        search,
        question,
        ("data", "prior"),
        lambda: 100,
        name="searched",
        slot="budget_optimum",
        is_quick=has_none,
        is_exact=True,
    )


def verdict(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return the best simple strategy beside greedy and the best split that was found, and who wins."""
    one = comparison(inputs, tables, slow=slow, memo=memo)
    simple, best = best_simple(one.rows), one.row(OPTIMUM)
    coming = ("…", "searching") if one.to_come else ("–", "needs a prior")
    shown = [("Best simple strategy", simple, ("–", "")), ("Greedy", one.row(GREEDY), ("–", "needs a prior")),
             (STRATEGIES[OPTIMUM].label if best is None else best.label, best, coming)]  # fmt: skip
    if inputs.strategy == CUSTOM:
        shown.insert(0, ("Your own split", one.row(CUSTOM), ("–", "needs shares that fit")))
    rows = [(label, *(missing if row is None else (short(row.errors.tree), words.compared(row, simple))))
            for label, row, missing in shown]  # fmt: skip
    columns = dict(zip(("strategy", "error", "beside the best"), map(list, zip(*rows, strict=True)), strict=True))
    found = None if best is None else best.found
    told = (
        words.verdict(one.rows),
        words.optimum_line(found, one.question) if isinstance(found, Optimum) else "",
        words.prior_line(one.problems.prior, one.question),
    )
    return Finding(
        columns=lambda: columns,
        caption=f"{one.question.metric} of the tree, closed form on the true counts: NOT PRIVATE.",
        notes=tuple(filter(None, told)),
        label=one.label,
    )


def slices(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return who gets each slice of the greedy split."""
    one, names = comparison(inputs, tables, slow=slow, memo=memo), tables.data.labels.level_names
    row = one.row(GREEDY)
    if row is None or not isinstance(row.found, GreedySplit):
        return Finding(answer="The greedy split needs a prior to look at.")
    steps, question = row.found, one.question
    told = ", ".join(f"{literal(names[level], 24)} {n}" for level, n in steps.slices_by_level if n)
    scaled = " In the end all are scaled to what this noise may spend." if question.within else ""
    return Finding(
        figure=figures.greedy_steps(steps.start, steps.slice, steps.steps, steps.losses, names, question.symbol),
        columns=partial(step_table, steps, one.label),
        alt="What each level has after each greedy slice; move the slider below to go through the slices.",
        caption=f"Slices: {told}. Each goes where it lowers the tree's {question.metric} on the prior most; "
        f"ties to the level nearest the root (Dawson et al., Algorithm 3).{scaled}",
        how="Drag the slider to go through them.",
        label=one.label,
        badges=words.badges(question),
        provenance=provenance(question, tables),
    )


def errors_by_level(
    inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the error of each level under every strategy."""
    one, names = comparison(inputs, tables, slow=slow, memo=memo), tables.data.labels.level_names
    drawn = figures.rows_of(one.rows, len(names), one.to_come)
    whole = strategies(inputs, tables, slow=slow, memo=memo)
    return replace(
        whole,
        figure=figures.strategy_levels(drawn, names, y_title=words.titled(one.question, "the level")),
        alt=f"{one.question.metric} of each level under each strategy.",
        answer="",
        caption=f"{NOT_PRIVATE}: expected errors on the true counts (closed form), strategies in the "
        "order and colours of the first figure. ∞: the level is not determined; 0: it is public.",
        notes=(),
    )


def ledger(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return what the chosen split charges to whom, level by level."""
    question = inputs.question(tables.data)
    one, row = comparison(inputs, tables, slow=slow, memo=memo), chosen(inputs, tables, slow=slow, memo=memo)
    truth, key = one.problems.truth, (tables.fingerprints, question, row.name, row.ledger.amounts)
    delta = question.experiment.delta
    composed = memo(("budget.composed", key), partial(composed_epsilon, truth, row, delta))
    topped_up = memo(("budget.nodes", key), partial(topped_up_error, truth, row))
    per_node = "" if topped_up is None else words.per_node_line(row, topped_up, question)
    names = tables.data.labels.level_names
    return Finding(
        columns=partial(level_table, truth, row, names, question.symbol, question.metric),
        answer=words.ledger_line(row, question),
        alt="Budget, noise and error of each level under the chosen split",
        caption=f"Ledger: {row.label}",
        notes=tuple(filter(None, (words.composed_line(composed, question), per_node))),
        label=one.label,
    )


def releases(inputs: BudgetInputs, tables: Tables) -> list[AnySide]:
    """Return the split of one's own, to be drawn beside others on the same noise; uniform until it has shares."""
    data = tables.data
    one = Series(inputs.mechanism, "least_squares" if inputs.least_squares else "none")
    paid = inputs.origin is not None and inputs.origin.spent > 0
    way = Accounting.FORMULA.value if paid else inputs.question(data).experiment.accounting
    mine: dict[str, Any] = {"allocation": "uniform"}
    if inputs.shares.strip():
        mine = {"allocation": CUSTOM, "shares": tuple(map(float, inputs.own_shares(data)))}
    asked = inputs.experiment(
        data, mechanism=one.mechanism, postprocess=CHAINS[one.pipeline].steps, accounting=way,
        delta=inputs.delta_for([one.mechanism], data.total), **mine,
    )  # fmt: skip
    return [Side(one.label, asked, data.tree, data.counts, tuple(data.labels.level_names))]
