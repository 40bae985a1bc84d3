"""What browser tests share: a live server, a Chromium, and knowing when a page has come to rest."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NO_CHROMIUM = "no Chromium found: install chromium or set TREEDP_CHROMIUM to run the browser tests"
CHROMIUM_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SAFE_ENVIRONMENT = {
    "STREAMLIT_SERVER_HEADLESS": "true",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_REST = '[data-testid="stApp"][data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]'


def chromium_path() -> str | None:
    """Path of a system Chromium, or None."""
    chosen = os.environ.get("TREEDP_CHROMIUM")
    if chosen:
        return chosen
    names = ("chromium", "chromium-browser", "google-chrome")
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


def settle(page: Any, timeout: float = 30.0) -> None:
    """Wait until the app is connected and idle, seen twice in a row.

    A click needs a moment to turn the app busy, hence the pause before the first look; and one idle look can
    fall between two runs, hence the second.
    """
    deadline = time.monotonic() + timeout
    quiet = 0
    while quiet < 2:
        page.wait_for_timeout(150)
        quiet = quiet + 1 if page.locator(_REST).count() else 0
        if time.monotonic() > deadline:
            raise AssertionError(f"{page.url} did not come to rest within {timeout:g} s.")


def opened(page: Any, server: LiveServer, path: str, marker: str) -> Any:
    """The page at a path of the app, once what `marker` selects is there and it has come to rest."""
    page.goto(f"{server.url}/{path}")
    page.locator(marker).first.wait_for()
    settle(page)
    return page


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
