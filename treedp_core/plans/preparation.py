"""`treedp prepare FILE PLAN.json`: count a file by a plan's recipe, and write the one form that programs read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from treedp_core.checks import InputError, echo
from treedp_core.plans.plan import open_plan
from treedp_core.plans.record_file import records_of, recount
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset, ReadOptions
from treedp_core.records.exit import end
from treedp_core.records.read.layout.options import OPTIONS
from treedp_core.records.read.text import OTHER
from treedp_core.registry import load_plugin
from treedp_core.words import plural, whole


def main(words: Sequence[str] | None = None) -> int:
    """Exit status: 0 once the file of records is written, 2 with one sentence for what cannot be used.

    What is said on standard error is exact and NOT PRIVATE, as the file is: neither is a release.
    """
    given = _parser().parse_args(words)
    try:
        for package in given.plugin:
            load_plugin(package)
        plan = open_plan(given.plan)
        data = recount(plan, Path(given.file), ReadOptions(**{name: getattr(given, name) for name in OPTIONS}))
        place = Path(given.folder) / f"{Path(given.file).stem}-prepared-{NOT_PRIVATE.replace(' ', '-')}.csv"
        _write(place, records_of(plan, data))
    except InputError as error:
        print(f"treedp: {error}", file=sys.stderr)
        return 2
    print(f"{NOT_PRIVATE}, exact counts:", *told(data), sep="\n- ", file=sys.stderr)
    print(place)
    return 0


def told(data: Dataset) -> Iterator[str]:
    """Return what became of the rows of a file, a sentence each: exact, and NOT PRIVATE."""
    report, leaves = data.report, data.tree.leaves[data.counts[data.tree.leaves] > 0]
    paths = zip(leaves.tolist(), data.labels.paths_of(leaves), strict=True)
    outside = sum(int(data.counts[leaf]) for leaf, path in paths if OTHER in path)
    yield f"{plural(report.rows, 'row')} read, {plural(report.counted, 'record')} counted."
    if report.recipe.clip:
        steps = plural(int(data.counts[0]), "step")
        yield f"Sums of {echo(report.recipe.value)}: {steps} of the grid, {whole(outside)} of them under {OTHER}."
    else:
        there = plural(outside, "record stands", "records stand")
        yield f"{there} under {OTHER}: no category or bin has a place for them."
    if report.units:
        yield f"{plural(report.clipped, 'row')} of {plural(report.units, 'unit')} left out, beyond their bound."
    yield from (sentence for _, sentence in report.notices)


def _write(place: Path, content: bytes) -> None:
    try:
        place.write_bytes(content)
    except OSError:
        raise InputError(
            "FILE_PLACE", f"The records cannot be written as {echo(str(place))}; name another --folder."
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treedp prepare",
        description="Count a file of records as a release plan says, and write what the plan's program reads: one CSV "
        "file of exact counts, NOT PRIVATE. What is said of the file is not private either.",
    )
    parser.add_argument("file", metavar="FILE", help="the records, in any form that TreeDP reads")
    parser.add_argument("plan", metavar="PLAN.json", help="the plan, as the page Release plan saves it")
    parser.add_argument("--folder", default=".", help="where to write (default: here)")
    for name, option in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar="TEXT", help=f"{option.asks}, where it is not the plan's")
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="PACKAGE", help="load an installed package that reads the file"
    )
    return parser


if __name__ == "__main__":
    end(main())
