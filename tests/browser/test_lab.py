"""The error lab and the Consistency page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browsing import LiveServer, drawn, settle

pytestmark = pytest.mark.browser


def test_ctrl_enter_runs_and_markers_appear(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab", "lab_figure")
    markers = page.locator(".st-key-lab_figure .scatterlayer .points path")
    assert markers.count() == 0
    page.keyboard.press("Control+Enter")
    markers.first.wait_for(state="attached")
    settle(page)
    assert markers.count() == 14  # two series at seven epsilons
    page.locator(".st-key-lab_figure .errorbar").first.wait_for(state="attached")
    assert page.locator("h1").count() == 1


def test_a_run_is_cancelled_at_once_and_survives_a_page_switch(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab?lab_trials=12000&sample=geography", "lab_figure")
    page.get_by_role("button", name=re.compile("^Run")).click()
    page.get_by_text(re.compile("of .* runs")).first.wait_for()
    page.get_by_role("link", name="Consistency").click()
    page.locator(".st-key-con_figure").wait_for()
    page.get_by_role("link", name="Error lab").click()
    page.get_by_text(re.compile("of .* runs")).first.wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text(re.compile("Simulating: cancelled")).wait_for()  # before its runs were done
    settle(page)
    assert page.get_by_role("button", name=re.compile("^Run")).is_enabled()


def test_gaussian_stays_chosen_when_its_delta_is_set(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab", "lab_figure")
    page.get_by_role("button", name="Gaussian", exact=True).click()
    settle(page)
    page.get_by_role("button", name=re.compile("^Set δ")).click()
    settle(page)
    assert "Gaussian, least squares" in page.locator(".st-key-answer").inner_text()
    assert page.get_by_text("cannot promise").count() == 0


def test_a_click_on_a_block_opens_its_ledger_and_one_on_the_top_goes_back(page: Any, server: LiveServer) -> None:
    drawn(page, server, "consistency?level=Advanced", "con_figure")
    ledger = page.locator('[data-testid="stText"]').first
    whole = ledger.inner_text()
    assert "≠" in whole.splitlines()[0]
    assert "≠" not in whole.splitlines()[1]
    page.locator(".st-key-con_figure g.slice").nth(1).click()
    page.get_by_role("button", name="Up one level").wait_for()
    page.wait_for_function("text => document.querySelector('[data-testid=stText]').innerText !== text", arg=whole)
    settle(page)
    assert page.get_by_role("button", name="Up one level").is_enabled()
    page.locator(".st-key-con_figure g.slice").first.click()
    page.wait_for_function("text => document.querySelector('[data-testid=stText]').innerText === text", arg=whole)
