"""The tree itself: level strips for a large one, and an icicle one walks through by clicking."""

from __future__ import annotations

from functools import partial
from typing import Final

from pages.ui.frame import figure
from pages.ui.store import remember, used
from pages.ui.text import lit, prose
from pages.ui.walk import walk
from pages.views.data.settings import NODE
from treedp_core.figures.icicle import HOW, icicle
from treedp_core.figures.strips import count_strips, strip_table
from treedp_core.notebook.code import call
from treedp_core.records import Dataset
from treedp_core.records.dataset import children_table
from treedp_core.words import plural

MAX_BLOCKS: Final = 400


def show_tree(data: Dataset, answer: str) -> None:
    """Show the tree below the node one has walked to."""
    show, tell = partial(_blocks, data, answer), partial(_leaf, data)
    walk(show, data.tree, data.labels, key=NODE.key, of=data.fingerprint, on_leaf=tell)


def _blocks(data: Dataset, answer: str, root: int) -> str | None:
    source = used()
    return figure(
        call(
            icicle,
            source.get("tree"),
            source.get("labels"),
            source.get("counts"),
            source.get("counts"),
            root=root,
            max_nodes=MAX_BLOCKS,
            colour_title="records",
        ),
        key=f"tree_{root}",
        alt=f"Tree of {data.tree.n_nodes} nodes below node {root} as blocks whose widths are exact counts",
        answer=answer,
        caption=f"NOT PRIVATE: exact counts. Width and colour: records. At most {MAX_BLOCKS} blocks are shown; the "
        "smallest are merged into “others”.",
        how=HOW,
        ran=call(children_table, source, root),
        select=True,
    )


def _leaf(data: Dataset, node: int) -> None:
    path = " › ".join(lit(label, 40) for label in data.labels.path(node))
    prose(f"Leaf {path}: {plural(int(data.counts[node]), 'record')} (NOT PRIVATE)")


def show_strips(data: Dataset) -> None:
    """Show all levels of a large tree as strips."""
    if data.tree.n_nodes <= MAX_BLOCKS:
        return
    source = used()
    drawn = call(count_strips, source.get("tree"), source.get("counts"), source.get("labels.level_names"))
    fig = remember(("strips", data.fingerprint), lambda: drawn.named("strips"))
    figure(
        fig,
        key="strips",
        alt=f"All {data.tree.n_levels} levels as strips, leaves from left to right, coloured by mean exact count",
        caption="NOT PRIVATE: exact counts. Every level as a strip over all "
        f"{plural(data.tree.n_leaves, 'leaf', 'leaves')}, left to right; colour: records as a share "
        "of the level's largest node, mean over the nodes of a column.",
        ran=call(strip_table, fig),
    )
