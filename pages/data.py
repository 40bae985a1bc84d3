"""Choose the records, say who is protected, and look at the tree their counts stand on."""

from pages.ui.inputs.inactive_settings import NO_DELTA, NOTHING_DRAWN, PLAIN
from pages.ui.page.page import Page, View
from pages.views.data.view import SETTINGS, show

PAGE = Page(
    name="data",
    title="Data and tree",
    icon="account_tree",
    section="Explore",
    about="Choose, generate or upload the records, and look at their tree.",
    heading="What will the mechanism see?",
    lede="Choose the records, and look at the tree that their counts stand on.",
    settings=SETTINGS,
    chooses_source=True,
    views=(View("", show, ignores=NOTHING_DRAWN | NO_DELTA | PLAIN),),
)

if __name__ == "__main__":
    PAGE.run()
