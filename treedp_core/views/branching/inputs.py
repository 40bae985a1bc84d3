"""What the page Branching factor asks, and the ranked trees that answer it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.records import Dataset
from treedp_core.studies.branching import RankedShape
from treedp_core.studies.branching import question as study
from treedp_core.studies.branching.question import Question
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload
from treedp_core.views.finding import Finding, Memo, Provenance, Tables
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

    bins: str = of(words("bra_bins", "1024", lambda text: study.bins_from_text(text) if text.strip() else None))
    noise: str = of(choice("bra_noise", "laplace", study.NOISES, label="Noise"))
    workload: str = of(choice("bra_workload", "cdf", study.WORKLOADS, label="Queries"))
    postprocess: str = of(choice("bra_post", "none", study.POSTS, label="Post-processing"))
    budgets: str = of(choice("bra_budgets", "uniform", study.BUDGETS, label="Budget split"))
    padded: bool = of(flag("bra_padded", True))

    def apart(self, data: Dataset) -> BranchingInputs:
        """Return the inputs that say by themselves how many bins there are, δ, and how many records a unit has."""
        delta = self.usable_delta(data.total) if self.noise == "gaussian" else self.delta
        bins = self.bins.strip() or str(bins_of(data))
        return replace(self, bins=bins, delta=delta, contributions=self.protected(data))

    @property
    def total(self) -> float:
        """Your budget in the measure's currency: ε, or the ρ that ε and δ allow."""
        return study.spent(self.question().criterion, self.epsilon, self.delta)

    def question(self) -> Question:
        """Return what is asked.

        Raises
        ------
        InputError
            ``TREE_SHAPE`` for what is no number of bins.
        """
        unit = ProtectedUnit(NeighbouringRelation(self.relation), self.contributions, self.known_levels)
        criterion = Criterion(self.noise, Workload(self.workload), self.postprocess == "least_squares", unit)
        return Question(study.bins_from_text(self.bins), criterion, self.padded, self.budgets == "optimal")


def bins_of(data: Dataset) -> int:
    """Return how many leaves a table has, but for the one of records without a place."""
    return data.tree.n_leaves - (data.other_leaf is not None)


Shapes = list[RankedShape] | None
"""Trees with their best budgets, where these take long: without them budgets are equal."""


@dataclass(frozen=True)
class Trees:
    """The best trees for K.

    Parameters
    ----------
    inputs : BranchingInputs
        Which say by themselves all that is asked.
    asked : Question
        What the trees are ranked by: equal budgets while the best ones are sought.
    shapes : list of RankedShape
        The best first.
    heights : list of HeightBest
        The best tree of each height, with equal budgets where the best ones take long.
    """

    inputs: BranchingInputs
    asked: Question
    shapes: list[RankedShape]
    heights: list[study.HeightBest]

    def finding(self, **found: Any) -> Finding:
        """Return a finding of them."""
        return finding(self.inputs, self.asked, **found)


def trees(inputs: BranchingInputs, tables: Tables, slow: Shapes, memo: Memo) -> Trees:
    """Return the best trees for K."""
    alone = inputs.apart(tables.data)
    asked = alone.question()
    quick = asked.with_equal_budgets if asked.is_slow else asked
    shapes = memo(("branching.ranked", quick), lambda: study.ranked(quick))
    heights = memo(("branching.heights", quick), lambda: study.by_height(quick, shapes))
    if slow is None:
        return Trees(alone, quick, shapes, heights)
    return Trees(alone, asked, memo(("branching.ranked", asked), lambda: slow), heights)


def finding(inputs: BranchingInputs, asked: Question, **found: Any) -> Finding:
    """Return a finding of what is asked: formulas at your budget."""
    criterion = asked.criterion
    delta = inputs.delta if criterion.currency is Currency.RHO else 0.0
    about = (f"K = {whole(asked.n_bins)}",)
    used = Provenance(about=about, relation=criterion.unit.relation, epsilon=inputs.epsilon, delta=delta)
    return Finding(badges=("formula",), provenance=used, **found)
