"""The last result of a slot, for pages that do not ask `pages.ui.result` yet."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from pages.ui.store import remember

T = TypeVar("T")


def keep_one(slot: str, key: Hashable, compute: Callable[[], T]) -> T:
    """Return `compute()`, kept until the key changes or the data are removed: for results as large as the tree."""
    kept: dict[Hashable, T] = remember(("one", slot), dict)
    if key not in kept:
        kept.clear()
        kept[key] = compute()
    return kept[key]
