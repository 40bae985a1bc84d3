"""What goes wrong, as one sentence on the page: a refused input with its code, anything else with an id to quote."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from pages.ui import logs, reconnect
from pages.ui.text import alert, refusal_text
from treedp_core.checks import InputError

_log: Final = logging.getLogger("treedp")


def refusal(error: InputError) -> None:
    """Show a refused input: its sentence, and its stable code."""
    alert(st.error, refusal_text(error), icon=":material/error:")


def refusal_in_passing(error: InputError) -> None:
    """Say why what was pressed is refused, over a page that stays as it is."""
    st.toast(f"{error} ({error.code})", icon=":material/error:", duration="long")


@contextmanager
def guard() -> Iterator[None]:
    """Show what goes wrong inside as one sentence: a refusal with its code, anything else with an id to quote.

    The log gets the kind of an unexpected exception and where it arose, never its text, which could quote user data.
    """
    try:
        yield
    except InputError as error:
        refusal(error)
    except Exception as error:
        trouble(error)


def trouble(error: Exception) -> bool:
    """Show an unexpected exception as one sentence; True, as no more needs to be said of it.

    The next run is free of what may have caused it: a value that no control takes would be met again there.
    """
    reconnect.forget_unreadable_values()
    ticket = uuid.uuid4().hex[:8]
    _log.error("%s %s", ticket, logs.place(error))
    st.error(
        f"Something went wrong (id `{ticket}`). Your data and settings are still here: change the last setting "
        "or reload the page; the log of the app has the place under this id.",
        icon=":material/error:",
    )
    return True
