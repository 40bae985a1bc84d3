"""Repeated releases on the page TopDown: projections side by side, and which column should come first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told, View
from pages.ui.result import Result, in_background, refused, run_button, show_state
from pages.ui.settings import SEED
from pages.ui.snippets import call, given
from pages.ui.text import lit
from pages.views.topdown import asked
from pages.views.topdown import settings as s
from treedp_core.checks import InputError
from treedp_core.figures.topdown import bias_by_count, dots
from treedp_core.studies.topdown import (
    OrderResult,
    RuleResult,
    Subject,
    Wanted,
    compare_rules,
    orders_of_subject,
    some_orders,
    tables,
    ways_of_orders,
    ways_of_rules,
)
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.watch import Watch
from treedp_core.words import plus_minus, short, signed, whole

T = TypeVar("T")
RULES_SLOT: Final = "td_rules"
ORDERS_SLOT: Final = "td_orders"
BADGES: Final = "simulation, NOT PRIVATE"
Repeat = Callable[[Subject, Wanted, int, int, Watch | None], T]


def rules() -> Told:
    """Show what every projection does to the leaves, over repeated releases."""
    what = asked.subject()
    asked.budget(what)
    st.markdown(
        "Every rule turns the same noisy counts into counts of at least 0 that add up. None costs privacy; they differ "
        "in what they do to small counts."
    )
    result = _repeated(RULES_SLOT, what, Wanted.for_all_rules, compare_rules, 1,
                       "Release the same records again and again, by every projection.")  # fmt: skip
    if result.value is None:
        st.info("Press **Run** to compare the projections on these records.", icon=":material/play_arrow:")
    else:
        _rules_shown(what, result, result.value)
    return Told(_strip(what, result), BADGES)


def orders() -> Told:
    """Show the errors of several orders of the columns."""
    what = asked.subject()
    asked.budget(what)
    if not what.is_product or len(what.columns) < 2:
        st.info(
            "The order can be chosen where the levels are columns of which every combination is a leaf, two or more of "
            "them. Choose the trips, or all combinations of the columns.", icon=":material/swap_vert:",
        )  # fmt: skip
        return Told(asked.about(what, None), BADGES)
    n_orders = len(some_orders(len(what.columns)))
    st.markdown(
        f"Which attribute first? The first column's counts bear one level's noise and projection, the last one's all "
        f"of them. {n_orders} orders are simulated at the same ρ, with equal shares."
    )
    result = _repeated(ORDERS_SLOT, what, Wanted.for_orders, orders_of_subject, n_orders,
                       "Release the records under every order, again and again.")  # fmt: skip
    if result.value is None:
        st.info("Press **Run** to compare the orders.", icon=":material/play_arrow:")
    else:
        _orders_shown(what, result, result.value)
    return Told(_strip(what, result), BADGES)


def _repeated(
    slot: str, what: Subject, settings: Callable[[Wanted], Wanted], repeat: Repeat[T], times: int, about: str
) -> Result[T]:
    """Release again and again in the background when asked to; say how that stands."""
    trials, seed = s.TRIALS.value, SEED.value
    result: Result[T]
    try:
        wanted = settings(asked.planned(what)[0])
        told = f"{asked.what_tree(what)}; {asked.spent(wanted)}, {whole(trials)} runs, seed {seed}"
        result = in_background(slot, (wanted, trials, seed), trials * times,
                               partial(repeat, what, wanted, trials, seed), start="button", about=told,
                               of=what.fingerprint)  # fmt: skip
    except InputError as error:
        result = refused(slot, error, of=what.fingerprint)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.TRIALS.draw()
        run_button(result, f"{slot}_run", help=about)
    show_state(result, "Releasing again and again", "runs")
    return result


def _strip(what: Subject, result: Result[T]) -> str:
    if result.value is None:
        return asked.about(what, None)
    wanted, _, seed = result.made_for
    return asked.about(what, wanted, seed)


# ---- projections side by side


def _rules_shown(what: Subject, result: Result[list[RuleResult]], found: list[RuleResult]) -> None:
    again = given(found, compare_rules, asked.again(what), *result.made_for).named("found")
    _sentence(found)
    measure = s.MEASURE.draw()
    title, ways = s.MEASURE.label_of(measure), ways_of_rules(found, measure)
    best, names = ways.closest(), [one.rule for one in found]
    frame.figure(
        dots(ways, x_title=title, chosen=names.index(s.RULE.value) if s.RULE.value in names else -1),
        key="td_rules_dots",
        alt=f"{title} of every projection: the smallest is {ways.names[best]} with {short(ways.mean[best])}.",
        caption="NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 1.96 standard errors; filled: "
        f"the chosen projection. {result.about}. All see the same noise where the tree is laid out, so differences "
        "are surer than the bars. Simulation.",
        ran=call(tables.rule_table, again),
    )  # fmt: skip
    st.dataframe(tables.rule_words(found), hide_index=True,
                 alt="Every measure of every projection, with 95 % intervals")  # fmt: skip
    st.caption("Mean over the runs ± its 95 % interval. NOT PRIVATE. Simulation.")
    frame.figure(
        bias_by_count({RULES[one.rule].label: one.bias for one in found}),
        key="td_rules_bias",
        alt="Bias of leaves by size of their true count, for every projection.",
        caption="NOT PRIVATE: bias of a leaf by its true count, mean over leaves and runs; bars: 1.96 standard errors "
        f"over the runs. {result.about}. Simulation.",
        ran=call(tables.rule_bias_table, again),
    )  # fmt: skip


def _sentence(found: list[RuleResult]) -> None:
    """Say what IntOpt and water filling trade, and whether least squares first helps, where the runs tell."""
    place = {one.rule: i for i, one in enumerate(found)}
    first, other = (found[place[name]].mean for name in ("intopt", "water_filling"))
    lines = [
        f"**IntOpt** fills {_rounded(first['spurious'])} empty leaves and loses {_rounded(first['lost'])}, "
        f"**water filling** {_rounded(other['spurious'])} and {_rounded(other['lost'])}; "
        f"their RMSE is {short(first['rmse'])} and {short(other['rmse'])} records. IntOpt takes from the smallest "
        "counts first, so it is sparser; water filling is closest in every distance at once."
    ]
    if "ls_water_filling" in place:
        rmse = ways_of_rules(found, "rmse")
        before, after = place["water_filling"], place["ls_water_filling"]
        told = "" if rmse.tells(before, after) else " (within the simulation's error)"
        change = signed(rmse.change(before, after))
        lines.append(f"Least squares before water filling changes the RMSE of a leaf by {change} %{told}.")
    st.markdown("  \n".join(lines))


def _rounded(mean: float) -> str:
    return whole(round(mean))


# ---- which column first?


def _orders_shown(what: Subject, result: Result[list[OrderResult]], found: list[OrderResult]) -> None:
    wanted = result.made_for[0]
    again = given(found, orders_of_subject, asked.again(what), *result.made_for).named("found")
    measure = s.ORDER_MEASURE.draw()
    title, ways = s.ORDER_MEASURE.label_of(measure), ways_of_orders(found, what.columns, measure)
    ranked = ways.ranked()
    best, worst = ranked[0], ranked[-1]
    told = "" if ways.tells(best, worst) else " The runs cannot tell them apart."
    st.markdown(
        f"Smallest: {_told(what, found[best])} with {short(ways.mean[best])}{plus_minus(ways.se[best])}; largest: "
        f"{_told(what, found[worst])} with {short(ways.mean[worst])}{plus_minus(ways.se[worst])}.{told}"
    )
    frame.figure(
        dots(ways.in_order(ranked), x_title=title, chosen=ranked.index(0)),
        key="td_orders_dots",
        alt=f"{title} by order of the columns; smallest with {ways.names[best]}.",
        caption=f"NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 1.96 standard errors; filled: "
        f"the present order. {RULES[wanted.rule].label}. {result.about}. To choose the order by the true counts "
        "would itself reveal something: choose it on public or made-up data. Simulation.",
        ran=call(tables.order_table, again, what.columns, measure),
    )  # fmt: skip
    st.dataframe(tables.marginal_words(found, what.columns), hide_index=True,
                 alt="Mean absolute error of every column's own counts, by order")  # fmt: skip
    st.caption(
        "Mean absolute error of the counts of each column's categories alone (records), ± its 95 % interval over the "
        "runs; the number behind a name is the column's place in the present order. NOT PRIVATE. Simulation."
    )


def _told(what: Subject, one: OrderResult) -> str:
    return " › ".join(lit(what.columns[i], 24) for i in one.order)


PROJECTIONS: Final = View(
    "rules",
    rules,
    "No rule is unbiased near 0, and none is best in everything: a sparser release loses more small leaves, a closer "
    "one fills more empty ones. Least squares first uses all levels for every count, at the same ρ.",
    ignores=s.OWN_BUDGET,
)
ORDERS: Final = View(
    "orders",
    orders,
    "A column near the root keeps its own counts almost exact; near the leaves they gather the noise of many cells. "
    "Put first what must be right, unless one column of many categories would scatter everything below it.",
    ignores=s.OWN_BUDGET,
)
