"""What the views of multiplicative error depend on besides their table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from treedp_core import checks
from treedp_core.experiment import Experiment
from treedp_core.records import Dataset
from treedp_core.studies.multiplicative import Setting, simple
from treedp_core.studies.multiplicative.accuracy import LevelThresholds, thresholds_from_text
from treedp_core.studies.multiplicative.ranking import levels_from_text
from treedp_core.studies.multiplicative.run import PLANS
from treedp_core.studies.multiplicative.simple import (
    DEEP_LEAVES,
    DEEP_LEVELS,
    DEEP_RECORDS,
    MEAN_RECORDS,
    SOURCES,
    Source,
)
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, flag, number, whole, words

MAX_STEPS: Final = 10_000
FIRST_STEP: Final = 5
"""Where a run is opened: some nodes have a value, a path is lit, and the rest is to come."""
MAX_ROUNDS: Final = 60


@dataclass(frozen=True, kw_only=True)
class WorstCaseInputs(ReleaseInputs):
    """What worst cases are of: one record is added or removed, whatever the relation.

    Parameters
    ----------
    every_curve : bool
        Every mechanism and both lower bounds instead of the four lines that decide.
    levels : str
        Where mechanisms are compared, in digits or as a power; nothing for the levels of the table.
    total : float
        Records of the root at most.
    eta : float
        Probability with which a count may miss the promise.
    node_thresholds : str
        τ of the nodes of each level from the root down, in records; the last one is that of all deeper levels, nothing
        for one that is sought.
    rounds : int
        Rounds of the printed schedule.
    """

    every_curve: bool = of(flag("mul_all", False))
    levels: str = of(words("mul_levels", "", levels_from_text))
    total: float = of(
        number(
            "mul_total", 10_000.0, partial(checks.number, "the largest total", low=100, high=1e12, code="TOTAL_RANGE"),
            grid=tuple(10.0**k for k in range(2, 10)), code="TOTAL_RANGE",
        )
    )  # fmt: skip
    eta: float = of(
        number(
            "mul_eta", 0.01, partial(checks.number, "eta", low=1e-9, high=0.4, code="ETA_RANGE"),
            grid=(1e-6, 1e-4, 0.001, 0.01, 0.05, 0.1), code="ETA",
        )
    )  # fmt: skip
    node_thresholds: str = of(words("mul_thresholds", "", thresholds_from_text))
    rounds: int = of(whole("mul_rounds", 20, 1, MAX_ROUNDS, code="ROUNDS_RANGE"))

    def apart(self, data: Dataset) -> WorstCaseInputs:
        """Return the inputs that say by themselves what they take of a table: δ, and the number of levels."""
        delta = self.usable_delta(max(data.total, int(self.total)))
        return replace(self, delta=delta, levels=self.levels.strip() or str(data.tree.n_levels))

    def setting(self, data: Dataset) -> Setting:
        """Return what every curve is drawn for; it refuses as `Setting` does."""
        return Setting(self.alpha, self.epsilon, self.apart(data).delta, max_total=self.total)

    def n_levels(self, data: Dataset) -> int:
        """Return the number of levels at which mechanisms are compared.

        Raises
        ------
        InputError
            ``LEVELS_RANGE``.
        """
        return levels_from_text(self.apart(data).levels)

    def own_thresholds(self, data: Dataset) -> LevelThresholds | None:
        """Return the thresholds of levels that are asked about, if any are.

        Raises
        ------
        InputError
            ``THRESHOLD_RANGE``; ``LEVELS_RANGE``.
        """
        values = thresholds_from_text(self.node_thresholds)
        return LevelThresholds(values, self.n_levels(data)) if values else None


@dataclass(frozen=True, kw_only=True)
class RunInputs(ReleaseInputs):
    """What one run is of.

    Parameters
    ----------
    source : str
        The tree: "small" and "deep" are made up, "current" is that of the table.
    plan : str
        Which thresholds and budgets.
    clamp : bool
        Whether every count is measured once more, and moved, for half of the budget (Lemma 3.3 of Ghazi et al.).
    deep_levels, deep_leaves, deep_records, made_seed : int
        Of the deep tree: levels, leaves with records, records of a leaf on average, seed.
    step : int
        After which step it is shown; the last one where it has fewer.
    """

    source: str = of(choice("mul_source", "small", SOURCES, label="Tree"))
    plan: str = of(choice("mul_plan", "tuned", PLANS, label="Plan"))
    clamp: bool = of(flag("mul_clamp", False))
    deep_levels: int = of(whole("mul_deep_levels", 100, 2, DEEP_LEVELS[-1], code="LEVELS_RANGE", grid=DEEP_LEVELS))
    deep_leaves: int = of(whole("mul_deep_leaves", 1000, 2, DEEP_LEAVES[-1], grid=DEEP_LEAVES))
    deep_records: int = of(whole("mul_deep_records", MEAN_RECORDS, 1, DEEP_RECORDS[-1], grid=DEEP_RECORDS))
    made_seed: int = of(whole("gen_seed", 7, 0, checks.MAX_SEED, code="SEED_RANGE"))
    step: int = of(whole("mul_step", FIRST_STEP, 0, MAX_STEPS))

    @property
    def is_made_up(self) -> bool:
        """Whether the tree is none of a table."""
        return self.source != "current"

    @property
    def question(self) -> RunInputs:
        """What the run itself depends on: not which step of it is shown."""
        return replace(self, step=0, threshold=10.0)

    def tree(self, data: Dataset) -> Source:
        """Return the tree to run on.

        Raises
        ------
        InputError
            ``LEVELS_RANGE`` for a table of one level.
        """
        match self.source:
            case "small":
                return simple.small_tree()
            case "deep":
                return simple.deep_tree(self.deep_levels, self.deep_leaves, self.made_seed, self.deep_records)
        return simple.tree_in_use(data.name, data.tree, data.counts)

    def apart(self, data: Dataset) -> RunInputs | None:
        """Return the inputs that say by themselves what they take of a table, where the tree is made up."""
        if not self.is_made_up:
            return None
        delta = self.usable_delta(max(data.total, self.tree(data).paths.total))
        return replace(self, delta=delta, contributions=self.protected(data))

    def promise(self, source: Source, data: Dataset) -> Experiment:
        """Return what a run on a tree promises."""
        return self.experiment(
            data, delta=self.usable_delta(max(data.total, source.paths.total)), postprocess=(), threshold=10.0,
            known_levels=min(self.known_levels, source.paths.n_levels),
        )  # fmt: skip
