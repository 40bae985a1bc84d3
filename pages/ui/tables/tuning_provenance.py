"""What the custom shares of a page were tuned on: it stays with them when they are copied, edited, linked or pasted."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import streamlit as st

from pages.ui.inputs.settings import EPSILON, EPSILON_TUNED, REG, SPLIT_FROM, SPLIT_SHARES, get
from pages.ui.inputs.text import plain, small_print
from pages.ui.tables.store import dataset
from treedp_core.checks import InputError
from treedp_core.notebook import study
from treedp_core.privacy import exact_shares
from treedp_core.privacy.prior_provenance import DOOR
from treedp_core.studies.budget import Ledger, Origin, origin_of_text, source_of_text
from treedp_core.views import split

PAGES: Final = ("bud", "lab", "con", "cdf", "td", "plan", "split")
"""Pages with custom shares; "split" stands for those that pages took over from Budget."""
TAKERS: Final = ("bud", "lab", "con", "plan")


def of(page: str) -> Origin | None:
    """Return what the custom shares of a page were tuned on, whether they are in force or not; None if on nothing.

    Shares that equal those of another page, as when they are pasted, were tuned on what those were.
    """
    text = text_of(page)
    return origin_of_text(text) if text else None


def text_of(page: str) -> str:
    """Return what the custom shares of a page were tuned on as a link has it; nothing for what looks at no counts."""
    if (own := str(get(f"{page}_tuned"))) or not (mine := _shares(page)):
        return own
    return next((get(f"{other}_tuned") for other in PAGES if get(f"{other}_tuned") and _shares(other) == mine), "")


def settle() -> None:
    """Note what shares that were pasted were tuned on, so that it stays with them: before the controls of a run."""
    for page in PAGES:
        if text := text_of(page):
            REG[f"{page}_tuned"].set(text)


def keep(page: str, origin: Origin | None) -> None:
    """Note what a page's shares were tuned on."""
    REG[f"{page}_tuned"].set("" if origin is None else origin.text)


def in_force(page: str) -> Origin | None:
    """Return what the split of a page was tuned on; None unless it is custom."""
    return of(page) if get(f"{page}_allocation") == "custom" else None


def tells_epsilon() -> bool:
    """Return whether the ε that is set was sought on the true counts."""
    return study.tells_epsilon({one.key: one.value for one in (EPSILON, EPSILON_TUNED)})


def of_plan(origin: Origin | None) -> dict[str, Origin]:
    """Return the argument for what a plan was tuned on: its split, or the true counts where its ε was sought on them.

    Raises
    ------
    InputError
        ``PRIOR_OTHER`` where a prior was paid for, as a plan states one of both.
    """
    of = split.of_plan(origin, is_sought=tells_epsilon())
    return {} if of is None else {"tuned": of}


def label(page: str) -> str:
    """Return what every figure, table and export of a page must say of its split; nothing where it looks at nothing."""
    return split.label(get(f"{page}_allocation"), text_of(page))


def whence(page: str) -> str:
    """Return where the custom split of a page came from; nothing where it is not the one that was taken over."""
    is_custom = page == "bud" or get(f"{page}_allocation") == "custom"
    if page not in TAKERS or not is_custom or not SPLIT_FROM.value or get(f"{page}_shares") != SPLIT_SHARES.value:
        return ""
    return f"Split from the Budget page: {source_of_text(SPLIT_FROM.value).told(dataset().tree.n_levels)}."


def note(page: str, ledger: Ledger | None = None) -> None:
    """Say where a page's split came from, what it was tuned on and what that costs; shares may be said to be own."""
    origin = in_force(page)
    if found := whence(page):
        small_print(found)
    if origin is None:
        return
    if not origin.is_private:
        st.error(
            f"{origin.label} Do not publish these shares, nor anything released with them. {DOOR}",
            title="NOT PRIVATE: tuned on the true counts",
            icon=":material/lock_open:",
        )
    told = label(page) if ledger is None else f"{label(page)} **Ledger.** {plain(ledger.sentence())}"
    with st.container(horizontal=True, vertical_alignment="center"):
        if origin.is_private:
            small_print(told, width="content")
        own(page)


def own(page: str) -> None:
    """Offer to say that a page's shares are no longer those that were tuned, nor made from them."""
    mine = _shares(page)
    if any(get(f"{other}_tuned") and _shares(other) == mine for other in PAGES if other != page):
        return
    st.button(
        "These shares are my own",
        key=f"{page}_own",
        type="tertiary",
        on_click=keep,
        args=(page, None),
        help="Takes the label and the cost away. True only if you chose the shares without looking at the tuned ones: "
        "shares made from them tell what they tell.",
    )


def _shares(page: str) -> list[Fraction]:
    try:
        return exact_shares(get(f"{page}_shares").replace(",", " ").replace(";", " ").split())
    except InputError:
        return []
