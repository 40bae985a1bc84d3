"""CDF and ranges: cumulative counts, ranges and quantiles of a numeric column."""

from pages.ui.page import Page, Told, View
from pages.ui.settings import get
from pages.views.cdf import controls as cdf_controls
from pages.views.cdf import more as cdf_more
from pages.views.cdf import settings as page_settings
from pages.views.cdf import source as cdf_source
from pages.views.cdf import view as cdf_view

BADGES = {
    "release": "formula, simulation, NOT PRIVATE",
    "error": "formula",
    "experiment": "simulation",
    "optimal": "formula",
}


def show() -> Told:
    """Show the page."""
    cdf_controls.view()
    match get("cdf_view"):
        case "experiment":
            strip = cdf_more.experiment()
        case "release":
            data = cdf_source.choose()
            cdf_controls.release(int(data.counts.sum()))
            strip = cdf_view.release(data)
        case shown:
            strip = {"error": cdf_more.error, "optimal": cdf_more.optimal}[shown](cdf_source.choose())
    return Told(strip, BADGES[get("cdf_view")])


PAGE = Page(
    name="cdf",
    title="CDF and ranges",
    icon="stacked_line_chart",
    section="Explore",
    about="Cumulative counts, ranges and quantiles of a numeric column.",
    settings=page_settings.SETTINGS,
    heading="CDF and ranges",
    lede=(
        "How many records lie below a value, or between two? Cumulative counts from a tree, made whole and "
        "non-decreasing."
    ),
    learnt=(
        "Noise on a histogram adds up along a range, noise on every cumulative count must be huge; a tree needs a "
        "few counts for any range. The known total and least squares cut the error again for free, and consistency "
        "helps most where the noise is larger than the steps of the CDF."
    ),
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
