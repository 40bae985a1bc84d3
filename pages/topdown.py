"""TopDown and synthetic data: categorical columns released as whole records (InfTDA)."""

from pages.ui.page import Page
from pages.views.topdown import compare, rows
from pages.views.topdown.settings import PRESETS, SETTINGS, VIEW
from pages.views.topdown.sides import sides

PAGE = Page(
    name="topdown",
    title="TopDown and synthetic data",
    icon="grid_on",
    section="Tune",
    about="Release columns top-down as whole synthetic records.",
    lede=(
        "Count every combination of some columns, privately: noisy counts become whole, non-negative and "
        "consistent from the root down, so they are records again."
    ),
    settings=SETTINGS,
    presets=PRESETS,
    views=(rows.ROWS, rows.COUNTS, compare.PROJECTIONS),
    switch=VIEW,
    releases=sides,
)  # fmt: skip

if __name__ == "__main__":
    PAGE.run()
