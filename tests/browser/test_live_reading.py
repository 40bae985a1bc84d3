"""A large file on a live server: others are served while it is counted, and Cancel ends the work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from browsing import LiveServer, eventually
from tabs import Tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sys.platform != "linux", reason="files are read on a thread where forking is not safe"),
]

EACH_ROW = "Each row is one record"


def below(pid: int) -> set[int]:
    """The ids of all processes that a process has started, and those of theirs."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state not in "ZX":
            found |= {int(path.parent.name)} | below(int(path.parent.name))
    return found


def test_others_are_served_while_a_large_file_is_counted_and_cancel_ends_its_worker(
    start_server: Callable[..., AbstractContextManager[LiveServer]],
) -> None:
    with (
        start_server() as server,
        Tab(server.url, "data", "source=upload") as tab,
        Tab(server.url, "lab", "eps=2") as other,
    ):
        tab.upload("upload_0", "places.csv", b"region\n" + b"\n".join(b"place %d" % n for n in range(3_000_000)))
        tab.run()
        tab.settle()
        tab.choose(["region"], EACH_ROW)
        idle = below(server.pid)
        tab.press("upload_count")
        assert "upload_counting_cancel" in tab.widgets and below(server.pid) > idle
        other.run()
        tab.run(part=next(iter(tab.parts)))
        assert tab.parts  # the other page is there, and this one still counts
        tab.run(tab.state("upload_counting_cancel", trigger_value=True), part=next(iter(tab.parts)))
        tab.until(lambda: any("cancelled" in text for text in tab.texts))
        eventually(lambda: below(server.pid) == idle)
        assert not tab.alerts or not any("FILE_" in alert for alert in tab.alerts)
