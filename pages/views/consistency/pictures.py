"""The Consistency page's pictures: the tree before and after, with a way down and up, and all of it as strips."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.store import dataset
from pages.ui.walk import walk
from pages.views.consistency.settings import NODE
from treedp_core.figures import icicle, level_strips
from treedp_core.studies.sweep.before_after import Draw
from treedp_core.words import short

MAX_BLOCKS: Final = 200
"""Of each of the two pictures side by side: more are too thin to read and slow in the browser."""


def pictures(the: Draw, label: str) -> None:
    """Show the tree before and after from the node looked at; `label` is what every copy must say of the split."""
    data = dataset()
    clip = the.clip
    pair = (("Before: as released", "con_before", the.before, 0), ("After", "con_after", the.after, 1))

    def show(root: int) -> str | None:
        clicked = None
        for column, (title, key, values, i) in zip(st.columns(2), pair, strict=True):
            with column:
                st.markdown(f"**{title}**")
                mark = frame.figure(
                    icicle(
                        data.tree, data.labels, data.counts, the.errors[i], root=root, max_nodes=MAX_BLOCKS,
                        colour_range=(-clip, clip), colour_title="error", text=values, released=values,
                    ),
                    key=key,
                    alt=f"{title}: signed errors of the counts below one node, as an icicle.",
                    caption="NOT PRIVATE: area is the true count. Colour: signed error of this draw, orange too low, "
                    f"blue too high, clipped {short(clip)} records to either side (4 noise scales). Click a block to "
                    "go down.",
                    select=True,
                    label=label,
                )  # fmt: skip
            clicked = clicked or mark
        return clicked

    walk(show, data.tree, data.labels, key=NODE.key)
    if data.tree.n_nodes > MAX_BLOCKS:
        _strips(the, label)


def _strips(the: Draw, label: str) -> None:
    data, clip = dataset(), the.clip
    with st.expander("The whole tree at a glance", key="con_strips", on_change="rerun") as strips:
        if not strips.open:
            return
        for title, errors in zip(("before", "after"), the.errors, strict=True):
            frame.figure(
                level_strips(
                    data.tree, errors, data.labels.level_names, reduce="extreme", colour_range=(-clip, clip),
                    colour_title="error",
                ),
                key=f"con_strips_{title}",
                alt=f"Largest signed errors {title}, level by level, leaves from left to right.",
                caption=f"NOT PRIVATE: signed errors of this draw {title}; each column shows the error furthest from 0 "
                f"among its nodes, clipped {short(clip)} records to either side.",
                label=label,
            )  # fmt: skip
