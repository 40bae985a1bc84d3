"""Undo and redo give back whole values, in any order of changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treedp_core.notebook.cell import MOST, History

STEPS = st.lists(st.sampled_from(["change", "undo", "redo"]), max_size=80)


@given(STEPS)
def test_what_is_undone_and_redone_is_what_a_list_of_all_states_says(steps: list[str]) -> None:
    """The oracle keeps every state in one list, and a place in it."""
    states, at, now, history = [0], 0, 0, History[int]()
    for nth, step in enumerate(steps, 1):
        if step == "change":
            states, history, now = [*states[: at + 1], nth][-MOST - 1 :], history.after(now), nth
            at = len(states) - 1
        else:
            by = -1 if step == "undo" else 1
            at = min(max(at + by, 0), len(states) - 1)
            now, history = history.back(now) if step == "undo" else history.forth(now)
        assert now == states[at]
        assert (len(history.past), len(history.future)) == (at, len(states) - 1 - at)


def test_the_oldest_go_first_where_there_is_no_room_and_what_holds_for_all_is_in_all() -> None:
    history = History((1, 2, 3), (9, 8))
    assert history.within(lambda states: sum(states) <= 22) == History((2, 3), (9, 8))
    assert history.within(lambda states: sum(states) <= 17) == History((), (9, 8))
    assert history.within(lambda states: not states) == History()
    assert history.mapped(str) == History(("1", "2", "3"), ("9", "8"))
