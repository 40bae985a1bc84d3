"""A messy file of one's own on a walk through every view: each answers on it, or says in a line why not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from app import all_pages
from browsing import LiveServer, settle, visit
from geometry import crowded
from test_frame import upload

pytestmark = pytest.mark.browser

PLACES = {
    "Nord": {"Kiel": ("Mitte", "Süd"), "Lübeck": ("Altstadt",), "Ulm": ()},
    "Süd": {"Rom": ("Centro", "EUR", "Ostia"), "": ()},
    "Übersee; fern": {},
}
"""Regions, cities and districts; where there are none, the path ends."""
MADE_UP = ("notebook", "multiplicative", "topdown", "cdf", "branching", "start", "ranges", "lesson", "methods")
"""Pages that begin with data of their own."""


def messy(path: Path) -> None:
    """Semicolons, a byte order mark, umlauts, quotes, paths of three lengths, blank cells and ages that are none."""
    draw = random.Random(7)
    rows = ["region;city;district;age"]
    for _ in range(3000):
        region = draw.choice(list(PLACES))
        city = draw.choice(list(PLACES[region]) or [""])
        district = draw.choice(PLACES[region].get(city) or ("",))
        age = draw.choice(["", "999", *map(str, range(90))])
        rows.append(f'"{region}";{city};{district};{age}')
    path.write_text("\n".join(rows) + "\n", encoding="utf-8-sig")


UNSEEN = """() => {
  const scrolled = document.querySelector('[data-testid=stMain]').scrollTop;
  const wanted = '.st-key-stage, .st-key-answer, .st-key-tree_so_far';
  const isBelow = one => one.getBoundingClientRect().bottom + scrolled > window.innerHeight;
  return [...document.querySelectorAll(wanted)].filter(isBelow).map(one => one.className);
}"""
"""What of a first screen's figure and answer, or of choosing columns, lies below the window."""

TOP = "document.querySelector('[data-testid=stMain]').scrollTop"


def test_every_view_takes_a_ragged_file_or_says_why_not(
    page: Any, server: LiveServer, tmp_path: Path, every: bool
) -> None:
    """Of the pages that show it at once; `make contract` walks through those that begin with other data, too."""
    path = tmp_path / "Orte & Alter.csv"
    messy(path)
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, f"{server.url}/data")
    below = {}

    def meanwhile() -> None:
        page.locator(".st-key-tree_so_far .main-svg").first.wait_for()
        below["choosing"] = page.evaluate(UNSEEN)
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo({top: 5000})")
        assert page.evaluate(TOP) > 50

    upload(page, path, ["region", "city", "district"], meanwhile)
    assert page.evaluate(TOP) == 0, "what was counted is in the window, though the button was far down"
    below["counted"] = page.evaluate(UNSEEN)
    seen, pages = 0, [one for one in all_pages() if every or one.name not in MADE_UP]
    for one in pages:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=one.title).click()
        page.get_by_role("heading", level=1).get_by_text(one.views[0].question or one.heading).wait_for()
        settle(page)
        for view in one.views:
            if one.switch is not None:
                page.get_by_role("radio", name=one.switch.label_of(view.name), exact=True).click()
                settle(page)
            place = f"{one.name} {view.name}"
            assert page.get_by_test_id("stException").count() == 0, place
            assert page.get_by_role("heading", level=1).count() == 1, place
            main = page.get_by_test_id("stMain").inner_text()
            assert "Something went wrong" not in main, place
            assert path.name in main or one.name in MADE_UP, place
            answers, notes = page.locator(".st-key-answer"), page.get_by_test_id("stAlert")
            assert (answers.count() and answers.inner_text().strip()) or notes.count(), place
            below[place] = page.evaluate(UNSEEN)
            seen += 1
    assert {place: what for place, what in below.items() if what} == {}
    assert seen == sum(len(one.views) for one in pages) > 10


def test_a_column_of_dates_becomes_a_tree_in_two_presses_and_a_third_takes_a_level_away(
    page: Any, server: LiveServer
) -> None:
    rows = "".join(f"202{n % 3}-{1 + n % 12:02}-{1 + n % 28:02},{n % 5}\n" for n in range(300))
    visit(page, f"{server.url}/data?source=upload")
    file = {"name": "visits.csv", "mimeType": "text/csv", "buffer": f"at,ward\n{rows}".encode()}
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_role("button", name="at: year › month › day").click()
    page.get_by_role("button", name="Count", exact=True).click()
    page.get_by_text("300 records on 84 leaves").wait_for()
    settle(page)
    blocks = page.evaluate("document.querySelector('.st-key-stage .js-plotly-plot').data[0].labels.slice(1, 4)")
    assert blocks == ["2020", "2021", "2022"]
    page.get_by_test_id("stButtonGroup").filter(has_text="day of at").get_by_role("button", name="day of at").click()
    page.get_by_text("300 records on 12 leaves").wait_for()


def test_choosing_columns_on_a_phone_covers_no_control_with_another(page: Any, server: LiveServer) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, f"{server.url}/data?source=upload")
    rows = "".join(f"{n};01.{1 + n % 12:02}.2023;0{n % 7}\n" for n in range(99))
    file = {"name": "title.csv", "mimeType": "text/csv", "buffer": f"Source: the office\n\nid;at;ward\n{rows}".encode()}
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_text("Header row", exact=True).wait_for()
    settle(page)
    for control in ("Header row", "Missing values"):
        page.get_by_text(control, exact=True).scroll_into_view_if_needed()
        # Count stays in the window, above what is scrolled past below it.
        assert [fault for fault in crowded(page) if '"Count"' not in fault] == [], control
