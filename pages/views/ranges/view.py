"""Why a tree: a range is dragged in the browser, and three ways to count it stand side by side."""

from __future__ import annotations

import streamlit as st

from pages.ui import controls
from pages.ui.page import Told
from pages.ui.pictures import range_in_three_ways, show_range
from pages.ui.settings import EPSILON, SEED
from pages.ui.strip import strip
from pages.views.ranges import settings as s
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.ranges import RECORDS, TREES, Ranges
from treedp_core.words import plural, setting_text, short, whole


def show() -> Told:
    """Show the range and its three ways."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=320):
            EPSILON.draw()
        bins = int(s.BINS.draw())
        controls.draw_again("ran_draw")
    epsilon, seed = EPSILON.value, SEED.value
    found = range_in_three_ways(bins, epsilon, seed)
    said = answer(found, epsilon)
    show_range(found, bins, epsilon, key="ran_ranges", alt=said, answer=said)
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
        f"{short(histogram.pieces_on_average, 2)}, noise on every cumulative count by {short(prefixes.typical)} with "
        "two. "
    )
    if best is tree:
        return start + "Few counts, each a little noisier: the tree wins on long ranges."
    return start + "Over so few bins adding them all is cheaper than noise for a second level: take more bins."
