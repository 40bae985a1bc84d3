"""Why a tree: one range, counted in three ways."""

from pages.ui.inputs.inactive_settings import NO_DELTA, PLAIN, Reasons
from pages.ui.page.page import Page, View
from pages.views.ranges import SETTINGS, show

IGNORED: Reasons = {
    "nbr": "The three ways are those of replacing one record.",
    "contributions": "Here a unit has one record.",
    "known_levels": "Here no level is known.",
}
PAGE = Page(
    name="ranges",
    title="Why a tree",
    icon="account_tree",
    section="Learn",
    about="One range, counted in three ways.",
    heading="Why put counts on a tree?",
    lede="A range is a sum of noisy counts. A histogram takes many with little noise, cumulative counts two with much; "
    "a tree takes a few.",
    settings=SETTINGS,
    asks_epsilon=True,
    views=(View("", show, ignores=NO_DELTA | PLAIN | IGNORED),),
    learnt="Noise adds up: twice as many counts make a sum √2 times as uncertain. A tree shares ε between its levels, "
    "so each count is noisier, but a long range needs few. The wider the table, the more that is worth.",
)

if __name__ == "__main__":
    PAGE.run()
