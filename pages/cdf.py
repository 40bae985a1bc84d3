"""CDF and ranges: cumulative counts, ranges and quantiles of a numeric column."""

from pages.ui.page import Page, View
from pages.ui.unused import unspent
from pages.views.cdf import error, experiment, optimal, release
from pages.views.cdf import settings as s

PAGE = Page(
    name="cdf",
    title="CDF and ranges",
    icon="stacked_line_chart",
    section="Explore",
    about="Cumulative counts, ranges and quantiles of a numeric column.",
    settings=s.SETTINGS,
    lede=(
        "How many records lie below a value, or between two? Cumulative counts from a tree, made whole and "
        "non-decreasing."
    ),
    learnt=(
        "Noise on a histogram adds up along a range, noise on every cumulative count must be huge; a tree needs a "
        "few counts for any range. The known total and least squares cut the error again for free, and consistency "
        "helps most where the noise is larger than the steps of the CDF."
    ),
    views=(
        View("release", release.show, ignores=unspent(s.MECHANISM)),
        View("error", error.show, ignores=error.IGNORES),
        View("experiment", experiment.show, ignores=experiment.IGNORES),
        View("optimal", optimal.show, ignores=optimal.IGNORES),
    ),
    switch=s.VIEW,
    presets=experiment.PRESETS,
)

if __name__ == "__main__":
    PAGE.run()
