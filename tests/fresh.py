"""Programs of the app's own: run in a fresh interpreter, or, where that is shown elsewhere, in this process."""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

Done = subprocess.CompletedProcess[str]


def fresh(folder: Path, *words: str) -> Done:
    """A program of a folder in an interpreter of its own."""
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)


def here(folder: Path, *words: str) -> Done:
    """The same in this process, whose modules are loaded: a hundredth of the time."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(folder), mock.patch.object(sys, "argv", list(words)),
        contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
    ):  # fmt: skip
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            err.write(f"{end.code}\n" if isinstance(end.code, str) else "")
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
