"""Rows that look like totals of others: words and arithmetic propose them, a person decides. All of it is private."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from treedp_core.checks import echo
from treedp_core.records.dataset import Dataset
from treedp_core.records.read import text
from treedp_core.records.read.text import reads_as_total

Suspect = tuple[str, str]
"""A column, and a label whose rows look like totals."""
MAX_SUSPECTS: Final = 20
CODE: Final = "TOTALS"
_MOST: Final = 0.9


def suspected(data: Dataset, unlisted: Iterable[Suspect] = ()) -> tuple[Suspect, ...]:
    """Return labels whose rows look like totals of others, by column.

    By words; and where a column says how many records a row stands for, by their counts: children that have as many
    records as all their siblings, of which there must be two.

    Parameters
    ----------
    data : Dataset
    unlisted : iterable of (column, label)
        Labels outside a public domain that were met.
    """
    found = dict.fromkeys(unlisted)
    for level in range(1, data.tree.n_levels):
        column, words = data.labels.level_names[level], data.labels.vocabularies[level]
        nodes = np.arange(*data.tree.level(level).indices(data.tree.n_nodes))
        codes, parents = data.labels.codes[nodes], data.tree.parent[nodes]
        held = data.counts[nodes] > 0
        of_label = np.bincount(codes[held], minlength=len(words))
        hits = np.zeros(len(words), dtype=np.int64)
        if data.report.recipe.weight:
            is_sum = held & (2 * data.counts[nodes] == data.counts[parents])
            siblings = np.bincount(parents[held], minlength=data.tree.n_nodes)[parents] >= 3
            hits = np.bincount(codes[is_sum & siblings], minlength=len(words))
        adds_up = (hits > 0) & (hits >= _MOST * of_label)
        for code in np.flatnonzero(of_label).tolist():
            label = str(words[code])
            if label != text.OTHER and (adds_up[code] or reads_as_total(label)):
                found[column, label] = None
            if len(found) >= MAX_SUSPECTS:
                break
    return tuple(found)


def notices(suspects: tuple[Suspect, ...]) -> list[text.Notice]:
    """Return what to know of rows that look like totals."""
    if not suspects:
        return []
    shown = ", ".join(f"{echo(label)} in column {echo(column)}" for column, label in suspects[:3])
    more = f" and {len(suspects) - 3} more" if len(suspects) > 3 else ""
    return [(CODE, f"Rows with {shown}{more} may be totals of others: if so, leave them out by the option left_out.")]
