"""What ε protects: what a release tells about one person, and what it costs to tell less."""

from pages.ui.page import Page, View
from pages.ui.unused import NOTHING_DRAWN, PLAIN, unspent
from pages.views.protects.settings import MECHANISM, SETTINGS, VIEW
from pages.views.protects.view import show_beliefs, show_tests

IGNORED = NOTHING_DRAWN | PLAIN | unspent(MECHANISM)
PAGE = Page(
    name="protects",
    title="What ε protects",
    icon="shield_person",
    section="Learn",
    about="What a release tells about one person.",
    lede="Counts are out; who knows everybody else's records wants to know about yours. Noise keeps what he sees with "
    "and without you alike, and costs accuracy: both sides of one ε.",
    settings=SETTINGS,
    switch=VIEW,
    asks_epsilon=True,
    views=(
        View("beliefs", show_beliefs, question="What does ε protect me from?", ignores=IGNORED),
        View("tests", show_tests, question="How well can I be told apart?", ignores=IGNORED),
    ),
)

if __name__ == "__main__":
    PAGE.run()
