"""Multiplicative error: errors relative to the count, and the mechanism whose error hardly grows with the levels."""

from pages.ui.page import Page, Told, View
from pages.ui.settings import get
from pages.views.multiplicative import controls as multiplicative_controls
from pages.views.multiplicative import more as multiplicative_more
from pages.views.multiplicative import runs as multiplicative_runs
from pages.views.multiplicative import settings as page_settings
from pages.views.multiplicative import view as multiplicative_view

BADGES = {
    "growth": "formula, simulation",
    "run": "formula, simulation, NOT PRIVATE",
    "schedule": "formula",
    "meaning": "formula, simulation",
}


def show() -> Told:
    """Show the page."""
    multiplicative_controls.view()
    strip = {
        "growth": multiplicative_view.growth,
        "run": multiplicative_runs.show,
        "schedule": multiplicative_more.schedule,
        "meaning": multiplicative_more.meaning,
    }[get("mul_view")]()
    return Told(strip, BADGES[get("mul_view")])


PAGE = Page(
    name="multiplicative",
    title="Multiplicative error",
    icon="percent",
    section="Explore",
    about="Errors relative to the count, on very deep trees.",
    settings=page_settings.SETTINGS,
    heading="Multiplicative error",
    lede=("Errors up to α times the count are forgiven. Then the rest need hardly grow with the number of levels."),
    learnt=(
        "Noise on every level costs an error that grows with the number of levels; finding large counts first, "
        "threshold by threshold, costs its logarithm. That wins on very deep trees only, and only where relative "
        "errors are what matters: on few levels, shrinking Gaussian counts by 1 − α is better."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
