"""`treedp run SCRIPT.json`: a sweep, its results in a folder or on standard output."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from treedp_core.allocation import ALLOCATIONS
from treedp_core.batch.executors import executor_of
from treedp_core.batch.output import new_folder, progress, say, write
from treedp_core.checks import InputError
from treedp_core.errors.metrics import METRICS
from treedp_core.experiment import Experiment, Outcome, grid, sweep
from treedp_core.figures.sweep import of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.cell import NOT_REVIEWED, SWEEP, Cell
from treedp_core.notebook.code import File, Ran, call, given
from treedp_core.notebook.file.drawing import Drawing
from treedp_core.notebook.study import checked, note_of, visible
from treedp_core.notebook.validators import MAX_TABLE_ROWS, table_of
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset, DomainSource, count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.export.tables import csv_bytes
from treedp_core.records.mock_data import generate
from treedp_core.studies.sweep.frames import columns_of
from treedp_core.studies.sweep.task import MAX_BYTES, Task, counts_of, read_task, reading
from treedp_core.words import plural, setting_text

_SHOWN: Final = 20
"""Values of a setting that a report lists."""


def run(asked: argparse.Namespace) -> int:
    """Run a sweep; its table goes to a folder, or to standard output.

    Raises
    ------
    InputError
        What cannot be used of it.
    Ended
        When its executor has.
    """
    if asked.data:
        raise InputError("RUN_DATA", "A sweep names its own file; --data gives one to a notebook without data.")
    path = Path(asked.file)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    task = read_task(content, path.absolute().parent)
    for sentence in _of_reading(task.data):
        say(f"{NOT_PRIVATE}: {sentence}")
    out = None if asked.out is None else new_folder(asked.out)
    found = _swept(task, asked.executor, asked.plugin)
    cell, whole = told(task, found, asked.made_by, path.name)
    if out is None:
        sys.stdout.buffer.write(whole.removeprefix(BOM_UTF8))  # the mark is for Excel, which opens files
    else:
        write(out, [cell], task.title)
        if cell.columns is None:  # more rows than a notebook takes
            (out / "frame.csv").write_bytes(whole)
    say(f"{len(found)} combinations done{f', written to {out}' if out else ''}.")
    return 0


def _swept(task: Task, executor: str, plugins: Sequence[str]) -> list[Outcome]:
    """What a sweep finds where the named executor runs it."""
    with executor_of(executor, tuple(plugins)) as runs:
        return sweep(
            task.cells, task.data.tree, task.data.counts, simulated=task.simulated, by_node=task.by == "node",
            executor=runs,
            watch=progress(sum(cell.trials for cell in task.cells), f"{len(task.cells)} combinations"),
        )  # fmt: skip


def _of_reading(data: Dataset) -> list[str]:
    """What a person should know of how a file was read; it tells of single records."""
    taken = data.domain_source is DomainSource.FROM_DATA and data.source_digest
    which = ["The categories are taken from the data: list them in the script, as public ones."] if taken else []
    return which + [visible(sentence) for _, sentence in data.report.notices]


def _author(one: Experiment) -> str:
    """Who wrote an entry of an experiment that nobody has reviewed; nothing where all are reviewed."""
    asked = (MECHANISMS.author(one.mechanism), ALLOCATIONS.author(one.allocation), METRICS.author(one.metric),
             *map(POSTPROCESSORS.author, one.postprocess))  # fmt: skip
    return next(filter(None, asked), "")


def told(task: Task, found: Sequence[Outcome], version: str, script: str) -> tuple[Cell, bytes]:
    """Return a sweep as the cell of a notebook, its table at most as long as a notebook takes, and all of it as CSV."""
    data, names, how = task.data, task.data.labels.level_names, _how(task, script)
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
    caption = f"{plural(len(found), 'combination')} of settings. {repr(data.tree)[1:-1]}."
    cell = Cell(
        id=hashlib.sha256(repr(task.cells).encode()).hexdigest()[:16], name=task.title, page=SWEEP,
        figure=Drawing.of(json.loads(of(found, level_names=names).to_json())) if one_metric else None,
        columns=table_of(columns) if n_rows <= MAX_TABLE_ROWS else None, label=label, badges=tuple(badges),
        caption=caption, alt=f"{task.title}: {caption}", code=_code(task, how), settings=_settings(task),
        about=" · ".join([visible(data.name), *_of_reading(data)]),
        data=note_of(data, None) if task.is_private else None,
        seed=task.cells[0].seed, version=version, made=datetime.now(UTC).isoformat(timespec="seconds"),
        holds_counts=task.is_private,
    )  # fmt: skip
    return cell, csv_bytes({**columns, **({NOT_PRIVATE: [label] * n_rows} if private else {})})


def _settings(task: Task) -> dict[str, tuple[str, ...]]:
    """What was tried: of a long list the first and the last."""
    tried = {name: values if isinstance(values, list) else [values] for name, values in task.choices.items()}
    long = {name: values for name, values in tried.items() if len(values) > _SHOWN}
    tried |= {name: [values[0], "…", values[-1]] for name, values in long.items()}
    return {name: tuple(map(_in_words, values)) for name, values in tried.items()}


def _in_words(value: object) -> str:
    if isinstance(value, tuple):
        return " → ".join(map(_in_words, value)) or "none"
    return setting_text(value) if isinstance(value, float) else str(value)


def _how(task: Task, script: str) -> Ran[Dataset]:
    """The call that gives its data again: made up, or from a file, and then checked to be the same."""
    said, data = task.said, task.data
    if task.made_up is not None:
        return given(data, generate, *task.made_up).named("data")
    if "file" not in said:  # counts are never in code
        return checked(given(data, counts_of, File(script, "SCRIPT")))
    lists = said["domain"]
    domain = call(domain_taken_from_the_data) if lists is None else call(domain_of_values, lists)
    file, columns = File(said["file"]), list(said["columns"])
    how: dict[str, Any] = {name: one for name, one in reading(said).items() if one}
    ran = given(data, count_hierarchy, file, columns, domain=domain.named("domain"), weight=said["weight"], **how)
    return checked(ran)


def _code(task: Task, data: Ran[Dataset]) -> str:
    """The calls that repeat it."""
    cells = call(grid, **task.choices).named("cells")
    found = call(
        sweep, cells, data.get("tree"), data.get("counts"), simulated=task.simulated, by_node=task.by == "node"
    )
    told = call(columns_of, found, by=task.by, labels=data.get("labels"))
    if len({one.metric for one in task.cells}) == 1:
        told = told.drawn_by(call(of, found, level_names=data.get("labels.level_names")))
    return told.snippet()
