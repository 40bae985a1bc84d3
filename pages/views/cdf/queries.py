"""Ranges of bins of one's own: typed, or in a table that is uploaded. Those of a table stay in the session.

An address has no more than a random word that finds them there, so nobody reads them off a link.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from functools import partial
from typing import Final, NamedTuple

import streamlit as st

from pages.ui import uploads
from pages.ui.reading import by_worker, say
from pages.ui.result import forget
from pages.ui.text import lit, small_print
from pages.views.cdf import settings as s
from treedp_core.checks import InputError
from treedp_core.records.watched import read
from treedp_core.studies.cdf.matrices.listed import ranges_of_table
from treedp_core.studies.cdf.matrices.wanted import MAX_BINS, MAX_RANGES, Ranges, ranges_from_text
from treedp_core.words import plural, whole

SLOT: Final = "cdf_queries"
MAX_LISTS: Final = 8
"""Tables of ranges that a session keeps: a cell of the notebook may be of an earlier one."""
EXAMPLE: Final = "lower,upper,weight\n1,10,1\n5,20,0.5"
_LISTS: Final = "_cdf_lists"


class _Listed(NamedTuple):
    """The ranges of a table, and the name of its file."""

    name: str
    ranges: Ranges


def asked_ranges() -> Ranges:
    """Return the ranges of the table in use, else those that are typed.

    Raises
    ------
    InputError
        ``RANGE_BOUNDS`` where there are none, or those of a table are not in this session.
    """
    word = s.LISTED.value
    if not word:
        return ranges_from_text(s.RANGES.value)
    if (listed := _lists().get(word)) is None:
        raise InputError(
            "RANGE_BOUNDS", "These ranges stood in a table that is not here: upload it again, or type them."
        )
    return listed.ranges


def show() -> None:
    """Show where ranges are typed or uploaded, or the card of the table in use."""
    word = s.LISTED.value
    listed = _lists().get(word)
    if listed is not None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f"{lit(listed.name, 40)} — {plural(len(listed.ranges), 'range')}, file discarded")
            st.button("Remove", key=f"{SLOT}_remove", icon=":material/delete:", on_click=_remove, args=(word,),
                      help="Forget these ranges now, and type some.")  # fmt: skip
        return
    if not uploads.is_public():
        _upload()
    s.RANGES.draw()


def _upload() -> None:
    n_before = len(_lists())
    file = uploads.uploader(
        "A table of ranges, one a row", key=f"{SLOT}_{n_before}_{s.LISTED.value}",
        help=f"First and last bin in columns lower and upper, from bin 1 on, and, if some count more, their weight. At "
        f"most {whole(MAX_RANGES)} ranges. The file is read once and discarded; a link never has its ranges.",
    )  # fmt: skip
    if file is None:
        small_print("For example:")
        st.code(EXAMPLE, language=None)
        return
    content = file.getvalue()
    work = partial(read, ranges_of_table, content, MAX_BINS, name=file.name)
    found = by_worker(SLOT, file.file_id, work, content, file.file_id, instead="save it with fewer columns")
    if not found.is_ready:
        say(found, "Reading ranges")
        return
    forget(SLOT)
    _use(_Listed(file.name, found.here()))
    st.rerun()


def _use(listed: _Listed) -> None:
    word, lists = secrets.token_hex(4), _lists()
    lists[word] = listed
    while len(lists) > MAX_LISTS:
        lists.popitem(last=False)
    s.LISTED.set(word)
    s.RANGES.set("")


def _remove(word: str) -> None:
    _lists().pop(word, None)
    s.LISTED.set("")


def _lists() -> OrderedDict[str, _Listed]:
    lists: OrderedDict[str, _Listed] = st.session_state.setdefault(_LISTS, OrderedDict())
    return lists
