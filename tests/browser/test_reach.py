"""Nothing that is seen lies under an invisible lid, and every "?" opens by mouse, touch and keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from browsing import ROOT, LiveServer, resize, settle, visit
from lids import lids
from test_every_page import PAGES, address

pytestmark = pytest.mark.browser

WINDOWS: Final = ((1280, 720), (1440, 900), (1920, 1080), (820, 1000), (390, 800))


@pytest.mark.contract
@pytest.mark.parametrize("which", PAGES)
def test_a_press_reaches_every_control_that_is_seen(page: Any, server: LiveServer, which: Any) -> None:
    """With all that *More* has, and all views; of the first view without it, see test_every_page."""
    found = []
    for view in which.views:
        switched = f"&{which.switch.key}={view.name}" if which.switch else ""
        visit(page, f"{server.url}/{address(which)}?level=Advanced{switched}")
        for width, height in WINDOWS:
            resize(page, width, height)
            found += [f"{view.name} at {width}: {lid}" for lid in lids(page)]
    assert found == []


def test_no_control_is_scrolled_under_the_menu(page: Any, server: LiveServer) -> None:
    """It stands in the corner whatever is scrolled: a control as wide as the page ends beside it."""
    visit(page, f"{server.url}/plan?level=Advanced")
    menu = page.get_by_test_id("stMainMenuButton").bounding_box()
    beside = "(all, menu) => Math.max(...all.map(one => one.getBoundingClientRect().right)) <= menu.x"
    assert page.locator("[data-testid=stMain] :is(button, input, summary)").evaluate_all(beside, menu)


def test_a_finger_on_a_question_mark_opens_its_help_and_switches_nothing(page: Any, server: LiveServer) -> None:
    """That of a switch lies in a label, all of which is pressed; that of another control does not."""
    context = page.context.browser.new_context(has_touch=True, viewport={"width": 820, "height": 1180})
    try:
        touched = context.new_page()
        touched.goto(f"{server.url}/ranges")
        for name in ("Bins", "Least squares"):
            mark = touched.get_by_role("button", name=f"Help for {name}")
            mark.tap(timeout=30_000)
            touched.locator("[data-testid=stTooltipContent]").first.wait_for(timeout=8_000)
            touched.keyboard.press("Escape")
        assert not touched.get_by_role("switch", name="Least squares").is_checked()
    finally:
        context.close()


TOWN: Final = ROOT / "sample_data" / "small_town_synthetic.csv"
REFUSED: Final = """named => {
  const alert = document.querySelector('[class*="_said_"] [data-testid=stAlert]');
  const box = one => one.getBoundingClientRect();
  const isSeen = one => box(one).top >= 0 && box(one).bottom <= window.innerHeight;
  const isFree = one => {
    const top = document.elementFromPoint(box(one).left + box(one).width / 2, box(one).top + box(one).height / 2);
    return Boolean(top) && (one.contains(top) || top.contains(one));
  };
  const control = [...document.querySelectorAll('label, [data-testid=stFileUploader]')].find(
    one => one.innerText.includes(named));
  return [alert, control].map(one => isSeen(one) && isFree(one));
}"""


@pytest.mark.parametrize(
    ("path", "presses", "named", "code"),
    [
        ("budget?bud_prior=public", [], "Leaves that the file lacks", "PRIOR_LEAVES"),
        ("data?source=upload", ["From the data: ", "A domain file"], "Domain file: the leaves", "DOMAIN_MISSING"),
    ],
)
def test_a_refusal_and_what_it_names_are_seen(
    page: Any, server: LiveServer, tmp_path: Path, path: str, presses: list[str], named: str, code: str
) -> None:
    """Where a form's button is held at the window's lower edge; every time that it is refused."""
    file = tmp_path / "part.csv"
    file.write_text("".join(TOWN.read_text().splitlines(keepends=True)[:30]))
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, f"{server.url}/{path}")
    page.locator('[data-testid="stFileUploaderDropzoneInput"]').set_input_files(str(file))
    button = page.locator("[class*=_in_reach]").get_by_role("button")
    button.wait_for()
    for words in presses:
        page.get_by_text(words).first.click()
        settle(page)
    for width, height in WINDOWS:
        resize(page, width, height)
        page.locator("h1").scroll_into_view_if_needed()
        button.click()
        page.locator("[class*=_said_]", has_text=code).wait_for()
        settle(page)
        assert page.evaluate(REFUSED, named) == [True, True], width
