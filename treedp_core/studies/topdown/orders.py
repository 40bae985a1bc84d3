"""Which column first? The same data released under several orders of its columns, by simulation.

The first columns are released with the errors of few levels and the last ones with those of all, and the number of
cells that are opened differs; no formula weighs the two against each other, so this is measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors.compare import Ways, mean_and_error
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.draw import compare
from treedp_core.studies.topdown.plan import Plan, known_levels, plan
from treedp_core.studies.topdown.release_spec import RULES, Wanted, largest_rho
from treedp_core.studies.topdown.sparse import release
from treedp_core.tree import FloatArray
from treedp_core.tree.leaf_table import LeafTable, reordered
from treedp_core.watch import Watch, generator

MAX_ORDERS: Final = 24
"""Orders compared: all of up to 4 columns; of more, the present one and the first others."""
MEASURES: Final = {
    "marginals": "Mean error of the columns' own counts (records)",
    "max_error": "Largest error of a leaf (records)",
    "total_variation": "Records in the wrong leaf (%)",
    "spurious": "Spurious leaves (false positives)",
    "lost": "Lost leaves (false negatives)",
}


@dataclass(frozen=True, eq=False)
class OrderResult:
    """Errors under one order of the columns: means over the trials, and standard errors of the means.

    Parameters
    ----------
    order : tuple of int
        Position in the original table of the column of level 1, 2, ...
    max_error, total_variation, spurious, lost : (mean, standard error)
        Of the leaves; in records, as a part of the records, and in leaves.
    marginals : (n_columns,)
        Mean absolute error of the counts of each column's categories, in records, by original position.
    marginals_se : (n_columns,)
    """

    order: tuple[int, ...]
    max_error: tuple[float, float]
    total_variation: tuple[float, float]
    spurious: tuple[float, float]
    lost: tuple[float, float]
    marginals: FloatArray
    marginals_se: FloatArray


def some_orders(n_columns: int, limit: int = MAX_ORDERS) -> list[tuple[int, ...]]:
    """Return the orders of so many columns, the given one first, at most `limit` of them.

    >>> some_orders(3, 3)
    [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    """
    return list(islice(permutations(range(n_columns)), limit))


def compare_orders(
    table: LeafTable,
    orders: Iterable[Sequence[int]],
    wanted: Wanted,
    trials: int,
    seed: int,
    *,
    known_columns: Collection[int] | None = None,
    watch: Watch | None = None,
) -> list[OrderResult]:
    """Return the errors of a table's release under each order of its columns, with equal shares of the same promise.

    Parameters
    ----------
    table : LeafTable
    orders : iterable of permutations of the columns
    wanted : Wanted
        Its shares are not used; a rule that needs a tree, or is pruned, gives way to IntOpt. Where its rho was found by
        numerical accounting, that of each order is.
    trials, seed : int
        Every order and trial draws its own noise.
    known_columns : collection of int, optional
        Columns of the table that are public under REPLACE_UNKNOWN; they move with the order, and with them which
        levels are known. By default those of the unit's known levels: the first ones of the table.
    watch : Watch, optional
        Told after every trial; may cancel, also within one.

    Raises
    ------
    InputError
        ``ORDER`` for a list that is no permutation, ``VALUE_RANGE`` for a known column that is not there,
        ``TRIALS_RANGE``, and those of `plan` and `release`.

    >>> from treedp_core.tree.leaf_table import count_leaves
    >>> table = count_leaves([np.arange(60) % 2, np.arange(60) % 30], (2, 30))
    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
    >>> wanted = Wanted(1.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")
    >>> results = compare_orders(table, some_orders(2), wanted, 3, 7)
    >>> [result.order for result in results]
    [(0, 1), (1, 0)]
    """
    trials = checks.integer("trials", trials, low=1, high=checks.MAX_TRIALS, code="TRIALS_RANGE")
    width, rule = len(table.sizes), (RULES[wanted.rule].sparse if RULES[wanted.rule].is_bounded else None) or "intopt"
    known = range(wanted.unit.known_levels - 1) if known_columns is None else known_columns
    for column in () if known_columns is None else known_columns:
        checks.integer("known column", column, low=0, high=width - 1)
    found, numerical = [], wanted.within > 0
    for i, order in enumerate([_checked(order, width) for order in orders]):
        turned = reordered(table, order)
        unit = replace(wanted.unit, known_levels=known_levels(order, known))
        planned = partial(plan, turned.sizes, delta=wanted.delta, unit=unit, spread=wanted.spread, numerical=numerical)
        ready = planned(largest_rho(planned, wanted.within, wanted.delta) if numerical else wanted.rho)
        found.append(_one_order(turned, order, ready, trials, (checks.seed(seed), i), rule, watch=watch or Watch()))
    return found


def _checked(order: Sequence[int], n_columns: int) -> tuple[int, ...]:
    if sorted(order) != list(range(n_columns)):
        raise InputError(
            "ORDER", f"Expected an order of columns 0 to {n_columns - 1}, got {checks.echo(tuple(order))}."
        )
    return tuple(int(column) for column in order)


def _one_order(
    turned: LeafTable,
    order: tuple[int, ...],
    ready: Plan,
    trials: int,
    entropy: tuple[int, int],
    rule: str,
    *,
    watch: Watch,
) -> OrderResult:
    stop_only = Watch(cancelled=watch.cancelled)
    truth = _marginals(turned, order)
    leaves, marginals = [], []
    for trial in range(trials):
        run = release(turned, ready, generator("orders", *entropy, trial), rule, stop_only)
        last = compare(run)[-1]
        leaves.append((last.max_error, last.total_variation, last.spurious, last.lost))
        pairs = zip(_marginals(run.table, order), truth, strict=True)
        marginals.append([float(np.abs(released - true).mean()) for released, true in pairs])
        watch.step(1)
    mean, se = mean_and_error(np.array(leaves, dtype=float))
    first = [(float(m), float(s)) for m, s in zip(mean, se, strict=True)]
    return OrderResult(order, first[0], first[1], first[2], first[3], *mean_and_error(np.array(marginals)))


def _marginals(table: LeafTable, order: tuple[int, ...]) -> list[FloatArray]:
    """Counts of each column's categories, by original position of the column."""
    found = [
        np.bincount(table.codes[:, level], weights=table.counts, minlength=size).astype(np.float64)
        for level, size in enumerate(table.sizes)
    ]
    return [found[order.index(column)] for column in range(len(order))]


def orders_of_subject(
    subject: Subject, wanted: Wanted, trials: int, seed: int, watch: Watch | None = None
) -> list[OrderResult]:
    """Return the errors under several orders of a subject's columns, the present one first, with equal shares.

    Raises
    ------
    InputError
        As `compare_orders`; ``ORDER`` for a tree whose levels are no columns.
    """
    if not subject.is_product:
        raise InputError("ORDER", "The levels of this tree are nested in one another, so their order cannot change.")
    known = [place for place, column in enumerate(subject.order) if column < wanted.unit.known_levels - 1]
    orders = some_orders(len(subject.columns))
    return compare_orders(subject.table, orders, wanted, trials, seed, known_columns=known, watch=watch)


def ways_of_orders(found: Sequence[OrderResult], columns: Sequence[str], measure: str) -> Ways:
    """Return one of `MEASURES` under every order of the columns."""
    names = tuple(" › ".join(columns[i] for i in one.order) for one in found)
    if measure == "marginals":
        of_column = np.array([one.marginals_se for one in found])
        mean = np.array([one.marginals.mean() for one in found])
        return Ways(names, mean, np.sqrt(np.square(of_column).sum(axis=1)) / of_column.shape[1])
    pairs = np.array([getattr(one, measure) for one in found], dtype=float)
    mean, se = pairs.T * (100.0 if measure == "total_variation" else 1.0)
    return Ways(names, mean, se)
