"""Every entry of the tables, read from them: what it assumes and says, and each of a kind compared with the others.

A new entry, also one of a plug-in, is here from the moment that its table has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.checks import DELTA_USUAL
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment, run
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.records.made_up import leaf_counts
from treedp_core.registry import Named, Stated, Table
from treedp_core.studies.methods.bounds import BOUNDS
from treedp_core.tree import IntArray, Tree
from treedp_core.watch import generator

KINDS: Final = {
    "mechanisms": "Mechanisms",
    "postprocessors": "Post-processing",
    "allocations": "Budget splits",
    "metrics": "Metrics",
    "bounds": "Bounds",
}
NOT_STATED: Final = "not stated by its author"
RECORDS: Final = 1_000
SPLITS: Final = 5
EPSILONS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TRIALS: Final = 200
SLACK: Final = 0.5
"""The α of what forgives something."""
_TABLES: Final[Mapping[str, Table[Any]]] = {
    "mechanisms": MECHANISMS, "postprocessors": POSTPROCESSORS, "allocations": ALLOCATIONS, "metrics": METRICS,
    "bounds": BOUNDS,
}  # fmt: skip
Opened = tuple[str, Mapping[str, str | list[str]]]
_OPENS: Final[Mapping[str, Callable[[str], Opened]]] = {
    "mechanisms": lambda name: ("lab", {"lab_mechanisms": [*dict.fromkeys(("discrete_laplace", name))]}),
    "postprocessors": lambda name: ("lab", {"lab_post": [*dict.fromkeys(("none", "least_squares", name))]}),
    "allocations": lambda name: ("lab", {"lab_allocation": name, "lab_view": "level"}),
    "metrics": lambda name: ("lab", {"lab_metric": name}),
    "bounds": lambda name: BOUNDS[name].opens,
}
"""A page and settings that show an entry, by kind."""


class _Entry(Named, Protocol):
    """An entry of one of the tables."""

    @property
    def stated(self) -> Stated: ...


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
    stated : Stated
        What its author says of it, the gaps filled with `NOT_STATED`; no formula stays none.
    author : str
        Nobody for TreeDP's own.
    """

    kind: str
    of: str
    label: str
    help: str
    stated: Stated
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
            yield Method(kind, name, one.label, one.help, _filled(one), entries.author(name))


def _filled(entry: _Entry) -> Stated:
    source = entry.stated.source or str(getattr(entry, "source", ""))
    source = f"{source[:1].upper()}{source[1:].rstrip('.')}." if source else ""
    given = replace(entry.stated, source=source)
    gaps = [name for name in ("assumes", "source", "best", "loses") if not getattr(given, name)]
    return replace(given, **dict.fromkeys(gaps, NOT_STATED))


METHODS: Final[Table[Method]] = Table(derived=_methods)
"""Every entry of every table, in order."""


def method_table(kind: str) -> dict[str, list[str]]:
    """Return what is stated of every entry of a kind.

    >>> method_table("mechanisms")["name"][0], len(method_table("metrics")["assumes"])
    ('Laplace', 5)
    """
    found = [one for one in METHODS.values() if one.kind == kind]
    columns = {"name": [one.label for one in found], "what it is": [one.help for one in found]}
    for name in ("assumes", "formula", "source", "best", "loses"):
        columns[name] = [getattr(one.stated, name) or NOT_STATED for one in found]
    return columns


# ---- compared with the others of its kind


@dataclass(frozen=True, eq=False)
class Compared:
    """An entry among those of its kind.

    Parameters
    ----------
    over : str
        What `x` (n,) is.
    lines : mapping of str to (n,)
        Label -> error at each x; over the best of all if `is_ratio`, as it is beside a bound.
    chosen : str
        The label of the entry.
    says : str
        What the lines are.
    simulated : bool
        Whether some of it is simulated.
    """

    over: str
    x: list[float]
    lines: Mapping[str, list[float]]
    chosen: str
    says: str
    simulated: bool = False
    is_ratio: bool = True

    @cached_property
    def columns(self) -> dict[str, list[float]]:
        """The same as a table."""
        return {self.over: self.x, **self.lines}


