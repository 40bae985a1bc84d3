"""Notebooks through the page's own uploader: each hostile one is refused, nothing is lost, and nobody else sees any."""

from __future__ import annotations

from itertools import islice

from browsing import live_server
from hostile_notebooks import HOSTILE, sound
from tabs import Tab
from test_release_plans import HOSTILE as PLANS

from .verdict import Verdict, forget_peak, memory, memory_at_rest

GROWTH_MB = 400.0
"""More memory at the peak, the file itself and its unpacked members included."""
SECRET = "survey.csv"
"""A name that only the notebook of one session has."""


def notebooks(short: bool) -> Verdict:
    """Open every hostile notebook and plan in one session: what is there stays, and another session sees none of it."""
    verdict, largest, n = Verdict(), 0.0, 0
    with live_server() as server, Tab(server.url, "notebook") as mine, Tab(server.url, "notebook") as other:
        memory_at_rest(server.pid)
        opened(mine, sound())
        verdict.hold(said(mine, "Errors"), f"a sound notebook was not opened: {mine.alerts}")
        for name, (make, code) in islice(HOSTILE.items(), 0, None, 9 if short else 1):
            content = make()
            forget_peak(server.pid)
            before = memory(server.pid)
            mine.forget_what_was_said()
            offer(mine, content)
            grown = memory(server.pid, peak=True) - before
            largest, n = max(largest, grown), n + 1
            verdict.hold(grown <= GROWTH_MB, f"{name}: the server grew by {grown:.0f} MB")
            verdict.hold(any(code in alert for alert in mine.alerts), f"{name}: expected {code}, got {mine.alerts}")
            verdict.hold(not mine.exceptions, f"{name}: {mine.exceptions[:1]}")
            verdict.hold(not is_empty(mine), f"{name}: what was open is gone")
        n += plans(verdict, server.url, 6 if short else 1)
        other.forget_what_was_said()
        other.run()
        verdict.hold(not said(other, SECRET) and not said(other, "Errors"), "another session sees the notebook")
        verdict.hold(is_empty(other), "another session has cells")
    verdict.tell(f"{n} files: at most {largest:.0f} MB more memory; 2 sessions, nothing of one in the other")
    return verdict


def offer(tab: Tab, content: bytes) -> None:
    """Give a file to the uploader of notebooks, as a browser does, and wait for what the page says of it."""
    tab.keep("page_notebook", bool_value=True)
    tab.run()
    tab.upload(tab.key("page_open_"), "file.treedp", content)
    tab.run()
    tab.settle()


def opened(tab: Tab, content: bytes) -> None:
    """Open a notebook in place of what is there."""
    offer(tab, content)
    tab.press("page_open_it")
    tab.settle()


def plans(verdict: Verdict, url: str, step: int) -> int:
    """Open every hostile plan; how many there were."""
    chosen = list(islice(PLANS.items(), 0, None, step))
    with Tab(url, "plan") as tab:
        for name, (content, code) in chosen:
            tab.forget_what_was_said()
            tab.upload("plan_file", "plan.json", content if isinstance(content, bytes) else content.encode())
            tab.run()
            verdict.hold(any(code in alert for alert in tab.alerts), f"plan, {name}: expected {code}, got {tab.alerts}")
            verdict.hold(not tab.exceptions, f"plan, {name}: {tab.exceptions[:1]}")
    return len(chosen)


def is_empty(tab: Tab) -> bool:
    """Whether the last runs said that the notebook has no cells."""
    return any("Nothing is pinned" in alert for alert in tab.alerts)


def said(tab: Tab, word: str) -> bool:
    """Whether a fresh look at the page shows a word."""
    texts = [*tab.texts, *(str(one) for one in tab.widgets.values())]
    return any(word in text for text in texts)
