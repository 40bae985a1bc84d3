"""`treedp run STUDY.treedp`: every cell of a notebook made again by its view, and compared with what it showed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from treedp_core.batch.output import new_folder, progress, say, write
from treedp_core.checks import InputError
from treedp_core.cli import app_path
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.code import Ran, given
from treedp_core.notebook.data_lineage import tables_of
from treedp_core.notebook.export.program import slug
from treedp_core.notebook.file.archive import open_file
from treedp_core.notebook.study import Study
from treedp_core.records import Dataset
from treedp_core.views.cells.rerun import NOT_HERE, Sources, rerun_of
from treedp_core.words import plural


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
        write(out, after.cells, after.title)
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
        return given(count(name), count, name).named("data")

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
