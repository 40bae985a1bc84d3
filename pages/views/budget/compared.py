"""Every strategy that answers what the Budget split page asks, for all of its views, and the calls that give them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Final

from pages.ui import result, tuned
from pages.ui.page import Told
from pages.ui.refusals import refusal
from pages.ui.shared import experiment
from pages.ui.store import dataset, from_file, used
from pages.ui.strip import of_data, of_experiment
from pages.ui.text import small_print
from pages.views.budget import ask
from pages.views.budget import settings as s
from pages.views.budget.prior import SLOT as PRIOR_FILE
from pages.views.budget.prior import file_prior
from pages.views.budget.words import badges
from treedp_core.allocation.shares import shares_of_text
from treedp_core.checks import InputError
from treedp_core.notebook.code import Ran, call, given
from treedp_core.records import Dataset
from treedp_core.studies.budget import (
    STRATEGIES,
    Prior,
    Problem,
    Question,
    Result,
    compare,
    every_strategy,
    own,
    prior_of,
    problem_on,
)
from treedp_core.studies.budget.question import NONE
from treedp_core.words import plural

GREEDY, OPTIMUM = "greedy", "optimum"
SEARCHED: Final = "Searching for the best split"


@dataclass(frozen=True)
class Compared:
    """What the page shows; two of one key are equal.

    Parameters
    ----------
    question : Question
    key : hashable
        All that it depends on, but for the data.
    truth : Ran
        The problem on the true counts.
    rows : tuple of Result
    prior : Ran or None
        What splits may be tuned on; also None where no split depends on counts.
    tuned : Ran or None
        The problem on it, on counts of 0 where none are needed; None while a prior is needed and missing.
    refused : tuple of InputError
        Why there is no prior, or no split of one's own.
    search : pages.ui.result.Result or None
        The tuned split, which may be on its way.
    """

    question: Question
    key: Hashable
    truth: Ran[Problem] = field(compare=False)
    rows: tuple[Result, ...] = field(compare=False)
    prior: Ran[Prior] | None = field(default=None, compare=False)
    tuned: Ran[Problem] | None = field(default=None, compare=False)
    refused: tuple[InputError, ...] = field(default=(), compare=False)
    search: result.Result[list[Result]] | None = field(default=None, compare=False)

    def row(self, name: str) -> Result | None:
        """Return a strategy's row, if it could be had."""
        return next((row for row in self.rows if row.name == name), None)

    @property
    def chosen(self) -> Result | None:
        """The row of the chosen strategy, or else the first one; a split of one's own where that is what is seen."""
        if s.VIEW.value == s.CUSTOM:
            return self.row(s.CUSTOM)
        return self.row(s.STRATEGY.value) or next(iter(self.rows), None)

    def at_press(self, row: Result) -> Result:
        """Return a row for a button: shares may have been moved or typed since the page was drawn.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT``.
        """
        return self.own() if row.name == s.CUSTOM else row

    def own(self) -> Result:
        """Return the row of one's own split as it is now.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT``.
        """
        return own(self.truth.value, self.question.total, custom_shares(), tuned.of("bud"))

    @property
    def is_pending(self) -> bool:
        """Whether the tuned split is still to come, or its search was cancelled."""
        return self.search is not None and not self.search.is_ready and self.search.error is None

    @property
    def label(self) -> str:
        """What every figure and export must say when splits were tuned on the true counts; else nothing."""
        origins = [row.origin for row in self.rows]
        return next((one.label for one in origins if one is not None and not one.is_private), "")


def show(
    question: Question, draw: Callable[[Compared], None], more: Callable[[Compared], None], *, best: bool = True
) -> Told:
    """Show what `draw` makes of what is there at once and, below, what could not be had and how the search stands.

    `more` draws what stands under *More*. Without `best` the tuned split is not searched for.
    """
    counted = from_file(PRIOR_FILE) if question.from_file else None
    key = (question, counted and counted.fingerprint)
    kept = result.at_once("budget", key, partial(_compared, question, key), about=about(question), room=0)
    if kept.value is None:
        result.show_state(kept, "The comparison")
        n_levels = plural(dataset().tree.n_levels, "level")
        small_print(f"{n_levels}: choose other data on the Data page, or other settings; nothing is lost.")
        ask.notes()
        return Told(about(question), badges(question), more=ask.more)
    one = _completed(kept.value, best)
    draw(one)
    result.show_state(kept, "The comparison")
    for error in one.refused:
        refusal(error)
    if one.search is not None:
        result.show_state(one.search, SEARCHED)
    ask.notes()
    return Told(about(one.question), badges(one.question), more=partial(more, one))


