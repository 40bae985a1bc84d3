"""The harness of `make bench`: what it prints and when it fails."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from browsing import ROOT

_SPEC = importlib.util.spec_from_file_location("benchmark_run", ROOT / "tests" / "benchmarks" / "run.py")
assert _SPEC is not None and _SPEC.loader is not None
harness: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["benchmark_run"] = harness
_SPEC.loader.exec_module(harness)


def module(*rows: object, **extra: object) -> Any:
    return SimpleNamespace(__name__="bench_x", rows=lambda quick: rows, **extra)


def run(*modules: Any, only: str | None = None) -> int:
    return int(harness.report(harness.measure(loaders(*modules), False, only)))


def loaders(*modules: Any) -> list[Any]:
    return [lambda module=module: module for module in modules]


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ([("1a", "counts", 0.1, 0.1, "")], 0, "holds"),
        ([("1a", "counts", 0.05, 0.1, ""), ("1b", "file", 0.71, 0.7, "")], 1, "falls short"),
        ([("1a", "counts", float("nan"), 0.1, "")], 1, "falls short"),
        ([("1a", "counts", None, 0.1, "polars")], 0, "missing peer: polars"),
        ([("11", "sweep", 99.0, None, "")], 0, "reported"),
    ],
)
def test_a_row_fails_the_run_where_its_ratio_is_above_its_target(
    rows: list[Any], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(module(*rows)) == code
    assert said in capsys.readouterr().out


def test_a_row_may_leave_its_id_to_its_name() -> None:
    assert harness.as_row(("1a in memory", 0.05, 0.1, "quick")).id == "1a"


def test_only_one_row_and_no_work_for_the_others() -> None:
    def never(quick: bool) -> None:
        raise AssertionError("This module measures other rows.")

    other = SimpleNamespace(__name__="bench_other", rows=never, IDS=("3b",))
    shown = list(harness.measure(loaders(module(("1a", "a", 1, 2, ""), ("1b", "b", 1, 2, "")), other), False, "1b"))
    assert [row.id for row in shown] == ["1b"]


def test_a_benchmark_that_breaks_off_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(quick: bool) -> None:
        raise ValueError("no data")

    assert run(SimpleNamespace(__name__="bench_broken", rows=broken)) == 1
    assert "no data" in capsys.readouterr().out


def test_a_benchmark_that_cannot_be_loaded_fails_the_run_and_spares_the_others() -> None:
    def missing() -> Any:
        raise ModuleNotFoundError("polars")

    shown = list(harness.measure([missing, *loaders(module(("1a", "a", 1, 2, "")))], False, None))
    assert "polars" in shown[0]
    assert shown[1].verdict == "holds"
    assert harness.report(shown) == 1


def test_nothing_measured_is_no_success() -> None:
    assert run() == 1
