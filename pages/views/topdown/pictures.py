"""The tree of one top-down release, as measured and as projected: two icicles with a way down and up."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.walk import walk
from treedp_core.figures import icicle
from treedp_core.notebook.code import call
from treedp_core.studies.topdown import Drawn
from treedp_core.studies.topdown.tables import family_table
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.tree import AnyArray
from treedp_core.words import short

MAX_BLOCKS: Final = 200
_NODE: Final = "_td_node"


def pictures(mine: Drawn) -> None:
    """Show the tree before and after the projection; of a sparse release only what is there, after it."""
    st.header("The tree, before and after", anchor=False)
    if mine.picture is None:
        st.caption("This release is too large to be drawn as a tree.")
        return
    tree, labels, _, released = mine.picture
    pairs = [("After: projected", "td_after", released)]
    if mine.noisy is not None:
        pairs.insert(0, ("Before: as measured", "td_before", mine.noisy))

    def show(root: int) -> str | None:
        clicked = None
        for column, (title, key, values) in zip(st.columns(len(pairs)), pairs, strict=True):
            with column:
                st.markdown(f"**{title}**")
                clicked = _icicle(mine, values, root, title, key) or clicked
        return clicked

    walk(show, tree, labels, key=_NODE, of=mine.subject.fingerprint)


def _icicle(mine: Drawn, values: AnyArray, root: int, title: str, key: str) -> str | None:
    """Draw the counts below a node; return the mark that was clicked."""
    assert mine.picture is not None
    tree, labels, truth, _ = mine.picture
    clip = 4.0 * mine.plan.usual_sigma or 1.0
    only = (
        "" if mine.noisy is not None else " Only nodes that are in the truth or in the release exist in this picture."
    )
    return frame.figure(
        icicle(
            tree, labels, truth, (values - truth).astype(float), root=root, max_nodes=MAX_BLOCKS,
            colour_range=(-clip, clip), colour_title="error", text=values, released=values,
        ),
        key=key,
        alt=f"{title}: signed errors of the counts below one node, as an icicle.",
        caption=f"NOT PRIVATE: area is the true count, number the {'noisy' if key == 'td_before' else 'released'} one. "
        f"Colour: signed error of this draw, orange too low, blue too high, clipped {short(clip)} "
        f"records to either side (4 σ). "
        f"{RULES[mine.wanted.rule].label}, seed {mine.seed}.{only} Simulation. Click a block to go down.",
        ran=call(family_table, mine, values, root),
        has_code=False,
        simulated=True,
        select=True,
    )  # fmt: skip
