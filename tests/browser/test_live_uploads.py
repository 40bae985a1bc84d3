"""Uploads at the endpoint, past any page: how much a session may leave there, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import pytest
import requests

from attack.verdict import forget_peak, peak
from browsing import LiveServer, eventually
from tabs import PATIENCE, Tab

pytestmark = pytest.mark.browser

Start = Callable[..., AbstractContextManager[LiveServer]]
MEGABYTE = 1 << 20
TABLE = b"region,count\nnorth,7\nsouth,9\n"


def kept(server: LiveServer) -> tuple[int, int]:
    """How many uploaded files the server keeps, and their bytes, as its own metrics have it."""
    metrics = requests.get(f"{server.url}/_stcore/metrics", timeout=PATIENCE).text
    found = re.search(r'cache_memory_bytes\{cache_type="UploadedFileManager".*\} (\d+)', metrics)
    return int(found is not None), int(found[1]) if found else 0


def test_a_public_app_refuses_every_file_at_the_endpoint_and_no_link_takes_much_of_its_memory(
    start_server: Start,
) -> None:
    """The largest tree that a private app allows would take 640 MB for each link."""
    with start_server(env={"TREEDP_PUBLIC": "1"}) as server, ExitStack() as stack:
        tab = stack.enter_context(Tab(server.url, "data", "source=upload"))
        assert not any(key.startswith("upload_") for key in tab.widgets)
        assert [tab.put("x.csv", data) for data in (b"", TABLE, b"x" * 2 * MEGABYTE)] == [413] * 3
        assert kept(server) == (0, 0)
        forget_peak(server.pid)
        before = peak(server.pid)
        for seed in range(4):
            link = f"source=generate&gen_branching=3999999&gen_n=1000&gen_seed={seed}"
            tab = stack.enter_context(Tab(server.url, "data", link))
            assert any("TOO_MANY_NODES" in alert for alert in tab.alerts)
        assert peak(server.pid) - before < 150


def test_a_file_is_freed_once_no_page_shows_it_and_a_session_keeps_at_most_the_limit_in_all(
    start_server: Start,
) -> None:
    with (
        start_server(arguments=["--server.maxUploadSize=3"]) as server,
        Tab(server.url, "data", "source=upload") as tab,
        Tab(server.url, "data") as other,
    ):
        assert tab.upload("upload_0", "table.csv", TABLE) == 204
        tab.run()
        tab.run()
        assert kept(server) == (1, len(TABLE))
        tab.page, tab.states = "lab", {}
        tab.run()
        eventually(lambda: kept(server) == (0, 0), 60)  # the metrics themselves are some seconds old
        assert [tab.put("x.csv", b"x" * MEGABYTE) for _ in range(5)] == [204, 204, 204, 413, 413]
        assert other.put("x.csv", b"x" * 2 * MEGABYTE) == 204  # what one has taken up is no matter of another
        eventually(lambda: kept(server) == (1, 5 * MEGABYTE), 60)
