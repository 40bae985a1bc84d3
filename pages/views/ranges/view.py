"""Why a tree: a range is dragged in the browser, and three ways to count it stand side by side."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui import controls, frame
from pages.ui.page import Told
from pages.ui.ranges import ranges
from pages.ui.settings import EPSILON, SEED
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.views.ranges import settings as s
from treedp_core.figures.ranges import error_by_length
from treedp_core.notebook.code import call
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.ranges import RECORDS, TREES, Ranges, for_browser, of_lengths, three_ways
from treedp_core.words import plural, setting_text, short, whole

CAPTION: Final = (
    "NOT PRIVATE, but made up: grey bars are true counts. Blue: noisy counts that are added for the range; orange: "
    "those taken away. σ is the standard deviation (formula), the bar beside it is two of them to each side of the "
    "truth; the dot is one simulated release. Laplace noise, one record replaced, total public; histogram and tree "
    "without least squares, which would improve both. Drag the ends or the middle, or use the arrow keys; nothing is "
    "asked of the server. Ways: Rameshwar et al., Lemmas III.1, III.2 and IV.1."
)


def show() -> Told:
    """Show the range and its three ways."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            EPSILON.draw()
        bins = int(s.BINS.draw())
        controls.draw_again("ran_draw")
    epsilon, seed = EPSILON.value, SEED.value
    found = remember(("ranges", bins, epsilon, seed), lambda: three_ways(bins, epsilon, seed))
    said = answer(found, epsilon)
    ran = remember(("ranges by length", bins, epsilon), lambda: call(of_lengths, bins, epsilon).named("lengths"))
    frame.moving(
        partial(ranges, "A range over bins, counted in three ways", for_browser(found), key="ran_ranges"),
        key="ran_ranges_figure", alt=said, caption=CAPTION, answer=said, ran=ran, still=call(error_by_length, ran),
    )  # fmt: skip
    about = strip(
        f"{whole(RECORDS)} made-up records", relation=NeighbouringRelation.REPLACE_ONE, fixed=True, epsilon=epsilon,
        seed=seed,
    )  # fmt: skip
    return Told(about, "formula, simulation, NOT PRIVATE")


def answer(found: Ranges, epsilon: float) -> str:
    """Return how far a range is off by each way, and how many counts it adds, over all ranges."""
    histogram, prefixes, tree = found.ways
    bins = found.truth.size
    best = min(found.ways, key=lambda one: one.typical)
    start = (
        f"Over all {plural(found.n_ranges, 'range')} of {bins} bins at ε = {setting_text(epsilon)}, the tree "
        f"{TREES[bins][0]} × {TREES[bins][1]} is typically off by **{short(tree.typical)}** with "
        f"{short(tree.pieces_on_average, 2)} noisy counts a range, the histogram by {short(histogram.typical)} with "
        f"{short(histogram.pieces_on_average, 2)}, noise on every prefix by {short(prefixes.typical)} with two. "
    )
    if best is tree:
        return start + "Few counts, each a little noisier: the tree wins on long ranges."
    return start + "Over so few bins adding them all is cheaper than noise for a second level: take more bins."
