"""What a comparison of splits is about: the noise, the total, whom it protects, and what splits may be tuned on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment, total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency
from treedp_core.privacy.budget import refuse_small_part
from treedp_core.privacy.conversions import rho_to_epsilon, rho_to_epsilon_gaussian
from treedp_core.privacy.prior_provenance import SYMBOL
from treedp_core.records import Dataset
from treedp_core.studies.budget.prior import Prior, another_draw, noisy, public_of_file, true_counts
from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import AnyArray
from treedp_core.watch import generator
from treedp_core.words import privacy_text, setting_text

NONE: Final = "none"
"""No prior, where nothing reads its counts."""
PAID: Final = ("noisy", "earlier")
"""Priors that are noisy releases, charged to the total."""
FROM_FILE: Final = ("public", "earlier")
"""Priors that are counted from a file."""


@dataclass(frozen=True)
class Question:
    """Everything a split depends on but the counts: its results are kept under it.

    Parameters
    ----------
    experiment : Experiment
        Mechanism, total budget, protected unit, metric, threshold and seed; its allocation is not used.
    phases : int
        Of the greedy allocation.
    prior : {"draw", "noisy", "public", "earlier", "true", "none"}
        What splits are tuned on; a public one is counted from a file, an earlier one is that with noise, as its records
        are private too; another draw is of made-up records; none where errors are in records, whatever the counts.
    prior_epsilon : float
        What the noisy prior costs; 0 stands for 1, or half of the total where that is less.
    absent_are_zero : bool
        Whether leaves of the data that the prior's file lacks count 0.
    """

    experiment: Experiment
    phases: int
    prior: str
    prior_epsilon: float
    absent_are_zero: bool = False

    @property
    def pays(self) -> bool:
        """Whether the prior is a noisy release, charged to the total."""
        return self.prior in PAID

    @property
    def from_file(self) -> bool:
        """Whether the prior is counted from a file."""
        return self.prior in FROM_FILE

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

        >>> Question(Experiment(epsilon=1.0), 20, "noisy", 0.0).epsilon_of_prior
        0.5
        >>> Question(Experiment(epsilon=8.0), 20, "noisy", 0.0).epsilon_of_prior
        1.0
        """
        return self.prior_epsilon or min(1.0, self.experiment.epsilon / 2.0)

    def amount(self, epsilon: float) -> float:
        """Return what an ε is in the mechanism's currency; refused where it needs a δ and there is none."""
        return total_of(replace(self.experiment, epsilon=epsilon))

    def epsilon(self, amount: float, composed: float = math.inf) -> float:
        """Return the ε that an amount of the mechanism's currency promises, or its noise does where that is less."""
        if self.currency is Currency.EPSILON or amount == 0:
            return amount
        convert = rho_to_epsilon_gaussian if MECHANISMS[self.law].continuous_gaussian else rho_to_epsilon
        return min(convert(amount, self.experiment.delta), composed)

    @property
    def total(self) -> float:
        """The whole budget, in the mechanism's currency; in ρ what the formula allows, see `within`."""
        return total_of(self.experiment)

    @property
    def within(self) -> tuple[float, float] | None:
        """The (ε, δ) that each split's own noise is held to by numerical accounting; None where its cost is.

        Of a prior that was paid for only the cost is known wherever a split is taken to, so that all splits beside it
        are accounted for by the formula as well.
        """
        one = self.experiment
        numerical = MECHANISMS[self.law].is_composed(one.accounting) and not self.pays
        return (one.epsilon, one.delta) if numerical else None


def problem_on(question: Question, data: Dataset, counts: AnyArray | None = None) -> Problem:
    """Return what a split is judged by, on counts of one's choice (n_nodes,); without any, every count is 0."""
    one, tree = question.experiment, data.tree
    known = np.zeros(tree.n_nodes) if counts is None else counts
    return Problem(
        tree, known, question.law, one.unit, one.metric, one.tolerance, question.least_squares, within=question.within
    )


def prior_of(question: Question, data: Dataset, earlier: Prior | None = None) -> Prior:
    """Return the counts that greedy and tuned splits look at: the true ones, a noisy release, or another draw of them.

    Another draw is of made-up data only. The noisy release is of `earlier` counts where there are some: a unit may have
    records then and now, so that both are charged to one total.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED`` when a noisy prior would cost the whole budget or more; ``PRIOR_EMPTY``.
    """
    if question.prior == "true":
        return true_counts(data.tree, data.counts)
    if question.prior == "draw":
        return another_draw(data.tree, data.counts)
    one = question.experiment
    if question.epsilon_of_prior >= one.epsilon:
        raise InputError(
            "BUDGET_EXCEEDED",
            f"Expected a prior that costs less than the total of ε = {setting_text(one.epsilon)}, got "
            f"{privacy_text(question.epsilon_of_prior)}; strategies that look at no prior are shown.",
        )
    refuse_small_part("A noisy prior", question.epsilon_of_prior, one.epsilon)
    amount = question.amount(question.epsilon_of_prior)
    if earlier is not None:
        rng = generator("noisy earlier prior", one.seed)
        return noisy(data.tree, earlier.counts, one.unit, question.law, amount, rng)
    return noisy(data.tree, data.counts, one.unit, question.law, amount, generator("noisy prior", one.seed))


def prior_for(question: Question, data: Dataset, file: Dataset | None = None) -> Prior | None:
    """Return what splits are tuned on; None where nothing reads counts, or no file of these leaves is there.

    Parameters
    ----------
    file : Dataset, optional
        What a public or an earlier prior is counted from.

    Raises
    ------
    InputError
        As `prior_of`.
    """
    if question.prior == NONE or not question.from_file:
        return None if question.prior == NONE else prior_of(question, data)
    public = None if file is None else matched(data, file, absent_are_zero=question.absent_are_zero)
    return prior_of(question, data, public) if public is not None and question.pays else public


def matched(data: Dataset, file: Dataset, *, absent_are_zero: bool = False) -> Prior | None:
    """Return the public counts of a file as a prior; None where it was counted for other data."""
    try:
        return public_of_file(data, file, absent_are_zero=absent_are_zero)
    except InputError:
        return None
