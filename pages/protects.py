"""What ε protects: what a release tells about one person, and what it costs to tell less."""

from functools import partial

from pages.ui.inputs.inactive_settings import NO_ALPHA, NOTHING_DRAWN, PLAIN, unspent
from pages.ui.page.page import Page, View
from pages.views.protects import unit_bound, value_clip
from pages.views.protects.view import MECHANISM, SETTINGS, VIEW, show
from treedp_core.views import protects

PLAINLY = NOTHING_DRAWN | PLAIN | unspent(MECHANISM)
IGNORED = dict.fromkeys(protects.VIEWS, PLAINLY) | {
    "bound": PLAINLY | unit_bound.IGNORED,
    "clip": NOTHING_DRAWN | NO_ALPHA | unspent(MECHANISM) | value_clip.IGNORED,
}
SHOWN = {"bound": unit_bound.show, "clip": value_clip.show}
PAGE = Page(
    name="protects",
    title="What ε protects",
    icon="shield_person",
    section="Learn",
    about="What a release tells about one person.",
    lede="Counts are out; who knows everybody else's records wants to know about yours. Noise keeps what they see with "
    "and without you alike, and costs accuracy: both sides of one ε.",
    settings=(*SETTINGS, *unit_bound.SETTINGS, *value_clip.SETTINGS),
    switch=VIEW,
    asks_epsilon=True,
    views=tuple(
        View(one.view, SHOWN.get(one.view, partial(show, one.view)), question=one.question, ignores=IGNORED[one.view])
        for one in protects.ENTRIES
        if one.view and not one.section
    ),
)

if __name__ == "__main__":
    PAGE.run()
