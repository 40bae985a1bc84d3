"""Multiplicative error: errors relative to the count, and the mechanism whose error hardly grows with the levels."""

from pages.ui.page import Page, View
from pages.views.multiplicative import growth, meaning, run, schedule
from pages.views.multiplicative.settings import PRESETS, SETTINGS, VIEW

PAGE = Page(
    name="multiplicative",
    title="Multiplicative error",
    icon="percent",
    section="Explore",
    about="Errors relative to the count, on very deep trees.",
    lede="Errors up to α times the count are forgiven. Then the rest need hardly grow with the number of levels.",
    learnt=(
        "Noise on every level costs an error that grows with the number of levels; finding large counts first, "
        "threshold by threshold, costs its logarithm. That wins on very deep trees only, and only where relative "
        "errors are what matters: on few levels, shrinking Gaussian counts by 1 − α is better."
    ),
    settings=SETTINGS,
    views=(
        View("growth", growth.show, ignores=growth.IGNORES),
        View("run", run.show),
        View("schedule", schedule.show, ignores=schedule.IGNORES),
        View("meaning", meaning.show, ignores=meaning.IGNORES),
    ),
    switch=VIEW,
    presets=PRESETS,
)

if __name__ == "__main__":
    PAGE.run()
