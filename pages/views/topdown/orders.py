"""Which column first, under *More* on the page TopDown: repeated releases under several orders of the columns."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.result import Result
from pages.ui.setting import in_a_row
from pages.ui.text import lit, prose
from pages.views.topdown import asked
from pages.views.topdown import settings as s
from pages.views.topdown.repeated import repeated, show_asked
from treedp_core.figures.of_topdown import orders_of
from treedp_core.notebook.code import call, given
from treedp_core.privacy.origin import CHOOSE
from treedp_core.studies.topdown import (
    Drawn,
    OrderResult,
    Subject,
    Wanted,
    orders_of_subject,
    some_orders,
    tables,
    ways_of_orders,
)
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import plus_minus, short

SLOT: Final = "td_orders"


def section(what: Subject, mine: Drawn | None) -> None:
    """Show the errors of several orders of the columns."""
    if not what.is_product or len(what.columns) < 2:
        st.info(
            "The order can be chosen where the levels are columns of which every combination is a leaf, two or more of "
            "them. Choose the trips, or all combinations of the columns.", icon=":material/swap_vert:",
        )  # fmt: skip
        return
    n_orders = len(some_orders(len(what.columns)))
    prose(
        f"Which attribute first? The first column's counts bear one level's noise and projection, the last one's all "
        f"of them. {n_orders} orders are simulated at the same promise, with equal shares."
    )
    found = repeated(SLOT, what, Wanted.for_orders, orders_of_subject, n_orders)
    show_asked(in_a_row(), SLOT, found, "orders")
    if found.shown.value is not None:
        _orders_shown(what, found.shown, found.shown.value)


def _orders_shown(what: Subject, result: Result[list[OrderResult]], found: list[OrderResult]) -> None:
    wanted = result.made_for[0]
    again = given(found, orders_of_subject, asked.again(what), *result.made_for).named("found")
    measure = s.ORDER_MEASURE.draw()
    title, ways = s.ORDER_MEASURE.label_of(measure), ways_of_orders(found, what.columns, measure)
    ranked = ways.ranked()
    best, worst = ranked[0], ranked[-1]
    told = "" if ways.tells(best, worst) else " The runs cannot tell them apart."
    prose(
        f"Smallest: {_told(what, found[best])} with {short(ways.mean[best])}{plus_minus(ways.se[best])}; largest: "
        f"{_told(what, found[worst])} with {short(ways.mean[worst])}{plus_minus(ways.se[worst])}.{told}"
    )
    frame.figure(
        call(orders_of, again, what.columns, measure, x_title=title),
        key="td_orders_dots",
        alt=f"{title} by order of the columns; smallest with {ways.names[best]}.",
        caption=f"NOT PRIVATE (depends on the true counts). Mean over the runs, bars: 95 % intervals; filled: "
        f"the present order. {RULES[wanted.rule].label}. {result.about}. {CHOOSE} Simulation.",
        ran=call(tables.order_table, again, what.columns, measure),
    )  # fmt: skip
    frame.plain_table(
        tables.marginal_words(found, what.columns),
        alt="Mean absolute error of every column's own counts, by order",
        caption="Mean absolute error of the counts of each column's categories alone (records), ± its 95 % interval "
        "over the runs; the number behind a name is the column's place in the present order. NOT PRIVATE. Simulation.",
    )


def _told(what: Subject, one: OrderResult) -> str:
    return " › ".join(lit(what.columns[i], 24) for i in one.order)
