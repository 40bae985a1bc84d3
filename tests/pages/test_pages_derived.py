"""Levels made of a column of an upload: proposed, made by one press, undone, kept by what counts it again."""

from __future__ import annotations

import io
import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import codes, open_page, words
from pages.ui.tables import store
from test_pages_data import count, held, labelled
from treedp_core.checks import InputError
from treedp_core.cli import environment
from treedp_core.records import DomainSource
from treedp_core.records.dataset import leaves_table
from treedp_core.records.export.tables import csv_bytes

pytestmark = pytest.mark.usefixtures("own_jobs")

ROWS = [
    ("2023-01-31", "0712", 17), ("2023-02-01", "0723", 40), ("2024-02-02", "1299", 41), ("2024-02-02", "1212", 90),
    ("2024-02-02", "1310", 65),
]  # fmt: skip
FRAME = pd.DataFrame(ROWS * 9, columns=["born", "code", "age"])


def opened(text: bytes = FRAME.to_csv(index=False).encode()) -> AppTest:
    app = open_page("data", source="upload")
    return app.file_uploader[0].upload("people.csv", text).run()


def chosen(app: AppTest) -> list[str]:
    return list(labelled(app.multiselect, "Columns of").value)


def press(app: AppTest, label: str) -> AppTest:
    return labelled(app.button, label).click().run()


def paths(app: AppTest) -> dict[tuple[str, ...], int]:
    data = held(app)
    leaves = data.tree.level(data.tree.height)
    return {data.labels.path(leaf): int(data.counts[leaf]) for leaf in range(leaves.start, leaves.stop)}


def test_a_date_becomes_levels_by_one_press_and_counts_are_those_of_pandas() -> None:
    app = opened()
    assert [one.label for one in app.button if ": " in one.label] == [
        "From the data: born › code", "born: year › month", "code: first 2 › code", "age: band",
    ]  # fmt: skip
    press(app, "born: year")
    assert chosen(app) == ["year of born", "month of born"]
    count(app)
    assert not app.exception and codes(app) == []
    months = FRAME.groupby([FRAME.born.str[:4], FRAME.born.str[:7]]).size()
    assert paths(app) == months.to_dict()
    assert held(app).report.recipe.derived == (("month of born", "born:time:month"), ("year of born", "born:time:year"))


def test_levels_stand_in_the_controls_when_it_is_counted_again_and_are_undone_one_by_one() -> None:
    app = count(press(opened(), "code: first 2"))
    assert held(app).labels.level_names == ("all", "first 2 of code", "code")
    assert chosen(app) == ["first 2 of code", "code"]
    assert paths(app) == FRAME.groupby([FRAME.code.str[:2], FRAME.code]).size().to_dict()
    press(app, "first 2 of code")
    assert chosen(app) == ["code"]
    count(app)
    assert paths(app) == {(code,): n for code, n in FRAME.code.value_counts().items()}
    assert held(app).report.recipe.derived == ()


@pytest.mark.parametrize(
    ("column", "rule", "label", "typed", "level"),
    [
        ("age", "Bands of a number", "Or typed", "0; 18; 65; 100", ["[0, 18)", "[18, 65)", "[65, 100]"]),
        ("code", "Own names", "As you say it", "0712 = home\n0723 = home", ["1212", "1299", "1310", "home"]),
        ("code", "A list, and the rest", "As you say it", "1299\n0712", ["(rest)", "0712", "1299"]),
        ("born", "Dates and times", "Or typed", "quarter", ["2023 Q1", "2024 Q1"]),
    ],
)
def test_any_rule_is_told_by_typing(column: str, rule: str, label: str, typed: str, level: list[str]) -> None:
    app = opened()
    boxes = labelled(app.selectbox, "Column")
    boxes.set_value(list(FRAME.columns).index(column)).run()
    by = labelled(app.selectbox, "Rule")
    by.set_value(by.options.index(rule)).run()
    if label == "Or typed" and app.pills and labelled(app.pills, "Into levels").value:
        labelled(app.pills, "Into levels").set_value([]).run()
    labelled([*app.text_area, *app.text_input], label).set_value(typed).run()
    count(press(app, "Make"))
    assert not app.exception and codes(app) == []
    assert sorted(path[0] for path in paths(app)) == sorted(level)


@pytest.mark.parametrize(
    ("head", "rows", "says"),
    [
        ("born,n", [f"2024-01-{n:02},1" for n in range(1, 20)] + ["soon,1"], "born holds dates, but 1 of its 20"),
        ("born,n", ["13/05/2024,1", "05/13/2024,1", *(f"01/{n:02}/2024,1" for n in range(1, 9))], "with the day first"),
        ("fips,n", [f"{n:05},1" for n in range(1001, 1012)] + ["9003,1"], "zeros in front may have been lost"),
        ("id,parent", [f"x{n},x{n // 2}" for n in range(1, 30)], "a table of edges"),
    ],
)  # fmt: skip
def test_what_is_not_proposed_says_why_in_one_sentence(head: str, rows: list[str], says: str) -> None:
    """Seen failing: the button was not there, and nobody said why."""
    app = opened("\n".join([head, *rows]).encode())
    assert not app.exception and not app.error
    assert words(app).replace("`", "").replace("'", "").count(says) == 1


