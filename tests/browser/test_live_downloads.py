"""Downloads between sessions: nobody is ever handed what belongs to another, and what is handed out stays there."""

from __future__ import annotations

import threading

import pytest

from browsing import LiveServer
from tabs import Tab

pytestmark = pytest.mark.browser

LEAVES, CHANGED = 90_000, 25_000


def counts_with(special: int) -> bytes:
    """A CSV file of many leaves with 5 records each, but for one of them far from its start, middle and end."""
    rows = (f"{leaf:06d},{special if leaf == CHANGED else 5}\n" for leaf in range(LEAVES))
    return ("region,count\n" + "".join(rows)).encode()


def of_the_changed_leaf(export: bytes) -> str:
    """The line of that leaf in an export."""
    lines = export.decode("utf-8-sig").splitlines()
    return next(line for line in lines if f"{CHANGED:06d}" in line.split(","))


@pytest.mark.story
def test_two_sessions_with_files_that_differ_in_one_cell_each_get_their_own_counts(server: LiveServer) -> None:
    """Streamlit names a large export by its length, start, middle and end; all of these are equal here."""
    with Tab(server.url, "data", "source=upload") as one, Tab(server.url, "data", "source=upload") as two:
        one.count("same.csv", counts_with(7), ["region"], "count")
        two.count("same.csv", counts_with(9), ["region"], "count")
        addresses = [tab.download_address("tree_0_csv") for tab in (one, two)]
        exports = [tab.fetch(address).content for tab, address in zip((one, two), addresses, strict=True)]
        assert len(exports[0]) > 1 << 20
        assert addresses[0] != addresses[1]
        assert [of_the_changed_leaf(export).rpartition(",")[2] for export in exports] == ["7", "9"]
        one.press("upload_replace")
        one.count("same.csv", counts_with(8), ["region"], "count", nth=1)
        corrected = one.fetch(one.download_address("tree_0_csv")).content
        assert of_the_changed_leaf(corrected).endswith(",8")


def table_of(tab: Tab) -> str:
    """The key of the button that saves the table of the tree."""
    return next(key for key in tab.widgets if key.startswith("tree_") and key.endswith("_csv"))


def test_the_name_a_reader_saves_says_nothing_of_the_session(server: LiveServer) -> None:
    with Tab(server.url, "data") as tab:
        key = table_of(tab)
        addresses = {tab.download_address(key)}
        answer = tab.fetch(*addresses)
        name = f"treedp-NOT-PRIVATE-data-and-tree-{key.removeprefix('tree_').removesuffix('_csv')}.csv"
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["Content-Type"].startswith("text/csv")
        tab.run()
        assert tab.download_address(key) not in addresses  # nor does the content give the address away


def test_a_file_waits_for_a_slow_browser(server: LiveServer) -> None:
    """Every run of anybody's page sweeps files that no page refers to: two of them took a download away before."""
    with Tab(server.url, "data") as mine, Tab(server.url) as other:
        key = table_of(mine)
        address = mine.download_address(key)
        for _ in range(4):
            other.run()
        assert mine.fetch(address).status_code == 200


def test_many_downloads_while_others_work(server: LiveServer, every: bool) -> None:
    n = 200 if every else 40
    with Tab(server.url, "data") as mine, Tab(server.url) as other:
        key = table_of(mine)
        stop = threading.Event()
        busy = threading.Thread(target=lambda: [other.run() for _ in iter(stop.is_set, True)])
        busy.start()
        try:
            answers = []
            for i in range(n):
                answers.append(mine.fetch(mine.download_address(key)).status_code)
                if i % 20 == 19:
                    mine.run()
        finally:
            stop.set()
            busy.join()
        assert answers == [200] * n