def compared(name: str) -> Compared:
    """Return an entry of `METHODS` beside the others of its kind, over what decides between them.

    >>> found = compared("mechanisms.gaussian")
    >>> found.chosen, found.over, min(map(min, found.lines.values()))
    ('Gaussian', 'ε', 1.0)
    """
    one = METHODS[name]
    if one.kind == "bounds":
        return _of_bound(one)
    if one.kind == "allocations":
        return _of_allocation(one)
    label, cells = {"mechanisms": _mechanisms, "postprocessors": _chains, "metrics": _chains_under}[one.kind](one)
    is_exact = one.kind == "mechanisms"
    epsilons = EPSILONS if is_exact else EPSILONS[::2]
    found = {of: [_error(replace(cell, epsilon=e)) for e in epsilons] for of, cell in cells.items()}
    metric = METRICS[next(iter(cells.values())).metric]
    return Compared("ε", list(epsilons), _over_best(found), label, f"{metric.label} ÷ the best", not is_exact)


def compared_table(name: str) -> dict[str, list[float]]:
    """Return the columns of `compared`."""
    return compared(name).columns


def small_tree() -> tuple[Tree, IntArray]:
    """Return a made-up data set: 5 binary splits, 1 000 records on 32 leaves, counts (n_nodes,)."""
    tree = Tree.from_branching_factors((2,) * SPLITS)
    return tree, tree.counts_of_leaves(leaf_counts(tree, "lognormal", RECORDS, generator("methods: made-up records")))


def base(**fields: Any) -> Experiment:
    """Return an experiment on the made-up data set, one record replaced."""
    return Experiment(delta=DELTA_USUAL, alpha=SLACK, trials=TRIALS, **fields)


def _mechanisms(one: Method) -> tuple[str, dict[str, Experiment]]:
    return one.label, {entry.label: base(mechanism=name) for name, entry in MECHANISMS.items()}


def _chains(one: Method) -> tuple[str, dict[str, Experiment]]:
    metric = "alpha_rmse" if "alpha" in POSTPROCESSORS[one.of].uses else "rmse"
    names = {"None": ()} | {entry.label: (name,) for name, entry in POSTPROCESSORS.items()}
    return one.label, {label: base(postprocess=steps, metric=metric) for label, steps in names.items()}


def _chains_under(one: Method) -> tuple[str, dict[str, Experiment]]:
    steps = ("least_squares", "non_negative", "top_down_intopt")
    cells = {"None": base(metric=one.of)} | {
        POSTPROCESSORS[name].label: base(metric=one.of, postprocess=(name,)) for name in steps
    }
    return "", cells


def _of_allocation(one: Method) -> Compared:
    """The root mean square error after least squares over the number of levels, for each split but one's own."""
    heights = range(2, 11)
    names = [name for name in ALLOCATIONS if name != "custom"]
    found = {
        ALLOCATIONS[name].label: [_fitted(name, Tree.from_branching_factors((2,) * h)) for h in heights]
        for name in names
    }
    return Compared("levels", [h + 1.0 for h in heights], _over_best(found), one.label, "RMSE ÷ the best")


def _fitted(allocation: str, tree: Tree) -> float:
    experiment = base(allocation=allocation, postprocess=("least_squares",), mechanism="gaussian")
    formula = run(experiment, tree, np.zeros(tree.n_nodes, dtype=np.int64), simulated=False).formula
    return np.nan if formula is None else formula.tree


def _error(experiment: Experiment) -> float:
    """The closed form, or a simulation where there is none."""
    tree, counts = small_tree()
    found = run(experiment, tree, counts, simulated=False).formula
    if found is None:
        found = run(experiment, tree, counts).simulation
    assert found is not None
    return found.tree


def _of_bound(one: Method) -> Compared:
    columns = BOUNDS[one.of].lines()
    over, limit = list(columns)[:2]
    lines = {name: values for name, values in columns.items() if name != over}
    return Compared(over, columns[over], lines, limit, BOUNDS[one.of].unit, is_ratio=False)


def _over_best(found: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    values = np.array(list(found.values()), dtype=float)
    best = np.nanmin(np.where(np.isfinite(values), values, np.nan), axis=0)
    return dict(zip(found, (values / best).tolist(), strict=True))
