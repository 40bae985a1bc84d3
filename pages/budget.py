"""Budget split: which level gets how much of the privacy budget, and what that buys."""

from pages.ui.page import Page, View
from pages.ui.unused import unspent
from pages.views.budget import curves, custom, map, strategies, targets
from pages.views.budget.settings import MECHANISM, SETTINGS, VIEW

PAGE = Page(
    name="budget",
    title="Budget split",
    icon="pie_chart",
    section="Tune",
    about="Which level gets how much of the budget, and what that buys.",
    settings=SETTINGS,
    lede=(
        "Every level of the tree gets a share of the privacy budget. Compare who gets what, look at the greedy "
        "rule slice by slice, and find the smallest budget for the accuracy you need."
    ),
    learnt=(
        "The best split depends on the counts and on ε: with little budget upper levels deserve some, with much "
        "budget the leaves alone often do. Greedy allocation is simple and mostly good, but short-sighted: it can "
        "lose to a rule that looks at nothing. Tuning on true counts would leak them, so a prior must be public, "
        "or paid for."
    ),
    views=(
        View("strategies", strategies.show, ignores=unspent(MECHANISM)),
        View("custom", custom.show, ignores=unspent(MECHANISM)),
        View("curves", curves.show, ignores=curves.IGNORES),
        View("targets", targets.show, ignores=unspent(MECHANISM)),
        View("map", map.show, ignores=unspent(MECHANISM)),
    ),
    switch=VIEW,
)

if __name__ == "__main__":
    PAGE.run()
