"""Notebooks through the page's own uploader: each hostile one is refused, nothing is lost, and nobody else sees any."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from browsing import live_server
from hostile_notebooks import HOSTILE, sound
from tabs import Tab

from .verdict import Verdict, forget_peak, memory_at_rest, peak

SWEEP = b'{"treedp_sweep": 1, "title": "../../escaped", "data": %s, "experiments": %s, "by": "level"}'
MADE = b'{"made_up": "zipf", "records": 100, "branching": "2,2", "seed": 1}'
RUNS = (
    ("a folder that is full", SWEEP % (MADE, b'{"epsilon": [1, 2]}'), ("--out", "full")),
    ("a link to a full folder", SWEEP % (MADE, b'{"epsilon": [1, 2]}'), ("--out", "link")),
    ("a folder below a file", SWEEP % (MADE, b'{"epsilon": [1, 2]}'), ("--out", "full/mine.txt/new")),
    ("a file elsewhere", SWEEP % (b'{"file": "../full/mine.txt", "columns": ["a"]}', b'{"epsilon": 1}'), ()),
    ("a link to a file elsewhere", SWEEP % (b'{"file": "people.csv", "columns": ["a"]}', b'{"epsilon": 1}'), ()),
    ("a tree too large", SWEEP % (b'{"made_up": "zipf", "records": 9, "branching": "9^30", "seed": 1}', b"{}"), ()),
    ("too many combinations", SWEEP % (MADE, b'{"seed": [%s]}' % b",".join([b"1"] * 100_001)), ()),
    ("a law that is code", SWEEP % (MADE, b'{"mechanism": "os:abort"}'), ()),
    ("a plug-in that is no package", SWEEP % (MADE, b'{"epsilon": 1}'), ("--plugin", "../full/mine.txt")),
    ("an executor that is code", SWEEP % (MADE, b'{"epsilon": 1}'), ("--executor", "os:getcwd")),
    ("a nest of lists", b"[" * 100_000, ()),
    ("no notebook", b"PK no notebook at all", ("--out", "full")),
    ("a notebook of no zip", b"PK\x03\x04" + bytes(1_000), ("--data", "full/mine.txt")),
)
"""What `treedp run` is given: what it is about, the file, and more words."""
GROWTH_MB = 400.0
"""More memory at the peak, the file itself and its unpacked members included."""
SECRET = "survey.csv"
"""A name that only the notebook of one session has."""


def notebooks(short: bool) -> Verdict:
    """Open every hostile notebook and plan in one session: what is there stays, and another session sees none of it."""
    verdict, largest, n = Verdict(), 0.0, 0
    with live_server() as server, Tab(server.url, "notebook") as mine, Tab(server.url, "notebook") as other:
        memory_at_rest(server.pid)
        offer(mine, sound())
        verdict.hold(said(mine, "Errors"), f"a sound notebook was not opened: {mine.alerts}")
        for name, (make, code) in islice(HOSTILE.items(), 0, None, 18 if short else 1):
            content = make()
            forget_peak(server.pid)
            before = peak(server.pid)
            mine.forget_what_was_said()
            offer(mine, content)
            grown = peak(server.pid) - before
            largest, n = max(largest, grown), n + 1
            verdict.hold(grown <= GROWTH_MB, f"{name}: the server grew by {grown:.0f} MB")
            verdict.hold(any(code in alert for alert in mine.alerts), f"{name}: expected {code}, got {mine.alerts}")
            verdict.hold(not mine.exceptions, f"{name}: {mine.exceptions[:1]}")
            verdict.hold(not is_empty(mine), f"{name}: what was open is gone")
        n += plans(verdict, server.url, 12 if short else 1)
        other.forget_what_was_said()
        other.run()
        verdict.hold(not said(other, SECRET) and not said(other, "Errors"), "another session sees the notebook")
        verdict.hold(is_empty(other), "another session has cells")
    n += runs(verdict, 7 if short else 1)
    verdict.tell(f"{n} files: at most {largest:.0f} MB more memory; 2 sessions, nothing of one in the other")
    return verdict


def runs(verdict: Verdict, step: int) -> int:
    """Give `treedp run` hostile scripts, studies and folders; how many there were.

    Each ends with status 2, or 1 where nothing of it could be made, and one sentence; nothing is written but in the
    folder that was named.
    """
    with TemporaryDirectory() as name:
        here = Path(name)
        (here / "work").mkdir()
        (here / "full").mkdir()
        (here / "full" / "mine.txt").write_text("mine")
        (here / "link").symlink_to(here / "full")
        (here / "work" / "people.csv").symlink_to("/etc/hostname")
        before = _listed(here)
        for nth, (what, content, words) in list(enumerate(RUNS))[::step]:
            script = here / "work" / (f"{nth}.treedp" if content.startswith(b"PK") else f"{nth}.json")
            script.write_bytes(content)
            command = [sys.executable, "-m", "treedp_core", "run", str(script), *words]
            done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, timeout=300)
            script.unlink()
            said = done.stderr.strip().splitlines()
            verdict.hold(done.returncode in (1, 2), f"run, {what}: status {done.returncode}")
            verdict.hold(len(said) == 1 and "Traceback" not in done.stderr, f"run, {what}: {done.stderr[-300:]}")
            verdict.hold(_listed(here) == before, f"run, {what}: wrote {sorted(_listed(here) - before)[:3]}")
        return len(RUNS[::step])


def _listed(folder: Path) -> set[str]:
    """Every file below a folder, but what a run made in the new folder that it was told."""
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file() and "new" not in one.parts}


def offer(tab: Tab, content: bytes) -> None:
    """Give a file to the uploader of notebooks, as a browser does, and wait for what the page says of it."""
    tab.keep("page_notebook", bool_value=True)
    tab.run()
    tab.upload(tab.key("page_open_"), "file.treedp", content)
    tab.run()
    tab.settle()


def plans(verdict: Verdict, url: str, step: int) -> int:
    """Open every hostile plan; how many there were."""
    from test_release_plans import HOSTILE as PLANS  # works all plans out as it is loaded

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
