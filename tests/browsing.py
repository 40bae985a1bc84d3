"""What browser tests share: a live server, a Chromium, and knowing when a page has come to rest."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from playwright.sync_api import Error
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parent.parent
NO_CHROMIUM = "no Chromium found: install chromium or set TREEDP_CHROMIUM to run the browser tests"
PATIENCE = 90.0  # seconds for any one step of a browser, on a machine that is busy with other work
CHROMIUM_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",  # pages of a browser session share a process, and what it has compiled
)
SPARING = (
    "--disable-features=ScriptStreaming,PaintHolding",  # the first would parse anew what the process has compiled,
    "--js-flags=--no-flush-bytecode",  # and this is kept
)
"""What saves tests a tenth of every page; a benchmark does not spare itself that."""
WINDOW: Final = {"width": 1280, "height": 900}
SAFE_ENVIRONMENT = {
    "STREAMLIT_SERVER_HEADLESS": "true",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_LOOK = """() => new Promise(done => requestAnimationFrame(() => scheduler.postTask(() => setTimeout(() => done(
  document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]' +
    '[data-test-connection-state="CONNECTED"]') !== null), 110), {priority: 'background'})))"""
"""Not `requestIdleCallback`: after a change of the window or the colours a page that does nothing may never be idle."""
_STATE = """() => [...Object.values(document.querySelector('[data-testid="stApp"]')?.dataset ?? {}),
  ...[...document.querySelectorAll('[role=dialog], [data-testid=stAlert]')].map(one => one.innerText)].join(' · ')"""
"""What an app that does not come to rest says of itself."""


EMPTY_AT_FIRST = ("notebook",)
"""Pages without a figure until one is pinned; they say so."""


def chromium_path() -> str | None:
    """Path of a system Chromium, or None; the one without windows first, as it takes half the time."""
    chosen = os.environ.get("TREEDP_CHROMIUM")
    if chosen:
        return chosen
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class LiveServer:
    """A running app: its address and its process id (to read its memory)."""

    url: str
    pid: int


@contextmanager
def live_server(
    app: Path = ROOT / "app.py",
    *,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = ("-m", "streamlit"),
    arguments: Sequence[str] = (),
    log: Path | None = None,
    cwd: Path = ROOT,
    within: float = 60.0,
) -> Iterator[LiveServer]:
    """Start Streamlit, or a program with its arguments, on a free port; end that one process afterwards.

    What it logs goes to a file if one is given, else where this process logs.
    """
    port = free_port()
    command = [sys.executable, *program, "run", str(app), f"--server.port={port}", *arguments]
    command += ["--server.address=127.0.0.1", "--server.headless=true", "--server.fileWatcherType=none"]
    environment = {**os.environ, **SAFE_ENVIRONMENT, **(env or {})}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with log.open("wb") if log else nullcontext() as errors:
        server = subprocess.Popen(command, env=environment, cwd=cwd, start_new_session=True, stderr=errors, **quiet)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, server, within)
        yield LiveServer(url, server.pid)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@dataclass(frozen=True)
class ClassServer(LiveServer):
    """A running class, and what its terminal says: the word for its students, and the teacher's link."""

    word: str
    teacher: str


@contextmanager
def class_server() -> Iterator[ClassServer]:
    """Start a class as its teacher does, on this machine only; end that one process afterwards."""
    port = free_port()
    said: list[str] = []
    process = subprocess.Popen(
        [sys.executable, "-m", "treedp_core", "--class", "--port", str(port)], cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, **SAFE_ENVIRONMENT, "STREAMLIT_SERVER_ADDRESS": "127.0.0.1", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", process)
        assert process.stdout is not None
        said += [process.stdout.readline() for _ in range(3)]
        yield ClassServer(f"http://127.0.0.1:{port}", process.pid, said[1].split()[-1], said[2].split()[-1])
    finally:
        process.terminate()
        process.communicate()


def wait_until_healthy(url: str, server: subprocess.Popen[Any], within: float = 60.0) -> None:
    """Return once the server answers its health check; say so when it ended or took too long instead."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise AssertionError(f"The server ended with status {server.returncode} before it answered.")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"The server did not answer within {within:g} s.")


@dataclass
class Traffic:
    """What a page and its server still owe each other: a run of the script for what the page has sent.

    Nothing is owed to a part of a page that asks by its own clock: the server says nothing at all where a run of the
    whole page has taken that part away just before.
    """

    owed: bool = False

    def watch(self, page: Any) -> None:
        """Listen to the page's websockets from now on."""
        page.on("websocket", self._listen)
        _TRAFFIC[page] = self

    def _listen(self, socket: Any) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, payload: str | bytes) -> None:
        message = BackMsg()
        message.ParseFromString(payload if isinstance(payload, bytes) else payload.encode())
        is_asked = message.WhichOneof("type") == "rerun_script" and not message.rerun_script.is_auto_rerun
        self.owed = self.owed or is_asked

    def _received(self, payload: str | bytes) -> None:
        if not self.owed or not isinstance(payload, bytes):
            return
        message = ForwardMsg()
        message.ParseFromString(payload)
        if message.WhichOneof("type") == "script_finished":
            self.owed = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN


