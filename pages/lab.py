"""Error lab: how large the error is, of which mechanism, at which ε."""

from functools import partial

from pages.ui.inputs.inactive_settings import unspent, unused_by
from pages.ui.page.page import Page, View
from pages.views import lab as s
from pages.views.lab import show
from treedp_core.studies.sweep.series import VIEWS

PAGE = Page(
    name="lab",
    title="Error lab",
    icon="monitoring",
    section="Explore",
    about="Error curves: theory and simulation.",
    heading="Which mechanism has the smallest error at my ε?",
    lede="Compare mechanisms and post-processing: lines are theory, markers are simulations, both at the same promise.",
    settings=s.SETTINGS,
    presets=s.PRESETS,
    switch=s.VIEW,
    views=tuple(
        View(name, partial(show, name), ignores=unspent(s.COMPARED) | unused_by(s.METRIC, s.COMPARED)) for name in VIEWS
    ),
    learnt=(
        "An unbiased release's error falls about as 1/ε, so the curves keep their distance: the choice of "
        "mechanism, split and post-processing matters at every ε. Least squares is free and never hurts an "
        "unbiased release. Gaussian noise needs a δ, and pays off when one record touches many levels. Setting "
        "negative counts to 0 looks harmless, but lifts small counts, so that sums of them come out too large."
    ),
)

if __name__ == "__main__":
    PAGE.run()
