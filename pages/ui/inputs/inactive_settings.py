"""Settings of the sidebar that a view does not use, and why: what their greyed controls say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pages.ui.inputs.setting import Setting
from treedp_core.errors import METRICS
from treedp_core.mechanisms import RELEASES, THRESHOLDS

Reasons = dict[str, str | Callable[[], str]]
"""Key of a setting -> why it is not used; a function says nothing where it is."""

NOTHING_DRAWN: Final[Reasons] = {"seed": "Nothing is drawn at random here."}
NO_DELTA: Final[Reasons] = {"delta": "Nothing here spends a δ."}
NO_ALPHA: Final[Reasons] = {"alpha": "Nothing here forgives a part of a count."}
NO_THRESHOLD: Final[Reasons] = {"tau": "No error here is relative to a count."}
PLAIN: Final = NO_ALPHA | NO_THRESHOLD
"""Of views whose errors are in records, whatever the counts."""


ONE_REPLACED: Final[Reasons] = {"nbr": "The formulas are those of replacing one record."}


def unspent(mechanism: Setting[Any]) -> Reasons:
    """Return why δ is not used while none of the mechanisms chosen on a page spends one."""

    def why() -> str:
        chosen = mechanism.value if mechanism.is_many else (mechanism.value,)
        spends = any(RELEASES[name].needs_delta for name in chosen)
        return "" if spends else "The noise chosen here spends no δ; Gaussian noise does."

    return {"delta": why}


def unused_by(metric: Setting[str], compared: Setting[Any] | None = None) -> Reasons:
    """Return why α and τ are not used while the metric chosen on a page depends on neither; thresholds use α."""

    def why(field: str) -> str:
        one = METRICS[metric.value]
        if field == "alpha" and compared is not None and THRESHOLDS.name in compared.value:
            return ""
        return "" if field in one.uses else f"{one.label} does not depend on it."

    return {"alpha": partial(why, "alpha"), "tau": partial(why, "threshold")}


def said(reasons: Reasons) -> dict[str, str]:
    """Return the settings that are not used just now, and why."""
    told = {key: why if isinstance(why, str) else why() for key, why in reasons.items()}
    return {key: why for key, why in told.items() if why}
