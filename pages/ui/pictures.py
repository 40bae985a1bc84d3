"""Two pictures that explain, wherever they help: what a release tells about you, and a range counted in three ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.header import show_badge
from pages.ui.ranges import ranges
from pages.ui.store import remember
from treedp_core.experiment import Experiment
from treedp_core.figures.protects import beliefs_and_levels
from treedp_core.figures.ranges import error_by_length
from treedp_core.notebook.code import call
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.protects import belief_table, protected
from treedp_core.studies.ranges import Ranges, for_browser, of_lengths, three_ways
from treedp_core.tree import Tree
from treedp_core.words import plural, privacy_text, setting_text

EVEN: Final = 0.5
"""The belief before, where a picture asks for none."""
LABEL: Final = "A range over bins, counted in three ways"
_WAYS: Final = (
    "Laplace noise, one record replaced, the total public and free. Noise: Rameshwar et al., Lemmas III.1, III.2 and "
    "IV.1; histogram and tree take "
)
_PLAIN: Final = "the fewest noisy counts that make the range, added or taken away."
_WEIGHED: Final = "all their counts, weighed by least squares; noise on every cumulative count leaves nothing to weigh."
CAPTION: Final = (
    "NOT PRIVATE, but made up: grey bars are true counts. Blue: noisy counts that are added for the range; orange: "
    "those taken away; paler: in part. σ is the standard deviation (formula), the bar beside it is two of them to each "
    f"side of the truth; the dot is one simulated release. {_WAYS}"
)
HOW: Final = "Drag the ends or the middle, or use the arrow keys; nothing is asked of the server."
OF_STILL: Final = (
    "Standard deviation of a range by how many bins it holds, over all such ranges (root mean square, formula). "
    f"{_WAYS}"
)


def range_in_three_ways(bins: int, epsilon: float, seed: int, *, least_squares: bool = False) -> Ranges:
    """Return what is counted over so many bins, one for a session that asks again."""
    key = ("ranges", bins, epsilon, seed, least_squares)
    return remember(key, lambda: three_ways(bins, epsilon, seed, least_squares=least_squares))


def show_range(
    found: Ranges, epsilon: float, *, key: str, alt: str, answer: str = "", shown: tuple[int, int] = (0, 0)
) -> None:
    """Show a range that is dragged: on the first screen with an `answer`, else with its explanation below."""
    bins, is_weighed = found.truth.size, found.least_squares
    asked = call(of_lengths, bins, epsilon, least_squares=is_weighed).named("lengths")
    ran = remember(("ranges by length", bins, epsilon, is_weighed), lambda: asked)
    draw = partial(ranges, LABEL, for_browser(found, shown), key=key)
    still = call(error_by_length, ran)
    taken = _WEIGHED if is_weighed else _PLAIN
    frame.moving(
        draw, key=f"{key}_figure", alt=alt, caption=f"{CAPTION}{taken}", answer=answer, ran=ran, still=still, how=HOW,
        of_still=f"{OF_STILL}{taken}", badges=("formula",),
    )  # fmt: skip


def one_range(bins: int, epsilon: float, seed: int, *, key: str) -> None:
    """Show one range in three ways below a first screen, under a heading of its own."""
    _heading("One range, three ways", "formula", "simulation", "NOT PRIVATE")
    found = range_in_three_ways(bins, epsilon, seed)
    show_range(found, epsilon, key=key, alt=f"{LABEL}: {plural(bins, 'bin')}, ε = {setting_text(epsilon)}")


def with_or_without(settings: Experiment, tree: Tree, level_names: Sequence[str], *, key: str) -> None:
    """Show what an attacker believes after a release with a record and without it, beside what the noise costs."""
    _heading("With or without you", "formula")
    replaces = settings.unit.relation is NeighbouringRelation.REPLACE_ONE
    called = ("this record is yours", "another is") if replaces else ("your record is in", "it is not")
    seen = call(protected, settings, tree, 1).named("seen")
    most = privacy_text(100 * seen.value.risk.posterior(EVEN))
    said = (
        f"At ε = {setting_text(settings.epsilon)} an attacker who was 50 % sure that {called[0]} is at most {most} % "
        f"sure once all {plural(tree.n_nodes, 'count')} are out. Left: what he believes then, if {called[0]} and if "
        f"{called[1]}; right: the margin that the noise costs each level. Formula, no data."
    )
    frame.figure(
        call(beliefs_and_levels, seen, EVEN, called, tuple(level_names)), key=key, alt=said, caption=said,
        ran=call(belief_table, seen, EVEN),
    )  # fmt: skip


def _heading(text: str, *badges: str) -> None:
    st.header(text, anchor=False)
    with st.container(horizontal=True, gap="small"):
        for one in badges:
            show_badge(one)