def about(question: Question) -> str:
    """Return the strip: noise is drawn for a noisy prior alone, as errors are formulas."""
    return of_experiment(question.experiment, *of_data(dataset()), seeded=question.pays)


def _compared(question: Question, key: Hashable) -> Compared:
    """What is there at once; a refused prior takes nothing from strategies that look at none."""
    data, total = used(), question.total
    truth = call(problem_on, question, data, data.get("counts")).named("truth")
    simple = Compared(question, key, truth, tuple(every_strategy(truth.value, total)))
    of_file = file_prior() if question.from_file else None
    if question.from_file and of_file is None:
        return simple
    try:
        prior = None if question.prior == NONE else _prior(question, data, of_file)
        of_prior = () if prior is None else (prior.get("counts"),)
        tuned_on = call(problem_on, question, data, *of_prior).named("tuned")
        origin = None if prior is None else prior.value
        found = compare(tuned_on.value, truth.value, total, (GREEDY,), question.phases, origin)
    except InputError as error:
        return replace(simple, refused=(error,))
    return replace(simple, rows=(*simple.rows, *found), prior=prior, tuned=tuned_on)


def _prior(question: Question, data: Ran[Dataset], of_file: Ran[Prior] | None) -> Ran[Prior]:
    """The prior that is asked for."""
    return of_file if of_file is not None and not question.pays else _made(question, data, of_file)


def _made(question: Question, data: Ran[Dataset], of_file: Ran[Prior] | None) -> Ran[Prior]:
    """What is worked out from the data, or from a file of counts that are private too."""
    if of_file is None:
        return call(prior_of, question, data).named("prior")
    return call(prior_of, question, data, of_file.named("historic")).named("prior")


def _completed(one: Compared, best: bool) -> Compared:
    """The same with the tuned split, once it is found, and a split of one's own, once it is asked for."""
    asked = one.question
    if best and one.tuned is not None:
        origin = None if one.prior is None else one.prior.value
        work = partial(compare, one.tuned.value, one.truth.value, asked.total, (OPTIMUM,), asked.phases, origin)
        search = result.in_background("budget_optimum", one.key, 100, work)
        one = replace(one, rows=(*one.rows, *(search.here() if search.is_ready else ())), search=search)
    if s.CUSTOM in (s.STRATEGY.value, s.VIEW.value) or s.SHARES.value:
        try:
            one = replace(one, rows=(*one.rows, one.own()))
        except InputError as error:
            one = replace(one, refused=(*one.refused, error))
    return one


def custom_shares() -> tuple[Fraction, ...]:
    """Return the custom shares: those of the text, or equal ones for a start; the text fits any number of levels.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT``.
    """
    if s.SHARES.value.strip():
        return shares_of_text(s.SHARES.value)
    n_levels, first = dataset().tree.n_levels, int(experiment().unit.total_is_public)
    return (Fraction(0),) * first + (Fraction(1, max(1, n_levels - first)),) * (n_levels - first)


def rows_again(one: Compared) -> Ran[list[Result]]:
    """Return the call that gives every strategy."""
    names = tuple(name for name in STRATEGIES if one.row(name) is not None)
    more: dict[str, Any] = {"names": names}
    if one.tuned is not None:
        more |= {"prior": one.tuned, "phases": one.question.phases} | ({"origin": one.prior} if one.prior else {})
    mine = one.row(s.CUSTOM)
    if mine is not None:
        more |= {"shares": custom_shares(), "shares_from": mine.origin}
    return given(list(one.rows), every_strategy, one.truth, one.question.total, **more).named("rows")
