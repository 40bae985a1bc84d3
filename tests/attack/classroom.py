"""A class that moves through the lesson at once: how long a step takes beside one student alone, and every error."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from browsing import ClassServer, class_server
from tabs import Tab, admitted
from treedp_core.studies.lesson import STEPS, Step

from .load import Times, clock
from .verdict import Verdict, memory, quantile

THINKING = (1.0, 5.0)
"""Seconds between what one student does; a real class takes minutes."""
STUDENTS = 30
SLOWER = 8.0
"""What a step of one of thirty may take at the 95th percentile, in times of one alone."""


def classroom(short: bool) -> Verdict:
    """Let a class guess at all steps while its teacher reveals one after the other; any error is harm."""
    verdict = Verdict()
    alone = 0.0
    for n in (1, 3) if short else (1, STUDENTS):
        with class_server() as server:
            times, errors = _lesson(server, n, STEPS[:1] if short else STEPS)
            p50, p95 = quantile(times["step"], 0.5), quantile(times["step"], 0.95)
            alone = alone or p50
            held = memory(server.pid)
        verdict.tell(
            f"{n} in class: a step p50 {p50:.2f} s ×{p50 / alone:.1f}, p95 {p95:.2f} s ×{p95 / alone:.1f}; the lesson "
            f"opened in {quantile(times['opened'], 0.95):.1f} s; {held:.0f} MB; {len(errors)} errors"
        )
        verdict.hold(not errors, f"a class of {n} met {len(errors)} errors, such as {errors[:1]}")
        verdict.hold(short or p95 <= SLOWER * alone, f"a step of {n} takes ×{p95 / alone:.1f} that of one alone")
    return verdict


def _lesson(server: ClassServer, n: int, steps: tuple[Step, ...]) -> tuple[Times, list[str]]:
    times: Times = defaultdict(list)
    errors: list[str] = []
    with ThreadPoolExecutor(n + 1) as people:
        visits = [people.submit(_student, server, number, steps, times, errors) for number in range(n)]
        visits.append(people.submit(_teacher, server, n, steps, errors))
        for visit in visits:
            visit.result()
    return times, errors


def _student(server: ClassServer, number: int, steps: tuple[Step, ...], times: Times, errors: list[str]) -> None:
    """Guess at every step, wait until it is revealed, and go on."""
    thinks = random.Random(number)
    try:
        with clock(times["opened"]):
            tab = Tab(server.url, "lesson", cookie=admitted(server.url, server.word)).__enter__()
        with tab.open:
            for step in steps:
                _think(tab, thinks.uniform(*THINKING))
                asked = step.predict
                guess = thinks.choice([asked.answer, *(one.value for one in asked.wrong)])
                tab.keep(f"les_in_{step.name}", string_value=f"{guess:.4g}")
                with clock(times["step"]):
                    tab.press(f"les_in_{step.name}_go")
                tab.until(lambda: not tab.parts, within=300)
                _think(tab, thinks.uniform(*THINKING))
                with clock(times["step"]):
                    tab.press("les_next")
            errors.extend(tab.exceptions + [alert for alert in tab.alerts if "went wrong" in alert])
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}"[:200])


def _think(tab: Tab, seconds: float) -> None:
    """Sit still; parts of the page that refresh themselves go on."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, *tab.parts.values()) if tab.parts else left)
        for part in list(tab.parts) if time.monotonic() < until else ():
            tab.run(part=part)


def _teacher(server: ClassServer, n: int, steps: tuple[Step, ...], errors: list[str]) -> None:
    """Reveal each step once all have guessed."""
    secret = server.teacher.partition("=")[2]
    try:
        with Tab(server.url, "lesson", cookie=admitted(server.url, secret, "teacher")) as tab:
            for step in steps:
                tab.until(lambda: any(f"**{n} guess" in text for text in tab.texts), within=300)
                tab.press("les_show")
                tab.forget_what_was_said()
                tab.press("les_next")
                if step is not steps[-1]:
                    tab.run()
            errors.extend(tab.exceptions)
    except Exception as error:
        errors.append(f"{type(error).__name__}: {error}"[:200])
