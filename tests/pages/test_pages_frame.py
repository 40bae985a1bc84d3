"""The frame, the first page and the data page: settings, links, uploads and refusals, run without a browser."""

from __future__ import annotations

import gzip
import io
import json
import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from pyarrow import parquet
from streamlit.testing.v1 import AppTest

from app import all_pages
from browsing import ROOT
from oracles_pages import figure, open_page, shared_link, words
from pages.ui.inputs import text
from pages.ui.inputs.settings import REG
from pages.ui.jobs import jobs
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError
from treedp_core.cli import CLASS_VARIABLE
from treedp_core.figures.base.colour import DIVERGING, DIVERGING_DARK
from treedp_core.records import Dataset
from treedp_core.records.export import tables
from treedp_core.watch import Cancelled, Watch

pytestmark = pytest.mark.usefixtures("own_jobs")

App = Callable[..., AppTest]
CSV = b"region,city,people\nNorth,Kiel,3\nNorth,Ulm,4\nSouth,Rome,5\n"
DEFAULT_NAME = "Small town (synthetic)"


@pytest.fixture
def app() -> App:
    def start(page: str = "", **link: Any) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
        for key, value in link.items():
            at.query_params[key] = value
        return (at.switch_page(f"pages/{page}.py") if page else at).run()

    return start


def is_sound(at: AppTest) -> bool:
    """Whether the page ran through the router without an exception."""
    texts = [e.value for e in at.error]
    return not at.exception and bool(at.sidebar.selectbox) and not any("Something went wrong" in t for t in texts)


def strip(at: AppTest) -> str:
    """Return the context strip under the title."""
    return str(at.main.caption[0].value).replace("\u00a0", " ")


def codes(at: AppTest) -> list[str]:
    """Return the codes of the refusals on the page."""
    return [e.value.rpartition("`")[0].rpartition("`")[2] for e in at.error]


# --- every page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["", "data"])
def test_a_page_runs(app: App, page: str) -> None:
    at = app(page)
    assert is_sound(at)
    assert len(at.title) == 1
    assert (DEFAULT_NAME if page else "seven made-up counts") in strip(at)
    if page == "":
        assert is_sound(at.switch_page("pages/start.py").run())


def test_every_sample_is_shown(app: App) -> None:
    at = app("data")
    for sample in SAMPLES:
        at.session_state["sample"] = sample
        assert is_sound(at.run())


def test_settings_survive_page_switches_and_each_other(app: App) -> None:
    at = app(level="Advanced")
    at.select_slider(key="eps").set_value(2.0).run()
    at.sidebar.select_slider(key="delta").set_value(1e-6).run()
    at.sidebar.selectbox(key="nbr").set_value("add_or_remove_one").run()
    at.sidebar.number_input(key="seed").set_value(99).run()
    at.switch_page("pages/data.py").run()
    at.segmented_control(key="source").set_value("generate").run()
    at.text_input(key="gen_branching").set_value("4,4").run()
    at.number_input(key="contributions").set_value(3).run()
    at.switch_page("pages/lab.py").run()
    at.pills(key="lab_mechanisms").set_value(["gaussian"]).run()
    assert "ε = 2, δ = 1e-6" in strip(at)
    at.switch_page("pages/data.py").run()
    assert is_sound(at)
    assert "add or remove one · ε = 2" in strip(at)
    assert "16 leaves" in strip(at)
    assert at.number_input(key="contributions").value == 3
    assert at.number_input(key="seed").value == 99
    assert at.text_input(key="gen_branching").value == "4,4"


def test_the_relation_has_two_controls_and_one_value(app: App) -> None:
    at = app("data", level="Advanced")
    at.radio(key="nbr_here").set_value("replace_unknown").run()
    assert at.sidebar.selectbox(key="nbr").value == "replace_unknown"
    assert at.number_input(key="known_levels").value == 1
    at.sidebar.selectbox(key="nbr").set_value("add_or_remove_one").run()
    assert at.radio(key="nbr_here").value == "add_or_remove_one"
    assert not [n for n in at.number_input if n.key == "known_levels"]


