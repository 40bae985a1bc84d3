"""What TopDown draws: one release, or many by every rule, under several orders, and for several marginals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Final

from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies import topdown as study
from treedp_core.studies.topdown import Drawn, OrderResult, RuleResult, Wanted, draws, is_light, some_orders
from treedp_core.studies.topdown.marginals import Marginals, compare_marginals
from treedp_core.views.entries import Work
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.views.inputs import parameter
from treedp_core.views.topdown import words
from treedp_core.views.topdown.inputs import Made, TopDownInputs, made, planned
from treedp_core.watch import Watch

FEW: Final = 4
"""Runs of the first picture, before any was asked for."""
LIGHT: Final = 50_000
"""Noises of a release up to which the first picture takes a moment."""
BADGES: Final = ("simulation", NOT_PRIVATE)
Asked = Callable[[TopDownInputs, Tables], Work]
Find = Callable[[TopDownInputs, Made[Any]], Finding]


def release(inputs: TopDownInputs, data: Dataset, watch: Watch | None = None) -> Made[Drawn]:
    """Return one simulated release beside the truth: see `study.draw`, which refuses, as does `inputs.wanted`."""
    return made(inputs, data, lambda what, wanted: study.draw(what, wanted, inputs.seed, watch))


def by_rule(inputs: TopDownInputs, data: Dataset, watch: Watch | None = None) -> Made[list[RuleResult]]:
    """Return what every rule does in repeated releases: see `study.compare_rules`, which refuses."""
    run = partial(study.compare_rules, trials=inputs.trials, seed=inputs.seed, watch=watch)
    return made(inputs, data, run, Wanted.for_all_rules)


def by_order(inputs: TopDownInputs, data: Dataset, watch: Watch | None = None) -> Made[list[OrderResult]]:
    """Return what repeated releases are like under several orders: see `study.orders_of_subject`, which refuses."""
    run = partial(study.orders_of_subject, trials=inputs.trials, seed=inputs.seed, watch=watch)
    return made(inputs, data, run, Wanted.for_orders)


def by_marginal(inputs: TopDownInputs, data: Dataset, watch: Watch | None = None) -> Made[Marginals]:
    """Return how far off marginals are in several ways: see `compare_marginals`, which refuses."""
    run = partial(compare_marginals, trials=inputs.trials, seed=inputs.seed, watch=watch, of=inputs.marginals)
    return made(inputs, data, run)


def of_release(inputs: TopDownInputs, tables: Tables) -> Work:
    """Return the release, which all views share: only a large one takes long."""
    size = inputs.domain(tables.data)
    return Work(release, inputs.question, ("data",), lambda: draws(*size), name="made", is_quick=is_light(*size),
                slot="td_release", room=1)  # fmt: skip


def of_rules(inputs: TopDownInputs, tables: Tables) -> Work:
    """Return the runs of every rule: whichever is chosen."""
    return _runs(by_rule, inputs, "td_rules", rule=parameter(TopDownInputs, "rule").default)


def of_orders(inputs: TopDownInputs, tables: Tables) -> Work:
    """Return the runs of several orders."""
    domain, _ = inputs.domain(tables.data)
    return _runs(by_order, inputs, "td_orders", len(some_orders(len(domain))) if isinstance(domain, tuple) else 1)


def of_marginals(inputs: TopDownInputs, tables: Tables) -> Work:
    """Return the runs of some marginals."""
    return _runs(by_marginal, inputs, f"td_marginals_{inputs.marginals}", marginals=inputs.marginals)


def _runs(run: Callable[..., Made[Any]], inputs: TopDownInputs, slot: str, units: int = 1, **asked: str) -> Work:
    question = replace(inputs.question, trials=inputs.trials, **asked)  # type: ignore[arg-type]
    return Work(run, question, ("data",), lambda: inputs.trials * units, name="runs", slot=slot)


def view_of(
    work: Asked, waiting: str = "", badges: tuple[str, ...] = BADGES
) -> Callable[[Find], Callable[..., Finding]]:  # fmt: skip
    """Return what makes the view of a function of inputs and what was drawn; `waiting` is its answer before that.

    The view's `slow` is what was drawn last: if it was for other inputs, the view says so. Without one a small release
    is drawn, or a few where that takes a moment. It refuses what `TopDownInputs.wanted` and the work refuse.
    """

    def of(find: Find) -> Callable[..., Finding]:
        @wraps(find)
        def view(
            inputs: TopDownInputs, tables: Tables, *, slow: Made[Any] | None = None, memo: Memo = forgetful
        ) -> Finding:
            asked = work(inputs, tables)
            first, is_quick = _first(asked, inputs, tables.data)
            if slow is None and is_quick:
                slow = memo((asked.slot, tables.fingerprints, first.question), lambda: first.on(tables)(None))
            if slow is not None and slow.inputs in (asked.question, first.question):
                return _marked(find(inputs, slow), slow, badges)
            plan = planned(inputs, tables, memo)  # what is refused is not shown as another one
            if slow is None:
                used = words.provenance(plan, is_spent=asked.function is release)
                return Finding(answer=waiting, badges=badges, provenance=used)
            found = _marked(find(inputs, slow), slow, badges)
            note = f"Shown meanwhile: {words.drawn(slow)}. Press **Run** for the present settings."
            return replace(found, notes=(*found.notes, note))

        del view.__wrapped__  # which takes other arguments
        return view

    return of


def _first(asked: Work, inputs: TopDownInputs, data: Dataset) -> tuple[Work, bool]:
    """What is drawn before anything was asked for, a release or a few runs, and whether that takes a moment."""
    if asked.function is release:
        return asked, asked.is_quick
    few: Any = asked.question
    return replace(asked, question=replace(few, trials=FEW)), draws(*inputs.domain(data)) <= LIGHT


def _marked(found: Finding, made: Made[Any], badges: tuple[str, ...]) -> Finding:
    """A finding that says what was drawn, and what its split was tuned on; it does not hold what was drawn."""
    table = found.table
    return replace(
        found, columns=None if found.is_empty else lambda: table, badges=badges,
        is_simulated=isinstance(made.found, Drawn),
        label=made.inputs.label if made.wanted.allocation == "custom" else "",
        provenance=words.provenance(made, seed=made.inputs.seed),
    )  # fmt: skip
