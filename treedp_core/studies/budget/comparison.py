"""Strategies that answer one question side by side: what is there at once, and the best split once it is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treedp_core.checks import InputError
from treedp_core.privacy.prior_provenance import Origin
from treedp_core.records import Dataset
from treedp_core.studies.budget.prior import Prior
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.question import NONE, Question, prior_for, problem_on
from treedp_core.studies.budget.strategies import STRATEGIES, Result, compare, data_free
from treedp_core.watch import Watch

GREEDY: Final = "greedy"
OPTIMUM: Final = "optimum"


@dataclass(frozen=True, eq=False)
class Problems:
    """What splits are judged by, and what they may be tuned on.

    Parameters
    ----------
    question : Question
    truth : Problem
        On the true counts.
    prior : Prior, optional
        What splits may be tuned on; also None where no split depends on counts.
    tuned : Problem, optional
        On it, and on counts of 0 where none are needed; None while a prior is needed and missing, or refused.
    refusal : InputError, optional
        Why there is no prior.
    """

    question: Question
    truth: Problem
    prior: Prior | None = None
    tuned: Problem | None = None
    refusal: InputError | None = None

    @property
    def origin(self) -> Origin | None:
        """Where the prior comes from and what it cost, without its counts."""
        return None if self.prior is None else self.prior.origin

    @property
    def label(self) -> str:
        """What every figure and export must say of a split that was tuned on the true counts; else nothing."""
        return "" if self.prior is None or self.prior.is_private else self.prior.origin.label


def problems_of(question: Question, data: Dataset, file: Dataset | None = None) -> Problems:
    """Return what splits of a table are judged by; `file` is what a prior is counted from, where one is."""
    truth = problem_on(question, data, data.counts)
    try:
        prior = prior_for(question, data, file)
    except InputError as error:
        return Problems(question, truth, refusal=error)
    if prior is None and question.prior != NONE:
        return Problems(question, truth)
    return Problems(question, truth, prior, problem_on(question, data, None if prior is None else prior.counts))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Strategies side by side.

    Parameters
    ----------
    problems : Problems
    rows : tuple of Result
    refusals : tuple of InputError
        Why there is no prior, or no split of one's own.
    """

    problems: Problems
    rows: tuple[Result, ...]
    refusals: tuple[InputError, ...] = ()

    @property
    def question(self) -> Question:
        """What they answer."""
        return self.problems.question

    @property
    def label(self) -> str:
        """What every figure and export must say where a split was tuned on the true counts; else nothing."""
        origins = (row.origin for row in self.rows)
        return next((one.label for one in origins if one is not None and not one.is_private), "")

    @property
    def to_come(self) -> str:
        """The strategy that is still sought; nothing where all are there, or it cannot be had."""
        return OPTIMUM if self.problems.tuned is not None and self.row(OPTIMUM) is None else ""

    @property
    def is_reviewed(self) -> bool:
        """Whether every strategy is TreeDP's own, and none a plug-in's."""
        return not any(STRATEGIES.author(row.name) for row in self.rows if row.name in STRATEGIES)

    def row(self, name: str) -> Result | None:
        """Return a strategy's row, if it could be had."""
        return next((row for row in self.rows if row.name == name), None)


def at_once(question: Question, data: Dataset, file: Dataset | None = None) -> Comparison:
    """Return the strategies that take no search; a refused prior takes nothing from those that look at none.

    Raises
    ------
    InputError
        What the strategies refuse that look at no counts, such as ``ONE_LEVEL``.
    """
    found = problems_of(question, data, file)
    rows = tuple(data_free(found.truth, question.total))
    if found.tuned is not None:
        try:
            rows += tuple(_compared(found, GREEDY))
        except InputError as error:
            found = replace(found, prior=None, tuned=None, refusal=error)
    return Comparison(found, rows, () if found.refusal is None else (found.refusal,))


@dataclass(frozen=True, eq=False)
class Search:
    """What a search for the best split found: no row where there is no prior to look at."""

    question: Question
    rows: tuple[Result, ...]


def search(question: Question, data: Dataset, file: Dataset | None = None, watch: Watch | None = None) -> Search:
    """Return the best split that is found for the prior; its watch is told in hundredths.

    Raises
    ------
    Cancelled, InputError
        As `compare`.
    """
    found = problems_of(question, data, file)
    return Search(question, () if found.tuned is None else tuple(_compared(found, OPTIMUM, watch)))


def _compared(found: Problems, name: str, watch: Watch | None = None) -> list[Result]:
    assert found.tuned is not None
    one = found.question
    return compare(found.tuned, found.truth, one.total, (name,), one.phases, found.origin, watch=watch)
