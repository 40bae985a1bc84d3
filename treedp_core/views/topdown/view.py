"""The views of TopDown, and what stands under *More* whichever of them is shown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import attrgetter

from treedp_core.notebook.comparison.pairs import AnySide
from treedp_core.notebook.comparison.sides import TopDownSide
from treedp_core.studies.topdown.release_spec import RULES, rules_for
from treedp_core.views.entries import Entry, alone
from treedp_core.views.finding import Tables
from treedp_core.views.topdown import comparisons, promise, runs
from treedp_core.views.topdown import releases as releases_of
from treedp_core.views.topdown.inputs import TopDownInputs


def releases(inputs: TopDownInputs, tables: Tables, *, by_every_rule: bool = False) -> list[AnySide]:
    """Return the release, or those by every rule, to be drawn beside others on the same noise."""
    subject = inputs.subject(tables.data)
    wanted = inputs.wanted(subject, tables.data)
    rules = rules_for(subject) if by_every_rule else [wanted.rule]
    return [TopDownSide(RULES[rule].label, subject, replace(wanted, rule=rule), inputs.seed) for rule in rules]


_entry = partial(
    Entry, page="topdown", inputs=TopDownInputs, sample=attrgetter("sample"), apart=TopDownInputs.apart,
    releases=releases,
)  # fmt: skip
_rules = partial(_entry, view="rules", slow=runs.of_rules, releases=partial(releases, by_every_rule=True))
_drawn = partial(_entry, slow=runs.of_release)
ENTRIES = (
    _drawn(find=releases_of.rows, part="td_rows", view="release", label="Rows", question="Which rows survive?"),
    _drawn(find=releases_of.counts, part="td_pairs", view="counts", label="Counts",
           question="How far are the released counts from the true ones?"),
    _rules(part="td_rules_dots", label="Rules", question="Which rule keeps small counts best?", find=comparisons.rules),
    _rules(part="td_rules_bias", section="bias", find=comparisons.rule_bias),
    _entry(part="td_levels", section="levels", find=releases_of.levels),
    _drawn(find=releases_of.one_level, part="td_one_level", section="one_level"),
    _drawn(find=releases_of.under_bound, part="td_bound", section="under_bound"),
    _drawn(find=releases_of.certificate, part="td_certificate", section="certificate"),
    _drawn(find=releases_of.wrong_nodes, part="td_wrong", section="wrong_nodes"),
    _drawn(find=releases_of.bias, part="td_bias", section="bias"),
    _drawn(find=releases_of.tree_before, part="td_before", section="tree_before"),
    _drawn(find=releases_of.tree_after, part="td_after", section="tree_after"),
    _entry(part="td_orders_dots", section="orders", find=comparisons.orders, slow=runs.of_orders),
    _entry(part="td_marginal_errors", section="marginals", find=comparisons.marginals, slow=runs.of_marginals),
    _entry(part="td_epsilon", section="epsilon", find=promise.epsilon_against_rho),
    _entry(part="td_extra", section="noise", find=promise.noise_against_rho),
    _entry(part="td_relations", section="relations", find=promise.relations),
    _entry(part="td_sensitivity", section="sensitivity", find=promise.sensitivity, sample=None, apart=alone),
)  # fmt: skip
