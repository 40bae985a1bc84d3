"""TopDown and synthetic data: categorical columns released as whole records (InfTDA)."""

from collections.abc import Callable

from pages.ui.page import Page, Told, View
from pages.ui.settings import get
from pages.views.topdown import compare as topdown_compare
from pages.views.topdown import controls as topdown_controls
from pages.views.topdown import promise as topdown_promise
from pages.views.topdown import records as topdown_records
from pages.views.topdown import settings as page_settings
from pages.views.topdown import state as topdown_state
from pages.views.topdown import view as topdown_view

VIEWS: dict[str, tuple[Callable[..., None], str]] = {
    "release": (topdown_view.release, "formula, simulation, NOT PRIVATE"),
    "rules": (topdown_compare.rules, "simulation, NOT PRIVATE"),
    "orders": (topdown_compare.orders, "simulation, NOT PRIVATE"),
    "accounting": (topdown_promise.accounting, "formula"),
    "sensitivity": (topdown_promise.sensitivity, "formula"),
    "records": (topdown_records.records, "simulation"),
}


LEARNT = {
    "release": (
        "The projection costs no privacy, and with the chosen probability no count of a level is off by "
        "more than a bound that grows with the level. But counts near 0 pay: empty leaves come out filled, "
        "small ones get lost. The paper draws no noise below a count that became 0; as all below ends as 0 "
        "anyway, the law is the same."
    ),
    "rules": (
        "No rule is unbiased near 0, and none is best in everything: a sparser release loses more small "
        "leaves, a closer one fills more empty ones. Least squares first uses all levels for every count, at "
        "the same ρ."
    ),
    "orders": (
        "A column near the root keeps its own counts almost exact; near the leaves they gather the noise of "
        "many cells. Put first what must be right, unless one column of many categories would scatter "
        "everything below it."
    ),
    "accounting": (
        "The same noise promises more than the standard conversion says, most of all for small ρ. "
        "Protecting who is in the data at all measures one level more, but with less noise for each "
        "record."
    ),
    "sensitivity": "Noise is calibrated to a claim about all neighbours. On a small tree all of them can be tried.",
    "records": (
        "Whole, non-negative counts that add up are records: any tool can read them, and every table made "
        "from them agrees with every other. They are no better than the counts, and small counts are the "
        "worst of them."
    ),
}


def show() -> Told:
    """Show the page."""
    topdown_controls.view()
    show, badge = VIEWS[get("td_view")]
    if get("td_view") == "sensitivity":
        show()
        strip = topdown_promise.about_small()
    else:
        subject = topdown_controls.columns()
        show(subject)
        strip = topdown_view.about_strip(subject, *topdown_state.made_with(get("td_view"), subject))
    return Told(strip, badge, LEARNT[get("td_view")])


PAGE = Page(
    name="topdown",
    title="TopDown and synthetic data",
    icon="grid_on",
    section="Tune",
    about="Release columns top-down as whole synthetic records.",
    settings=page_settings.SETTINGS,
    heading="TopDown and synthetic data",
    lede=(
        "Count every combination of some columns, privately: noisy counts become whole, non-negative and "
        "consistent from the root down, so they are records again."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
