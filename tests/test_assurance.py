"""The document of what is promised, whose figures the commands write that measure them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import assurance
from browsing import ROOT

COMMANDS = ("make audit", "make mutants", "make attack", "make contract")
TABLE = """# Promises

| promise | how | measured | on | command |
|---|---|---|---|---|
| a, `make one` too | b | 1 of 2 | 2020-01-01 | `make one` |
| c | d | 3 | 2020-01-01 | `make two` |
"""


def test_a_command_writes_its_own_row_and_nothing_else() -> None:
    written = assurance.with_figures(TABLE, "make one", "2 of 2", "2021-02-03")
    assert written == TABLE.replace("| 1 of 2 | 2020-01-01 |", "| 2 of 2 | 2021-02-03 |")
    assert assurance.with_figures(written, "make one", "1 of 2", "2020-01-01") == TABLE


@pytest.mark.parametrize(("command", "figures"), [("make three", "1"), ("make one", "1 | 2"), ("make one", "1\n2")])
def test_what_has_no_row_or_would_break_it_is_refused(command: str, figures: str) -> None:
    with pytest.raises(ValueError):
        assurance.with_figures(TABLE, command, figures, "2021-02-03")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_document_has_one_row_of_every_command_that_measures(command: str) -> None:
    text = assurance.DOCUMENT.read_text(encoding="utf-8")
    assert assurance.with_figures(text, command, "none", "2021-02-03").count("| none | 2021-02-03 |") == 1
    assert re.search(rf"^{command.removeprefix('make ')}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


def test_nothing_is_written_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "assurance.md"
    document.write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(assurance, "DOCUMENT", document)
    monkeypatch.setattr(assurance, "IN_CI", True)
    assurance.record("make one", "2 of 2")
    assert document.read_text(encoding="utf-8") == TABLE
    monkeypatch.setattr(assurance, "IN_CI", False)
    assurance.record("make one", "2 of 2")
    assert "| 2 of 2 |" in document.read_text(encoding="utf-8")


def test_tests_of_the_contract_are_counted(tmp_path: Path) -> None:
    """In a run of pytest of its own: two pass, one fails, one of another mark is no part of it."""
    document = tmp_path / "assurance.md"
    document.write_text(TABLE.replace("make two", "make contract"), encoding="utf-8")
    (tmp_path / "test_few.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n):\n    assert n < 3\n",
        encoding="utf-8",
    )
    (tmp_path / "here.py").write_text(
        f"import assurance, pathlib\nassurance.DOCUMENT = pathlib.Path({str(document)!r})\nassurance.IN_CI = False\n"
        "from assurance import pytest_terminal_summary\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "here", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    path = f"{tmp_path}:{ROOT / 'tests'}"
    done = subprocess.run([*command, str(tmp_path)], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "| 3 tests, 1 failed |" in document.read_text(encoding="utf-8")
