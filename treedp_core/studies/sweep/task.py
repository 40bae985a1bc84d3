"""A sweep written down as JSON, to be run elsewhere: what is tried, on which counts, and how the result is told.

::

    {
        "treedp_sweep": 1,
        "title": "Two laws",
        "data": {"made_up": "zipf", "records": 10000, "branching": "8,8", "seed": 7},
        "experiments": {"mechanism": ["laplace", "discrete_laplace"], "epsilon": [0.5, 1, 2], "trials": 100},
        "simulated": true,
        "by": "level",
    }

Data are made up; or ``{"branching": "2,2", "counts": [3, 0, 20, 7]}``, one count for each leaf; or ``{"file":
"people.csv", "columns": ["state", "city"], "weight": null, "domain": {"state": [...], "city": [...]}}``, a file beside
the script, whose categories are taken from the data where the domain is null; the order of the columns is that of the
levels, and the domain names each of them, in any order; ``"marks": {"people": ",."}`` says how counts are written,
``"left_out": {"city": ["Total", "(blank)"]}`` which rows are no records, ``"sheet": "2026"`` which sheet of a workbook
is counted, and so each option of `ReadOptions`.
Experiments have the fields of `Experiment`: each a value, or a list of values to try; every combination is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.experiment import KINDS, Experiment, grid
from treedp_core.records import Dataset, ReadOptions, count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.count.tally import LISTED_WITH_SPACES
from treedp_core.records.mock_data import generate, of_leaf_counts
from treedp_core.records.read.layout.options import OPTIONS
from treedp_core.records.strict_json import Json, members, parse

VERSION: Final = 1
MAX_BYTES: Final = 4_000_000
MAX_CELLS: Final = 100_000
By = Literal["tree", "level", "node"]
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "entry": (str,), "entries": (str,), "text": (str,), "number": (float, int), "numbers": (float, int),
    "whole": (int,),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Task:
    """A sweep that is ready to run.

    Parameters
    ----------
    title : str
    data : Dataset
    said : mapping
        How the script says to get the data.
    choices : mapping
        What is tried, as `grid` takes it.
    cells : tuple of Experiment
        Every combination.
    simulated : bool
    by : str
        Rows of the result: "tree", "level" or "node".
    made_up : tuple or None
        What `generate` takes, where the data are made up.
    """

    title: str
    data: Dataset
    said: Mapping[str, Any]
    choices: Mapping[str, Any]
    cells: tuple[Experiment, ...]
    simulated: bool
    by: By
    made_up: tuple[str, int, str, int] | None

    @property
    def is_private(self) -> bool:
        """Whether the counts are somebody's: those of a file, or written in the script."""
        return self.made_up is None


def counts_of(script: str) -> Dataset:
    """Return the data of a script in a file.

    Raises
    ------
    InputError
        As `read_task`; ``SCRIPT_FILE``.
    """
    path = Path(script)
    if not path.is_file():
        raise InputError("SCRIPT_FILE", f"There is no file {echo(path.name)}.")
    with path.open("rb") as file:
        return read_task(file.read(MAX_BYTES + 1), path.absolute().parent).data


def read_task(content: bytes, folder: Path) -> Task:
    """Return the sweep of a script; a file of records is looked for in its folder and nowhere else.

    Raises
    ------
    InputError
        ``CONFIG_…`` of `strict_json`, ``SCRIPT_VERSION``, ``SCRIPT_VALUE``, ``SCRIPT_FILE``, ``SCRIPT_CELLS``, and
        those of what makes the data.
    """
    said = parse(content, most=MAX_BYTES, what="The script")
    if not isinstance(said, dict) or said.get("treedp_sweep") != VERSION or said.get("treedp_sweep") is True:
        raise InputError("SCRIPT_VERSION", f'Expected a script with "treedp_sweep": {VERSION}.')
    told = members(
        {"title": "Sweep", "simulated": True, "by": "tree"} | said, "The script", treedp_sweep=int, title=str,
        data=dict, experiments=dict, simulated=bool, by=str,
    )  # fmt: skip
    by = cast(By, checks.one_of("by", told["by"], ("tree", "level", "node"), "SCRIPT_VALUE"))
    choices = _choices(told["experiments"])
    n_cells = int(np.prod([len(one) for one in choices.values() if isinstance(one, list)], dtype=float))
    if not 1 <= n_cells <= MAX_CELLS:
        raise InputError("SCRIPT_CELLS", f"Expected 1 to {MAX_CELLS} combinations of settings, got {n_cells}.")
    data, said, made_up = _data(told["data"], folder)
    title = " ".join(told["title"].split())[:100] or "Sweep"
    cells = tuple(grid(**choices))
    return Task(title, data, said, choices, cells, told["simulated"], by, made_up)


