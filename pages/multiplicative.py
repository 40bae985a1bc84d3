"""Multiplicative error: errors relative to the count, and the mechanism whose error hardly grows with the levels."""

from pages.ui.inputs.inactive_settings import NO_THRESHOLD
from pages.ui.page.page import Page, View
from pages.views.multiplicative import run
from pages.views.multiplicative.settings import PRESETS, SETTINGS, VIEW
from pages.views.multiplicative.worst_case import IGNORES, growth, meaning, prefixes

PAGE = Page(
    name="multiplicative",
    title="Multiplicative error",
    icon="percent",
    section="Explore",
    about="Errors relative to the count, on very deep trees.",
    heading="If errors up to a part α of the count are forgiven, what does that buy?",
    lede="Errors up to α times the count are forgiven. Then the rest need hardly grow with the number of levels.",
    learnt=(
        "Noise on every level costs an error that grows with the number of levels; finding large counts first, "
        "threshold by threshold, costs its logarithm. That wins on very deep trees only, and only where relative "
        "errors are what matters: on few levels, shrinking Gaussian counts by 1 − α is better."
    ),
    settings=SETTINGS,
    presets=PRESETS,
    views=(
        View("run", run.show, ignores=NO_THRESHOLD),
        View("growth", growth, ignores=IGNORES, question="From how many levels on do thresholds pay?"),
        View("prefixes", prefixes, ignores=IGNORES, question="Why not release cumulative counts, and subtract?"),
        View("meaning", meaning, ignores=IGNORES, question="From which count on is the promise kept?"),
    ),
    switch=VIEW,
)

if __name__ == "__main__":
    PAGE.run()
