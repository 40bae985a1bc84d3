"""Keys that a page hears wherever the focus is."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from browsing import LiveServer, drawn, settle
from pages.ui.server import qr

pytestmark = pytest.mark.browser

MARKERS = ".st-key-lab_figure .scatterlayer .points path"


def presses(page: Any, key: str) -> list[int]:
    """How often a button is pressed from now on: one entry a press."""
    found: list[int] = []

    def sent(payload: Any) -> None:
        message = BackMsg()
        message.ParseFromString(payload if isinstance(payload, bytes) else payload.encode())
        states = message.rerun_script.widget_states.widgets
        found.extend(1 for one in states if one.id.endswith(f"-{key}") and one.trigger_value)

    page.on("websocket", lambda socket: socket.on("framesent", sent))
    return found


def test_ctrl_enter_runs_once_with_the_number_being_typed_and_from_a_chip(page: Any, server: LiveServer) -> None:
    pressed = presses(page, "lab_run")
    drawn(page, server, "lab?lab_trials=20", "lab_figure")
    markers = page.locator(MARKERS)
    assert markers.count() == 0
    page.get_by_role("spinbutton", name="Seed").fill("9")
    page.keyboard.press("Control+Enter")
    markers.first.wait_for(state="attached")
    settle(page)
    assert pressed == [1] and markers.count() == 14, "two series at seven epsilons"
    page.locator(".st-key-lab_figure .errorbar").first.wait_for(state="attached")
    assert page.url.endswith("seed=9&lab_trials=20")
    assert page.get_by_text("Shown meanwhile").count() == 0
    chip = page.get_by_role("button", name="Laplace", exact=True)
    chip.click()
    settle(page)
    expect(chip).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Shown meanwhile").wait_for(state="detached")
    settle(page)
    expect(chip).to_have_attribute("aria-pressed", "true")
    assert pressed == [1, 1]


def test_ctrl_enter_leaves_a_chip_alone_where_nothing_runs(page: Any, server: LiveServer) -> None:
    drawn(page, server, "consistency", "con_figure")
    chip = page.get_by_role("radio", name="After", exact=True)
    chip.focus()
    page.keyboard.press("Control+Enter")
    settle(page)
    expect(chip).not_to_be_checked()


def test_keys_present_step_through_the_views_and_blacken(page: Any, server: LiveServer) -> None:
    drawn(page, server, "lab", "lab_figure")
    page.keyboard.press("b")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.locator("#black-screen").count() == 0 and "?" not in page.url, "only in a presentation"
    page.keyboard.press("p")
    page.wait_for_url("**/lab?present=1")
    settle(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/lab?present=1&lab_view=level*")
    settle(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: "lab_view" not in url)
    settle(page)
    page.keyboard.press("b")
    page.locator("#black-screen").wait_for()
    page.keyboard.press("b")
    page.locator("#black-screen").wait_for(state="detached")
    page.keyboard.press("p")
    page.wait_for_url(lambda url: "present" not in url)
    settle(page)
    addresses = []
    for _ in range(3):
        page.go_back()
        settle(page)
        addresses.append(page.url.rpartition("/")[2])
    assert addresses == ["lab?present=1", "lab?present=1&lab_view=level", "lab?present=1"], "each step, one by one"
    page.go_back()
    page.wait_for_url(lambda url: "present" not in url)
    page.go_forward()
    page.wait_for_url("**/lab?present=1")


def test_a_key_is_heard_while_the_page_loads(page: Any, server: LiveServer) -> None:
    page.goto(f"{server.url}/lab", wait_until="domcontentloaded")
    page.keyboard.press("p")
    page.wait_for_url("**present=1*")


def test_arrows_step_through_the_slides_of_a_teacher(page: Any, server: LiveServer) -> None:
    """Chosen on two pages in the sidebar, begun there; the second has settings of its own, which stay there."""
    drawn(page, server, "lab?eps=2", "lab_figure")
    side = page.get_by_test_id("stSidebar")
    side.get_by_role("button", name="View", exact=True).click()
    page.get_by_role("button", name="Add this view").click()
    page.get_by_role("button", name="1. Error lab").wait_for()
    page.keyboard.press("Escape")
    side.get_by_role("link", name="Consistency").click()
    page.wait_for_url("**/consistency?*")
    settle(page)
    side.get_by_role("button", name="View", exact=True).click()
    page.get_by_role("button", name="Add this view").click()
    page.get_by_role("button", name="2. Consistency").wait_for()
    page.get_by_role("button", name="Present", exact=True).click()
    page.wait_for_url("**/lab?*slide=1*")
    settle(page)
    assert page.locator(".st-key-slide_number").inner_text() == "1 of 2"
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/consistency?*slide=2*")
    settle(page)
    assert page.locator(".st-key-slide_number").inner_text() == "2 of 2"
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/lab?*slide=1*")
    settle(page)
    page.reload()
    settle(page)
    assert page.locator(".st-key-slide_number").inner_text() == "1 of 2", "the address has the slides"
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/consistency?*slide=2*")
    settle(page)
    for go, name, number in ((page.go_back, "lab", 1), (page.go_forward, "consistency", 2)):
        go()
        settle(page)
        assert f"/{name}?" in page.url and f"slide={number}" in page.url, "the browser's buttons turn slides, too"
        assert page.locator(".st-key-slide_number").inner_text() == f"{number} of 2"


def test_a_link_is_drawn_as_a_code_in_share_and_large_on_q(page: Any, server: LiveServer) -> None:
    """What is drawn is the code of the link beside it, on a wall without what concerns the presenter only."""
    drawn(page, server, "lab?eps=2&slides=lab&slides=cdf&slide=1&lab_view=level", "lab_figure")
    page.get_by_test_id("stSidebar").get_by_role("button", name="Share", exact=True).click()
    code = page.get_by_alt_text("QR code of the link above")
    code.wait_for()
    link = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert "eps=2" in link and code.get_attribute("src") == qr.image(link)
    assert code.evaluate("one => one.decode().then(() => one.naturalWidth)") > 0
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.wait_for_url("**present=1**")
    settle(page)
    page.keyboard.press("q")
    page.locator("#code-screen").wait_for()
    link = page.locator("#code-screen p").first.inner_text()
    assert link == f"{server.url}/lab?eps=2&lab_view=level"
    large = page.locator("#code-screen img")
    assert large.get_attribute("src") == qr.image(link)
    assert large.bounding_box()["height"] >= 0.7 * page.viewport_size["height"]
    page.keyboard.press("q")
    page.locator("#code-screen").wait_for(state="detached")
    settle(page)
    assert page.locator("#code-screen").count() == 0


def test_ctrl_z_takes_a_pin_back_on_any_page_but_not_while_somebody_types(page: Any, server: LiveServer) -> None:
    """Nor is any other key one of the page's then; Escape closes what is open, also after a file was saved from it."""
    drawn(page, server, "lab?lab_trials=20", "lab_figure")
    page.get_by_role("button", name="Export", exact=True).first.click()
    dialog = page.get_by_role("dialog")
    with page.expect_download():  # meanwhile its button is disabled, and focus goes to the page
        dialog.get_by_role("button", name="Script", exact=True).click()
    settle(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("p")
    settle(page)
    assert "present" not in page.url and dialog.count() == 1
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Pin", exact=True).first.click()
    page.get_by_text("Pinned as").first.wait_for()
    field = page.get_by_role("spinbutton", name="Seed")
    field.press("p")
    field.fill("9")
    page.keyboard.press("Control+z")
    settle(page)
    assert page.get_by_text("Undone").count() == 0 and "present" not in page.url
    field.blur()
    settle(page)
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Undone: the notebook, of 0 cells now.")).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_text("Redone: the notebook, of 1 cell now.")).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    expect(page.get_by_text("There is nothing to redo")).to_be_visible()
