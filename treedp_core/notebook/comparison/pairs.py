"""Releases beside each other on the same noise: how many times the error of one another's is, luck left out.

Whatever a page draws is a side: it says which rows its errors have and draws them from a generator it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draws_of_errors, is_by_rounds
from treedp_core.notebook.comparison.compare import ERROR, LETTERS
from treedp_core.notebook.validators import Value
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.records.export.columns import Columns
from treedp_core.tree import AnyArray, Tree
from treedp_core.watch import Watch, generator
from treedp_core.words import plus_minus, short

FloatArray = NDArray[np.float64]
Squares = Callable[[np.random.Generator], FloatArray]
"""A generator -> mean squared error of each row, (n_rows,), in one release drawn from it."""


MOST_TRIALS: Final = 400
"""Pairs of releases that are drawn, where they are not too large for that."""
WHOLE: Final = "(whole tree)"
"""The row of all nodes together, which trees have in common whatever their levels are called."""


def with_whole(squares: AnyArray, n_nodes: AnyArray) -> FloatArray:
    """Return mean squared errors of levels, (n_levels,), and that of all their nodes behind them."""
    return np.append(squares, np.average(squares, weights=n_nodes))


class AnySide(Protocol):
    """What a cell was made of, so that it can be drawn again and again."""

    @property
    def name(self) -> str:
        """Which series of the cell."""

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the rows that have an error: levels, or rules."""

    @property
    def measure(self) -> str:
        """Which error, in a few words."""

    @property
    def seed(self) -> int:
        """Of its noise."""

    @property
    def n_values(self) -> int:
        """About how many noises one release takes."""

    @property
    def affordable(self) -> int:
        """How many releases take no more than about half a minute, whatever they are of."""

    @property
    def reads_counts(self) -> bool:
        """Whether its errors depend on true counts."""

    @property
    def key(self) -> Hashable:
        """What its errors depend on."""

    def ready(self) -> Squares:
        """Return what draws a release, once all that every release shares has been computed."""


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
    level_names : tuple of str
    """

    name: str
    experiment: Experiment
    tree: Tree
    counts: AnyArray
    level_names: tuple[str, ...]
    measure: ClassVar[str] = "Root mean squared error of a node"
    affordable: ClassVar[int] = MOST_TRIALS

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, and the whole tree."""
        return (*self.level_names, WHOLE)

    @property
    def seed(self) -> int:
        """Of its noise."""
        return self.experiment.seed

    @property
    def n_values(self) -> int:
        """Noises of one release."""
        return self.tree.n_nodes

    @property
    def reads_counts(self) -> bool:
        """Whether its errors depend on the true counts."""
        return is_by_rounds(self.experiment) or any(
            not POSTPROCESSORS[step].linear for step in self.experiment.postprocess
        )

    @property
    def key(self) -> Hashable:
        """What its errors depend on."""
        return self.experiment, self.level_names, id(self.counts)

    def ready(self) -> Squares:
        """Return what draws a release."""
        drawn, level_start = draws_of_errors(self.experiment, self.tree, self.counts), self.tree.level_start[:-1]

        def squares(rng: np.random.Generator) -> FloatArray:
            errors = np.asarray(drawn(rng), dtype=np.float64)
            sizes = self.tree.level_sizes
            return with_whole(np.add.reduceat(np.square(errors), level_start) / sizes, sizes)

        return squares


@dataclass(frozen=True, eq=False)
class Paired:
    """How many times the error of one experiment another's is, on the same draws.

    Parameters
    ----------
    levels : tuple of str
        Names of the rows that both have.
    ratio, standard_error : (n_levels,)
        nan where the first one's error is 0.
    trials : int
    """

    levels: tuple[str, ...]
    ratio: FloatArray
    standard_error: FloatArray
    trials: int


def paired(one: AnySide, other: AnySide, *, trials: int, watch: Watch | None = None) -> Paired:
    """Return the ratio of two releases' root mean squared errors by level, from common random numbers.

    Each trial draws the noise of both from one stream, that of the first one's seed, so what is luck in one is luck in
    the other too, and the ratio is known more closely than from two runs of their own. Trees of other shapes draw from
    the same stream at other places; their levels are matched by name, and the whole
    of one with the whole of the other.

    Raises
    ------
    InputError
        What the releases refuse; ``TRIALS_RANGE``; ``COMPARE_LEVELS`` where no row has a name in both.

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
    [0.5, 0.5, 0.5]
    """
    levels = tuple(name for name in one.levels if name in other.levels)
    if not levels:
        raise InputError("COMPARE_LEVELS", "These cells have no error of one name in common, so none can be compared.")
    checks.trials(trials, one.n_values + other.n_values)
    seed = checks.seed(one.seed)
    draws = [side.ready() for side in (one, other)]
    rows = [[side.levels.index(name) for name in levels] for side in (one, other)]
    squares = np.empty((2, trials, len(levels)))
    for trial in range(trials):
        if watch is not None:
            watch.check()
        for at, squared in enumerate(draws):
            squares[at, trial] = squared(generator("paired", seed, trial))[rows[at]]
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


def matched(cells: Sequence[Sequence[AnySide]]) -> list[tuple[str, AnySide, AnySide]]:
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
    pairs: Sequence[tuple[str, AnySide, AnySide]], *, trials: int, watch: Watch | None = None
) -> dict[str, list[Value]]:
    """Return how many times the error of A that of the others is, by series and level: a table of `paired`.

    Where A has no error at all it is nan.

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
    return f"{' to '.join(ends)} times the error of A" if ends else "A has no error"


def most_trials(pairs: Sequence[tuple[str, AnySide, AnySide]]) -> int:
    """Return how many trials of these pairs are run: as many as the slowest and the largest pair admit.

    Raises
    ------
    InputError
        ``TRIALS_RANGE`` where not even two can be.
    """
    sides = [side for _, *pair in pairs for side in pair]
    nodes = max(one.n_values + other.n_values for _, one, other in pairs)
    return checks.trials(min(max(2, checks.MAX_CELL_DRAWS // nodes), *(one.affordable for one in sides)), nodes)
