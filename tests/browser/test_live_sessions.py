"""Sessions apart: what one sends touches no other, and what one had is gone soon after its last tab."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from browsing import ROOT, LiveServer
from tabs import Tab

pytestmark = pytest.mark.browser

Start = Callable[..., AbstractContextManager[LiveServer]]
TREE = "source=generate&gen_branching={factors}&gen_n={records}"
LONG = TREE.format(factors="16,16,16", records=1_000_000) + "&lab_trials=30000"
TABLE = b"region,count\nnorth,7\nsouth,9\n"
WATCHED = Path(__file__).with_name("watched_server.py")


def done(tab: Tab) -> int:
    """How many runs of its simulation the page says are done."""
    said = [text for text in tab.texts if " runs" in text and " of " in text]
    return int(re.sub(r"\D", "", said[-1].partition(" of ")[0])) if said else 0


def test_no_message_of_another_session_stops_a_simulation(server: LiveServer) -> None:
    with Tab(server.url, "lab", LONG) as mine, Tab(server.url) as other:
        mine.press("lab_run")
        mine.until(lambda: done(mine) > 0)
        before = done(mine)
        message = BackMsg()
        message.clear_cache = True
        other.send(message)
        other.run()
        mine.forget_what_was_said()
        mine.run()  # the page says anew whether it has a running simulation
        mine.until(lambda: done(mine) > before)
        mine.press("lab_epsilon_cancel")


def test_counts_are_gone_once_a_table_cannot_be_put_back_and_by_the_clock_when_nobody_is_connected(
    start_server: Start, tmp_path: Path
) -> None:
    told = tmp_path / "alive"
    arguments = ["--server.disconnectedSessionTTL=4"]
    program = [str(WATCHED), str(told)]
    with start_server(program=program, arguments=arguments, env={"PYTHONPATH": str(ROOT)}) as server:
        with Tab(server.url, "data", "source=upload") as tab:
            tab.count("table.csv", TABLE, ["region"], "count")
            becomes(told, "2 of 2")
            tab.press("upload_remove")
            assert any("table.csv` was removed" in text for text in tab.texts)
            becomes(told, "0 of 2")  # once it cannot be put back
        with Tab(server.url, "data", "source=upload") as tab:
            tab.count("table.csv", TABLE, ["region"], "count")
            tab.fetch(tab.download_address("tree_0_csv"))
            becomes(told, "2 of 4")
        becomes(told, "0 of 4")  # nobody asks the server for anything meanwhile


def becomes(file: Path, text: str) -> None:
    """Wait until a file holds a text."""
    deadline = time.monotonic() + 60
    while file.read_text() != text:
        assert time.monotonic() < deadline, file.read_text()
        time.sleep(0.1)


def test_a_tab_that_returns_in_time_finds_its_counts(server: LiveServer) -> None:
    with Tab(server.url, "data", "source=upload") as tab:
        tab.count("table.csv", TABLE, ["region"], "count")
        first = tab.session_id
    tab.connect(as_session=first)
    tab.forget_what_was_said()
    tab.run()
    assert tab.session_id == first
    assert any("16 records" in text for text in tab.texts)
    tab.close()


def strip_of(tab: Tab) -> str:
    """The line below the title that names what the figures were made from."""
    told = [text.replace("\u00a0", " ") for text in tab.texts[::-1]]
    return next(text for text in told if " levels · " in text and "ε = " in text)


def test_a_setting_moved_away_from_the_link_outlives_a_restart(server: LiveServer, start_server: Start) -> None:
    """A browser returns to a new server with the same link and the values its widgets had."""
    strips = []
    with Tab(server.url, "lab", "eps=2&seed=3") as tab:
        tab.keep("eps", string_array_value=["2.5"])
        tab.run()
        strips += [strip_of(tab)]
        tab.close()
        with start_server() as second:
            tab.url = second.url
            tab.connect()
            for _ in range(3):
                tab.forget_what_was_said()
                tab.run()
                strips += [strip_of(tab)]
            tab.close()
    assert ["ε = 2.5" in strip for strip in strips] == [True] * 4, strips
    assert len(set(strips)) == 1


def test_a_short_simulation_does_not_wait_for_long_ones_of_others(server: LiveServer) -> None:
    """Three others simulate for minutes; with one queue, first come first served, the short one would wait for them."""
    with ExitStack() as stack:
        others = [stack.enter_context(Tab(server.url, "lab", f"{LONG}&seed={seed}")) for seed in range(3)]
        for other in others:
            other.press("lab_run")
        short = TREE.format(factors="4,4", records=1_000) + "&lab_trials=100"
        mine = stack.enter_context(Tab(server.url, "lab", short))
        mine.press("lab_run")
        mine.until(lambda: any("simulated releases" in text for text in mine.texts))
        for other in others:
            other.forget_what_was_said()
            other.run()
            assert other.parts, "the long simulations go on"
            other.press("lab_epsilon_cancel")


BAD = [
    ("eps", {"int_value": 7}),  # a slider, to which no single number belongs
    ("nbr", {"bool_value": True}),
    ("lab_run", {"string_value": "x"}),
    ("level", {"bool_value": True}),
    ("seed", {"string_value": "x"}),
]


def test_the_run_after_a_value_of_the_wrong_type_is_clean(server: LiveServer) -> None:
    found = {}
    for key, value in BAD:
        with Tab(server.url, "lab", "level=Advanced") as tab:
            tab.forget_what_was_said()
            tab.run(tab.state(key, **value))
            uncaught = list(tab.exceptions)
            tab.forget_what_was_said()
            tab.run()
            found[key] = uncaught, tab.exceptions, [alert for alert in tab.alerts if "went wrong" in alert]
            assert "ε = 1" in strip_of(tab), key
    assert found == {key: ([], [], []) for key, _ in BAD}


def test_the_log_has_no_session_id_and_one_line_without_values_of_what_streamlit_meets(
    start_server: Start, tmp_path: Path
) -> None:
    """Whoever knows the id of a session may take it over; Streamlit logs it when a second browser does."""
    log = tmp_path / "log"
    with start_server(log=log) as server, Tab(server.url, "lab", "level=Advanced") as tab:
        tab.run(tab.state("seed", string_value="a secret"))
        second = Tab(server.url)
        second.connect(as_session=tab.session_id)
        second.run()
        assert second.session_id == tab.session_id
        second.close()
    text = log.read_text()
    assert "Reconnecting to existing session" in text
    lines = [line for line in text.splitlines() if "Uncaught app execution" in line]
    assert len(lines) == 1 and " at /" in lines[0]
    assert not any(word in text for word in (tab.session_id, "Traceback", "secret"))
