"""The program behind `treedp run`: what it is asked, how it ends."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from treedp_core.batch import notebook, sweep
from treedp_core.batch.executors import EXECUTORS, Ended
from treedp_core.batch.output import say
from treedp_core.checks import InputError, echo
from treedp_core.cli import NOTEBOOK
from treedp_core.records.exit import end
from treedp_core.registry import load_plugin

INTERRUPTED: Final = 130
"""Exit status after Ctrl+C, as of any command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when all is done, and a notebook shows what it showed; 1 when not; 2 for what cannot be used."""
    asked = _parser().parse_args(arguments)
    try:
        for package in asked.plugin:
            load_plugin(package)
        return notebook.run(asked) if asked.file.lower().endswith(NOTEBOOK) else sweep.run(asked)
    except InputError as error:
        say(str(error))
        return 2
    except OSError as error:
        say(f"{echo(asked.file)}: {error.strerror or 'not readable'}.")
        return 2
    except Ended as error:
        say(f"A process or machine of the executor ended before its work was done ({error}); nothing was written.")
        return 1


def end_on_interrupt() -> None:
    """From now on end at Ctrl+C: with a sentence, and without waiting for what other processes still do."""
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # it cleans up behind us, and would say so
    signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> None:
    say("Stopped.")
    for process in multiprocessing.active_children():
        process.terminate()
    os._exit(INTERRUPTED)  # an executor would wait for its processes


def _parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="treedp run", description="Run a notebook or a sweep without a browser.")
    found.add_argument("file", metavar="FILE", help="a notebook (.treedp) or a sweep (.json)")
    found.add_argument("--out", metavar="DIR", help="write tables, report, script and notebook there; it must be new")
    found.add_argument("--executor", default="", metavar="NAME", help=f"what runs a sweep: {EXECUTORS}")
    found.add_argument("--plugin", action="append", default=[], metavar="PACKAGE", help="a package to load first")
    found.add_argument(
        "--data", action="append", default=[], metavar="FILE", help="a file that a notebook without data asks for"
    )
    found.add_argument("--made-by", default="0", help=argparse.SUPPRESS)
    return found


if __name__ == "__main__":
    end_on_interrupt()
    end(main())
