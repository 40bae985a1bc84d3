"""Results of a slot: ready, stale, pending, cancelled or refused, each shown by one mechanism."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from browsing import eventually
from oracles_pages import Inline, press
from pages.ui.jobs import jobs
from pages.ui.tables import result
from pages.ui.tables.result import State
from treedp_core.checks import InputError
from treedp_core.watch import Cancelled, Watch

ASKED: dict[str, Any] = {}
SEEN: list[Any] = []
GO = threading.Event()
BEGUN: list[Any] = []


class Found(str):
    """What can be referred to weakly, as a matrix can."""


def compute() -> str:
    """What a view computes on the page: refused when asked for nothing."""
    if not ASKED["key"]:
        raise InputError("TREE_SHAPE", "Expected something.")
    if ASKED.get("meanwhile"):
        ASKED["meanwhile"]()
    return f"for {ASKED['key']}"


def work(key: str) -> Callable[[Watch], str]:
    """A job that waits until the test lets it go, looking at its watch."""

    def job(watch: Watch) -> str:
        BEGUN.append(key)
        while not GO.wait(0.01):
            if watch.cancelled():
                raise Cancelled
        if key == "bad":
            raise InputError("SIMULATION_FAILED", "It failed.")
        watch.step(10)
        return Found(f"for {key}")

    return job


def script() -> None:
    from pages.ui.page import address
    from pages.ui.tables import result, store
    from test_result import ASKED, SEEN, compute, work
    from treedp_core.checks import InputError

    address.hydrate()
    for other in range(ASKED.get("others", 0)):
        store.remember(("other", other), lambda: 0)
    key = ASKED["key"]
    if ASKED["how"] == "at once":
        found = result.at_once(ASKED["slot"], key, compute, about=f"{key}", of=ASKED.get("of", "data"))
    elif ASKED["how"] == "refused":
        found = result.refused(ASKED["slot"], InputError("TREE_SHAPE", "Not so."), of=ASKED.get("of", "data"))
    else:
        found = result.in_background(
            ASKED["slot"],
            key,
            10,
            work(key),
            start=ASKED["how"],
            about=f"{key}",
            of=ASKED.get("of", "data"),
            shared=ASKED.get("shared", False),
        )
        result.run_button(found, "run", help="Begin.")
    SEEN[:] = [found]
    result.show_state(found, "Searching")


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Callable[..., AppTest]]:
    app = AppTest.from_function(script, default_timeout=30)

    def ask(**asked: Any) -> AppTest:
        ASKED.update(asked)
        return app.run()

    ASKED.clear()
    ASKED["slot"] = request.node.name  # every session of an AppTest has the same jobs
    BEGUN.clear()
    GO.clear()
    yield ask
    GO.set()


def shown() -> tuple[State, Any]:
    return SEEN[0].state, SEEN[0].value


def test_below_a_refusal_the_last_good_value_of_the_same_data_stands(page: Callable[..., AppTest]) -> None:
    page(how="at once", key="a")
    assert shown() == (State.READY, "for a")
    app = page(key="")
    assert shown() == (State.STALE, "for a") and "Expected something." in app.error[0].value
    assert "Shown meanwhile: a." in app.caption[0].value
    page(of="other data")
    assert shown() == (State.REFUSED, None)
    page(key="b")
    assert shown() == (State.READY, "for b")


def test_a_value_is_computed_once(page: Callable[..., AppTest]) -> None:
    page(how="at once", key="a")
    first = SEEN[0].value
    page()
    assert SEEN[0].value is first


def finished(app: Callable[..., AppTest]) -> bool:
    app()
    return SEEN[0].state is not State.PENDING


def test_a_job_begins_by_itself_and_its_values_are_kept(page: Callable[..., AppTest]) -> None:
    page(how="auto", key="a")
    assert shown() == (State.PENDING, None)
    GO.set()
    eventually(lambda: finished(page))
    assert shown() == (State.READY, "for a")
    GO.clear()
    page(key="b")
    assert shown() == (State.PENDING, "for a")
    page(key="a")  # known already: what was begun for b matters no more
    assert shown() == (State.READY, "for a") and BEGUN == ["a", "b"]


def test_what_one_session_keeps_another_is_given_where_it_is_nobodys(page: Callable[..., AppTest]) -> None:
    page(how="auto", key="a", shared=True)
    GO.set()
    eventually(lambda: finished(page))
    other = AppTest.from_function(script, default_timeout=30).run()
    assert shown() == (State.READY, "for a") and BEGUN == ["a"]
    ASKED.update(shared=False)
    AppTest.from_function(script, default_timeout=30).run()
    eventually(lambda: len(BEGUN) == 2)
    del other


def test_a_cancelled_job_stays_cancelled_until_it_is_asked_for_again(page: Callable[..., AppTest]) -> None:

    app = page(how="auto", key="a")
    next(one for one in app.button if one.key == f"{ASKED['slot']}_cancel").click()
    app.run()
    eventually(lambda: finished(page))
    assert shown() == (State.CANCELLED, None) and BEGUN == ["a"]
    GO.set()
    next(one for one in app.button if one.key == f"{ASKED['slot']}_again").click()
    app.run()
    eventually(lambda: finished(page))
    assert shown() == (State.READY, "for a")


def test_what_a_button_of_its_own_begins_has_no_second_one_once_it_was_cancelled(page: Callable[..., AppTest]) -> None:
    app = page(how="button", key="a")
    next(one for one in app.button if one.key == "run").click()
    app.run()
    next(one for one in app.button if one.key == f"{ASKED['slot']}_cancel").click()
    app.run()
    eventually(lambda: finished(page))
    assert SEEN[0].state is State.CANCELLED
    assert [one.key for one in app.button] == ["run"] and not app.button[0].disabled


def test_a_job_of_a_button_waits_for_it(page: Callable[..., AppTest]) -> None:
    app = page(how="button", key="a")
    assert shown() == (State.STALE, None) and BEGUN == []
    GO.set()
    next(one for one in app.button if one.key == "run").click()
    app.run()
    eventually(lambda: finished(page))
    assert shown() == (State.READY, "for a")
    page(key="b")
    assert shown() == (State.STALE, "for a") and BEGUN == ["a"]


def test_a_button_starts_what_is_asked_for_when_it_is_pressed(page: Callable[..., AppTest]) -> None:
    """A setting that is given up with the press, as a field that was being typed in, changes what is asked for."""
    app = page(how="button", key="a")
    GO.set()
    ASKED["key"] = "b"
    press(app, "run")
    eventually(lambda: finished(page))
    assert shown() == (State.READY, "for b") and BEGUN == ["b"]


def test_a_failed_job_is_refused_once_and_not_begun_again(page: Callable[..., AppTest]) -> None:
    GO.set()
    page(how="auto", key="bad")
    eventually(lambda: finished(page))
    app = page()
    assert shown() == (State.REFUSED, None) and "It failed." in app.error[0].value and BEGUN == ["bad"]
    page(key="good")
    eventually(lambda: finished(page))
    assert shown() == (State.READY, "for good")


def test_a_job_that_is_done_at_once_is_ready_at_once(
    page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    GO.set()
    page(how="auto", key="a")
    assert shown() == (State.READY, "for a")


def test_a_job_that_ends_while_its_state_is_read_is_no_cancelled_one(
    page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after its result was looked for, and before the page says how it stands."""
    forget, told = result._refusal_of, []

    def late(slot: str, asked: Any) -> Any:
        if jobs.current(slot) is not None and not told:
            told.append(GO.set())
            eventually(lambda: jobs.current(slot).state == "done")
        return forget(slot, asked)

    monkeypatch.setattr(result, "_refusal_of", late)
    page(how="auto", key="a")  # and the progress has the page run again
    assert shown() == (State.READY, "for a")


