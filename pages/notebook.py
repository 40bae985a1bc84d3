"""Notebook: figures that were pinned, with everything they came from."""

from functools import partial

from pages.ui.inputs.inactive_settings import NO_DELTA, NOTHING_DRAWN, PLAIN, Reasons
from pages.ui.notebook import notebook_file
from pages.ui.page.page import Page, View
from pages.views.notebook import cell, compare, overview
from pages.views.notebook.overview import SETTINGS, VIEW

_IDLE: Reasons = dict.fromkeys(
    ("eps", "nbr", *NOTHING_DRAWN, *NO_DELTA, *PLAIN), "A cell keeps the settings it was made with."
)
PAGE = Page(
    name="notebook",
    title="Notebook",
    icon="book_2",
    section="",
    about="Figures you pinned, with their settings, notes and numbers; save and open your work.",
    heading="What have I found so far?",
    lede="Every figure has a Pin below it. Here they are named, annotated, put in order, opened again and saved.",
    settings=SETTINGS,
    views=(
        View("cell", cell.show, ignores=_IDLE),
        View("all", overview.show, ignores=_IDLE),
        View("compare", compare.show, ignores=_IDLE),
    ),
    switch=VIEW,
    beside=partial(notebook_file.popover, "page", label="Save or open"),
    learnt=cell.LEARNT,
)

if __name__ == "__main__":
    PAGE.run()
