"""What goes wrong, as one sentence on the page: a refused input with its code, anything else with an id to quote."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import streamlit as st

from pages.ui.inputs.text import alert, lit, literal_sentence, refusal_text
from pages.ui.session import logs, streamlit_compat
from treedp_core.checks import InputError

MAX_NAMED: Final = 5
_log: Final = logging.getLogger("treedp")


def refusal(error: InputError) -> None:
    """Show a refused input: its sentence, and its stable code."""
    alert(st.error, refusal_text(error), icon=":material/error:")


def refusal_in_passing(error: InputError) -> None:
    """Say why what was pressed is refused, over a page that stays as it is."""
    st.toast(refusal_text(error), icon=":material/error:", duration="long")


def settings_refused(refused: Sequence[tuple[str, InputError]], before: str, after: str = "") -> str:
    """Return which settings were not taken between two texts, and then why, once for each reason."""
    told = refused[:MAX_NAMED]
    named = ", ".join(lit(key, 40) for key, _ in told)
    more = f" and {len(refused) - MAX_NAMED} more" if len(refused) > MAX_NAMED else ""
    why = dict.fromkeys(literal_sentence(str(error)) for _, error in told)
    return "\n\n".join([f"{before}{named}{more}.{after}", *why])


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
    streamlit_compat.forget_unreadable_values()
    ticket = uuid.uuid4().hex[:8]
    _log.error("%s %s", ticket, logs.place(error))
    st.error(
        f"Something went wrong (id `{ticket}`). Your data and settings are still here: change the last setting "
        "or reload the page; the log of the app has the place under this id.",
        icon=":material/error:",
    )
    return True
