"""Rules side by side on the page TopDown, over repeated releases."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told, View
from pages.ui.result import Result, run_button, show_state
from pages.ui.settings import PRESENT
from pages.ui.text import prose
from pages.views.topdown import asked, words
from pages.views.topdown import settings as s
from pages.views.topdown.more import more
from pages.views.topdown.release import released
from pages.views.topdown.repeated import repeated
from treedp_core.checks import InputError
from treedp_core.figures.of_topdown import bias_of_rules, rules_of
from treedp_core.notebook.code import call, given
from treedp_core.privacy.origin import CHOOSE
from treedp_core.studies.topdown import RuleResult, Subject, Wanted, compare_rules, on_leaves, tables, ways_of_rules
from treedp_core.words import short

SLOT: Final = "td_rules"


def rules() -> Told:
    """Show what every projection does to the leaves, over repeated releases."""
    chosen = asked.row(lambda what: s.MEASURE.draw())
    what = chosen.what
    found = repeated(SLOT, what, Wanted.for_all_rules, compare_rules, 1)
    with chosen.place:
        run_button(found.asked, f"{SLOT}_run", help="Release the same records by every projection, more often.")
    if found.shown.value is None:
        st.info("Press **Run** to compare the projections on these records.", icon=":material/play_arrow:")
    else:
        _rules_shown(what, found.shown, found.shown.value)
    show_state(found.asked, "Releasing again and again", "runs")
    asked.notes(chosen)
    told = words.strip_of(what, None)
    if found.shown.value is not None:
        wanted, _, seed = found.shown.made_for
        told = words.strip_of(what, wanted, seed)
    return Told(told, "simulation, NOT PRIVATE", more=partial(_rules_more, what, found.shown))


def _rules_shown(what: Subject, result: Result[list[RuleResult]], found: list[RuleResult]) -> None:
    named = {*words.NAMED, s.RULE.value}
    # In a presentation more rows have no room.
    drawn = [one for one in found if one.rule in named] if PRESENT.value else found
    how = asked.again(what), *result.made_for
    again, rows = (given(ways, compare_rules, *how).named("found") for ways in (found, drawn))
    measure = s.MEASURE.value
    title, ways = s.MEASURE.label_of(measure), ways_of_rules(found, measure)
    best = ways.closest()
    frame.figure(
        call(rules_of, rows, measure, x_title=title, chosen=s.RULE.value),
        key="td_rules_dots",
        alt=f"{title} of every projection: the smallest is {ways.names[best]} with {short(ways.mean[best])}.",
        caption="NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 95 % intervals; filled: "
        f"the chosen projection. {result.about}. All see the same noise where the tree is laid out, so differences "
        f"are surer than the bars. {CHOOSE} Simulation.",
        answer=words.rules(found),
        ran=call(tables.rule_table, again),
    )  # fmt: skip


def _rules_more(what: Subject, result: Result[list[RuleResult]]) -> None:
    """Show every measure and the bias of the compared projections, then what every view keeps there."""
    s.TRIALS.draw()
    found = result.value
    if found is not None:
        _rules_tables(what, result, found)
    more(what, released(what).value)


def _rules_tables(what: Subject, result: Result[list[RuleResult]], found: list[RuleResult]) -> None:
    again = given(found, compare_rules, asked.again(what), *result.made_for).named("found")
    prose(
        "Every rule turns the same noisy counts into counts of at least 0 that add up, but for the pruned ones. None "
        "costs privacy; they differ in what they do to small counts. IntOpt takes from the smallest counts first, so "
        "it is sparser; water filling is closest in every distance at once; pruned counts are 0 but where they stand "
        f"out of the noise, so hardly any place is filled that is empty. {_least_squares_first(found)}"
    )
    frame.plain_table(
        tables.rule_words(found),
        alt="Every measure of every projection, with 95 % intervals",
        caption="Mean over the runs ± its 95 % interval. NOT PRIVATE. Simulation.",
    )
    with suppress(InputError):  # without δ there is no such histogram
        prose(words.on_leaves(on_leaves(what, result.made_for[0]), found))
    frame.figure(
        call(bias_of_rules, again),
        key="td_rules_bias",
        alt="Bias of leaves by size of their true count, for every projection.",
        caption="NOT PRIVATE: bias of a leaf by its true count, mean over leaves and runs; bars: 95 % intervals "
        f"over the runs. {result.about}. Simulation.",
        ran=call(tables.rule_bias_table, again),
    )  # fmt: skip


def _least_squares_first(found: list[RuleResult]) -> str:
    """Say whether least squares first helps, where the runs tell."""
    place = {one.rule: i for i, one in enumerate(found)}
    if "ls_water_filling" not in place:
        return ""
    rmse, (before, after) = ways_of_rules(found, "rmse"), (place["water_filling"], place["ls_water_filling"])
    return words.least_squares_first(rmse.change(before, after), told=rmse.tells(before, after))


PROJECTIONS: Final = View(
    "rules",
    rules,
    "No rule is unbiased near 0, and none is best in everything: a sparser release loses more small leaves, a closer "
    "one fills more empty ones. Least squares first uses all levels for every count, at the same ρ.",
    question="Which rule keeps small counts best?",
    ignores=s.OWN_BUDGET,
)
