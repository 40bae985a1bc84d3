"""What a release promises, and what that rests on: arithmetic, where a unit's records lie, where the noise is from."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise import Law
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.unit import ProtectedUnit, Spread
from treedp_core.registry import CLAIM
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import budget_text, card, privacy_text, promise_text, setting_text, whole

MOST_RECORDS: Final = 10**12
"""A public bound on a number of records that is private."""


def fitting_delta(total_records: int | None) -> float:
    """Return the delta to take where none was chosen: 1e-6, or the largest power of ten below 1 / records.

    None stands for a number of records that is private, of which a delta may not tell: it then fits 10^12 of them.

    >>> [fitting_delta(n) for n in (0, 999_999, 1_000_000, 10**9, None)]
    [1e-06, 1e-06, 1e-07, 1e-10, 1e-13]
    """
    most = MOST_RECORDS if total_records is None else max(total_records, 0)
    return min(checks.DELTA_USUAL, float(f"1e-{len(str(most))}"))


def delta_warning(delta: float, total_records: int) -> str:
    """Return one sentence about a delta that is not below 1 / records, else nothing.

    >>> delta_warning(1e-3, 1000)
    'δ = 0.001 is not below 1 / records: a record may be published as it is. Choose less than 0.001.'
    >>> delta_warning(1e-4, 1000)
    ''
    """
    if total_records <= 0 or Fraction(repr(delta)) * total_records < 1:
        return ""
    least = budget_text(1 / total_records)
    return (
        f"δ = {setting_text(delta)} is not below 1 / records: a record may be published as it is. Choose less than "
        f"{least}."
    )


class Precision(enum.Enum):
    """Whether the promise holds for the numbers that leave the computer, or for the real numbers they stand for."""

    EXACT = "whole numbers, drawn exactly"
    IDEAL = "real numbers, rounded to floats"


class Provenance(enum.Enum):
    """Where the noise of a release is from."""

    SIMULATION = "simulation"
    """From a seeded generator: who knows the seed can take the noise away again."""
    RELEASE = "release"
    """From a source of bits that nobody else knows, drawn once; that it is one is the caller's claim."""

    def sentence(self, guarantee: Guarantee) -> str:
        """Return a promise in one sentence that begins with "Simulation" where it is one."""
        begin = "Simulation of a release: " if self is Provenance.SIMULATION else ""
        return f"{begin}{guarantee.sentence()}"


@dataclass(frozen=True)
class Guarantee:
    """What was promised to whom, and what that rests on; unchanged by post-processing.

    Parameters
    ----------
    unit : ProtectedUnit
    epsilon, delta : float
        The release is (epsilon, delta)-differentially private; delta is 0 for pure privacy.
    rho : float or None
        Cost in zero-concentrated privacy, where that is what was spent.
    precision : Precision
        Continuous noise keeps its promise for real numbers only: the low bits of floats can tell neighbours apart.
    spread : Spread
        Where the noise takes the records of one unit to lie; the same for every unit of one record.
    claimed_by : str
        Who answers for noise that is not TreeDP's own: nobody has checked the promise, and its sentence says so.
    accounting : Accounting or None
        How epsilon was found from rho; None where there is one way only.
    """

    unit: ProtectedUnit
    epsilon: float
    delta: float
    rho: float | None = None
    precision: Precision = field(kw_only=True)
    spread: Spread = field(kw_only=True)
    claimed_by: str = field(default="", kw_only=True)
    accounting: Accounting | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.unit.contributions == 1:
            object.__setattr__(self, "spread", Spread.STACKED)

    def __repr__(self) -> str:
        return f"<Guarantee: {self.sentence()}>"

    def _repr_html_(self) -> str:
        cost = [("ρ", privacy_text(self.rho))] if self.rho is not None else []
        of_delta = [("δ", privacy_text(self.delta))] if self.delta else []
        return card(
            self.sentence(), [("ε", privacy_text(self.epsilon)), *of_delta, *cost, ("noise", self.precision.value)]
        )

    def sentence(self) -> str:
        """One plain sentence for the screen; numbers are rounded up to four digits.

        >>> from treedp_core.privacy.unit import NeighbouringRelation
        >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
        >>> Guarantee(unit, 1.0, 0.0, precision=Precision.IDEAL, spread=Spread.STACKED).sentence().partition("; ")[0]
        '(ε = 1)-differential privacy in exact arithmetic'
        """
        pair = promise_text(self.epsilon, self.delta)
        exact = " in exact arithmetic" if self.precision is Precision.IDEAL else ""
        way = f" {self.accounting.told}" if self.accounting is not None else ""
        claim = f" Its noise ({self.claimed_by}) is {CLAIM}." if self.claimed_by else ""
        return f"({pair})-differential privacy{exact}{way}; protects {self.unit.describe(self.spread)}.{claim}"


# ---- what leaves the mechanism: estimates, what is known of their variance, and the privacy promise


@dataclass(frozen=True, eq=False)
class Release:
    """Estimates of all node counts; post-processing maps a `Release` to a `Release` and keeps the guarantee.

    Parameters
    ----------
    estimate : (..., n_nodes)
        Released node values in records, trials in front; nan where a level was not measured.
    variance : (n_nodes,) or None
        Exact error variance of each node in records squared: 0 known exactly, inf not measured; None when unknown
        (for example after a biased post-processor).
    guarantee : Guarantee
        What was promised to whom; unchanged by post-processing.
    provenance : Provenance
        Whether it is a simulation; unchanged by post-processing.
    laws : tuple of Law or None
        Of the noise of each level, None without noise; () where errors have no known laws, as after post-processing.

    Raises
    ------
    InputError
        ``RELEASE_PRECISION`` for continuous noise that is not a simulation.
    """

    estimate: AnyArray
    variance: FloatArray | None
    guarantee: Guarantee
    provenance: Provenance
    laws: tuple[Law | None, ...] = ()

    def __post_init__(self) -> None:
        refuse_floats(self.guarantee, self.provenance)

    def sentence(self) -> str:
        """Return the promise in one sentence; a simulation says so first."""
        return self.provenance.sentence(self.guarantee)

    def __repr__(self) -> str:
        return f"<Release {self.estimate.shape}. {self.sentence()}>"

    def _repr_html_(self) -> str:
        known = "stated for every node" if self.variance is not None else "not known"
        shape = " × ".join(whole(n) for n in self.estimate.shape)
        return card(self.sentence(), [("estimates", shape), ("variance", known), ("noise", self.provenance.value)])


def refuse_floats(guarantee: Guarantee, provenance: Provenance) -> None:
    """Refuse to call continuous noise a release: its promise holds for real numbers, and floats are none.

    Raises
    ------
    InputError
        ``RELEASE_PRECISION``.
    """
    if provenance is Provenance.RELEASE and guarantee.precision is Precision.IDEAL:
        raise InputError(
            "RELEASE_PRECISION",
            "Continuous noise keeps its promise in exact arithmetic only, so it is for simulations; choose a discrete "
            "law for a release.",
        )