def test_a_job_is_not_begun_anew_because_a_page_remembers_much_else(page: Callable[..., AppTest]) -> None:
    """Of a large tree few results are kept."""
    GO.set()
    page(how="auto", key="a", others=200)
    eventually(lambda: finished(page))
    page()
    assert shown() == (State.READY, "for a") and BEGUN == ["a"]


def test_what_a_job_found_of_other_data_is_not_shown(page: Callable[..., AppTest]) -> None:
    app = page(how="button", key="a")
    press(app, "run")
    page(of="other data")
    GO.set()
    eventually(lambda: finished(page))
    assert shown() == (State.STALE, None)


def test_a_run_that_was_interrupted_puts_nothing_among_the_values_of_other_data(page: Callable[..., AppTest]) -> None:
    def meanwhile() -> None:  # the next run has begun, while this one still computes
        other = result.at_once(ASKED["slot"], "a", lambda: "for other data", of="other data")
        assert other.value == "for other data"

    page(how="at once", key="a", of="data", meanwhile=meanwhile)
    page(how="at once", key="a", of="other data", meanwhile=None)
    assert shown() == (State.READY, "for other data")


def test_a_value_says_what_it_was_made_for(page: Callable[..., AppTest]) -> None:
    page(how="at once", key="a")
    page(key="")
    assert (SEEN[0].made_for, SEEN[0].about) == ("a", "a")
    GO.set()
    app = page(how="button", key="c")
    press(app, "run")
    eventually(lambda: finished(page))
    app = page(key="d")
    assert (SEEN[0].made_for, SEEN[0].about, SEEN[0].state) == ("c", "c", State.STALE)
    assert "Shown meanwhile: c. Press **Run** for the present settings." in app.caption[0].value


def test_a_setting_that_is_refused_before_anything_is_asked_keeps_the_last_value(page: Callable[..., AppTest]) -> None:
    page(how="refused", key="a")
    assert shown() == (State.REFUSED, None)
    page(how="at once")
    app = page(how="refused")
    assert shown() == (State.STALE, "for a") and "Not so." in app.error[0].value
