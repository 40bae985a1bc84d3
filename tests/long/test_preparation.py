"""`treedp prepare`: from any file that the reader takes, and a plan's recipe, to the counts that the app has."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan, preparation, records_of, recount
from treedp_core.plans.handover import refusals
from treedp_core.plans.words import open_points
from treedp_core.records import (
    Dataset,
    HeldColumns,
    ReadOptions,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
)
from treedp_core.records.derive.derivation import DERIVATIONS
from treedp_core.records.read.column_cache import hold
from treedp_core.studies.topdown.contingency_table import product_of_columns
from treedp_core.studies.topdown.plan import plan as plan_top_down

Rows = list[dict[str, Any]]


def text_of(rows: Rows, mark: str, *, decimal: str = ".") -> str:
    """Rows as lines of cells with a mark between them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value, decimal) for value in row.values()] for row in rows)
    return out.getvalue()


def _cell(value: Any, decimal: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value).replace(".", decimal) if isinstance(value, float) else str(value)


def table_of(rows: Rows) -> pa.Table:
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(table_of(rows), out)
    return out.getvalue()


def arrow(rows: Rows) -> bytes:
    out = io.BytesIO()
    table = table_of(rows)
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def excel(rows: Rows) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


FORMS: dict[str, tuple[str, Callable[[Rows], bytes]]] = {
    "comma": ("csv", lambda rows: text_of(rows, ",").encode()),
    "semicolon": ("csv", lambda rows: text_of(rows, ";").encode()),
    "tab": ("tsv", lambda rows: text_of(rows, "\t").encode()),
    "bar": ("csv", lambda rows: text_of(rows, "|").encode("utf-8-sig")),
    "utf-16": ("csv", lambda rows: text_of(rows, ",").encode("utf-16")),
    "gz": ("csv.gz", lambda rows: gzip.compress(text_of(rows, ",").encode())), "parquet": ("parquet", parquet),
    "arrow": ("arrow", arrow), "excel": ("xlsx", excel), "json": ("json", lambda rows: json.dumps(rows).encode()),
    "json lines": ("jsonl", lambda rows: "\n".join(map(json.dumps, rows)).encode()),
}  # fmt: skip
PLACES = [
    ("Nord", "Köln"), ("Nord", "Ulm"), ("Süd", "Ulm"), ("Süd", "+1"), ("Süd", 'a "b", c'), ("West", "Ulm"),
    (None, "Ulm"),
]  # fmt: skip
ROWS: Rows = [
    {
        "region": PLACES[i % 7][0], "town": PLACES[i % 7][1], "works": i % 3 == 0, "age": (7 * i) % 50,
        "pay": round(0.1 * (i % 23), 1), "who": f"p{i % 11}", "n": i % 4,
        "born": f"202{i % 3}-{1 + i % 12:02}-{1 + i % 28:02}", "zip": f"0{i % 4}{i % 7}",
    }
    for i in range(60)
]  # fmt: skip
NAMED = domain_of_values({"region": ["Nord", "Süd"], "town": ["Köln", "Ulm", "+1", 'a "b", c']})
NESTED = domain_of_paths("region,town\nNord,Köln\nNord,Ulm\nSüd,Ulm\nSüd,(other)\nWest,\n(blank),Ulm\n".encode())
TRUTH = domain_of_values({"works": ["true", "false"], "region": ["Nord", "Süd", "(blank)", "(other)"]})
AGES = domain_of_values({"age": [str(age) for age in range(0, 50, 7)]})

MADE: dict[str, tuple[str, list[str]]] = {
    "time": ("born:time:quarter", ["2020 Q1", "2020 Q2", "2021 Q1", "2022 Q4"]),
    "prefix": ("zip:prefix:2", ["00", "01"]),
    "bands": ("age:bands:0; 18; 40", ["[0, 18)", "[18, 40]"]),
    "spelling": ("town:spelling:case", ["köln", "ulm"]),
    "names": ('town:names:{"Ulm": "+1"}', ["Köln", "+1"]),
    "keep": ('town:keep:["Ulm"]', ["Ulm", "(rest)"]),
    "frequent": ('region:frequent:["Süd"]', ["Süd", "(rest)"]),
}
"""Of each rule a level, and labels of it."""


def with_made(name: str) -> Callable[[Any], Dataset]:
    how, labels = MADE[name]
    domain = domain_of_values({"region": ["Nord", "Süd"], "made": labels})
    return lambda file: count_hierarchy(file, ["region", "made"], domain=domain, derive={"made": how})