def test_risky_budgets_are_said_loudly(app: App) -> None:
    assert any("hardly limits" in w.value for w in app(eps="50").sidebar.warning)
    calm = app(eps="10", delta="1e-9")
    assert not calm.sidebar.warning
    assert not calm.sidebar.error


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [("eps", "nan", "EPS_RANGE"), ("__proto__", "x", "LINK_UNKNOWN"), ("eps", ["1", "2"], "LINK_REPEATED")],
)
def test_a_bad_link_value_is_named_and_ignored(app: App, key: str, value: Any, code: str) -> None:
    other = "seed" if key != "seed" else "contributions"
    at = app(**{key: value, other: "9"})
    assert is_sound(at)
    assert len(at.toast) == 1
    assert key in at.toast[0].value
    assert code not in at.toast[0].value, "its sentence says it"
    assert at.session_state[other] == 9  # the good part of the link is taken
    if key in REG:
        assert at.session_state[key] == REG[key].fresh()
    assert not at.run().toast  # said once


def test_a_hostile_link_is_shown_as_text(app: App) -> None:
    at = app(**{"![x](http://127.0.0.1:9/b.png)": "1", "`[y](javascript:1)": "2"})
    assert "`![x](http://127.0.0.1:9/b.png)`" in at.toast[0].value
    assert "`` `[y](javascript:1) ``" in at.toast[0].value


def test_many_unknown_settings_are_summed_up(app: App) -> None:
    toast = app(**{f"key{i}": "1" for i in range(9)}).toast[0].value
    assert "key0, key1, key2, key3, key4 and 4 more." in toast


@pytest.mark.parametrize("texts", ["0 1", "false true", "no yes", "off on", "False TRUE"])
def test_a_switch_is_set_by_a_digit_or_a_word(texts: str) -> None:
    assert [REG["present"].parse([text]) for text in texts.split()] == [False, True]


def test_values_between_the_steps_of_a_slider_are_taken(app: App) -> None:
    at = app("lab", eps="0.0123", delta="3e-7", tau="7", level="Advanced", gen_n="12345", lab_mechanisms="gaussian")
    assert is_sound(at)
    assert not at.toast
    assert at.select_slider(key="eps").value == 0.0123
    assert at.sidebar.select_slider(key="delta").value == 3e-7
    assert at.sidebar.select_slider(key="tau").value == 7.0
    assert "ε = 0.0123, δ = 3e-7" in strip(at)


def test_a_shared_link_brings_everything_back(app: App) -> None:
    at = app("data", level="Advanced")
    at.select_slider(key="eps").set_value(0.3).run()
    at.sidebar.selectbox(key="nbr").set_value("replace_unknown").run()
    at.number_input(key="known_levels").set_value(2).run()
    at.segmented_control(key="source").set_value("generate").run()
    at.text_input(key="gen_branching").set_value("3,5,2").run()
    at.selectbox(key="gen_shape").set_value("lognormal").run()
    at.session_state["lab_mechanisms"] = ["laplace", "gaussian"]
    at.run()
    link = parse_qs(shared_link(at).partition("?")[2], keep_blank_values=True)
    set_here = {"level", "eps", "nbr", "known_levels", "source", "gen_branching", "gen_shape", "lab_mechanisms"}
    assert set(link) == set_here
    again = app("data", **link)
    assert not again.toast
    for key in REG:
        assert again.session_state[key] == at.session_state[key], key
    assert strip(again) == strip(at)


def test_defaults_make_a_bare_link(app: App) -> None:
    assert "?" not in shared_link(app())


def test_an_empty_choice_survives_a_link() -> None:
    assert REG["lab_mechanisms"].parse(REG["lab_mechanisms"].write(())) == ()


