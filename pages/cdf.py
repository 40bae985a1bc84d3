"""CDF and ranges: cumulative counts, ranges and quantiles of a numeric column."""

from pages.ui.inputs.inactive_settings import PLAIN, unspent
from pages.ui.page.page import Page, View
from pages.views.cdf import settings as s
from pages.views.cdf import view
from treedp_core.views import VIEWS

PAGE = Page(
    name="cdf",
    title="CDF and ranges",
    icon="stacked_line_chart",
    section="Explore",
    about="Cumulative counts, ranges and quantiles of a numeric column.",
    settings=s.SETTINGS,
    presets=s.PRESETS,
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
        View(
            "release",
            view.release,
            question=VIEWS["cdf.release"].question,
            ignores=unspent(s.MECHANISM) | PLAIN,
        ),
        View("error", view.error, question=VIEWS["cdf.error"].question, ignores=view.ERROR_IGNORES),
        View(
            "experiment",
            view.experiment,
            question=VIEWS["cdf.experiment"].question,
            ignores=view.EXPERIMENT_IGNORES,
        ),
        View("optimal", view.optimal, question=VIEWS["cdf.optimal"].question, ignores=view.OPTIMAL_IGNORES),
    ),
    switch=s.VIEW,
)

if __name__ == "__main__":
    PAGE.run()
