"""TopDown and synthetic data: categorical columns released as whole records (InfTDA)."""

from functools import partial

from pages.ui.page.page import Page, View
from pages.views.topdown import settings as s
from pages.views.topdown.view import show
from treedp_core.views import VIEWS

LEARNT = {
    "release": "The projection costs no privacy, and with the chosen probability no count of a level has an error "
    "above a bound that grows with the level. But counts near 0 pay: empty leaves come out filled, small ones get "
    "lost. The paper draws no noise below a count that became 0; as all below ends as 0 anyway, the law is the same.",
    "counts": "Noise has one size on a level, whatever the count: large counts hardly change, small ones are mostly "
    "noise.",
    "rules": "No rule is unbiased near 0, and none is best in everything: a sparser release loses more small leaves, a "
    "closer one fills more empty ones. Least squares first uses all levels for every count, at the same ρ.",
}

PAGE = Page(
    name="topdown",
    title="TopDown and synthetic data",
    icon="grid_on",
    section="Tune",
    about="Release columns top-down as whole synthetic records.",
    lede=(
        "Count every combination of some columns, privately: noisy counts become whole, non-negative and "
        "consistent from the root down, so they are records again."
    ),
    settings=s.SETTINGS,
    presets=s.PRESETS,
    views=tuple(
        View(name, partial(show, name), learnt, question=VIEWS[f"topdown.{name}"].question, ignores=s.OWN_BUDGET)
        for name, learnt in LEARNT.items()
    ),
    switch=s.VIEW,
)  # fmt: skip

if __name__ == "__main__":
    PAGE.run()
