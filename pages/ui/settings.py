"""The one registry of settings: a link brings them in, the session keeps them, a link carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from pages.ui import source_settings as data_params
from pages.ui.reconnect import settings_kept_by_browser
from pages.ui.setting import Param, choice, flag, number, whole, words
from pages.views.branching import settings as branching_params
from pages.views.budget import settings as budget_params
from pages.views.cdf import settings as cdf_params
from pages.views.lab import settings as lab_params
from pages.views.multiplicative import settings as multiplicative_params
from pages.views.topdown import settings as topdown_params
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation
from treedp_core.registry import table

EPSILON_GRID: Final = (
    0.05, 0.07, 0.1, 0.14, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0,
    1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0,
)  # fmt: skip
DELTA_GRID: Final = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
THRESHOLD_GRID: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
MAX_ALPHA: Final = 0.95
"""Slack beyond which nearly every error would be forgiven."""


def _alpha(value: object) -> float:
    return checks.number("alpha", value, low=0, high=MAX_ALPHA, code="ALPHA_RANGE")


def _threshold(value: object) -> float:
    return checks.number("tau", value, low=checks.THRESHOLD_LOW, high=checks.THRESHOLD_HIGH, code="THRESHOLD_RANGE")


SHARED: Final = (
    number("eps", 1.0, checks.epsilon, grid=EPSILON_GRID, code="EPS"),
    number("delta", 0.0, checks.delta, grid=DELTA_GRID, code="DELTA"),
    choice("nbr", NeighbouringRelation.REPLACE_ONE.value, [relation.value for relation in NeighbouringRelation]),
    words("unit", "one person"),
    whole("contributions", 1, 1, 50, code="CONTRIBUTIONS_RANGE"),
    whole("known_levels", 1, 1, 64),
    number("alpha", 0.1, _alpha, code="ALPHA"),
    number("tau", 10.0, _threshold, grid=THRESHOLD_GRID, code="THRESHOLD"),
    whole("seed", 7, 0, checks.MAX_SEED, code="SEED_RANGE"),
    choice("level", "Basic", ("Basic", "Advanced")),
    flag("explain", True),
    flag("present", False),
)
_PAGES: Final = (
    data_params, lab_params, branching_params, cdf_params, budget_params, multiplicative_params, topdown_params,
)  # fmt: skip
REG: Final[Mapping[str, Param]] = table(*SHARED, *(param for page in _PAGES for param in page.PARAMS))
SILENT: Final = ("embed", "embed_options")
_SEEN: Final = "_link_read"
_TUNED_ON_TRUE_COUNTS: Final = {"bud_leaks": "bud_tuned", "lab_leaks": "lab_tuned", "con_leaks": "con_tuned"}


def hydrate() -> list[tuple[str, InputError]]:
    """Read the link on arrival and fill in defaults; return what the link had that was refused.

    A refused setting keeps its present value, and nothing else changes.
    """
    kept = settings_kept_by_browser()
    link = {key: st.query_params.get_all(key) for key in st.query_params if key not in SILENT}
    refused = []
    if link and link != st.session_state.get(_SEEN):
        st.session_state[_SEEN] = link  # whole, or the next run would take it for a new one and undo what was kept
        for key, texts in map(_renamed, link, link.values()):
            if key in kept:
                continue
            try:
                value = _known(key).parse(texts)
            except InputError as error:
                refused.append((key, error))
            else:
                st.session_state[key] = list(value) if isinstance(value, tuple) else value
    for key, param in REG.items():
        if key not in kept:
            st.session_state.setdefault(key, param.fresh())
    return refused


def get(key: str) -> Any:
    """Return the value of a setting, valid on every page; a list-valued one as a tuple."""
    param = REG[key]
    value = st.session_state.get(key, param.fresh())
    if value is None or not param.accepts(value):
        return param.default
    return tuple(value) if param.is_many else value


def share_url() -> str:
    """Return a link to this page that restores every setting which differs from its default."""
    changed = {key: param.write(get(key)) for key, param in REG.items() if get(key) != param.default}
    base = (st.context.url or "").split("?")[0]
    return base + ("?" + urlencode(changed, doseq=True) if changed else "")


def _renamed(key: str, texts: list[str]) -> tuple[str, list[str]]:
    """A setting of an older link in today's words: a split that was tuned on the true counts stays one."""
    if key not in _TUNED_ON_TRUE_COUNTS:
        return key, texts
    return _TUNED_ON_TRUE_COUNTS[key], ["" if texts in ([""], ["0"]) else "true_counts"]


def _known(key: str) -> Param:
    if key not in REG:
        raise InputError("LINK_UNKNOWN", "There is no such setting.")
    return REG[key]
