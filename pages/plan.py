"""Release plan: what would be promised to whom, what it costs, what is still open, and who then publishes."""

from pages.ui.inputs.inactive_settings import NOTHING_DRAWN
from pages.ui.page.page import Page, View
from pages.views import plan as s
from pages.views.plan import ignored, show, show_handover

PAGE = Page(
    name="plan",
    title="Release plan",
    icon="assignment",
    section="Tune",
    about="What would be promised, what it costs, and who publishes.",
    heading="What do I promise, what is open?",
    lede=(
        "A plan says who is protected, how much noise every level gets and what that costs, without a single count. It "
        "is checked from scratch, saved as a document, and handed over to a library that publishes."
    ),
    settings=s.SETTINGS,
    switch=s.VIEW,
    views=(
        View("plan", show, ignores=ignored(NOTHING_DRAWN)),
        View("handover", show_handover, question="Who publishes this, and how?", ignores=ignored(NOTHING_DRAWN)),
    ),
    learnt=(
        "A promise is about a unit, a relation and everything that is released, and none of that is in the noise: most "
        "of what can go wrong is on the checklist. Noise that one can repeat from a seed protects nobody, so the "
        "release itself is drawn elsewhere, once."
    ),
)

if __name__ == "__main__":
    PAGE.run()
