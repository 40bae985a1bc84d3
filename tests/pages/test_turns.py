"""Turns: sessions compute one after the other, whatever the length and the number of their jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from pages.ui.jobs import fair_queue, jobs
from pages.ui.jobs.fair_queue import Turn, Turns

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn is over as soon as the job asks."""
    monkeypatch.setattr(fair_queue, "QUANTUM_SECONDS", 0.0)


class Stage:
    """Jobs on threads of their own that work step by step when told to, and a diary of who worked."""

    def __init__(self, queue: Turns) -> None:
        self.queue = queue
        self.diary: list[str] = []
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()

    def job(self, name: str, steps: int, turn: Turn | None = None) -> Turn:
        """Queue a job of so many steps; the first letter of its name is its session."""
        turn = turn or Turn(name[0])

        def work() -> None:
            self.queue.begin(turn)
            for _ in range(steps):
                if not turn.is_wanted():
                    break
                with self.lock:
                    self.diary.append(name)
                self.queue.breathe(turn)
            self.queue.end(turn)

        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()
        self.until(lambda: self.queue.position(turn) > 0 or name in self.diary)
        return turn

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for something to come true."""
        for _ in range(int(PATIENCE / 0.01)):
            if true():
                return
            threading.Event().wait(0.01)
        raise AssertionError(self.diary)

    def all_done(self) -> list[str]:
        """Who worked, in order, once all have ended."""
        for thread in self.threads:
            thread.join(PATIENCE)
        return self.diary


@pytest.fixture
def gate() -> Iterator[tuple[Stage, Turn]]:
    """One place only, held by nobody's session until it is given up by `queue.end(turn)`."""
    queue = Turns(at_once=1, under_way=16, heavy=16)
    holder = Turn("gate")
    queue.begin(holder)
    yield Stage(queue), holder
    queue.end(holder)


def test_sessions_take_turns_and_so_do_the_jobs_of_one(gate: tuple[Stage, Turn]) -> None:
    stage, holder = gate
    for name, steps in (("a1", 4), ("a2", 2), ("b1", 3)):
        stage.job(name, steps)
    stage.queue.end(holder)
    # by hand: a and b in turn, a1 and a2 in turn within a; b has 3 steps, then a is alone
    assert stage.all_done() == ["a1", "b1", "a2", "b1", "a1", "b1", "a2", "a1", "a1"]


def test_one_who_comes_late_waits_for_no_end() -> None:
    """The first job goes on until the second has worked."""
    stage = Stage(Turns(at_once=1, under_way=16, heavy=16))
    stage.job("a1", 10**9, Turn("a", is_wanted=lambda: "z1" not in stage.diary))
    stage.job("z1", 1)
    assert stage.all_done().count("z1") == 1


def test_progress_is_drawn_less_often_where_many_sessions_look_at_theirs(
    gate: tuple[Stage, Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, holder = gate
    monkeypatch.setattr(jobs, "_TURNS", stage.queue)
    monkeypatch.setattr(jobs, "REFRESHES", 4)
    assert jobs.refresh_seconds() == 0.4  # one session: the holder's
    for name in ("a1", "a2", "b1"):
        stage.job(name, 1)
    assert jobs.refresh_seconds() == 0.75  # three sessions, though four jobs
    stage.queue.end(holder)
    stage.all_done()
    assert jobs.refresh_seconds() == 0.4


def test_the_place_in_the_queue_is_told(gate: tuple[Stage, Turn]) -> None:
    stage, holder = gate
    queued = [stage.job(name, 1) for name in ("a1", "b1", "a2")]
    # nobody has been served yet, so they stand as they came
    assert [stage.queue.position(turn) for turn in queued] == [1, 2, 3]
    stage.queue.end(holder)
    stage.all_done()
    assert [stage.queue.position(turn) for turn in queued] == [0, 0, 0]


def test_a_session_has_one_job_at_work_where_there_are_places_for_two() -> None:
    stage = Stage(Turns(at_once=2, under_way=16, heavy=16))
    first = Turn("a")
    stage.queue.begin(first)
    second = stage.job("a2", 1)
    stage.job("b1", 1)
    stage.until(lambda: stage.diary == ["b1"])
    assert stage.queue.position(second) == 1
    stage.queue.end(first)
    assert stage.all_done() == ["b1", "a2"]


def test_no_more_begin_than_may_be_under_way() -> None:
    stage = Stage(Turns(at_once=2, under_way=1, heavy=1))
    first = Turn("a")
    stage.queue.begin(first)
    waiting = stage.job("b1", 1)
    assert stage.queue.position(waiting) == 1
    stage.queue.end(first)
    assert stage.all_done() == ["b1"]


def test_few_heavy_ones_begin_and_others_do_not_wait_for_them() -> None:
    stage = Stage(Turns(at_once=1, under_way=16, heavy=1))
    first = Turn("a", is_heavy=True)
    stage.queue.begin(first)
    second = stage.job("b1", 1, Turn("b", is_heavy=True))
    stage.job("c1", 1)
    stage.queue.breathe(first)
    assert stage.diary == ["c1"] and stage.queue.position(second) == 1
    stage.queue.end(first)
    assert stage.all_done() == ["c1", "b1"]


def test_who_is_not_admitted_waits_without_holding_up_others(gate: tuple[Stage, Turn]) -> None:
    stage, holder = gate
    room: list[bool] = []
    large = stage.job("a1", 1, Turn("a", admit=lambda: bool(room)))
    stage.job("b1", 2)
    stage.queue.end(holder)
    stage.until(lambda: stage.diary == ["b1", "b1"])
    assert stage.queue.position(large) == 1
    room.append(True)
    assert stage.all_done() == ["b1", "b1", "a1"]


def test_who_is_no_longer_wanted_leaves_the_queue(gate: tuple[Stage, Turn]) -> None:
    stage, _ = gate
    wanted = [True]
    stage.job("a1", 1, Turn("a", is_wanted=lambda: bool(wanted)))
    wanted.clear()
    assert stage.all_done() == []
