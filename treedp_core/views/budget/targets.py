"""From wanted accuracies to the smallest budget: the answer with its split, and what it costs."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

from treedp_core.figures.budget import met_of, targets_met
from treedp_core.studies.budget import (
    Answer,
    Price,
    Problems,
    Question,
    Request,
    Solution,
    price,
    solve,
    solve_at_once,
    target_table,
)
from treedp_core.studies.budget.comparison import problems_of
from treedp_core.views.budget import words
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.budget.splits import provenance
from treedp_core.views.entries import Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.words import literal, plain, privacy_text

NO_PRIOR = "The search needs a prior to look at."
TO_COME = "The smallest ε is not known yet: see below."
PANELS = (
    "Left: the share of each level that gets any of the smallest budget, or what skipping it saves. Right: the error "
    "at each target, that of an equal split, and what is wanted, as bars and in numbers."
)


def smallest_epsilon(
    inputs: BudgetInputs, tables: Tables, *, slow: Solution | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the smallest budget that meets the targets as far as the prior tells, and who gets it.

    Parameters
    ----------
    slow : Solution, optional
        The last one: one of other targets is shown as what it is.

    Raises
    ------
    InputError
        ``TARGET_RANGE``; ``ONE_LEVEL``; what a prior is refused for.
    """
    data, request = tables.data, inputs.request(tables.data)
    here, names = problems(request.question, tables, memo), data.labels.level_names
    _ = here.truth.levels_to_split
    if here.refusal is not None:
        raise here.refusal
    if slow is None or slow.answer is None:
        return Finding(
            figure=targets_met((), names, ()), answer=NO_PRIOR if here.tuned is None else TO_COME, caption=PANELS,
            alt="Empty axes: no budget is known yet.", notes=words.notes(here), label=here.label,
            badges=words.CONFIRMED, provenance=_made_from(request.question, tables),
        )  # fmt: skip
    of, targets, found = problems(slow.request.question, tables, memo), slow.request.targets, slow.answer
    question = of.question
    assert of.tuned is not None
    told = [literal(name, 24) for name in names]
    meanwhile = f"Shown meanwhile: {'; '.join(one.described for one in targets)}."
    # while a hand moves, too few other splits were looked at
    said, saved = (words.skipped(question, found.found, told), found.found.saved) if found.is_simulated else ("", ())
    beside = [said] if said else []
    more = [meanwhile] if slow.request != request else [] if found.is_simulated else [words.NOT_SIMULATED]
    return Finding(
        figure=targets_met(found.found.shares, names, met_of(targets, found), saved),
        columns=partial(
            target_table, of.tuned, of.truth, found.found, targets, names, question.symbol, confirmed=found.confirmed
        ),
        answer=words.smallest(question, of.prior, targets, found, told),
        alt="Share of each level in the smallest budget, and the error at each target beside an equal split's.",
        caption=words.answered(found.found, question, targets),
        notes=(*words.notes(here), *beside, *more),
        label=of.label,
        badges=words.CONFIRMED,
        provenance=_made_from(question, tables),
    )


def _made_from(question: Question, tables: Tables) -> Provenance:
    """What was used: ε is the answer, and a setting only where it bounds the price of a prior."""
    found = provenance(question, tables)
    return found if question.pays else replace(found, epsilon=0.0)


def cost(inputs: BudgetInputs, tables: Tables, *, slow: Solution | None = None, memo: Memo = forgetful) -> Price | None:
    """Return what the smallest budget costs with its prior; None while none is known."""
    if slow is None or slow.answer is None:
        return None
    of = problems(slow.request.question, tables, memo)
    return price(of.question, of.truth, slow.answer.found, of.origin)


def costs(inputs: BudgetInputs, tables: Tables, *, slow: Solution | None = None, memo: Memo = forgetful) -> Finding:
    """Return what the smallest budget costs in a few numbers, and its ledger."""
    paid = cost(inputs, tables, slow=slow, memo=memo)
    if paid is None or slow is None or slow.answer is None:
        return Finding(answer=TO_COME)
    request, answer = slow.request, slow.answer
    columns = dict(
        zip(("number", "value", "what", "about"), map(list, zip(*_numbers(request, answer, paid, tables), strict=True)),
            strict=True)
    )  # fmt: skip
    told = words.answered(answer.found, request.question, request.targets)
    return Finding(
        columns=lambda: columns,
        answer=f"{told}\n\n**Ledger.** {plain(paid.ledger.sentence())}",
        label=problems(request.question, tables, memo).label,
    )


def _numbers(request: Request, answer: Answer, paid: Price, tables: Tables) -> list[tuple[str, str, str, str]]:
    found, question = answer.found, request.question
    spent = 0.0 if paid.ledger.prior is None else paid.ledger.prior.spent
    return [
        ("Smallest ε in all", privacy_text(paid.epsilon), f"{question.symbol} = {privacy_text(found.total)}, levels",
         "What the levels and the prior cost together, in ε, rounded up."),
        ("For the prior", privacy_text(spent), question.symbol,
         "What the split was tuned on cost; 0 where it is public, or where nothing depends on counts."),
        ("Seen in simulation", *words.seen(answer),
         "What simulated releases with this split reach of the target that binds; the table below has every target."),
        ("Binding level", *words.binding(found, tables.data.labels.level_names),
         "The level whose target asks for the most."),
        ("Proved lower bound", *words.lower_bound(found, question), "No split reaches the targets with less."),
    ]  # fmt: skip


def problems(question: Question, tables: Tables, memo: Memo) -> Problems:
    """Return what splits of a table are judged by, and what they may be tuned on."""
    key: Hashable = ("budget.problems", tables.fingerprints, question)
    return memo(key, partial(problems_of, question, tables.data, tables.prior))


def work(inputs: BudgetInputs, tables: Tables) -> Work:
    """Return the search for the smallest budget."""
    request = inputs.request(tables.data)
    has_none = request.question.from_file and tables.prior is None
    return Work(
        solve, request, ("data", "prior"), lambda: 100, name="solution", is_quick=has_none, at_once=solve_at_once
    )  # fmt: skip
