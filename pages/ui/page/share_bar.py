"""A bar of shares that a hand drags: those of the levels of a tree, or of what a budget is split over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import streamlit as st

from pages.ui.page.scripts import script


def share_bar(
    label: str,
    names: Sequence[str],
    units: Sequence[int],
    fixed: Collection[int],
    *,
    key: str,
    on_move: Callable[[list[int]], None],
) -> None:
    """Show the share of each name, in thousandths; other shares are told before the next run begins.

    Their sum stays, and so do those of the `fixed` ones.
    """
    rows = [(name, share, at in fixed) for at, (name, share) in enumerate(zip(names, units, strict=True))]
    script("splitbar", isolate_styles=False)(
        data={"label": label, "rows": rows, "name": key}, key=key,
        on_moved_change=partial(_take_moved, key, tuple(units), frozenset(fixed), on_move),
    )  # fmt: skip


def _take_moved(key: str, units: tuple[int, ...], fixed: frozenset[int], on_move: Callable[[list[int]], None]) -> None:
    """Pass shares on, if they are some: a browser may send anything."""
    sent: object = st.session_state[key].moved
    if not isinstance(sent, list) or len(sent) != len(units):
        return
    if not all(type(share) in (int, float) and 0 <= share <= sum(units) and share == int(share) for share in sent):
        return
    moved = [int(share) for share in sent]
    if sum(moved) == sum(units) and all(moved[at] == units[at] for at in fixed):
        on_move(moved)
