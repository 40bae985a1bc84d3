"""What a split and what it was tuned on cost together, never more than the total, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from treedp_core.checks import InputError
from treedp_core.privacy.budget import Currency
from treedp_core.privacy.prior_provenance import SYMBOL, Origin
from treedp_core.privacy.unit import ProtectedUnit
from treedp_core.words import budget_text, float_below, privacy_text, rounded_up, setting_text


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
