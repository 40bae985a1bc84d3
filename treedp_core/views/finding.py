"""What a view found, whole: shown, kept in a notebook, compared, exported and tested as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from treedp_core.experiment import Experiment
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.trees.icicle import watermark
from treedp_core.mechanisms import RELEASES
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import Accounting, NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of
from treedp_core.records.export.columns import Columns
from treedp_core.studies.cdf.matrices.workload import Ranges
from treedp_core.tree import Tree
from treedp_core.words import plural, setting_text

T = TypeVar("T")


class Memo(Protocol):
    """What keeps stages of a view under keys that say all they depend on, where there is something to keep them in."""

    def __call__(self, key: Hashable, compute: Callable[[], T], /) -> T:
        """Return `compute()`, or what it returned before under this key."""


def forgetful(key: Hashable, compute: Callable[[], T], /) -> T:
    """Compute every time: the memo of whoever has none."""
    return compute()


@cache
def no_table() -> Dataset:
    """Return what stands for a table where there is none: a single count of no records."""
    tree = Tree(np.array([-1]), np.array([0, 1]))
    counts = np.zeros(1, dtype=np.int64)
    return Dataset("no table", tree, labels_of(tree, [], [], []), counts, DomainSource.PUBLIC, ReadReport(0, 0))


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables that a view is of: immutable; whoever calls a view chooses them.

    Parameters
    ----------
    data : Dataset
        The table in use; a single count of no records for a view that is of no table.
    prior : Dataset, optional
        What a split is tuned on, where a view takes one.
    ranges : tuple
        Ranges and weighted sums of bins that stood in a table of their own: see `matrices.workload.Ranges`.
    plan : ReleasePlan, optional
        A plan that was made elsewhere.
    """

    data: Dataset = field(default_factory=no_table)
    prior: Dataset | None = None
    ranges: Ranges = ()
    plan: ReleasePlan | None = None

    @property
    def credit(self) -> str:
        """What every copy of what is found in them must say of published records among them."""
        told = (one.credit for one in (self.data, self.prior) if one is not None)
        return "; ".join(dict.fromkeys(filter(None, told)))

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """What results kept of these tables are known by."""
        other = [repr(self.ranges)] if self.ranges else []
        of_units = (one.report for one in (self.data, self.prior) if one is not None and one.report.unit_rows)
        other += [repr((report.unit_rows, report.recipe.bound)) for report in of_units]
        of_values = (one.report for one in (self.data, self.prior) if one is not None and one.report.recipe.value)
        other += [repr((report.values, report.recipe.grid, report.recipe.value)) for report in of_values]
        other += [] if self.plan is None else [self.plan.to_json()]
        own = (one.fingerprint for one in (self.data, self.prior) if one is not None)
        return (*own, *(hashlib.sha256(one.encode("utf-8", "surrogatepass")).hexdigest() for one in other))


class UserText(str):
    """Text of a file or of a person: whoever shows it escapes it."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a finding was made from: data, relation, budget, seed.

    Parameters
    ----------
    about : tuple of str or of tuple of str
        What the numbers are about; text that is not our own is `UserText`. A tuple is a path.
    relation : NeighbouringRelation, optional
        Who is protected; `is_fixed` where it is not for the inputs to say.
    epsilon, rho, delta : float
        What was spent; 0 for what was not.
    numerical : bool
        Whether that is so by numerical accounting.
    seed : int, optional
        Of the noise, where some was drawn.

    >>> Provenance(about=("997 bins",), relation=NeighbouringRelation.REPLACE_ONE, epsilon=0.1, seed=7).line()
    '997 bins · replace one · ε = 0.1 · seed 7'
    """

    about: tuple[str | tuple[str, ...], ...] = ()
    relation: NeighbouringRelation | None = None
    is_fixed: bool = False
    epsilon: float = 0.0
    rho: float = 0.0
    delta: float = 0.0
    numerical: bool = False
    seed: int | None = None

    def line(self, escape: Callable[[str], str] = str) -> str:
        """Return one line that names what was used, and nothing else; `escape` makes text of others safe to show."""
        paths = [(one,) if isinstance(one, str) else one for one in self.about]
        about = [" › ".join(escape(one) if isinstance(one, UserText) else one for one in path) for path in paths]
        who = "" if self.relation is None else self.relation.label.lower()
        who += ", whatever the sidebar says" if self.is_fixed else ""
        spent = [
            f"{name} = {setting_text(of)}"
            for name, of in (("ε", self.epsilon), ("ρ", self.rho), ("δ", self.delta))
            if of
        ]
        way = f" {Accounting.NUMERICAL.told}" if self.numerical else ""
        parts = (*about, who, ", ".join(spent) + way, "" if self.seed is None else f"seed {self.seed}")
        return " · ".join(part for part in parts if part)