COUNTS: dict[str, Callable[[Any], Dataset]] = {
    "product": lambda file: count_hierarchy(file, ["region", "town"], domain=NAMED),
    "nested": lambda file: count_hierarchy(file, ["region", "town"], domain=NESTED),
    "nested, blanks out": lambda file: count_hierarchy(file, ["region", "town"], domain=NESTED, missing="other"),
    "booleans": lambda file: count_hierarchy(file, ["works", "region"], domain=TRUTH),
    "numbers as labels": lambda file: count_hierarchy(file, ["age"], domain=AGES),
    "weights": lambda file: count_hierarchy(file, ["region", "town"], domain=NAMED, weight="n"),
    "units": lambda file: count_hierarchy(file, ["region", "town"], domain=NAMED, unit="who", contributions=2),
    "equal bins": lambda file: count_bins(file, "age", lower=0, upper=40, n_bins=4, branching=(2, 2)),
    "cut bins": lambda file: count_bins(file, "age", lower=10, upper=40, n_bins=3, outside="clamp", weight="n"),
    "unequal bins": lambda file: count_bins(file, "age", edges=[0, 5, 18, 30]),
    "grid of 0.1": lambda file: count_bins(file, "pay", lower=0, upper=2, n_bins=20),
    **{f"made by {name}": with_made(name) for name in MADE},
}


def read_again(content: bytes) -> Counter[tuple[str, ...]]:
    """Records by labels, as any reader of CSV finds them."""
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""))
    assert header[-1].startswith("records of plan ")
    return Counter({tuple(row[:-1]): int(row[-1]) for row in rows})


def counts_by_labels(data: Dataset, width: int) -> Counter[tuple[str, ...]]:
    """Records of the leaves by labels; of bins the last one only, as the file has it."""
    found: Counter[tuple[str, ...]] = Counter()
    for leaf in data.tree.leaves.tolist():
        path = data.labels.path(leaf)
        path = path[-1:] if data.report.recipe.numbers else path
        found[(*path, *[""] * (width - len(path)))] += int(data.counts[leaf])
    return +found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", COUNTS)
def test_every_kind_of_file_is_prepared_to_the_counts_of_the_app(name: str, form: str, tmp_path: Path) -> None:
    """Kind × mark × encoding × type × nesting × bins; the oracle is the count of the plain file, leaf by leaf."""
    suffix, write = FORMS[form]
    (tmp_path / f"people.{suffix}").write_bytes(write(ROWS))
    plain = COUNTS[name](FORMS["comma"][1](ROWS))
    plan = ReleasePlan.of(Experiment(contributions=2), plain)
    data = recount(ReleasePlan.from_json(plan.to_json()), tmp_path / f"people.{suffix}")
    prepared = records_of(plan, data)
    columns = len(prepared.splitlines()[0].split(b",")) - 1
    assert read_again(prepared) == counts_by_labels(plain, columns) == counts_by_labels(COUNTS[name](
        tmp_path / f"people.{suffix}"), columns)  # fmt: skip
    assert sum(read_again(prepared).values()) == data.total


def test_every_rule_is_prepared_and_one_that_the_counts_told_is_not_handed_over() -> None:
    assert set(MADE) == set(DERIVATIONS)
    for name in MADE:
        plan = ReleasePlan.of(Experiment(), COUNTS[f"made by {name}"](FORMS["comma"][1](ROWS)))
        told = [one.sentence for one in refusals(plan) if one.control == "Make levels"]
        assert bool(told) == (name == "frequent") == any("“made” keeps" in point for point in open_points(plan))


@pytest.mark.parametrize(("mark", "marks", "written"), [
    (";", ",", "{:.2f}"), (";", ",.", "{:,.2f}"), ("\t", ", ", "{:,.2f}"), (",", ",.", "{:,.2f}"),
    ("|", ".,", "{:,.2f}"),
])  # fmt: skip
def test_marks_of_numbers_are_those_of_the_plan(mark: str, marks: str, written: str) -> None:
    """1.328,16 and the like fall where 1328.16 does; the oracle counts the numbers themselves."""
    pay = [1.5 * i + 0.16 * (i % 7) for i in range(0, 1200, 7)]
    turned = [written.format(value).translate({44: marks[1:] or None, 46: marks[0]}) for value in pay]
    file = text_of([{"pay": cell, "n": 1} for cell in turned], mark).encode()
    data = count_bins(file, "pay", lower=0, upper=2_000, n_bins=8, marks={"pay": marks})
    plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
    found = read_again(records_of(plan, recount(plan, file)))
    at = Counter(f"[{int(value // 250) * 250}, {int(value // 250) * 250 + 250})" for value in pay)
    assert found == {(label.replace("2000)", "2000]"),): n for label, n in at.items()}


