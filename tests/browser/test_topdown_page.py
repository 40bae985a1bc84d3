"""TopDown page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from browsing import LiveServer, opened, resize, settle

pytestmark = pytest.mark.browser


def test_columns_chosen_one_by_one_make_the_tree(page: Any, server: LiveServer) -> None:
    opened(page, server, "topdown", ".st-key-td_rows .main-svg")
    page.locator(".st-key-td_columns input").first.click()
    page.get_by_role("option", name="hours").click()
    page.get_by_text(re.compile(r"hours · 7 leaves")).first.wait_for()
    settle(page)
    page.locator(".st-key-td_columns input").first.click()
    page.get_by_role("option", name="origin").click()
    page.get_by_text(re.compile(r"hours › origin")).first.wait_for()
    settle(page)
    assert page.locator('[data-testid="stException"]').count() == 0


def test_the_cards_are_read_whole_and_the_records_download(page: Any, server: LiveServer) -> None:
    opened(page, server, "topdown?level=Advanced", '[data-testid="stMetric"]')
    for width, part in product((900, 1280), ("stMetricLabel", "stMetricDelta")):
        resize(page, width, 900)
        clipped = f"""[...document.querySelectorAll('[data-testid="{part}"] *')].filter(e =>
            e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "hidden").map(e => e.innerText)"""
        assert page.evaluate(clipped) == []
    page.get_by_role("radio", name="Synthetic records", exact=True).click()
    with page.expect_download() as waiting:
        page.locator(".st-key-td_contingency_csv button").first.click()
    lines = Path(waiting.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == '"origin","destination","hours","simulation","certificate","count","error at most"'
    assert sum(int(line.rsplit(",", 2)[1]) for line in lines[1:]) == 250_000


def test_projections_run_and_the_result_stays(page: Any, server: LiveServer) -> None:
    opened(page, server, "topdown?td_view=rules&td_trials=20", ".st-key-td_rules_run button")
    page.locator(".st-key-td_rules_run button").first.click()
    page.locator(".st-key-td_rules_dots .main-svg").first.wait_for()
    settle(page)
    page.get_by_role("spinbutton", name="Seed").fill("8")
    page.keyboard.press("Enter")
    page.get_by_text(re.compile("Shown meanwhile")).first.wait_for()
    assert page.locator(".st-key-td_rules_dots .main-svg").count() > 0
    settle(page)


def test_a_long_comparison_stops_within_a_second(page: Any, server: LiveServer) -> None:
    opened(page, server, "topdown?td_view=rules&td_trials=20000", ".st-key-td_rules_run button")
    page.locator(".st-key-td_rules_run button").first.click()
    page.get_by_text(re.compile(r"of 20\D?000 runs")).first.wait_for()
    page.locator(".st-key-td_rules_cancel button").first.click()
    page.get_by_text(re.compile("cancelled")).first.wait_for()
    settle(page)