def test_edges_of_ones_own_stand_for_those_that_are_proposed_and_say_what_lies_beyond_them() -> None:
    app = opened()
    labelled(app.selectbox, "Column").set_value(2).run()
    assert labelled(app.pills, "Into levels").value
    labelled(app.text_input, "Or typed").set_value("20; 40; 60").run()
    press(app, "Make")
    assert len(chosen(app)) == 1, "seen failing: the proposed edges stayed, and made a level of their own"
    count(app)
    assert not app.exception and paths(app) == {("[40, 60]",): 18, ("(outside)",): 27}
    labelled(app.multiselect, "Leave out rows with another").set_value(["(outside) in band of age"]).run()
    count(app)
    assert paths(app) == {("[40, 60]",): 18} and held(app).report.left_out == 27
    app = opened()
    labelled(app.selectbox, "Column").set_value(2).run()
    labelled(app.text_input, "Or typed").set_value("20; 40; 60").run()
    labelled(app.toggle, "Open at both").set_value(True).run()
    count(press(app, "Make"))
    assert not app.exception and paths(app) == {("(-∞, 40)",): 9, ("[40, ∞)",): 36}


def test_levels_of_a_date_stand_from_coarse_to_fine_in_whatever_order_they_are_made() -> None:
    app = press(opened(), "born: year")
    labelled(app.selectbox, "Rule").set_value(0).run()
    labelled(app.pills, "Into levels").set_value(["week", "quarter"]).run()
    press(app, "Make")
    levels = ["year of born", "quarter of born", "month of born", "week of born"]
    assert chosen(app) == levels, "seen failing: a quarter below a month"
    app = opened()
    labelled(app.multiselect, "Columns of").set_value(["code"]).run()
    labelled(app.pills, "Into levels").set_value(["quarter", "year"]).run()
    press(app, "Make")
    assert chosen(app) == ["code", "year of born", "quarter of born"]
    press(app, "code: first 2")
    assert chosen(app) == ["first 2 of code", "code", "year of born", "quarter of born"]


def test_what_a_file_suggests_is_that_of_the_sheet_that_is_read() -> None:
    book, stored = openpyxl.Workbook(), io.BytesIO()
    rows = [[f"R{n % 2}", f"T{n % 6}", f"2024-0{1 + n % 3}-0{1 + n % 9}"] for n in range(60)]
    more = [[f"R{n % 4}", f"T{n % 8}", f"2023-0{1 + n % 9}-1{n % 9}"] for n in range(80)]
    for title, head, body in (
        ("one", ["region", "town", "at"], rows), ("two", ["region", "town", "at"], more),
        ("three", ["sex", "code"], [[one[0], f"07{one[1][1:]}{one[2][-1]}"] for one in more]),
    ):  # fmt: skip
        sheet = book.active if title == "one" else book.create_sheet()
        sheet.title = title
        for row in (head, *body):
            sheet.append(row)
    book.save(stored)
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("book.xlsx", stored.getvalue()).run()
    press(app, "at: month")
    for title, frame in (("two", more), ("one", rows)):
        labelled(app.selectbox, "Sheet").set_value(title).run()
        assert not app.exception, "seen failing: levels made of one sheet were joined to another"
        labelled(app.multiselect, "Columns of").set_value(["region", "town"]).run()
        towns = len({tuple(row[:2]) for row in frame})
        remembered = app.session_state[store.MEMORY][""]
        shown = [n for key, n in remembered.items() if key[0] == "leaves so far" and key[-1] == "town"]
        assert shown[-1] == towns, "seen failing: the leaves of the sheet before"
    labelled(app.selectbox, "Sheet").set_value("three").run()
    assert not app.exception, "seen failing: a proposal for a column of another sheet"
    assert [one.label for one in app.button if ": " in one.label][-1].startswith("code: first")


def test_a_cell_that_does_not_fit_is_one_sentence_and_nothing_is_lost() -> None:
    app = opened((FRAME.to_csv(index=False) + "soon,0712,3\n").encode())
    labelled(app.selectbox, "Column").set_value(0).run()
    by = labelled(app.selectbox, "Rule")
    by.set_value(by.options.index("Dates and times")).run()
    labelled(app.text_input, "As you say it").set_value("year").run()
    press(app, "Make")
    assert not app.exception and len(app.error) == 1
    assert "row 47" in app.error[0].value and "soon" not in app.error[0].value
    assert chosen(app) == ["year of born"] and "Nothing was changed" not in words(app)
    press(app, "Take year of born away")
    assert not app.error and chosen(app) == []


