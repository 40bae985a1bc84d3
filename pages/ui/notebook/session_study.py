"""The work of a session as a value, to be saved; and back into a session."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import streamlit as st

from pages.ui.inputs.setting import Setting
from pages.ui.inputs.settings import PRESENT, REG, SLIDE
from pages.ui.notebook import book
from pages.ui.tables import plans, range_lists, saved_plans, store
from pages.ui.tables import session_tables as kept
from treedp_core import __version__
from treedp_core.checks import InputError
from treedp_core.notebook.study import WAITING, SettingValue, Study, still_asked
from treedp_core.views.parameters import where_more

UPLOADS: Final = "_upload_"
"""What the state of an uploader begins with in the session."""


def study() -> Study:
    """Return everything of this session that a file can hold; nothing is copied."""
    held, tables = book.held(), kept.tables()
    values = {one.key: one.value for one in _kept_settings()}
    return Study(
        notebook=held.notebook,
        settings={key: value for key, value in values.items() if value != REG[key].default} | book.looks(),
        tables=tuple(tables),
        asked=still_asked(held.asked, tables),
        version=__version__,
        plan=plans.to_keep(),
        ranges=range_lists.lists(),
        noted=tuple(saved_plans.everything()),
    )


def is_untouched() -> bool:
    """Whether this session has nothing that would be lost with it."""
    found = study()
    kept = (found.settings, found.tables, found.asked, found.plan, found.ranges, found.noted)
    return not (found.notebook.cells or any(kept))


def signature(found: Study) -> str:
    """Return a text that changes with everything a file would hold."""
    tables = [(one.slot, one.data.name, one.data.fingerprint) for one in found.tables]
    plan = found.plan and found.plan.to_json()
    marks = (
        book.held().revision, sorted(found.settings.items()), tables, plan, list(found.ranges),
        [one.mark for one in found.noted],
    )  # fmt: skip
    return hashlib.sha256(repr(marks).encode()).hexdigest()


def restore(found: Study) -> list[tuple[str, InputError]]:
    """Put a saved session in place of this one, before any control is drawn; return the settings that are refused.

    A refused setting has its default.

    Raises
    ------
    InputError
        ``NOTEBOOK_ROOM``; then nothing has changed.
    """
    book.put(found.notebook, found.asked)
    for slot in list(kept.slots()):
        store.remove(slot)
    kept.shelf().clear()
    store.forget_results()
    for key in [key for key in st.session_state if str(key).startswith(UPLOADS)]:
        del st.session_state[key]
    places = _places(found)
    kept.add((places.get(one.slot, one.slot), kept.Kept(one.data, one.how, None, one.when)) for one in found.tables)
    store.unchanged()
    range_lists.put(found.ranges)
    saved_plans.put(found.noted)
    plans.of_cell(found.plan)
    refused = _take(found)
    store.turn_to_kept()
    return refused


def _places(found: Study) -> dict[str, str]:
    """Where tables go that this session has no place for: one read where it lay is as one uploaded.

    If both are there, the one that was in use is in use again, and the other waits.
    """
    if store.file_on_this_computer() is not None or all(one.slot != "file" for one in found.tables):
        return {}
    if found.settings.get("source") == "file" or all(one.slot != "upload" for one in found.tables):
        return {"file": "upload", "upload": WAITING}
    return {"file": WAITING}


def _kept_settings() -> list[Setting[Any]]:
    return [one for one in REG.values() if one not in (PRESENT, SLIDE)]


def _take(found: Study) -> list[tuple[str, InputError]]:
    refused = []
    known = {one.key: one for one in _kept_settings()}
    for one in known.values():
        one.set(one.fresh())
    book.look(found.settings)
    for key, value in found.settings.items():
        if key in book.LOOKED_AT:
            continue
        if key in known and _fits(known[key], value):
            known[key].set(value)
        else:
            more = where_more(known[key].options) if key in known else ""
            refused.append((key, InputError("SETTING_REFUSED", f"This version does not take it.{more}")))
    return refused


def _fits(one: Setting[Any], value: SettingValue) -> bool:
    kinds = (int, float) if isinstance(one.default, float) else (type(one.default),)
    return type(value) in kinds and bool(one.accepts(value))