_TRAFFIC: Final[WeakKeyDictionary[Any, Traffic]] = WeakKeyDictionary()


def settle(page: Any, looks: int = 2, timeout: float = PATIENCE) -> None:
    """Wait until the app is connected and idle, owes no answer, and has drawn all: seen so often in a row.

    Each look comes after the page itself drew a frame, had nothing left to do and then slept a little by its own clock,
    so on a busy machine the looks are further apart. Two of them are longer than the 200 ms that a slider waits before
    it tells the server, and a run may end just before the next begins; one does after a change of the window, of which
    the server hears nothing.
    """
    deadline = time.monotonic() + timeout
    quiet = 0
    while quiet < looks:
        is_idle = page.evaluate(_LOOK)
        quiet = quiet + 1 if is_idle and not _TRAFFIC[page].owed else 0
        if time.monotonic() > deadline:
            raise AssertionError(f"{page.url} did not come to rest within {timeout:g} s: {page.evaluate(_STATE)}")


def resize(page: Any, width: int, height: int) -> None:
    """Give the window another size, and wait until the page is drawn in it."""
    page.set_viewport_size({"width": width, "height": height})
    settle(page, looks=1)


def eventually(true: Callable[[], bool], timeout: float = PATIENCE) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, f"not within {timeout:g} s"
        time.sleep(0.1)


def visit(page: Any, url: str) -> Any:
    """The page at an address, once it has come to rest."""
    page.goto(url)
    settle(page)
    return page


def drawn(page: Any, server: LiveServer, path: str, figure: str) -> Any:
    """The page at a path of the app, once the plotly figure of that key is drawn and it has come to rest."""
    return opened(page, server, path, f".st-key-{figure} .main-svg")


def opened(page: Any, server: LiveServer, path: str, marker: str) -> Any:
    """The page at a path of the app, once what `marker` selects is there and it has come to rest."""
    page.goto(f"{server.url}/{path}")
    page.locator(marker).first.wait_for()
    settle(page)
    return page


class Sessions:
    """Browser sessions that are lent to one test after another: emptied of all that pages keep, not of what was loaded.

    A page in a new session reads and compiles the app's scripts anew, which takes longer than all else on it. Nothing
    moves by itself: drawing it, frame by frame, takes a fifth of what a page costs.
    """

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._first: list[tuple[Any, Any]] = []

    def empty(self, number: int) -> Any:
        """The session of that number, of which nothing is kept."""
        if number == len(self._first):
            context = self._chromium.new_context(viewport=WINDOW, accept_downloads=True, reduced_motion="reduce")
            context.set_default_timeout(1000 * PATIENCE)
            page = context.new_page()  # while it is there, the process stays
            self._first.append((context, context.new_cdp_session(page)))
        return self._first[number][0]

    def clear(self, context: Any) -> None:
        """Close the pages of a session but for the first, and remove what they kept.

        A page's last writes are on their way through its own process, and could come after what the browser removes;
        so it is told to forget by the same way first.
        """
        for page in context.pages[1:]:
            with suppress(Error):  # of a page that is leaving
                page.evaluate("() => { if (origin !== 'null') { localStorage.clear(); sessionStorage.clear() } }")
            page.close()
        context.clear_cookies()
        context.clear_permissions()
        away = next(devtools for one, devtools in self._first if one is context)
        away.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})

    def close(self) -> None:
        """End all of them."""
        for context, _ in self._first:
            context.close()


@dataclass
class Findings:
    """What a page did that it should not: script errors and requests to other machines."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Record from now on."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
            self.foreign.append(url)
