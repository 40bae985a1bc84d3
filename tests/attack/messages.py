"""What one session sends against another's work: a cleared cache, long simulations before a short one."""

from __future__ import annotations

import time
from contextlib import ExitStack

from streamlit.proto.BackMsg_pb2 import BackMsg

from browsing import live_server
from tabs import Tab

from .verdict import Verdict

LONG = "source=generate&gen_branching=64,64,4&gen_n=1000000&lab_trials=4000"
SHORT = "source=generate&gen_branching=8,8,8&gen_n=100000&lab_trials=400"
FAIR = 10.0  # times its own time, and so many seconds on top
SECONDS = 5.0


def clear_cache(short: bool) -> Verdict:
    """A stranger asks the server to clear its caches while a simulation runs: it must go on."""
    verdict = Verdict()
    with live_server() as server, Tab(server.url, "lab", LONG) as victim, Tab(server.url, "lab") as stranger:
        _start(victim)
        victim.until(lambda: _runs(victim) > 0)
        message = BackMsg()
        message.clear_cache = True
        stranger.send(message)
        stranger.run()
        before = _runs(victim)
        victim.until(lambda: _runs(victim) > before or not victim.parts)
        verdict.hold(bool(victim.parts), "a stranger's message ended a running simulation")
        verdict.tell(f"went on from {before:,} to {_runs(victim):,} runs")
        victim.press("lab_epsilon_cancel")
    return verdict


def starve(short: bool) -> Verdict:
    """Three long simulations of others, then a short one: it ends within ten times its own time and five seconds."""
    verdict = Verdict()
    with live_server() as server, ExitStack() as tabs:
        alone = _time_of(tabs.enter_context(Tab(server.url, "lab", SHORT + "&seed=1")))
        greedy = [tabs.enter_context(Tab(server.url, "lab", f"{LONG}&seed={i}")) for i in range(3)]
        for tab in greedy:
            _start(tab)
        behind = _time_of(tabs.enter_context(Tab(server.url, "lab", SHORT + "&seed=2")))
        for tab in greedy:
            tab.press("lab_epsilon_cancel")
        verdict.tell(f"a simulation behind three long ones takes ×{behind / alone:.1f} its time alone")
        verdict.hold(behind <= FAIR * alone + SECONDS, f"{behind:.1f} s behind others, {alone:.1f} s alone")
    return verdict


def _start(tab: Tab) -> None:
    tab.forget_what_was_said()
    tab.press("lab_run")


def _time_of(tab: Tab) -> float:
    began = time.perf_counter()
    _start(tab)
    tab.until(lambda: not tab.parts, within=300)
    return time.perf_counter() - began


def _runs(tab: Tab) -> int:
    """Runs done, as the page's progress says it last; -1 before it said so."""
    said = next((text for text in reversed(tab.texts) if " of " in text and " runs" in text), "-1 of")
    return int("".join(c for c in said.partition(" of ")[0] if c.isdigit() or c == "-"))
