"""Sessions by the clock: who is told that a tab has closed, who ends and when, and who owns what."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest

from pages.ui import sessions
from pages.ui.jobs import Job, Jobs

LIVE = 100.0


class Light:
    """Something of a session that goes off when the session is left."""

    def __init__(self) -> None:
        self.on = True

    def left(self) -> None:
        self.on = False


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No session so far; `at.setattr` says whose page runs."""
    monkeypatch.setattr(sessions, "_sessions", {})
    yield monkeypatch


def light_of(at: pytest.MonkeyPatch, name: str) -> Light:
    at.setattr(sessions, "current_id", lambda: name)
    return sessions.mine(Light)


def test_each_session_has_its_own_things_and_keeps_them(at: pytest.MonkeyPatch) -> None:
    one, two = light_of(at, "one"), light_of(at, "two")
    assert one is not two
    assert light_of(at, "one") is one
    assert sessions.mine(Jobs) is sessions.mine(Jobs)
    assert sessions.known() == ("one", "two")


def test_only_who_left_is_told_and_only_who_stays_away_ends(at: pytest.MonkeyPatch) -> None:
    one, two = light_of(at, "one"), light_of(at, "two")
    assert sessions.tick({"two"}.__contains__, 0.0, LIVE) == []
    assert (one.on, two.on) == (False, True)
    assert sessions.tick({"two"}.__contains__, 99.9, LIVE) == []
    assert light_of(at, "one") is one
    assert sessions.tick({"two"}.__contains__, 100.0, LIVE) == ["one"]
    assert sessions.known() == ("two",)
    assert light_of(at, "one") is not one


def test_who_returns_starts_to_count_anew(at: pytest.MonkeyPatch) -> None:
    light_of(at, "one")
    nobody, everybody = (lambda name: False), (lambda name: True)
    sessions.tick(nobody, 0.0, LIVE)
    sessions.tick(everybody, 50.0, LIVE)
    assert sessions.tick(nobody, 101.0, LIVE) == []
    assert sessions.tick(nobody, 200.9, LIVE) == []
    assert sessions.tick(nobody, 201.0, LIVE) == ["one"]


def test_a_session_that_is_left_has_its_simulations_stopped(at: pytest.MonkeyPatch) -> None:
    at.setattr(sessions, "current_id", lambda: "one")
    job = sessions.mine(Jobs).slots["slot"] = Job("key", 1)
    sessions.tick(lambda name: True, 0.0, LIVE)
    assert not job.stop.is_set()
    sessions.tick(lambda name: False, 1.0, LIVE)
    assert job.stop.is_set()


def test_no_log_record_shows_the_id_of_a_session(caplog: pytest.LogCaptureFixture) -> None:
    name, log = str(uuid.uuid4()), logging.getLogger("streamlit.runtime.somewhere")
    with sessions.hidden_in_logs():
        log.warning("Session with id %s is already connected, %d times", name, 2)
        log.error(f"{name} in the text")
        try:
            raise KeyError(name)
        except KeyError:
            log.exception("lost")
    shown = [logging.Formatter().format(record) for record in caplog.records]
    assert shown[:2] == ["Session with id - is already connected, 2 times", "- in the text"]
    assert "KeyError: '-'" in shown[2]
    log.warning("%s", name)
    assert caplog.records[-1].getMessage() == name
