"""Cells side by side: what differs, whether they promise the same, and how many times one's error is another's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare
from treedp_core.notebook.cell import Cell
from treedp_core.notebook.given import Value
from treedp_core.records.export.columns import Columns
from treedp_core.tree import AnyArray, Tree
from treedp_core.watch import Watch, generator
from treedp_core.words import plus_minus, short

MOST: Final = 4
LETTERS: Final = "ABCD"
ERROR: Final = "standard error"
PROMISE: Final[Mapping[str, str]] = {
    "eps": "ε", "delta": "δ", "nbr": "neighbouring relation", "contributions": "records of one unit",
    "known_levels": "known levels", "unit": "unit",
}  # fmt: skip
"""The settings of every page that a promise is made of."""
SHOWN: Final = ("level", "explain", "nb_view")
"""Settings that change no number."""

FloatArray = NDArray[np.float64]


def checked(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return cells that can be compared.

    Raises
    ------
    InputError
        ``COMPARE_CELLS``.
    """
    if not 2 <= len(cells) <= MOST:
        raise InputError("COMPARE_CELLS", f"Choose 2 to {MOST} cells to compare, not {len(cells)}.")
    return cells


def differing(cells: Sequence[Cell], defaults: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what differs between cells: a row for each setting, a column for each cell, by its letter.

    Parameters
    ----------
    defaults : mapping
        What a setting is where a cell does not name it, as in a link.
    """
    keys = dict.fromkeys(key for one in cells for key in one.settings if key not in SHOWN)
    rows = {key: [_written(one, key, defaults) for one in cells] for key in keys}
    rows |= {
        "page": [one.page for one in cells],
        "view": [one.view for one in cells],
        "data": ["" if one.data is None else one.data.name for one in cells],
        "fingerprint of the data": ["" if one.data is None else one.data.fingerprint[:16] for one in cells],
        "version": [one.version for one in cells],
    }
    differ = {key: values for key, values in rows.items() if len(set(values)) > 1}
    letters = LETTERS[: len(cells)]
    return {
        "what": [PROMISE.get(key, key) for key in differ],
        **{letter: [values[at] for values in differ.values()] for at, letter in enumerate(letters)},
    }


def other_promises(cells: Sequence[Cell], defaults: Mapping[str, str]) -> str:
    """Return in a sentence how the promises of cells differ; nothing where all promise the same.

    >>> a, b = (
    ...     Cell(
    ...         id=f"{i:016x}",
    ...         name="x",
    ...         page="lab",
    ...         settings={"eps": (eps,)},
    ...         version="1",
    ...         made="2026-11-22T15:00:00+00:00",
    ...     )
    ...     for i, eps in enumerate(("1", "2"))
    ... )
    >>> other_promises([a, b], {})
    'They promise different things: ε is 1 in A and 2 in B.'
    """
    parts = []
    for key, name in PROMISE.items():
        values = [_written(one, key, defaults) or "not said" for one in cells]
        if len(set(values)) > 1:
            each = [f"{value} in {letter}" for value, letter in zip(values, LETTERS, strict=False)]
            parts.append(f"{name} is {', '.join(each[:-1])} and {each[-1]}")
    return f"They promise different things: {'; '.join(parts)}." if parts else ""


def _written(cell: Cell, key: str, defaults: Mapping[str, str]) -> str:
    return ", ".join(cell.settings[key]) if key in cell.settings else defaults.get(key, "")


def ratios(cells: Sequence[Cell]) -> dict[str, list[Value]]:
    """Return how many times the numbers of the first cell those of the others are, row by row of their tables.

    Rows belong together whose words, and whose number on the x axis, are the same. Where both are simulations with a
    standard error, so is their ratio: the cells were drawn independently of each other, so the errors add up.

    Raises
    ------
    InputError
        ``COMPARE_TABLES`` where the tables have no row or no number in common.
    """
    first = cells[0]
    if any(one.columns is None for one in cells):
        raise InputError("COMPARE_TABLES", "A cell has no table, so no ratio can be given.")
    keys = _keys(first)
    tables = [_by_key(one, keys) for one in cells]
    values = [name for name in first.columns or {} if name not in keys and name != ERROR and _is_number(first, name)]
    values = [name for name in values if all(_is_number(one, name) for one in cells)]
    common = [key for key in tables[0] if all(key in table for table in tables)]
    if not values or not common:
        raise InputError("COMPARE_TABLES", "The tables of these cells have no rows or no numbers in common.")
    found: dict[str, list[Value]] = {name: [key[at] for key in common] for at, name in enumerate(keys)}
    for name in values:
        for letter, table in zip(LETTERS[1:], tables[1:], strict=False):
            pairs = [(tables[0][key], table[key]) for key in common]
            quotients = [_ratio(a.get(name), b.get(name)) for a, b in pairs]
            if any(one is not None for one in quotients):
                found[f"{name}, {letter} ÷ A"] = list(quotients)
                if name == "simulation":
                    found[f"{ERROR} of {letter} ÷ A"] = [_error(a, b, name) for a, b in pairs]
    return found


def _keys(cell: Cell) -> list[str]:
    """The columns that say what a row is of: words, and numbers that rise as an x axis does."""
    columns = cell.columns or {}
    words = [name for name in columns if not _is_number(cell, name)]
    number = next((name for name in columns if _is_number(cell, name)), None)
    is_axis = number is not None and len(columns) > len(words) + 1 and number in list(columns)[: len(words) + 1]
    return [*words, *([number] if is_axis and number is not None and number not in _RESULTS else [])]


_RESULTS: Final = ("formula", "simulation", "error", "RMSE", ERROR)


def _is_number(cell: Cell, name: str) -> bool:
    values = (cell.columns or {}).get(name, ())
    return any(one is not None for one in values) and all(
        one is None or (isinstance(one, (int, float)) and not isinstance(one, bool)) for one in values
    )


def _by_key(cell: Cell, keys: Sequence[str]) -> dict[tuple[Value, ...], dict[str, Any]]:
    columns = cell.columns or {}
    if any(name not in columns for name in keys):
        return {}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {tuple(row[name] for name in keys): row for row in rows}


def _ratio(a: float | None, b: float | None) -> float | None:
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)) or a == 0:
        return None
    return b / a


def _error(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> float | None:
    """Standard error of a ratio of independent estimates, by the delta method."""
    ratio, errors = _ratio(a.get(name), b.get(name)), (a.get(ERROR), b.get(ERROR))
    if not ratio or None in errors:
        return None
    return abs(ratio) * math.hypot(errors[0] / a[name], errors[1] / b[name])


@dataclass(frozen=True, eq=False)
class Side:
    """An experiment on data: what a cell was made of.

    Parameters
    ----------
    name : str
        Which series of the cell.
    experiment : Experiment
    tree : Tree
    counts : (n_nodes,)
        True counts, in records.
    levels : tuple of str
        Names of the levels.
    """

    name: str
    experiment: Experiment
    tree: Tree
    counts: AnyArray
    levels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Paired:
    """How many times the error of one experiment another's is, on the same draws.

    Parameters
    ----------
    levels : tuple of str
        Names of the levels that both have.
    ratio, standard_error : (n_levels,)
        nan where the first one's error is 0.
    trials : int
    """

    levels: tuple[str, ...]
    ratio: FloatArray
    standard_error: FloatArray
    trials: int


def paired(one: Side, other: Side, *, trials: int, watch: Watch | None = None) -> Paired:
    """Return the ratio of two experiments' root mean squared errors by level, from common random numbers.

    Each trial draws the noise of both from one stream, that of the first one's seed, so what is luck in one is luck in
    the other too, and the ratio is known more closely than from two runs of their own. Trees of other shapes draw from
    the same stream at other places; their levels are matched by name.

    Raises
    ------
    InputError
        Those of `experiment.prepare`; ``TRIALS_RANGE``; ``COMPARE_LEVELS`` where no level has a name in both.

    Examples
    --------
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> a, b = (
    ...     Side(
    ...         "Laplace",
    ...         Experiment(mechanism="laplace", epsilon=epsilon),
    ...         tree,
    ...         tree.counts_of_leaves(np.ones(4)),
    ...         ("all", "N", "S"),
    ...     )
    ...     for epsilon in (1.0, 2.0)
    ... )
    >>> paired(a, b, trials=50).ratio[1:].round(6).tolist()
    [0.5, 0.5]
    """
    levels = tuple(name for name in one.levels if name in other.levels)
    if not levels:
        raise InputError("COMPARE_LEVELS", "No level has the same name in both trees, so none can be compared.")
    checks.trials(trials, one.tree.n_nodes + other.tree.n_nodes)
    seed = checks.seed(one.experiment.seed)
    pipelines = [prepare(side.experiment, side.tree) for side in (one, other)]
    rows = [[side.levels.index(name) for name in levels] for side in (one, other)]
    squares = np.empty((2, trials, len(levels)))
    for trial in range(trials):
        if watch is not None:
            watch.check()
        for at, (side, pipeline) in enumerate(zip((one, other), pipelines, strict=True)):
            noise = pipeline.noise.draw(generator("paired", seed, trial), 1)
            errors = np.asarray(pipeline.postprocessing[0](noise + side.counts) - side.counts, dtype=np.float64)[0]
            means = np.add.reduceat(np.square(errors), side.tree.level_start[:-1]) / side.tree.level_sizes
            squares[at, trial] = means[rows[at]]
        if watch is not None:
            watch.step(1)
    return _paired(levels, squares, trials)


def _paired(levels: tuple[str, ...], squares: FloatArray, trials: int) -> Paired:
    """The ratio of roots of means, and its error by the delta method from the covariance over trials.

    With x, y the means, d = y_i / y - x_i / x of trial i: Var(log(y / x)) = Var(d) / n, and half of that for the root.
    """
    mean = squares.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(mean[1] / mean[0])
        apart = squares[1] / mean[1] - squares[0] / mean[0]
        error = ratio / 2 * apart.std(axis=0, ddof=1) / math.sqrt(trials)
    return Paired(levels, ratio, error, trials)


def matched(cells: Sequence[Sequence[Side]]) -> list[tuple[str, Side, Side]]:
    """Return which series of the first cell is compared with which of the others: letter, one, other.

    Series of one name belong together; where two cells have none in common, their first ones do.
    """
    first, *others = cells
    found = []
    for letter, other in zip(LETTERS[1:], others, strict=False):
        by_name = {side.name: side for side in other}
        common = [(side, by_name[side.name]) for side in first if side.name in by_name] or [(first[0], other[0])]
        found += [(letter, *pair) for pair in common]
    return found


def on_common_noise(
    pairs: Sequence[tuple[str, Side, Side]], *, trials: int, watch: Watch | None = None
) -> dict[str, list[Value]]:
    """Return how many times the error of A that of the others is, by series and level: a table of `paired`.

    Where A does not err at all it is nan.

    Parameters
    ----------
    pairs : sequence of (letter, one, other)
        As `matched` returns them.

    Raises
    ------
    InputError
        Those of `paired`.
    """
    found: dict[str, list[Value]] = {"cells": [], "series": [], "level": [], "ratio": [], ERROR: []}
    for letter, one, other in pairs:
        made = paired(one, other, trials=trials, watch=watch)
        name = one.name if one.name == other.name else f"{other.name} ÷ {one.name}"
        for level, ratio, error in zip(made.levels, made.ratio.tolist(), made.standard_error.tolist(), strict=True):
            found["cells"].append(f"{letter} ÷ A")
            found["series"].append(name)
            found["level"].append(level)
            found["ratio"].append(ratio)
            found[ERROR].append(error)
    return found


def spread_of(found: Columns) -> str:
    """Return the smallest and the largest ratio of a table of `on_common_noise` in words, with 95 % intervals.

    >>> spread_of({"ratio": [math.nan, 0.5, 0.25], "standard error": [math.nan, 0.01, 0.0]})
    '0.25 ± 0 to 0.5 ± 0.02 times the error of A'
    """
    known = sorted(one for one in zip(found["ratio"], found[ERROR], strict=True) if math.isfinite(one[0]))
    ends = dict.fromkeys(f"{short(ratio)}{plus_minus(error)}" for ratio, error in (known[:1] + known[-1:]))
    return f"{' to '.join(ends)} times the error of A" if ends else "A does not err"


def most_trials(pairs: Sequence[tuple[str, Side, Side]], wanted: int) -> int:
    """Return how many trials may be run of these pairs: those wanted, or as many as the largest pair admits.

    Raises
    ------
    InputError
        ``TRIALS_RANGE`` where not even two can be.
    """
    nodes = max(one.tree.n_nodes + other.tree.n_nodes for _, one, other in pairs)
    return checks.trials(min(wanted, max(2, checks.MAX_CELL_DRAWS // nodes)), nodes)
