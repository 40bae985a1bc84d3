"""Sums of clipped values: counted by one pass beside a recount for each clip, and what one record moves by listing."""

from __future__ import annotations

import itertools
import json
import math
import runpy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.neighbours import ADD, REPLACE, UNKNOWN, Small, Who
from audit.sums import moved
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan, opendp_program, records_of, recount
from treedp_core.privacy.sums import unit_of_sums
from treedp_core.records import (
    Dataset,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.dataset import sums_of
from treedp_core.records.domain import Domain
from treedp_core.records.parquet_file import about, nodes_of
from treedp_core.records.parquet_file import restored as restored_data
from treedp_core.records.recipe import as_json as recipe_json
from treedp_core.records.recipe import recipe_of
from treedp_core.records.unit_rows import MOST
from treedp_core.records.values.leaf_values import as_json, leaf_values, restored
from treedp_core.tree import Tree
from treedp_core.views.inputs import ReleaseInputs

COLUMNS = ["a", "b", "paid"]
CENTS = st.integers(0, 300).map(lambda cents: f"{cents // 100}.{cents % 100:02d}")
ROW = st.tuples(st.sampled_from(["x", "y", "z", ""]), st.sampled_from(["p", "q", "r", ""]), CENTS)
DOMAINS: dict[str, Callable[[], Domain]] = {
    "values": lambda: domain_of_values({"a": ["x", "y"], "b": ["p", "q"]}),
    "paths": lambda: domain_of_paths(b"a,b\nx,p\nx,q\ny,\nz,r\n", ["a", "b"]),
    "the data": domain_taken_from_the_data,
}
GRID = 0.25


def file_of(rows: list[tuple[str, ...]]) -> bytes:
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False).encode()


def steps_of(text: str) -> int:
    """The nearest multiple of a quarter, half way to the even one, by whole cents."""
    quarters, rest = divmod(round(float(text) * 100), 25)
    return quarters + (rest >= 13)


def as_weights(rows: list[tuple[str, ...]], clip: int) -> bytes:
    """The file with clipped steps in place of values, to be counted as rows that stand for so many records."""
    return file_of([(a, b, str(min(steps_of(paid), clip))) for a, b, paid in rows])


