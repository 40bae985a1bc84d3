"""What the views of the page Budget split depend on besides their tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.allocation.shares import PUBLISHED_SPLITS, PublishedSplit, shares_of_text
from treedp_core.checks import InputError
from treedp_core.errors import METRICS, Metric
from treedp_core.errors.metrics import squared
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.accounting import USUAL, Accounting
from treedp_core.privacy.prior_provenance import Origin, origin_of_text
from treedp_core.records import Dataset
from treedp_core.registry import Table
from treedp_core.studies.budget import STRATEGIES, Ask, Question, Strategy, Target, targets_of_text, usual_text
from treedp_core.studies.budget.answer import Request
from treedp_core.studies.budget.figure4 import Design
from treedp_core.studies.budget.question import FROM_FILE, NONE, PAID
from treedp_core.studies.budget.splits.greedy import MAX_PHASES, PHASES
from treedp_core.studies.budget.strategies import CUSTOM
from treedp_core.studies.budget.targets.target_text import scaled, wanted_of_text
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, flag, number, tuned_on, whole, words

PRIORS: Final = {
    "draw": "Another draw (public)",
    "noisy": "Noisy prior",
    "public": "Public or historic file",
    "earlier": "Historic file, private (noisy)",
    "true": "True counts (NOT PRIVATE)",
}
CURVES_OF: Final = {"data": "The data in use", "paper": "Published design"}
HEIGHTS: Final = {
    "5": "5: partner, country, device, product age, delay in 2-day buckets",
    "4": "4: partner, country, device, delay in 6-day buckets",
    "3": "3: partner, country, delay in 6-day buckets",
}
ASKS: Final = {
    Ask.AVERAGE_NODE: "A count picked at random is within x",
    Ask.EVERY_NODE: "Every count is within x",
    Ask.SHARE: "A part of them within x at once",
    Ask.RMSRE: "RMSRE at most x %",
    Ask.RMSE: "RMSE at most x records",
}
JUDGED_BY: Final[Table[Metric]] = Table(
    derived=lambda: [one for one in METRICS.values() if one.expected is None and one.root], of=(METRICS,)
)
"""Metrics that come from variances alone, before and after least squares."""
CHOICES: Final[Table[Strategy | PublishedSplit | Allocation]] = Table(
    derived=lambda: [*STRATEGIES.values(), *PUBLISHED_SPLITS.values(), ALLOCATIONS[CUSTOM]],
    of=(STRATEGIES,),
)
MOST_MARGINS: Final = 100
_target = partial(checks.number, high=1, low=0, open_low=True, code="TARGET_RANGE")


@dataclass(frozen=True, kw_only=True)
class BudgetInputs(ReleaseInputs):
    """What the page Budget split shows.

    Parameters
    ----------
    mechanism, least_squares
        The noise, and whether a release is post-processed.
    metric : str
        What splits are judged by and tuned for, where no targets are set.
    phases : int
        Slices of the greedy allocation.
    prior : str
        What splits are tuned on: see `Question`. Another draw is of made-up data only; of others it stands for a noisy
        prior.
    prior_epsilon : float
        What a noisy prior costs; 0 stands for 1, or half of the total where that is less.
    absent : bool
        Whether leaves of the data that the prior's file lacks count 0.
    strategy : str
        The split whose ledger and reliability are shown.
    shares, tuned_on : str
        Of a split of one's own, from the root down, and what that was made from; equal ones where there are none.
    kind : str
        Of targets without a kind: the name of an `Ask` in small letters.
    targets : str
        Level by level: see `wanted_of_text`; the usual ones where there are none.
    margins : float
        What the error of every target is multiplied by.
    within, confidence : float
        A count is good if it is within so many per cent, with that probability at least.
    curves_of, height, by_partner
        Whether curves are of the table in use or of the published design, its height, and whether each partner has a
        split of its own there.
    node : int
        Where the map begins.
    """

    mechanism: str = of(choice("bud_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism"))
    least_squares: bool = of(flag("bud_least_squares", True))
    metric: str = of(choice("bud_metric", "rmsre", JUDGED_BY, label="Metric"))
    phases: int = of(whole("bud_phases", PHASES, 1, MAX_PHASES, code="PHASES_RANGE", grid=(10, 20, 40, 80)))
    prior: str = of(choice("bud_prior", "draw", PRIORS, label="Tune on"))
    prior_epsilon: float = of(
        number("bud_prior_eps", 0.0,
               partial(checks.number, "the ε of the prior", low=0, high=checks.EPSILON_HIGH, code="EPS_RANGE"),
               code="EPS")
    )  # fmt: skip
    absent: bool = of(flag("bud_absent", False))
    strategy: str = of(choice("bud_strategy", "greedy", CHOICES, label="Chosen split"))
    shares: str = of(words("bud_shares", "", shares_of_text))
    tuned_on: str = of(tuned_on("bud_tuned"))
    kind: str = of(
        choice("bud_ask", Ask.AVERAGE_NODE.name.lower(), {ask.name.lower(): told for ask, told in ASKS.items()},
               label="Kind")
    )  # fmt: skip
    targets: str = of(words("bud_targets", "", wanted_of_text))
    within: float = of(
        number("bud_within", 10.0, partial(_target, "the relative error in %", high=1000), code="TARGET",
               grid=(1.0, 2.0, 5.0, 10.0, 20.0, 50.0))
    )  # fmt: skip
    margins: float = of(
        number("bud_margins", 1.0, partial(_target, "the factor of the margins", high=MOST_MARGINS), code="TARGET",
               grid=(0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0))
    )  # fmt: skip
    confidence: float = of(
        number("bud_confidence", 0.95, partial(_target, "confidence", open_high=True), code="TARGET",
               grid=(0.5, 0.8, 0.9, 0.95, 0.99))
    )  # fmt: skip
    curves_of: str = of(choice("bud_of", "data", CURVES_OF, label="Curves of"))
    height: str = of(choice("bud_height", "5", HEIGHTS, label="Height of the tree"))
    by_partner: bool = of(flag("bud_partners", True))
    node: int = of(whole("bud_node", 0, 0, checks.MAX_NODES))

    @property
    def is_published(self) -> bool:
        """Whether curves are of the published design, not of the table in use."""
        return self.curves_of == "paper"

    @property
    def is_from_file(self) -> bool:
        """Whether the prior is counted from a file."""
        return self.prior in FROM_FILE

    @property
    def origin(self) -> Origin | None:
        """What a split of one's own was made from; None where it looks at no counts."""
        return origin_of_text(self.tuned_on) if self.tuned_on else None

    @property
    def usual(self) -> Ask:
        """What kind a target without one is of."""
        return Ask[self.kind.upper()]

    def prior_for(self, data: Dataset) -> str:
        """Return what splits of a table may be tuned on: another draw is of made-up data only."""
        return "noisy" if self.prior == "draw" and not data.is_made_up else self.prior

    def question(self, data: Dataset) -> Question:
        """Return what is asked of splits of a table that the metric judges."""
        return self._question(data, METRICS[self.metric].loss is not squared)

    def request(self, data: Dataset) -> Request:
        """Return what is asked of the smallest budget.

        Raises
        ------
        InputError
            ``TARGET_RANGE``.
        """
        wanted = self.wanted(data)
        return Request(self._question(data, any(one.reads_counts for one in wanted)), wanted)

    def reads_counts(self, data: Dataset, *, targets: bool) -> bool:
        """Return whether the best split depends on the counts: errors in records are the same whatever they are."""
        try:
            return (self.request(data).question if targets else self.question(data)).prior != NONE
        except InputError:
            return True

    def wanted(self, data: Dataset) -> tuple[Target, ...]:
        """Return the targets, level by level; ``TARGET_RANGE`` where they are none."""
        n_levels = data.tree.n_levels
        return targets_of_text(self.scaled_targets(data), n_levels, self.usual, self.confidence, self.threshold)

    def scaled_targets(self, data: Dataset) -> str:
        """Return the targets with the errors that are wanted of them, as typed."""
        return scaled(self.targets_for(data), self.margins, self.usual)

    def targets_for(self, data: Dataset) -> str:
        """Return the targets as they are typed, or those that stand until others are."""
        return self.targets.strip() or usual_text(data.tree.n_levels)

    def curves_question(self, data: Dataset) -> Question:
        """Return what is asked of curves: they are of every ε, before and after least squares."""
        one = self.question(data)
        return replace(one, experiment=replace(one.experiment, epsilon=1.0, postprocess=()))

    @property
    def design(self) -> Design:
        """What is asked of curves of the published design."""
        return Design(int(self.height), self.threshold, self.phases, self.seed, self.by_partner)

    def _question(self, data: Dataset, reads_counts: bool) -> Question:
        """What is asked; settings that cannot matter stand at their defaults."""
        prior, noise = self.prior_for(data) if reads_counts else NONE, MECHANISMS[self.mechanism]
        is_noisy = prior in PAID
        way = Accounting.FORMULA if is_noisy and noise.two_accountings else USUAL
        one = self.experiment(
            data, mechanism=self.mechanism, postprocess=("least_squares",) if self.least_squares else (),
            metric=self.metric, alpha=Experiment.alpha, accounting=way.value,
            delta=self.usable_delta(data.total) if noise.needs_delta else 0.0, seed=self.seed if is_noisy else 0,
        )  # fmt: skip
        more: dict[str, Any] = {"absent_are_zero": True} if self.absent and prior in FROM_FILE else {}
        return Question(one, self.phases, prior, self.prior_epsilon if is_noisy else 0.0, **more)

    def own_shares(self, data: Dataset) -> tuple[Fraction, ...]:
        """Return the shares of a split of one's own: those of the text, or equal ones for a start.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT``.
        """
        if self.shares.strip():
            return shares_of_text(self.shares)
        n_levels, first = data.tree.n_levels, int(self.experiment(data).unit.total_is_public)
        return (Fraction(0),) * first + (Fraction(1, max(1, n_levels - first)),) * (n_levels - first)
