"""Who is protected: the neighbouring relation, and how far one protected unit can change each level's counts."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.words import float_above, whole

FloatArray = NDArray[np.float64]

MAX_CONTRIBUTIONS: Final = 1000


class NeighbouringRelation(enum.Enum):
    """Which two data sets must be hard to tell apart.

    >>> NeighbouringRelation("replace_one").label
    'Replace one'
    """

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"
    REPLACE_UNKNOWN = "replace_unknown"

    @property
    def label(self) -> str:
        """Short name for a control."""
        return self.value.replace("_", " ").capitalize()

    @property
    def description(self) -> str:
        """One plain sentence for the screen."""
        return _DESCRIPTIONS[self]


class Spread(enum.Enum):
    """Where the records of one unit may lie.

    >>> Spread("distinct").label
    'On distinct leaves'
    """

    STACKED = "stacked"
    DISTINCT = "distinct"

    @property
    def label(self) -> str:
        """Short name for a control."""
        return "Anywhere, also all on one leaf" if self is Spread.STACKED else "On distinct leaves"


_DESCRIPTIONS: Final = {
    NeighbouringRelation.ADD_OR_REMOVE_ONE: (
        "One record is added or removed; whether someone is in the data, and the total, are protected."
    ),
    NeighbouringRelation.REPLACE_ONE: (
        "One record is replaced by another; the total number of records stays the same and is public."
    ),
    NeighbouringRelation.REPLACE_UNKNOWN: (
        "The unknown columns of one record change, or the record appears or disappears; its known columns are public."
    ),
}


@dataclass(frozen=True)
class ProtectedUnit:
    """Who is protected, and by how much one of them can change the counts of a level.

    Parameters
    ----------
    relation : NeighbouringRelation
    contributions : int
        Records one unit contributes at most, 1 to 1000.
    known_levels : int
        Levels 0 to known_levels - 1 are built from known columns; the root always is. Only used by REPLACE_UNKNOWN.

    Raises
    ------
    InputError
        CONTRIBUTIONS_RANGE or VALUE_RANGE.

    >>> ProtectedUnit(NeighbouringRelation.REPLACE_ONE).l1_sensitivity(3)
    array([0., 2., 2.])
    """

    relation: NeighbouringRelation
    contributions: int = 1
    known_levels: int = 1

    def __post_init__(self) -> None:
        checks.integer("contributions", self.contributions, low=1, high=MAX_CONTRIBUTIONS, code="CONTRIBUTIONS_RANGE")
        checks.integer("known_levels", self.known_levels, low=1, high=checks.MAX_NODES)

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public, so that the root is published exactly."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    @property
    def by_pairs(self) -> bool:
        """Whether a record may leave one bin for another, so that the differences of a matrix's columns count."""
        return self.moved(1) == 2

    def moved(self, level: int) -> int:
        """Return how many counts of a level one record can move, each by 1.

        A record lies below one node of a level. Added or removed, it moves that node's count. Replaced, it leaves one
        node and may come to another: two counts, but one root. Under REPLACE_UNKNOWN it may appear or disappear, which
        moves one count; its unknown columns may also change, which takes it to another node of an unknown level, and to
        none of a known level: there its path is public and stays. So two on unknown levels and one on known ones, both
        attained.

        >>> [ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=n).moved(1) for n in (1, 2)]
        [2, 1]
        """
        match self.relation:
            case NeighbouringRelation.ADD_OR_REMOVE_ONE:
                return 1
            case NeighbouringRelation.REPLACE_ONE:
                return 1 if level == 0 else 2
            case NeighbouringRelation.REPLACE_UNKNOWN:
                return 1 if level < self.known_levels else 2

    @property
    def described(self) -> str:
        """Who is protected, in words that fit after "protects", wherever the records of one unit lie.

        >>> ProtectedUnit(NeighbouringRelation.REPLACE_ONE).described
        'one record, replaced by another (the total is public)'
        """
        return self.describe(Spread.STACKED)

    def describe(self, spread: Spread) -> str:
        """Return who is protected, in words that fit after "protects".

        >>> ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 3).describe(Spread.DISTINCT)
        'all records of one unit (at most 3, on distinct leaves), replaced by as many others (the total is public)'
        """
        one = self.contributions == 1
        lie = ", on distinct leaves" if spread is Spread.DISTINCT else ""
        what = "one record" if one else f"all records of one unit (at most {whole(self.contributions)}{lie})"
        match self.relation:
            case NeighbouringRelation.ADD_OR_REMOVE_ONE:
                return f"{what}, added or removed (the total is protected too)"
            case NeighbouringRelation.REPLACE_ONE:
                return f"{what}, replaced by {'another' if one else 'as many others'} (the total is public)"
            case NeighbouringRelation.REPLACE_UNKNOWN:
                there = "it is" if one else "they are"
                return f"the unknown columns of {what}, and whether {there} there ({self._known})"

    @property
    def _known(self) -> str:
        last = self.known_levels - 1
        if last == 0:
            return "no column is known"
        which = "column of level 1" if last == 1 else f"columns of levels 1 to {last}"
        return f"known and public: the {which}"

    def l1_sensitivity(self, n_levels: int) -> FloatArray:
        """L1 change the noise of each level is calibrated to, in records, shape (n_levels,).

        Under REPLACE_UNKNOWN an unknown level can change by twice as much: `charge` accounts for that.
        """
        return self._levels(2.0 * self.contributions if self.total_is_public else self.contributions, n_levels)

    def l2_sensitivity(self, n_levels: int) -> FloatArray:
        """L2 change the noise of each level is calibrated to, in records, rounded up, shape (n_levels,).

        Replacing m records that share a leaf by m that share another moves two counts by m: sqrt(2) m.
        """
        m = self.contributions
        return self._levels(sqrt_above(2 * m * m) if self.total_is_public else m, n_levels)

    def charge(self, amounts: Sequence[float] | FloatArray) -> float:
        """Exact cost of spending `amounts[l]` (epsilon or rho) on each level l, rounded up.

        Parameters
        ----------
        amounts : (n_levels,)
            0 for a level that is not measured; inf (published exactly) only where the level cannot change.

        Notes
        -----
        Under REPLACE_UNKNOWN (Dawson et al., Definition 1) a record that appears or disappears changes one count on
        every level; one whose unknown columns change moves two counts on every unknown level and none on a known one.
        The cost is the larger of the two, also for mixtures of both, in epsilon (linear) and in rho (convex).

        >>> ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2).charge([0.25, 0.25, 0.5])
        1.0
        """
        return float_above(self.exact_charge(amounts))

    def exact_charge(self, amounts: Iterable[float | Fraction]) -> Fraction:
        """Same as `charge`, as an exact fraction."""
        exact = [Fraction(0) if self._free(level, a) else _finite(a) for level, a in enumerate(amounts)]
        total = sum(exact, Fraction(0))
        if self.relation is NeighbouringRelation.REPLACE_UNKNOWN:
            return max(total, 2 * sum(exact[self.known_levels :], Fraction(0)))
        return total

    def _free(self, level: int, amount: float | Fraction) -> bool:
        return self.total_is_public and level == 0 and amount >= 0

    def _levels(self, change: float, n_levels: int) -> FloatArray:
        levels = np.full(checks.integer("n_levels", n_levels, low=1, high=checks.MAX_NODES), float(change))
        if self.total_is_public:
            levels[0] = 0.0
        return levels


def _finite(amount: float | Fraction) -> Fraction:
    if amount == math.inf:
        raise InputError(
            "EXACT_NOT_PRIVATE",
            "A level that one unit can change cannot be published exactly; give it a finite budget or none.",
        )
    if not amount >= 0:
        raise InputError("BUDGET_SPLIT", f"Expected amounts >= 0, got {echo(amount)}.")
    return Fraction(amount)


ADDED: Final = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
"""One record, added or removed: whom comparisons protect that are made for nobody else."""
