"""Releases whose budget is split over the levels: what they depend on besides their table, and who gets what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from treedp_core.allocation.shares import shares_from_text
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.accounting import USUAL, Accounting
from treedp_core.privacy.prior_provenance import Origin
from treedp_core.records import Dataset
from treedp_core.studies.sweep.split import split_table
from treedp_core.views import tuning
from treedp_core.views.finding import Finding
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.views.parameters import Parameter, choice


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
        return tuning.label(self.allocation, self.tuned_on)

    @property
    def origin(self) -> Origin | None:
        """What the split was tuned on; None where it looks at no counts."""
        return tuning.in_force(self.allocation, self.tuned_on)

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
            accounting=tuning.accounting(self.allocation, self.tuned_on, self.accounting), **overrides,
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
