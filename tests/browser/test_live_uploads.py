"""Uploads at the endpoint, past any page: how much a session may leave there, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import requests

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


def test_a_public_app_refuses_every_file_at_the_endpoint(start_server: Start) -> None:
    with start_server(env={"TREEDP_PUBLIC": "1"}) as server, Tab(server.url, "data", "source=upload") as tab:
        assert not any(key.startswith("upload_") for key in tab.widgets)
        assert [tab.put("x.csv", data) for data in (b"", TABLE, b"x" * MEGABYTE)] == [413] * 3
        assert kept(server) == (0, 0)


def test_a_session_keeps_at_most_the_limit_in_all(start_server: Start) -> None:
    with (
        start_server(arguments=["--server.maxUploadSize=3"]) as server,
        Tab(server.url, "data") as tab,
        Tab(server.url, "data") as other,
    ):
        assert [tab.put("x.csv", b"x" * MEGABYTE) for _ in range(5)] == [204, 204, 204, 413, 413]
        assert other.put("x.csv", b"x" * 2 * MEGABYTE) == 204  # what one has taken up is no matter of another
        assert kept(server) == (1, 5 * MEGABYTE)


def test_a_file_is_freed_once_no_page_shows_it(start_server: Start) -> None:
    with start_server() as server, Tab(server.url, "data", "source=upload") as tab:
        assert tab.upload("upload_0", "table.csv", TABLE) == 204
        tab.run()
        tab.run()
        assert kept(server) == (1, len(TABLE))
        tab.page, tab.states = "lab", {}
        tab.run()
        eventually(lambda: kept(server) == (0, 0), 60)  # the metrics themselves are some seconds old
