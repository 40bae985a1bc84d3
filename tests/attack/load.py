"""N visitors at once: how long page, slider and simulation take, as ratios to one visitor, and every error."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from browsing import live_server
from tabs import Tab

from .verdict import Verdict, memory, quantile

QUERY = "source=generate&gen_branching=8,8,8&gen_n=100000&lab_trials=100"
THINKING = 1.0
Times = dict[str, list[float]]


def load(short: bool) -> Verdict:
    """Let groups of visitors come at once; any error or refusal of an honest visitor is harm."""
    verdict = Verdict()
    alone: dict[str, float] = {}
    with live_server() as server:
        for n in (1, 4) if short else (1, 10, 40):
            times, errors = _visits(server.url, n)
            alone = alone or {what: quantile(values, 0.5) for what, values in times.items()}
            told = (
                f"{what} ×{quantile(values, 0.5) / alone[what]:.1f} (p95 ×{quantile(values, 0.95) / alone[what]:.1f})"
                for what, values in times.items()
            )
            verdict.tell(f"{n} visitors: {', '.join(told)}; {memory(server.pid):.0f} MB; {len(errors)} errors")
            verdict.hold(not errors, f"{n} visitors met {len(errors)} errors, such as {errors[:1]}")
    return verdict


def _visits(url: str, n: int) -> tuple[Times, list[str]]:
    times: Times = defaultdict(list)
    errors: list[str] = []
    with ThreadPoolExecutor(n) as people:
        for visit in [people.submit(_visit, url, times, errors) for _ in range(n)]:
            visit.result()
    return times, errors


def _visit(url: str, times: Times, errors: list[str]) -> None:
    """Open the Error lab, move ε three times, run a simulation, and leave."""
    try:
        with clock(times["page"]):
            tab = Tab(url, "lab", QUERY).__enter__()
        with tab.open:
            for epsilon in ("0.5", "2", "3"):
                tab.keep(tab.key("eps"), string_array_value=[epsilon])
                with clock(times["ε moved"]):
                    tab.run()
                time.sleep(THINKING)
            with clock(times["simulation"]):
                tab.forget_what_was_said()
                tab.press("lab_run")
                tab.until(lambda: not tab.parts, within=300)
            errors.extend(tab.exceptions + [alert for alert in tab.alerts if "went wrong" in alert])
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}"[:200])


@contextmanager
def clock(into: list[float]) -> Iterator[None]:
    """Note how long something takes."""
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)
