"""Controls that are more than one setting: post-processing, a split with its shares, a level, other noise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import streamlit as st

from pages.ui.figure.frame import found_table
from pages.ui.inputs.setting import Setting, control
from pages.ui.inputs.settings import LEVEL, SEED
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import MAX_SEED
from treedp_core.mechanisms import RELEASES
from treedp_core.postprocess.chains import CHAINS
from treedp_core.views.finding import Finding
from treedp_core.views.split import accounting as in_accounting
from treedp_core.words import percent, privacy_text, short

POST_HELP: Final = "Costs no privacy budget. “Advanced” in the sidebar shows all."
SHARES_HELP: Final = "One share for each level from the root down, summing to at most 1; 0 leaves a level unmeasured."
FORMATS: Final = {"share": percent, "ε": privacy_text, "ρ": privacy_text, "noise st. dev. (records)": short}


ACCOUNTING_HELP: Final = (
    "How the noise becomes ε. The zCDP formula holds for all noise of one ρ; numerical accounting composes the losses "
    "of this noise, rounded up, and so keeps the same promise with less of it."
)


def accounted(key: str) -> Setting[str]:
    """Return a setting that says how discrete Gaussian noise becomes ε."""
    return control(in_accounting(key), label="Accounting", help=ACCOUNTING_HELP)


def accounting(setting: Setting[str], mechanisms: Collection[str]) -> None:
    """Show how noise is accounted for, where one of the mechanisms leaves a choice."""
    if any(RELEASES[name].two_accountings for name in mechanisms):
        setting.draw()


def pipelines(setting: Setting[Any], offered: Collection[str] = ()) -> None:
    """Show post-processing pipelines: those `offered` (by default the first ones) and chosen, in Advanced all."""
    chosen = setting.value if setting.is_many else (setting.value,)
    basic = offered or [name for name in CHAINS if CHAINS[name].basic]
    setting.draw(offered=[name for name in CHAINS if LEVEL.value == "Advanced" or name in {*basic, *chosen}])


def split(allocation: Setting[str], shares: Setting[str]) -> None:
    """Show the budget split: a named one, or shares of your own."""
    with st.container(width=160):
        chosen = allocation.draw()
    if chosen == "custom":
        with st.container(width=160):
            shares.draw()


def shares(allocation: Setting[str], shares: Setting[str]) -> tuple[float, ...]:
    """Return the custom shares that are in force: none unless the split is custom.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT``.
    """
    return shares_from_text(shares.value) if allocation.value == "custom" else ()


def split_by_level(find: Callable[[], Finding], *, key: str) -> None:
    """Show, once opened, who gets what: each level's nodes, share, budget and noise, as `find` returns them."""
    with st.expander("Budget by level", key=key, on_change="rerun") as opened:
        if opened.open:
            found_table(find(), formats=FORMATS)


def level_picker(setting: Setting[int], names: Sequence[str]) -> int:
    """Show levels, or what else is numbered, by name and return the chosen one; one beyond the last means the last."""
    setting.set(min(setting.value, len(names) - 1))
    return setting.said(format=names.__getitem__).draw(offered=range(len(names)))


def draw_again(key: str) -> None:
    """Show the button that takes the next seed."""
    st.button(
        "Draw again", key=key, icon=":material/casino:", on_click=_next_seed,
        help="The next seed: other noise on the same counts.",
    )  # fmt: skip


def _next_seed() -> None:
    SEED.set((SEED.value + 1) % (MAX_SEED + 1))
