"""What of the sidebar a plan does not use: nothing is drawn, and a plan from elsewhere is as it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pages.ui.inputs.inactive_settings import Reasons, unspent
from pages.ui.tables import plans
from pages.views.plan import settings as s
from treedp_core.errors import METRICS
from treedp_core.views.plan import NONE

_ELSEWHERE: Final = "The plan shown was made elsewhere; its own settings are kept in it."


def ignored(nothing_drawn: Reasons) -> Reasons:
    """Return the settings that the plan shown does not use, and why."""
    own: Reasons = unspent(s.MECHANISM) | {
        "eps": "", "nbr": "", "alpha": lambda: _of_error("alpha"), "tau": lambda: _of_error("threshold"),
    }  # fmt: skip
    return nothing_drawn | {key: _or_elsewhere(why) for key, why in own.items()}


def _or_elsewhere(why: str | Callable[[], str]) -> Callable[[], str]:
    return lambda: _ELSEWHERE if plans.kept() is not None else why() if callable(why) else why


def _of_error(field: str) -> str:
    metric = s.TRUE_ERROR.value
    if metric == NONE:
        return "No error here is relative to a count."
    return "" if field in METRICS[metric].uses else f"{METRICS[metric].label} does not depend on it."
