"""Every way to split the budget over levels, side by side: what each spends, what it was tuned on, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from treedp_core.allocation import ALLOCATIONS, split
from treedp_core.allocation.shares import handed_over, published_for
from treedp_core.errors import ErrorSummary
from treedp_core.privacy.prior_provenance import Ledger, Origin, left_after
from treedp_core.registry import NO_CARD, MethodCard, Table, lookup
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.greedy import PHASES, GreedySplit, greedy
from treedp_core.studies.budget.splits.node_budgets import node_error, topped_up
from treedp_core.studies.budget.splits.optimum import Optimum, optimum
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch

CUSTOM: Final = "custom"


@dataclass(frozen=True, eq=False)
class Plain:
    """A split that nothing more is known of: what each level spends, (n_levels,)."""

    amounts: FloatArray


class Find(Protocol):
    """How a strategy splits."""

    def __call__(self, problem: Problem, total: float, phases: int) -> Plain | GreedySplit | Optimum:
        """Return what each level spends, and how it was found."""


@dataclass(frozen=True)
class Strategy:
    """A table entry: ``find(problem, total, phases)`` returns what each level spends, and how it was found.

    `needs_prior` says that it looks at the problem's counts, so that they must be public or paid for.
    """

    name: str
    label: str
    help: str
    find: Find
    needs_prior: bool
    card: MethodCard = NO_CARD

    def amounts(self, problem: Problem, total: float, phases: int) -> FloatArray:
        """Return what each level spends, (n_levels,)."""
        return self.find(problem, total, phases).amounts


def _data_free(name: str) -> Strategy:
    one = ALLOCATIONS[name]

    def find(problem: Problem, total: float, phases: int) -> Plain:
        shares = one.shares(problem.tree, problem.unit, problem.currency, ())
        return Plain(problem.tidied(problem.scaled(shares, total), total))

    return Strategy(name, one.label, one.help, find, needs_prior=False)


STRATEGIES: Final[Table[Strategy]] = Table(
    Strategy(
        "greedy",
        "Greedy",
        "Slice by slice to the level where it lowers the error most, judged on the prior (Dawson et al., Algorithm 3).",
        lambda problem, total, phases: greedy(problem, total, phases),
        needs_prior=True,
        card=MethodCard(
            assumptions="A prior for the counts, public or paid for from the budget.",
            formula=r"T\ \text{times:}\quad\ell^*=\arg\min_\ell\ "
            r"\mathrm{error}\bigl(\varepsilon_0,\dots,\varepsilon_\ell+\tfrac{\varepsilon}{T},\dots,\varepsilon_h\bigr)",
            source="Dawson et al., Algorithm 3.",
            strengths="Relative errors, where it is fast and mostly close to the best split.",
            limitations="Trees on which slices get stuck at a split that no single slice betters.",
        ),
    ),
    Strategy(
        "optimum",
        "Tuned",
        "The best split found for the prior: proved the best for Gaussian noise, the best of many searches for other.",
        lambda problem, total, phases: optimum(problem, total),
        needs_prior=True,
        card=MethodCard(
            assumptions="A prior for the counts, public or paid for from the budget.",
            formula=r"\min_{\varepsilon_\ell\ge0,\ \sum_\ell\varepsilon_\ell\le\varepsilon}\ "
            r"\mathrm{error}(\varepsilon_0,\dots,\varepsilon_h)",
            source="Our own; for Gaussian noise the squared error is convex in ρ, so that it is proved the best.",
            strengths="The metric and the prior that it is tuned for.",
            limitations="Counts unlike the prior: it is then tuned for other data.",
        ),
    ),
    derived=lambda: [_data_free(name) for name in ALLOCATIONS if name != CUSTOM],
    of=(ALLOCATIONS,),
)
"""Every allocation but a custom one, then those that look at a prior."""


@dataclass(frozen=True, eq=False)
class Result:
    """One strategy: its split with its ledger, and its errors on the true counts.

    Parameters
    ----------
    name, label : str
    ledger : Ledger
        Its exact charge, the prior's cost included, is at most the total.
    errors : ErrorSummary
        The metric's value for each level and for the tree; inf where a count is not determined.
    found : Plain, GreedySplit or Optimum
        How the split was found.
    """

    name: str
    label: str
    ledger: Ledger
    errors: ErrorSummary
    found: Plain | GreedySplit | Optimum

    @property
    def amounts(self) -> FloatArray:
        """What each level spends, (n_levels,); public levels 0."""
        return np.array(self.ledger.amounts)

    @property
    def shares(self) -> FloatArray:
        """The same as parts of the total, (n_levels,)."""
        return self.amounts / self.ledger.total

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


def compare(
    prior: Problem,
    truth: Problem,
    total: float,
    names: Sequence[str] | None = None,
    phases: int = PHASES,
    origin: Origin | None = None,
    *,
    watch: Watch | None = None,
) -> list[Result]:
    """Return the named strategies tuned on one problem and judged on another, in the order given.

    Parameters
    ----------
    prior : Problem
        Whose counts strategies may look at.
    truth : Problem
        The same with the true counts.
    total : float
        Epsilon or rho, the prior's cost included; splits of it are scaled where `truth.within` says what they promise.
    names : sequence of str, optional
        Names in `STRATEGIES`; by default all.
    phases : int
        Of the greedy allocation.
    origin : Origin, optional
        Where the prior's counts come from, and what they cost those who look at them: nobody, where errors are in
        records.
    watch : Watch, optional
        Told of the progress of a search in hundredths.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN``, ``BUDGET_EXCEEDED``, and what the strategies raise.
    """
    prior.total_checked(total)
    _ = prior.levels_to_split
    prior = prior if watch is None else prior.watched(watch)
    results = []
    for name in STRATEGIES if names is None else names:
        one = lookup(STRATEGIES, name, "strategy")
        paid_for = origin if one.needs_prior and prior.reads_counts else None
        left = left_after(total, paid_for, prior.currency)
        found = one.find(prior, left, phases)
        amounts = np.array(prior.budget(found.amounts, left).per_level)
        label = _label(one, found, paid_for, prior)
        results.append(_judged(truth, total, name, label, amounts, paid_for, found=found))
    return results


def published(truth: Problem, total: float) -> list[Result]:
    """Return the published splits that fit the tree."""
    fit = [
        (one, np.array(truth.budget(np.array(one.shares), total).per_level))
        for one in published_for(truth.tree.n_levels)
    ]
    return [_judged(truth, total, one.name, one.label, amounts, None) for one, amounts in fit]


def own(truth: Problem, total: float, shares: Sequence[Fraction], tuned_on: Origin | None = None) -> Result:
    """Return a split of one's own; `tuned_on` is what it was made from, if that was a tuned split.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when the shares do not fit the tree; ``BUDGET_EXCEEDED`` when they leave too little for what
        they were tuned on, ``PRIOR_OTHER`` when that protects somebody else or was paid in another currency.
    """
    numbers = [float(share) for share in shares]
    budget = split(truth.tree, total, truth.currency, truth.unit, CUSTOM, numbers)
    return _judged(truth, total, CUSTOM, "Your own", np.array(budget.per_level), tuned_on)


def data_free(truth: Problem, total: float) -> list[Result]:
    """Return the strategies that look at no counts, and the published splits that fit; it refuses as `compare` does."""
    simple = [name for name, one in STRATEGIES.items() if not one.needs_prior]
    return [*compare(truth, truth, total, simple), *published(truth, total)]


def best_simple(results: Sequence[Result]) -> Result | None:
    """Return the strategy with the smallest error of those that look at no counts, published splits among them."""
    looking = {name for name, one in STRATEGIES.items() if one.needs_prior} | {CUSTOM}
    simple = [one for one in results if one.name not in looking]
    return min(simple, key=lambda one: one.errors.tree, default=None)


def topped_up_error(truth: Problem, result: Result) -> float | None:
    """Return the error when leaves that end early spend what their path leaves; None where no leaf ends early."""
    if truth.leaf_levels.sum() < 2:
        return None
    return node_error(truth, topped_up(truth.tree, truth.unit, result.amounts, result.charged)).tree


def _judged(
    truth: Problem,
    total: float,
    name: str,
    label: str,
    amounts: FloatArray,
    origin: Origin | None,
    *,
    found: Plain | GreedySplit | Optimum | None = None,
) -> Result:
    """A split (n_levels,) with its ledger and its errors on the true counts.

    Of what it was tuned on only the cost is known where that was paid for: then the formula accounts for both.
    """
    spent = np.where(truth.paid > 0, amounts, 0.0)
    if origin is None or not origin.spent:
        spent, total = truth.kept(spent, total)
    ledger = Ledger(truth.unit, truth.currency, total, origin, tuple(spent.tolist()))
    return Result(name, label, ledger, truth.summary(spent), found or Plain(spent))


def _label(one: Strategy, found: Plain | GreedySplit | Optimum, origin: Origin | None, prior: Problem) -> str:
    """What a split is called: an optimum only where no split is better on the counts shown, at one total in all."""
    if not isinstance(found, Optimum) or (origin is None and prior.reads_counts):
        return one.label
    if origin is not None and origin.spent:
        return f"{one.label}, after paying for its prior"
    on_these = origin is None or not origin.is_private
    return "Optimum" if found.certified and on_these and prior.within is None else one.label