@pytest.mark.parametrize("missing", ["category", "other"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_sums_are_those_of_rows_that_count_as_often(domain: str, missing: str) -> None:
    @given(st.lists(ROW, min_size=1, max_size=15), st.integers(1, 12))
    @settings(max_examples=10, derandomize=True, deadline=None)
    def holds(rows: list[tuple[str, ...]], clip: int) -> None:
        def weighed(at: int) -> Dataset:
            return count_hierarchy(
                as_weights(rows, at), ["a", "b"], domain=DOMAINS[domain](), weight="paid", missing=missing
            )

        data = count_hierarchy(
            file_of(rows), ["a", "b"], domain=DOMAINS[domain](), value="paid", grid=GRID, missing=missing
        )
        sums, whole = sums_of(data, clip), weighed(MOST)
        assert sums.tree == data.tree and sums.total == sum(min(steps_of(row[2]), clip) for row in rows)
        assert sums.counts.tolist() == weighed(clip).counts.tolist()
        at_once = count_hierarchy(
            file_of(rows), ["a", "b"], domain=DOMAINS[domain](), value="paid", grid=GRID, clip=clip, missing=missing
        )
        assert at_once.fingerprint == sums.fingerprint and at_once.report == sums.report
        assert data.total == len(rows) and data.report.values is not None
        found = data.report.values.rows(data.tree)
        top = max(steps_of(row[2]) for row in rows)
        assert found.largest == top and found.units == sum(steps_of(row[2]) > 0 for row in rows)
        for m in range(top + 1):
            lacking = whole.counts - (weighed(m).counts if m else 0)
            levels = [lacking[data.tree.level(level)] for level in range(data.tree.n_levels)]
            assert [one[m] for one in found.sums] == [int(one.sum()) for one in levels]
            assert [one[m] for one in found.squares] == [int((one**2).sum()) for one in levels]

    holds()


def test_values_beyond_the_largest_clip_lack_what_is_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    tree = Tree.from_branching_factors((3, 4))
    nodes, steps = rng.integers(4, 16, 500), rng.zipf(1.2, 500).clip(max=5_000)
    found = leaf_values(nodes, steps, np.ones(500, dtype=np.int64))
    assert found is not None and steps.max() > MOST
    monkeypatch.setattr("treedp_core.records.values.leaf_values._CELLS", 1 << 12)
    rows = found.rows(tree)
    for clip in (0, 1, 17, 999, MOST):
        own = np.zeros(tree.n_nodes, dtype=np.int64)
        np.add.at(own, nodes, np.maximum(steps - clip, 0))
        lacking = tree.add_up(own)
        for level in range(3):
            assert rows.sums[level][clip] == lacking[tree.level(level)].sum()
            assert rows.squares[level][clip] == (lacking[tree.level(level)] ** 2).sum()
    assert found.sums(tree, 17).tolist() == (found.sums(tree, 10**6) - rows_of(tree, nodes, steps, 17)).tolist()


def rows_of(tree: Tree, nodes: Any, steps: Any, clip: int) -> Any:
    own = np.zeros(tree.n_nodes, dtype=np.int64)
    np.add.at(own, nodes, np.maximum(steps - clip, 0))
    return tree.add_up(own)


def test_rows_left_out_batches_and_marks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({
        "a": rng.choice(["x", "y", "total"], 300), "paid": [f"{x:.2f}" for x in rng.uniform(0, 2000, 300)],
    })  # fmt: skip
    domain = domain_of_values({"a": ["x", "y"]})
    kept = frame[frame["a"] != "total"]
    wanted = count_hierarchy(kept.to_csv(index=False).encode(), ["a"], domain=domain, value="paid", grid=0.5)
    monkeypatch.setattr("treedp_core.records.read.sources.BLOCK_BYTES", 200)
    frame.loc[frame["a"] == "total", "paid"] = "all"  # what is left out need be no value
    found = count_hierarchy(
        frame.to_csv(index=False).encode(), ["a"], domain=domain, value="paid", grid=0.5, left_out={"a": ["total"]}
    )
    assert found.report.values == wanted.report.values and found.counts.tolist() == wanted.counts.tolist()
    written = frame.assign(paid=frame["paid"].str.replace(".", ","))
    marked = count_hierarchy(
        written.to_csv(index=False).encode(), ["a"], domain=domain, value="paid", grid=0.5,
        left_out={"a": ["total"]}, marks={"paid": ","},
    )  # fmt: skip
    assert marked.report.values == wanted.report.values and marked.report.recipe.marks == (("paid", ","),)


def test_they_are_stored_with_a_data_set_and_read_back() -> None:
    csv = b"a,paid\nx,1\nx,2.5\ny,0\n,7\n"
    data = count_hierarchy(csv, ["a"], domain=domain_of_values({"a": ["x", "y"]}), value="paid", grid=0.5)
    for one in (data, sums_of(data, 4)):
        told = json.loads(json.dumps(about(one)))
        assert restored_data(told, nodes_of(one)).report == one.report
        assert recipe_of(recipe_json(one.report.recipe)) == one.report.recipe
    with pytest.raises(InputError, match="do not add up"):
        restored_data({**about(data)}, nodes_of(sums_of(data, 4)))


TREE = Tree.from_branching_factors((2,))
RIGHT = as_json(leaf_values(np.array([1, 1, 2]), np.array([0, 3, 2]), np.array([1, 2, 4])))


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": [0, 1, 2]},
        {"nodes": [1, 1]},
        {"nodes": [1, 2, 1]},
        {"nodes": [1, 1, 3]},
        {"steps": [3, 0, 2]},
        {"steps": [0, 0, 2]},
        {"steps": [0, -3, 2]},
        {"steps": [0, 3.0, 2]},
        {"steps": [0, 10**7, 2]},
        {"records": [1, 2, 5]},
        {"records": [3, 0, 4]},
        {"records": [1, 2, 1 << 62]},
        {"more": 1},
    ],
    ids=str,
)
def test_what_no_records_can_give_is_refused(change: dict[str, Any]) -> None:
    counts = np.array([7, 3, 4])
    assert isinstance(RIGHT, dict)
    assert restored(RIGHT, TREE, counts, 0) is not None and restored(None, TREE, counts, 0) is None
    with pytest.raises(InputError):
        restored({**RIGHT, **change}, TREE, counts, 0)


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("inf", "VALUE_MISSING"), ("nan", "VALUE_MISSING"), ("ten", "VALUE_MISSING"), ("", "VALUE_MISSING"),
        ("-0.01", "VALUE_NEGATIVE"), ("-inf", "VALUE_MISSING"), ("1e9", "VALUE_TOO_LARGE"), ("1e400", "VALUE_MISSING"),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused_in_a_sentence_with_its_row(cell: str, code: str) -> None:
    csv = f"a,paid\nx,1\nx,{cell}\n".encode()
    with pytest.raises(InputError) as refused:
        count_hierarchy(csv, ["a"], domain=domain_of_values({"a": ["x"]}), value="paid", grid=0.5)
    assert refused.value.code == code
    assert "Column 'paid', row 3" in str(refused.value) and str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"value": "paid", "grid": 0.0}, "VALUE_GRID"), ({"value": "paid", "grid": math.inf}, "VALUE_GRID"),
        ({"value": "paid", "grid": math.nan}, "VALUE_GRID"), ({"value": "paid", "clip": -1}, "CLIP_RANGE"),
        ({"value": "paid", "clip": MOST + 1}, "CLIP_RANGE"), ({"clip": 3}, "CLIP_RANGE"),
        ({"value": "paid", "weight": "paid"}, "VALUE_AND_COUNT"), ({"value": "paid", "unit": "who"}, "VALUE_AND_COUNT"),
        ({"value": "a"}, "VALUE_AS_LEVEL"), ({"value": "nothing"}, "COLUMN_UNKNOWN"),
    ],
)  # fmt: skip
def test_a_clip_or_a_grid_that_means_nothing_is_refused(how: dict[str, Any], code: str) -> None:
    csv = b"a,paid,who\nx,1,u\n"
    with pytest.raises(InputError) as refused:
        count_hierarchy(csv, ["a"], domain=domain_of_values({"a": ["x"]}), **how)
    assert refused.value.code == code


