"""The tree itself, which one walks through by clicking."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pages.ui.figure.frame import found
from pages.ui.inputs.text import lit, prose
from pages.ui.inputs.walk import walk
from pages.ui.page.view import Seen, see
from pages.views.data.settings import NODE
from treedp_core.records import Dataset
from treedp_core.views.data import DataInputs
from treedp_core.words import plural


def show_tree(seen: Seen[DataInputs]) -> None:
    """Show the tree below the node one has walked to."""
    data = seen.tables.value.data

    def show(root: int) -> str | None:
        return found(see(seen.entry, replace(seen.inputs, node=root), seen.tables), select=True)

    walk(show, data.tree, data.labels, key=NODE.key, of=data.fingerprint, on_leaf=partial(_leaf, data))


def _leaf(data: Dataset, node: int) -> None:
    path = " › ".join(lit(label, 40) for label in data.labels.path(node))
    prose(f"Leaf {path}: {plural(int(data.counts[node]), 'record')} (NOT PRIVATE)")
