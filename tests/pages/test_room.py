"""Room for data sets over all sessions: what is asked for is bounded before it is made, and made off the page."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

from oracles_pages import Later, codes, dataset, open_page, words
from pages.ui.jobs import jobs, memory_budget
from pages.ui.jobs.memory_budget import Ask, Room
from pages.ui.tables import store
from treedp_core.tree import Tree

PATIENCE = 60.0


def of(n_leaves: int) -> Any:
    """A data set with so many leaves below its root."""
    return dataset(Tree.from_branching_factors((n_leaves,)), [1] * n_leaves)


@pytest.fixture(autouse=True)
def own_room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """A room nobody is in, for 20 nodes."""
    mine = Room()
    monkeypatch.setattr(memory_budget, "ALL_NODES", 20)
    monkeypatch.setattr(store, "ROOM", mine)
    return mine


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    for _ in range(int(PATIENCE / 0.02)):
        if true():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it never came true")


def test_room_is_for_what_is_asked_for_and_what_is_held(own_room: Room) -> None:
    first, second = Ask(), Ask()
    assert own_room.reserve(first, 15)
    assert not own_room.reserve(second, 6)
    assert own_room.reserve(second, 5)
    own_room.give_back(second)
    held = of(7)  # 8 nodes
    own_room.note(held)
    del first
    assert own_room.reserve(second, 12)
    own_room.give_back(second)
    assert not own_room.reserve(second, 13)
    del held
    gc.collect()
    assert own_room.reserve(second, 20)


def test_strangers_get_smaller_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEDP_PUBLIC", "1")
    app = open_page("data", source="generate", gen_branching="200000", gen_n="1000")
    assert codes(app) == ["TOO_MANY_NODES"]
    assert "200\u202f000 nodes, this one would have 200\u202f001" in app.main.error[0].value
    assert "stays as it was" in words(app)


def test_one_data_set_serves_all_who_ask_for_the_same(own_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    link = {"source": "generate", "gen_branching": "7", "gen_n": "1000", "gen_seed": "4711"}
    one, two = open_page("data", **link), open_page("start", **link)
    assert one.session_state["_dataset"] is two.session_state["_dataset"]
    assert one.session_state["_dataset"].tree.n_nodes == 8


@pytest.mark.usefixtures("own_jobs")
def test_a_large_tree_is_made_off_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is there, the last good data set is shown, on every page."""
    monkeypatch.setattr(store, "PUBLIC_NODES", 7)
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("lab", source="generate", gen_branching="7", gen_n="1000", gen_seed="4712")
    assert not app.exception
    assert "The data set is being made; Small town (synthetic) is shown meanwhile." in words(app)
    jobs.current(store.MAKING).run(lambda watch: of(7))  # type: ignore[union-attr]
    app.run()
    assert app.session_state["_dataset"].tree.n_nodes == 8
    assert "is being made" not in words(app)


def test_who_finds_no_room_waits_and_is_told_the_place(own_room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = jobs.Jobs()
    monkeypatch.setattr(jobs, "jobs", lambda: mine)
    others = Ask()
    own_room.reserve(others, 20)
    app = open_page("lab", source="generate", gen_branching="7", gen_n="1000", gen_seed="4713")
    assert not app.exception
    assert any("busy: position 1 in the queue" in bar.proto.text for bar in app.get("progress"))
    own_room.give_back(others)
    eventually(lambda: mine.slots[store.MAKING].state == "done")
    app.run()
    assert app.session_state["_dataset"].tree.n_nodes == 8
