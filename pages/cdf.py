"""CDF and ranges: cumulative counts, ranges and quantiles of a numeric column."""

from pages.ui.page import Page, View
from pages.ui.unused import PLAIN, unspent
from pages.views.cdf import error, experiment, optimal, release
from pages.views.cdf import settings as s
from pages.views.cdf.sides import sides

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
            release.show,
            question="How many are at most x, and how sure is that?",
            ignores=unspent(s.MECHANISM) | PLAIN,
        ),
        View("error", error.show, question="Which tree errs least at my ε?", ignores=error.IGNORES),
        View(
            "experiment",
            experiment.show,
            question="How close does a released CDF come to the true one?",
            ignores=experiment.IGNORES,
        ),
        View("optimal", optimal.show, question="How much better could any mechanism be?", ignores=optimal.IGNORES),
    ),
    switch=s.VIEW,
    releases=sides,
)

if __name__ == "__main__":
    PAGE.run()