def test_no_single_cell_has_a_file_refused_whose_plan_says_no_marks() -> None:
    """Without a plan these are refused, as they may be read in two ways."""
    file = b"pay\n3\n19.5\n"
    plan = ReleasePlan.of(Experiment(), count_bins(file, "pay", lower=0, upper=20, n_bins=4))
    for cell in (b'"1,5"', b"1.500", b"1'000"):
        with pytest.raises(InputError, match="marks"):
            count_bins(b"pay\n" + cell + b"\n", "pay", lower=0, upper=20, n_bins=4)
        assert sum(read_again(records_of(plan, recount(plan, file + cell + b"\n"))).values()) == 3


def test_what_was_said_of_a_text_file_is_said_by_the_plan_and_may_be_said_anew() -> None:
    """Seen failing: the plan of a file in cp1252 refused that very file."""
    text = text_of(ROWS, ":")
    options = ReadOptions("cp1252", ":")
    for origin in (text.encode("cp1252"), hold(text.encode("cp1252"), options=options)):
        said = None if isinstance(origin, HeldColumns) else options
        data = count_hierarchy(origin, ["region", "town"], domain=NAMED, options=said)
        plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
        expected = counts_by_labels(COUNTS["product"](FORMS["comma"][1](ROWS)), 2)
        assert read_again(records_of(plan, recount(plan, text.encode("cp1252")))) == expected
        anew = ReadOptions("utf-16", ":")
        assert read_again(records_of(plan, recount(plan, text.encode("utf-16"), anew))) == expected
        assert "a text file is in cp1252" in plan.to_markdown()


def book_of(**sheets: Rows) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, rows in sheets.items():
        book.create_sheet(title)
        for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book[title].append(row)
    book.save(out)
    return out.getvalue()


def test_a_plan_has_how_its_file_was_laid_out_and_finds_nothing_out_of_another(tmp_path: Path) -> None:
    """Were a title or a note looked for, one record that looks like one would move the others."""
    rows = [{"region": one["region"], "town": one["town"], "n": one["n"]} for one in ROWS]
    plain = text_of(rows, ";")
    laid_out = ("Towns of 2024\n\n" + plain + "\nSource: Office\n* as of May\n").encode("cp1252")
    data = COUNTS["product"](laid_out)
    plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
    told = plan.to_markdown()
    assert all(
        one in told for one in ("is in cp1252", "row 3 names the columns", "lines at the end that are no records: 2")
    )
    expected = counts_by_labels(COUNTS["product"](plain.encode()), 2)
    assert read_again(records_of(plan, recount(plan, laid_out))) == expected
    for more in ("Süd;* a note of some words;1", "Source: x;;", ";;"):
        other = ReleasePlan.from_json(ReleasePlan.of(Experiment(), COUNTS["product"](plain.encode())).to_json())
        found = read_again(records_of(other, recount(other, (plain + more + "\n").encode())))
        assert found == expected + Counter({("(other)", ""): 1})
    with pytest.raises(InputError) as caught:
        recount(other, laid_out)
    assert caught.value.code == "ENCODING"
    (tmp_path / "people.csv").write_bytes(laid_out)
    (tmp_path / "plan.json").write_text(other.to_json(), encoding="utf-8")
    said = ["--encoding", "cp1252", "--header", "3", "--footer", "2"]
    folder = ["--folder", str(tmp_path)]
    assert preparation.main([str(tmp_path / "people.csv"), str(tmp_path / "plan.json"), *folder]) == 2
    assert preparation.main([str(tmp_path / "people.csv"), str(tmp_path / "plan.json"), *folder, *said]) == 0


def test_a_plan_of_a_file_without_names_reads_the_first_row_of_another(tmp_path: Path) -> None:
    data = count_hierarchy(
        b"Ulm,34,m\nKiel,20,f\nBonn,7,m\n", ["column 3"], domain=domain_of_values({"column 3": ["m", "f"]})
    )
    plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
    assert "no row names the columns" in plan.to_markdown()
    names, other = tmp_path / "plan.json", tmp_path / "people.csv"
    names.write_text(plan.to_json(), encoding="utf-8")
    other.write_bytes(b"town,age,f\nKiel,20,f\n")
    assert recount(plan, other.read_bytes()).counts.tolist()[1:] == [0, 2, 0]
    run = [str(other), str(names), "--folder", str(tmp_path)]
    assert [preparation.main([*run, "--header", said]) for said in ("none", "1")] == [0, 2], "another has no column 3"


