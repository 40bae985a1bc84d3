"""What the log may say: of an exception where it arose, never its text, which may quote data; no id of a session."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_ID: Final = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)


def place(error: BaseException) -> str:
    """Return the kind of an exception and the lines it went through, the innermost first."""
    lines = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__} at {' < '.join(reversed(lines))}"


@contextmanager
def discreet() -> Iterator[None]:
    """Have every log record, of Streamlit too, name an exception by its place, and no session.

    Whoever has the id of a session may take it over.
    """
    made = logging.getLogRecordFactory()

    def discreetly(*arguments: Any, **more: Any) -> logging.LogRecord:
        record = made(*arguments, **more)
        with suppress(Exception):  # a record that cannot be written is for its handler to report
            said = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                said, record.exc_info = f"{said}: {place(record.exc_info[1])}", None
                record.msg, record.args = said, None
            if _ID.search(said):
                record.msg, record.args = _ID.sub("-", said), None
        return record

    logging.setLogRecordFactory(discreetly)
    try:
        yield
    finally:
        logging.setLogRecordFactory(made)
