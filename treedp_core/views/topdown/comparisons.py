"""Releases of TopDown compared over many runs: rules side by side, orders of the columns, and counts by any columns."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from treedp_core.checks import InputError
from treedp_core.figures.topdown import bias_by_count, dots
from treedp_core.figures.topdown_scatter import marginals_of
from treedp_core.privacy.prior_provenance import CHOOSE
from treedp_core.studies.topdown import OrderResult, RuleResult, on_leaves, projections, ways_of_orders, ways_of_rules
from treedp_core.studies.topdown import orders as study
from treedp_core.studies.topdown import tables as numbers
from treedp_core.studies.topdown.marginals import ROUNDS, Marginals, marginal_table, marginal_words
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.views.finding import Finding
from treedp_core.views.topdown import words
from treedp_core.views.topdown.inputs import Made, TopDownInputs
from treedp_core.views.topdown.runs import of_marginals, of_orders, of_rules, view_of
from treedp_core.words import literal, plus_minus, short, whole

NOT_RUN: Final = "Press **Run** to compare the projections on these records."


@view_of(of_rules, NOT_RUN)
def rules(inputs: TopDownInputs, one: Made[list[RuleResult]]) -> Finding:
    """Return a measure of every projection, over repeated releases; see `view_of`."""
    named, title = {*words.NAMED, inputs.rule}, projections.MEASURES[inputs.measure]
    # In a presentation more rows have no room.
    drawn = [rule for rule in one.found if rule.rule in named] if inputs.presented else one.found
    ways, names = ways_of_rules(one.found, inputs.measure), [rule.rule for rule in drawn]
    best, chosen = ways.closest(), names.index(inputs.rule) if inputs.rule in names else -1
    return Finding(
        figure=dots(ways_of_rules(drawn, inputs.measure), x_title=title, chosen=chosen),
        columns=partial(numbers.rule_table, one.found),
        answer=words.rules(one.found),
        alt=f"{title} of every projection: the smallest is {ways.names[best]} with {short(ways.mean[best])}.",
        caption="NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 95 % intervals; filled: "
        f"the chosen projection. {words.drawn(one)}. All see the same noise where the tree is laid out, so differences "
        f"are surer than the bars. {CHOOSE} Simulation.",
    )  # fmt: skip


@view_of(of_rules)
def rule_bias(inputs: TopDownInputs, one: Made[list[RuleResult]]) -> Finding:
    """Return the bias of leaves by size of their true count, under every projection."""
    return Finding(
        figure=bias_by_count({RULES[rule.rule].label: rule.bias for rule in one.found}),
        columns=partial(numbers.rule_bias_table, one.found),
        alt="Bias of leaves by size of their true count, for every projection.",
        caption="NOT PRIVATE: bias of a leaf by its true count, mean over leaves and runs; bars: 95 % intervals "
        f"over the runs. {words.drawn(one)}. Simulation.",
    )  # fmt: skip


@view_of(of_rules)
def every_measure(inputs: TopDownInputs, one: Made[list[RuleResult]]) -> Finding:
    """Return every measure of every projection, and what a release without any domain would do."""
    notes: tuple[str, ...] = ()
    with suppress(InputError):  # without δ there is no such histogram
        notes = (words.on_leaves(on_leaves(one.subject, one.wanted), one.found),)
    return Finding(
        columns=partial(numbers.rule_words, one.found),
        answer="Every rule turns the same noisy counts into counts of at least 0 that add up, but for the pruned ones. "
        "None costs privacy; they differ in what they do to small counts. IntOpt takes from the smallest counts first, "
        "so it is sparser; water filling is closest in every distance at once; pruned counts are 0 but where they "
        f"stand out of the noise, so hardly any place is filled that is empty. {words.least_squares_first(one.found)}",
        alt="Every measure of every projection, with 95 % intervals",
        caption="Mean over the runs ± its 95 % interval. NOT PRIVATE. Simulation.",
        notes=notes,
    )


@view_of(of_orders)
def orders(inputs: TopDownInputs, one: Made[list[OrderResult]]) -> Finding:
    """Return a measure of several orders of the columns, over repeated releases with equal shares."""
    columns, measure = one.subject.columns, inputs.order_measure
    title, ways = study.MEASURES[measure], ways_of_orders(one.found, columns, measure)
    ranked = ways.ranked()
    best, worst = ranked[0], ranked[-1]

    def told(place: int) -> str:
        names = " › ".join(literal(columns[i], 24) for i in one.found[place].order)
        return f"{names} with {short(ways.mean[place])}{plus_minus(ways.se[place])}"

    sure = "" if ways.tells(best, worst) else " The runs cannot tell them apart."
    return Finding(
        figure=dots(ways.in_order(ranked), x_title=title, chosen=ranked.index(0)),
        columns=partial(numbers.order_table, one.found, columns, measure),
        answer=f"Smallest: {told(best)}; largest: {told(worst)}.{sure}",
        alt=f"{title} by order of the columns; smallest with {ways.names[best]}.",
        caption="NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 95 % intervals; filled: "
        f"the present order. {RULES[one.wanted.rule].label}. {words.drawn(one)}. "
        f"{CHOOSE} Simulation.",
    )  # fmt: skip


@view_of(of_orders)
def errors_of_columns(inputs: TopDownInputs, one: Made[list[OrderResult]]) -> Finding:
    """Return the mean error of every column's own counts, by order; see `orders`."""
    return Finding(
        columns=partial(numbers.marginal_words, one.found, one.subject.columns),
        alt="Mean absolute error of every column's own counts, by order",
        caption="Mean absolute error of the counts of each column's categories alone (records), ± its 95 % interval "
        "over the runs; the number behind a name is the column's place in the present order. NOT PRIVATE. Simulation.",
    )


@view_of(of_marginals)
def marginals(inputs: TopDownInputs, one: Made[Marginals]) -> Finding:
    """Return the error of every marginal of a kind, as released and in other ways at the same budget."""
    by_formula = ", its cost by the zCDP formula" if one.wanted.within else ""
    return Finding(
        figure=marginals_of(one.found),
        columns=partial(marginal_table, one.found),
        answer=words.marginals(one.found),
        alt=f"Error of {whole(len(one.found.names))} marginals in {whole(len(one.found.ways))} ways.",
        caption="NOT PRIVATE (depends on the true counts). Root mean squared error of a cell. With bars, 95 % "
        f"intervals: simulation. {words.drawn(one)}. Without: formula of whole-number noise, counts not projected. "
        "All ways make the same promise. MWEM (Hardt, Ligett and McSherry, 2012) where the total is public: at most "
        f"{ROUNDS} cells, chosen by the exponential mechanism{by_formula}.",
    )  # fmt: skip


@view_of(of_marginals)
def every_marginal(inputs: TopDownInputs, one: Made[Marginals]) -> Finding:
    """Return the error of every marginal in every way, in words; see `marginals`."""
    return Finding(
        columns=partial(marginal_words, one.found), alt="Error of every marginal in every way",
        caption="Root mean squared error of a cell (records); where it is simulated ± its 95 % interval over the runs. "
        "NOT PRIVATE.",
    )  # fmt: skip