def test_the_sheet_that_was_counted_is_the_plans_wherever_it_stands_and_may_be_said_anew(tmp_path: Path) -> None:
    first, second = ROWS[:20], ROWS[20:]
    file, turned = book_of(May=first, June=second), book_of(July=ROWS, June=second, May=first)
    expected = {"May": first, "June": second, "July": ROWS}
    expected = {name: counts_by_labels(COUNTS["product"](text_of(rows, ",").encode()), 2)
                for name, rows in expected.items()}  # fmt: skip
    for said in ("May", "June", None):
        for origin in (file, hold(file, options=ReadOptions(sheet=said))):
            options = None if isinstance(origin, HeldColumns) else ReadOptions(sheet=said)
            data = count_hierarchy(origin, ["region", "town"], domain=NAMED, options=options)
            plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
            assert f"of a workbook the sheet “{said or 'May'}” is read" in plan.to_markdown()
            assert read_again(records_of(plan, recount(plan, turned))) == expected[said or "May"]
            assert read_again(records_of(plan, recount(plan, text_of(first, ",").encode()))) == expected["May"]
            anew = recount(plan, turned, ReadOptions(sheet="July"))
            assert read_again(records_of(plan, anew)) == expected["July"]
            with pytest.raises(InputError, match="the sheets are: 'August', 'September'"):
                recount(plan, book_of(August=first, September=first))
    (tmp_path / "people.xlsx").write_bytes(turned)
    (tmp_path / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    words = [str(tmp_path / "people.xlsx"), str(tmp_path / "plan.json"), "--folder", str(tmp_path)]
    for more, name in (([], "May"), (["--sheet", "June"], "June")):
        assert preparation.main([*words, *more]) == 0
        assert read_again((tmp_path / "people-prepared-NOT-PRIVATE.csv").read_bytes()) == expected[name]


def test_what_is_said_anew_of_a_file_leaves_the_rest_as_the_plan_has_it() -> None:
    """Another encoding once made the delimiter be found out: one of the text's own marks was taken for it."""
    text = "a:b,c\nx:1,1\ny:2,2\n"
    data = count_hierarchy(text.encode(), ["a"], domain=domain_of_values({"a": ["x", "y"]}),
                           options=ReadOptions(delimiter=":"))  # fmt: skip
    plan = ReleasePlan.of(Experiment(), data)
    again = recount(plan, text.encode("utf-16"), ReadOptions("utf-16"))
    assert read_again(records_of(plan, again)) == {("x",): 1, ("y",): 1}


def test_rows_of_totals_stay_left_out() -> None:
    rows = [
        *ROWS,
        {**ROWS[0], "region": "Nord", "town": "Gesamt", "n": 999},
        {**ROWS[0], "region": "Gesamt", "n": 9999},
    ]
    said = {"region": ["Gesamt"], "town": ["Gesamt"]}
    for form in ("semicolon", "parquet"):
        file = FORMS[form][1](rows)
        data = count_hierarchy(file, ["region", "town"], domain=NAMED, weight="n", left_out=said)
        plan = ReleasePlan.from_json(ReleasePlan.of(Experiment(), data).to_json())
        expected = counts_by_labels(COUNTS["weights"](FORMS["comma"][1](ROWS)), 2)
        assert read_again(records_of(plan, recount(plan, file))) == expected


def test_decimals_and_codes_of_a_database_are_prepared_like_numbers() -> None:
    table = pa.table({
        "pay": pa.array([Decimal("0.30"), Decimal("0.70"), None, Decimal("9.99")], pa.decimal128(5, 2)),
        "town": pa.array(["Ulm", "Köln", "Ulm", None]).dictionary_encode(),
    })  # fmt: skip
    data = count_hierarchy(table, ["town"], domain=domain_of_values({"town": ["Ulm", "Köln"]}))
    plan = ReleasePlan.of(Experiment(), data)
    assert read_again(records_of(plan, recount(plan, table))) == {("Ulm",): 2, ("Köln",): 1, ("(other)",): 1}
    plan = ReleasePlan.of(Experiment(), count_bins(table, "pay", lower=0, upper=10, n_bins=100))
    expected = {("[0.3, 0.4)",): 1, ("[0.7, 0.8)",): 1, ("[9.9, 10]",): 1, ("(other)",): 1}
    assert read_again(records_of(plan, recount(plan, table))) == expected


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(["a", "b", "z", "", "(other)", "(blank)"]),
                            st.sampled_from(["x", "y", "z", "", " x"])), min_size=1, max_size=30),
    listed=st.lists(st.sampled_from(["a,x", "a,y", "b,x", "b,(blank)", "b,(other)", "(other),(other)", "c,"]),
                    min_size=1, unique=True),
    missing=st.sampled_from(["category", "other"]),
)  # fmt: skip
def test_any_domain_and_any_labels_are_recounted_alike(
    rows: list[tuple[str, str]], listed: list[str], missing: str
) -> None:
    file = "first,second\n" + "".join(f'"{a}","{b}"\n' for a, b in rows)
    domain = domain_of_paths(("first,second\n" + "\n".join(listed) + "\n").encode(), ["first", "second"])
    try:
        data = count_hierarchy(file.encode(), ["first", "second"], domain=domain, missing=missing)
    except InputError as error:
        assert error.code == "DOMAIN_IS_DATA"
        return
    plan = ReleasePlan.of(Experiment(), data)
    again = recount(ReleasePlan.from_json(plan.to_json()), file.encode())
    assert records_of(plan, again).splitlines()[0] == records_of(plan, data).splitlines()[0]
    assert read_again(records_of(plan, again)) == read_again(records_of(plan, data)) == counts_by_labels(data, 2)


