"""A report in a Chromium without a network: its figures are drawn, saved with their words, and not cut in print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracles_figures import decoded
from test_report_handles import SOURCES, cell_of
from treedp_core.notebook import Cell
from treedp_core.notebook.export.cell_summary import plain
from treedp_core.notebook.export.report import report_of
from treedp_core.views import VIEWS, Tables
from treedp_core.views.branching import BranchingInputs
from treedp_core.views.cells.handles import handles_of
from treedp_core.words import unbroken

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
    yield from opened(chromium, tmp_path, report_of([cell(number) for number in range(1, 6)], "Survey"))


@pytest.fixture
def moving(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A report of one figure with two sliders, and one that stays still."""
    cells = [one for name in ("branching", "lab.draw") if (one := cell_of(name)) is not None]
    yield from opened(chromium, tmp_path, report_of(cells, "Two", handles=handles_of(cells, SOURCES)))


def opened(chromium: Any, tmp_path: Path, report: bytes) -> Iterator[Any]:
    (tmp_path / "report.html").write_bytes(report)
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


def test_a_figure_follows_its_sliders_by_keys_and_mouse_without_a_network(moving: Any, tmp_path: Path) -> None:
    page = moving
    epsilon, beta = page.get_by_label("Privacy budget ε"), page.get_by_label("Children β")
    assert page.locator("input[type=range]").count() == 2, "what draws noise stays still"

    def shows(**values: Any) -> None:
        finding = VIEWS["branching"].found(BranchingInputs(**values), Tables())
        assert finding.figure is not None
        assert page.locator(".answer").first.text_content() == unbroken(finding.answer)
        drawn = page.evaluate("""() => {
            const curve = document.querySelector('.plot')._fullData[0];
            return [curve.x[3], curve.y[3], document.querySelector('.plot').getAttribute('aria-label')];
        }""")
        expected = decoded(finding.figure)["data"][0]
        assert drawn[:2] == pytest.approx([expected["x"][3], expected["y"][3]], rel=1e-6)
        assert drawn[2] == plain(finding.alt)

    shows()
    epsilon.focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert epsilon.get_attribute("aria-valuetext") == "1.4"
    shows(epsilon=1.4)
    page.keyboard.press("Home")
    shows(epsilon=0.05)
    said = page.locator(".answer").first.text_content()
    page.locator("[role=status]", has_text=said).wait_for(state="attached")
    assert "eps = 0.05" in page.locator(".facts").first.inner_text()
    with page.expect_download() as waiting:
        page.locator("button[data-format=svg]").first.click()
    waiting.value.save_as(tmp_path / "moved.svg")
    assert "eps = 0.05" in (tmp_path / "moved.svg").read_text(encoding="utf-8")

    beta.scroll_into_view_if_needed()
    box = beta.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2, steps=4)
    value = int(beta.get_attribute("aria-valuetext"))
    assert value > 60
    shows(beta=value)
    page.mouse.up()
    assert epsilon.get_attribute("aria-valuetext") == "1", "one at a time"
    assert page.complaints == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
