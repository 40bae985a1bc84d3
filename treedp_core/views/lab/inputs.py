"""What the views of the Error lab depend on besides their table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.errors import METRICS
from treedp_core.experiment import EPSILON_GRID, Experiment
from treedp_core.mechanisms import RELEASES
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Dataset
from treedp_core.studies.sweep.lines import Question, formula_grid
from treedp_core.studies.sweep.series import Series, chosen
from treedp_core.views import split
from treedp_core.views.inputs import of
from treedp_core.views.parameters import choice, number, several, tuned_on, whole, words
from treedp_core.views.split import SplitInputs, accounting


@dataclass(frozen=True, kw_only=True)
class LabInputs(SplitInputs):
    """What the Error lab shows.

    Parameters
    ----------
    mechanisms : tuple of str
    postprocess : tuple of str
        Chains of post-processors: each mechanism with each chain is a series.
    metric : str
    trials : int
        Simulated releases for each marker.
    allocation, shares, tuned_on, accounting : str
        See `SplitInputs`.
    level, series : int
        Of one draw: the level that is shown (0 is the root) and which series.
    target : float
        A wanted error, in the metric's unit; 0 asks for nothing.
    """

    mechanisms: tuple[str, ...] = of(several("lab_mechanisms", ("discrete_laplace",), RELEASES, label="Mechanisms"))
    postprocess: tuple[str, ...] = of(several("lab_post", ("none", "least_squares"), CHAINS, label="Post-processing"))
    metric: str = of(choice("lab_metric", "rmse", METRICS, label="Metric"))
    trials: int = of(whole("lab_trials", 400, 1, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=(100, 400, 1600, 6400)))
    allocation: str = of(choice("lab_allocation", "uniform", ALLOCATIONS, label="Budget split"))
    shares: str = of(words("lab_shares", "", shares_from_text))
    tuned_on: str = of(tuned_on("lab_tuned"))
    accounting: str = of(accounting("lab_accounting"))
    level: int = of(whole("lab_level", checks.MAX_LEVEL_COLUMNS, 0, 64))
    series: int = of(whole("lab_series", 0, 0, len(RELEASES) * len(CHAINS)))
    target: float = of(
        number("lab_target", 0.0, partial(checks.number, "lab_target", low=0, high=1e12, code="TARGET_RANGE"),
               code="TARGET")
    )  # fmt: skip

    @property
    def compared(self) -> tuple[Series, ...]:
        """The series that are compared."""
        return tuple(chosen(self.mechanisms, self.postprocess))

    def base(self, data: Dataset) -> Experiment:
        """Return the settings that all series share.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` for custom shares that are no shares; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what
            they were tuned on does not go with them.
        """
        shared = self.split(data, *self.mechanisms, metric=self.metric, trials=self.trials)
        for series in self.compared if self.origin is not None else ():
            if series.has_levels:
                split.admit_experiment(self.origin, series.of(shared), data.tree)
        return shared

    def question(self, view: str, data: Dataset) -> Question:
        """Return what a figure of lines asks of a table; it refuses as `base` does."""
        series = self.compared
        return Question(view, series, self.base(data), formula_grid(EPSILON_GRID, len(series), self.metric, data.tree))
