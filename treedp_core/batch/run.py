"""The program behind `treedp run`: what it is asked, how it ends."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from treedp_core.batch import sweep
from treedp_core.batch.executors import EXECUTORS, Ended
from treedp_core.batch.output import new_folder, progress, say, write
from treedp_core.checks import InputError, echo
from treedp_core.cli import NOTEBOOK, app_path
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.code import Ran
from treedp_core.notebook.data_lineage import tables_of
from treedp_core.notebook.export.program import slug
from treedp_core.notebook.file.archive import open_file
from treedp_core.notebook.study import Study
from treedp_core.records import Dataset
from treedp_core.records.exit import end
from treedp_core.registry import load_plugin
from treedp_core.views.cells.handles import handles_of
from treedp_core.views.cells.rerun import NOT_HERE, Sources, counted_sample, rerun_of
from treedp_core.words import plural

# `treedp run STUDY.treedp`: every cell of a notebook made again by its view, and compared with what it showed.


def run(asked: argparse.Namespace) -> int:
    """Make the cells of a notebook again; 0 where each shows what it showed, else 1.

    Raises
    ------
    InputError
        What cannot be used of it.
    """
    study = open_file(Path(asked.file))
    sources = sources_of(study, [Path(one) for one in asked.data])
    out = None if asked.out is None else new_folder(asked.out)
    before, (after, wrong) = study.notebook, run_again(study.notebook, sources, asked.made_by)
    if out is not None and after.cells:
        write(out, after.cells, after.title, handles_of(after.cells, sources))
    for cell in before.cells:
        same = "the same numbers" if cell.columns is not None else "made; the file has none of its numbers"
        say(f"{slug(cell.name)}: {wrong.get(cell.id, same)}")
    said = f", {len(wrong)} not as before" if wrong else ""
    say(f"{plural(len(before.cells), 'cell')} run again{said}{f', written to {out}' if out else ''}.")
    return 1 if wrong else 0


def sources_of(study: Study, files: Sequence[Path] = ()) -> Sources:
    """Return where the tables of a notebook's cells are: in its file, in `files` that it asks for, among the samples.

    Raises
    ------
    InputError
        Those of `tables_of`.
    """
    return Sources(
        sample=_samples(), own=(*study.tables, *tables_of(study.asked, files)), asked=study.asked, ranges=study.ranges
    )


def _samples() -> Callable[[str], Ran[Dataset]]:
    """What counts a sample: it comes with the app, beside this package."""
    sys.path.append(str(app_path().parent))
    count: Callable[[str], Dataset] = resolve_name("sample_data.catalogue:count_sample")

    @cache
    def sample(name: str) -> Ran[Dataset]:
        return counted_sample(count(name), count, name)

    return sample


def run_again(before: Notebook, sources: Sources, version: str) -> tuple[Notebook, dict[str, str]]:
    """Return a notebook with its cells made again, and by their ids what was not as before: such a cell may stay."""
    after, wrong = before, dict[str, str]()
    for nth, cell in enumerate(before.cells):
        say(f"{nth} of {plural(len(before.cells), 'cell')}")
        try:
            made = _made(cell, sources, version)
            after = after.put(made)
        except InputError as error:
            wrong[cell.id] = f"{str(error).rstrip('.')}{'; give them with --data' if error.code == NOT_HERE else ''}"
            continue
        if why := differs(cell, made):
            wrong[cell.id] = why
    return after, wrong


def _made(cell: Cell, sources: Sources, version: str) -> Cell:
    rerun = rerun_of(cell, sources)
    if rerun.work is None or not rerun.needs_work:
        return rerun.made(version)
    watch = progress(rerun.work.steps(), slug(cell.name))
    return rerun.made(version, rerun.work.on(rerun.tables.value)(watch=watch))


def differs(old: Cell, new: Cell) -> str:
    """Return in which way a cell that was made again is not what it was; nothing where it is.

    A simulation may have come since it was pinned: only what a cell showed is compared.
    """
    if old.columns is None:
        return ""
    if new.columns is None or set(old.columns) - set(new.columns):
        return "it has another table"
    same = all(_same(old.columns[name], new.columns[name]) for name in old.columns)
    return "" if same else "it shows other numbers"


def _same(shown: Sequence[object], now: Sequence[object]) -> bool:
    if len(shown) != len(now):
        return False
    return all(a is None or a == b or (a != a and b != b) for a, b in zip(shown, now, strict=True))


INTERRUPTED: Final = 130
"""Exit status after Ctrl+C, as of any command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when all is done, and a notebook shows what it showed; 1 when not; 2 for what cannot be used."""
    asked = _parser().parse_args(arguments)
    try:
        for package in asked.plugin:
            load_plugin(package)
        return run(asked) if asked.file.lower().endswith(NOTEBOOK) else sweep.run(asked)
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
    os.write(2, b"treedp: Stopped.\n")  # a line may just be on its way through `sys.stderr`, which takes no other then
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
