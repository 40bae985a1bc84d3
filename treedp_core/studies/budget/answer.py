"""The answer to targets: the smallest budget, what simulated releases reach, and what it costs with its prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation import split
from treedp_core.allocation.shares import handed_over, shares_from_text
from treedp_core.experiment import total_of
from treedp_core.privacy import Accounting
from treedp_core.privacy.prior_provenance import Ledger, Origin
from treedp_core.records import Dataset
from treedp_core.studies.budget.comparison import Problems, problems_of
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.question import Question
from treedp_core.studies.budget.targets.inverse import MANY_NODES, Inverse, smallest_budget
from treedp_core.studies.budget.targets.simulation_check import Confirmation, confirm_all, equal_needs, error_of
from treedp_core.studies.budget.targets.target import Target
from treedp_core.watch import Cancelled, Watch
from treedp_core.words import float_above, privacy_text

A_HAIR_MORE: Final = 1e-4
"""The part of an ε that is added where what it allows leaves no room for shares that are rounded up."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The smallest budget that meets targets, held against simulated releases and against an equal split.

    Parameters
    ----------
    found : Inverse
    confirmed : tuple of Confirmation
        Of every target, from the same releases; of none where nothing need be spent.
    equal : float
        What an equal split needs for the same targets, in the currency; inf where none meets them. Its size is read off
        the prior as well, so that it costs the prior too.
    unread : float
        What an equal split needs whatever the counts are: each is judged as if it were 0, and so by the smallest count
        that errors are relative to. It costs no prior; inf where none meets the targets.
    reached, reached_equally : tuple of float
        The error at each target, in its own unit: of the answer, and of an equal split of the same total.
    composed : (float, float, float)
        What the noise of the answer, of `equal` and of `unread` promises, see `Problem.composed`.
    is_simulated : bool
        Whether simulated releases were looked at: what comes without them comes at once.
    """

    found: Inverse
    confirmed: tuple[Confirmation, ...]
    equal: float
    unread: float
    reached: tuple[float, ...]
    reached_equally: tuple[float, ...]
    composed: tuple[float, float, float] = (math.inf,) * 3
    is_simulated: bool = True

    @property
    def seen(self) -> Confirmation | None:
        """What simulated releases reached of the first target that binds; None where none does."""
        most = self.confirmed[int(np.argmax(self.found.values))] if self.confirmed else None
        return most if most is not None and most.target.level in self.found.binding else None


def answer(
    tuned: Problem, targets: Sequence[Target], watch: Watch | None = None, *, simulate: bool = True, pays: bool = True
) -> Answer:
    """Return the smallest budget, simulated releases held against the first target that binds, and an equal split.

    Parameters
    ----------
    tuned : Problem
        On the prior.
    targets : sequence of Target
    watch : Watch, optional
        Told of the progress in hundredths.
    simulate : bool
        Whether releases are simulated, and the search goes on until its bound is near: without it comes at once.
    pays : bool
        Whether the prior has a price, so that `unread` says something; else it is inf.

    Raises
    ------
    Cancelled, InputError
        As `smallest_budget`.
    """
    found = smallest_budget(tuned, targets, watch, quick=not simulate)
    problem = tuned if watch is None else tuned.watched(watch)
    if not found.total:
        nothing = (0.0,) * len(targets)
        return Answer(found, (), 0.0, 0.0, nothing, nothing, is_simulated=simulate)
    seen = confirm_all(problem, found.amounts, targets) if simulate else ()
    needed, unread = equal_needs(problem, targets), math.inf
    if pays:
        unread = equal_needs(replace(problem, counts=np.zeros(problem.tree.n_nodes)), targets)
    even = (problem.paid > 0).astype(np.float64)
    same = problem.scaled(even, found.total)
    errors, equally = ([error_of(problem, split, one) for one in targets] for split in (found.amounts, same))
    first, second = (problem.composed(problem.scaled(even, one)) if one < math.inf else one for one in (needed, unread))
    composed = (problem.composed(found.amounts), first, second)
    return Answer(found, seen, needed, unread, tuple(errors), tuple(equally), composed, simulate)


@dataclass(frozen=True)
class Request:
    """What is asked of the smallest budget: the noise, what it is tuned on, and the targets."""

    question: Question
    targets: tuple[Target, ...]


@dataclass(frozen=True, eq=False)
class Solution:
    """A request and its answer: None where there is no prior to look at."""

    request: Request
    answer: Answer | None

    @property
    def searched(self) -> float:
        """What share of the work is behind it: less than 1 of what comes at once."""
        return 1.0 if self.answer is None else float(self.answer.is_simulated)


def solve(request: Request, data: Dataset, file: Dataset | None = None, watch: Watch | None = None) -> Solution:
    """Return the answer to a request on a table; `file` is what a prior is counted from, where one is.

    The watch is shown what `solve_at_once` returns, before the search goes on.

    Raises
    ------
    Cancelled, InputError
        As `answer`.
    """
    found = problems_of(request.question, data, file)
    if found.tuned is None:
        return Solution(request, None)
    if watch is not None and data.tree.n_nodes <= MANY_NODES:
        watch.offer(_first(request, found, Watch(cancelled=watch.cancelled)))
    return Solution(request, answer(found.tuned, request.targets, watch))


def solve_at_once(request: Request, data: Dataset, file: Dataset | None = None, watch: Watch | None = None) -> Solution:
    """Return the same without simulated releases.

    Raises
    ------
    Cancelled
        As `answer`, and of a tree of more than `MANY_NODES`.
    InputError
        As `answer`.
    """
    if data.tree.n_nodes > MANY_NODES:
        raise Cancelled
    return _first(request, problems_of(request.question, data, file), watch)


def _first(request: Request, found: Problems, watch: Watch | None) -> Solution:
    pays = found.prior is not None and found.prior.spent > 0
    made = None if found.tuned is None else answer(found.tuned, request.targets, watch, simulate=False, pays=pays)
    return Solution(request, made)


@dataclass(frozen=True, eq=False)
class Price:
    """What the smallest budget costs together with its prior.

    Parameters
    ----------
    total : float
        In the currency, rounded up.
    epsilon : float
        The ε that it promises.
    ledger : Ledger
    to_set : float
        The ε to set so that it is enough: rounded up to four digits.
    shares : str
        The levels' shares of that; "" where no ε of this app is enough, or nothing is spent.
    """

    total: float
    epsilon: float
    ledger: Ledger
    to_set: float
    shares: str


def price(question: Question, truth: Problem, found: Inverse, prior: Origin | None) -> Price:
    """Return what a smallest budget costs with the prior it was tuned on; none where it looks at no counts."""
    paid = prior.spent if prior is not None else 0.0
    spent = tuple(np.where(truth.paid > 0, found.amounts, 0.0).tolist())
    exact = truth.unit.exact_charge(spent) + Fraction(paid)
    total = float_above(Fraction(found.total) + Fraction(paid))
    epsilon = question.epsilon(total, math.inf if paid else truth.composed(found.amounts))
    to_set, shares, more = float(privacy_text(epsilon)), "", A_HAIR_MORE
    while checks.EPSILON_LOW <= to_set <= checks.EPSILON_HIGH and found.total and not shares:
        allowed = _allowed(question, truth, found, to_set, paid)
        offered = handed_over(spent, found.total, max(allowed, total), paid, in_full=True)
        if _is_enough(offered, question, truth, spent, to_set):
            shares = offered
        else:
            to_set, more = float(privacy_text(to_set * (1.0 + more))), 2.0 * more
    ledger = Ledger(truth.unit, question.currency, float_above(exact), prior, spent)
    return Price(total, epsilon, ledger, to_set, shares)


def _is_enough(shares: str, question: Question, truth: Problem, spent: Sequence[float], to_set: float) -> bool:
    """Whether pages that take shares of an ε over spend no less on any level."""
    accounting = question.experiment.accounting if question.within else Accounting.FORMULA.value
    one = replace(
        question.experiment, epsilon=to_set, allocation="custom", shares=shares_from_text(shares), accounting=accounting
    )  # fmt: skip
    made = split(truth.tree, total_of(one, truth.tree), truth.currency, truth.unit, "custom", one.shares)
    return bool((np.array(made.per_level) >= spent).all())


def _allowed(question: Question, truth: Problem, found: Inverse, epsilon: float, paid: float) -> float:
    """The total at an ε whose split an answer is, as pages that take it over find it: rounded down."""
    total = question.amount(epsilon)
    if question.within is None or paid:
        return total
    return truth.held_to((epsilon, question.experiment.delta)).kept(found.amounts, total)[1]
