"""Which symbols and letters a page has explained: its heading explains those of its first screen, the rest itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import streamlit as st

from treedp_core.studies.methods.terms import explained, symbols_in

_SAID: Final = "_said"
"""In the session while the first screen is drawn: what it says, whose symbols the heading explains."""
_LETTERS: Final = "_letters"
"""In the session while the first screen is drawn: what letters of its own mean, a line each."""
_EXPLAINED: Final = "_explained"
"""In the session: each symbol that the page has explained, and where."""


def listen() -> None:
    """Begin to note what the first screen of a page says."""
    st.session_state[_SAID], st.session_state[_LETTERS] = [], []


def said(*words: str) -> None:
    """Note what a control or a figure of the first screen says; what comes below it explains itself."""
    if _SAID in st.session_state:
        st.session_state[_SAID].extend(words)


def written(letters: Iterable[str]) -> str:
    """Return what letters mean ("K: the number of bins"), a line each (Markdown)."""
    return "  \n".join(f"**{one}**: {meaning}" for one, _, meaning in (line.partition(": ") for line in letters))


def also(letters: Iterable[str]) -> None:
    """Note what letters of the first screen mean that are in no glossary."""
    held: list[str] = st.session_state.setdefault(_LETTERS, [])
    held += [one for one in letters if one not in held]


def explain_all(*words: str) -> str:
    """Return what all symbols of the first screen mean, for its heading; from now on nothing is noted."""
    everything = " ".join([*words, *st.session_state.pop(_SAID, ())])
    st.session_state[_EXPLAINED] = dict.fromkeys(symbols_in(everything), "heading")
    return "  \n".join(filter(None, (explained(everything), written(st.session_state.pop(_LETTERS, ())))))


def explain_new(place: str, words: str) -> str:
    """Return what the symbols in a text mean that the page has not explained above this place.

    On the first screen that is nothing: its heading explains them.
    """
    if _SAID in st.session_state:
        said(words)
        return ""
    known: dict[str, str] = st.session_state.setdefault(_EXPLAINED, {})
    return explained(" ".join(one for one in symbols_in(words) if known.setdefault(one, place) == place))
