"""Sessions by the clock: who is told that a tab has closed, who ends and when, and who owns what."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from browsing import ROOT, eventually
from pages.ui.jobs.jobs import Job, Jobs
from pages.ui.session import sessions

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
    at.setattr(sessions, "session_id", lambda: name)
    return sessions.mine(Light)


def test_each_session_has_its_own_things_and_keeps_them(at: pytest.MonkeyPatch) -> None:
    one, two = light_of(at, "one"), light_of(at, "two")
    assert one is not two
    assert light_of(at, "one") is one
    assert sessions.mine(Jobs) is sessions.mine(Jobs)
    assert sessions.known() == ("one", "two")


def test_who_comes_waits_while_others_come_and_who_is_there_never_does(at: pytest.MonkeyPatch) -> None:
    who = threading.local()
    at.setattr(sessions, "session_id", lambda: who.name)
    at.setattr(sessions, "_door", threading.Semaphore(1))
    inside: list[str] = []
    goes_on = threading.Event()

    def run(name: str) -> None:
        who.name = name
        with sessions.running():
            inside.append(name)
            assert goes_on.wait(30)

    with ThreadPoolExecutor(3) as people:
        first = people.submit(run, "one")
        eventually(lambda: inside == ["one"])
        second = people.submit(run, "two")
        again = people.submit(run, "one")
        eventually(lambda: inside == ["one", "one"])
        assert not second.done()
        goes_on.set()
        for visit in (first, again, second):
            visit.result(30)
    assert inside == ["one", "one", "two"]


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
    at.setattr(sessions, "session_id", lambda: "one")
    job = sessions.mine(Jobs).slots["slot"] = Job("key", 1)
    sessions.tick(lambda name: True, 0.0, LIVE)
    assert not job.stop.is_set()
    sessions.tick(lambda name: False, 1.0, LIVE)
    assert job.stop.is_set()


LET_GO = """
import re
from pathlib import Path

from pages.ui.session import sessions

def resident():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

before = resident()
some = [b"x" * 60_000 for _ in range(4_000)]
pin = some[-1]  # the heap can shrink from its end only, and something small often stays there
del some
held = resident() - before
sessions.return_pages()
print(held, resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other heaps return their pages by themselves")
def test_the_heap_returns_what_ended_sessions_held() -> None:
    run = [sys.executable, "-c", LET_GO]
    held, left = map(float, subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    assert held > 100
    assert left < 0.1 * held
