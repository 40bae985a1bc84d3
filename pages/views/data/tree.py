"""The tree itself: level strips for a large one, and an icicle one walks through by clicking."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui.frame import figure
from pages.ui.store import remember
from pages.ui.text import lit, plural, whole
from treedp_core.figures.icicle import clicked_node, icicle
from treedp_core.figures.strips import level_strips
from treedp_core.records import Dataset

MAX_BLOCKS: Final = 400
MAX_ROWS: Final = 100_000
_PLACE: Final = "_place"


def show_tree(data: Dataset) -> None:
    """Show the tree below the node one has walked to; strips of all levels above it where it is large."""
    if data.tree.n_nodes > MAX_BLOCKS:
        _strips(data)
    root = place(data)
    _breadcrumb(data, root)
    fig = icicle(
        data.tree, data.labels, data.counts, data.counts, root=root, max_nodes=MAX_BLOCKS, colour_title="records"
    )
    clicked = figure(
        fig,
        key=f"tree_{root}",
        alt=f"Tree of {data.tree.n_nodes} nodes below node {root} as blocks whose widths are exact counts",
        caption=f"NOT PRIVATE: exact counts. Width and colour: records. At most {MAX_BLOCKS} blocks are shown; the "
        "smallest are merged into “others”. Click a block to go down, the top block to go up.",
        data=partial(children_table, data, root),
        select=True,
    )
    node = clicked_node(data.tree, clicked) if clicked is not None else None
    if node is not None:
        _go(data, root, node)


def place(data: Dataset) -> int:
    """Return the node one has walked to; the root in a tree one has not walked through."""
    of, node = st.session_state.get(_PLACE, ("", 0))
    return node if of == data.fingerprint else 0


def children_table(data: Dataset, root: int) -> dict[str, list[Any]]:
    """Return a node's children with their exact counts (at most 100 000 of them)."""
    nodes = range(data.tree.n_nodes)[data.tree.children(root)][:MAX_ROWS]
    return {
        "node": list(nodes),
        "label": [data.labels.label(node) for node in nodes],
        "count NOT PRIVATE": [int(data.counts[node]) for node in nodes],
    }


def _go(data: Dataset, root: int, node: int) -> None:
    """Walk to a node: down to an inner one, up from the top block; a leaf is only told about."""
    if node == root and node > 0:
        node = int(data.tree.parent[node])
    elif data.tree.is_leaf[node]:
        path = " › ".join(lit(label, 40) for label in data.labels.path(node))
        st.markdown(f"Leaf {path}: {plural(int(data.counts[node]), 'record')} (NOT PRIVATE)")
        return
    if node != root:
        _set(data, node)
        st.rerun()


def _set(data: Dataset, node: int) -> None:
    st.session_state[_PLACE] = (data.fingerprint, node)


def _breadcrumb(data: Dataset, root: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for node in data.tree.ancestors(root):
            st.button(
                lit(data.labels.label(node), 24),
                key=f"up_{node}",
                type="tertiary",
                icon=":material/chevron_right:" if node else ":material/account_tree:",
                disabled=node == root,
                help="Go up to this node.",
                on_click=_set,
                args=(data, node),
            )
        st.caption(f"{whole(int(data.tree.n_children[root]))} children", width="content")


def _strips(data: Dataset) -> None:
    fig = remember(("strips", data.fingerprint), lambda: _strips_figure(data))
    figure(
        fig,
        key="strips",
        alt=f"All {data.tree.n_levels} levels as strips, leaves from left to right, coloured by mean exact count",
        caption="NOT PRIVATE: exact counts. Every level as a strip over all "
        f"{plural(data.tree.n_leaves, 'leaf', 'leaves')}, left to right; colour: records as a share "
        "of the level's largest node, mean over the nodes of a column.",
    )


def _strips_figure(data: Dataset) -> Any:
    largest = np.maximum.reduceat(data.counts, data.tree.level_start[:-1])
    shares = data.counts / np.repeat(np.maximum(largest, 1), data.tree.level_sizes)
    return level_strips(data.tree, shares, data.labels.level_names, colour_range=(0.0, 1.0), colour_title="share")
