"""A claim of a paper: what it says, our verdict, and the numbers that show the verdict, computed whenever asked."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

EXACT: Final = 1e-6
"""Relative difference that rounding may leave."""


class Verdict(enum.Enum):
    """What became of a claim; the value is how it is called."""

    REPRODUCED = "reproduced"
    CORRECTED = "corrected"
    SHARPENED = "sharpened"
    NOT_APPLICABLE = "not applicable"
    OPEN = "open"


@dataclass(frozen=True)
class Number:
    """One number of a claim.

    Parameters
    ----------
    what : str
        In words.
    today : float
        Computed by the functions of this library.
    paper : float
        What the paper's text or formula gives.
    within : float
        Relative difference at which both are the same; for simulations three standard errors over the paper's number.
    more : bool
        Whether a larger number is the better one: of a lower bound.
    """

    what: str
    today: float
    paper: float
    within: float = EXACT
    more: bool = False

    @property
    def agrees(self) -> bool:
        """Whether both are the same."""
        return math.isclose(self.today, self.paper, rel_tol=self.within, abs_tol=1e-9)

    @property
    def is_better(self) -> bool:
        """Whether today's is the better one by more than the tolerance."""
        return not self.agrees and (self.today > self.paper) == self.more


@dataclass(frozen=True)
class Claim:
    """A theorem, algorithm, figure or table of a paper.

    Parameters
    ----------
    place : str
        Where in the paper.
    says : str
        What it says, in a sentence.
    verdict : Verdict
    compute : function or None
        Returns its numbers; None where there is nothing to compute.
    why : str
        What was corrected or sharpened, or why it does not apply.
    opens : (page, settings)
        What shows it in the app; no page where none does.
    paper : str
        Key of `PAPERS`.
    """

    place: str
    says: str
    verdict: Verdict
    compute: Callable[[], tuple[Number, ...]] | None = None
    why: str = ""
    opens: tuple[str, Mapping[str, str]] = field(default=("", {}))
    paper: str = ""

    def bears(self, numbers: tuple[Number, ...]) -> bool:
        """Whether numbers bear the verdict out.

        Reproduced: all agree. Corrected: some differ from the paper's. Sharpened: some are better and none is worse.
        Open: there are some.
        """
        if self.verdict is Verdict.NOT_APPLICABLE:
            return not numbers
        if not numbers or any(math.isnan(one.today) for one in numbers):
            return False
        if self.verdict is Verdict.OPEN:
            return True
        if self.verdict is Verdict.REPRODUCED:
            return all(one.agrees for one in numbers)
        if self.verdict is Verdict.CORRECTED:
            return any(not one.agrees for one in numbers)
        return any(one.is_better for one in numbers) and all(one.is_better or one.agrees for one in numbers)
