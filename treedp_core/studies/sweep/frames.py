"""What a sweep found, as a tidy data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import ErrorSummary
from treedp_core.experiment import Experiment, Outcome
from treedp_core.records import Labels
from treedp_core.tree import AnyArray

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS: Final = 5_000_000
FOUND: Final = ("formula", "simulation", "standard error")


def to_frame(
    outcomes: Iterable[Outcome],
    *,
    by: Literal["tree", "level", "node"] = "tree",
    level_names: Sequence[str] = (),
    labels: Labels | None = None,
) -> pd.DataFrame:
    """Return the errors of outcomes: a column for each field that differs between them, and for what was found.

    Parameters
    ----------
    outcomes : iterable of Outcome
        As `sweep` returns them.
    by : {"tree", "level", "node"}
        One row for each outcome, for each of its levels, or for each node, of outcomes that were run `by_node`.
    level_names : sequence of str
        From the root down; numbers without them.
    labels : Labels, optional
        Names of levels and nodes, as `Dataset.labels`: rows by node then have the whole path of each.

    Returns
    -------
    pandas.DataFrame
        "formula", "simulation" and "standard error" (of the simulation) are in the unit of the metric; nan where there
        is none.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for another `by`; ``FRAME_LEVELS`` for names of another number of levels; ``FRAME_NODES`` for
        outcomes without nodes or of another tree than the labels; ``FRAME_ROWS`` for more than five million rows.

    >>> from treedp_core import grid, sweep
    >>> from treedp_core.tree import Tree
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> counts = tree.counts_of_leaves(np.ones(4))
    >>> found = sweep(grid(mechanism="laplace", epsilon=[1.0, 2.0]), tree, counts, simulated=False)
    >>> to_frame(found)[["epsilon", "formula"]].round(3).to_numpy().tolist()
    [[1.0, 5.237], [2.0, 2.619]]
    >>> to_frame(found, by="level", level_names=("all", "half", "quarter"))["level"].tolist()[:3]
    ['all', 'half', 'quarter']
    """
    import pandas as pd

    checks.one_of("by", by, ("tree", "level", "node"))
    found = list(outcomes)
    level_names = names_of_levels(found, level_names or (() if labels is None else labels.level_names))
    differ = [field.name for field in fields(Experiment) if _differs(field.name, found)]
    if by == "node":
        return pd.DataFrame(_by_node(found, differ, level_names, labels))
    rows: list[dict[str, Any]] = []
    for one in found:
        asked = {name: getattr(one.experiment, name) for name in differ}
        if by == "tree":
            rows.append(asked | _whole(one))
        else:
            named = zip(level_names or range(one.n_levels), _by_level(one), strict=True)
            rows += [asked | {"level": level} | row for level, row in named]
    return pd.DataFrame(rows, columns=[*differ, *(["level"] if by == "level" else []), *FOUND])


def columns_of(
    outcomes: Iterable[Outcome], *, by: Literal["tree", "level", "node"] = "tree", labels: Labels | None = None
) -> dict[str, list[Any]]:
    """Return the same as `to_frame` as columns of numbers and text.

    >>> columns_of([], by="tree")
    {'formula': [], 'simulation': [], 'standard error': []}
    """
    frame = to_frame(outcomes, by=by, labels=labels)
    return {str(name): [_plain(one) for one in frame[name].tolist()] for name in frame.columns}


def names_of_levels(outcomes: Iterable[Outcome], names: Sequence[str]) -> Sequence[str]:
    """Return names of levels, or refuse those of another number than each outcome has; no names are fine."""
    n_levels = {one.n_levels for one in outcomes} | ({len(names)} if names else set())
    if names and len(n_levels) > 1:
        raise InputError("FRAME_LEVELS", f"Expected a name for each level of the outcomes, got {len(names)}.")
    return names


def _plain(value: object) -> object:
    return " → ".join(map(str, value)) or "none" if isinstance(value, tuple) else value


def _differs(name: str, outcomes: Sequence[Outcome]) -> bool:
    return len({getattr(one.experiment, name) for one in outcomes}) > 1


def _whole(one: Outcome) -> dict[str, float]:
    formula, simulation = one.formula, one.simulation
    found = (
        np.nan if formula is None else formula.tree,
        *((np.nan, np.nan) if simulation is None else (simulation.tree, simulation.tree_se)),
    )
    return dict(zip(FOUND, found, strict=True))


def _by_level(one: Outcome) -> list[dict[str, float]]:
    none = np.full(one.n_levels, np.nan)
    formula, simulation = one.formula, one.simulation
    found = (
        none if formula is None else formula.level,
        *((none, none) if simulation is None else (simulation.level, simulation.level_se)),
    )
    return [dict(zip(FOUND, row, strict=True)) for row in zip(*(values.tolist() for values in found), strict=True)]


def _by_node(
    found: Sequence[Outcome], differ: Sequence[str], names: Sequence[str], labels: Labels | None
) -> dict[str, AnyArray | list[Any]]:
    """Columns with a row for each outcome and node."""
    sizes = [_n_nodes(one) for one in found]
    if len(set(sizes)) > 1 or (labels is not None and set(sizes) - {labels.codes.size}):
        raise InputError("FRAME_NODES", "Expected outcomes and labels of one tree.")
    if sum(sizes) > MAX_ROWS:
        raise InputError("FRAME_ROWS", f"Expected at most {MAX_ROWS} rows by node, got {sum(sizes)}: choose fewer.")
    n_nodes = sizes[0] if sizes else 0
    columns: dict[str, AnyArray | list[Any]] = {
        name: [getattr(one.experiment, name) for one in found for _ in range(n_nodes)] for name in differ
    }
    columns["node"] = np.tile(np.arange(n_nodes), len(found))
    if labels is not None:
        levels = np.searchsorted(labels.level_start, np.arange(n_nodes), side="right") - 1
        columns["level"] = [names[level] for level in levels.tolist()] * len(found)
        columns["path"] = labels.paths(range(n_nodes)) * len(found)
    for name, what in zip(FOUND, ("node", "node", "node_se"), strict=True):
        parts = [one.formula if name == "formula" else one.simulation for one in found]
        columns[name] = np.concatenate([np.zeros(0), *(_nodes(part, what, n_nodes) for part in parts)])
    return columns


def _n_nodes(one: Outcome) -> int:
    sizes = [part.node.size for part in (one.formula, one.simulation) if part is not None and part.node is not None]
    if not sizes:
        raise InputError("FRAME_NODES", "Expected outcomes with the errors of nodes: sweep(..., by_node=True).")
    return sizes[0]


def _nodes(part: ErrorSummary | None, what: str, n_nodes: int) -> AnyArray:
    values: AnyArray | None = None if part is None else getattr(part, what)
    return np.full(n_nodes, np.nan) if values is None else values
