"""How rows became records: marks of numbers, rows that are no records, and the value that says what was done."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan, records_of, recount
from treedp_core.plans.words import summary
from treedp_core.records import (
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.numbers.marks import look_at_marks, proposed
from treedp_core.records.read.numbers.numeric import look_at_numbers
from treedp_core.records.read.text import reads_as_total
from treedp_core.records.recipe import MARKS, as_json, recipe_of
from treedp_core.studies.cdf.matrices.workload import ranges_of_table
from treedp_core.studies.sweep.task import read_task

FROM_DATA = domain_taken_from_the_data()
GERMAN = b"pay;who\n1.500;a\n900;c\n12.000;d\n"
CENSUS = b"state,city,n\nOhio,A,10\nOhio,B,20\nOhio,,30\nIowa,C,5\nIowa,D,6\nIowa,,11\n,,41\n"


def written(value: int, cents: int, decimal: str, thousands: str) -> str:
    """A number as a person writes it, by pencil and paper."""
    digits, groups = str(value), []
    while len(digits) > 3 and thousands:
        digits, group = digits[:-3], digits[-3:]
        groups.insert(0, group)
    return thousands.join([digits, *groups]) + (f"{decimal}{cents:02d}" if cents >= 0 else "")


# ---- marks


@pytest.mark.parametrize("cell", ["1.328,16", "1,234.50", "1 234,5", "1'234", "1,500", "12,5", "1.234.567"])
def test_a_number_in_other_marks_is_refused_and_the_option_named(cell: str) -> None:
    with refuses("MARKS", r"by the option marks.*\{'pay': ") as refusal:
        count_bins(f"pay;x\n900;a\n{cell};b\n".encode(), "pay", lower=0, upper=2000, n_bins=2)
    assert "row 3" in str(refusal.value)


@pytest.mark.parametrize("file", [GERMAN, GERMAN.replace(b";", b","), GERMAN.replace(b";", b"\t")])
def test_points_that_all_stand_before_three_digits_are_asked_for(file: bytes) -> None:
    with pytest.raises(InputError, match=r"every point stands before three digits, as in '1\.500', row 2"):
        count_bins(file, "pay", lower=0, upper=20_000, n_bins=4)
    for marks, expected in ((",.", [2, 0, 1, 0, 0]), (".", [3, 0, 0, 0, 0])):
        data = count_bins(file, "pay", lower=0, upper=20_000, n_bins=4, marks={"pay": marks})
        assert data.counts[1:].tolist() == expected
        assert data.report.recipe.marks_of("pay") == marks


def test_one_slip_of_the_pen_decides_nothing() -> None:
    file = b"pay\n" + b"1.500\n" * 500 + b"3.5\n"
    with pytest.raises(InputError, match="every point"):
        count_bins(file, "pay", lower=0, upper=20_000, n_bins=4)
    assert count_bins(b"v\n0.125\n1.250\n2.5\n", "v", lower=0, upper=4, n_bins=2).counts.tolist() == [3, 2, 1, 0]


def test_marks_that_were_said_never_follow_the_cells() -> None:
    german = b"pay;x\n1.328,16;a\n900;a\n1,234.50;a\n1.5;a\n2000;a\n"
    data = count_bins(german, "pay", lower=0, upper=3000, n_bins=3, marks={"pay": ",."})
    assert data.counts.tolist() == [5, 1, 1, 1, 2]  # "1,234.50" and "1.5" are no numbers of this column
    assert data.report.other == 2 and "NOT_A_NUMBER" in dict(data.report.notices)
    for origin in (german, hold(german)):
        look = look_at_numbers(origin, "pay", marks={"pay": ",."})
        assert (look.rows, look.blank) == (5, 2)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(-1, 99)), min_size=1, max_size=8),
    st.sampled_from(sorted(MARKS)),
)
def test_numbers_written_with_marks_are_read_with_them(pairs: list[tuple[int, int]], marks: str) -> None:
    cells = [written(value, cents, marks[0], marks[1:]) for value, cents in pairs]
    file = "\n".join(["v|x", *(f"{cell}|a" for cell in cells)]).encode()
    edges = (0, 1000, 1500, 30_000, 2_000_000)
    data = count_bins(file, "v", edges=edges, marks={"v": marks})
    exact = [value + max(cents, 0) / 100 for value, cents in pairs]
    inside = [sum(low <= one < high for one in exact) for low, high in pairwise(edges)]
    inside[-1] += exact.count(edges[-1])
    assert data.counts[1:].tolist() == [*inside, len(pairs) - sum(inside)]
    assert data.report.outside_range == data.report.other  # each cell was a number
    found = proposed({cell: 1 for cell in cells}).proposed
    read = [one for one in found if [written(*pair, one[0], one[1:]) for pair in pairs] == cells]
    assert read or len({*"".join(cells)} - {*"0123456789"}) < len(marks)  # these marks, unless cells do not show them


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.328,16", "900"], (",.",)), (["1,234.50"], (".,",)), (["1234.50"], (".",)), (["1 234,5"], (", ",)),
        (["1'234"], (".'",)), (["1.500", "900"], (".", ",.")), (["1,500", "900"], (".,", ",")), (["900"], (".",)),
        (["1,500", "1.5"], (".,",)), (["1.500", "1,500"], (".,", ",.")), (["x"], (".",)), (["0,5"], (",",)),
        (["1\u202f234,5"], (", ",)),
    ],
)  # fmt: skip
def test_cells_propose_marks_and_ask_where_they_differ(cells: list[str], expected: tuple[str, ...]) -> None:
    assert proposed(dict.fromkeys(cells, 1)).proposed == expected
    file = "\n".join(["v|x", *(f"{cell}|a" for cell in cells)]).encode()
    for origin in (file, hold(file)):
        look = look_at_marks(origin, "v")
        assert (look.proposed, look.is_open) == (expected, len(expected) > 1)


def test_numbers_of_a_type_of_their_own_are_never_asked_about() -> None:
    data = count_bins(b'[{"v": 1.125}, {"v": 2.375}]', "v", lower=0, upper=4, n_bins=2)
    assert data.counts.tolist() == [2, 1, 1, 0]


def test_counts_beside_categories_have_marks_too() -> None:
    file = b"place;n\nx;1.500\ny;2.000.000\nx;3,0\n"
    with pytest.raises(InputError, match="unless the option marks"):
        count_hierarchy(file, ["place"], domain=FROM_DATA, weight="n")
    data = count_hierarchy(file, ["place"], domain=FROM_DATA, weight="n", marks={"n": ",."})
    assert data.counts.tolist() == [2_001_503, 1_503, 2_000_000]
    assert domain_of_paths(file, ["place"], weight="n", marks={"n": ",."}).records is not None
    with pytest.raises(InputError, match=r"'3,5' is not a count"):
        count_hierarchy(b"p;n\nx;3,5\n", ["p"], domain=FROM_DATA, weight="n", marks={"n": ",."})


@pytest.mark.parametrize("marks", [{"who": ","}, {"pay": ",,"}, {"pay": ""}])
def test_marks_that_nothing_can_mean_are_refused(marks: dict[str, str]) -> None:
    with refuses("MARKS"):
        count_bins(GERMAN, "pay", lower=0, upper=9, n_bins=3, marks=marks)


def test_a_range_of_bins_is_not_read_by_a_thousandth() -> None:
    with pytest.raises(InputError, match=r"every point stands before three digits, as in '2\.000', row 2"):
        ranges_of_table(b"lower;upper\n1;2.000\n", 3000)
    assert ranges_of_table(b"lower;upper\n1;2.000\n", 3000, marks={"upper": ",."}) == ((1, 2000),)


# ---- rows that are no records


def test_totals_are_proposed_and_left_out_by_their_names() -> None:
    whole = count_hierarchy(CENSUS, ["state", "city"], domain=FROM_DATA, weight="n")
    assert whole.total == 123 and whole.report.totals == (("city", "(blank)"),)
    assert "TOTALS" in dict(whole.report.notices)
    for origin in (CENSUS, hold(CENSUS)):
        data = count_hierarchy(origin, ["state", "city"], domain=FROM_DATA, weight="n", left_out={"city": [""]})
        assert (data.total, data.report.rows, data.report.left_out, data.report.totals) == (41, 7, 3, ())
        assert data.report.recipe.left_out == (("city", ("(blank)",)),)
        assert "3 rows with '(blank)' in column 'city'" in dict(data.report.notices)["LEFT_OUT"]
    by_state = count_hierarchy(CENSUS, ["state"], domain=FROM_DATA, weight="n", left_out={"city": [""]})
    assert by_state.counts.tolist() == [41, 11, 30]  # by a column that is no level


def test_a_total_outside_a_public_domain_is_proposed() -> None:
    file = b"sex,n\nF,10\nM,2\nGesamt,12\n"
    data = count_hierarchy(file, ["sex"], domain=domain_of_values([["F", "M"]]), weight="n")
    assert data.report.totals == (("sex", "Gesamt"),) and data.report.other == 12
    left = count_hierarchy(
        file, ["sex"], domain=domain_of_values([["F", "M"]]), weight="n", left_out={"sex": ["Gesamt"]}
    )
    assert left.counts.tolist() == [12, 10, 2, 0] and "UNSEEN" not in dict(left.report.notices)


def test_what_is_left_out_is_read_for_nothing_else() -> None:
    file = b"who,place,n,v\na,x,1,1\na,x,1,2\na,y,1,3\n,Total,all,1.500\nb,y,1,9\n"
    out = {"place": ["Total"]}
    units = count_hierarchy(file, ["place"], domain=FROM_DATA, unit="who", contributions=2, left_out=out)
    assert (units.counts.tolist(), units.report.units, units.report.clipped) == ([3, 2, 1], 2, 1)
    assert count_hierarchy(file, ["place"], domain=FROM_DATA, weight="n", left_out=out).total == 4
    bins = count_bins(file, "v", lower=0, upper=10, n_bins=2, left_out=out)
    assert (bins.counts.tolist(), bins.report.left_out) == ([4, 3, 1, 0], 1)
    weighted = count_bins(file, "v", lower=0, upper=10, n_bins=2, weight="n", left_out=out)
    assert weighted.counts.tolist() == [4, 3, 1, 0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from(["", "x", "y", "Total"])] * 2, st.integers(0, 9)), min_size=1, max_size=12),
    st.dictionaries(st.sampled_from("ab"), st.lists(st.sampled_from(["(blank)", "x", "Total"]), min_size=1)),
)
def test_leaving_rows_out_is_counting_the_file_without_them(rows: list[Any], out: dict[str, list[str]]) -> None:
    def named(row: tuple[str, str, int]) -> bool:
        return any((row["ab".index(column)] or "(blank)") in labels for column, labels in out.items())

    def file(some: list[Any]) -> bytes:
        return "\n".join(["a,b,n", *(",".join(map(str, row)) for row in some)]).encode()

    kept = [row for row in rows if not named(row)]
    domain = domain_of_values([["x", "y", "Total"], ["x", "y", "Total", "(blank)"]])
    data = count_hierarchy(file(rows), ["a", "b"], domain=domain, weight="n", left_out=out)
    assert data.report.left_out == len(rows) - len(kept)
    if kept:
        expected = count_hierarchy(file(kept), ["a", "b"], domain=domain, weight="n")
        assert data.counts.tolist() == expected.counts.tolist()
        assert data.report.blank_labels == expected.report.blank_labels


@pytest.mark.parametrize("out", [{"n": ["1"]}, {"state": []}, {"state": "Total"}])
def test_what_cannot_be_left_out_is_refused(out: dict[str, Any]) -> None:
    with refuses("LEFT_OUT"):
        count_hierarchy(CENSUS, ["state"], domain=FROM_DATA, weight="n", left_out=out)


def test_words_for_totals_are_words() -> None:
    for label in (
        "Total",
        "GESAMT",
        "Insgesamt:",
        "World",
        "Both sexes",
        "Ohio total",
        "Total général",
        "合計",
        "Summe",
    ):
        assert reads_as_total(label), label
    for label in ("Totnes", "All Saints", "Sumatra", "Kiel", "(blank)", "", "World Bank"):
        assert not reads_as_total(label), label


# ---- the value


@pytest.mark.parametrize(
    "wrong",
    [
        {"bound": 2}, {"bound": -1, "unit": "who"}, {"bounds": (2.0, 1.0)}, {"bounds": (1.0,)},
        {"bounds": (0.0, float("inf"))}, {"marks": (("a", "x"),)}, {"marks": (("b", ","), ("a", ","))},
        {"marks": (("a", ","), ("a", "."))}, {"left_out": (("a", ()),)}, {"weight": "x" * 1001}, {"unit": "\ud800"},
    ],
)  # fmt: skip
def test_a_recipe_that_no_count_can_mean_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Recipe(**wrong)


@pytest.mark.parametrize(
    "given", [None, [], {"cut": 1}, {"marks": [["a"]]}, {"marks": [[1, ","]]}, {"left_out": [["a", [1]]]},
              {"bounds": ["0", "1"]}, {"strange": 1}, {"bound": True}],
)  # fmt: skip
def test_a_strange_recipe_is_refused_in_a_sentence(given: Any) -> None:
    with pytest.raises(InputError):
        recipe_of(given)


def test_a_recipe_comes_back_from_json() -> None:
    recipe = Recipe("n", "", 0, True, True, False, (0.0, 2.5), (("n", ",."),), (("a", ("Total", "(blank)")),))
    assert recipe_of(json.loads(json.dumps(as_json(recipe)))) == recipe
    assert as_json(Recipe()) == {} and recipe_of({}) == Recipe()


# ---- what a plan says, and counts again


@pytest.mark.parametrize("kind", ["categories", "bins"])
def test_a_plan_says_what_was_done_to_its_counts_and_does_it_again(kind: str) -> None:
    how: dict[str, Any] = {"weight": "n", "marks": {"n": ",."}, "left_out": {"city": ["(blank)", "Summe"]}}
    file = b"state;city;n;v\nOhio;A;1.500;3\nOhio;;1.500;3\nIowa;B;20;7\nIowa;Summe;20;7\n"
    if kind == "categories":
        data = count_hierarchy(file, ["state"], domain=domain_of_values([["Ohio", "Iowa"]]), **how)
        assert data.counts.tolist() == [1520, 1500, 20, 0]
    else:
        data = count_bins(file, "v", lower=0, upper=10, n_bins=2, **how)
        assert data.counts.tolist() == [1520, 1500, 20, 0]
    plan = ReleasePlan.of(Experiment(epsilon=1.0), data)
    rows = dict(summary(plan))["Rows"]
    assert "those with “(blank)”, “Summe” in “city” are no records, and are left out" in rows
    assert "numbers in “n” have a decimal comma, thousands point" in rows
    assert any("taken to be nobody’s" in point for point in plan.open_points)
    again = recount(ReleasePlan.from_json(plan.to_json()), file)
    assert again.fingerprint == data.fingerprint and again.report.recipe == data.report.recipe
    assert records_of(plan, again) == records_of(plan, data)


def test_a_last_number_that_is_the_sum_of_the_others_is_said_to_be() -> None:
    file = b"name,v\na,1.5\nb,2\nc,4\nall of them,7.5\n"
    data = count_bins(file, "v", lower=0, upper=10, n_bins=2)
    assert "is the sum of all others" in dict(data.report.notices)["TOTALS"] and data.total == 4
    left = count_bins(file, "v", lower=0, upper=10, n_bins=2, left_out={"name": ["all of them"]})
    assert "TOTALS" not in dict(left.report.notices) and left.total == 3
    look = look_at_numbers(file, "v", left_out={"name": ["all of them"]})
    assert look.rows == 3 and look.values.max() == 4


def test_a_script_says_which_sheet_is_counted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for title, place in (("May", "Ulm"), ("June", "Kiel")):
        book.create_sheet(title).append(["place"])
        book[title].append([place])
    book.remove(book["Sheet"])
    book.save(tmp_path / "n.xlsx")
    script = {"treedp_sweep": 1, "title": "one", "experiments": {"epsilon": 1.0}, "simulated": False, "by": "level"}
    for said, sheet, place in (({}, "May", "Ulm"), ({"sheet": "June"}, "June", "Kiel")):
        data = {"file": "n.xlsx", "columns": ["place"], **said}
        found = read_task(json.dumps(script | {"data": data}).encode(), tmp_path).data
        assert (found.report.recipe.sheet, found.labels.path(1)) == (sheet, (place,))


def test_a_script_says_marks_and_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("place;n\nUlm;1.500\nKiel;20\nSumme;1.520\n", encoding="utf-8")
    data: dict[str, Any] = {"file": "n.csv", "columns": ["place"], "weight": "n"}
    data |= {"marks": {"n": ",."}, "left_out": {"place": ["Summe"]}}
    script = {"treedp_sweep": 1, "title": "one", "data": data, "experiments": {"epsilon": 1.0}, "simulated": False,
              "by": "level"}  # fmt: skip
    assert read_task(json.dumps(script).encode(), tmp_path).data.counts.tolist() == [1520, 20, 1500]
    del data["marks"]
    with pytest.raises(InputError, match="unless the option marks says which"):
        read_task(json.dumps(script).encode(), tmp_path)
    with pytest.raises(InputError, match="marks of each column as text"):
        read_task(json.dumps(script | {"data": data | {"marks": {"n": 1}}}).encode(), tmp_path)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pa.array([1.5, 2.0]), "."), (pa.array(["1,5", None]), ","), (pa.array(["1,5"], pa.string_view()), ","),
        (pa.array(["1,5"], pa.large_string()), ","), (pa.array([None, None]), "."),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1] * 9000), pa.array(["x" * 1_000_000, "1,5"])), ","),
    ],
)  # fmt: skip
def test_columns_of_any_type_are_looked_at(cells: pa.Array, expected: str) -> None:
    assert look_at_marks(pa.table({"v": cells}), "v").proposed == (expected,)
