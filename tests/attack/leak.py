"""Uploads that come and go: memory stays flat over many rounds, and goes back by the clock once nobody is there."""

from __future__ import annotations

import time

from browsing import live_server
from tabs import Tab

from .verdict import Verdict, memory, memory_at_rest

ALLOWED_GROWTH = 1.10  # of the memory after the warm-up rounds
LEFT_OVER_MB = 40.0


def leak(short: bool) -> Verdict:
    """Upload, count and leave, again and again; then wait without any connection at all."""
    rounds, warm, megabytes = (4, 2, 2) if short else (30, 10, 20)
    verdict = Verdict()
    with live_server(env={"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "5"}) as server:
        with Tab(server.url, "data"):
            pass
        idle = memory_at_rest(server.pid)
        after = []
        for i in range(rounds):
            with Tab(server.url, "data", "source=upload") as tab:
                tab.count(f"round{i}.csv", _records(megabytes, i), ["region", "town"], "people")
                verdict.hold(tab.key("tree_0") != "", f"round {i} shows no tree: {tab.alerts + tab.exceptions}")
            after.append(memory(server.pid))
        grown = after[-1] / after[warm - 1]
        verdict.tell(f"{rounds} rounds of {megabytes} MB: {idle:.0f} MB idle, ×{grown:.2f} after round {warm}")
        verdict.hold(grown <= ALLOWED_GROWTH, f"memory grew ×{grown:.2f} over {rounds - warm} rounds")
        left, waited = after[-1], 0.0
        began = time.monotonic()
        while left > idle + LEFT_OVER_MB and (waited := time.monotonic() - began) < 180:
            time.sleep(1)
            left = memory(server.pid)
        verdict.tell(f"{waited:.0f} s after the last tab, with nobody connected: {left:.0f} MB")
        verdict.hold(left <= idle + LEFT_OVER_MB, f"{left - idle:.0f} MB were still held after {waited:.0f} s")
    return verdict


def _records(megabytes: int, round_: int) -> bytes:
    """A CSV file of about so many megabytes, other counts each round."""
    lines = megabytes * 2**20 // 20
    rows = (f"r{i % 50:02d},t{i % 20_000:06d},{(i + round_) % 97}\n" for i in range(lines))
    return ("region,town,people\n" + "".join(rows)).encode()
