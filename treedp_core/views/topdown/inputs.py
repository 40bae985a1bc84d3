"""What the views of TopDown depend on besides their table: columns and their order, the budget, the projection."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.accounting import is_numerical
from treedp_core.records import Dataset
from treedp_core.studies.topdown import (
    Plan,
    Subject,
    Wanted,
    is_product,
    made_up,
    marginals,
    numerical,
    orders,
    product_of_columns,
    projections,
    rho_of,
    rules_for,
    tree_as_it_is,
)
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree
from treedp_core.tree.text import branching_factors_from_text, factors_from_text
from treedp_core.views import split
from treedp_core.views.finding import Memo, Tables
from treedp_core.views.inputs import of
from treedp_core.views.parameters import choice, flag, number, several, tuned_on, whole, words
from treedp_core.views.split import SplitInputs, accounting

SAMPLE: Final = "mobility"
SOURCES: Final = {"trips": "Trips (sample)", "current": "Data set in use", "sparse": "Sparse, made up"}
POSITIONS: Final = tuple(str(i) for i in range(1, checks.MAX_LEVEL_COLUMNS + 1))
RELEASED: Final = (
    "epsilon", "delta", "relation", "contributions", "known_levels", "seed", "source", "columns", "product", "sizes",
    "people", "rho", "allocation", "shares", "tuned_on", "accounting", "spread", "rule",
)  # fmt: skip
"""What a release depends on: not what is shown of it."""
T = TypeVar("T")
_LAST: Final[WeakKeyDictionary[Dataset, tuple[Hashable, Subject]]] = WeakKeyDictionary()
"""What was released last of each table, for as long as somebody has that."""


@dataclass(frozen=True, kw_only=True)
class TopDownInputs(SplitInputs):
    """What the page TopDown shows.

    Parameters
    ----------
    source : {"trips", "current", "sparse"}
        Whose records: of a sample, of the table in use, or made-up people in a table too large to lay out.
    columns : tuple of str
        Which columns, by their places from 1, in the order of the levels; none for all in the order of the data.
    product : bool
        Whether every combination of the columns is a leaf, also where the tree lists fewer.
    sizes : str
        Categories of the made-up columns.
    people : int
        Made-up records.
    rho : str
        The budget; nothing for the largest one that ε and δ allow.
    allocation, shares, tuned_on, accounting : str
        See `SplitInputs`.
    spread : str
        Whether the records of one unit may share a leaf: a `Spread`.
    rule : str
        How noisy counts become whole; one that the columns do not allow stands for the first that they do.
    confidence : float
        With which the bounds of the theorem hold, level by level.
    level, node : int
        Which level is shown, the last one where there are fewer, and where the pictures of the tree start.
    trials : int
        Of repeated releases.
    measure, order_measure, marginals : str
        What is compared of rules, of orders of the columns, and by which columns.
    small : str
        Branching factors of the tree whose neighbours are all tried.
    presented : bool
        Whether there is room for few rows only.
    """

    source: str = of(choice("td_source", "trips", SOURCES, label="Records"))
    columns: tuple[str, ...] = of(several("td_columns", (), POSITIONS, label="Columns, in order"))
    product: bool = of(flag("td_product", False))
    sizes: str = of(words("td_sizes", "10^9"))
    people: int = of(whole("td_records", 100_000, 0, 1_000_000, code="RECORDS_RANGE"))
    rho: str = of(words("td_rho", "", lambda typed: rho_of(typed, 1.0, 1e-6)))
    allocation: str = of(choice("td_allocation", "uniform", ALLOCATIONS, label="Budget split"))
    shares: str = of(words("td_shares", "", shares_from_text))
    tuned_on: str = of(tuned_on("td_tuned"))
    accounting: str = of(accounting("td_accounting"))
    spread: str = of(choice("td_spread", "stacked", {one.value: one.label for one in Spread}, label="They lie"))
    rule: str = of(choice("td_rule", "ls_water_filling", RULES, label="Post-processing"))
    confidence: float = of(
        number("td_confidence", 0.95,
               partial(checks.number, "confidence", low=0.01, high=0.999999, code="CONFIDENCE_RANGE"),
               grid=(0.5, 0.8, 0.9, 0.95, 0.99, 0.999), code="CONFIDENCE")
    )  # fmt: skip
    level: int = of(whole("td_level", checks.MAX_LEVEL_COLUMNS, 0, 64))
    node: int = of(whole("td_node", 0, 0, checks.MAX_NODES))
    trials: int = of(whole("td_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=(20, 100, 400)))
    measure: str = of(choice("td_measure", "rmse", projections.MEASURES, label="Measure"))
    order_measure: str = of(choice("td_order_measure", "marginals", orders.MEASURES, label="Measure"))
    marginals: str = of(choice("td_marginals", marginals.PREFIXES, marginals.OF, label="Counts"))
    small: str = of(words("td_small", "2,2", branching_factors_from_text))
    presented: bool = of(flag("present", False))

    @property
    def question(self) -> TopDownInputs:
        """What one release depends on; of ε nothing where ρ is set."""
        asked = TopDownInputs(**{name: getattr(self, name) for name in RELEASED})
        return replace(asked, epsilon=1.0) if self.rho.strip() else asked

    @property
    def sample(self) -> str:
        """The sample that it is of, whatever table is in use; nothing where it is of none."""
        return SAMPLE if self.source == "trips" else ""

    def apart(self, data: Dataset, own: Dataset | None = None) -> TopDownInputs | None:
        """Return the inputs that say by themselves what they take of the table in use, where they are not of it."""
        if self.source == "current":
            return None
        total, levels = (self.people, data.tree.n_levels) if own is None else (own.total, own.tree.n_levels)
        return replace(
            self, delta=self.usable_delta(max(data.total, total)), contributions=self.protected(data),
            known_levels=min(self.known_levels, levels),
        )  # fmt: skip

    def is_as_it_is(self, data: Dataset) -> bool:
        """Whether the levels of a table are released as they are: they are nested, or leave combinations out."""
        return self.source != "sparse" and not self.product and not is_product(data)

    def order(self, data: Dataset) -> tuple[int, ...]:
        """Return which columns of a table are released, from 0: the chosen ones that there are, else all."""
        n_columns = data.tree.height
        return tuple(int(one) - 1 for one in self.columns if int(one) <= n_columns) or tuple(range(n_columns))

    def subject(self, data: Dataset) -> Subject:
        """Return what is released.

        Raises
        ------
        InputError
            What its columns are refused for.
        """
        of, find = self._subject(data)
        last = _LAST.get(data)
        if last is None or last[0] != of:
            last = _LAST[data] = (of, find())
        return last[1]

    def _subject(self, data: Dataset) -> tuple[Hashable, Callable[[], Subject]]:
        """What is released depends on, besides its table, and how it is found."""
        if self.source == "sparse":
            sizes = factors_from_text(self.sizes)
            return (tuple(sizes), self.people, self.seed), partial(made_up, sizes, self.people, self.seed)
        if self.is_as_it_is(data):
            return "as it is", partial(tree_as_it_is, data)
        return self.order(data), partial(product_of_columns, data, self.order(data))

    def domain(self, data: Dataset) -> tuple[tuple[int, ...] | Tree, int]:
        """Return what a release is planned for, as `Subject.domain`, and how many records it has."""
        if self.source == "sparse":
            return tuple(factors_from_text(self.sizes)), self.people
        if self.is_as_it_is(data):
            return data.tree, data.total
        return tuple(len(data.labels.vocabularies[1 + i]) for i in self.order(data)), data.total

    def plan(self, subject: Subject, data: Dataset) -> Plan:
        """Return the noise of a release; it refuses as `wanted` does."""
        return self.wanted(subject, data).plan(subject)

    def wanted(self, subject: Subject, data: Dataset) -> Wanted:
        """Return what is wanted of a release.

        Raises
        ------
        InputError
            ``RHO_RANGE``, ``BUDGET_SPLIT`` and what else `Wanted.plan` refuses; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER``
            for what shares were tuned on.
        """
        delta, allowed = self.usable_delta(subject.total), rules_for(subject)
        shares = shares_from_text(self.shares) if self.allocation == "custom" and self.shares.strip() else None
        known = self.known_levels if self.source == "sparse" else min(self.known_levels, data.tree.n_levels)
        who = ProtectedUnit(NeighbouringRelation(self.relation), self.protected(data), known)
        wanted = Wanted(
            rho_of(self.rho, self.epsilon, delta), delta, who, shares,
            Spread(self.spread) if who.contributions > 1 else Spread.STACKED,
            self.rule if self.rule in allowed else allowed[0], self.allocation,
        )  # fmt: skip
        how = split.accounting_of(self.allocation, self.tuned_on, self.accounting)
        if not self.rho.strip() and is_numerical(how):
            wanted = numerical(wanted, subject, self.epsilon)
        ready = wanted.plan(subject)
        if shares is not None and self.origin is not None:
            split.admit(self.origin, ready.unit, ready.budget.currency, wanted.rho, ready.budget.per_level)
        return wanted


@dataclass(frozen=True, eq=False)
class Made(Generic[T]):
    """What was released, once or again and again, and of which inputs."""

    inputs: TopDownInputs
    subject: Subject
    wanted: Wanted
    found: T


def made(
    inputs: TopDownInputs, data: Dataset, find: Callable[[Subject, Wanted], T],
    settings: Callable[[Wanted], Wanted] = lambda wanted: wanted,
) -> Made[T]:  # fmt: skip
    """Return what is found of what is released, with what `settings` makes of what is wanted."""
    subject = inputs.subject(data)
    wanted = settings(inputs.wanted(subject, data))
    return Made(inputs, subject, wanted, find(subject, wanted))


def planned(inputs: TopDownInputs, tables: Tables, memo: Memo) -> Made[Plan]:
    """Return what is released and wanted, and the noise of it; it refuses as `TopDownInputs.wanted` does."""
    key = ("topdown.planned", tables.fingerprints, inputs.question)
    return memo(key, lambda: made(inputs.question, tables.data, lambda subject, wanted: wanted.plan(subject)))
