"""The lesson in a browser: played by somebody who guesses wrong everywhere, and by somebody who guesses right."""

from __future__ import annotations

from typing import Any

import pytest

from browsing import LiveServer, opened, settle
from treedp_core.studies.lesson import STEPS, exercises, revealed

pytestmark = pytest.mark.browser


def played(page: Any, server: LiveServer, guess: Any) -> list[str]:
    """What the page says at each step, once it was gone through by keys and its own buttons."""
    opened(page, server, "lesson", ".st-key-stage .main-svg")
    said = []
    for step in STEPS:
        page.locator("h1", has_text=step.title).wait_for()
        source = page.content()
        assert step.predict.right not in source and revealed(step.name, step.predict.answer).said not in source
        page.get_by_role("textbox").first.fill(guess(step))
        page.get_by_role("button", name="Run my guess").click()
        page.locator(".st-key-answer", has_text=step.keep).wait_for()
        said.append(page.locator(".st-key-answer").inner_text())
        page.get_by_role("button", name="Next").click()
    page.locator("h1", has_text="What have I learnt?").wait_for()
    settle(page)  # the address is written by then
    assert "8 of 8 predicted" in page.locator(".st-key-heading").inner_text()
    return said


def test_one_who_guesses_wrong_everywhere_is_told_why(page: Any, server: LiveServer) -> None:
    said = played(page, server, lambda step: f"{step.predict.wrong[0].value:g}".replace(".", ","))
    for text, step in zip(said, STEPS, strict=True):
        assert text.startswith("Not quite: "), step.name
    page.reload()
    page.locator("h1", has_text="What have I learnt?").wait_for()
    settle(page)
    assert "8 of 8 predicted" in page.locator(".st-key-heading").inner_text(), "a reload keeps it"


def test_one_who_guesses_right_everywhere_is_told_so(page: Any, server: LiveServer) -> None:
    said = played(page, server, lambda step: f"{step.predict.answer:.4g}")
    assert all(text.startswith("Right.") for text in said)
    first = exercises("card", 7)[0]
    page.locator("summary", has_text="More").click()
    page.locator(".st-key-les_in_card_1 input").fill(f"{first.answer:.4g}")
    page.get_by_role("button", name="Check").first.click()
    page.locator(".st-key-answer", has_text="1 of 10 right on the card").wait_for()
