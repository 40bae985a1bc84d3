"""What is compared: mechanisms with chains of post-processors, each pair a series of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import RELEASES, THRESHOLDS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.accounting import Accounting
from treedp_core.tree import Tree
from treedp_core.words import exact, lower_first, setting_text

EPSILON: Final = "epsilon"
LEVEL: Final = "level"
N_LEVELS: Final = "n_levels"
DRAW: Final = "draw"
VIEWS: Final = {
    EPSILON: "Error vs ε",
    LEVEL: "By level",
    N_LEVELS: "Vs number of levels",
    DRAW: "One draw",
}


@dataclass(frozen=True)
class Series:
    """One mechanism with one pipeline."""

    mechanism: str
    pipeline: str

    @property
    def label(self) -> str:
        """Name for a legend or a card.

        >>> Series("laplace", "none").label, Series("laplace", "least_squares").label
        ('Laplace', 'Laplace, least squares')
        """
        first, then = RELEASES[self.mechanism].label, CHAINS[self.pipeline]
        return f"{first}, {lower_first(then.label)}" if then.steps else first

    @property
    def has_levels(self) -> bool:
        """Whether its noise is planned for levels, so that it has a split, a formula and a plan."""
        return self.mechanism != THRESHOLDS.name

    def of(self, base: Experiment) -> Experiment:
        """Return this series' experiment: settings that cannot matter for it stand at their defaults.

        So a change of such a setting neither makes a simulation stale nor repeats a calculation.
        """
        cell = replace(base, mechanism=self.mechanism, postprocess=CHAINS[self.pipeline].steps)
        return replace(cell, **{name: _DEFAULT[name] for name in _idle(cell)})


_DEFAULT: Final[dict[str, Any]] = {field.name: field.default for field in fields(Experiment)}


def _idle(cell: Experiment) -> list[str]:
    """Names of the settings this experiment's error does not depend on."""
    is_by_rounds = cell.mechanism == THRESHOLDS.name
    uses = set(METRICS[cell.metric].uses if cell.metric in METRICS else ("alpha", "threshold"))
    uses.update(name for step in cell.postprocess for name in POSTPROCESSORS[step].uses)
    uses.update(["alpha"] * is_by_rounds)
    idle = [name for name in ("alpha", "threshold") if name not in uses]
    if not needs_delta(cell.mechanism):
        idle.append("delta")
    if not RELEASES[cell.mechanism].two_accountings:
        idle.append("accounting")
    if cell.relation != NeighbouringRelation.REPLACE_UNKNOWN.value:
        idle.append("known_levels")
    if is_by_rounds:
        idle.append("allocation")
    if is_by_rounds or cell.allocation != "custom":
        idle.append("shares")
    return idle


def needs_delta(mechanism: str) -> bool:
    """Whether a mechanism is private only with delta > 0.

    >>> needs_delta("gaussian"), needs_delta("laplace")
    (True, False)
    """
    return RELEASES[mechanism].needs_delta


def chosen(mechanisms: Iterable[str], pipelines: Iterable[str]) -> list[Series]:
    """Return the series to draw, in the order of the tables."""
    wanted, steps = set(mechanisms), set(pipelines)
    names = [name for name in RELEASES if name in wanted]
    each = [Series(name, pipeline) for name in names for pipeline in CHAINS if pipeline in steps]
    # thresholds take no post-processing: one series whatever the chains
    return list(dict.fromkeys(one if one.has_levels else replace(one, pipeline="none") for one in each))


@dataclass(frozen=True)
class Cell:
    """One number of a figure: an experiment on the first `n_levels` levels of the tree, drawn at `x`."""

    series: Series
    x: float
    n_levels: int
    experiment: Experiment


def cells(view: str, series: Sequence[Series], base: Experiment, tree: Tree, epsilons: Iterable[float]) -> list[Cell]:
    """Return the cells of a view: along epsilon, at your epsilon, or along the number of levels."""
    if view == EPSILON:
        along = [(epsilon, tree.n_levels, replace(base, epsilon=epsilon)) for epsilon in epsilons]
    elif view == N_LEVELS:
        numbers = range(min(2, tree.n_levels), tree.n_levels + 1)
        along = [(float(n), n, replace(base, known_levels=min(base.known_levels, n))) for n in numbers]
    else:
        along = [(base.epsilon, tree.n_levels, base)]
    return [Cell(one, x, n, one.of(experiment)) for one in series for x, n, experiment in along]


def admit(view: str, base: Experiment) -> None:
    """Refuse a view that has no meaning for these settings.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT``: custom shares belong to one number of levels.
    """
    if view == N_LEVELS and base.allocation == "custom":
        raise InputError(
            "BUDGET_SPLIT",
            "Custom shares belong to one number of levels; choose another budget split to vary the number of levels.",
        )


def settings_apart(old: Experiment, new: Experiment, *, ignore: Iterable[str] = ()) -> list[str]:
    """Return what the old experiment was computed for, for each setting in which it differs from the new one.

    >>> settings_apart(Experiment(epsilon=2.0), Experiment(epsilon=1.0, seed=9))
    ['ε = 2', 'seed 7']
    """
    names = [field.name for field in fields(Experiment) if field.name not in ignore]
    return [_WORDS[name](old) for name in names if getattr(old, name) != getattr(new, name)]


def words_of(experiments: Sequence[Experiment]) -> list[str]:
    """Return a name for each of several experiments: its mechanism, its post-processing, and what else differs.

    >>> words_of([Experiment(), Experiment(allocation="minimax", postprocess=("least_squares",))])
    ['Discrete Laplace, the split “uniform”', 'Discrete Laplace, least squares, the split “minimax”']
    """
    always = ("mechanism", "postprocess")
    differ = [one for one in _WORDS if one not in always and len({getattr(each, one) for each in experiments}) > 1]
    names = []
    for one in experiments:
        steps = [lower_first(POSTPROCESSORS[step].label) for step in one.postprocess]
        words = [RELEASES[one.mechanism].label, *steps]
        names.append(", ".join([*words, *(_WORDS[name](one) for name in differ)]))
    return names


_WORDS: Final[Mapping[str, Callable[[Experiment], str]]] = {
    "mechanism": lambda e: RELEASES[e.mechanism].label,
    "postprocess": lambda e: " → ".join(e.postprocess) or "no post-processing",
    "allocation": lambda e: f"the split “{e.allocation.replace('_', ' ')}”",
    "metric": lambda e: METRICS[e.metric].label,
    "epsilon": lambda e: f"ε = {setting_text(e.epsilon)}",
    "delta": lambda e: f"δ = {setting_text(e.delta)}",
    "relation": lambda e: e.relation.replace("_", " "),
    "contributions": lambda e: f"{e.contributions} records a unit",
    "known_levels": lambda e: f"{e.known_levels} known levels",
    "shares": lambda e: "shares " + ", ".join(map(setting_text, e.shares)),
    "alpha": lambda e: f"α = {setting_text(e.alpha)}",
    "threshold": lambda e: f"τ = {exact(e.threshold)}",
    "trials": lambda e: f"{e.trials} runs",
    "seed": lambda e: f"seed {e.seed}",
    "accounting": lambda e: Accounting(e.accounting).told,
}
