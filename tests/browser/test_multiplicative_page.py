"""The Multiplicative error page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browsing import LiveServer, drawn, settle

pytestmark = pytest.mark.browser

SET = "delta=1e-08&alpha=0.5"


def test_next_walks_through_the_small_tree(page: Any, server: LiveServer) -> None:
    drawn(page, server, f"multiplicative?mul_step=0&level=Advanced&{SET}", "mul_tree")
    page.get_by_text("Start: no node has a value").wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_text(re.compile("^Round 1, threshold")).wait_for()
    settle(page)
    assert page.get_by_role("slider", name=re.compile("^Step of")).input_value() == "1"
    assert page.locator(".st-key-mul_tree .bars .point").count() == 31


def test_one_click_sets_the_delta_in_use(page: Any, server: LiveServer) -> None:
    drawn(page, server, "multiplicative?level=Advanced", "mul_against")
    button = page.get_by_role("button", name=re.compile("^Set δ"))
    button.click()
    button.wait_for(state="detached")
    settle(page)


def test_exact_crossings_arrive_by_themselves_and_the_preset_of_a_deep_tree_runs(page: Any, server: LiveServer) -> None:
    drawn(page, server, f"multiplicative?mul_view=growth&level=Advanced&{SET}", "mul_growth")
    page.get_by_text("Exact search.").wait_for()
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name="Deep chain").click()
    page.locator(".st-key-mul_tree .main-svg").first.wait_for()
    page.get_by_text(re.compile("deep tree · 3.000 levels")).wait_for()
    settle(page)
    assert 60 <= page.locator(".st-key-mul_tree .bars .point").count() <= 400


def test_play_goes_on_to_the_end(page: Any, server: LiveServer) -> None:
    drawn(page, server, f"multiplicative?mul_step=8&{SET}", "mul_tree")
    page.get_by_text("Step 8 of 10.").wait_for()
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_text("Step 10 of 10.").wait_for()
    page.get_by_role("button", name="Play").wait_for()
    assert page.get_by_role("button", name="Next").is_disabled()
