"""What is wanted of a top-down release: its budget, who is protected, and how noisy counts become whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from treedp_core import checks, postprocess
from treedp_core.allocation import ALLOCATIONS, spent_part
from treedp_core.mechanisms import LevelNoise
from treedp_core.postprocess.chains import CHAINS
from treedp_core.postprocess.families import RULES as FAMILIES
from treedp_core.privacy import RHO_HIGH, Currency, ProtectedUnit, Spread
from treedp_core.privacy.accounting import largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.registry import Table
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.plan import Plan, plan
from treedp_core.tree import AnyArray, FloatArray


@dataclass(frozen=True)
class Rule:
    """How noisy counts become others of at least 0: post-processors in order; `sparse` names what needs no tree."""

    name: str
    label: str
    steps: tuple[str, ...]
    sparse: str | None = None
    is_whole: bool = True
    is_bounded: bool = False
    adds_up: bool = True

    def on(self, noise: LevelNoise) -> Callable[[AnyArray], FloatArray]:
        """Return what it makes of counts (..., n_nodes) with this noise; from `noise` alone, so without any count."""
        return postprocess.prepare(noise.tree, noise.variance, self.steps, laws=noise.laws)[0]


_SHORT: Final = {
    "top_down_intopt": "intopt",
    "top_down_water_filling": "water_filling",
    "least_squares_top_down_intopt": "ls_intopt",
    "least_squares_top_down_water_filling": "ls_water_filling",
    "non_negative_least_squares": "nnls",
    "least_squares_real_then_round": "ls_real_then_round",
}
"""Names of chains in links of this page, which stay as they are."""


def _of_chains() -> Iterator[Rule]:
    """Every chain whose counts are at least 0 and add up, and those that need no tree."""
    for one in CHAINS.values():
        if one.is_top_down or one.sparse:
            name, sparse = _SHORT.get(one.name, one.name), one.sparse or None
            yield Rule(name, one.label, one.steps, sparse, one.is_whole, one.sparse in FAMILIES, one.is_top_down)


RULES: Final[Table[Rule]] = Table(derived=_of_chains, of=(CHAINS,))
"""The compared ways; the first is the paper's."""


@dataclass(frozen=True)
class Wanted:
    """The settings of a release, but for the records.

    Parameters
    ----------
    rho, delta : float
    unit : ProtectedUnit
        Its known levels are those of the data set, in its own order.
    shares : tuple of float or None
        Custom ones, one per level, root first; None for those of `allocation`.
    spread : Spread
    rule : str
        A name in `RULES`.
    allocation : str
        A name in `ALLOCATIONS`; without shares of its own a custom one is uniform.
    within : float
        Epsilon that rho was found for by numerical accounting (see `numerical`); 0 where the zCDP formula holds.
    """

    rho: float
    delta: float
    unit: ProtectedUnit
    shares: tuple[float, ...] | None
    spread: Spread
    rule: str
    allocation: str = "uniform"
    within: float = 0.0

    @property
    def split(self) -> str:
        """What the split is called; a custom one without shares is uniform."""
        empty = self.allocation == "custom" and self.shares is None
        return ALLOCATIONS["uniform" if empty else self.allocation].label

    def plan(self, subject: Subject) -> Plan:
        """Return the noise of every level.

        Raises
        ------
        InputError
            As `treedp_core.studies.topdown.plan`.
        """
        unit = replace(self.unit, known_levels=subject.known_levels(self.unit.known_levels))
        return plan(subject.domain, self.rho, delta=self.delta, unit=unit, shares=self._shares(subject, unit),
                    spread=self.spread, names=subject.columns, numerical=self.within > 0)  # fmt: skip

    def _shares(self, subject: Subject, unit: ProtectedUnit) -> Sequence[float | Fraction] | None:
        one = ALLOCATIONS[self.allocation]
        if self.shares is not None or not one.needs_tree or subject.tree is None:
            return self.shares
        parts = [Fraction(part) for part in one.shares(subject.tree, unit, Currency.RHO, ()).tolist()]
        return [part / sum(parts) for part in parts]

    def for_all_rules(self) -> Wanted:
        """Return the settings that repeated releases by every rule share."""
        return replace(self, rule=next(iter(RULES)))

    def for_orders(self) -> Wanted:
        """Return the settings for any order of the columns: equal shares, and a rule that needs no tree."""
        rule = self.rule if RULES[self.rule].is_bounded else next(iter(RULES))
        return replace(self, shares=None, allocation="uniform", rule=rule)


def numerical(wanted: Wanted, subject: Subject, epsilon: float) -> Wanted:
    """Return the same release with the largest rho that keeps (epsilon, delta) by numerical accounting.

    At least what the formula allows; just that where records of one unit lie on distinct leaves, which it does not
    cover.
    """
    base = replace(wanted, rho=rho_of("", epsilon, wanted.delta), within=0.0)
    if wanted.spread is Spread.DISTINCT and wanted.unit.contributions > 1:
        return base
    part = spent_part("custom", base.shares)
    rho = largest_rho(lambda rho: replace(base, rho=rho).plan(subject), epsilon, wanted.delta, part)
    return replace(base, rho=rho, within=epsilon)


def largest_rho(planned: Callable[[float], Plan], epsilon: float, delta: float, part: Fraction = Fraction(1)) -> float:
    """Return the largest rho whose plan keeps (epsilon, delta) by numerical accounting, were all of it spent."""
    unit = planned(rho_of("", epsilon, delta)).unit
    return largest_total(lambda rho: planned(rho).laws, unit, epsilon, delta, part)


def allocations_for(subject: Subject) -> list[str]:
    """Return the names of the allocations that a subject allows: without a tree only those that need none."""
    return [name for name, one in ALLOCATIONS.items() if subject.tree is not None or not one.needs_tree]


def rules_for(subject: Subject) -> list[str]:
    """Return the names of the rules that a subject allows: without a tree only those that need none."""
    return [name for name, rule in RULES.items() if subject.tree is not None or rule.sparse is not None]


def rho_of(text: str, epsilon: float, delta: float) -> float:
    """Return the total budget in rho: what was typed, or what (epsilon, delta) allows where nothing was.

    Raises
    ------
    InputError
        ``RHO_RANGE`` for a text that is no number above 0 and at most 1000.

    >>> rho_of("0.5", 1.0, 1e-6)
    0.5
    """
    if not text.strip():
        return min(RHO_HIGH, epsilon_to_rho(epsilon, delta, False))
    try:
        value: object = float(text)
    except ValueError:
        value = text
    return checks.number("ρ", value, low=0, high=RHO_HIGH, open_low=True, code="RHO_RANGE")
