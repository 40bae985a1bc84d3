"""The document of what is promised, whose figures the commands write that measure them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import assurance
import attack.__main__
import audit.__main__
from attack.verdict import Verdict
from audit.parts import Whole
from audit.report import Report
from browsing import ROOT
from mutants import MUTANTS
from mutants import run as harness
from treedp_core.words import THIN

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


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Rows that commands would have written."""
    rows: list[tuple[str, str]] = []
    monkeypatch.setattr(assurance, "record", lambda command, figures: rows.append((command, figures)))
    return rows


def run(monkeypatch: pytest.MonkeyPatch, main: Callable[[], int], *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["program", *words])
    return main()


def test_the_audit_writes_what_it_found_at_its_own_seed(
    monkeypatch: pytest.MonkeyPatch, written: list[tuple[str, str]]
) -> None:
    report = Report(pairs=1234, checks=56, settings=7, wrong=["a"])
    whole = Whole({"one": (report, 1.0), "two": (Report(pairs=1), 1.0)}, ["fault a", "fault b"], ["fault c"])
    monkeypatch.setattr(audit.__main__, "run_all", lambda tell, seed: whole)
    assert run(monkeypatch, audit.__main__.main, "--seed", "2") == 1 and written == []
    assert run(monkeypatch, audit.__main__.main) == 1
    ((command, figures),) = written
    assert command == "make audit" and figures.replace(THIN, " ") == (
        "1 235 pairs of neighbours, 56 checks of 7 settings: 1 violations; 2 of 3 planted faults flagged"
    )


def test_attacks_write_what_they_saw_when_all_ran_whole(
    monkeypatch: pytest.MonkeyPatch, written: list[tuple[str, str]]
) -> None:
    attacks = {"one": lambda short: Verdict(["2 files"]), "two": lambda short: Verdict(["3 visitors"], ["it broke"])}
    monkeypatch.setattr(attack.__main__, "ATTACKS", attacks)
    assert run(monkeypatch, attack.__main__.main, "one") == 0 and run(monkeypatch, attack.__main__.main, "--short") == 1
    assert written == []
    assert run(monkeypatch, attack.__main__.main) == 1
    assert written == [("make attack", "2 attacks, 1 did harm. one: 2 files; two: 3 visitors")]


def test_planted_faults_are_counted_when_all_were_judged(
    monkeypatch: pytest.MonkeyPatch, written: list[tuple[str, str]]
) -> None:
    file = Counter(one.file for one in MUTANTS).most_common(1)[0][0]
    five = [one for one in MUTANTS if one.file == file][:5]
    verdicts = dict(zip(five, ("killed", "killed", "equivalent", "survived", "broken"), strict=True))
    monkeypatch.setenv("CI", "")  # which the command sets
    monkeypatch.setattr(harness, "MUTANTS", tuple(verdicts))
    monkeypatch.setattr(harness, "_pytest", lambda tests, mutant: (harness.PASSED, ""))
    monkeypatch.setattr(harness, "judge", lambda mutant: harness.Verdict(mutant, verdicts[mutant], 1.0))
    monkeypatch.setattr(
        harness.multiprocessing, "get_context", lambda name: SimpleNamespace(set_forkserver_preload=set)
    )
    assert run(monkeypatch, harness.main, file) == 1 and written == []
    assert run(monkeypatch, harness.main) == 1
    assert written == [("make mutants", "5 faults, 2 noticed, 1 change nothing, 2 survived")]


@pytest.mark.parametrize(("option", "figures"), [("-q", "3 tests, 1 failed"), ("--collect-only", "3")])
def test_tests_of_the_contract_are_counted_if_they_ran(option: str, figures: str, tmp_path: Path) -> None:
    """In a run of pytest of its own: two pass, one fails."""
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
    plugins = ["-p", "here", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", option, *plugins, "--rootdir", str(tmp_path)]
    path = f"{tmp_path}:{ROOT / 'tests'}"
    done = subprocess.run([*command, str(tmp_path)], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == (0 if option == "--collect-only" else 1), done.stdout + done.stderr
    assert f"| {figures} |" in document.read_text(encoding="utf-8")
