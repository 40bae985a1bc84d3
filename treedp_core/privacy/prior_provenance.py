"""What a split of the budget was tuned on: small enough to travel with the split, into a link and to other pages."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.privacy.budget import Currency
from treedp_core.privacy.conversions import RHO_HIGH
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit
from treedp_core.words import budget_text, float_below, privacy_text, rounded_up, setting_text, upper_first

NOT_PRIVATE: Final = "NOT PRIVATE"
DOOR: Final = "What one would publish instead starts on the page Release plan."
"""Said wherever something is not to be published."""
CHOOSE: Final = (
    "What is chosen by it tells about the true counts: choose on a sample or an earlier year, not on the data to be "
    "released."
)
"""Said wherever a parameter can be read off the true counts."""
SYMBOL: Final = {Currency.EPSILON: "ε", Currency.RHO: "ρ"}


def of_truth(head: str) -> str:
    """Return the head of a column, or the name of a line, that holds what is true or was found from it.

    >>> of_truth("count")
    'count (NOT PRIVATE)'
    """
    return f"{head} ({NOT_PRIVATE})"


class PriorKind(enum.Enum):
    """Where the counts that a split is tuned on come from."""

    TRUE_COUNTS = "the true counts"
    PUBLIC = "public or historic counts"
    NOISY = "noisy counts"


@dataclass(frozen=True)
class Origin:
    """What a split was tuned on, and what that cost whom.

    Parameters
    ----------
    kind : PriorKind
    spent : float
        What releasing the counts cost, in `currency`; 0 unless they are noisy.
    currency : Currency or None
        None when nothing was spent.
    unit : ProtectedUnit or None
        Whom the noisy counts protect; None when nothing was spent.

    Raises
    ------
    InputError
        ``PRIOR_RANGE`` for noisy counts without a price, or a price for other counts.
    """

    kind: PriorKind
    spent: float = 0.0
    currency: Currency | None = None
    unit: ProtectedUnit | None = None

    def __post_init__(self) -> None:
        noisy = self.kind is PriorKind.NOISY
        high = RHO_HIGH if self.currency is Currency.RHO else checks.EPSILON_HIGH
        checks.number("what the prior cost", self.spent, low=0, high=high, open_low=noisy, code="PRIOR_RANGE")
        if {noisy} != {self.spent > 0, self.currency is not None, self.unit is not None}:
            raise InputError(
                "PRIOR_RANGE", "Expected a price, its currency and a unit for noisy counts, and for no others."
            )

    @property
    def is_private(self) -> bool:
        """Whether a split tuned on it may be published."""
        return self.kind is not PriorKind.TRUE_COUNTS

    @property
    def label(self) -> str:
        """What every screen and export that shows a split tuned on it must say.

        >>> Origin(PriorKind.TRUE_COUNTS).label
        'NOT PRIVATE: the split was tuned on the true counts.'
        """
        tuned = f"the split was tuned on {self.kind.value}"
        if not self.is_private:
            return f"{NOT_PRIVATE}: {tuned}."
        if self.currency is None:
            return f"{upper_first(tuned)}, which cost no budget."
        return f"{upper_first(tuned)}, released for {SYMBOL[self.currency]} = {privacy_text(self.spent)}."

    @property
    def text(self) -> str:
        """The same in a few words, for a link; `origin_of_text` reads it back, to the last digit.

        >>> Origin(PriorKind.PUBLIC).text
        'public'
        """
        words = [self.kind.name.lower()]
        if self.currency is not None and self.unit is not None:
            one = self.unit
            words += [self.currency.value, repr(float(self.spent)), one.relation.value]
            words += [str(one.contributions), str(one.known_levels)]
        return " ".join(words)

    def admit(self, unit: ProtectedUnit, currency: Currency) -> None:
        """Refuse levels whose cost cannot be added to this one's.

        Raises
        ------
        InputError
            ``PRIOR_OTHER`` when the counts were released for another protected unit or in another currency.
        """
        if self.unit is None or self.currency is None:
            return
        if self.currency is not currency:
            raise InputError(
                "PRIOR_OTHER",
                f"The split was tuned on counts paid in {SYMBOL[self.currency]}, which do not add up with levels paid "
                f"in {SYMBOL[currency]}; choose noise of the same currency, or another split.",
            )
        if _relevant(self.unit) != _relevant(unit):
            raise InputError(
                "PRIOR_OTHER",
                f"The split was tuned on counts that protect {self.unit.described}, but the levels protect "
                f"{unit.described}; protect the same with both, or choose another split.",
            )


def origin_of_text(text: str) -> Origin:
    """Return what `Origin.text` wrote.

    Raises
    ------
    InputError
        ``PRIOR_RANGE`` and the codes of `ProtectedUnit`.

    >>> origin_of_text("noisy epsilon 0.5 replace_one 1 1").spent
    0.5
    """
    kind, *rest = text.split() or [""]
    names = [one.name.lower() for one in PriorKind]
    if kind not in names or len(rest) != (5 if kind == "noisy" else 0):
        raise InputError("PRIOR_RANGE", f"Expected what a split was tuned on, such as public, got {echo(text)}.")
    if not rest:
        return Origin(PriorKind[kind.upper()])
    currency, spent, relation, contributions, known_levels = rest
    checks.one_of("currency", currency, [one.value for one in Currency])
    checks.one_of("relation", relation, [one.value for one in NeighbouringRelation])
    try:
        unit = ProtectedUnit(NeighbouringRelation(relation), int(contributions), int(known_levels))
        return Origin(PriorKind.NOISY, float(spent), Currency(currency), unit)
    except ValueError:
        raise InputError("PRIOR_RANGE", f"Expected numbers in what a split was tuned on, got {echo(text)}.") from None


def _relevant(unit: ProtectedUnit) -> ProtectedUnit:
    """The unit without the known levels that its relation does not look at."""
    return unit if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN else replace(unit, known_levels=1)


def without_counts(tuned: Origin | None) -> Origin | None:
    """Return what a split was tuned on, without the counts that a prior has."""
    return None if tuned is None else Origin(tuned.kind, tuned.spent, tuned.currency, tuned.unit)


# ---- what a split and what it was tuned on cost together, never more than the total, and the sentence that says so


@dataclass(frozen=True, eq=False)
class Ledger:
    """Who is protected, what the prior and each level cost, and that it is no more than the total.

    Parameters
    ----------
    unit : ProtectedUnit
    currency : Currency
    total : float
    prior : Origin or None
        What the split was tuned on; None for a split that looks at no counts.
    amounts : tuple of float
        What each level spends (n_levels,); public levels 0.

    Raises
    ------
    InputError
        ``PRIOR_OTHER`` when the prior was paid in another currency or by another protected unit;
        ``BUDGET_EXCEEDED`` when prior and levels together cost more than the total.
    """

    unit: ProtectedUnit
    currency: Currency
    total: float
    prior: Origin | None
    amounts: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.prior is not None:
            self.prior.admit(self.unit, self.currency)
        if self.charged > self.total:
            raise InputError(
                "BUDGET_EXCEEDED",
                f"Prior and levels cost {privacy_text(self.charged)} together, more than the total of "
                f"{budget_text(self.total)}.",
            )

    @property
    def charged(self) -> Fraction:
        """What prior and levels cost together, exactly."""
        spent = Fraction(0) if self.prior is None else Fraction(self.prior.spent)
        public = self.unit.total_is_public
        return spent + self.unit.exact_charge([0.0 if public and i == 0 else a for i, a in enumerate(self.amounts)])

    def sentence(self) -> str:
        """One plain sentence: relation, amount of each level, prior, total; NOT PRIVATE first where that holds.

        >>> from treedp_core.privacy.unit import NeighbouringRelation
        >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
        >>> print(Ledger(unit, Currency.EPSILON, 1.0, None, (0.25, 0.75)).sentence())
        Protects one record, added or removed (the total is protected too): ε by level 0.25 + 0.75, charged 1 of 1.
        """
        symbol = SYMBOL[self.currency]
        levels = " + ".join(self._shown(i, amount) for i, amount in enumerate(self.amounts))
        paid = 0.0 if self.prior is None else self.prior.spent
        measured = (one for i, one in enumerate(self.amounts) if not self._is_public(i))
        levels += rounded_up([*measured, paid], self.charged)
        prior = f", for the prior {privacy_text(paid)}" if paid else ""
        told = f"Protects {self.unit.described}: {symbol} by level {levels}{prior}, charged {self._charged_of_total()}."
        return told if self.prior is None or self.prior.is_private else f"{self.prior.label} {told}"

    def _charged_of_total(self) -> str:
        """The cost rounded up, and the total as it was set, or rounded down where it was worked out."""
        cost = privacy_text(self.charged)
        total = setting_text(self.total) if self.currency is Currency.EPSILON else budget_text(self.total)
        return f"{cost} of {total}" if float(cost) <= float(total) else f"{cost}, the whole of this budget"

    def _shown(self, level: int, amount: float) -> str:
        return "public" if self._is_public(level) else privacy_text(amount)

    def _is_public(self, level: int) -> bool:
        return self.unit.total_is_public and level == 0


def left_after(total: float, prior: Origin | None, currency: Currency) -> float:
    """Return what a prior leaves of a total, rounded down.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED`` when it leaves nothing, or was paid in another currency.
    """
    if prior is None or prior.spent == 0:
        return total
    left = float_below(Fraction(total) - Fraction(prior.spent)) if prior.spent < total else 0.0
    if left <= 0 or prior.currency is not currency:
        raise InputError(
            "BUDGET_EXCEEDED",
            f"Expected a prior that costs less than the total of {SYMBOL[currency]} = {budget_text(total)}, got "
            f"{privacy_text(prior.spent)}.",
        )
    return left
