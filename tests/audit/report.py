"""What a part of the audit counts and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

TIGHT = Fraction(999, 1000)


@dataclass
class Report:
    """Counts of neighbouring data sets, of comparisons, of settings, and everything that was wrong.

    A setting is tight when some neighbour loses at least 0.999 of the claim: there the audit can see small faults.
    """

    pairs: int = 0
    checks: int = 0
    settings: int = 0
    tight: int = 0
    wrong: list[str] = field(default_factory=list)

    def spent(self, what: str, spent: Fraction, claimed: float | Fraction, compared: int = 1) -> None:
        """Compare the exact loss of one setting over `compared` neighbours with its claim."""
        self.settings += 1
        self.tight += spent >= TIGHT * Fraction(claimed)
        self.holds(spent <= Fraction(claimed), f"{what}: loses {_shown(spent, claimed)}", compared)

    def holds(self, right: bool, what: str, compared: int = 1) -> None:
        """Count a check, and keep what it is about if it fails."""
        self.checks += compared
        if not right:
            self.wrong.append(what)

    def add(self, other: Report) -> None:
        """Take over the counts of another part."""
        self.pairs += other.pairs
        self.checks += other.checks
        self.settings += other.settings
        self.tight += other.tight
        self.wrong += other.wrong


class Wrong(BaseException):
    """Something was wrong: no part of the audit may take this for an error of what it looks at."""


class UntilWrong(Report):
    """Counts like any other, up to the first thing that is wrong."""

    def holds(self, right: bool, what: str, compared: int = 1) -> None:
        """Count a check, and stop if it fails."""
        super().holds(right, what, compared)
        if not right:
            raise Wrong(what)


def _shown(spent: Fraction, claimed: float | Fraction) -> str:
    over = spent / Fraction(claimed) - 1 if claimed else spent
    return f"{float(spent):.6g} of the claimed {float(claimed):.6g} (over by {float(over):.3g})"


class Leak(Exception):
    """Private data reach the output other than through the noise."""
