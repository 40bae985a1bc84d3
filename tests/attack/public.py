"""A public app: files past the page, and the most expensive link a stranger can send."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from browsing import live_server
from tabs import Tab

from .verdict import Verdict, forget_peak, memory, memory_at_rest, peak

PUBLIC = {"TREEDP_PUBLIC": "1"}
UPLOAD_MB = 10.0
LINK_MB = 400.0


def uploads(short: bool) -> Verdict:
    """Files sent straight to the upload address, with the session's own id and token, are refused."""
    verdict = Verdict()
    megabytes = 2 if short else 60
    with live_server(env=PUBLIC) as server, Tab(server.url, "data", "source=upload") as tab:
        before = memory_at_rest(server.pid)
        answers = [tab.put("x.csv", b"secret,1\n" * (megabytes * 111_111)) for _ in range(3)]
        grown = memory(server.pid) - before
    verdict.tell(f"3 files of {megabytes} MB: answers {sorted(set(answers))}, {grown:+.0f} MB")
    verdict.hold(all(400 <= answer < 500 for answer in answers), f"a public app answered uploads with {answers}")
    verdict.hold(grown <= UPLOAD_MB, f"refused uploads left {grown:.0f} MB")
    return verdict


def links(short: bool) -> Verdict:
    """Several sessions open the most expensive link at once: memory stays below a ceiling, and each gets an answer."""
    verdict = Verdict()
    visitors = 2 if short else 6
    queries = [f"source=generate&gen_branching=3999999&gen_seed={i}" for i in range(visitors)]
    with live_server(env=PUBLIC) as server:
        with Tab(server.url, "data"):
            memory_at_rest(server.pid)
        forget_peak(server.pid)
        idle = peak(server.pid)
        with ThreadPoolExecutor(visitors) as people:
            trouble = [found for visit in people.map(lambda q: _visit(server.url, q), queries) for found in visit]
        most = peak(server.pid)
    verdict.tell(f"{visitors} sessions with the largest link: {idle:.0f} MB idle, {most:.0f} MB at the peak")
    verdict.hold(not trouble, f"the largest link met {trouble[:1]}")
    verdict.hold(most <= idle + LINK_MB, f"links alone took {most - idle:.0f} MB")
    return verdict


def _visit(url: str, query: str) -> list[str]:
    with Tab(url, "data", query) as tab:
        return tab.exceptions + [alert for alert in tab.alerts if "went wrong" in alert]