def test_a_link_to_an_upload_says_that_data_are_not_in_it(app: App) -> None:
    at = app("lab", source="upload")
    assert any("No file is counted: a reload ends one" in one.value for one in at.caption)
    assert DEFAULT_NAME in strip(at)
    assert app("data", source="file").session_state["source"] == "upload"  # no file was named at the start


# --- the generator ---------------------------------------------------------------------------------------------------


def test_a_generated_tree_is_used_everywhere_and_bad_shapes_change_nothing(app: App) -> None:
    at = app("data")
    at.segmented_control(key="source").set_value("generate").run()
    at.text_input(key="gen_branching").set_value("3,5").run()
    assert "15 leaves" in strip(at)
    for bad, code in (("3,x", "TREE_SHAPE"), ("3000,3000", "TOO_MANY_NODES"), ("", "TREE_SHAPE")):
        at.text_input(key="gen_branching").set_value(bad).run()
        assert codes(at) == [code]
        assert "15 leaves" in strip(at)
    at.text_input(key="gen_branching").set_value("2,2").run()
    assert not at.error
    assert "4 leaves" in strip(at)


@pytest.mark.parametrize("page", ["start", "data"])
def test_of_a_tree_of_a_million_leaves_a_page_sends_little(app: App, page: str) -> None:
    """Figures and tables hold what can be seen: all of it together is less than a byte a leaf."""
    at = app(source="generate", gen_branching="100,100,100", gen_n="1000000")
    at.switch_page(f"pages/{page}.py").run()
    sent = [*at.get("plotly_chart"), *at.dataframe]
    assert sent
    assert sum(one.proto.ByteSize() for one in sent) < 1_000_000
    assert is_sound(at)


def test_a_column_of_numbers_is_written_in_words_and_sorted_as_numbers() -> None:
    def script() -> None:
        from pages.ui.figure.frame import plain_table
        from treedp_core.words import whole

        plain_table({"n": [10_000, 900], "m": [1, "–"]}, alt="x", formats={"n": whole, "m": str})

    (shown,) = AppTest.from_function(script).run().dataframe
    assert shown.value["n"].tolist() == [10_000, 900]
    assert shown.value["m"].tolist() == ["1", "–"]
    with pa.ipc.open_stream(shown.proto.arrow_data.styler.display_values) as words_sent:
        assert words_sent.read_all()["n"].to_pylist() == ["10\u202f000", "900"]
    columns = json.loads(shown.proto.columns)
    assert columns.get("n", {}) is not None and not columns.get("n", {}).get("hidden"), "and it is there"


# --- files -----------------------------------------------------------------------------------------------------------


def upload(at: AppTest, content: bytes, name: str = "survey.csv") -> AppTest:
    if at.segmented_control(key="source").value != "upload":
        at.segmented_control(key="source").set_value("upload").run()
    return at.file_uploader[0].upload(name, content).run()


def labelled(widgets: Any, label: str) -> Any:
    return next(widget for widget in widgets if widget.label.startswith(label))


def choose(at: AppTest, columns: list[str], weight: int = 0) -> AppTest:
    labelled(at.multiselect, "Columns").set_value(columns)
    labelled(at.selectbox, "Counts").set_value(weight)
    return at.run()


def count(at: AppTest, slot: str = "upload") -> AppTest:
    return at.button(key=f"{slot}_count").click().run()


def held(at: AppTest) -> Dataset:
    return at.session_state["_dataset"]


