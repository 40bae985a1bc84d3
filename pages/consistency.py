"""Consistency: make noisy counts add up, and see what that buys and costs."""

from pages.ui.inputs.inactive_settings import NO_ALPHA, unspent
from pages.ui.page.page import Page, View
from pages.views.consistency import MECHANISM, SETTINGS, show

PAGE = Page(
    name="consistency",
    title="Consistency",
    icon="balance",
    section="Tune",
    about="Make noisy counts add up, and see what it buys.",
    heading="Why do private counts not add up, and what does repair cost?",
    lede=(
        "Noisy counts contradict each other: children do not add up to their parent. Post-processing repairs this "
        "at no privacy cost, and least squares lowers the expected error as well."
    ),
    settings=SETTINGS,
    views=(View("", show, ignores=unspent(MECHANISM) | NO_ALPHA),),
    learnt=(
        "Least squares weighs each count against the sum of its children by their variances, so every count "
        "borrows accuracy from the others. Deep trees with few children a node gain most, near the top."
    ),
)

if __name__ == "__main__":
    PAGE.run()
