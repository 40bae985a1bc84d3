"""Every entry of the tables, read from them: what it assumes and says, and each of a kind compared with the others.

A new entry, also one of a plug-in, is here from the moment that its table has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import PUBLISHED_SPLITS
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.isotonic import FITS
from treedp_core.registry import MethodCard, Named, Table
from treedp_core.studies.budget.splits.node_budgets import FINER
from treedp_core.studies.budget.strategies import STRATEGIES as SPLITS
from treedp_core.studies.cdf.baselines import BASELINES
from treedp_core.studies.cdf.release import LAPLACES, PARTITION
from treedp_core.studies.cdf.release import STRATEGIES as WAYS
from treedp_core.studies.cdf.release import TREE as ON_A_TREE
from treedp_core.studies.methods.bounds import BOUNDS
from treedp_core.studies.multiplicative.curves import CURVES
from treedp_core.studies.multiplicative.simple import SIMPLE
from treedp_core.studies.topdown.marginals import WAYS as MARGINALS

KINDS: Final = {
    "mechanisms": "Mechanisms",
    "strategies": "Noise of a CDF",
    "thresholds": "Thresholds",
    "simple": "Without thresholds",
    "marginals": "Marginals",
    "postprocessors": "Post-processing",
    "fits": "Consistent CDFs",
    "allocations": "Budget splits",
    "published": "Published splits",
    "finer": "Budgets within levels",
    "metrics": "Metrics",
    "baselines": "Named baselines",
    "bounds": "Bounds",
}
NOT_STATED: Final = "not stated by its author"
TUNED: Final[Table[Any]] = Table(derived=lambda: [one for one in SPLITS.values() if one.needs_prior])
"""Splits that are found for a prior, beside those that look at none."""
_TABLES: Final[Mapping[str, Table[Any]]] = {
    "mechanisms": MECHANISMS,
    "strategies": WAYS,
    "thresholds": Table(derived=lambda: [one for one in CURVES.values() if one.is_thresholds]),
    "simple": SIMPLE,
    "marginals": MARGINALS,
    "postprocessors": POSTPROCESSORS,
    "fits": FITS,
    "allocations": Table(derived=lambda: [*ALLOCATIONS.values(), *TUNED.values()]),
    "published": PUBLISHED_SPLITS,
    "finer": FINER,
    "metrics": METRICS,
    "baselines": BASELINES,
    "bounds": BOUNDS,
}
_OWN: Final = {"allocations": ALLOCATIONS}
"""The table that knows who wrote an entry, where another lists it."""
Opened = tuple[str, Mapping[str, str | list[str]]]
_OPENS: Final[Mapping[str, Callable[[str], Opened]]] = {
    "mechanisms": lambda name: ("lab", {"lab_mechanisms": [*dict.fromkeys(("discrete_laplace", name))]}),
    "strategies": lambda name: ("cdf", _release_by(name)),
    "thresholds": lambda name: ("multiplicative", {"mul_view": "growth", "mul_all": "true"}),
    "simple": lambda name: ("multiplicative", {"mul_view": "run", "mul_source": "deep"}),
    "marginals": lambda name: ("topdown", {"td_more": "marginals"}),
    "postprocessors": lambda name: ("lab", {"lab_post": [*dict.fromkeys(("none", "least_squares", name))]}),
    "fits": lambda name: ("cdf", {"cdf_view": "release", "cdf_fit": name}),
    "allocations": lambda name: (
        ("budget", {"bud_view": "strategies"})
        if name in TUNED
        else ("lab", {"lab_allocation": name, "lab_view": "level"})
    ),
    "published": lambda name: ("budget", {"bud_view": "strategies"}),
    "finer": lambda name: ("budget", {"bud_view": "strategies"}),
    "metrics": lambda name: ("lab", {"lab_metric": name}),
    "baselines": lambda name: (
        ("cdf", {"cdf_view": "error"})
        if BASELINES[name].error
        else ("cdf", {**_release_by(PARTITION), "cdf_for": "bins"})
    ),
    "bounds": lambda name: BOUNDS[name].opens,
}
"""A page and settings that show an entry, by kind."""


def _release_by(name: str) -> dict[str, str | list[str]]:
    """Return the settings of a release on what a strategy puts noise, by noise that it is for."""
    noise = "discrete_laplace" if {"discrete_laplace"} & {*(WAYS[name].mechanisms or LAPLACES)} else "discrete_gaussian"
    return {"cdf_view": "release", "cdf_mechanism": noise, "cdf_tree": "best" if name == ON_A_TREE else name}


class _Entry(Named, Protocol):
    """An entry of one of the tables."""

    @property
    def card(self) -> MethodCard: ...


@dataclass(frozen=True)
class Method:
    """An entry of a table as it is shown.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    of : str
        Its name in its table.
    label, help : str
    card : MethodCard
        What its author says of it, the gaps filled with `NOT_STATED`; no formula stays none.
    author : str
        Nobody for TreeDP's own.
    """

    kind: str
    of: str
    label: str
    help: str
    card: MethodCard
    author: str

    @property
    def name(self) -> str:
        """Its name among all entries."""
        return f"{self.kind}.{self.of}"

    @property
    def opens(self) -> Opened:
        """A page, and the settings of a link that shows it there."""
        return _OPENS[self.kind](self.of)


def _methods() -> Iterator[Method]:
    for kind, entries in _TABLES.items():
        for name, one in entries.items():
            yield Method(kind, name, one.label, one.help, _filled(one), _OWN.get(kind, entries).author(name))


def _filled(entry: _Entry) -> MethodCard:
    source = entry.card.source or str(getattr(entry, "source", ""))
    source = f"{source[:1].upper()}{source[1:].rstrip('.')}." if source else ""
    given = replace(entry.card, source=source)
    gaps = [name for name in ("assumptions", "source", "strengths", "limitations") if not getattr(given, name)]
    return replace(given, **dict.fromkeys(gaps, NOT_STATED))


METHODS: Final[Table[Method]] = Table(derived=_methods)
"""Every entry of every table, in order."""


def method_table(kind: str) -> dict[str, list[str]]:
    """Return what is stated of every entry of a kind.

    >>> method_table("mechanisms")["name"][0], len(method_table("metrics")["assumptions"])
    ('Laplace', 5)
    """
    found = [one for one in METHODS.values() if one.kind == kind]
    columns = {"name": [one.label for one in found], "what it is": [one.help for one in found]}
    for name in ("assumptions", "formula", "source", "strengths", "limitations"):
        columns[name] = [getattr(one.card, name) or NOT_STATED for one in found]
    return columns
