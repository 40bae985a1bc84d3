"""Releases whose budget is split over the levels: what they depend on besides their table, and who gets what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, prepare, total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.privacy.accounting import USUAL, Accounting
from treedp_core.privacy.prior_provenance import Ledger, Origin, PriorKind, origin_of_text
from treedp_core.records import Dataset
from treedp_core.studies.sweep.tables import split_table
from treedp_core.tree import Tree
from treedp_core.views.finding import Finding
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.views.parameters import Parameter, choice

# ---- what custom shares were tuned on: what that costs, and what every copy of a result must say of it


def in_force(allocation: str, tuned_on: str) -> Origin | None:
    """Return what a split was tuned on; None unless it is custom, and tuned on something."""
    return origin_of_text(tuned_on) if tuned_on and allocation == "custom" else None


def label(allocation: str, tuned_on: str) -> str:
    """Return what every figure, table and export must say of a split; nothing where it looks at nothing."""
    origin = in_force(allocation, tuned_on)
    if origin is None or not origin.spent:
        return "" if origin is None else origin.label
    return f"{origin.label} That is charged on top of what the levels spend."


def accounting_of(allocation: str, tuned_on: str, chosen: str) -> str:
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


def accounting(key: str) -> Parameter[str]:
    """Return a parameter that says how discrete Gaussian noise becomes ε."""
    return choice(key, USUAL.value, {one.value: one for one in Accounting}, label="Accounting")


@dataclass(frozen=True, kw_only=True)
class SplitInputs(ReleaseInputs):
    """What a release depends on whose budget is split over the levels; each page gives the parameters its keys.

    Parameters
    ----------
    allocation, shares : str
        The budget split, and where it is "custom" the share of each level from the root down.
    tuned_on : str
        What the shares were tuned on: an `Origin` in words; nothing for shares that look at no counts.
    accounting : str
        How discrete Gaussian noise becomes ε.
    """

    allocation: str
    shares: str
    tuned_on: str
    accounting: str

    @property
    def label(self) -> str:
        """What must stand in every copy of what is shown, by what the split was tuned on."""
        return label(self.allocation, self.tuned_on)

    @property
    def origin(self) -> Origin | None:
        """What the split was tuned on; None where it looks at no counts."""
        return in_force(self.allocation, self.tuned_on)

    def split(self, data: Dataset, *mechanisms: str, **overrides: Any) -> Experiment:
        """Return the experiment that these inputs describe with noise of some mechanisms, some of its fields replaced.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` for custom shares that are no shares.
        """
        return self.experiment(
            data, allocation=self.allocation, delta=self.delta_for(mechanisms, data.total),
            shares=shares_from_text(self.shares) if self.allocation == "custom" else (),
            accounting=accounting_of(self.allocation, self.tuned_on, self.accounting), **overrides,
        )  # fmt: skip


def split_by_level(experiment: Experiment, data: Dataset, label: str) -> Finding:
    """Return who gets what: each level's nodes, share, budget and noise; `label` is what every copy says of the split.

    Raises
    ------
    InputError
        What `experiment.prepare` refuses.
    """
    return Finding(
        columns=partial(split_table, experiment, data.tree, data.labels.level_names),
        alt="Share of the budget, budget and noise of each level",
        caption=f"{label} {MECHANISMS[experiment.mechanism].label} noise. Noise 0: published exactly, as the total "
        "is public. Noise ∞: not measured; least squares derives such a level from the others where it can. Formula.",
        label=label,
    )
