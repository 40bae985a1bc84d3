"""Plans that were noted on the page of plans: releases of the same records, which are paid for together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from treedp_core.checks import InputError
from treedp_core.notebook.cell import without_counts
from treedp_core.notebook.validators import matches
from treedp_core.plans import ReleasePlan

MOST: Final = 12
"""Plans that are noted for one data set: each is composed with all others whenever the page is drawn."""
MOST_OF_ALL: Final = 48
_FINGERPRINT: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Noted:
    """A plan, and the fingerprint of the data set whose records it would release."""

    fingerprint: str
    plan: ReleasePlan

    def __post_init__(self) -> None:
        matches("the fingerprint of a noted plan", self.fingerprint, _FINGERPRINT, "STUDY_NOTED")

    @cached_property
    def mark(self) -> str:
        """A text that differs with the data set or the plan, written once however often it is asked for."""
        return hashlib.sha256(f"{self.fingerprint} {self.plan.to_json()}".encode()).hexdigest()


def checked(noted: Sequence[Noted]) -> tuple[Noted, ...]:
    """Return noted plans, which are few.

    Raises
    ------
    InputError
        ``STUDY_NOTED``.
    """
    fingerprints = [one.fingerprint for one in noted]
    if len(noted) > MOST_OF_ALL or any(fingerprints.count(one) > MOST for one in set(fingerprints)):
        raise InputError("STUDY_NOTED", f"Expected at most {MOST} noted plans of a data set, and {MOST_OF_ALL} in all.")
    return tuple(noted)


def public(noted: Sequence[Noted]) -> tuple[Noted, ...]:
    """Return those that tell nothing of true counts."""
    return tuple(one for one in noted if without_counts(one.plan) is not None)
