"""The parent-children ledger: do the children of one node add up to it? Pure logic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pages.ui.text import plural
from pages.views.consistency.draw import SAME, Draw
from treedp_core.records import Labels
from treedp_core.tree import AnyArray, Tree

MAX_TERMS: Final = 8
MAX_ROWS: Final = 500


def family(tree: Tree, node: int) -> int:
    """Return the node whose family is shown: the node itself, or the parent of a leaf; 0 if there is no such node.

    >>> tree = Tree.from_branching_factors((2,))
    >>> family(tree, 0), family(tree, 2), family(tree, 99)
    (0, 0, 0)
    """
    if not 0 <= node < tree.n_nodes:
        return 0
    return int(tree.parent[node]) if tree.n_children[node] == 0 and node > 0 else node


def equation(tree: Tree, node: int, values: AnyArray) -> str:
    """Return the children's sum against their parent, as text.

    >>> equation(Tree.from_branching_factors((3,)), 0, np.array([27, 12, 7, 5]))
    '12 + 7 + 5 = 24 ≠ 27'
    """
    children = values[tree.children(node)]
    if not children.size:
        return f"{amount(float(values[node]))} (no children)"
    total, parent = float(children.sum()), float(values[node])
    terms = amount(float(children[0])) + "".join(_term(float(value)) for value in children[1:MAX_TERMS])
    if children.size > MAX_TERMS:
        terms += f" + … ({plural(children.size - MAX_TERMS, 'more child', 'more children')})"
    same = abs(total - parent) <= SAME + 1e-14 * abs(parent) * children.size
    return f"{terms} = {amount(total)} {'=' if same else '≠'} {amount(parent)}"


def amount(value: float) -> str:
    """Return a count as text: whole numbers as such, others to one decimal place.

    >>> amount(12.0), amount(-3.04), amount(float("nan"))
    ('12', '−3.0', '(not measured)')
    """
    if not math.isfinite(value):
        return "(not measured)"
    text = f"{abs(value):,.0f}" if value == int(value) else f"{abs(value):,.1f}"
    return ("−" if value < 0 else "") + text.replace(",", "\u202f")


def _term(value: float) -> str:
    return f" − {amount(-value)}" if value < 0 else f" + {amount(value)}"


def rows(the: Draw, node: int, labels: Labels) -> dict[str, list[Any]]:
    """Return the ledger's table: the node first, then at most 500 of its children."""
    children = the.tree.children(node)
    nodes = [node, *range(children.start, min(children.stop, children.start + MAX_ROWS))]
    columns = {"true count": the.counts, "before": the.before, "after": the.after}
    table: dict[str, list[Any]] = {
        "role": ["parent"] + ["child"] * (len(nodes) - 1),
        "label": [labels.label(one) for one in nodes],
    }
    return table | {name: [float(values[one]) for one in nodes] for name, values in columns.items()}


def find(labels: Labels, text: str, limit: int = 50) -> list[int]:
    """Return at most `limit` nodes whose label contains the text, from the top, upper and lower case alike.

    Only the vocabularies are searched word by word; nodes are matched by their codes.
    """
    needle, found = text.casefold(), list[int]()
    for level, words in enumerate(labels.vocabularies):
        hits = np.fromiter((needle in word.casefold() for word in words), dtype=bool, count=len(words))
        start, stop = labels.level_start[level], labels.level_start[level + 1]
        if hits.any():
            found += (start + np.flatnonzero(hits[labels.codes[start:stop]])[: limit - len(found)]).tolist()
        if len(found) >= limit:
            break
    return found


def found_table(labels: Labels, nodes: Sequence[int]) -> dict[str, list[str]]:
    """Return the table of found nodes: the name of their level, and their path."""
    levels = np.searchsorted(labels.level_start, nodes, side="right") - 1
    return {
        "level": [labels.level_names[level] for level in levels.tolist()],
        "path": [" › ".join(labels.path(node)) or labels.label(node) for node in nodes],
    }