def _choices(said: Mapping[str, Json]) -> dict[str, Any]:
    known = [checks.one_of("a setting of the experiments", name, KINDS, "SCRIPT_VALUE") for name in said]
    return {name: _tried(name, said[name], KINDS[name]) for name in known}


def _tried(name: str, value: Json, kind: str) -> object:
    """A value, or a list of values to try, each of the type of its field."""
    is_sequence = kind in ("entries", "numbers")
    if is_sequence and isinstance(value, list) and not (value and all(isinstance(one, list) for one in value)):
        return tuple(_typed(name, one, kind) for one in value)
    if isinstance(value, list):
        return [_tried(name, one, kind) if is_sequence else _typed(name, one, kind) for one in value]
    return _typed(name, value, kind)


def _typed(name: str, value: Json, kind: str) -> object:
    if type(value) not in _KINDS[kind]:
        raise InputError("SCRIPT_VALUE", f"The script cannot have {echo(value)} as {name}.")
    return value


def _data(said: dict[str, Any], folder: Path) -> tuple[Dataset, dict[str, Any], tuple[str, int, str, int] | None]:
    """The data, how the script says to get them, and what `generate` takes where they are made up."""
    if "made_up" in said:
        told = members(said, "The data", made_up=str, records=int, branching=str, seed=int)
        made_up = (told["made_up"], told["records"], told["branching"], checks.seed(told["seed"]))
        return generate(*made_up), told, made_up
    if "counts" in said:
        told = members(said, "The data", branching=str, counts=list)
        counts = [checks.integer("a count", one, low=0, high=checks.MAX_COUNT) for one in told["counts"]]
        return of_leaf_counts(told["branching"], counts), told, None
    told = members(
        dict.fromkeys(("weight", "domain", "marks", "left_out", "derive", *OPTIONS)) | said, "The data",
        file=str, columns=list,
        **dict.fromkeys(("weight", *OPTIONS), (str, type(None))),
        **dict.fromkeys(("domain", "marks", "left_out", "derive"), (dict, type(None))),
    )  # fmt: skip
    path = folder / told["file"]
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL in it, a circle of links
        is_inside = False
    if not is_inside:
        raise InputError("SCRIPT_FILE", f"There is no file {echo(told['file'])} beside the script.")
    if not all(isinstance(one, str) for one in told["columns"]):
        raise InputError("SCRIPT_VALUE", "Expected names of columns.")
    domain = domain_taken_from_the_data() if told["domain"] is None else domain_of_values(_values(told["domain"]))
    data = count_hierarchy(path, told["columns"], domain=domain, weight=told["weight"], **reading(told))
    for code, sentence in data.report.notices:
        if code == LISTED_WITH_SPACES:  # nobody looks at what stands under "(other)" before the sweep runs
            raise InputError(code, sentence)
    return data, told, None


def reading(told: Mapping[str, Json]) -> dict[str, Any]:
    """Return what a script says of its file besides: marks of numbers, rows left out, sheet, as counting takes them."""
    marks, left_out, derive = told["marks"], told["left_out"], told["derive"]
    if isinstance(marks, dict) and not all(isinstance(one, str) for one in marks.values()):
        raise InputError("SCRIPT_VALUE", 'Expected the marks of each column as text, such as {"people": ",."}.')
    if isinstance(derive, dict) and not all(isinstance(one, str) for one in derive.values()):
        raise InputError("SCRIPT_VALUE", 'Expected each derived level as text, such as {"month": "born:time:month"}.')
    return {
        "marks": marks if isinstance(marks, dict) else None,
        "derive": derive if isinstance(derive, dict) else None,
        "left_out": _values(left_out) if isinstance(left_out, dict) else None,
        "options": ReadOptions(**{name: cast("str | None", told[name]) for name in OPTIONS}),
    }


def _values(said: Mapping[str, Json]) -> dict[str, list[str]]:
    found = {}
    for name, values in said.items():
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise InputError("SCRIPT_VALUE", f"Expected the categories of {echo(name)} as a list of texts.")
        found[name] = [str(one) for one in values]
    return found
