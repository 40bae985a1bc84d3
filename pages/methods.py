"""Methods: what there is, what it assumes and where it comes from."""

from pages.ui.inputs.inactive_settings import NOTHING_DRAWN, Reasons
from pages.ui.page.page import Page, View
from pages.views.methods import SETTINGS, VIEW, show_glossary, show_method, show_paper

OWN = "This page brings its own numbers."
IGNORED: Reasons = NOTHING_DRAWN | dict.fromkeys(
    ("eps", "delta", "nbr", "contributions", "known_levels", "alpha", "tau"), OWN
)
PAGE = Page(
    name="methods",
    title="Methods",
    icon="menu_book",
    section="Learn",
    about="What each method assumes, and where it comes from.",
    lede="Every mechanism, post-processing, split, metric and bound: assumption, formula, source, where it is best and "
    "where it loses.",
    settings=SETTINGS,
    switch=VIEW,
    views=(
        View("methods", show_method, question="Which method, and why?", ignores=IGNORED),
        View("glossary", show_glossary, question="What does this word mean?", ignores=IGNORED),
        View("papers", show_paper, question="Do the papers' numbers hold?", ignores=IGNORED),
    ),
)

if __name__ == "__main__":
    PAGE.run()
