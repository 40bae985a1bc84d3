"""Lesson: predict, see it run, and understand, in eight steps."""

from functools import partial

from pages.ui.inputs.inactive_settings import NOTHING_DRAWN, Reasons
from pages.ui.page.page import Page, View
from pages.views.lesson.exercises import SETTINGS, STEP
from pages.views.lesson.view import show, show_card
from treedp_core.studies.lesson import CARD, STEPS

OWN = "The lesson brings its own numbers."
IGNORED: Reasons = NOTHING_DRAWN | dict.fromkeys(
    ("eps", "delta", "nbr", "contributions", "known_levels", "alpha", "tau"), OWN
)
PAGE = Page(
    name="lesson",
    title="Lesson",
    icon="school",
    section="Learn",
    about="Eight steps in 45 minutes: predict, see it run, understand.",
    lede="Guess before anything is shown; your own guess is then run. Exercises are under More.",
    settings=SETTINGS,
    switch=STEP,
    views=(
        *(View(one.name, partial(show, one.name), question=one.title, ignores=IGNORED) for one in STEPS),
        View(CARD, show_card, question="What have I learnt?", ignores=IGNORED),
    ),
)

if __name__ == "__main__":
    PAGE.run()
