"""Branching factor and CDF pages in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browsing import LiveServer, drawn, opened, settle

pytestmark = pytest.mark.browser


def more(page: Any) -> None:
    """Open what is below the first screen."""
    page.locator("summary", has_text="More").click()
    page.locator("details[open]", has_text="More").wait_for()
    settle(page)


def test_a_dragged_beta_is_in_figure_and_link_and_a_preset_and_a_cell_change_the_trees(
    page: Any, server: LiveServer
) -> None:
    drawn(page, server, "branching", "bra_live")
    slider = page.get_by_role("slider", name="Children β")
    figure = page.locator(".st-key-bra_live")
    figure.get_by_text("β = 17: 30.6 records").wait_for()
    box, rail = (slider.locator(f"xpath={path}").bounding_box() for path in ("../..", "../../.."))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(rail["x"] + rail["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    figure.get_by_text("% above the least").wait_for()
    assert "bra_beta" not in page.url, "the figure follows the hand, the link its release"
    page.mouse.up()
    settle(page)
    beta = re.search(r"bra_beta=(\d+)", page.url)
    assert beta is not None and 28 <= int(beta[1]) <= 38
    figure.get_by_text(f"β = {beta[1]}: ").wait_for()
    slider.focus()
    page.keyboard.press("Home")
    figure.get_by_text("β = 2: 63.2 records").wait_for()
    for _ in range(15):
        page.keyboard.press("ArrowRight")
    figure.get_by_text("β = 17: 30.6 records").wait_for()
    settle(page)
    assert "bra_beta" not in page.url  # the best one is what the page begins with
    more(page)
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name="997: a prime").click()
    page.get_by_role("heading", name="Trees for K = 997").wait_for()
    page.locator(".st-key-bra_cell_gaussian_cdf_least_squares button").first.click()
    page.get_by_text("Gaussian noise, CDF, after least squares").first.wait_for()
    settle(page)
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_unknown"])
def test_the_median_is_seen_without_scrolling(page: Any, server: LiveServer, relation: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server, f"cdf?nbr={relation}", ".st-key-cdf_release .main-svg")
    said = page.get_by_text(re.compile(r"Median \d+ \(\d+ to \d+\)\. All 128")).first
    said.wait_for()
    box = said.bounding_box()
    assert box["y"] > 0 and box["y"] + box["height"] < 720


def test_slider_and_figures_choose_the_range_and_the_paper_experiment_runs(page: Any, server: LiveServer) -> None:
    opened(page, server, "cdf", ".st-key-cdf_release .main-svg")
    page.get_by_text("From 18 to 65:").wait_for()
    more(page)
    page.get_by_role("slider", name="Range to").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name="Records from 18 to 66").wait_for()
    settle(page)
    for figure, first, last in (("cdf_release", 32, 64), ("cdf_errors", 64, 96)):
        dragged(page, figure, first, last)
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name="Published experiment").click()
    page.get_by_text(re.compile("times as close at the same")).wait_for()
    settle(page)
    assert page.locator(".st-key-cdf_gains .main-svg").count() > 0


def dragged(page: Any, figure: str, first: int, last: int) -> None:
    """Drag over ages 0 to 128, one to a bin."""
    area = page.locator(f".st-key-{figure} .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    start, stop = (box["x"] + end / 128 * box["width"] for end in (first, last))
    page.mouse.move(start, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(start + 30, box["y"] + 70, steps=3)
    page.mouse.move(stop, box["y"] + 80, steps=3)
    page.mouse.up()
    page.get_by_role("heading", name=f"Records from {first} to {last}").wait_for()
    settle(page)
    for name, end in (("Range from", first), ("Range to", last)):
        assert page.get_by_role("slider", name=name).input_value() == str(end)
