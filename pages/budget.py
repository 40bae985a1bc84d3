"""Budget split: which level gets how much of the privacy budget, and what that buys."""

from pages.ui.page import Page, Told, View
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.store import dataset
from pages.views.budget import controls as budget_controls
from pages.views.budget import curves as budget_curves
from pages.views.budget import custom as budget_custom
from pages.views.budget import map as budget_map
from pages.views.budget import settings as page_settings
from pages.views.budget import state as budget_state
from pages.views.budget import targets as budget_targets
from pages.views.budget import text as budget_text
from pages.views.budget import view as budget_view
from treedp_core.checks import InputError


def show() -> Told:
    """Show the page."""
    budget_controls.view()
    if get("bud_view") == "curves":
        budget_controls.tuning()
        budget_curves.show()
    else:
        budget_controls.release()
        budget_controls.tuning()
        budget_controls.prior(budget_state.settings())
        try:
            result = budget_state.results()
        except InputError as error:
            refusal(error)
            budget_view.empty(dataset().tree.n_levels)
        else:
            budget_state.refuse(result)
            show = {
                "strategies": budget_view.strategies,
                "custom": budget_custom.show,
                "targets": budget_targets.show,
                "map": budget_map.show,
            }[get("bud_view")]
            if get("bud_view") == "map":
                budget_controls.strategy(result)
            show(result)
            if get("bud_view") == "strategies":
                budget_controls.strategy(result)
            if get("bud_view") != "targets":
                budget_view.ledger(result)
            if result.pending:
                budget_state.wait(budget_state.OPTIMUM, "Searching for the best split")
    return Told(
        budget_curves.about() if get("bud_view") == "curves" else budget_state.about(budget_state.settings()),
        budget_text.badges(budget_state.settings()),
    )


PAGE = Page(
    name="budget",
    title="Budget split",
    icon="pie_chart",
    section="Tune",
    about="Which level gets how much of the budget, and what that buys.",
    settings=page_settings.SETTINGS,
    heading="Budget split",
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
    views=(View("", "", show),),
)

if __name__ == "__main__":
    PAGE.run()
