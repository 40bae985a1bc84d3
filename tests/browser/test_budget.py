"""The Budget split page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from browsing import LiveServer, drawn, eventually, settle

pytestmark = pytest.mark.browser


def test_the_optimum_arrives_by_itself(page: Any, server: LiveServer) -> None:
    drawn(page, server, "budget?bud_view=strategies&level=Advanced", "bud_strategies")
    card = page.locator('[data-testid="stMetric"]').filter(has_text="Tuned")
    card.get_by_text(re.compile(r"^0\.\d+$")).wait_for()
    page.get_by_text("Searching for the best split").wait_for(state="detached")
    assert page.locator("h1").count() == 1


def test_slices_are_scrubbed_in_the_browser(page: Any, server: LiveServer) -> None:
    drawn(page, server, "budget?bud_view=strategies&level=Advanced&bud_prior=true&sample=conversions", "bud_steps")
    figure = page.locator(".st-key-bud_steps")
    figure.get_by_text("slice 20 of 20").wait_for()
    rail = figure.locator(".slider-rail-touch-rect")
    rail.scroll_into_view_if_needed()
    settle(page)
    eventually(lambda: rail.bounding_box() is not None)  # a figure that is drawn again has none for a moment
    box = rail.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + box["height"] / 2)
    figure.get_by_text(re.compile("slice [1-4] of 20")).wait_for()


def test_a_split_moves_to_the_error_lab(page: Any, server: LiveServer) -> None:
    drawn(page, server, "budget?bud_view=custom&level=Advanced&nbr=add_or_remove_one&sample=geography", "bud_custom")
    page.get_by_text("Searching for the best split").wait_for(state="detached")
    settle(page)
    slider = page.locator(".st-key-bud_s4 input[type=range]")
    slider.focus()
    page.keyboard.press("End")
    shares = page.get_by_role("textbox", name="Shares, from the root down")
    eventually(lambda: shares.input_value() == "0, 0, 0, 0, 1")
    settle(page)
    page.get_by_role("button", name="Use this split").click()
    page.get_by_text("Handed over").wait_for()
    page.locator('[data-testid="stMain"]').get_by_role("link", name="Error lab").click()
    page.locator(".st-key-lab_figure .main-svg").first.wait_for()
    settle(page)
    assert page.get_by_role("textbox", name="Shares").input_value() == "0, 0, 0, 0, 1"


def test_back_undoes_a_split_that_every_page_took_over(page: Any, server: LiveServer) -> None:
    link = "budget?bud_view=targets&level=Advanced&bud_targets=0,rmse:5,rmse:20"
    drawn(page, server, link, "bud_targets_split")
    page.get_by_text("Searching for").wait_for(state="detached")

    def of_plan() -> list[str] | None:
        page.get_by_role("link", name="Release plan").first.click()
        page.locator(".st-key-plan_levels .main-svg").first.wait_for()
        settle(page)
        return parse_qs(urlsplit(page.url).query).get("plan_allocation")

    page.get_by_role("button", name=re.compile("^Set ε = .* and this split")).click()
    page.get_by_text("Split from the Budget page").first.wait_for()
    settle(page)
    assert of_plan() == ["custom"]
    page.go_back()
    settle(page)
    assert "split_shares" in page.url
    page.go_back()
    page.wait_for_url(re.compile("bud_targets="))
    settle(page)
    assert "split_shares" not in page.url
    assert of_plan() is None


def test_the_borders_of_a_split_are_dragged_and_moved_by_keys(page: Any, server: LiveServer) -> None:
    """Between levels that are not public: the bar, its figure and its address follow, the rest stays."""
    drawn(
        page,
        server,
        "budget?bud_view=custom&nbr=add_or_remove_one&sample=geography&bud_shares=.02+.38+.2+.2+.2",
        "bud_custom",
    )
    borders = page.locator(".splitbar").get_by_role("slider")
    assert borders.count() == 4

    def shares() -> list[str]:
        settle(page)
        return list(page.locator(".splitbar .part b").all_inner_texts())

    borders.nth(1).hover()  # waits until it stands still
    at, bar = borders.nth(1).bounding_box(), page.locator(".splitbar").bounding_box()
    assert at is not None and bar is not None
    y, x = at["y"] + at["height"] / 2, at["x"] + at["width"] / 2
    page.mouse.down()
    page.mouse.move(x + 0.1 * bar["width"], y, steps=5)
    page.mouse.up()
    dragged = shares()
    assert [dragged[0], dragged[3], dragged[4]] == ["2.0 %", "20.0 %", "20.0 %"]
    assert 47 < float(dragged[1].split()[0]) < 49 and 9 < float(dragged[2].split()[0]) < 11
    assert "bud_shares=" in page.url
    page.keyboard.press("Shift+ArrowRight")  # the border that was dragged has kept the focus
    assert shares()[1] == f"{float(dragged[1].split()[0]) + 0.1:.1f} %"
    borders.nth(0).focus()
    for share in ("1.0 %", "0.0 %", "0.0 %"):
        page.keyboard.press("ArrowLeft")
        assert shares()[0] == share


def test_a_click_on_the_map_goes_down_and_up(page: Any, server: LiveServer) -> None:
    drawn(page, server, "budget?bud_view=map&sample=mobility", "bud_map")
    page.locator(".st-key-bud_map g.slice").nth(1).click()
    up = page.get_by_role("button", name="Up one level")
    page.wait_for_function("() => !document.querySelector('.st-key-bud_node_up button').disabled")
    settle(page)
    up.click()
    page.wait_for_function("() => document.querySelector('.st-key-bud_node_up button').disabled")


@pytest.mark.story
def test_the_first_screen_answers_by_itself(page: Any, server: LiveServer) -> None:
    drawn(page, server, "budget", "bud_targets_split")
    page.get_by_text(re.compile("an equal split needs [0-9]")).wait_for()
    page.get_by_text("Searching for").wait_for(state="detached")
    assert page.locator(".st-key-bud_targets_split .bars .point").count() == 4 + 2 * 2  # two levels are skipped
