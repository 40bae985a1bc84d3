"""Branching factor: how many children a node should have."""

from pages.ui.inputs.inactive_settings import NOTHING_DRAWN, PLAIN, unspent
from pages.ui.page.page import Page, View
from pages.views.branching import NOISE, PRESETS, SETTINGS, show

PAGE = Page(
    name="branching",
    title="Branching factor",
    icon="device_hub",
    section="Explore",
    about="How many children a node should have.",
    heading="How many children should a node have?",
    settings=SETTINGS,
    presets=PRESETS,
    lede=("With few children many levels share the budget; with many, long ranges add up many noisy counts."),
    learnt=(
        "The optimum is flat: anything within the shaded band costs at most 5 %, so whole numbers and the padding "
        "of K matter more than 16 against 17. Least squares and Gaussian noise both favour fewer children: binary "
        "trees are best where the two meet, and far from it with plain Laplace noise."
    ),
    views=(View("", show, ignores=NOTHING_DRAWN | unspent(NOISE) | PLAIN),),
)

if __name__ == "__main__":
    PAGE.run()
