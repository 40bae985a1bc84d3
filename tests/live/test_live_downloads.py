"""Downloads between sessions: nobody is ever handed what belongs to another, and what is handed out stays there."""

from __future__ import annotations

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
        one.press("replace_upload")
        one.count("same.csv", counts_with(8), ["region"], "count", nth=1)
        corrected = one.fetch(one.download_address("tree_0_csv")).content
        assert of_the_changed_leaf(corrected).endswith(",8")


def test_the_name_a_reader_saves_says_nothing_of_the_session(server: LiveServer) -> None:
    with Tab(server.url, "data") as tab:
        key = next(key for key in tab.widgets if key.startswith("tree_") and key.endswith("_csv"))
        addresses = {tab.download_address(key)}
        answer = tab.fetch(*addresses)
        assert (
            answer.headers["Content-Disposition"] == f'attachment; filename="treedp-{key[:-4].replace("_", "-")}.csv"'
        )
        assert answer.headers["Content-Type"].startswith("text/csv")
        tab.run()
        assert tab.download_address(key) not in addresses  # nor does the content give the address away
