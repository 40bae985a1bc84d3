"""The notebook in a browser: pinned, reloaded, saved, and opened in another session as it was; notes stay quiet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browsing import LiveServer, eventually, settle, visit
from test_every_page import LOOK, NARROW, check
from test_frame import upload
from test_notes import HOSTILE
from treedp_core.notebook.cell import DataNote
from treedp_core.notebook.file.archive import open_study
from treedp_core.notebook.file.archive import save as save_study
from treedp_core.notebook.study import Asked, Study

pytestmark = pytest.mark.browser
CSV = "region,city\n" + "Nord,Kiel\n" * 30 + "Nord,Ulm\n" * 12 + "Süd,Rom\n" * 7
DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].map(one => one._fullData.map(line =>
  ({name: line.name, x: Array.from(line.x ?? []), y: Array.from(line.y ?? [])})))"""


def go(page: Any, title: str) -> None:
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
    settle(page)


def pin(page: Any) -> None:
    page.get_by_role("button", name="Pin", exact=True).first.click()
    settle(page)


def save(page: Any, label: str, path: Path) -> Path:
    page.get_by_role("button", name="Save or open").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    page.keyboard.press("Escape")
    settle(page)
    file = path / download.value.suggested_filename
    download.value.save_as(file)
    return file


def choose(page: Any, file: Path) -> None:
    page.get_by_role("button", name="Save or open").click()
    page.locator("input[type=file]").last.set_input_files(file)
    settle(page)


@pytest.mark.story
def test_pinned_saved_and_opened_in_another_session(
    open_page: Callable[..., Any], server: LiveServer, tmp_path: Path
) -> None:
    one = open_page()
    file = tmp_path / "survey.csv"
    file.write_text(CSV, encoding="utf-8")
    visit(one, f"{server.url}/data")
    upload(one, file, ["region", "city"])
    go(one, "Error lab")
    there = one.evaluate(DRAWN)
    pin(one)
    go(one, "Notebook")
    assert one.evaluate(DRAWN) == there
    named = save(one, "Save with data", tmp_path)
    assert named.name == "Notebook TRUE COUNTS.treedp"
    (table,) = open_study(named.read_bytes()).tables
    assert table.data.total == 49

    other = open_page()
    visit(other, f"{server.url}/notebook")
    assert other.locator(".js-plotly-plot").count() == 0, "nothing reaches another session"
    choose(other, named)
    eventually(lambda: other.evaluate(DRAWN) == there)  # a file is on its way before the page runs
    other.get_by_role("button", name="Open in its page").click()
    settle(other)
    other.locator(".st-key-lab_figure .main-svg").first.wait_for()
    assert other.evaluate(DRAWN) == there
    assert "survey.csv" in other.locator(".st-key-heading").inner_text()


def test_a_cell_is_whole_its_note_asks_for_nothing_and_a_file_that_is_no_notebook_changes_nothing(
    page: Any, server: LiveServer, tmp_path: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, f"{server.url}/lab")
    pin(page)
    go(page, "Notebook")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width, height in NARROW:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            check(page.evaluate(LOOK), height, 2, scheme)  # the switch, and what saves beside it
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note", exact=True).fill("\n\n".join(("**Bold words**", *HOSTILE)))
    page.get_by_label("Note", exact=True).press("Control+Enter")
    settle(page)
    note = page.locator(".st-key-nb_note")
    note.locator("strong").get_by_text("Bold words").wait_for()
    assert note.locator("a, img, script, iframe, .katex").count() == 0
    assert [one for one in asked if not one.startswith((server.url, "blob:", "data:"))] == []
    foreign = tmp_path / "x.treedp"
    foreign.write_bytes(b"PK\x03\x04" + b"\x00" * 100)
    choose(page, foreign)
    page.get_by_test_id("stAlert").filter(has_text="NOTEBOOK_DAMAGED").first.wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".js-plotly-plot").count() == 1


def test_cells_change_places_and_open_from_the_list(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/lab")
    pin(page)
    go(page, "Consistency")
    pin(page)
    go(page, "Notebook")
    page.get_by_role("radio", name="All cells").click()
    settle(page)
    rows = page.locator(".sortable li .name")
    assert rows.all_inner_texts() == ["1. Error lab: Error vs ε", "2. Consistency"]
    page.get_by_role("button", name="Move 2. Consistency up").click()
    settle(page)
    assert rows.all_inner_texts() == ["1. Consistency", "2. Error lab: Error vs ε"]
    rows.nth(1).click()
    settle(page)
    assert page.get_by_role("radio", name="One cell").is_checked()
    assert "2. Error lab: Error vs ε" in page.locator(".st-key-nb_cell").inner_html()


def test_what_passes_by_covers_no_button_and_what_is_asked_for_is_read_whole(
    page: Any, server: LiveServer, tmp_path: Path
) -> None:
    """And a page without figures has what draws them before the first comes."""
    page.set_viewport_size({"width": 900, "height": 900})
    note = DataNote(
        name="survey of all visits.csv", fingerprint="0" * 64, levels=("federal state", "district"), bounds=(0, 1000)
    )
    asking = tmp_path / "asking.treedp"
    asking.write_bytes(save_study(Study(asked=(Asked("upload", note, None),), version="1"), with_data=False))
    visit(page, f"{server.url}/notebook")
    loaded = "() => performance.getEntriesByType('resource').filter(one => one.name.includes('/PlotlyChart.')).length"
    eventually(lambda: page.evaluate(loaded) == 1)
    choose(page, asking)
    listed = page.locator(".st-key-asked_for li")
    listed.first.wait_for()
    assert "bounds 0 to 1" in listed.inner_text() and "on the page Data and tree" in listed.inner_text()
    assert listed.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.get_by_test_id("stToast").first.wait_for(state="detached")
    go(page, "Error lab")
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert page.evaluate(loaded) == 1, "and it is fetched once"
    page.get_by_role("button", name="Pin", exact=True).first.click()
    # where it stands is the same on every page, where it may be gone by then
    page.get_by_test_id("stToast").wait_for()  # shown, not only begun
    toast = page.get_by_test_id("stToast").bounding_box()
    go(page, "Notebook")
    button = page.get_by_role("button", name="Save or open").bounding_box()
    assert toast["y"] + toast["height"] <= button["y"]
