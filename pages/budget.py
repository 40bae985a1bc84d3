"""Budget split: which level gets how much of the privacy budget, and what that buys."""

from pages.ui.inputs.inactive_settings import unused_by
from pages.ui.page.page import Page, View
from pages.views.budget import custom, targets, view
from pages.views.budget.controls import IGNORES, SOUGHT
from pages.views.budget.settings import METRIC, SETTINGS, VIEW

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
        View("targets", targets.show, question="How little ε gives the accuracy I need?", ignores=IGNORES | SOUGHT),
        View("custom", custom.show, question="What if I split the budget myself?", ignores=unused_by(METRIC) | IGNORES),
        View(
            "strategies",
            view.strategies,
            question="Which rule splits the budget best?",
            ignores=unused_by(METRIC) | IGNORES,
        ),
        View("curves", view.curves, question="How does the error fall as ε grows?", ignores=view.IGNORED_BY_CURVES),
        View("map", view.reliability_map, question="Which counts can one rely on?", ignores=IGNORES),
    ),
    switch=VIEW,
)

if __name__ == "__main__":
    PAGE.run()
