"""The error lab and the Consistency page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browsing import LiveServer, drawn, settle

pytestmark = pytest.mark.browser


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
