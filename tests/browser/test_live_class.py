"""A class on a live server: its door, no file past any page, and what students and teacher see of guesses."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from websockets.exceptions import InvalidStatus

from browsing import class_server, settle
from tabs import PATIENCE, Tab, admitted
from treedp_core.studies.lesson import STEPS

pytestmark = pytest.mark.browser


def test_a_class_from_its_door_to_its_end(open_page: Any) -> None:
    step = STEPS[0]
    with class_server() as server:
        for path in ("/", "/lesson", "/_stcore/host-config", "/static/js/x.js", "/?class=wrong"):
            answer = requests.get(server.url + path, timeout=PATIENCE)
            assert answer.status_code == 403 and server.word not in answer.text, path
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert requests.get(server.url, headers={"Host": "evil.example"}, timeout=PATIENCE).text.startswith("This name")
        with pytest.raises(InvalidStatus), Tab(server.url, "lesson"):
            pass
        cookie = admitted(server.url, server.word)
        with Tab(server.url, "data", "source=upload", cookie=cookie) as tab:
            assert tab.put("x.csv", b"a,1\n") == 413 and not any(key.startswith("upload_") for key in tab.widgets)
        for said in ("0", "7"):  # one browser that opens the clean link again
            with Tab(server.url, "lesson", cookie=cookie) as tab:
                tab.keep("les_in_gives", string_value=said)
                tab.press("les_in_gives_go")

        student, teacher = open_page(), open_page()
        student.goto(server.url)
        student.get_by_label("Word of the class").fill(server.word.replace("-", " "))
        student.keyboard.press("Enter")
        student.locator("h1", has_text=step.title).wait_for()
        assert student.url == f"{server.url}/lesson"
        teacher.goto(server.teacher)
        teacher.locator(".st-key-first_screen", has_text="1 guess in").wait_for()
        assert teacher.url == f"{server.url}/lesson"
        student.get_by_role("textbox").first.fill("50")
        student.get_by_role("button", name="Hand in my guess").click()
        student.locator(".st-key-answer", has_text="is in").wait_for()
        assert step.predict.right not in student.content()
        teacher.locator("[data-testid=stMarkdown]", has_text="2 guesses in").wait_for()
        teacher.get_by_role("button", name="Reveal").click()
        teacher.locator(".st-key-answer", has_text="0 of 2 right").wait_for()
        assert teacher.locator(".st-key-stage .bartext").all_text_contents() == ["1", "1", "0"], (
            "two wrong guesses, and the truth"
        )
        student.locator(".st-key-first_screen", has_text="Of your class, 0 of 2 right").wait_for()
        assert student.get_by_role("button", name="Reveal").count() == 0
        settle(teacher)
        teacher.get_by_role("button", name="Class", exact=True).click()
        teacher.get_by_role("button", name="End the class").click()
        teacher.locator(".st-key-answer", has_text="Guess first").wait_for()
        late = requests.get(f"{server.url}/?class={server.word}", timeout=PATIENCE)
        assert late.status_code == 410 and "has ended" in late.text
