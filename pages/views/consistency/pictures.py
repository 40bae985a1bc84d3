"""The Consistency page's pictures: the tree before and after, with a way down and up, and all of it as strips."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame, tuned
from pages.ui.store import dataset
from pages.ui.text import lit, short
from pages.views.consistency.draw import Draw
from pages.views.consistency.ledger import family
from pages.views.consistency.state import go, node
from treedp_core.figures import clicked_node, icicle, level_strips

MAX_BLOCKS: Final = 200
"""Of each of the two pictures side by side: more are too thin to read and slow in the browser."""


def pictures(the: Draw) -> None:
    """Show the tree before and after; a click goes down to a node, a click on the top block goes up."""
    data = dataset()
    root = node()
    _place(root)
    clip = the.clip
    pair = (("Before: as released", "con_before", the.before, 0), ("After", "con_after", the.after, 1))
    for column, (title, key, values, i) in zip(st.columns(2), pair, strict=True):
        with column:
            st.markdown(f"**{title}**")
            clicked = frame.figure(
                icicle(
                    data.tree,
                    data.labels,
                    data.counts,
                    the.errors[i],
                    root=root,
                    max_nodes=MAX_BLOCKS,
                    colour_range=(-clip, clip),
                    colour_title="error",
                    text=values,
                    released=values,
                ),
                key=key,
                alt=f"{title}: signed errors of the counts below one node, as an icicle.",
                caption="NOT PRIVATE: area is the true count. Colour: signed error of this draw, orange too low, blue "
                f"too high, clipped {short(clip)} records to either side (4 noise scales). Click a block to go down.",
                select=True,
                label=tuned.label("con"),
            )
            _follow(clicked, root)
    if data.tree.n_nodes > MAX_BLOCKS:
        _strips(the, clip)


def _place(root: int) -> None:
    """Say which node the pictures start from, and offer the way back up."""
    data = dataset()
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, target, about in (
            ("Up one level", "arrow_upward", max(int(data.tree.parent[root]), 0), "Start from the parent."),
            ("Whole tree", "home", 0, "Start from the root."),
        ):
            st.button(
                label,
                icon=f":material/{icon}:",
                key=f"con_{icon}",
                disabled=root == 0,
                help=about,
                on_click=go,
                args=(target,),
                type="tertiary",
            )
        path = [lit(part, 40) for part in data.labels.path(root)]
        st.markdown(" › ".join(path) or "The whole tree", width="content")


def _follow(clicked: str | None, root: int) -> None:
    """Go where a click points: into a block, or up when it is the top one."""
    tree = dataset().tree
    target = clicked_node(tree, clicked)
    if target is None:
        return
    goal = max(int(tree.parent[root]), 0) if target == root else family(tree, target)
    if goal != root:
        go(goal)
        st.rerun()


def _strips(the: Draw, clip: float) -> None:
    data = dataset()
    with st.expander("The whole tree at a glance", key="con_strips", on_change="rerun") as strips:
        if not strips.open:
            return
        for title, errors in zip(("before", "after"), the.errors, strict=True):
            frame.figure(
                level_strips(
                    data.tree,
                    errors,
                    data.labels.level_names,
                    reduce="extreme",
                    colour_range=(-clip, clip),
                    colour_title="error",
                ),
                key=f"con_strips_{title}",
                alt=f"Largest signed errors {title}, level by level, leaves from left to right.",
                caption=f"NOT PRIVATE: signed errors of this draw {title}; each column shows the error furthest from 0 "
                f"among its nodes, clipped {short(clip)} records to either side.",
                label=tuned.label("con"),
            )
