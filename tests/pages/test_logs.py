"""What the log may not say: who has which session, and what an exception quotes."""

from __future__ import annotations

import logging
import uuid

import pytest

from pages.ui.session import logs

log = logging.getLogger("streamlit.runtime.somewhere")


def test_no_log_record_shows_the_id_of_a_session(caplog: pytest.LogCaptureFixture) -> None:
    name = str(uuid.uuid4())
    with logs.discreet():
        log.warning("Session with id %s is already connected, %d times", name, 2)
        log.error(f"{name} in the text")
    shown = [logging.Formatter().format(record) for record in caplog.records]
    assert shown == ["Session with id - is already connected, 2 times", "- in the text"]
    log.warning("%s", name)
    assert caplog.records[-1].getMessage() == name


def test_an_exception_is_one_line_with_its_place_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    with logs.discreet():
        try:
            int("a cell of a file")
        except ValueError as error:
            log.error("Uncaught app execution", exc_info=error)
            log.exception("%s failed", "it")
    first, second = (logging.Formatter().format(record) for record in caplog.records)
    assert first.startswith("Uncaught app execution: ValueError at ")
    assert second.startswith("it failed: ValueError at ")
    for line in (first, second):
        assert "a cell" not in line
        assert "test_logs.py:" in line
        assert "\n" not in line
