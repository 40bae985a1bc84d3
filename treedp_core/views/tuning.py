"""What custom shares were tuned on: what that costs, and what every copy of a result must say of it."""

from __future__ import annotations

from collections.abc import Sequence

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare, total_of
from treedp_core.privacy import Accounting, Currency, ProtectedUnit
from treedp_core.privacy.prior_provenance import Ledger, Origin, PriorKind, origin_of_text
from treedp_core.tree import Tree


def in_force(allocation: str, tuned_on: str) -> Origin | None:
    """Return what a split was tuned on; None unless it is custom, and tuned on something."""
    return origin_of_text(tuned_on) if tuned_on and allocation == "custom" else None


def label(allocation: str, tuned_on: str) -> str:
    """Return what every figure, table and export must say of a split; nothing where it looks at nothing."""
    origin = in_force(allocation, tuned_on)
    if origin is None or not origin.spent:
        return "" if origin is None else origin.label
    return f"{origin.label} That is charged on top of what the levels spend."


def accounting(allocation: str, tuned_on: str, chosen: str) -> str:
    """Return how noise is accounted for: by the formula where a prior was paid for, as its noise may be another."""
    origin = in_force(allocation, tuned_on)
    return Accounting.FORMULA.value if origin is not None and origin.spent else chosen


def of_plan(split: Origin | None, *, is_sought: bool) -> Origin | None:
    """Return what a plan was tuned on: its split, or the true counts where its ε `is_sought` on them.

    Raises
    ------
    InputError
        ``PRIOR_OTHER`` where a prior was paid for, as a plan states one of both.
    """
    if not is_sought or (split is not None and not split.is_private):
        return split
    if split is not None and split.spent:
        raise InputError(
            "PRIOR_OTHER",
            "ε was sought on the true counts, but the split was tuned on a release that was paid for; choose another "
            "ε.",
        )
    return Origin(PriorKind.TRUE_COUNTS)


def admit(
    origin: Origin | None, unit: ProtectedUnit, currency: Currency, total: float, per_level: Sequence[float]
) -> Ledger:
    """Return the ledger of a split, what it was tuned on included.

    Raises
    ------
    InputError
        ``PRIOR_OTHER``, ``BUDGET_EXCEEDED``.
    """
    spent = tuple(0.0 if unit.total_is_public and level == 0 else a for level, a in enumerate(per_level))
    return Ledger(unit, currency, total, origin, spent)


def admit_experiment(origin: Origin | None, experiment: Experiment, tree: Tree) -> Ledger | None:
    """Return the ledger of an experiment whose split was tuned on something; None where it was on nothing.

    Raises
    ------
    InputError
        What `admit` and `experiment.prepare` raise.
    """
    if origin is None:
        return None
    budget = prepare(experiment, tree).budget
    return admit(origin, experiment.unit, budget.currency, total_of(experiment, tree), budget.per_level)