def test_sums_need_values_and_a_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    csv, domain = b"a,paid\nx,1\nx,2\n", domain_of_values({"a": ["x"]})
    data = count_hierarchy(csv, ["a"], domain=domain, value="paid")
    for clip in (0, MOST + 1):
        with pytest.raises(InputError) as refused:
            sums_of(data, clip)
        assert refused.value.code == "CLIP_RANGE"
    with pytest.raises(InputError, match="No column of this table is a value"):
        sums_of(count_hierarchy(csv, ["a"], domain=domain), 3)
    monkeypatch.setattr("treedp_core.records.values.leaf_values.MOST_VALUES", 1)
    with pytest.raises(InputError, match="coarser grid"):
        sums_of(count_hierarchy(csv, ["a"], domain=domain, value="paid"), 3)


# ---- what one record moves


PARENTS = ((-1, 0, 0), (-1, 0, 0, 1, 1, 2, 2), (-1, 0, 0, 0, 1, 1, 1, 6), (-1, 0, 0, 1, 1, 3, 3), (-1, 0, 1, 1))
FULL = PARENTS[:2]
"""Trees on which two leaves of equal depth part below the root: there the claim is attained."""


@pytest.mark.parametrize("relation", [ADD, REPLACE, UNKNOWN])
@pytest.mark.parametrize("parent", PARENTS, ids=str)
def test_no_record_moves_sums_by_more_and_some_by_as_much(parent: tuple[int, ...], relation: str) -> None:
    """By listing every leaf and value before and after: never above the claim, for any weights of the levels."""
    rng, small = np.random.default_rng([len(parent), *relation.encode()]), Small(parent)
    for known, clip in itertools.product(range(1, small.n_levels + 1), (1, 2, 3)):
        unit = unit_of_sums(Who(relation, 1, known).unit, clip)
        moves = moved(small, relation, known, clip)
        for power, calibrated in enumerate((unit.l1_sensitivity, unit.l2_sensitivity)):
            for _ in range(5):
                amounts = [Fraction(float(one)) for one in rng.dirichlet(np.ones(small.n_levels))]
                price = [
                    amount / Fraction(float(by)) ** (power + 1)
                    for amount, by in zip(amounts, calibrated(small.n_levels), strict=True)
                ]
                worst = max(sum(p * int(by) for p, by in zip(price, row, strict=True)) for row in moves[power])
                claimed = unit.exact_charge(amounts)
                assert worst <= claimed
                if parent in FULL and relation != UNKNOWN:
                    assert worst > claimed * Fraction(999_999, 1_000_000)


