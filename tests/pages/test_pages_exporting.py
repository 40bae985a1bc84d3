"""Export below a figure: what it offers, and that what is written is the figure above it."""

from __future__ import annotations

import ast
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from oracles_pages import dataset, figure, open_page, press, widget
from pages.ui.figure import export_dialog
from pages.ui.session import uploads
from treedp_core.checks import InputError
from treedp_core.notebook.export.ipynb import PLOTLY
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

Offered = dict[str, tuple[str, Callable[[], bytes]]]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Offered:
    """Names and contents of the files that are offered, by the keys of their buttons."""
    found: Offered = {}
    monkeypatch.setattr(
        export_dialog, "download", lambda label, write, *, name, key, **more: found.update({key: (name, write)})
    )
    return found


def exporting_from(page: str, key: str, *data: Any, **link: Any) -> Any:
    """A page whose Export below one figure was pressed."""
    return press(open_page(page, *data, **link), f"{key}_export")


def test_nothing_is_made_before_export_is_pressed(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_dialog.pins, "cell_of", lambda *given: pytest.fail("a cell was made"))
    assert not open_page("lab").exception
    assert not offered


def test_a_figure_is_offered_as_a_notebook_a_script_a_report_and_an_archive(offered: Offered) -> None:
    app = exporting_from("lab", "lab_figure", lab_mechanisms=["laplace"])
    files = {name.rpartition(".")[2]: write for name, write in offered.values()}
    assert {"ipynb", "py", "html", "zip"} <= set(files)
    assert all(name.startswith("treedp-error-lab") for name, _ in offered.values())
    ast.parse(files["py"]())
    outputs = [out for one in json.loads(files["ipynb"]())["cells"] for out in one.get("outputs", [])]
    drawn = next(out["data"][PLOTLY] for out in outputs if PLOTLY in out["data"])
    assert [one["name"] for one in drawn["data"]] == [one["name"] for one in figure(app, "lab_figure")["data"]]
    assert b"<h1>Error lab" in files["html"]()
    with zipfile.ZipFile(io.BytesIO(files["zip"]())) as archive:
        assert "report.md" in archive.namelist()


@pytest.mark.parametrize("of", ["file", "sample", "made up"])
@pytest.mark.parametrize(("page", "part"), [("lab", "lab_figure"), ("branching", "bra_live"), ("plan", "plan_levels")])
def test_a_report_written_after_the_page_has_run_follows_epsilon_and_no_draw_does(
    offered: Offered, page: str, part: str, of: str
) -> None:
    own = [dataset(Tree.from_branching_factors((3,)), (31, 27, 16), name="own.csv")] if of == "file" else []
    link = {"source": "generate", "gen_branching": "3,4", "gen_n": 1000} if of == "made up" else {}
    exporting_from(page, part, *own, eps=2.0, **link)
    assert "Privacy budget ε <input type" in offered["export_html"][1]().decode()
    exporting_from("lab", "lab_draw", *own, lab_view="draw", **link)
    assert "<input" not in offered["export_html"][1]().decode()


def test_names_say_what_is_not_private_and_code_never_holds_what_was_counted(offered: Offered) -> None:
    data = dataset(Tree.from_branching_factors((3,)), (31_415, 27_182, 16_180), name="=cmd.csv")
    exporting_from("lab", "lab_draw", data, lab_view="draw")
    names = {key: name for key, (name, _) in offered.items()}
    assert names and all("NOT-PRIVATE" in name for name in names.values())
    script = offered["export_py"][1]().decode()
    assert "DATA = '=cmd.csv'  # where the file lies" in script
    assert not {"31415", "27182", "16180"} & set(script.replace(",", " ").split())


def test_a_picture_is_offered_or_what_is_missing_is_said(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_dialog, "missing", lambda: "")
    monkeypatch.setattr(export_dialog, "images_of", lambda figures, kind: [json.dumps(one).encode() for one in figures])
    exporting_from("lab", "lab_figure")
    name, write = offered["export_picture"]
    assert name == "treedp-error-lab-error-vs-epsilon.svg"
    drawn = json.loads(write())
    assert (drawn["layout"]["width"], drawn["layout"]["height"]) == export_dialog.SIZE
    offered.clear()
    monkeypatch.setattr(export_dialog, "missing", lambda: "Pictures need a Chromium.")
    monkeypatch.setattr(export_dialog, "SIZE", (1250, 700))
    app = exporting_from("lab", "lab_figure")
    assert "export_picture" not in offered
    assert any(one.value.startswith("Pictures need a Chromium.") for one in app.caption)
    assert app.number_input(key="export_width").value == 1250
    assert b'"width": 1250' in offered["export_html"][1](), "without a Chromium a report saves pictures of that size"


