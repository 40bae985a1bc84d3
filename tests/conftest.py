"""Fixtures and settings every test shares."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from streamlit.runtime.pages_manager import PagesManager

from app import all_pages
from browsing import (
    CHROMIUM_ARGUMENTS,
    NO_CHROMIUM,
    ROOT,
    SPARING,
    Findings,
    LiveServer,
    Sessions,
    Traffic,
    chromium_path,
    live_server,
)
from oracles_pages import DONE, Inline, WorkersHere
from pages.ui.jobs.jobs import Jobs
from pages.ui.session.sessions import _sessions
from treedp_core.studies.multiplicative.curves import CURVES

all_pages()  # they and their settings are known from here on


def _as_served(manager: PagesManager, *args: Any, **kwargs: Any) -> None:
    """In memory every run begins in Streamlit's old mode, which lists the folder `pages`; a server soon leaves it."""
    PagesManager.uses_pages_directory = False
    _BEGINS(manager, *args, **kwargs)


_BEGINS = PagesManager.__init__
PagesManager.__init__ = _as_served  # type: ignore[method-assign]

_MAIN = sys.modules["__main__"]
IN_CI = os.environ.get("CI", "").lower() == "true"

# Examples are the same on every run in CI; at a desk they differ, so that new ones are always tried. EXAMPLES=500 tries
# more of them, as `make check` does beyond `make test`.
_COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
_MANY: dict[str, Any] = {"max_examples": int(os.environ.get("EXAMPLES", "40")), **_COMMON}
settings.register_profile("ci", derandomize=True, database=None, **_MANY)
settings.register_profile("desk", **_MANY)
# A planted fault has to be noticed, which is done at the first example that fails; a smaller one may take minutes.
settings.register_profile(
    "mutants", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate], **_COMMON
)
settings.load_profile("ci" if IN_CI else "desk")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.contract)], ids=["some", "every"])
def every(request: pytest.FixtureRequest) -> bool:
    """Whether a test tries all of its cases, as in `make contract`, or its share of them, so that tests share them."""
    return bool(request.param)


@pytest.fixture(scope="session")
def server() -> Iterator[LiveServer]:
    """The app, started once for all browser tests."""
    with live_server() as running:
        yield running


@pytest.fixture(autouse=True)
def same_main() -> Iterator[None]:
    """Streamlit puts the script it runs in memory in place of `__main__`, which new processes would then run again."""
    sys.modules["__main__"] = _MAIN  # what a module's own fixtures opened has changed it, too
    yield
    sys.modules["__main__"] = _MAIN


@pytest.fixture(autouse=True)
def idle() -> Iterator[None]:
    """What a page has begun in the background ends with its test, and is not done in the time of the next ones."""
    yield
    for session in list(_sessions.values()):
        slots = session.owned[Jobs].slots if Jobs in session.owned else {}
        for slot in [slot for slot, job in slots.items() if job.is_running]:
            slots.pop(slot).stop.set()


@pytest.fixture
def start_server() -> Callable[..., AbstractContextManager[LiveServer]]:
    """Start a server of one's own: a cold one, another app file, another environment.

    ``with start_server(env={"TREEDP_PUBLIC": "1"}) as server: page.goto(server.url)``
    """
    return live_server


@pytest.fixture
def executor() -> Any:
    """What background work of a page is given to: it is done at once."""
    return Inline()


@pytest.fixture
def quick_crossings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only crossings that are found at once are sought: the others are of `test_multiplicative`."""
    from treedp_core.studies.multiplicative import ranking

    quick = [pair for pair in ranking.PAIRS if not any(CURVES[name].is_searched for name in pair)]
    monkeypatch.setattr(ranking, "PAIRS", tuple(quick))


@pytest.fixture
def own_jobs(quick_crossings: None, monkeypatch: pytest.MonkeyPatch, executor: Any) -> Any:
    """Jobs of the test's own, done by its `executor`: in memory, a session's jobs are one for all tests."""
    from pages.ui.jobs import jobs

    mine = jobs.Jobs()
    monkeypatch.setattr(jobs, "jobs", lambda: mine)
    monkeypatch.setattr(jobs, "pool", lambda: executor)
    monkeypatch.setattr(jobs, "WORKERS", WorkersHere(DONE))
    return mine


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A Playwright browser on the machine's own Chromium.

    Without one, browser tests are skipped; in CI that is an error, as nobody would read the skip.
    """
    path = chromium_path()
    if path is None:
        if IN_CI:
            pytest.fail(NO_CHROMIUM)
        pytest.skip(NO_CHROMIUM)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*CHROMIUM_ARGUMENTS, *SPARING])
        yield browser
        browser.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what mostly waits, and with a file that begins with work for all of it, which one worker then does."""
    items.sort(key=lambda item: item.path.name not in ("test_live_attacks.py", "test_code_of_views.py"))


def pytest_collection_finish() -> None:
    """What stays to the end is not looked through again each time garbage is collected."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give every skip for want of a Chromium the same place, so that pytest shows one line for all of them."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and NO_CHROMIUM in report.longrepr[2]:
        report.longrepr = (str(Path(__file__)), 1, f"Skipped: {NO_CHROMIUM}")
    return report


@pytest.fixture(scope="session")
def sessions(chromium: Any) -> Iterator[Sessions]:
    """Browser sessions for all tests, each emptied before it is lent again."""
    lent = Sessions(chromium)
    yield lent
    lent.close()


@pytest.fixture
def open_page(sessions: Sessions) -> Iterator[Callable[[], Any]]:
    """Open a page, every call in another browser session; script errors and foreign requests fail the test at its end.

    ``page = open_page()``
    """
    findings = Findings()
    contexts: list[Any] = []

    def opener() -> Any:
        contexts.append(sessions.empty(len(contexts)))
        page = contexts[-1].new_page()
        findings.watch(page)
        Traffic().watch(page)
        return page

    yield opener
    for context in contexts:
        sessions.clear(context)
    assert findings.errors == []
    assert findings.foreign == []


@pytest.fixture
def page(open_page: Callable[[], Any]) -> Any:
    """A page in an empty browser session, watched as `open_page` says."""
    return open_page()
