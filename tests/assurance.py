"""The figures of docs/assurance.md: a command that measured some writes them into its row, with the day.

As a plug-in of pytest (``-p assurance``, of `make contract`) it writes how many tests of the contract passed.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

DOCUMENT: Final = Path(__file__).resolve().parent.parent / "docs" / "assurance.md"
IN_CI: Final = os.environ.get("CI", "").lower() == "true"
WHOLE: Final = (0, 1)
"""Exit statuses of pytest where tests ran to the end."""


def with_figures(text: str, command: str, figures: str, day: str) -> str:
    """Return a document whose row of a command has other figures and another day.

    Raises
    ------
    ValueError
        If there is not exactly one row of this command, or the figures would not stay in their cell.
    """
    if "|" in figures or "\n" in figures:
        raise ValueError(f"no cell of a table: {figures!r}")
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if line.endswith(f"| `{command}` |")]
    if len(places) != 1:
        raise ValueError(f"{len(places)} rows of {command!r}")
    promise, how, *_ = lines[places[0]].strip("| ").split(" | ")
    lines[places[0]] = f"| {promise} | {how} | {figures} | {day} | `{command}` |"
    return "\n".join(lines)


def record(command: str, figures: str) -> None:
    """Write what a command measured into its row, but not in CI, where nobody commits it."""
    if IN_CI:
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    day = datetime.now(UTC).date().isoformat()
    DOCUMENT.write_text(with_figures(text, command, figures, day), encoding="utf-8")
    print(f"Written to docs/{DOCUMENT.name}: {figures}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Write how many tests passed and failed, if all of them ran."""
    counts = {kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "failed", "error")}
    failed = counts["failed"] + counts["error"]
    if exitstatus in WHOLE and (n := counts["passed"] + failed):
        record("make contract", f"{n} tests, {failed} failed")
