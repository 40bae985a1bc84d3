"""What the Budget split page computes: the problem, its prior, every strategy's split with its ledger. Pure logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from pages.views.budget.settings import CUSTOM
from treedp_core.allocation import split
from treedp_core.allocation.published import published_for
from treedp_core.allocation.shares import handed_over
from treedp_core.checks import InputError
from treedp_core.errors import METRICS, ErrorSummary
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.records import Dataset
from treedp_core.studies import budget as budgets
from treedp_core.studies.budget import STRATEGIES, GreedySplit, Ledger, Optimum, Origin, Prior, PriorKind, Problem
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.watch import Watch, generator
from treedp_core.words import privacy_text, setting_text

SIMPLE: Final = tuple(name for name, one in STRATEGIES.items() if not one.needs_prior)
TUNED: Final = ("greedy", "optimum")
SYMBOL: Final = {Currency.EPSILON: "ε", Currency.RHO: "ρ"}


@dataclass(frozen=True)
class Settings:
    """Everything a split depends on but the counts: it is the key its results are kept under.

    Parameters
    ----------
    experiment : Experiment
        Mechanism, total budget, protected unit, threshold and seed; its allocation is not used.
    phases : int
        Of the greedy allocation.
    prior : {"noisy", "public", "true"}
    prior_epsilon : float
        What the noisy prior costs; 0 stands for 1, or half of the total where that is less.
    """

    experiment: Experiment
    phases: int
    prior: str
    prior_epsilon: float

    @property
    def law(self) -> str:
        """Name of the noise law."""
        return self.experiment.mechanism

    @property
    def metric(self) -> str:
        """Label of the metric that splits are judged by."""
        return METRICS[self.experiment.metric].label

    @property
    def least_squares(self) -> bool:
        """Whether errors are those after least squares."""
        return bool(self.experiment.postprocess)

    @property
    def currency(self) -> Currency:
        """What the mechanism's budget is in."""
        return MECHANISMS[self.law].currency

    @property
    def symbol(self) -> str:
        """Sign of the currency."""
        return SYMBOL[self.currency]

    @property
    def epsilon_of_prior(self) -> float:
        """The ε that the noisy prior costs.

        >>> Settings(Experiment(epsilon=1.0), 20, "noisy", 0.0).epsilon_of_prior
        0.5
        >>> Settings(Experiment(epsilon=8.0), 20, "noisy", 0.0).epsilon_of_prior
        1.0
        """
        return self.prior_epsilon or min(1.0, self.experiment.epsilon / 2.0)

    def amount(self, epsilon: float) -> float:
        """Return what an ε is in the mechanism's currency; refused where it needs a δ and there is none."""
        if self.currency is Currency.EPSILON:
            return epsilon
        return epsilon_to_rho(epsilon, self.experiment.delta, MECHANISMS[self.law].continuous_gaussian)

    @property
    def total(self) -> float:
        """The whole budget, in the mechanism's currency."""
        return self.amount(self.experiment.epsilon)


def problem(settings: Settings, data: Dataset, counts: AnyArray) -> Problem:
    """Return what a split is judged by, on counts of one's choice (n_nodes,)."""
    one = settings.experiment
    return Problem(data.tree, counts, settings.law, one.unit, one.metric, one.tolerance, settings.least_squares)


def prior_of(settings: Settings, data: Dataset, from_file: Prior | None) -> Prior | None:
    """Return the counts that greedy and tuned splits may look at; None where a file is still to come.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED`` when a noisy prior would cost the whole budget or more; ``PRIOR_EMPTY``.
    """
    if settings.prior == "true":
        return budgets.true_counts(data.tree, data.counts)
    if settings.prior == "public":
        return from_file
    one = settings.experiment
    if settings.epsilon_of_prior >= one.epsilon:
        raise InputError(
            "BUDGET_EXCEEDED",
            f"Expected a prior that costs less than the total of ε = {setting_text(one.epsilon)}, got "
            f"{privacy_text(settings.epsilon_of_prior)}; strategies that look at no prior are shown.",
        )
    rng = generator("noisy prior", one.seed)
    return budgets.noisy(
        data.tree, data.counts, one.unit, settings.law, settings.amount(settings.epsilon_of_prior), rng
    )


