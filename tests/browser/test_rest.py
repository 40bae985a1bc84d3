"""Nothing jumps: where the figure and the controls stand does not depend on what is said about them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browsing import LiveServer, drawn, eventually, settle

pytestmark = pytest.mark.browser


def tops(page: Any) -> dict[str, float]:
    """How far down the lab's figure and its buttons begin, in pixels."""
    places = {"figure": ".st-key-lab_figure", "run": ".st-key-lab_run", "chips": ".st-key-lab_mechanisms"}
    return {name: page.locator(place).bounding_box()["y"] for name, place in places.items()}


def moved(page: Any, before: dict[str, float]) -> dict[str, float]:
    return {name: y - before[name] for name, y in tops(page).items() if abs(y - before[name]) > 2}


def test_a_note_on_delta_and_a_run_move_neither_the_figure_nor_a_control(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab?lab_trials=60000", "lab_figure")
    before = tops(page)
    page.get_by_role("button", name="Gaussian", exact=True).click()
    page.get_by_text("cannot promise").first.wait_for()
    settle(page)
    assert moved(page, before) == {}
    page.keyboard.press("Control+Enter")
    page.get_by_text(re.compile("of .* runs")).first.wait_for()
    assert moved(page, before) == {}
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Simulating: cancelled").wait_for()
    settle(page)
    assert moved(page, before) == {}
    page.get_by_role("button", name=re.compile("^Set δ")).click()
    settle(page)
    assert "Gaussian, least squares" in page.locator(".st-key-answer").inner_text(), "what was chosen stays"
    assert page.get_by_text("cannot promise").count() == 0


def test_figures_follow_a_page_that_turns_dark_and_their_own_text(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab", "lab_figure")
    line = page.locator(".st-key-lab_figure path.js-line").first
    colours = {}
    for scheme in ("light", "dark", "light"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        colour = line.evaluate("one => getComputedStyle(one).stroke")
        assert colours.setdefault(scheme, colour) == colour
    assert colours["light"] != colours["dark"]
    image = page.locator(".st-key-lab_figure svg[role=img]")
    image.evaluate("image => image.parentElement.closest('[aria-label]').setAttribute('aria-label', 'Another text')")
    eventually(lambda: image.get_attribute("aria-label") == "Another text")


def test_a_plan_is_saved_as_the_documents_that_it_is(page: Any, server: LiveServer) -> None:
    drawn(page, server, "plan", "plan_levels")
    page.get_by_role("button", name="File", exact=True).click()
    for suffix, begins in (("md", "# "), ("html", "<!doctype html>"), ("json", "{")):
        with page.expect_download() as waiting:
            page.locator(f".st-key-plan_{suffix} button").first.click()
        told = Path(waiting.value.path()).read_text(encoding="utf-8")
        assert waiting.value.suggested_filename.endswith(f".{suffix}"), "seen failing: download.html, Streamlit's page"
        assert told.lower().startswith(begins) and ("Small town" in told)
