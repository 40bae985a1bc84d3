"""How many children a node should have: what is asked, and what the paper states about K."""

from __future__ import annotations

from dataclasses import dataclass, replace

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records import Dataset
from treedp_core.studies.branching.question import (
    BUDGETS,
    NOISES,
    POSTS,
    WORKLOADS,
    Question,
    bins_from_text,
)
from treedp_core.studies.branching.tables import statement_table
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, flag, words
from treedp_core.words import whole


@dataclass(frozen=True, kw_only=True)
class BranchingInputs(ReleaseInputs):
    """For how many bins, and by what measure, the best tree is wanted.

    Parameters
    ----------
    bins : str
        K in digits or as a power; nothing for the leaves of the table in use.
    noise, workload, postprocess, budgets : str
    padded : bool
        Whether a tree may have more leaves than bins.
    """

    bins: str = of(words("bra_bins", "1024", lambda text: bins_from_text(text) if text.strip() else None))
    noise: str = of(choice("bra_noise", "laplace", NOISES, label="Noise"))
    workload: str = of(choice("bra_workload", "cdf", WORKLOADS, label="Queries"))
    postprocess: str = of(choice("bra_post", "none", POSTS, label="Post-processing"))
    budgets: str = of(choice("bra_budgets", "uniform", BUDGETS, label="Budget split"))
    padded: bool = of(flag("bra_padded", True))

    def apart(self, data: Dataset) -> BranchingInputs:
        """Return the inputs that say by themselves how many bins there are, δ, and how many records a unit has."""
        delta = self.usable_delta(data.total) if self.noise == "gaussian" else self.delta
        bins = self.bins.strip() or str(bins_of(data))
        return replace(self, bins=bins, delta=delta, contributions=self.protected(data))

    def question(self) -> Question:
        """Return what is asked.

        Raises
        ------
        InputError
            ``TREE_SHAPE`` for what is no number of bins.
        """
        unit = ProtectedUnit(NeighbouringRelation(self.relation), self.contributions, self.known_levels)
        criterion = Criterion(self.noise, Workload(self.workload), self.postprocess == "least_squares", unit)
        return Question(bins_from_text(self.bins), criterion, self.padded, self.budgets == "optimal")


def bins_of(data: Dataset) -> int:
    """Return how many leaves a table has, but for the one of records without a place."""
    return data.tree.n_leaves - (data.other_leaf is not None)


def statements(inputs: BranchingInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what the paper states about K, checked by exact search: it refuses as `BranchingInputs.question` does."""
    n_bins = bins_from_text(inputs.bins)
    columns = memo(("branching.statements", n_bins), lambda: statement_table(n_bins))
    return Finding(
        columns=lambda: columns,
        alt="Statements of the paper and whether they hold for this K",
        caption="Rameshwar et al., Sec. V: equal budgets, no padding, Laplace noise, one record replaced; "
        "g = height² × Σ (nᵢ − 1), and N² E₂ = 4 K g / ε². Each is compared with the least g over all factorisations "
        "(exact search). Statements that say nothing of this K are left out.",
        badges=("formula",),
        provenance=Provenance(about=(f"K = {whole(n_bins)}",)),
    )


ENTRIES = (
    Entry(
        page="branching", section="checks", part="bra_checks", inputs=BranchingInputs, find=statements,
        apart=BranchingInputs.apart,
    ),
)  # fmt: skip
