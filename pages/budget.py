"""Budget split: which level gets how much of the privacy budget, and what that buys."""

from pages.ui.page import Page, View
from pages.ui.unused import unused_by
from pages.views.budget import ask, curves, custom, map, strategies, targets
from pages.views.budget.settings import METRIC, SETTINGS, VIEW
from pages.views.budget.sides import sides
from treedp_core.studies.budget import STRATEGIES

PAGE = Page(
    name="budget",
    title="Budget split",
    icon="pie_chart",
    section="Tune",
    about="Which level gets how much of the budget, and what that buys.",
    settings=SETTINGS,
    heading="Who gets the budget, and how little ε will do?",
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
        View(
            "targets",
            targets.show,
            question="How little ε gives the accuracy I need?",
            ignores=ask.IGNORES,
        ),
        View(
            "custom",
            custom.show,
            question="What if I split the budget myself?",
            ignores=unused_by(METRIC) | ask.IGNORES,
        ),
        View(
            "strategies",
            strategies.show,
            question="Which rule splits the budget best?",
            compares=(STRATEGIES,),
            ignores=unused_by(METRIC) | ask.IGNORES,
        ),
        View("curves", curves.show, question="How does the error fall as ε grows?", ignores=curves.IGNORES),
        View("map", map.show, question="Which counts can one rely on?", ignores=ask.IGNORES),
    ),
    switch=VIEW,
    releases=sides,
)

if __name__ == "__main__":
    PAGE.run()
