"""Small files that unpack to much, through the page: each is counted or refused in words, soon and at little cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from browsing import LiveServer, live_server
from hostile_files import Hostile, hostile_files, too_much_for_one_process
from tabs import Tab

from .verdict import Verdict, forget_peak, memory_at_rest, peak, worked

GROWTH_MB = 150.0
SECONDS = 2.0
"""Of the processor, beyond what a harmless file takes: by the clock, other jobs would count."""
COLUMN = {"label": "region", "weight": "region", "bins": "n"}
LONG = {file.name for file in too_much_for_one_process()}
"""Files that are counted, with progress: however long that takes, it holds up nobody."""
EACH_ROW = "Each row is one record"
HARMLESS = Hostile("harmless", lambda: b"region,n\n" + b"N,1\n" * 100, "weight", "counted")


def files(short: bool) -> Verdict:
    """Upload and count every hostile file in a session of its own."""
    verdict = Verdict()
    slowest, largest, n = 0.0, 0.0, 0
    with live_server() as server:
        memory_at_rest(server.pid)
        usual = min(_seconds(server, HARMLESS)[0] for _ in range(3))
        for file in islice(_corpus(), 0, None, 10 if short else 1):
            forget_peak(server.pid)
            before = peak(server.pid)
            seconds, said = _seconds(server, file)
            grown = peak(server.pid) - before
            slowest = max(slowest, 0.0 if file.name in LONG else seconds - usual)
            largest, n = max(largest, grown), n + 1
            verdict.hold(grown <= GROWTH_MB, f"{file.name} ({file.use}): the server grew by {grown:.0f} MB")
            is_soon = short or file.name in LONG or seconds - usual <= SECONDS
            verdict.hold(is_soon, f"{file.name} ({file.use}): {seconds - usual:.1f} s")
            refused = file.outcome == "counted" or any(file.outcome in alert for alert in said)
            verdict.hold(refused, f"{file.name} ({file.use}): expected {file.outcome}, the page says {said}")
    verdict.tell(f"{n} files: at most {largest:.0f} MB more memory, {slowest:.1f} s more work than a harmless file")
    return verdict


def _corpus() -> Iterator[Hostile]:
    """The files whose use the page offers; each is made as it is sent."""
    return (file for file in chain(too_much_for_one_process(), hostile_files()) if file.use in COLUMN)


def _seconds(server: LiveServer, file: Hostile) -> tuple[float, list[str]]:
    """Seconds of the processor from the upload to the last answer, and the alerts of the page."""
    data = file.make()
    ending = "parquet" if data.startswith(b"PAR1") else "csv.gz" if data.startswith(b"\x1f\x8b") else "csv"
    with Tab(server.url, "data", "source=upload") as tab:
        began = worked(server.pid)
        tab.upload("upload_0", f"file.{ending}", data)
        tab.run()
        tab.settle()
        if file.use == "bins":
            tab.keep(tab.key("upload_kind"), string_array_value=["One numeric column, in bins"])
            tab.run()
            tab.keep(tab.key("upload_numeric"), string_value=COLUMN[file.use])
            tab.run()
            tab.settle()
            tab.forget_what_was_said()
            tab.press("upload_count")
            tab.settle()
        elif "upload_count" in tab.widgets:  # else it is refused at first sight
            tab.choose([COLUMN[file.use]], "n" if file.use == "weight" else EACH_ROW)
            tab.press("upload_count")
            tab.settle()
        return worked(server.pid) - began, tab.alerts + tab.exceptions