def test_a_rule_that_is_told_nonsense_is_refused_in_passing() -> None:
    app = opened()
    labelled(app.text_input, "Or typed").set_value("moon").run()
    press(app, "Make")
    assert not app.exception and "year, quarter" in app.toast[0].value and chosen(app) == []


def test_a_level_has_a_name_that_no_column_has() -> None:
    app = opened(b"day,year of day\n2023-01-31,a\n2024-02-01,b\n2024-03-01,b\n")
    press(app, "day: year")
    assert chosen(app)[0] == "year of day 2"
    assert not count(app).exception and len(paths(app)) == 3


def test_levels_named_beside_a_file_stand_in_the_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text(FRAME.to_csv(index=False))
    said = ["born:time:year", "code"]
    for name, value in environment({}, str(tmp_path / "people.csv"), levels=said).items():
        if name in ("TREEDP_FILE", "TREEDP_LEVELS"):
            monkeypatch.setenv(name, value)
    app = open_page("data", source="file")
    assert not app.exception and chosen(app) == ["year of born", "code"]
    app.button(key="file_count").click().run()
    assert paths(app) == FRAME.groupby([FRAME.born.str[:4], FRAME.code]).size().to_dict()
    for said in ({"levels": ["born:time:year", "town"]}, {"levels": ["code"], "weight": "town"}):
        monkeypatch.setenv("TREEDP_LEVELS", json.dumps(said))
        app = open_page("data", source="file")
        assert "no column `'town'`" in app.error[0].value and chosen(app) == []


def test_counts_and_rows_left_out_are_said_at_the_start_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people.csv").write_text(FRAME.to_csv(index=False))
    said = environment(
        {}, str(tmp_path / "people.csv"), levels=["born:time:year"], counts="age", leave_out=["code=1299", "code=1212"]
    )
    for name in ("TREEDP_FILE", "TREEDP_LEVELS"):
        monkeypatch.setenv(name, said[name])
    app = open_page("data", source="file")
    app.button(key="file_count").click().run()
    kept = FRAME[~FRAME.code.isin(["1299", "1212"])]
    assert paths(app) == {(year,): n for year, n in kept.groupby(kept.born.str[:4]).age.sum().items()}
    for wrong in ("code", "=1299", "code="):
        with pytest.raises(InputError, match="such as state=Total"):
            environment({}, str(tmp_path / "people.csv"), leave_out=[wrong])


def test_a_folder_is_one_table_and_its_dates_are_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAME.assign(born=pd.to_datetime(FRAME.born))
    for code, some in frame.groupby("code"):
        (tmp_path / "leaves" / f"code={code}").mkdir(parents=True)
        some.drop(columns="code").to_parquet(tmp_path / "leaves" / f"code={code}" / "part-0.parquet")
    for name, value in environment({}, str(tmp_path / "leaves"), levels=["code", "born:time:month"]).items():
        if name in ("TREEDP_FILE", "TREEDP_LEVELS"):
            monkeypatch.setenv(name, value)
    app = open_page("data", source="file")
    assert not app.exception and chosen(app) == ["code", "month of born"]
    app.button(key="file_count").click().run()
    assert paths(app) == FRAME.groupby([FRAME.code, FRAME.born.str[:7]]).size().to_dict()


def test_levels_are_those_of_a_file() -> None:
    with pytest.raises(InputError, match="name one"):
        environment({}, levels=["city"])
    assert "TREEDP_LEVELS" not in environment({"TREEDP_LEVELS": "[]"})


def test_a_list_that_the_counts_chose_says_so_until_somebody_says_that_it_is_public() -> None:
    app = opened()
    labelled(app.selectbox, "Column").set_value(0).run()
    by = labelled(app.selectbox, "Rule")
    by.set_value(next(at for at, rule in enumerate(by.options) if "FROM DATA" in rule)).run()
    labelled(app.number_input, "In at least").set_value(20).run()
    count(press(app, "Make"))
    assert not app.exception and paths(app) == {("2024-02-02",): 27, ("(rest)",): 18}
    ((_, how),) = held(app).report.recipe.derived
    assert how == 'born:frequent:["2024-02-02"]'
    count(press(app, "The list of"))
    ((_, how),) = held(app).report.recipe.derived
    assert how == 'born:keep:["2024-02-02"]' and paths(app) == {("2024-02-02",): 27, ("(rest)",): 18}


