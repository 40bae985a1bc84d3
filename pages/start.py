"""Where to begin: what the app is for, one picture, and what to ask."""

from pages.ui.page import Page, View
from pages.ui.unused import PLAIN
from pages.views.start.parts import show
from pages.views.start.settings import SETTINGS

PAGE = Page(
    name="start",
    title="Start here",
    icon="home",
    section="",
    about="Where to begin.",
    heading="How wrong can a private count be?",
    lede="Counts by region, state and county protect nobody by being sums. Differential privacy adds noise to every "
    "count; here you see what that does to seven of them, and where to go with your own.",
    settings=SETTINGS,
    asks_epsilon=True,
    views=(View("", show, ignores=PLAIN),),
)

if __name__ == "__main__":
    PAGE.run()
