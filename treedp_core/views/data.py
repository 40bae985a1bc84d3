"""Data and tree: the tree that exact counts stand on, and how the noise of a leaf compares with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from treedp_core.checks import MAX_NODES
from treedp_core.figures.trees.icicle import HOW, drafted
from treedp_core.figures.trees.strips import count_strips, strip_table
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.dataset import children_table
from treedp_core.studies.data import Hidden, hidden_leaves
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import whole
from treedp_core.words import margin, percent, plural, setting_text, with_noun

# ---- the views of the page Data and tree: the tree as blocks, and all of its levels as strips


MAX_BLOCKS: Final = 400


@dataclass(frozen=True, kw_only=True)
class DataInputs(ReleaseInputs):
    """What the page Data and tree shows.

    Parameters
    ----------
    node : int
        Where the tree starts; a leaf or none of the tree stands for its parent or the root.
    """

    node: int = of(whole("data_node", 0, 0, MAX_NODES))


def tree(inputs: DataInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the tree below a node as blocks, and what the noise of a leaf is beside the counts of the leaves."""
    data = tables.data
    root, found = data.tree.family(inputs.node), hidden_leaves(data, inputs.experiment(data))
    return Finding(
        figure=drafted(
            data.tree, data.labels, data.counts, data.counts, root=root, max_nodes=MAX_BLOCKS, colour_range=None,
            colour_title="records",
        ),
        columns=partial(children_table, data, root),
        answer=f"{plural(data.total, 'record')} on {plural(data.tree.n_leaves, 'leaf', 'leaves')}; at ε = "
        f"{setting_text(inputs.epsilon)} the 95 % margin of a leaf is {with_noun(margin(found.margin), 'record')}, and "
        f"{_hidden(found)}.",
        alt=f"Tree of {data.tree.n_nodes} nodes below node {root} as blocks whose widths are exact counts",
        caption=f"NOT PRIVATE: exact counts. Width and colour: records. At most {MAX_BLOCKS} blocks are shown; the "
        "smallest are merged into “others”.",
        how=HOW,
        badges=("formula", NOT_PRIVATE),
        provenance=_provenance(inputs, tables),
    )  # fmt: skip


def strips(inputs: DataInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return all levels of the tree as strips."""
    data = tables.data
    figure = count_strips(data.tree, data.counts, data.labels.level_names)
    return Finding(
        figure=figure,
        columns=partial(strip_table, figure),
        alt=f"All {data.tree.n_levels} levels as strips, leaves from left to right, coloured by mean exact count",
        caption="NOT PRIVATE: exact counts. Every level as a strip over all "
        f"{plural(data.tree.n_leaves, 'leaf', 'leaves')}, left to right; colour: records as a share "
        "of the level's largest node, mean over the nodes of a column.",
        badges=(NOT_PRIVATE,),
        provenance=_provenance(inputs, tables),
    )


def _hidden(found: Hidden) -> str:
    """How many leaves are not larger than the margin; "every" and "no" only where that is so."""
    if found.number == 0:
        return "every leaf is larger than that"
    if found.number == found.of:
        return "no leaf is larger than that"
    are = "is" if found.number == 1 else "are"
    return f"{plural(found.number, 'leaf', 'leaves')} ({percent(found.number / found.of)}) {are} not larger than that"


def _provenance(inputs: DataInputs, tables: Tables) -> Provenance:
    relation = NeighbouringRelation(inputs.relation)
    return Provenance(about=about_data(tables.data), relation=relation, epsilon=inputs.epsilon)


ENTRIES = (
    Entry(page="data", part="tree_0", inputs=DataInputs, find=tree),
    Entry(page="data", part="strips", section="strips", inputs=DataInputs, find=strips),
)
