"""Files that a notebook without data asks for, given again: counted as they were, and taken where they are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from treedp_core.checks import InputError, echo
from treedp_core.notebook.code import File, Ran
from treedp_core.notebook.study import Asked, Table
from treedp_core.records import Dataset, HeldColumns, count_hierarchy, domain_taken_from_the_data
from treedp_core.records.dataset import unchanged

RECORDS: Final = ("DATA", "PRIOR")
"""What recipes call the file of records; any other file of one lists categories, and is known by its name."""


def tables_of(asked: Sequence[Asked], files: Sequence[Path]) -> list[Table]:
    """Return the data sets that are asked for and that these files have, counted as the notebook says.

    Parameters
    ----------
    asked : sequence of Asked
    files : sequence of Path
        Records, known by the SHA-256 of their bytes, and files that list categories, known by their names.

    Raises
    ------
    InputError
        ``DATA_OTHER`` for a file that nobody asks for, ``DATA_CHANGED`` where the same file gives other counts,
        ``FILE_MISSING``, and those of reading it.
    """
    digests = {path: _digest(path) for path in files}
    by_name = {path.name: path for path in files}
    found, used = [], set[Path]()
    for one in asked:
        path = next((path for path, digest in digests.items() if digest == one.note.source_digest), None)
        if path is not None:
            how = _run(one.how, path, by_name) if one.how is not None else _as_noted(one, path)
            used |= {path, *_listed(one.how, by_name)}
            found.append(Table(one.slot, unchanged(how.value, one.note.fingerprint), how, datetime.now(UTC)))
    for path in files:
        if path not in used:
            names = "; ".join(f"{echo(one.note.name)}, SHA-256 {one.note.source_digest[:12]} …" for one in asked[:3])
            raise InputError(
                "DATA_OTHER",
                f"{echo(path.name)}, SHA-256 {digests[path][:12]} …, is none of the files that the notebook asks for: "
                f"{names or 'it asks for none'}.",
            )
    return found


def recounted(asked: Sequence[Asked], columns: HeldColumns) -> list[Table]:
    """Return the data sets that are asked for and that one file has, counted from its columns in memory.

    One that needs more than these columns, as a list of categories in another file, is left out.
    """
    found = []
    for one in asked:
        if one.how is not None and one.note.source_digest == columns.source_digest:
            try:
                how, same = _run(one.how, columns, {}), one.note
                data = replace(unchanged(how.value, same.fingerprint), name=same.name)
            except InputError:
                continue
            found.append(Table(one.slot, data, how.giving(data), datetime.now(UTC)))
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        raise InputError("FILE_MISSING", f"There is no file {echo(path.name)} that can be read.") from None


def _run(how: Ran[Any], path: Path | HeldColumns, by_name: Mapping[str, Path]) -> Ran[Dataset]:
    """A call of a recipe with its value: its functions are those of `recipe.FUNCTIONS`, its arguments plain."""

    def given(one: object) -> object:
        if isinstance(one, Ran):
            return one.function(*map(given, one.args), **{key: given(value) for key, value in one.kwargs.items()})
        if not isinstance(one, File):
            return one
        file = path if one.name in RECORDS else by_name.get(Path(one.path).name)
        if file is None:
            raise InputError("DATA_OTHER", f"The categories were listed in {echo(Path(one.path).name)}: give it, too.")
        return file

    data = given(how)
    assert isinstance(data, Dataset)
    return how.giving(data)


def _listed(how: Ran[Any] | None, by_name: Mapping[str, Path]) -> list[Path]:
    """Files of categories that a recipe names."""
    if how is None:
        return []
    parts = [*how.args, *how.kwargs.values()]
    mine = [by_name.get(Path(one.path).name) for one in parts if isinstance(one, File) and one.name not in RECORDS]
    return [one for one in mine if one] + [
        path for one in parts if isinstance(one, Ran) for path in _listed(one, by_name)
    ]


def _as_noted(one: Asked, path: Path) -> Ran[Dataset]:
    """What a file of an older format tells: the columns and the weights, not which categories were listed."""
    columns, weight = list(one.note.levels), one.note.weight or None
    domain = Ran(domain_taken_from_the_data, name="domain")
    data = count_hierarchy(path, columns, domain=domain_taken_from_the_data(), weight=weight, name=one.note.name)
    return Ran(count_hierarchy, (File(path.name), columns), {"domain": domain, "weight": weight}).giving(data)
