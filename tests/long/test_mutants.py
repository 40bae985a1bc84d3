"""The list of planted faults that `make mutants` judges: it must not rot, and the judge must be awake."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest

from browsing import ROOT
from mutants import MUTANTS, Mutant
from mutants import run as harness


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@cache
def shape_of(source: str) -> str:
    return ast.dump(ast.parse(source))


def test_the_list_is_long_enough_and_names_no_fault_twice() -> None:
    assert len(MUTANTS) >= 120
    assert len({(one.file, one.original, one.mutated) for one in MUTANTS}) == len(MUTANTS)
    assert sum(bool(one.equivalent) for one in MUTANTS) <= 0.02 * len(MUTANTS)


@pytest.mark.parametrize("file", sorted({one.file for one in MUTANTS}))
def test_every_fault_still_applies_and_is_one(file: str) -> None:
    for one in (one for one in MUTANTS if one.file == file):
        assert shape_of(one.source()) != shape_of(one.path.read_text(encoding="utf-8")), one.original


def test_a_text_that_is_gone_or_not_unique_is_refused() -> None:
    for text in ("no such text", "import"):
        with pytest.raises(ValueError, match="expected once"):
            replace(MUTANTS[0], original=text).source()


@pytest.mark.parametrize("file", sorted({one.test.partition("::")[0] for one in MUTANTS}))
def test_every_named_test_exists(file: str) -> None:
    for one in (one for one in MUTANTS if one.test.partition("::")[0] == file):
        assert one.test.partition("::")[2].partition("[")[0] in names_in(file), one


def verdict(word: str, equivalent: str = "") -> harness.Verdict:
    return harness.Verdict(Mutant("privacy.py", "a", "b", "why", "core/test_privacy.py::test_x", equivalent), word, 1.0)


@pytest.mark.parametrize(
    ("others", "code"),
    [
        ([], 0),
        ([verdict("equivalent", "because")], 0),
        ([verdict("equivalent", "because")] * 3, 1),  # 97 of 100 killed
        ([verdict("survived")], 1),
        ([verdict("broken")], 1),
        ([verdict("killed", "said to be equivalent")], 1),
    ],
)
def test_the_report_fails_below_98_per_cent_and_for_a_wrong_list(others: list[harness.Verdict], code: int) -> None:
    assert harness.report([verdict("killed")] * (100 - len(others)) + others, 1.0) == code


def test_a_planted_fault_is_noticed_and_one_in_words_only_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "START", "spawn")  # another test may have started a server with the core in it
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # nor is a page that was opened run there
    down = Mutant(
        "words.py",
        "return -float_above(-exact)",
        "return float_above(exact)",
        "",
        "core/test_privacy.py::test_rounding_to_nearest_would_overspend",
    )
    words = replace(down, original="How numbers are written", mutated="How numbers get written")
    found = [harness.judge(one) for one in (down, words)]
    assert [one.word for one in found] == ["killed", "survived"], [one.output for one in found]
    assert harness.judge(replace(down, test="core/test_privacy.py::test_no_such")).word == "broken"