def test_an_upload_becomes_counts_and_the_file_is_gone(app: App) -> None:
    at = upload(app("data"), CSV)
    assert is_sound(at)
    assert DEFAULT_NAME in strip(at)  # nothing is counted yet
    assert any("taken from the data" in w.value for w in at.warning)
    count(choose(at, ["region", "city"], weight=3))
    assert is_sound(at)
    assert "`survey.csv` · 3 levels · 3 leaves" in strip(at)
    assert any("12 records → 6 counts, file discarded" in m.value for m in at.markdown)
    assert held(at).counts.tolist() == [12, 7, 5, 3, 4, 5]
    assert not at.file_uploader
    assert any("taken from the data" in w.value for w in at.warning)
    at.switch_page("pages/lab.py").run()
    assert "`survey.csv`" in strip(at)
    at.segmented_control(key="level").set_value("Advanced").run()
    at.switch_page("pages/start.py").run()
    assert any("counted from a file at" in m.value for m in at.markdown)


def test_replace_and_remove(app: App) -> None:
    at = count(choose(upload(app("data"), CSV), ["region"]))
    at.button(key="upload_replace").click().run()
    assert "`survey.csv`" in strip(at)  # until another file is counted
    at.file_uploader[0].upload("other.csv", CSV).run()
    count(choose(at, ["city"]))
    assert "`other.csv` · 2 levels · 3 leaves" in strip(at)
    at.button(key="upload_remove").click().run()
    assert DEFAULT_NAME in strip(at)
    assert is_sound(at)


def test_an_upload_waits_while_a_sample_is_looked_at(app: App) -> None:
    at = count(choose(upload(app("data"), CSV), ["region"]))
    at.segmented_control(key="source").set_value("sample").run()
    assert DEFAULT_NAME in strip(at)
    at.segmented_control(key="source").set_value("upload").run()
    assert "`survey.csv`" in strip(at)


def test_listed_values_make_the_domain_public(app: App) -> None:
    at = choose(upload(app("data", level="Advanced"), CSV), ["region"])
    labelled(at.radio, "Which categories").set_value("values").run()
    labelled(at.text_area, "Values of region").set_value("North\nWest").run()
    count(at)
    assert is_sound(at)
    assert held(at).counts.tolist() == [3, 2, 0, 1]
    assert held(at).report.other == 1
    assert any(m.label == "Under “(other)”" and m.value == "1" for m in at.metric)
    assert not at.warning


def test_a_domain_file_makes_the_domain_public(app: App) -> None:
    at = choose(upload(app("data"), CSV), ["region", "city"])
    labelled(at.radio, "Which categories").set_value("file").run()
    assert codes(count(at)) == ["DOMAIN_MISSING"]
    at.file_uploader[1].upload("domain.csv", b"region,city\nNorth,Kiel\nNorth,Bonn\nSouth,Rome\n").run()
    count(at)
    assert is_sound(at)
    assert held(at).counts.tolist() == [3, 1, 1, 1, 1, 0, 1]  # the third child of the root is “(other)”


def bounds(at: AppTest, lower: float, upper: float) -> AppTest:
    labelled(at.number_input, "Lower").set_value(lower)
    labelled(at.number_input, "Upper").set_value(upper)
    return at.run()


def test_a_numeric_column_is_binned(app: App) -> None:
    at = upload(app("data"), b"age\n3\n10\n20\n99\n")
    labelled(at.segmented_control, "Levels").set_value("bins").run()
    bounds(at, 0.0, 20.0)
    labelled(at.number_input, "Bins").set_value(4)
    labelled(at.text_input, "Branching factors over").set_value("2,2")
    count(at.run())
    assert is_sound(at)
    assert held(at).counts.tolist() == [4, 1, 2, 1, 1, 0, 1, 1]
    assert held(at).report.outside_range == 1


@pytest.mark.parametrize(
    ("label", "value", "code"),
    [("Upper", -1.0, "BOUNDS"), ("Bins", 10**9, "TREE_SHAPE")],
)
def test_bad_bins_are_refused(app: App, label: str, value: float, code: str) -> None:
    at = upload(app("data"), b"age\n3\n10\n")
    labelled(at.segmented_control, "Levels").set_value("bins").run()
    bounds(at, 0.0, 100.0)
    labelled(at.number_input, label).set_value(value)
    assert codes(count(at.run())) == [code]
    assert DEFAULT_NAME in strip(at)