def test_the_sum_of_all_values_is_no_public_number() -> None:
    """Replaced by a record of another value, one changes the root: publishing it exactly would be no privacy at all."""
    unit = unit_of_sums(Who(REPLACE).unit, 7)
    assert not unit.total_is_public
    with pytest.raises(InputError, match="cannot be published exactly"):
        unit.charge([math.inf, 0.5])
    with pytest.raises(InputError) as refused:
        unit_of_sums(Who(REPLACE).unit, 0)
    assert refused.value.code == "CONTRIBUTIONS_RANGE"


# ---- a plan, the file that is prepared for it, and its program


PAID = b"a,b,paid\nx,p,1.10\nx,p,9\ny,q,2.5\n,q,0.2\nz,p,4\nx,q,0\n"
PUBLIC = domain_of_values({"a": ["x", "y"], "b": ["p", "q"]})


def planned(relation: str, clip: int = 20, **how: Any) -> tuple[Dataset, ReleasePlan]:
    data = sums_of(count_hierarchy(PAID, ["a", "b"], domain=PUBLIC, value="paid", grid=GRID), clip)
    unit = unit_of_sums(Who(relation, 1, 2).unit, clip)
    release = Experiment(
        relation=unit.relation.value, contributions=unit.contributions, known_levels=unit.known_levels, **how
    )
    return data, ReleasePlan.of(release, data, whom="purchase")


@pytest.mark.parametrize("relation", [ADD, REPLACE, UNKNOWN])
@pytest.mark.parametrize("mechanism", ["discrete_laplace", "discrete_gaussian"])
def test_a_plan_of_sums_holds_and_its_program_finds_the_same_sums(
    relation: str, mechanism: str, tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    data, plan = planned(relation, mechanism=mechanism, delta=1e-6 if "gaussian" in mechanism else 0.0,
                         accounting="formula", postprocess=("least_squares",))  # fmt: skip
    assert plan.verify() == () and ReleasePlan.from_json(plan.to_json()) == plan
    assert "Sums of paid, in steps of 0.25," in plan.sentence() and "clipped to at most 5" in plan.sentence()
    counted = count_hierarchy(PAID, ["a", "b"], domain=PUBLIC, value="paid", grid=GRID)
    content = records_of(plan, recount(plan, PAID))
    assert content == records_of(plan, data) == records_of(plan, counted)
    (tmp_path / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    (tmp_path / "prepared.csv").write_bytes(content)
    found = runpy.run_path(str(tmp_path / "release.py"))
    found["read_records"].__globals__["PREPARED_FILE"] = str(tmp_path / "prepared.csv")
    held = found["counts_of"](found["read_records"]())
    by_path = {data.labels.path(node): int(count) for node, count in enumerate(data.counts)}
    assert {path: n for level in held for path, n in level.items()} == by_path
    by_hand = {
        ("x",): 24,
        ("x", "p"): 24,
        ("x", "q"): 0,
        ("y",): 10,
        ("y", "p"): 0,
        ("y", "q"): 10,
        (): 24 + 10 + 1 + 16,
    }
    assert {path: by_path[path] for path in by_hand} == by_hand
    assert found["loss"](found["measurements"]()) <= found["PROMISED"] * (1 + 1e-9)


@pytest.mark.parametrize("relation", [ADD, REPLACE, UNKNOWN])
def test_views_of_a_table_of_sums_protect_its_clip(relation: str) -> None:
    data, _ = planned(relation)
    release = ReleaseInputs(relation=relation, known_levels=2).experiment(data, mechanism="laplace")
    assert release.unit == unit_of_sums(Who(relation, 1, 2).unit, 20) and ReleasePlan.of(release, data).verify() == ()


def test_a_plan_that_protects_less_than_a_clip_is_refused() -> None:
    data, plan = planned(REPLACE)
    for unit in (Who(ADD, 19).unit, Who(REPLACE, 20).unit):
        with pytest.raises(InputError, match="unit_of_sums"):
            replace(plan, unit=unit)
    with pytest.raises(InputError, match="unit_of_sums"):
        ReleasePlan.of(Experiment(relation=ADD, contributions=1), data)
    other = count_hierarchy(PAID, ["a", "b"], domain=PUBLIC, value="paid", grid=0.5)
    for one in (other, sums_of(other, 20), sums_of(count_hierarchy(PAID, ["a", "b"], domain=PUBLIC, value="paid",
                                                                   grid=GRID), 19)):  # fmt: skip
        with pytest.raises(InputError, match="another way"):
            records_of(plan, one)
