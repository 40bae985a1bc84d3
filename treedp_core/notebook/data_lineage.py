"""What a result was made from: which of the user's data sets its call reaches, and whether counts may be in it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.notebook.code import File, Part, Ran
from treedp_core.notebook.study import Asked, Table
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset, HeldColumns, count_hierarchy, domain_taken_from_the_data
from treedp_core.records.dataset import unchanged


def own_data(ran: Ran[object] | Part[object] | None, own: Collection[Dataset]) -> Dataset | None:
    """Return the first of the user's data sets that a call works on; several are named in order of what matters."""
    reached = {id(one) for one in _values(ran)} if own else set()
    return next((data for data in own if id(data) in reached), None)


def may_hold_counts(
    ran: Ran[object] | Part[object] | None,
    own: Collection[Dataset],
    *said: str,
    label: str = "",
    public: Collection[Dataset] = (),
) -> bool:
    """Return whether a result may depend on true counts of the user's data, as far as its call tells.

    Only a call that reaches none of the data sets, and all of whose arguments are plain (numbers, words, settings) or
    `public` data sets, is known not to. `said` is what stands beside the result: with a public data set "NOT PRIVATE"
    there is of that, but never in its `label`.

    >>> from treedp_core.notebook.code import call
    >>> may_hold_counts(call(max, 3, 5), []), may_hold_counts(call(sum, np.array([1, 2])), [])
    (False, True)
    """
    if ran is None or NOT_PRIVATE in label or own_data(ran, own) is not None:
        return True
    known = {id(data) for data in public}
    values = list(_values(ran))
    if any(NOT_PRIVATE in text for text in said) and not any(id(one) in known for one in values):
        return True
    return any(isinstance(one, (np.ndarray, Dataset, _Strange)) and id(one) not in known for one in values)


class _Strange:
    """Something of which nothing is known."""


def _values(ran: object) -> Iterator[object]:
    """Everything that a call is made of, each once."""
    waiting, seen = [ran], set[int]()
    kept: list[object] = []  # an id stands for one thing only as long as that is there
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kept.append(one)
        yield one
        inside = _inside(one)
        if inside is None:
            yield _Strange()
        else:
            waiting += inside


def _inside(one: object) -> list[object] | None:
    """What a thing consists of; None where that is not known."""
    if isinstance(one, Ran):
        given = one.__dict__.get("value")
        known = [given] if isinstance(given, Dataset) else []
        is_bare = not one.args and not one.kwargs and "value" in one.__dict__ and not isinstance(one.function, type)
        return None if is_bare and not known else [*one.args, *one.kwargs.values(), *known]
    if isinstance(one, Part):
        return [one.of]
    if one is None or isinstance(
        one, (bool, int, float, str, range, Enum, Fraction, File, np.generic, np.ndarray, Dataset)
    ):
        return []
    if isinstance(one, Mapping):
        return [*one.keys(), *one.values()]
    if isinstance(one, (list, tuple, set, frozenset)):
        return list(one)
    if is_dataclass(one) and not isinstance(one, type):
        return [getattr(one, field.name) for field in fields(one)]
    return [] if callable(one) else None


# ---- files that a notebook without data asks for, given again: counted as they were, and taken where they are the same


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
