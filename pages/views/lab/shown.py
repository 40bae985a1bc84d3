"""What a view of the Error lab shows: what is asked, what theory answers, and how its simulation stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pages.ui import controls, tuned
from pages.ui.result import Result, in_background, refused
from pages.ui.settings import get
from pages.ui.shared import experiment, slack_of
from pages.ui.store import dataset, remember
from pages.ui.strip import is_composed, of_data, strip
from pages.views.lab import settings as s
from treedp_core.checks import InputError
from treedp_core.experiment import EPSILON_GRID, Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.sweep import lines as sweep
from treedp_core.studies.sweep.lines import Line, Question, Simulation
from treedp_core.studies.sweep.series import DRAW, LEVEL, Cell, Series, chosen


@dataclass(frozen=True)
class Shown:
    """What a view shows: the question, how its simulation stands, and its lines (none where it is refused)."""

    view: str
    question: Question
    simulation: Result[Simulation]
    lines: Sequence[Line] = ()

    @property
    def base(self) -> Experiment:
        """The settings that all series share."""
        return self.question.base


def asked(view: str) -> Shown:
    """What is asked, and what theory and the last simulation answer; below a refusal the axes stand alone."""
    data, series = dataset(), tuple(chosen(s.COMPARED.value, s.POST.value))
    grid = sweep.formula_grid(EPSILON_GRID, len(series), s.METRIC.value, data.tree)
    kind = LEVEL if view == DRAW else view
    question = Question(kind, series, Experiment(metric=s.METRIC.value, epsilon=get("eps")), grid)

    def solve(wanted: Sequence[Cell]) -> sweep.Formulas:
        return remember(
            ("lab", data.fingerprint, tuple(wanted)), lambda: sweep.formulas_of(wanted, data.tree, data.counts)
        )

    try:
        question = Question(kind, series, _base(series), grid)
        simulation = _simulation(question)
        return Shown(view, question, simulation, sweep.lines(question, data.tree, simulation.value, solve))
    except InputError as error:
        return Shown(view, question, refused(f"lab_{kind}", error))


def _base(series: Sequence[Series]) -> Experiment:
    """The settings all series share.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` for custom shares that are no shares; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what they
        were tuned on does not go with them.
    """
    found = experiment(
        allocation=s.ALLOCATION.value, shares=controls.shares(s.ALLOCATION, s.SHARES), metric=s.METRIC.value,
        trials=s.TRIALS.value, delta=slack_of(s.COMPARED.value),
        accounting=tuned.accounting("lab", s.ACCOUNTING.value),
    )  # fmt: skip
    for one in series if tuned.in_force("lab") else ():
        tuned.admit_experiment("lab", one.of(found), dataset().tree)
    return found


def _simulation(question: Question) -> Result[Simulation]:
    tree, counts = dataset().tree, dataset().counts
    return in_background(
        f"lab_{question.view}", question, partial(question.trials, tree),
        partial(sweep.simulate, question, tree, counts), start="button",
    )  # fmt: skip


def used_for(shown: Shown) -> str:
    """What was used; nothing but the data set where nothing is shown."""
    if not shown.lines:
        return strip(*of_data(dataset()))
    base = shown.base
    drawn = shown.view == DRAW or any(line.has_simulation and not line.is_stale for line in shown.lines)
    slack = any(MECHANISMS[line.series.mechanism].needs_delta for line in shown.lines)
    composed = any(is_composed(line.series.of(base)) for line in shown.lines)
    return strip(
        *of_data(dataset()), relation=NeighbouringRelation(base.relation), epsilon=base.epsilon,
        delta=base.delta if slack else 0.0, numerical=composed, seed=base.seed if drawn else None,
    )  # fmt: skip
