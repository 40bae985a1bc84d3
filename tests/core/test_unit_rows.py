"""What other bounds on the records of a unit would leave out: one pass beside as many recounts as there are bounds."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import (
    Dataset,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.domain import Domain
from treedp_core.records.parquet_file import about, nodes_of
from treedp_core.records.parquet_file import restored as restored_data
from treedp_core.records.unit_rows import MOST, UnitRows, as_json, restored, unit_rows
from treedp_core.tree import Tree

COLUMNS = ["who", "a", "b"]
ROW = st.tuples(st.sampled_from("uvwx "), st.sampled_from(["x", "y", "z", ""]), st.sampled_from(["p", "q", "r", ""]))
LISTED = {"a": ["x", "y"], "b": ["p", "q"]}
DOMAINS: dict[str, Callable[[], Domain]] = {
    "values": lambda: domain_of_values(LISTED),
    "values with their own (other)": lambda: domain_of_values({"a": ["(other)", "x"], "b": ["p", "(blank)"]}),
    "paths": lambda: domain_of_paths(b"a,b\nx,p\nx,q\ny,\nz,r\n", ["a", "b"]),
    "the data": domain_taken_from_the_data,
}


def file_of(rows: list[tuple[str, ...]]) -> bytes:
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False).encode()


def by_path(data: Dataset) -> dict[tuple[str, ...], int]:
    return {data.labels.path(node): int(count) for node, count in enumerate(data.counts)}


def recounted(data: Dataset, count: Callable[[int], Dataset], bounds: int) -> tuple[list[list[int]], list[list[int]]]:
    """What the nodes of each level lack with each bound, added up and squared, by counting the file for each."""
    everything, sums, squares = by_path(count(MOST)), [], []
    for level in range(data.tree.n_levels):
        nodes = range(int(data.tree.level_start[level]), int(data.tree.level_start[level + 1]))
        lacking = []
        for bound in range(bounds):
            within = by_path(count(bound)) if bound else {}
            paths = [data.labels.path(node) for node in nodes]
            lacking.append([everything.get(path, 0) - within.get(path, 0) for path in paths])
        sums.append([sum(one) for one in lacking])
        squares.append([sum(value * value for value in one) for one in lacking])
    return sums, squares


def walked(
    data: Dataset, rows: list[tuple[str, ...]], bounds: int, missing: str
) -> tuple[list[list[int]], list[list[int]]]:
    """The same on a tree that was read off the records within a bound, row by row down to its last node there."""
    paths, unit = (
        [data.labels.path(node) for node in range(data.tree.n_nodes)],
        pd.Series([row[0].strip() for row in rows]),
    )
    place = {path: node for node, path in enumerate(paths)}
    ranks = unit.groupby(unit).cumcount()
    lacking = np.zeros((bounds, len(paths)), dtype=int)
    for row, rank in zip(rows, ranks, strict=True):
        way: list[tuple[str, ...]] = [()]
        for cell in row[1:]:
            if data.tree.is_leaf[place[way[-1]]]:
                break
            if missing == "other" and not cell:
                way = [(), ("(other)",)]
                break
            if (below := (*way[-1], cell or "(blank)")) not in place:
                break
            way.append(below)
        lacking[: rank + 1, [place[path] for path in way]] += 1
    levels = [lacking[:, data.tree.level(level)] for level in range(data.tree.n_levels)]
    return [one.sum(axis=1).tolist() for one in levels], [(one**2).sum(axis=1).tolist() for one in levels]


@pytest.mark.parametrize("missing", ["category", "other"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_one_pass_finds_what_counting_anew_for_each_bound_finds(domain: str, missing: str) -> None:
    @given(st.lists(ROW, min_size=1, max_size=25), st.integers(1, 4))
    @settings(max_examples=25, derandomize=True, deadline=None)
    def holds(rows: list[tuple[str, ...]], bound: int) -> None:
        def count(m: int) -> Dataset:
            return count_hierarchy(
                file_of(rows), ["a", "b"], domain=DOMAINS[domain](), unit="who", contributions=m, missing=missing
            )

        data = count(bound)
        found = data.report.unit_rows
        assert found is not None
        if domain == "the data":
            sums, squares = walked(data, rows, len(found.left_out), missing)
        else:
            sums, squares = recounted(data, count, len(found.left_out))
        assert [list(one) for one in found.sums] == sums
        assert [list(one) for one in found.squares] == squares
        per_unit = pd.DataFrame(rows, columns=COLUMNS).groupby(pd.Series([row[0].strip() for row in rows])).size()
        often = per_unit.value_counts()
        assert [int(often.get(n, 0)) for n in range(1, per_unit.max() + 1)] == list(found.units_with)
        assert (found.units, found.records, found.largest) == (per_unit.size, len(rows), per_unit.max())

    holds()


@pytest.mark.parametrize("outside", ["other", "clamp"])
def test_numbers_in_bins_are_followed_as_well(outside: str) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"who": rng.integers(0, 9, 80).astype(str), "v": rng.integers(-1, 9, 80).astype(str)})
    frame.loc[rng.random(80) < 0.1, "v"] = "none"
    csv = frame.to_csv(index=False).encode()

    def count(m: int) -> Dataset:
        return count_bins(
            csv, "v", lower=0, upper=8, n_bins=4, branching=(2, 2), unit="who", contributions=m, outside=outside
        )

    data = count(3)
    found = data.report.unit_rows
    assert found is not None and found.largest > 5
    sums, squares = recounted(data, count, len(found.left_out))
    assert ([list(one) for one in found.sums], [list(one) for one in found.squares]) == (sums, squares)


def test_batches_bounds_and_rows_left_out_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({
        "who": rng.zipf(1.7, 400).clip(max=30).astype(str), "a": rng.choice(["x", "y", "total"], 400),
        "b": rng.choice(["p", "q"], 400),
    })  # fmt: skip
    kept = frame[frame["a"] != "total"]
    domain = domain_of_values(LISTED)

    def rows(data: pd.DataFrame, m: int, **how: Any) -> UnitRows | None:
        file = io.BytesIO(data.to_csv(index=False).encode())
        return count_hierarchy(file, ["a", "b"], domain=domain, unit="who", contributions=m, **how).report.unit_rows

    wanted = rows(kept, 1)
    assert wanted is not None and wanted.largest > 20
    monkeypatch.setattr("treedp_core.records.read.units._MERGE", 3)
    monkeypatch.setattr("treedp_core.records.read.sources.BLOCK_BYTES", 200)
    for m in (1, 2, 17, MOST):
        assert rows(kept, m) == wanted
        assert rows(frame, m, left_out={"a": ["total"]}) == wanted


def test_where_units_cannot_be_followed_nothing_is_said_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    csv, domain = b"who,a\nu,x\nu,x\nv,y\n", domain_of_values({"a": ["x", "y"]})
    assert count_hierarchy(csv, ["a"], domain=domain).report.unit_rows is None
    assert count_hierarchy(csv, ["a"], domain=domain, unit="who", contributions=MOST + 1).report.unit_rows is None
    monkeypatch.setattr("treedp_core.records.count.ranked.MAX_TOTAL", 2)
    assert count_hierarchy(csv, ["a"], domain=domain, unit="who").report.unit_rows is None
    assert count_hierarchy(csv, ["a"], domain=domain, unit="who").counts.tolist() == [2, 1, 1, 0]


def test_a_unit_with_more_records_than_are_told_apart_counts_with_all_of_them() -> None:
    n = MOST + 250
    csv = b"who,a\n" + b"u,x\n" * n + b"v,y\n" * 3
    rows = count_hierarchy(csv, ["a"], domain=domain_of_values({"a": ["x", "y"]}), unit="who").report.unit_rows
    assert rows is not None and rows.largest == MOST and rows.records == n + 3
    assert rows.left_out[MOST] == 250 and rows.left_out[2] == n - 2 + 1
    assert rows.squares[1][MOST] == 250**2 and rows.squares[1][2] == (n - 2) ** 2 + 1
    assert rows.units_with[2] == 1 and rows.units_with[-1] == 1 and sum(rows.units_with) == 2
    assert rows.lacking(np.array([1, MOST]))[0].tolist() == [n + 1, 250]


def test_it_is_stored_with_a_data_set_and_read_back() -> None:
    csv = b"who,a\nu,x\nu,y\nv,x\nu,x\n,y\n"
    data = count_hierarchy(csv, ["a"], domain=domain_of_values({"a": ["x", "y"]}), unit="who", contributions=2)
    told = json.loads(json.dumps(about(data)))
    assert restored_data(told, nodes_of(data)).report == data.report


RIGHT = as_json(unit_rows(Tree.from_branching_factors((2,)), np.array([1, 1, 2]), np.array([0, 1, 0]), np.ones(3, int)))


@pytest.mark.parametrize(
    "change",
    [
        {"sums": [[3, 1, 0]]},
        {"sums": [[3, 1, 0], [3, 1]]},
        {"sums": [[3, 2, 0], [3, 2, 0]]},
        {"sums": [[3, 1, 1], [3, 1, 1]]},
        {"sums": [[3, 1, 0], [4, 1, 0]]},
        {"sums": [[3, 3, 0], [3, 1, 0]]},
        {"sums": [[3, 1, 0], ["3", 1, 0]]},
        {"sums": [[-3, -3, -3], [3, 1, 0]]},
        {"squares": [[9, 1, 0], [2, 1, 0]]},
        {"squares": [[9, 1, 0], [10, 1, 0]]},
        {"squares": [[8, 1, 0], [5, 1, 0]]},
        {"squares": [[], []]},
        {"sums": [[1 << 63, 1, 0], [3, 1, 0]]},
        {"more": 1},
    ],
    ids=str,
)
def test_what_no_records_can_give_is_refused(change: dict[str, Any]) -> None:
    assert isinstance(RIGHT, dict)
    assert restored(RIGHT, 2) is not None and restored(None, 2) is None
    with pytest.raises(InputError):
        restored({**RIGHT, **change}, 2)
