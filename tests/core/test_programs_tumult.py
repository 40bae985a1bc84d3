"""The program for Tumult Analytics, whole, on stand-ins for Spark and Tumult without noise: what it asks them for."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from test_handover import COUNTED
from test_preparation import counts_by_labels
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan, records_of, tumult_program

Row = tuple[Any, ...]


class Frame:
    """Rows, each of which stands for as many as its last cell says."""

    def __init__(self, rows: list[list[Any]]) -> None:
        self.held: Counter[Row] = Counter()
        for *labels, n in rows:
            assert 0 < n <= 1_000_000, "Spark makes no longer sequences"
            self.held[tuple(labels)] += n

    def withColumn(self, *_: object) -> Frame:
        return self

    select = withColumn


class Tumult:
    """A session that counts without noise, and notes what it was asked to protect and to spend."""

    def __init__(self) -> None:
        self.change: object = None
        self.budgets: list[object] = []

    def from_dataframe(self, budget: object, _: str, frame: Frame, *, protected_change: object) -> Tumult:
        self.frame, self.change, self.total = frame, protected_change, budget
        return self

    def evaluate(self, keys: list[Row], budget: object) -> SimpleNamespace:
        self.budgets.append(budget)
        found = [(*key, sum(n for row, n in self.frame.held.items() if row[: len(key)] == key)) for key in keys]
        return SimpleNamespace(collect=lambda: found[::-1])  # in any order

    def modules(self) -> dict[str, ModuleType]:
        """What the program imports."""
        spark = SimpleNamespace(createDataFrame=lambda rows, _: Frame(rows))
        builder = SimpleNamespace(config=lambda **_: SimpleNamespace(getOrCreate=lambda: spark))
        grouped = SimpleNamespace(groupby=lambda keys: SimpleNamespace(count=lambda **_: keys))
        nothing: dict[str, Any] = dict.fromkeys(
            ("col", "explode", "lit", "sequence", "LongType", "StringType", "StructField", "StructType"),
            lambda *_: [],
        )
        told: dict[str, Any] = {
            "AddMaxRows": lambda n: n, "AddOneRow": lambda: 1, "CountMechanism": mock.MagicMock(), "Session": self,
            "KeySet": SimpleNamespace(from_tuples=lambda keys, **_: keys), "QueryBuilder": lambda _: grouped,
            "PureDPBudget": lambda e: ("epsilon", e), "RhoZCDPBudget": lambda r: ("rho", r),
        }  # fmt: skip
        parts: dict[str, dict[str, Any]] = {
            "pyspark": {}, "pyspark.sql": {"SparkSession": SimpleNamespace(builder=builder)},
            "pyspark.sql.functions": nothing, "pyspark.sql.types": nothing, "tmlt": {}, "tmlt.analytics": told,
        }  # fmt: skip
        found = {name: ModuleType(name) for name in parts}
        for name, values in parts.items():
            vars(found[name]).update(values)
        return found


def run(plan: ReleasePlan, content: bytes, folder: Path) -> tuple[Tumult, list[list[str]]]:
    """The program of a plan, run to its end: what it asked for, and the rows that it wrote."""
    (folder / "records.csv").write_bytes(content)
    asked, words = Tumult(), ["release.py", str(folder / "records.csv"), str(folder / "out.csv")]
    with mock.patch.dict(sys.modules, asked.modules()), mock.patch.object(sys, "argv", words):
        exec(compile(tumult_program(plan), "release.py", "exec"), {"__name__": "__main__"})
    with open(folder / "out.csv", encoding="utf-8", newline="") as file:
        return asked, list(csv.reader(file))


@pytest.mark.parametrize("name", ["values 0 category", "paths 1 other", "paths 2 category", "weights", "units"])
def test_the_program_for_tumult_counts_what_the_app_did(name: str, tmp_path: Path) -> None:
    data = COUNTED[name]
    plan = ReleasePlan.of(Experiment(relation="add_or_remove_one", contributions=2), data)
    asked, (header, *rows) = run(plan, records_of(plan, data), tmp_path)
    assert header == ["level", "race", "sex", "released"]
    found = {tuple(row[1:-1]): int(row[-1]) for row in rows}
    leaves = {path: found[path] for path in counts_by_labels(data, 2)}
    assert leaves == counts_by_labels(data, 2)
    assert found[("", "")] == data.total
    assert asked.change == 2
    assert asked.budgets == [("epsilon", one.amount) for one in plan.levels]


def test_the_program_for_tumult_replaces_by_two_rows_and_finishes_what_it_measured(tmp_path: Path) -> None:
    data = COUNTED["bins other (2, 5)"]
    steps = ("least_squares", "top_down_water_filling")
    plan = ReleasePlan.of(Experiment(relation="replace_one", postprocess=steps), data)
    asked, (header, *rows) = run(plan, records_of(plan, data), tmp_path)
    assert header == ["level", "first bin", "last bin", "released", "error at most"]
    assert asked.change == 2 and len(asked.budgets) == 2
    assert [int(row[-2]) for row in rows] == data.counts.tolist()


def test_what_no_leaf_can_hold_is_cut_and_ends_nothing(tmp_path: Path) -> None:
    """Also a row of nines, bytes that are no text, and a line that breaks off: only numbers of leaves change."""
    data = COUNTED["values 0 category"]
    plan = ReleasePlan.of(Experiment(relation="add_or_remove_one"), data)
    hostile = b"White,M," + b"9" * 4_400 + b'\nWhite,F,-1\n\xff,\x00,3\nnowhere,M,5\n"White,F,1\nWhite'
    _, (_, *rows) = run(plan, records_of(plan, data) + hostile, tmp_path)
    found = {tuple(row[1:-1]): int(row[-1]) for row in rows}
    usual = counts_by_labels(data, 2)
    assert found[("White", "M")] == 10**9
    assert found[("White", "F")] == usual[("White", "F")]
    assert found[("(other)", "")] == usual[("(other)", "")] + 3 + 5
