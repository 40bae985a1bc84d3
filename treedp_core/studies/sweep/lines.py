"""The lines of error curves: formulas now, simulations as far as they have been run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import METRICS, ErrorSummary
from treedp_core.experiment import Experiment, Outcome, run
from treedp_core.privacy.promise import Release
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS, Cell, Series, admit, cells, settings_apart
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Watch

NODE_BUDGET: Final = 50_000_000
"""Nodes a figure's formulas may touch, about a second of work; larger trees get fewer points along epsilon."""

Formulas = Mapping[Cell, ErrorSummary | None]
Solve = Callable[[Sequence[Cell]], Formulas]
Found = Mapping[Cell, ErrorSummary]


@dataclass(frozen=True)
class Question:
    """What a figure shows: some series in a view, the settings they share, and the epsilons of its lines.

    Parameters
    ----------
    view : str
        EPSILON, LEVEL or N_LEVELS.
    series : tuple of Series
    base : Experiment
        Its epsilon is yours.
    grid : tuple of float
        Epsilons of the lines; yours joins them.
    """

    view: str
    series: tuple[Series, ...]
    base: Experiment
    grid: tuple[float, ...] = ()

    def cells(self, tree: Tree, epsilons: Iterable[float], *series: Series) -> list[Cell]:
        """Return its cells at some epsilons, of all its series unless some are named."""
        return cells(self.view, series or self.series, self.base, tree, epsilons)

    def simulated(self, tree: Tree) -> list[Cell]:
        """Return the cells that a simulation of it runs."""
        return self.cells(tree, simulation_grid(self.grid, self.base.epsilon))

    def trials(self, tree: Tree) -> int:
        """Return the trials of a simulation of it, admitted by the noise draws they need.

        Raises
        ------
        InputError
            ``TRIALS_RANGE``, with the largest number of trials that is allowed; what `admit` raises.
        """
        admit(self.view, self.base)
        wanted = self.simulated(tree)
        draws = sum(int(tree.level_start[cell.n_levels]) for cell in wanted)
        return sum(checks.trials(cell.experiment.trials, draws) for cell in wanted)


@dataclass(frozen=True, eq=False)
class Simulation:
    """What a simulation found, and what it was asked."""

    question: Question
    found: Found


@dataclass(frozen=True)
class Value:
    """A number and where it comes from: "formula", "simulation", or "" (then it is nan)."""

    value: float = np.nan
    standard_error: float = 0.0
    source: str = ""


