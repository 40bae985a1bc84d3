"""Matrices that are sought in the background: once for every page and session that asks for the same one."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from pages.ui.result import NO_DATA, Result, in_background
from treedp_core.studies.cdf.matrices.plan import SEARCHES, Sought
from treedp_core.studies.cdf.matrices.wanted import Wanted

KEPT: Final = 3
"""How many a session keeps: of 1 024 bins each takes 4 MB, and 8 MB more once it is used."""


def sought_matrix(
    strategy: str, wanted: Wanted, by_pairs: bool, *, start: Literal["auto", "button"] = "auto", is_own: bool = False
) -> Result[Sought]:
    """Return the matrix of a strategy in `SEARCHES`.

    `by_pairs` says that records are replaced; one of a user's own ranges (`is_own`) reaches no other session.
    """
    search = SEARCHES[strategy]
    return in_background(
        "matrix", (strategy, wanted, by_pairs), search.steps, partial(search.find, wanted, by_pairs), start=start,
        of=NO_DATA, of_data=False, room=KEPT, shared=not is_own,
    )  # fmt: skip
