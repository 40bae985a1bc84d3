r"""The one form of a file of records that handed-over programs read: a line for each leaf that holds any. NOT PRIVATE.

Where sums of values are released, a line says how many steps of the grid its leaf holds, each value clipped.

UTF-8 with commas. Its columns are the levels, or the bins, with labels of the plan's domain; the last one says how many
records a leaf holds, and is named after the plan. Our own reader counted them by the plan's recipe, and left out what a
unit has beyond its bound, so that programs need neither the rule nor the rows.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.plans.statement import Bins, Statement
from treedp_core.records import (
    Dataset,
    ReadOptions,
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    strict_json,
)
from treedp_core.records.dataset import sums_of
from treedp_core.records.domain import Domain as CountedDomain
from treedp_core.records.edges import interval_labels
from treedp_core.records.read.layout.options import OPTIONS
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.text import BLANK, OTHER

CODE: Final = "RECORDS_OTHER"
Cells = tuple[str, ...]


def header(plan: Statement) -> list[str]:
    """Return the names of the columns; the last one holds the first 16 digits of the plan's SHA-256."""
    digest = hashlib.sha256(strict_json.write(plan).encode("utf-8")).hexdigest()
    return [*columns(plan), f"{'steps' if plan.is_of_sums else 'records'} of plan {digest[:16]}"]


def columns(plan: Statement) -> list[str]:
    """Return the columns of the file of records that a plan counts, in the order of its levels."""
    bins = plan.domain.bins
    if bins is None:
        return [one.name for one in plan.levels[1:]]
    return [bins.column] if bins.is_numeric else list(bins.columns)


def cells(plan: Statement) -> Iterator[Cells]:
    """Return the labels that stand in the file for each leaf of a plan, in its order."""
    domain, n = plan.domain, len(columns(plan))
    if domain.bins is not None and domain.bins.is_numeric:
        others = [OTHER] if domain.bins.has_other else []
        return ((label,) for label in chain(interval_labels(np.array(domain.bins.all_edges)), others))
    return (_padded(path, n) for path in domain.labels())


def other(plan: Statement) -> int | None:
    """Return which leaf takes the records that fit nowhere, by its position; None where the tree has none."""
    found = {one: at for at, one in enumerate(cells(plan))}
    n, label = len(columns(plan)), OTHER
    while _padded((label,), n) not in found and any(one[:1] == (label,) for one in found):
        label = f"({label})"
    return found.get(_padded((label,), n), found.get((OTHER,) * n))


def records_of(plan: Statement, data: Dataset) -> bytes:
    """Return the file of records of data that were counted by the recipe of a plan: NOT PRIVATE.

    Raises
    ------
    InputError
        ``RECORDS_OTHER`` for data with other columns or labels, or counted in another way.
    """
    if wrong := misfit(plan, data):
        raise wrong
    if plan.is_of_sums and not data.report.recipe.clip:
        data = sums_of(data, plan.recipe.clip)
    known, held = set(cells(plan)), _held(plan, data)
    if not known >= held.keys():
        raise InputError(CODE, "These records lie on leaves that the plan does not list; make the plan anew from them.")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header(plan))
    writer.writerows((*one, n) for one, n in held.items())
    return out.getvalue().encode("utf-8")


def misfit(plan: Statement, data: Dataset) -> InputError | None:
    """Return why data are not those of a plan, as far as that is seen at a glance: by recipe and columns."""
    told = ""
    # what a recipe says of one file, another file may have in another form
    found = replace(data.report.recipe, **{name: getattr(plan.recipe, name) for name in OPTIONS})
    if plan.is_of_sums and not found.clip and found.value:
        found = replace(found, clip=plan.recipe.clip)  # the same records, whose values are yet to be clipped
    if found != plan.recipe:
        told = "These records were counted in another way than the plan states; make the plan anew."
    elif not _is_by_number(plan) and not set(columns(plan)) <= set(data.labels.level_names[1:]):
        told = "These records have other columns than the plan; make the plan anew from them."
    return InputError(CODE, told) if told else None