@dataclass(frozen=True, eq=False)
class Line:
    """One series of a figure.

    Parameters
    ----------
    series : Series
    x : (n_points,)
        Epsilon, the level, or the number of levels.
    formula : (n_points,)
        nan where there is no formula.
    simulated, standard_error : (n_points,)
        nan where nothing was simulated.
    cells : tuple of Cell
        One for each point (the same for all points of a by-level view).
    whole : Value
        The whole tree's value at your epsilon.
    computed_for : tuple of str
        Empty, or the settings that have changed since the simulation.
    """

    series: Series
    x: FloatArray
    formula: FloatArray
    simulated: FloatArray
    standard_error: FloatArray
    cells: tuple[Cell, ...]
    whole: Value
    computed_for: tuple[str, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether the simulation belongs to other settings."""
        return bool(self.computed_for)

    @property
    def has_formula(self) -> bool:
        """Whether theory knows this error."""
        return not bool(np.isnan(self.formula).all())

    @property
    def has_simulation(self) -> bool:
        """Whether any point was simulated."""
        return not bool(np.isnan(self.simulated).all())


def formulas_of(wanted: Iterable[Cell], tree: Tree, counts: AnyArray) -> Formulas:
    """Return the closed form of each cell on true counts (n_nodes,), None where there is none."""
    return {cell: _run(cell, tree, counts, simulated=False).formula for cell in wanted}


def simulate(question: Question, tree: Tree, counts: AnyArray, watch: Watch) -> Simulation:
    """Return the simulation of each of a question's cells on true counts (n_nodes,).

    The numbers of a cell are those that `experiment.run` gives for it alone.
    """
    found = {}
    for cell in question.simulated(tree):
        try:
            outcome = _run(cell, tree, counts, simulated=True, watch=watch).simulation
        except InputError as error:
            if error.code != "PLAN_TOTAL":  # at so small an epsilon no thresholds can be planned: there is no marker
                raise
            watch.step(cell.experiment.trials)
            continue
        if outcome is not None:
            found[cell] = replace(outcome, single_runs=None)
    return Simulation(question, found)


def _run(cell: Cell, tree: Tree, counts: AnyArray, *, simulated: bool, watch: Watch | None = None) -> Outcome:
    part = tree if cell.n_levels == tree.n_levels else tree.top(cell.n_levels)
    return run(cell.experiment, part, counts[: part.n_nodes], simulated=simulated, watch=watch)


def formula_grid(grid: Sequence[float], n_series: int, metric: str, tree: Tree) -> tuple[float, ...]:
    """Return the epsilons a figure's lines go through: the whole grid, or every so many of it on a large tree."""
    weight = 6 if METRICS[metric].expected is not None else 1
    affordable = NODE_BUDGET / (max(1, n_series) * weight * tree.n_nodes)
    step = next((s for s in (1, 2, 4, 8) if len(grid[::s]) <= affordable), 12)
    return tuple(grid[::step])


def simulation_grid(grid: Sequence[float], epsilon: float) -> tuple[float, ...]:
    """Return the epsilons to simulate: at most seven of a figure's, and yours.

    >>> simulation_grid((0.1, 1.0, 10.0), 2.0)
    (0.1, 1.0, 2.0, 10.0)
    """
    step = max(1, (len(grid) - 1) // 6)
    return tuple(sorted({*grid[::step], epsilon}))


def lines(question: Question, tree: Tree, simulation: Simulation | None, solve: Solve) -> list[Line]:
    """Return the lines of a question.

    Parameters
    ----------
    simulation : Simulation or None
        The last one on this data set in this view.
    solve : function
        Cells -> their closed forms; called at most twice, so that it can remember what moves seldom apart.

    Raises
    ------
    InputError
        What `admit` and `experiment.prepare` raise.
    """
    view, base = question.view, question.base
    admit(view, base)
    kept = {one: _kept(simulation, one, question) for one in question.series}
    yours = question.cells(tree, [base.epsilon])
    common = question.cells(tree, question.grid) if view == EPSILON else []
    extra = [cell for one in question.series for cell in _at(kept[one], one, question, tree)]
    known = {**solve(common), **solve(_without(common, [*yours, *extra]))}
    x = float(tree.n_levels) if view == N_LEVELS else base.epsilon
    return [_line(view, one, known, *kept[one], x) for one in question.series]


def computed(question: Question, tree: Tree, counts: AnyArray, asked: Question | None = None) -> list[Line]:
    """Return the lines of a question on true counts (n_nodes,), with the simulation asked for, all computed now."""
    found = None if asked is None else simulate(asked, tree, counts, Watch())
    return lines(question, tree, found, lambda wanted: formulas_of(wanted, tree, counts))


def off_by(release: Release, counts: AnyArray, tree: Tree, level: int) -> tuple[float, float]:
    """Return the mean and the largest absolute error of a level, in records.

    Parameters
    ----------
    release : Release
        Its estimate is (n_nodes,).
    counts : (n_nodes,)
        True counts.
    """
    nodes = tree.level(level)
    error = np.abs(release.estimate[nodes] - counts[nodes])
    return float(error.mean()), float(error.max())


def _kept(simulation: Simulation | None, one: Series, question: Question) -> tuple[Found, tuple[str, ...]]:
    """The simulated cells to show for a series, and the settings that have changed since."""
    if simulation is None or simulation.question.view != question.view:
        return {}, ()
    base = question.base
    mine = {c: s for c, s in simulation.found.items() if c.series == one and c.experiment.metric == base.metric}
    if not mine:
        return {}, ()
    ignore = ("epsilon",) if question.view == EPSILON else ()
    return mine, tuple(settings_apart(next(iter(mine)).experiment, one.of(base), ignore=ignore))


def _at(kept: tuple[Found, tuple[str, ...]], one: Series, question: Question, tree: Tree) -> list[Cell]:
    """The cells of the present settings at the places where a simulation stands."""
    if question.view != EPSILON:
        return []
    return question.cells(tree, sorted({cell.x for cell in kept[0]} - set(question.grid)), one)


def _without(common: Sequence[Cell], extra: Sequence[Cell]) -> list[Cell]:
    """The extra cells that are not among the common ones, each once."""
    known = set(common)
    return [cell for cell in dict.fromkeys(extra) if cell not in known]


def _line(view: str, one: Series, known: Formulas, kept: Found, computed_for: tuple[str, ...], x: float) -> Line:
    mine = sorted((cell for cell in known if cell.series == one), key=lambda cell: cell.x)
    simulated = {cell.x: summary for cell, summary in kept.items()}
    here = next(cell for cell in mine if cell.x == x)
    whole = _value(known[here], None if computed_for else simulated.get(x))
    if view == LEVEL:
        return _by_level(one, here, known[here], next(iter(kept.values()), None), whole, computed_for)
    at = [simulated.get(cell.x) for cell in mine]
    return Line(
        one,
        np.array([cell.x for cell in mine]),
        np.array([_tree(known[cell]) for cell in mine]),
        np.array([_tree(summary) for summary in at]),
        np.array([np.nan if summary is None else summary.tree_se for summary in at]),
        tuple(mine),
        whole,
        computed_for,
    )


def _by_level(
    one: Series,
    cell: Cell,
    formula: ErrorSummary | None,
    found: ErrorSummary | None,
    whole: Value,
    computed_for: tuple[str, ...],
) -> Line:
    nothing = np.full(cell.n_levels, np.nan)
    values = nothing if formula is None else formula.level
    simulated, error = (nothing, nothing) if found is None else (found.level, found.level_se)
    levels = np.arange(cell.n_levels, dtype=float)
    return Line(one, levels, values, simulated, error, (cell,) * cell.n_levels, whole, computed_for)


def _tree(summary: ErrorSummary | None) -> float:
    return np.nan if summary is None else summary.tree


def _value(formula: ErrorSummary | None, simulation: ErrorSummary | None) -> Value:
    if formula is not None:
        return Value(formula.tree, 0.0, "formula")
    if simulation is not None:
        return Value(simulation.tree, simulation.tree_se, "simulation")
    return Value()
