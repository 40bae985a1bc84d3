"""A number that a file holds as a number is that number, whatever is said of how text is written; text follows it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import count_bins, count_hierarchy, domain_taken_from_the_data, inspect
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.numbers.marks import look_at_marks
from treedp_core.records.read.numbers.numeric import look_at_numbers
from treedp_core.records.recipe import MARKS

Cell = float | int | str | None
Make = Callable[[list[Cell]], Any]


def excel(cells: list[Cell]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [("v", "x"), *((cell, "a") for cell in cells)]:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def json_array(cells: list[Cell]) -> bytes:
    return json.dumps([{"v": cell, "x": "a"} for cell in cells]).encode()


def json_lines(cells: list[Cell]) -> bytes:
    return b"\n".join(json.dumps({"v": cell, "x": "a"}).encode() for cell in cells)


def columns(cells: list[Cell]) -> pa.Table:
    return pa.table({"v": cells, "x": ["a"] * len(cells)})


def parquet(cells: list[Cell]) -> bytes:
    out = io.BytesIO()
    pq.write_table(columns(cells), out)
    return out.getvalue()


def arrow(cells: list[Cell]) -> bytes:
    out, table = io.BytesIO(), columns(cells)
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def frame(cells: list[Cell]) -> pd.DataFrame:
    return pd.DataFrame({"v": cells, "x": "a"})


MIXED: list[Make] = [excel, json_array, json_lines]
"""What can hold numbers and text in one column."""
TYPED: list[Make] = [*MIXED, columns, parquet, arrow, frame]


@pytest.mark.parametrize("make", TYPED)
@pytest.mark.parametrize("marks", sorted(MARKS))
def test_a_typed_number_is_that_number_under_all_marks(make: Make, marks: str) -> None:
    data = make([1.125, 2.5, 1234.5, 0.375, -1.5, 1.5e-7, 1125.0])
    for origin in (data, hold(data)):
        found = count_bins(origin, "v", edges=(-2, 0, 1, 2, 1000, 1200, 1300), marks={"v": marks})
        assert found.counts[1:-1].tolist() == [1, 2, 1, 1, 1, 1]
        assert look_at_numbers(origin, "v", marks={"v": marks}).shares(-2, 1300).inside == 1


@pytest.mark.parametrize("make", MIXED)
def test_text_beside_typed_numbers_follows_its_marks(make: Make) -> None:
    data = make([1.125, "1.125", "1.125,5", 7, "7", "x", None, "-2,5", 900.25])
    for origin in (data, hold(data)):
        found = count_bins(origin, "v", edges=(-3, 1, 2, 8, 1000, 1125, 1126), marks={"v": ",."})
        assert found.counts[1:].tolist() == [1, 1, 2, 1, 0, 2, 2]
        assert look_at_marks(origin, "v").proposed == (",.",)
        with pytest.raises(InputError, match="is no number with a decimal point"):
            count_bins(origin, "v", lower=0, upper=2, n_bins=2)


@pytest.mark.parametrize("make", MIXED)
def test_text_of_three_digits_behind_each_point_is_asked_about_beside_typed_numbers_too(make: Make) -> None:
    data = make(["1.500", "2.500", 3.25, 12.5])
    for origin in (data, hold(data)):
        assert look_at_marks(origin, "v").proposed == (".", ",.")
        with pytest.raises(InputError, match=r"every point stands before three digits, as in '1\.500', row "):
            count_bins(origin, "v", lower=0, upper=4, n_bins=2)
    typed = make([1.5, 2.125, 3.25])
    for origin in (typed, hold(typed)):
        look = look_at_marks(origin, "v")
        assert (look.proposed, look.examples) == ((".",), ())
        assert count_bins(origin, "v", lower=0, upper=4, n_bins=2).counts.tolist() == [3, 1, 2, 0]


@pytest.mark.parametrize("make", TYPED)
def test_typed_counts_are_those_numbers_too(make: Make) -> None:
    whole, part = make([2000.0, 3.0]), make([2.0, 1.5])
    everything = domain_taken_from_the_data()
    for marks in (None, {"v": ",."}, {"v": "."}):
        for origin in (whole, hold(whole)):
            assert count_hierarchy(origin, ["x"], domain=everything, weight="v", marks=marks).total == 2003
        for origin in (part, hold(part)):
            with pytest.raises(InputError, match=r"'1\.5' is not a count"):
                count_hierarchy(origin, ["x"], domain=everything, weight="v", marks=marks)


@pytest.mark.parametrize("make", MIXED)
def test_a_typed_number_is_a_label_units_name_and_shown_cell_as_it_is_written(make: Make) -> None:
    data = make([1.5, "1.5", 2.25, "Ulm"])
    assert [row[0] for row in inspect(data).rows] == ["1.5", "1.5", "2.25", "Ulm"]
    everything = domain_taken_from_the_data()
    for origin in (data, hold(data)):
        found = count_hierarchy(origin, ["v"], domain=everything)
        assert sorted(found.labels.path(node)[0] for node in found.tree.leaves.tolist()) == ["1.5", "2.25", "Ulm"]
        assert not found.report.notices
        assert count_hierarchy(origin, ["x"], domain=everything, unit="v").total == 3
        assert count_hierarchy(origin, ["x"], domain=everything, left_out={"v": ["1.5"]}).total == 2


@given(
    st.lists(st.tuples(st.integers(-20_000_000, 20_000_000), st.booleans()), min_size=1, max_size=12),
    st.sampled_from(sorted(MARKS)), st.sampled_from(MIXED),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_cells_of_both_kinds_are_read_as_a_person_reads_them(
    thousandths: list[tuple[int, bool]], marks: str, make: Make
) -> None:
    """Each value typed, or written with the marks; the oracle counts thousandths as whole numbers."""

    def cell(value: int, is_typed: bool) -> Cell:
        if is_typed:
            return value / 1000
        whole, part = divmod(abs(value), 1000)
        grouped = f"{whole:,}".replace(",", marks[1:])
        return f"{'-' * (value < 0)}{grouped}{marks[0]}{part:03}"

    edges = (-20_000_000, -1000, 0, 500, 1000, 2000, 999_999, 1_000_001, 20_000_000)
    data = make([cell(*one) for one in thousandths])
    expected = [sum(low <= value < high for value, _ in thousandths) for low, high in pairwise(edges)]
    expected[-1] += sum(value == edges[-1] for value, _ in thousandths)
    for origin in (data, hold(data)):
        found = count_bins(origin, "v", edges=[edge / 1000 for edge in edges], marks={"v": marks})
        assert found.counts[1:-1].tolist() == expected
