"""What a run without a browser says, and where it writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.notebook.cell import Cell
from treedp_core.notebook.export.cell_summary import drawable
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.script import files_of
from treedp_core.notebook.export.sliders import Handle
from treedp_core.watch import Watch

SAY_SECONDS: Final = 2.0


def say(text: str) -> None:
    """Write a line on standard error."""
    print(f"treedp: {text}", file=sys.stderr, flush=True)


def new_folder(name: str) -> Path:
    """Return a folder for results, made now: one that is there already must be empty.

    Raises
    ------
    InputError
        ``OUT_PLACE``.
    """
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise InputError("OUT_PLACE", f"The folder {echo(name)} is not empty; name a new one.")
    except OSError:
        raise InputError("OUT_PLACE", f"No folder can be made as {echo(name)}.") from None
    return path


def write(
    folder: Path, cells: Sequence[Cell], title: str, handles: Mapping[str, Sequence[Handle]] | None = None
) -> None:  # fmt: skip
    """Write cells as what the app exports: report, Markdown, tables, script and Jupyter notebook."""
    elsewhere = "The figures are in report.html." if any(map(drawable, cells)) else ""
    files = files_of(cells, title, why_none=elsewhere)
    files |= {"report.html": report_of(cells, title, handles=handles), "notebook.ipynb": ipynb_of(cells, title)}
    for name, content in files.items():
        (folder / name).write_bytes(content)


def progress(total: int, of: str) -> Watch:
    """Return a watch that says every two seconds how far something is."""
    done, said_at = 0, time.monotonic()

    def step(n: int) -> None:
        nonlocal done, said_at
        done += n
        if time.monotonic() - said_at >= SAY_SECONDS:
            said_at = time.monotonic()
            say(f"{100 * done // max(1, total)} % of {of}")

    return Watch(step)
