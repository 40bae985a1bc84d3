"""Ranges of bins that this session read off tables: an address has no more than a random word that finds them here."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

import streamlit as st

from treedp_core.notebook.range_lists import MAX_LISTS, Listed

_LISTS: Final = "_ranges_listed"


def lists() -> dict[str, Listed]:
    """Return the tables of ranges by their words, the oldest first."""
    found: dict[str, Listed] = st.session_state.setdefault(_LISTS, {})
    return found


def add(one: Listed) -> str:
    """Keep a table of ranges, in place of the oldest where there are many, and return its word."""
    word, kept = secrets.token_hex(4), lists()
    kept[word] = one
    while len(kept) > MAX_LISTS:
        del kept[next(iter(kept))]
    return word


def drop(word: str) -> None:
    """Keep a table no longer."""
    lists().pop(word, None)


def put(kept: Mapping[str, Listed]) -> None:
    """Put other tables in place of those of this session."""
    st.session_state[_LISTS] = dict(kept)