def test_without_the_extra_the_browser_saves_the_figure_with_its_words_and_mark(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_dialog, "missing", lambda: "Pictures need a Chromium.")
    data = dataset(Tree.from_branching_factors((3,)), (31_415, 27_182, 16_180))
    app = exporting_from("lab", "lab_draw", data, lab_view="draw")
    config = json.loads(next(one.proto.config for one in app.get("plotly_chart") if "export_drawn" in one.proto.id))
    saved = config["toImageButtonOptions"]
    assert config["modeBarButtons"] == [["toImage"]]
    assert (saved["format"], saved["width"], saved["height"]) == ("svg", *export_dialog.SIZE)
    assert saved["filename"].startswith("treedp-NOT-PRIVATE")
    layout = figure(app, "export_drawn")["layout"]
    assert "<b>NOT PRIVATE</b>" in [one["text"] for one in layout["annotations"]]
    assert "Seed" in layout["title"]["text"] and "TreeDP" in layout["title"]["text"]


def test_a_notebook_comes_without_pictures_where_drawing_fails(
    offered: Offered, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> list[bytes]:
        raise InputError("IMAGE_FAILED", "The picture could not be drawn in time.")

    monkeypatch.setattr(export_dialog, "missing", lambda: "")
    monkeypatch.setattr(export_dialog, "images_of", failing)
    exporting_from("lab", "lab_figure")
    assert b"image/png" not in offered["export_ipynb"][1]()
    assert "The picture could not be drawn in time." in text_of(offered["export_zip"][1]())


def text_of(archive: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return files.read("report.md").decode()


@pytest.mark.parametrize("limit", [1, 2])
def test_more_figures_than_are_drawn_at_a_time_are_said_to_have_no_pictures(
    offered: Offered, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(export_dialog, "missing", lambda: "")
    monkeypatch.setattr(export_dialog, "images_of", lambda figures, kind: [b"<svg/>" for one in figures])
    monkeypatch.setattr(export_dialog, "MOST_PICTURES", limit)
    app = open_page("lab")
    press(app, "lab_figure_pin")
    press(app, "lab_figure_pin").switch_page("pages/notebook.py").run()
    widget(app, "nb_view").set_value("all").run()
    press(app, "nb_export_all")
    said = "Pictures are drawn of at most 1 figure at a time, and these are 2."
    texts = [
        "".join(json.loads(offered["export_ipynb"][1]())["cells"][0]["source"]),
        text_of(offered["export_zip"][1]()),
    ]
    texts += ["\n".join(one.value for one in app.caption)]
    assert [said in text for text in texts] == [limit == 1] * 3
    assert (".svg)" in texts[1]) == (limit == 2)


def test_a_public_app_starts_no_chromium(offered: Offered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "is_public", lambda: True)
    monkeypatch.setattr(export_dialog, "images_of", lambda *given: pytest.fail("a Chromium was started"))
    exporting_from("lab", "lab_figure")
    assert "export_picture" not in offered
    assert offered["export_ipynb"][1]()


def test_chosen_cells_of_the_notebook_leave_together(offered: Offered) -> None:
    app = open_page("lab", lab_view="draw")
    press(app, "lab_draw_pin")
    press(app, "lab_draw_pin").switch_page("pages/notebook.py").run()
    press(app, "nb_export")
    assert offered["export_html"][1]().decode().count("<section") == 1
    widget(app, "nb_view").set_value("all").run()
    press(app, "nb_export_all")
    assert offered["export_html"][1]().decode().count("<section") == 2
    assert any("NOT PRIVATE" in one.value for one in app.markdown)
    with zipfile.ZipFile(io.BytesIO(offered["export_zip"][1]())) as archive:
        names = [name for name in archive.namelist() if name.endswith(".csv")]
    assert sorted("NOT-PRIVATE" in name for name in names) == [False, False, True, True]
