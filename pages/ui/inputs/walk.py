"""The walk through a tree: which node its pictures start from, the way back up, and where a click leads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import streamlit as st

from pages.ui.inputs.setting import OF_TREE
from pages.ui.inputs.text import lit, small_print
from treedp_core.figures.trees.icicle import NodeLabels, clicked_node
from treedp_core.tree import Tree
from treedp_core.words import plural

FEW: Final = 300
"""Nodes of a tree that is seen whole: in a larger one there is a search."""
SHOWN: Final = 12
"""Nodes that a search shows."""


def walk(
    show: Callable[[int], str | None],
    tree: Tree,
    labels: NodeLabels,
    *,
    key: str,
    of: Hashable = None,
    on_leaf: Callable[[int], None] | None = None,
) -> int:
    """Show the way up and the pictures below it; return the node that they start from.

    A click on a block goes down to it, one on the top block goes up.

    Parameters
    ----------
    show : function
        Draws what starts from a node, and returns the mark that was clicked, if any.
    key : str
        Where the session keeps the node, such as a setting's key.
    of : hashable
        Which tree it is: see `enter`.
    on_leaf : function, optional
        Tells about a leaf that was clicked; without it the click leads to the leaf's parent.
    """
    enter(key, of)
    here = place(tree, key)
    way_up(tree, labels, key)
    follow(show(here), tree, key=key, on_leaf=on_leaf)
    return here


def enter(key: str, of: Hashable) -> None:
    """Begin at the root where the node was one of another tree, as it is no place in this one."""
    if st.session_state.setdefault(f"{key}{OF_TREE}", of) != of:
        st.session_state[f"{key}{OF_TREE}"] = of
        go(key, 0)


def follow(mark: str | None, tree: Tree, *, key: str, on_leaf: Callable[[int], None] | None = None) -> None:
    """Go where a click on a mark leads, if any: see `walk`."""
    here, clicked = place(tree, key), clicked_node(tree, mark)
    if clicked is None:
        return
    goal = max(int(tree.parent[here]), 0) if clicked == here else tree.family(clicked)
    if on_leaf is not None and clicked != here and tree.is_leaf[clicked]:
        on_leaf(clicked)
    elif goal != here:
        go(key, goal)
        st.rerun()


def place(tree: Tree, key: str) -> int:
    """Return the node looked at: one with children; the root where the session holds no node of the tree."""
    return tree.family(int(st.session_state.get(key, 0)))


def go(key: str, node: int) -> None:
    """Look at another node."""
    st.session_state[key] = node


def way_up(tree: Tree, labels: NodeLabels, key: str) -> None:
    """Show the nodes above the one looked at, each a way back to it."""
    here = place(tree, key)
    above = tree.ancestors(here)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Up one level", key=f"{key}_up", type="tertiary", icon=":material/arrow_upward:", disabled=here == 0,
            help="Start from the parent.", on_click=go, args=(key, above[-2] if here else 0),
        )  # fmt: skip
        for node in above:
            st.button(
                lit(labels.label(node), 24), key=f"{key}_to_{node}", type="tertiary",
                icon=":material/chevron_right:" if node else ":material/account_tree:", disabled=node == here,
                help="Start from this node.", on_click=go, args=(key, node),
            )  # fmt: skip
        small_print(plural(int(tree.n_children[here]), "child", "children"), width="content")
        if tree.n_nodes > FEW:
            with st.popover("Find", icon=":material/search:", type="tertiary"):
                _find(tree, labels, key)


def _find(tree: Tree, labels: NodeLabels, key: str) -> None:
    """Ask for a text, and show the nodes that have it, each a way to it; to a leaf's parent for a leaf."""
    said = st.text_input("A part of a name", key=f"{key}_find", max_chars=200, placeholder="south > ulm",
                         help="“south > ulm” finds what has “ulm” in its name, below what has “south”.")  # fmt: skip
    if not said.strip():
        return
    nodes = labels.found(said)
    for node in nodes[:SHOWN].tolist():
        st.button(" › ".join(lit(name, 24) for name in labels.path(node)), key=f"{key}_found_{node}", type="tertiary",
                  on_click=go, args=(key, tree.family(node)), help="Start from here.")  # fmt: skip
    more = f" The first {SHOWN} are shown: say more of it." if nodes.size > SHOWN else ""
    small_print(f"{plural(nodes.size, 'node')} with that name.{more}")
