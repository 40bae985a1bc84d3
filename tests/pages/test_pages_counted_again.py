"""The code for an uploaded file repeats the count that ran, options and all, where the file lies under its name."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract_snippets import last_value
from pages.ui.tables.upload_slot import Candidate, Table
from treedp_core.checks import InputError
from treedp_core.notebook.code import File, Ran, call
from treedp_core.notebook.study import checked, counted_again
from treedp_core.records import (
    Dataset,
    ReadOptions,
    count_bins,
    count_hierarchy,
    domain_of_values,
    domain_taken_from_the_data,
    inspect,
)
from treedp_core.watch import Watch

TEXT = "who;region;city;age;n\na;North;Kiel;3;2\na;North;Ulm;12;5\nb;South;Rome;99;1\nc;South;;7;4\nc;South;;7;4\n"
OPTIONS = ReadOptions("latin-1", ";")
DOMAIN = call(domain_of_values, {"region": ["North", "South"], "city": ["Kiel", "Ulm", "Rome", "(blank)"]})
ASKED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "weights": (count_hierarchy, ["region", "city"], {"weight": "n", "missing": "category"}),
    "units": (count_hierarchy, ["region", "city"], {"unit": "who", "contributions": 1, "missing": "category"}),
    "bins": (count_bins, "age", {"lower": 0.0, "upper": 20.0, "n_bins": 4, "branching": (2, 2), "weight": "n",
                                 "outside": "clamp"}),
    "own bins": (count_bins, "age", {"edges": [0.0, 4.5, 12.0, 100.0], "weight": "n", "outside": "other"}),
}  # fmt: skip


HOSTILE = ['"""+__import__("os").system("touch pwned")+"""', "évil\\", "#'] ; {x} = 1", "DATA = 'x'"]


def counted(kind: str) -> Ran[Dataset]:
    """The call that counts people.csv, with the check that it still is the same file."""
    function, column, how = ASKED[kind]
    domain: dict[str, Ran[Any]] = {"domain": DOMAIN.named("domain")} if function is count_hierarchy else {}
    file = Candidate(io.BytesIO(TEXT.encode()), "people.csv", "upload")
    reading = Table(file, inspect(file.origin, options=OPTIONS), OPTIONS).counted(function, column, **domain, **how)
    return checked(reading.ran.giving(reading.work(watch=Watch())))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where code runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", ASKED)
def test_the_code_counts_the_file_as_it_was_counted(kind: str, folder: Path) -> None:
    ran = counted(kind)
    (folder / "people.csv").write_text(TEXT)
    assert [*last_value(call(tuple, ran.get("counts")).snippet())] == ran.value.counts.tolist()


def test_the_code_asks_for_the_file_in_one_line_and_never_has_what_is_in_it(folder: Path) -> None:
    code = call(tuple, counted("weights").get("counts")).snippet()
    assert code.count("people.csv") == 1
    assert not {"a;North", "b;South", "South;Rome"} & set(code.splitlines())
    (folder / "elsewhere.csv").write_text(TEXT)
    assert last_value(code.replace("DATA = 'people.csv'", "DATA = 'elsewhere.csv'"))


def test_the_code_stops_where_the_file_is_another_by_now(folder: Path) -> None:
    (folder / "people.csv").write_text(TEXT.replace("99;1", "99;2"))
    with pytest.raises(InputError, match="another file, or its records have changed"):
        last_value(call(tuple, counted("weights").get("counts")).snippet())


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_columns_and_files_are_text_in_code(name: str, folder: Path) -> None:
    text = 'x,"' + name.replace('"', '""') + '"\n1,North\n2,South\n'
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    column = inspect(path).columns[1]
    assert column == name
    data = count_hierarchy(path, [column], domain=domain_taken_from_the_data())
    hostile = replace(data, name=name)
    code = call(tuple, counted_again(hostile, None).get("counts")).snippet()
    (folder / "copy.csv").write_text(text, encoding="utf-8")
    assert [*last_value(code.replace(f"DATA = {name!r}", "DATA = 'copy.csv'"))] == data.counts.tolist()
    assert not (folder / "pwned").exists()


def test_two_files_in_one_program_have_a_line_each() -> None:
    code = call(tuple, (File("a.csv"), File("b.csv"), File("a.csv"), File("c.csv", "PRIOR"))).snippet()
    assert code.splitlines()[:3] == [
        "DATA = 'a.csv'  # where the file lies", "DATA_2 = 'b.csv'  # where the file lies",
        "PRIOR = 'c.csv'  # where the file lies",
    ]  # fmt: skip
    assert code.endswith("tuple((DATA, DATA_2, DATA, PRIOR))")
