"""A report in a Chromium without a network: its figures are drawn, saved with their words, and not cut in print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from treedp_core.notebook import Cell
from treedp_core.notebook.export.report import report_of

pytestmark = pytest.mark.browser
FIGURE: dict[str, Any] = {
    "data": [{"type": "scatter", "x": [1, 2, 3], "y": [3, 1, 2], "name": "a"}],
    "layout": {"xaxis": {"title": {"text": "privacy budget"}}, "height": 420},
}


def cell(number: int) -> Cell:
    return Cell(
        id=f"{number:016x}", name=f"Errors {number}", page="lab", version="0.1.0", seed=7,
        made="2026-11-22T15:00:00+00:00", figure=FIGURE, caption="Lines are formulas. " * 9,
        note="Mine. " * (60 * number), badges=("simulation", "NOT PRIVATE"), columns={"level": (0, 1), "nodes": (1, 2)},
    )  # fmt: skip


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A report of five cells, opened from its file by a browser that is offline."""
    (tmp_path / "report.html").write_bytes(report_of([cell(number) for number in range(1, 6)], "Survey"))
    page = chromium.new_context(offline=True, accept_downloads=True).new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    page.locator(".figure").last.locator(".main-svg").first.wait_for(state="attached")
    yield page
    page.context.close()


@pytest.mark.story
def test_a_report_draws_its_figures_without_a_network(page: Any, tmp_path: Path) -> None:
    assert page.locator(".plot .main-svg .scatterlayer .trace").count() == 5
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.title() == "NOT PRIVATE: Survey"
    with page.expect_download() as waiting:
        page.locator("button[data-format=svg]").first.click()
    waiting.value.save_as(tmp_path / "saved.svg")
    assert waiting.value.suggested_filename == "treedp-NOT-PRIVATE-1-errors-1.svg"
    saved = (tmp_path / "saved.svg").read_text(encoding="utf-8")
    assert all(part in saved for part in ("Errors 1", "Lines are formulas.", "Seed 7", "NOT PRIVATE"))


def test_no_figure_is_wider_than_paper_and_none_is_cut_between_pages(page: Any) -> None:
    """A4 less its margins is 184 mm of 96 / 25.4 px wide; what must not be cut says so to the printer."""
    page.emulate_media(media="print")
    boxes = page.evaluate("[...document.querySelectorAll('.plot')].map(one => one.getBoundingClientRect().width)")
    assert max(boxes) <= 184 * 96 / 25.4
    kept = page.evaluate("[...document.querySelectorAll('.figure')].map(one => getComputedStyle(one).breakInside)")
    assert set(kept) == {"avoid"}
    assert page.locator("details").first.is_hidden()
    assert page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n") >= 3
