"""What the views of the page Consistency depend on besides their table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import MAX_NODES
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy.prior_provenance import Ledger
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import Series
from treedp_core.views import split
from treedp_core.views.inputs import of
from treedp_core.views.parameters import choice, tuned_on, whole, words
from treedp_core.views.split import SplitInputs, accounting

SHOWN: Final = {"before": "Before", "after": "After"}


@dataclass(frozen=True, kw_only=True)
class ConsistencyInputs(SplitInputs):
    """What the page Consistency shows: one release before and after post-processing.

    Parameters
    ----------
    mechanism, postprocess : str
        The noise, and the chain of post-processors.
    allocation, shares, tuned_on, accounting : str
        See `SplitInputs`.
    node : int
        Where the tree starts, and whose children are summed; a leaf or none of the tree stands for its parent or the
        root.
    shown : {"before", "after"}
        Which counts the balance and the tree show.
    """

    mechanism: str = of(choice("con_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism"))
    postprocess: str = of(choice("con_post", "least_squares", CHAINS, label="Post-processing"))
    allocation: str = of(choice("con_allocation", "uniform", ALLOCATIONS, label="Budget split"))
    shares: str = of(words("con_shares", "", shares_from_text))
    tuned_on: str = of(tuned_on("con_tuned"))
    accounting: str = of(accounting("con_accounting"))
    node: int = of(whole("con_node", 0, 0, MAX_NODES))
    shown: str = of(choice("con_shown", "before", SHOWN, label="Counts"))

    @property
    def series(self) -> Series:
        """The noise and the post-processing."""
        return Series(self.mechanism, self.postprocess)

    def release(self, data: Dataset) -> Experiment:
        """Return what is released.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` for custom shares that are no shares; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what
            they were tuned on does not go with them.
        """
        steps = CHAINS[self.postprocess].steps
        one = self.split(data, self.mechanism, mechanism=self.mechanism, postprocess=steps)
        split.admit_experiment(self.origin, one, data.tree)
        return one

    def ledger(self, data: Dataset) -> Ledger | None:
        """Return what the split and what it was tuned on cost together; None where it was on nothing."""
        return split.admit_experiment(self.origin, self.release(data), data.tree)
