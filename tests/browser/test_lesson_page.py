"""The lesson in a browser, by keys: played by one who guesses wrong everywhere, by Tab alone, and by one who is right.

On the way every step fits a small window, before a guess and after it, and axe finds nothing serious: it looks at every
other step of each, `make contract` at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import expect

from browsing import LiveServer, opened, settle
from test_axe import OF_COLOUR, RULES, findings
from treedp_core.studies.lesson import STEPS, Step, exercises, revealed

pytestmark = pytest.mark.browser

HEIGHT = 720
LOWEST = """() => Math.max(...[...document.querySelectorAll('.st-key-answer, .st-key-les_next button, .st-key-stage')]
  .map(one => one.getBoundingClientRect().bottom))"""
FOCUSED = "one => one === document.activeElement"


def tab_to(page: Any, target: Any, *, back: bool | None = False) -> None:
    """Move the focus by the Tab key alone until it is there, or at once where nothing is said of a direction."""
    if back is None:
        target.focus()
        return
    for _ in range(90):
        if target.evaluate(FOCUSED):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"Tab does not reach {target}")


def guessed(page: Any, step: Step, said: str, *, back: bool | None) -> str:
    """What the page answers to a guess; nothing of it was there before, and all is in the window.

    It is typed, or moved by keys, or dragged: the last by a mouse, all else by the keyboard.
    """
    page.locator("h1", has_text=step.title).wait_for()
    settle(page)
    source = page.content()
    assert step.predict.right not in source and revealed(step.name, step.predict.answer).said not in source
    assert page.evaluate(LOWEST) <= HEIGHT, f"{step.name} before the guess"
    field, knob = page.locator(f".st-key-les_in_{step.name} input"), page.locator(".guess .knob")
    if step.name == "spend" and said == "50":
        tab_to(page, knob, back=back)
        for _ in range(5):
            page.keyboard.press("PageUp")
        expect(field).to_have_value("50")
        expect(knob).to_be_focused()
    elif step.name == "gives" and said == "100":
        area = page.locator(".guess .plot").bounding_box()
        page.mouse.move(area["x"] + 0.5 * area["width"], area["y"] + 0.5 * area["height"])
        page.mouse.down()
        page.mouse.move(area["x"] + 2 * area["width"], area["y"])
        page.mouse.up()
        expect(field).to_have_value("100")
        expect(knob).to_have_attribute("aria-valuetext", "100 %")
    else:
        tab_to(page, field, back=back)
        page.keyboard.type(said)
    if back is not None:
        back = knob.count() > 0 and knob.evaluate(FOCUSED)
    tab_to(page, page.get_by_role("button", name="Run my guess"), back=back)
    page.keyboard.press("Enter")
    page.locator(".st-key-answer", has_text=step.keep).wait_for()
    settle(page)
    assert page.evaluate(LOWEST) <= HEIGHT, f"{step.name} after the guess"
    return str(page.locator(".st-key-answer").inner_text())


def played(
    page: Any, server: LiveServer, link: str, guess: Callable[[Step], str], on: Callable[[], None],
    rules: list[str], looked: Sequence[Step], *, by_tab: bool,
) -> list[str]:  # fmt: skip
    """What the page says at each step; `on` goes to the next one. Axe looks at some of them, by its rules."""
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    opened(page, server, link, ".st-key-stage .guess svg")
    said, faults = [], {}
    for step in STEPS:
        said.append(guessed(page, step, guess(step), back=step is not STEPS[0] if by_tab else None))
        faults[step.name] = findings(page, rules) if step in looked else []
        on()
    page.locator("h1", has_text="What have I learnt?").wait_for()
    settle(page)  # the address is written by then
    assert {name: found for name, found in faults.items() if found} == {}
    assert "8 of 8 predicted" in page.locator(".st-key-heading").inner_text()
    return said


def test_one_who_guesses_wrong_everywhere_is_told_why(page: Any, server: LiveServer, every: bool) -> None:
    def on() -> None:
        tab_to(page, page.get_by_role("button", name="Next"))
        page.keyboard.press("Enter")

    looked = STEPS if every else STEPS[::2]
    wrong = lambda one: f"{one.predict.wrong[0].value:g}".replace(".", ",")  # noqa: E731
    said = played(page, server, "lesson", wrong, on, RULES, looked, by_tab=True)
    for text, step in zip(said, STEPS, strict=True):
        assert text.startswith("Not quite: "), step.name
    page.reload()
    page.locator("h1", has_text="What have I learnt?").wait_for()
    settle(page)
    assert "8 of 8 predicted" in page.locator(".st-key-heading").inner_text(), "a reload keeps it"


@pytest.mark.story
def test_one_who_guesses_right_everywhere_is_told_so(page: Any, server: LiveServer, every: bool) -> None:
    """In a presentation, in the dark."""
    page.emulate_media(color_scheme="dark")
    on = lambda: page.keyboard.press("ArrowRight")  # noqa: E731
    looked = STEPS if every else STEPS[1::2]
    right = lambda one: f"{one.predict.answer:.4g}"  # noqa: E731
    said = played(page, server, "lesson?present=1", right, on, OF_COLOUR, looked, by_tab=False)
    assert all(text.startswith("Right.") for text in said)
    page.keyboard.press("p")
    first = exercises("card", 7)[0]
    page.locator(".st-key-les_in_card_1 input").fill(f"{first.answer:.4g}")
    page.get_by_role("button", name="Check").first.click()
    page.locator(".st-key-answer", has_text="1 of 10 right on the card").wait_for()