@dataclass(frozen=True, eq=False)
class Row:
    """One strategy: its split, its ledger, and its errors on the true counts."""

    name: str
    label: str
    ledger: Ledger
    errors: ErrorSummary

    @property
    def amounts(self) -> FloatArray:
        """What each level spends, (n_levels,); public levels 0."""
        return np.array(self.ledger.amounts)

    @property
    def origin(self) -> Origin | None:
        """What the split was tuned on; None where it looks at nothing."""
        return self.ledger.prior

    @property
    def spent(self) -> float:
        """What the prior cost."""
        return 0.0 if self.origin is None else self.origin.spent

    @property
    def charged(self) -> float:
        """What the levels cost, without the prior."""
        return float(self.ledger.charged - Fraction(self.spent))

    @property
    def handed_over(self) -> str:
        """The split as shares of the total, in one text; what the prior cost stays unspent."""
        return handed_over(self.ledger.amounts, self.charged, self.ledger.total, self.spent)


def judged(truth: Problem, settings: Settings, name: str, label: str, amounts: AnyArray, prior: Origin | None) -> Row:
    """Return a split (n_levels,) with its ledger and its errors on the true counts."""
    spent = np.where(truth.paid > 0, amounts, 0.0)
    ledger = Ledger(truth.unit, truth.currency, settings.total, prior, tuple(spent.tolist()))
    return Row(name, label, ledger, truth.summary(spent))


def simple_rows(truth: Problem, settings: Settings) -> list[Row]:
    """Return the strategies that look at no counts, the published ones that fit among them.

    Raises
    ------
    InputError
        ``ONE_LEVEL``.
    """
    results = budgets.compare(truth, truth, settings.total, SIMPLE)
    labelled = [(r.strategy, STRATEGIES[r.strategy].label, r.budget.per_level) for r in results]
    for one in published_for(truth.tree.n_levels):
        labelled.append((one.name, one.label, truth.budget(np.array(one.shares), settings.total).per_level))
    return [judged(truth, settings, name, label, np.array(amounts), None) for name, label, amounts in labelled]


def left(settings: Settings, prior: Origin) -> float:
    """Return what the prior leaves for the levels."""
    return budgets.left_after(settings.total, prior, settings.currency)


def greedy_row(truth: Problem, tuned: Problem, settings: Settings, prior: Prior) -> tuple[GreedySplit, Row]:
    """Return the greedy split step by step, and as a row."""
    found = budgets.greedy(tuned, left(settings, prior), settings.phases)
    amounts = tuned.budget(found.amounts, left(settings, prior)).per_level
    return found, judged(truth, settings, "greedy", STRATEGIES["greedy"].label, np.array(amounts), prior)


def optimum_row(
    truth: Problem, tuned: Problem, settings: Settings, prior: Prior, watch: Watch | None = None
) -> tuple[Optimum, Row]:
    """Return the best split for the prior, and as a row."""
    found = budgets.optimum(tuned, left(settings, prior), watch=watch)
    amounts = tuned.budget(found.amounts, left(settings, prior)).per_level
    return found, judged(truth, settings, "optimum", tuned_label(found, prior), np.array(amounts), prior)


def tuned_label(found: Optimum, prior: Prior) -> str:
    """Return what the best split found is called: an optimum only where no split is better on the counts shown."""
    if prior.spent:
        return "Tuned, after paying for its prior"
    best = found.certified and prior.kind is PriorKind.TRUE_COUNTS
    return "Optimum" if best else STRATEGIES["optimum"].label


def custom_row(truth: Problem, settings: Settings, shares: Sequence[Fraction], tuned_on: Origin | None) -> Row:
    """Return a split of one's own; `tuned_on` is what it was made from, if that was a tuned split.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when the shares do not fit the tree; ``BUDGET_EXCEEDED`` when they leave too little for what
        they were tuned on, ``PRIOR_OTHER`` when that protects somebody else or was paid in another currency.
    """
    numbers = [float(share) for share in shares]
    budget = split(truth.tree, settings.total, settings.currency, truth.unit, CUSTOM, numbers)
    return judged(truth, settings, CUSTOM, "Your own", np.array(budget.per_level), tuned_on)


def topped_up_error(truth: Problem, row: Row) -> float | None:
    """Return the error when leaves that end early spend what their path leaves; None where no leaf ends early."""
    if truth.leaf_levels.sum() < 2:
        return None
    amounts = budgets.topped_up(truth.tree, truth.unit, row.amounts, row.charged)
    return budgets.node_error(truth, amounts).tree