def recount(plan: Statement, origin: Origin, options: ReadOptions | None = None) -> Dataset:
    """Return the counts of a file of records by the recipe of a plan; what `options` say holds instead of the plan's.

    Raises
    ------
    InputError
        ``RECORDS_OTHER`` for a plan that does not list its leaves; what counting refuses.
    """
    recipe, domain = plan.recipe, plan.domain
    elsewhere = "refuse" if other(plan) is None else "other"
    weight, unit, bound = recipe.weight or None, recipe.unit or None, max(recipe.bound, 1)
    # nothing is found out: how the file is read is fixed by the plan, not by a record
    options = ReadOptions(**{name: getattr(options, name, None) or getattr(recipe, name) for name in OPTIONS})
    numbers = [one for one in (weight, recipe.value) if one]
    values: dict[str, Any] = {"value": recipe.value, "grid": recipe.grid, "clip": recipe.clip} if recipe.value else {}
    if domain.bins is not None and domain.bins.is_numeric:
        numbers.append(domain.bins.column)
        return count_bins(
            origin, domain.bins.column, **_edges(domain.bins),
            weight=weight, unit=unit, contributions=bound, outside="clamp" if recipe.cut else elsewhere,
            options=options, **_said(recipe, numbers),
        )  # fmt: skip
    missing = "other" if recipe.blanks_out else "category"
    return count_hierarchy(
        origin, columns(plan), domain=_domain(plan), weight=weight, unit=unit, contributions=bound, missing=missing,
        outside=elsewhere, options=options, derive=dict(recipe.derived) or None, **_said(recipe, numbers), **values,
    )  # fmt: skip


def _held(plan: Statement, data: Dataset) -> Counter[Cells]:
    """Records of each leaf that holds any, by what stands in the file for it."""
    leaves = data.tree.leaves[data.counts[data.tree.leaves] > 0]
    names, by_number = data.labels.level_names[1:], _is_by_number(plan)
    at = [] if by_number else [names.index(name) for name in columns(plan)]
    found: Counter[Cells] = Counter()
    known, elsewhere = list(cells(plan)), other(plan)
    for leaf, path in zip(leaves.tolist(), data.labels.paths_of(leaves), strict=True):
        padded = _padded(path, len(names))
        one = path[-1:] if by_number else tuple(padded[i] for i in at)
        is_beside = plan.domain.bins is not None and path[-1] == BLANK and one not in known
        found[known[elsewhere] if is_beside and elsewhere is not None else one] += int(data.counts[leaf])
    return found


def _is_by_number(plan: Statement) -> bool:
    return plan.domain.bins is not None and plan.domain.bins.is_numeric


def _said(recipe: Recipe, numbers: Sequence[str]) -> dict[str, Any]:
    """What else was said of the file: how its numbers are written, whatever they are now, and which rows are left out.

    What the plan does not say has a decimal point: were it found out, one record could have the whole file refused.
    """
    said = {"marks": {name: recipe.marks_of(name) for name in numbers}, "left_out": dict(recipe.left_out)}
    return {name: one for name, one in said.items() if one}


def _edges(bins: Bins) -> dict[str, Any]:
    """The edges as the reader takes them."""
    if len(bins.edges) > 2:
        return {"edges": bins.edges}
    return dict(zip(("lower", "upper"), bins.edges, strict=True)) | {"n_bins": bins.n_within}


def _domain(plan: Statement) -> CountedDomain:
    """The domain as the reader takes it; a leaf for all else is left to the reader, which says what it put there."""
    names, at = columns(plan), other(plan)
    if len(plan.domain.categories) > 1:
        return domain_of_values(dict(zip(names, plan.domain.categories, strict=True)))
    listed = [one for i, one in enumerate(cells(plan)) if i != at or any(one[1:])]
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *(listed or cells(plan))])
    return domain_of_paths(out.getvalue().encode("utf-8"), names, options=ReadOptions("utf-8", ","))


def _padded(path: Cells, n: int) -> Cells:
    return (*path, *[""] * (n - len(path)))
