"""The tree of one top-down release, as measured and as projected: two icicles with a way down and up."""

from __future__ import annotations

from typing import Final

import numpy as np
import streamlit as st

from pages.ui import frame
from pages.ui.text import lit, plural, short
from pages.views.topdown.draw import Drawn
from treedp_core.figures import clicked_node, icicle
from treedp_core.records import Labels
from treedp_core.studies.topdown.model import RULES
from treedp_core.tree import AnyArray, Tree

MAX_BLOCKS: Final = 200
_NODE: Final = "_td_node"


def pictures(mine: Drawn) -> None:
    """Show the tree before and after the projection; of a sparse release only what is there, after it."""
    st.header("The tree, before and after", anchor=False)
    picture = mine.picture
    if picture is None:
        st.caption("This release is too large to be drawn as a tree.")
        return
    tree, labels, truth, released = picture
    root = _root(mine, tree)
    _place(labels, root)
    sigmas = mine.plan.sigmas[mine.plan.sigmas > 0]
    clip = 4.0 * float(np.sqrt(np.mean(sigmas**2))) if sigmas.size else 1.0
    pairs = [("After: projected", "td_after", released)]
    if mine.noisy is not None:
        pairs.insert(0, ("Before: as measured", "td_before", mine.noisy))
    for column, (title, key, values) in zip(st.columns(len(pairs)), pairs, strict=True):
        with column:
            st.markdown(f"**{title}**")
            _icicle(mine, tree, labels, truth, values, root, clip, title, key)


def _icicle(
    mine: Drawn, tree: Tree, labels: Labels, truth: AnyArray, values: AnyArray, root: int, clip: float, title: str,
    key: str,
) -> None:  # fmt: skip
    only = (
        "" if mine.noisy is not None else " Only nodes that are in the truth or in the release exist in this picture."
    )
    clicked = frame.figure(
        icicle(
            tree, labels, truth, np.asarray(values - truth, dtype=float), root=root, max_nodes=MAX_BLOCKS,
            colour_range=(-clip, clip), colour_title="error", text=values, released=values,
        ),
        key=key,
        alt=f"{title}: signed errors of the counts below one node, as an icicle.",
        caption=f"NOT PRIVATE: area is the true count, number the {'noisy' if key == 'td_before' else 'released'} one. "
        f"Colour: signed error of this draw, orange too low, blue too high, clipped {short(clip)} "
        f"records to either side (4 σ). "
        f"{RULES[mine.wanted.rule].label}, seed {mine.seed}.{only} Simulation. Click a block to go down.",
        select=True,
    )  # fmt: skip
    target = clicked_node(tree, clicked)
    if target is None:
        return
    goal = max(int(tree.parent[root]), 0) if target == root else _inner(tree, target)
    if goal != root:
        st.session_state[_NODE] = (mine.subject.fingerprint, goal)
        st.rerun()


def _root(mine: Drawn, tree: Tree) -> int:
    """The node the pictures start from: of another subject or tree, the whole."""
    fingerprint, node = st.session_state.get(_NODE) or ("", 0)
    return _inner(tree, node) if fingerprint == mine.subject.fingerprint and node < tree.n_nodes else 0


def _inner(tree: Tree, node: int) -> int:
    """A node with children: itself, or its parent."""
    return node if tree.n_children[node] else max(int(tree.parent[node]), 0)


def _go(goal: tuple[str, int]) -> None:
    st.session_state[_NODE] = goal


def _place(labels: Labels, root: int) -> None:
    fingerprint = (st.session_state.get(_NODE) or ("", 0))[0]
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, icon, target, about in (
            ("Up one level", "arrow_upward", max(int(labels.parent[root]), 0), "Start from the parent."),
            ("Whole tree", "home", 0, "Start from the root."),
        ):
            st.button(label, icon=f":material/{icon}:", key=f"td_{icon}", disabled=root == 0, help=about, on_click=_go,
                      args=((fingerprint, target),), type="tertiary")  # fmt: skip
        path = [lit(part, 40) for part in labels.path(root)]
        below = plural(int((labels.parent == root).sum()), "child", "children")
        st.markdown(f"{' › '.join(path) or 'The whole tree'} · {below}", width="content")
