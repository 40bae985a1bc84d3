"""Where to begin: what the app is for, one picture, and what to ask."""

from pages.ui.inputs.inactive_settings import PLAIN
from pages.ui.page.page import Page, View
from pages.views.start import SHOWN, show

PAGE = Page(
    name="start",
    title="Start here",
    icon="home",
    section="",
    about="Where to begin.",
    heading="How wrong can a private count be?",
    lede="Counts by region, state and county protect nobody by being sums. Differential privacy adds noise to every "
    "count; here you see what that does to seven of them, and where to go with your own.",
    settings=(SHOWN,),
    asks_epsilon=True,
    views=(View("", show, ignores=PLAIN),),
)

if __name__ == "__main__":
    PAGE.run()
