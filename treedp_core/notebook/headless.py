"""`treedp run SCRIPT.json`: a sweep without a browser, its progress on standard error, its results in a folder."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.checks import InputError, echo
from treedp_core.errors.metrics import METRICS
from treedp_core.experiment import Experiment, Outcome, grid, sweep
from treedp_core.figures.sweep import of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.bundle import files_of
from treedp_core.notebook.cell import NOT_REVIEWED, Cell
from treedp_core.notebook.code import call, given
from treedp_core.notebook.given import MAX_TABLE_ROWS, table_of
from treedp_core.notebook.ipynb import ipynb_of
from treedp_core.notebook.picture import drawable
from treedp_core.notebook.report import report_of
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy.origin import NOT_PRIVATE
from treedp_core.records.export.tables import csv_bytes
from treedp_core.records.made_up import generate
from treedp_core.registry import load_plugin
from treedp_core.studies.sweep.frames import columns_of
from treedp_core.studies.sweep.task import MAX_BYTES, Task, read_task
from treedp_core.watch import Watch

EXECUTORS: Final = (
    "threads:N, processes:N, dask://HOST:PORT, or PACKAGE.MODULE:NAME of an executor of concurrent.futures"
)
MAX_WORKERS: Final = 256
SAY_SECONDS: Final = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of a sweep: 0 when it is done, 2 with one sentence when something of it cannot be used."""
    asked = parser().parse_args(arguments)
    try:
        for package in asked.plugin:
            load_plugin(package)
        if asked.data:
            raise InputError("RUN_DATA", "A sweep names its own file; --data gives one to a notebook without data.")
        path = Path(asked.file)
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        task = read_task(content, path.absolute().parent)
        out = None if asked.out is None else new_folder(asked.out)
        with executor_of(asked.executor, tuple(asked.plugin)) as executor:
            found = sweep(
                task.cells, task.data.tree, task.data.counts, simulated=task.simulated, by_node=task.by == "node",
                executor=executor, watch=progress(task),
            )  # fmt: skip
        cell, whole = told(task, found, asked.made_by)
        if out is None:
            sys.stdout.write(whole.decode())
        else:
            write(out, [cell], task.title)
            if cell.columns is None:  # more rows than a notebook takes
                (out / "frame.csv").write_bytes(whole)
        say(f"{len(found)} combinations done{f', written to {out}' if out else ''}.")
    except OSError as error:
        return refused(InputError("FILE_UNREADABLE", f"{echo(asked.file)}: {error.strerror or 'not readable'}."))
    except InputError as error:
        return refused(error)
    except BrokenExecutor:
        say("A process or machine of the executor ended before its work was done; nothing was written.")
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return what reads the words after `treedp run`."""
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


def refused(error: InputError) -> int:
    """Say on standard error what is wrong, and return the exit status of what cannot be used."""
    say(str(error))
    return 2


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


def write(folder: Path, cells: Sequence[Cell], title: str) -> None:
    """Write cells as what the app exports: report, Markdown, tables, script and Jupyter notebook."""
    elsewhere = "The figures are in report.html." if any(map(drawable, cells)) else ""
    files = files_of(cells, title, why_none=elsewhere)
    files |= {"report.html": report_of(cells, title), "notebook.ipynb": ipynb_of(cells, title)}
    for name, content in files.items():
        (folder / name).write_bytes(content)


def progress(task: Task) -> Watch:
    """Return a watch that says every two seconds how far a sweep is."""
    total = sum(cell.trials for cell in task.cells)
    done, said_at = 0, time.monotonic()

    def step(n: int) -> None:
        nonlocal done, said_at
        done += n
        if time.monotonic() - said_at >= SAY_SECONDS:
            said_at = time.monotonic()
            say(f"{100 * done // max(1, total)} % of {len(task.cells)} combinations")

    return Watch(step)


@contextmanager
def executor_of(name: str, plugins: Sequence[str] = ()) -> Iterator[Executor | None]:
    """Give the executor of a name while it is used; none, where the cells run one after the other, for no name.

    Parameters
    ----------
    name : str
        ``threads:4``, ``processes:4``, ``dask://host:port``, or ``package.module:name`` of a class or function that
        returns a `concurrent.futures.Executor`.
    plugins : sequence of str
        Packages that new processes load first.

    Raises
    ------
    InputError
        ``EXECUTOR_UNKNOWN``, ``EXECUTOR_MISSING``, ``EXECUTOR_FAILED``, ``VALUE_RANGE``.
    """
    if not name:
        yield None
        return
    with ExitStack() as until_used:
        yield until_used.enter_context(_made(name, plugins, until_used))


def _made(name: str, plugins: Sequence[str], until_used: ExitStack) -> Executor:
    kind, _, rest = name.partition(":")
    if kind in ("threads", "processes"):
        n = checks.integer("workers", int(rest) if rest.isdecimal() else rest, low=1, high=MAX_WORKERS)
        if kind == "threads":
            return ThreadPoolExecutor(n)
        return ProcessPoolExecutor(n, get_context("spawn"), partial(_ready, tuple(plugins)))
    if kind == "dask" and rest.startswith("//"):
        return _of_dask(rest[2:], plugins, until_used)
    try:
        make: Callable[[], object] = resolve_name(name)
        executor = make()
    except Exception as error:
        raise InputError(
            "EXECUTOR_UNKNOWN", f"Expected an executor as {EXECUTORS}; {echo(name)} gave {type(error).__name__}."
        ) from None
    if not isinstance(executor, Executor):
        raise InputError("EXECUTOR_UNKNOWN", f"{echo(name)} is no executor of concurrent.futures.")
    return executor


def _ready(plugins: Sequence[str]) -> None:
    for package in plugins:
        load_plugin(package)


def _of_dask(address: str, plugins: Sequence[str], until_used: ExitStack) -> Executor:
    """The executor of a cluster, whose workers load the plug-ins first; its connection is closed with the others."""
    try:
        client: Callable[..., Any] = resolve_name("distributed:Client")
    except ImportError:
        raise InputError(
            "EXECUTOR_MISSING", "Dask is not installed here; install the package distributed, or name processes:N."
        ) from None
    try:
        cluster = until_used.enter_context(client(f"tcp://{address}", timeout=10))
    except (OSError, ValueError) as error:
        raise InputError(
            "EXECUTOR_FAILED", f"No Dask scheduler answers at {echo(address)} ({type(error).__name__})."
        ) from None
    if plugins:
        cluster.run(_ready, tuple(plugins))
    executor: Executor = cluster.get_executor(pure=False)  # else Dask answers a call it has seen from memory
    return executor


def _author(one: Experiment) -> str:
    """Who wrote an entry of an experiment that nobody has reviewed; nothing where all are reviewed."""
    asked = (MECHANISMS.author(one.mechanism), ALLOCATIONS.author(one.allocation), METRICS.author(one.metric),
             *map(POSTPROCESSORS.author, one.postprocess))  # fmt: skip
    return next(filter(None, asked), "")


def told(task: Task, found: Sequence[Outcome], version: str) -> tuple[Cell, bytes]:
    """Return a sweep as the cell of a notebook, its table at most as long as a notebook takes, and all of it as CSV."""
    data, names = task.data, task.data.labels.level_names
    columns = columns_of(found, by=task.by, labels=data.labels)
    n_rows = len(next(iter(columns.values())))
    known = {name: any(getattr(one, name) is not None for one in found) for name in ("formula", "simulation")}
    depends = any(one.reads_counts for one in found)
    private = depends and task.is_private
    used = bool(task.data.not_reviewed) or any(map(_author, task.cells))
    badges = [name for name, there in known.items() if there]
    badges += [NOT_PRIVATE] * private + [NOT_REVIEWED] * used
    label = f"{NOT_PRIVATE}: errors depend on the true counts." if private else ""
    one_metric = len({one.metric for one in task.cells}) == 1
    figure = json.loads(of(found, level_names=names).to_json()) if one_metric else None
    cell = Cell(
        id=hashlib.sha256(repr(task.cells).encode()).hexdigest()[:16], name=task.title, page="lab", figure=figure,
        columns=table_of(columns) if n_rows <= MAX_TABLE_ROWS else None, label=label, badges=tuple(badges),
        caption=f"{len(found)} combinations of settings on {data.tree!r}"[:400], code=_code(task),
        seed=task.cells[0].seed, version=version, made=datetime.now(UTC).isoformat(timespec="seconds"),
        holds_counts=task.is_private,
    )  # fmt: skip
    return cell, csv_bytes({**columns, **({NOT_PRIVATE: [label] * n_rows} if private else {})})


def _code(task: Task) -> str:
    """The call that repeats it, where its data are made up."""
    if task.made_up is None:
        return ""
    data = given(task.data, generate, *task.made_up).named("data")
    cells = call(grid, **task.choices).named("cells")
    found = call(
        sweep, cells, data.get("tree"), data.get("counts"), simulated=task.simulated, by_node=task.by == "node"
    )
    told = call(columns_of, found, by=task.by, labels=data.get("labels"))
    if len({one.metric for one in task.cells}) == 1:
        told = told.drawn_by(call(of, found, level_names=data.get("labels.level_names")))
    return told.snippet()


if __name__ == "__main__":
    raise SystemExit(main())