def parquet_bytes() -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table({"a": ["x", "y"]}), out)
    return out.getvalue()


# Every code of a file that is refused is held in `core/test_records_bad_input.py`; here, that a page says it.
REFUSED_AT_ONCE = [
    ("empty.csv", b"", "FILE_EMPTY"),
    ("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(200), "NOT_TABULAR"),
    ("latin.csv", b"region\nx\xff\xfe\xfd\n", "ENCODING"),
    ("cut.parquet", parquet_bytes()[:-20], "PARQUET_CORRUPT"),
    ("wide.csv", b",".join(b"c%d" % i for i in range(5000)) + b"\n" + b",".join([b"1"] * 5000), "TOO_MANY_COLUMNS"),
    ("bomb.csv.gz", gzip.compress(b"a\n" + bytes(100 << 20), 1), "GZIP_TOO_LARGE"),
]
REFUSED_WHEN_COUNTED = [
    (b"a,b\n" + b"x,1\n" * 200_000 + b"y,1,2\n", ["a"], 0, "ROW_WIDTH"),
    (b"a,b\nx,-1\n", ["a"], 2, "COUNT_NEGATIVE"),
    (b"a,b\nx\xe2\x80\x8by,1\n", ["a"], 0, "INVISIBLE_CHAR"),
    (b"a,b\nx,1\n", ["a", "b"], 2, "COUNT_AS_LEVEL"),
]


@pytest.mark.parametrize(("name", "content", "code"), REFUSED_AT_ONCE, ids=[row[2] + row[0] for row in REFUSED_AT_ONCE])
def test_a_bad_file_is_refused_and_the_data_stay(app: App, name: str, content: bytes, code: str) -> None:
    at = upload(app("data", eps="2"), content, name)
    assert codes(at) == [code]
    assert is_sound(at)
    assert DEFAULT_NAME in strip(at)
    assert "ε = 2" in strip(at)


@pytest.mark.parametrize(("content", "columns", "weight", "code"), REFUSED_WHEN_COUNTED, ids=lambda v: str(v)[:20])
def test_bad_rows_are_refused_and_the_data_stay(
    app: App, content: bytes, columns: list[str], weight: int, code: str
) -> None:
    at = count(choose(upload(app("data"), CSV), ["region"]))
    at.button(key="upload_replace").click().run()
    at.file_uploader[0].upload("bad.csv", content).run()
    count(choose(at, columns, weight))
    assert codes(at) == [code]
    assert "`survey.csv` · 2 levels" in strip(at)
    assert held(at).counts.tolist() == [3, 2, 1]


def test_another_encoding_can_be_chosen(app: App) -> None:
    at = upload(app("data"), "région\nÈ\nÉ\n".encode("cp850"))
    labelled(at.selectbox, "Encoding").set_value("cp850").run()
    assert not at.error
    count(choose(at, ["région"]))
    assert held(at).labels.of_level(1).tolist() == ["È", "É"]


def test_the_encoding_of_a_japanese_file_is_in_the_list(app: App) -> None:
    """Seen failing: Shift-JIS was not offered."""
    at = upload(app("data"), "都市\n東京\n大阪\n".encode("cp932"))
    listed = labelled(at.selectbox, "Encoding")
    listed.set_value(listed.options[next(n for n, one in enumerate(listed.options) if "Shift-JIS" in one)]).run()
    count(choose(at, ["都市"]))
    assert held(at).labels.of_level(1).tolist() == ["大阪", "東京"] and held(at).report.recipe.encoding == "cp932"


def test_what_was_found_out_of_a_file_is_shown_and_fixed(app: App) -> None:
    at = upload(app("data"), "Towns, 2024\n\nville;n;m\né;1;1\nè;2;1\n\nSource: x\n".encode("latin-1"))
    names = ("Encoding", "Delimiter", "Header row", "Lines below the table")
    assert [labelled(at.selectbox, name).placeholder for name in names] == ["cp1252", "semicolon", "3", "1"]
    (fold,) = [one for one in at.main.expander if one.label == "Reading options"]
    assert "Delimiter" in [one.label for one in fold.selectbox], (
        "what is sure is told in a line, and takes no more room"
    )
    assert "A semicolon stands between cells, as it parts the first rows evenly (sure)." in words(at)
    count(choose(at, ["ville"]))
    assert held(at).labels.of_level(1).tolist() == ["è", "é"]
    recipe = held(at).report.recipe
    assert (recipe.encoding, recipe.delimiter, recipe.header, recipe.footer) == ("cp1252", ";", "3", "1")


def test_a_file_without_names_is_found_out_and_said_otherwise_by_one_choice(app: App) -> None:
    """Seen failing: no entry said that there is no row of names."""
    at = upload(app("data"), b"Ulm,34,m\nKiel,20,f\nBonn,7,m\n")
    rows = labelled(at.selectbox, "Header row")
    assert rows.placeholder == rows.options[0] == "none: no row of names"
    assert "No row names the columns" in words(at)
    rows.set_value("1").run()
    assert list(labelled(at.multiselect, "Columns").options) == ["Ulm", "34", "m"]
    labelled(at.selectbox, "Header row").set_value("none").run()
    count(choose(at, ["column 3"]))
    assert held(at).total == 3 and held(at).report.recipe.header == "none"


def test_an_upload_is_freed_by_hand(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.ui.session import uploads

    freed = []
    monkeypatch.setattr(uploads, "forget_shown", lambda: freed.append("all"))
    count(choose(upload(app("data"), CSV), ["region"]))
    assert freed == ["all"]


@pytest.mark.parametrize(("variable", "called"), [("TREEDP_PUBLIC", "A public app"), (CLASS_VARIABLE, "A class")])
def test_a_public_app_and_a_class_take_no_files_and_offer_no_upload(
    variable: str, called: str, app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TREEDP_FILE", str(tmp_path / "x.csv"))
    at = app("data", source="upload")
    assert not at.file_uploader
    assert any(i.value.startswith(f"{called} takes no files: ") for i in at.info), "whoever comes by a link is told why"
    at.segmented_control(key="source").set_value("sample").run()
    assert [o.content for o in at.segmented_control(key="source").proto.options] == ["Sample", "Generate"]


def test_a_file_of_this_computer_is_read_where_it_is(app: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "local.csv"
    path.write_bytes(CSV)
    monkeypatch.setenv("TREEDP_FILE", str(path))
    assert any("`local.csv` is open" in text.value for text in app("start").markdown)
    at = app("data")
    at.segmented_control(key="source").set_value("file").run()
    assert is_sound(at)
    assert not at.file_uploader
    count(choose(at, ["region", "city"], weight=3), "file")
    assert "`local.csv` · 3 levels · 3 leaves" in strip(at)
    assert path.read_bytes() == CSV


HOSTILE = [
    "![x](http://127.0.0.1:9/b.png)",
    "<img src=x onerror=alert(1)>",
    "[y](javascript:1)",
    "www.example.org",
    "$x$",
]


def test_hostile_names_are_only_shown_as_code(app: App) -> None:
    header = ",".join(HOSTILE[:2])
    at = upload(app("data"), f"{header}\n{HOSTILE[2]},{HOSTILE[3]}\n{HOSTILE[4]},b\n".encode(), "![n](http://x.y).csv")
    count(choose(at, HOSTILE[:2]))
    assert is_sound(at)
    for page in ("data", "start"):
        at.switch_page(f"pages/{page}.py").run()
        assert is_sound(at)
        shown = [e.value for kind in (at.markdown, at.caption, at.info, at.warning, at.error) for e in kind]
        shown += [b.label for b in at.button]
        for piece in shown:
            outside = "".join(piece.split("`")[::2])
            assert not any(h in outside for h in [*HOSTILE, "http"]), piece


# --- small parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["North Rhine-Westphalia", "Census (2020)", "région", "00501", "capital_gain"])
def test_plain_words_need_no_code_span(name: str) -> None:
    assert text.lit(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "1) one",
        "- a",
        "# a",
        "_a_",
        "a__b",
        "www.x.org",
        "a@b.c",
        ":red[x]",
        "a -> b",
        "(c)",
        "> a",
        "1. a",
        "a  b",
        " a",
    ],
)
def test_anything_else_is_shown_as_code(name: str) -> None:
    assert text.lit(name).strip("` ") == name.strip()
    assert text.lit(name).startswith("`")


def test_sentences_of_the_core_are_split_into_prose_and_values() -> None:
    hostile = "x' [y](javascript:1) \" <b>"
    sentence = f"Column {hostile!r} isn't a category's name, nor is {'plain'!r}."
    shown = text.literal_sentence(sentence)
    assert "".join(shown.split("`")[::2]) == "Column  isn't a category's name, nor is ."


@pytest.mark.parametrize(
    "cell", ["=cmd|' /C calc'!A0", "+1", "@SUM(A1)", "-2+3", "\t=1", "\r=1", "\n=1", "＝1", "  =1"]
)
def test_no_text_cell_is_a_formula(cell: str) -> None:
    table = tables.csv_bytes({cell: [cell], "n": [-3]}).decode("utf-8-sig")
    assert table.count("'") == cell.count("'") * 2 + 2
    assert tables.safe_cell(cell) == "'" + cell
    assert ",-3" in table


def test_the_first_page_says_the_margin_of_its_level() -> None:
    """Replace one on four noisy levels at epsilon 2: b = 2 / (2 / 4) = 4, and P(|Z| > 12) <= 1/20 < P(|Z| > 11)."""
    p = math.exp(-1 / 4)
    assert 2 * p**13 / (1 + p) <= 1 / 20 < 2 * p**12 / (1 + p)
    told = words(open_page("start", eps="2"))
    assert "a count of 200 records on the level county will be shown within **± 12**" in told.replace("`", "")


def guarded() -> None:
    import streamlit as st

    from pages.ui.inputs.refusals import guard
    from treedp_core.checks import InputError

    with guard():
        raise InputError("BAD_THING", "Unknown thing '[x](javascript:1)'.")
    with guard():
        int("SECRET-4711")
    st.text("after")


def test_the_guard_shows_refusals_and_hides_everything_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "treedp"):
        at = AppTest.from_function(guarded).run()
    assert not at.exception
    assert at.text[0].value == "after"
    refused, failed = (e.value for e in at.error)
    assert "Unknown thing `'[x](javascript:1)'`." in refused
    assert "`BAD_THING`" in refused
    assert "Something went wrong" in failed
    assert "SECRET" not in failed + caplog.text
    assert "ValueError" in caplog.text
    ticket = failed.split("`")[1]
    assert ticket in caplog.text


def steps(watch: Watch) -> str:
    for _ in range(3):
        if watch.cancelled():
            raise Cancelled
        watch.step(2)
    return "result"


def failing(error: Exception) -> jobs.Work:
    def work(watch: Watch) -> None:
        raise error

    return work


def test_a_job_keeps_what_came_of_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        job = jobs.Job(key="k", total=6)
        pool.submit(job.run, steps).result()
    assert (job.state, job.result, job.done) == ("done", "result", 6)
    assert not job.is_running
    stopped = jobs.Job(key="k", total=6)
    stopped.stop.set()
    stopped.run(steps)
    assert (stopped.state, stopped.result) == ("cancelled", None)


def test_a_failed_job_tells_a_sentence_and_never_the_exception() -> None:
    refused = jobs.Job(key="k", total=1)
    refused.run(failing(InputError("TRIALS_RANGE", "Too many.")))
    assert (refused.state, refused.error and refused.error.code) == ("error", "TRIALS_RANGE")
    broken = jobs.Job(key="k", total=1)
    broken.run(failing(ValueError("SECRET-4711")))
    assert broken.state == "error"
    assert "SECRET" not in str(broken.error)


def watching() -> None:
    import streamlit as st

    from pages.ui.jobs import jobs
    from pages.ui.tables.result import progress

    if "runs" in st.session_state:
        jobs.forget("race")  # what came of it is taken
    else:
        st.session_state["runs"] = 0
        job = jobs.start("race", "key", 1, lambda watch: None)
        while job.is_running:  # over before the page looks at it
            pass
    st.session_state["runs"] += 1
    if jobs.current("race") is not None:
        progress("race", "Racing", "laps")


def removing() -> None:
    import streamlit as st
    from numpy import arange, array

    from pages.ui.jobs import jobs
    from pages.ui.tables import store
    from treedp_core.records import Dataset, DomainSource, ReadReport
    from treedp_core.records.dataset import labels_of
    from treedp_core.tree import Tree

    tree = Tree.from_branching_factors((2,))
    data = Dataset("d", tree, labels_of(tree, [arange(2)], [["a", "b"]], ["c"]), array([3, 1, 2]),
                   DomainSource.PUBLIC, ReadReport(3, 3))  # fmt: skip
    left = []
    for leave in (lambda: store.remove("upload"), lambda: store.set_dataset(data)):
        store.set_dataset(data)
        done = jobs.start("counts", "key", 1, lambda watch: [3, 1, 2])
        public = jobs.start("formulas", "key", 1, lambda watch: 0, of_data=False)
        while done.is_running or public.is_running:
            pass
        store.remember("drawn", lambda: data.counts)
        leave()
        left.append(
            (
                jobs.current("counts"),
                jobs.current("formulas") is public,
                "drawn" in st.session_state.get("_remembered", {}).get("", {}),
                done.stop.is_set(),
            )
        )
    st.session_state["left"] = left


def test_finished_jobs_of_data_that_are_removed_or_replaced_go_with_them() -> None:
    """A background release holds true counts; what depends on no records stays."""
    app = AppTest.from_function(removing).run()
    assert not app.exception
    assert app.session_state["left"] == [(None, True, False, True)] * 2


def test_a_job_over_before_the_page_looks_is_noticed_once() -> None:
    """The page runs once more, to show the result, and then rests."""
    at = AppTest.from_function(watching).run()
    assert not at.exception
    assert at.session_state["runs"] == 2


def test_time_left_is_in_proportion() -> None:
    job = jobs.Job(key="k", total=100, started=time.monotonic() - 10.0)
    assert job.seconds_left is None
    job.done = 50
    assert job.seconds_left == pytest.approx(10.0, rel=0.01)


def test_a_page_has_the_views_its_switch_offers() -> None:
    page = next(page for page in all_pages() if page.switch is not None)
    with pytest.raises(ValueError, match="switch"):
        replace(page, views=page.views[::-1])


def test_epsilon_is_the_same_on_the_page_that_asks_for_it_and_in_the_sidebar() -> None:
    app = open_page("start")
    for page in ("cdf", "start", "lab"):
        app.switch_page(f"pages/{page}.py").run()
        assert "ε = 1 " in strip(app) + " ", page


def test_figures_are_painted_for_the_page_they_stand_on(monkeypatch: pytest.MonkeyPatch) -> None:
    light = figure(open_page("consistency"), "con_figure")
    monkeypatch.setattr("streamlit.runtime.context.StreamlitTheme.type", "dark", raising=False)
    dark = figure(open_page("consistency"), "con_figure")
    scales = [dict(one["data"][0]["marker"]["colorscale"]).values() for one in (light, dark)]
    assert [set(scale) == set(known) for scale, known in zip(scales, (DIVERGING, DIVERGING_DARK), strict=True)] == [
        True
    ] * 2