def test_rows_are_filtered_by_a_level_that_is_not_in_the_tree() -> None:
    app = press(opened(), "age: band")
    labelled(app.multiselect, "Columns of").set_value(["code"]).run()
    others = labelled(app.multiselect, "Leave out rows with another label")
    band = next(one for one in others.options if one.startswith("[80, 90]"))
    others.set_value([band]).run()
    count(app)
    assert not app.exception
    assert paths(app) == {(code,): n for code, n in FRAME[FRAME.age < 80].code.value_counts().items()}
    assert "band of age" in held(app).report.recipe.derived[0][0]


def test_a_filter_that_leaves_nothing_is_refused_and_the_table_stays() -> None:
    app = count(press(opened(), "code: first 2"))
    before = held(app)
    labelled(app.multiselect, "Leave out rows with another").set_value(
        ["07 in first 2 of code", "12 in first 2 of code", "13 in first 2 of code"]
    ).run()
    count(app)
    assert codes(app) == ["NO_RECORDS"] and held(app) is before, "seen failing: a tree of one node took its place"
    labelled(app.multiselect, "Leave out rows with another").set_value(["07 in first 2 of code"]).run()
    assert any("without those that are left out" in one.value for one in app.caption)
    count(app)
    assert not codes(app) and held(app).total == 27


def test_leaves_are_taken_along_without_counts_and_given_back_as_a_public_domain() -> None:
    app = count(press(opened(), "born: year"))
    there = paths(app)
    file = csv_bytes(leaves_table(held(app))).decode("utf-8-sig")
    assert file.splitlines() == ["year of born,month of born", "2023,2023-01", "2023,2023-02", "2024,2024-02"]
    labelled(app.radio, "Which categories").set_value("file").run()
    app.file_uploader[0].upload("domain.csv", (file + "2024,2024-03\n").encode()).run()
    count(app)
    assert not app.exception and codes(app) == []
    assert paths(app) == {**there, ("2024", "2024-03"): 0}
    assert held(app).domain_source is DomainSource.PUBLIC


def test_a_date_that_can_be_read_in_two_ways_is_offered_in_both_and_each_says_which() -> None:
    app = opened(b"at\n01/01/2024\n03/05/2024\n03/06/2023\n")
    assert [one.label for one in app.button if one.label.startswith("at: ")] == [
        "at: year › month (`03/05/2024 is 2024-05`)", "at: year › month (`03/05/2024 is 2024-03`)",
    ]  # fmt: skip


def test_categories_of_the_data_are_said_to_be_public_by_one_press_and_are_then_a_list() -> None:
    app = count(press(opened(), "born: year"))
    there = paths(app)
    assert held(app).domain_source is DomainSource.FROM_DATA and any("Not private" in one.value for one in app.warning)
    press(app, "These categories are public")
    assert not app.exception and not app.warning and codes(app) == []
    assert held(app).domain_source is DomainSource.PUBLIC and held(app).counts[0] == len(FRAME)
    assert {path: n for path, n in paths(app).items() if n} == there
    assert held(app).labels.path(held(app).other_leaf) == ("(other)",)
    assert labelled(app.radio, "Which categories").value == "leaves"
    labelled(app.pills, "Levels").set_value(["year of born"]).run()
    years = FRAME.born.str[:4].value_counts()
    assert held(app).domain_source is DomainSource.PUBLIC and years.to_dict() == {
        held(app).labels.path(node)[0]: int(held(app).counts[node]) for node in (1, 2)
    }
    plan = open_page("plan", held(app), plan_view="handover")
    assert not any("taken from the data" in one.value for one in (*plan.error, *plan.warning, *plan.markdown))


def test_edges_of_bands_are_read_off_a_public_file_and_never_off_the_one_that_is_counted() -> None:
    app = opened()
    labelled(app.selectbox, "Column").set_value(list(FRAME.columns).index("age")).run()
    public = pd.DataFrame({"age": [*range(100)], "x": 1}).to_csv(index=False).encode()
    shares = next(one for one in app.file_uploader if one.label == "Public file")
    shares.upload("public.csv", public).run()
    labelled(app.pills, "Into levels").set_value([]).run()
    count(press(app, "Make"))
    assert not app.exception and codes(app) == []
    ((_, how),) = held(app).report.recipe.derived
    assert how == "age:bands:25; 50; 75/open"
    cut = pd.cut(FRAME.age, [-float("inf"), 25, 50, 75, float("inf")], right=False).cat.codes
    labels = ["(-∞, 25)", "[25, 50)", "[50, 75)", "[75, ∞)"]
    assert paths(app) == {(labels[code],): n for code, n in cut.value_counts().sort_index().items()}
    assert [path[0] for path in paths(app)] == labels  # from low to high
    app = opened()
    labelled(app.selectbox, "Column").set_value(list(FRAME.columns).index("age")).run()
    shares = next(one for one in app.file_uploader if one.label == "Public file")
    shares.upload("same.csv", FRAME.to_csv(index=False).encode()).run()
    assert "the file that is counted" in app.error[0].value
