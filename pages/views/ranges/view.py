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
from treedp_core.studies.ranges import RECORDS, TREES, Ranges, Way
from treedp_core.tree.text import product_text
from treedp_core.words import plural, setting_text, short, whole


def show() -> Told:
    """Show the range and its three ways."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        with st.container(width=250):
            EPSILON.draw()
        bins = int(s.BINS.draw())
        least_squares = s.LEAST_SQUARES.draw()
        controls.draw_again("ran_draw")
    epsilon, seed = EPSILON.value, SEED.value
    found = range_in_three_ways(bins, epsilon, seed, least_squares=least_squares)
    said = answer(found, epsilon)
    show_range(found, epsilon, key="ran_ranges", alt=said, answer=said, shown=(s.FROM.value, s.TO.value))
    about = strip(
        f"{whole(RECORDS)} made-up records", relation=NeighbouringRelation.REPLACE_ONE, fixed=True, epsilon=epsilon,
        seed=seed,
    )  # fmt: skip
    return Told(about, "formula, simulation, NOT PRIVATE")


def answer(found: Ranges, epsilon: float) -> str:
    """Return how far a range is off by each way, over all ranges, and which way is best."""
    histogram, prefixes, tree = found.ways
    bins = found.truth.size
    start = (
        f"Over all {plural(found.n_ranges, 'range')} of {whole(bins)} bins at ε = {setting_text(epsilon)}"
        f"{' after least squares' * found.least_squares}, the tree {product_text(TREES[bins])} is typically off by "
        f"**{short(tree.typical)}**{_counts(tree)}, the histogram by {short(histogram.typical)}{_counts(histogram)}, "
        f"noise on every cumulative count by {short(prefixes.typical)}. "
    )
    if tree.typical < min(histogram.typical, prefixes.typical):
        why = "With all counts weighed, too," if found.least_squares else "Few counts, each a little noisier:"
        return f"{start}{why} **the tree wins**."
    return f"{start}Over so few bins a second level costs more than it saves: take more bins, and the tree wins."


def _counts(way: Way) -> str:
    return "" if way.least_squares else f" with {short(way.counts_on_average)} noisy counts a range"