def about_data(data: Dataset) -> tuple[str, ...]:
    """Return what a table is, for a provenance."""
    return UserText(data.name), plural(data.tree.n_levels, "level"), plural(data.tree.n_leaves, "leaf", "leaves")


def of_releases(data: Dataset, base: Experiment, shown: Sequence[Experiment], *, drawn: bool = False) -> Provenance:
    """Return what was used of the settings that releases of a table share: nothing but the table where none is shown.

    Parameters
    ----------
    drawn : bool
        Whether noise was drawn.
    """
    if not shown:
        return Provenance(about=about_data(data))
    needs_delta = any(RELEASES[one.mechanism].needs_delta for one in shown)
    return Provenance(
        about=about_data(data), relation=NeighbouringRelation(base.relation), epsilon=base.epsilon,
        delta=base.delta if needs_delta else 0.0, seed=base.seed if drawn else None,
        numerical=any(RELEASES[one.mechanism].is_composed(one.accounting) for one in shown),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """What a view found.

    Parameters
    ----------
    figure : Draft, optional
        As it is drawn on light ground, marked where its label says "NOT PRIVATE"; None where the table is what is
        shown.
    columns : function, optional
        Makes the table of the numbers shown, by the names of its columns: see `table`. None where there are none yet.
    answer : str
        What it says to the view's question: a sentence or two with numbers (Markdown).
    caption : str
        What lines and markers mean, tree, runs, seed, source (Markdown; text of others in code spans).
    alt : str
        The figure in words, for those who do not see it.
    how : str
        What to do with it on its page, such as where to click: part of the caption, but of no copy.
    notes : tuple of str
        What must be known besides (Markdown), such as that markers are of other settings.
    learnt : str
        What one learns from just these numbers (Markdown).
    label : str
        What must stand in every copy of the figure, its code and its numbers, such as "NOT PRIVATE: why".
    badges : tuple of str
        Kinds of its numbers: "formula", "simulation", "NOT PRIVATE", "not reviewed".
    provenance : Provenance
    is_simulated : bool
        Whether the table is of a simulated release: then each row of it and the name of its file say so.
    credit : str
        Source, date and licence of the published records that it is of, which every copy must say.
    """

    figure: Draft | None = None
    columns: Callable[[], Columns] | None = field(default=None, repr=False)
    answer: str = ""
    caption: str = ""
    alt: str = ""
    how: str = ""
    notes: tuple[str, ...] = ()
    learnt: str = ""
    label: str = ""
    badges: tuple[str, ...] = ()
    provenance: Provenance = Provenance()
    is_simulated: bool = False
    credit: str = ""

    def __post_init__(self) -> None:
        if self.figure is not None and self.label.startswith(NOT_PRIVATE):
            marked = watermark(Draft(self.figure.data, self.figure.layout), NOT_PRIVATE)
            if marked.layout["annotations"][-1] not in self.figure.layout.get("annotations", ()):  # once, in a copy too
                object.__setattr__(self, "figure", marked)

    @cached_property
    def table(self) -> Columns:
        """The numbers shown, by column: made when somebody looks."""
        return {} if self.columns is None else self.columns()

    @property
    def is_empty(self) -> bool:
        """Whether there are no numbers, as nothing was chosen, or they are still worked out."""
        return self.columns is None

    def _repr_mimebundle_(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> dict[str, Any]:
        """Show itself in Jupyter: the figure, else the answer."""
        answer = {"text/markdown": f"{self.answer}\n\n{self.caption}", "text/plain": self.answer}
        if self.figure is None:
            return answer
        shown: dict[str, Any] = self.figure.figure()._repr_mimebundle_(include, exclude)
        return {**answer, **shown}
