"""What a sweep found, as a tidy data frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from treedp_core import checks
from treedp_core.experiment import Experiment, Outcome

if TYPE_CHECKING:
    import pandas as pd

FOUND: Final = ("formula", "simulation", "standard error")


def to_frame(
    outcomes: Iterable[Outcome], *, by: Literal["tree", "level"] = "tree", level_names: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the errors of outcomes: a column for each field that differs between them, and for what was found.

    Parameters
    ----------
    outcomes : iterable of Outcome
        As `sweep` returns them.
    by : {"tree", "level"}
        One row for each outcome, or one for each of its levels.
    level_names : sequence of str
        From the root down; numbers without them.

    Returns
    -------
    pandas.DataFrame
        "formula", "simulation" and "standard error" (of the simulation) are in the unit of the metric; nan where there
        is none.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for another `by`.

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

    checks.one_of("by", by, ("tree", "level"))
    found = list(outcomes)
    differ = [field.name for field in fields(Experiment) if _differs(field.name, found)]
    rows: list[dict[str, Any]] = []
    for one in found:
        asked = {name: getattr(one.experiment, name) for name in differ}
        if by == "tree":
            rows.append(asked | _whole(one))
        else:
            levels = level_names or range(len(one.budget.per_level))
            rows += [asked | {"level": level} | row for level, row in zip(levels, _by_level(one), strict=True)]
    return pd.DataFrame(rows, columns=[*differ, *(["level"] if by == "level" else []), *FOUND])


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
    none = np.full(len(one.budget.per_level), np.nan)
    formula, simulation = one.formula, one.simulation
    found = (
        none if formula is None else formula.level,
        *((none, none) if simulation is None else (simulation.level, simulation.level_se)),
    )
    return [dict(zip(FOUND, row, strict=True)) for row in zip(*(values.tolist() for values in found), strict=True)]