def test_columns_of_a_table_in_another_order_are_prepared_in_the_order_of_the_plan() -> None:
    data = COUNTS["booleans"](FORMS["comma"][1](ROWS))
    exact = count_hierarchy(FORMS["comma"][1](ROWS), ["works", "region"], domain=TRUTH, outside="refuse")
    subject = product_of_columns(exact, (1, 0))
    plan = ReleasePlan.of(plan_top_down(subject.domain, 0.5), subject, counted=exact)
    found = read_again(records_of(plan, exact))
    assert found == {(b, a): n for (a, b), n in counts_by_labels(exact, 2).items()}
    assert found == read_again(records_of(plan, recount(plan, FORMS["parquet"][1](ROWS))))
    assert data.total == sum(found.values())


def test_other_records_than_the_plan_s_are_refused() -> None:
    file = FORMS["comma"][1](ROWS)
    plan = ReleasePlan.of(Experiment(), COUNTS["product"](file))
    for other, why in (("weights", "another way"), ("booleans", "other columns"), ("nested", "does not list")):
        with refuses("RECORDS_OTHER", why):
            records_of(plan, COUNTS[other](file))


def test_the_command_writes_one_file_and_says_what_is_exact_beside_it(tmp_path: Path) -> None:
    """Of a file between semicolons with labels that nothing lists; its name and what it says are NOT PRIVATE."""
    plan = ReleasePlan.of(Experiment(), COUNTS["product"](FORMS["comma"][1](ROWS)))
    (tmp_path / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    (tmp_path / "people.csv").write_bytes(FORMS["semicolon"][1](ROWS))
    done = subprocess.run([sys.executable, "-m", "treedp_core", "prepare", "people.csv", "plan.json"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "people-prepared-NOT-PRIVATE.csv\n"
    assert "NOT PRIVATE" in done.stderr and "60 rows read" in done.stderr and "“West”" not in done.stdout
    assert "records stand under (other)" in done.stderr and "outside the public domain" in done.stderr
    content = (tmp_path / "people-prepared-NOT-PRIVATE.csv").read_bytes()
    assert content == records_of(plan, recount(plan, tmp_path / "people.csv"))


@pytest.mark.parametrize(("words", "code"), [
    (["none.csv", "plan.json"], 2), (["people.csv", "none.json"], 2), (["plan.json", "plan.json"], 2),
    (["people.csv", "plan.json", "--folder", "no/such"], 2), (["people.csv", "plan.json"], 0),
])  # fmt: skip
def test_what_cannot_be_prepared_is_one_sentence(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ReleasePlan.of(Experiment(), COUNTS["product"](FORMS["comma"][1](ROWS)))
    (tmp_path / "plan.json").write_text(plan.to_json(), encoding="utf-8")
    (tmp_path / "people.csv").write_bytes(FORMS["comma"][1](ROWS))
    monkeypatch.chdir(tmp_path)
    assert preparation.main(words) == code
    said = capsys.readouterr().err
    assert code == 0 or (said.startswith("treedp: ") and said.count("\n") == 1 and "from_json" not in said)
