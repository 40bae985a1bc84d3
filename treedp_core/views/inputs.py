"""Inputs of views: everything that a view depends on besides its tables, as plain values with the pages' defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Self, TypeVar

from treedp_core import checks
from treedp_core.experiment import EPSILON_GRID, Experiment
from treedp_core.mechanisms import RELEASES
from treedp_core.privacy import NeighbouringRelation, fitting_delta
from treedp_core.privacy.sums import unit_of_sums
from treedp_core.privacy.unit import MAX_CONTRIBUTIONS
from treedp_core.records import Dataset
from treedp_core.registry import Table
from treedp_core.views.parameters import Parameter, choice, number, whole

DELTA_GRID: Final = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
THRESHOLD_GRID: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
MAX_ALPHA: Final = 0.95
"""Relative error beyond which nearly every error would be forgiven."""
T = TypeVar("T")


def of(parameter: Parameter[T]) -> T:
    """Return the field of a class of inputs that is a parameter."""
    made: Any = field(default=parameter.default, metadata={"parameter": parameter})
    return made  # type: ignore[no-any-return]  # what a data class makes of it


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a view depends on besides its tables; every field is a parameter.

    Raises
    ------
    InputError
        Where a parameter may not have its value.
    """

    def __post_init__(self) -> None:
        for name, parameter in parameters_of(type(self)).items():
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
            parameter.check(value)

    @property
    def is_reviewed(self) -> bool:
        """Whether every entry of a table that is named here is TreeDP's own, and none a plug-in's."""
        for name, one in parameters_of(type(self)).items():
            value = getattr(self, name)
            if isinstance(one.options, Table) and any(map(one.options.author, value if one.is_many else (value,))):
                return False
        return True

    @classmethod
    def of_texts(cls, texts: Mapping[str, Sequence[str]]) -> Self:
        """Return the inputs that texts of a link stand for, by key; what they do not name has its default.

        Raises
        ------
        InputError
            What a parameter refuses.
        """
        known = {one.key: (name, one) for name, one in parameters_of(cls).items()}
        given = {known[key][0]: known[key][1].parse(list(values)) for key, values in texts.items() if key in known}
        return cls(**given)

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Return texts of a link for all parameters that differ from their defaults: `of_texts` reads them back."""
        found: dict[str, tuple[str, ...]] = {}
        for name, one in parameters_of(type(self)).items():
            if (value := getattr(self, name)) != one.default:
                text = one.write(value)
                found[one.key] = (text,) if isinstance(text, str) else tuple(text)
        return found


def parameters_of(inputs: type[Inputs]) -> dict[str, Parameter[Any]]:
    """Return the parameters of a class of inputs by the names of its fields."""
    return {one.name: one.metadata["parameter"] for one in fields(inputs)}


def parameter(inputs: type[Inputs], name: str) -> Parameter[Any]:
    """Return a parameter of a class of inputs by the name of its field."""
    return parameters_of(inputs)[name]


def _alpha(value: object) -> float:
    return checks.number("alpha", value, low=0, high=MAX_ALPHA, code="ALPHA_RANGE")


def _threshold(value: object) -> float:
    return checks.number("tau", value, low=checks.THRESHOLD_LOW, high=checks.THRESHOLD_HIGH, code="THRESHOLD_RANGE")


@dataclass(frozen=True, kw_only=True)
class ReleaseInputs(Inputs):
    """What every release depends on.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget. Where a mechanism cannot promise δ = 0, the δ that fits the table is used instead: see
        `delta_for`.
    relation : str
        Who is protected: a `NeighbouringRelation`.
    contributions : int
        Records of one unit, at most.
    known_levels : int
        Levels whose counts nobody's replacement changes, under "replace unknown columns".
    alpha, threshold : float
        Of the metrics that forgive errors, and of those that ask for sure counts.
    seed : int
        Of the noise.
    """

    epsilon: float = of(number("eps", 1.0, checks.epsilon, grid=EPSILON_GRID, code="EPS", label="Privacy budget ε"))
    delta: float = of(number("delta", 0.0, checks.delta, grid=DELTA_GRID, code="DELTA"))
    relation: str = of(
        choice(
            "nbr", NeighbouringRelation.REPLACE_ONE.value, {one.value: one for one in NeighbouringRelation},
            label="Neighbouring relation",
        )
    )  # fmt: skip
    contributions: int = of(whole("contributions", 1, 1, MAX_CONTRIBUTIONS, code="CONTRIBUTIONS_RANGE"))
    known_levels: int = of(whole("known_levels", 1, 1, 64))
    alpha: float = of(number("alpha", 0.5, _alpha, code="ALPHA"))
    threshold: float = of(number("tau", 10.0, _threshold, grid=THRESHOLD_GRID, code="THRESHOLD"))
    seed: int = of(whole("seed", 7, 0, checks.MAX_SEED, code="SEED_RANGE"))

    def experiment(self, data: Dataset, **overrides: Any) -> Experiment:
        """Return the experiment that these inputs describe on a table, with some of its fields replaced.

        Of a table of sums the unit is that of sums: see `privacy.sums`.
        """
        shared = Experiment(
            epsilon=self.epsilon, delta=self.delta, relation=self.relation, contributions=self.protected(data),
            known_levels=min(self.known_levels, data.tree.n_levels), alpha=self.alpha, threshold=self.threshold,
            seed=self.seed,
        )  # fmt: skip
        if data.report.recipe.clip:
            unit = unit_of_sums(replace(shared, contributions=1).unit, data.report.recipe.clip)
            shared = replace(shared, relation=unit.relation.value, contributions=unit.contributions,
                             known_levels=unit.known_levels)  # fmt: skip
        return replace(shared, **overrides)

    def protected(self, data: Dataset) -> int:
        """Return how many records of a unit are protected: `contributions`, and never fewer than were counted."""
        return max(self.contributions, data.report.recipe.bound)

    def usable_delta(self, total_records: int) -> float:
        """Return δ, or where that is 0 the one that fits so many records.

        Where the relation does not protect the number of records, δ may depend on it; else it depends on none.
        """
        is_public = NeighbouringRelation(self.relation) is NeighbouringRelation.REPLACE_ONE
        return self.delta or fitting_delta(total_records if is_public else None)

    def delta_for(self, mechanisms: Iterable[str], total_records: int) -> float:
        """Return the δ that mechanisms are run with: it may be 0 where none of them needs one."""
        needs = any(RELEASES[name].needs_delta for name in mechanisms)
        return self.usable_delta(total_records) if needs else self.delta
