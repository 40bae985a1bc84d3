"""Where to begin: what the app is for, one picture, and what is in this session."""

from pages.ui.page import Page, View
from pages.ui.unused import NOTHING_DRAWN
from pages.views.start.parts import show

PAGE = Page(
    name="start",
    title="Start here",
    icon="home",
    section="",
    about="Where to begin.",
    heading="Publish counts on a tree, privately",
    lede="See what noise does to hierarchical counts before you release any.",
    views=(View("", show, ignores=NOTHING_DRAWN),),
)

if __name__ == "__main__":
    PAGE.run()
