"""What stands under *More* on every view of the page TopDown: the budget, and one section of five."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pages.ui.header import explain
from pages.views.topdown import asked, marginals, orders, promise, records, release
from pages.views.topdown import settings as s
from treedp_core.studies.topdown import Drawn, Subject

Section = Callable[[Subject, Drawn | None], None]
SECTIONS: Final[dict[str, tuple[Section, str]]] = {
    "release": (release.section, ""),
    "records": (
        records.section,
        "Whole, non-negative counts that add up are records: any tool can read them, and every table made from them "
        "agrees with every other. They are no better than the counts, and small counts are the worst of them.",
    ),
    "orders": (
        orders.section,
        "A column near the root keeps its own counts almost exact; near the leaves they gather the noise of many "
        "cells. Put first what must be right, unless one column of many categories would scatter everything below it.",
    ),
    "marginals": (
        marginals.section,
        "Counts by the first columns are what a top-down release is made for. Any other table is a sum over cells, "
        "whose noise adds up; where few tables are asked for, each is better measured by itself, but then they "
        "disagree.",
    ),
    "accounting": (
        promise.accounting,
        "The same noise promises more than the standard conversion says, most of all for small ρ. Protecting who is "
        "in the data at all measures one level more, but with less noise for each record.",
    ),
    "sensitivity": (
        promise.sensitivity,
        "Noise is calibrated to a claim about all neighbours. On a small tree all of them can be tried.",
    ),
}


def more(what: Subject, mine: Drawn | None) -> None:
    """Show the controls that no row has, and the chosen section."""
    asked.budget(what)
    show, learnt = SECTIONS[s.SECTION.draw(bare=True)]
    show(what, mine)
    if learnt:
        explain(learnt)
