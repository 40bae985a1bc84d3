"""The tree of one top-down release, as measured and as projected: two icicles with a way down and up."""

from __future__ import annotations

import streamlit as st

from pages.ui import frame
from pages.ui.text import prose, small_print
from pages.ui.walk import walk
from pages.views.topdown.settings import NODE
from treedp_core.figures.icicle import HOW
from treedp_core.figures.of_topdown import tree_of_release
from treedp_core.notebook.code import Ran, call
from treedp_core.studies.topdown import Drawn
from treedp_core.studies.topdown.tables import family_table
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.words import short


def pictures(mine: Drawn, again: Ran[Drawn]) -> None:
    """Show the tree before and after the projection; of a sparse release only what is there, after it."""
    st.header("The tree, before and after", anchor=False)
    if mine.picture is None:
        small_print("This release is too large to be drawn as a tree.")
        return
    tree, labels, *_ = mine.picture
    pairs = [("After: projected", "td_after", True)]
    if mine.noisy is not None:
        pairs.insert(0, ("Before: as measured", "td_before", False))

    def show(root: int) -> str | None:
        clicked = None
        for column, (title, key, after) in zip(st.columns(len(pairs)), pairs, strict=True):
            with column:
                prose(f"**{title}**")
                clicked = _icicle(mine, again, root, title, key, after=after) or clicked
        return clicked

    walk(show, tree, labels, key=NODE.key, of=mine.subject.fingerprint)


def _icicle(mine: Drawn, again: Ran[Drawn], root: int, title: str, key: str, *, after: bool) -> str | None:
    """Draw the counts below a node; return the mark that was clicked."""
    clip = 4.0 * mine.plan.usual_sigma or 1.0
    only = (
        "" if mine.noisy is not None else " Only nodes that are in the truth or in the release exist in this picture."
    )
    return frame.figure(
        call(tree_of_release, again, root, after=after),
        key=key,
        alt=f"{title}: signed errors of the counts below one node, as an icicle.",
        caption=f"NOT PRIVATE: area is the true count, number the {'noisy' if key == 'td_before' else 'released'} one. "
        f"Colour: signed error of this draw, orange too low, blue too high, clipped {short(clip)} "
        f"records to either side (4 σ). "
        f"{RULES[mine.wanted.rule].label}, seed {mine.seed}.{only} Simulation.",
        how=HOW,
        ran=call(family_table, again, root, after=after),
        simulated=True,
        select=True,
    )  # fmt: skip
