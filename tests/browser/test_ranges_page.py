"""Why a tree: a range moves by pointer and keys, without the server, and its numbers are the core's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browsing import LiveServer, opened, settle
from treedp_core.studies.ranges import three_ways

pytestmark = pytest.mark.browser


def told(page: Any) -> list[str]:
    return list(page.locator(".ranges [role=img]").evaluate_all("rows => rows.map(one => one.ariaLabel)"))


def ends(page: Any) -> list[int]:
    return [int(str(one.get_attribute("aria-valuenow"))) for one in page.locator(".ranges .knob").all()]


def check(page: Any, start: int, stop: int, bins: int = 64, *, weigh: bool = False) -> None:
    """What stands beside each way, for a range."""
    assert ends(page) == [start, stop]
    for said, way in zip(told(page), three_ways(bins, 1.0, 7, least_squares=weigh).ways, strict=True):
        deviation, counts, shown = (
            float(re.sub("\u202f", "", one).replace("−", "-"))
            for one in re.findall(r"σ = ([\d.\u202f]+) ([\d\u202f]+) counts?, shows ([−\d.\u202f]+)", said)[0]
        )
        exact, released = way.deviation(start, stop), way.weights(start, stop) @ way.released
        assert deviation == pytest.approx(exact, abs=0.5 if exact >= 100 else 0.051), said
        assert shown == pytest.approx(released, abs=0.51 if abs(released) >= 100 else 0.1), said
        assert counts == way.n_counts(start, stop), said


@pytest.mark.parametrize(("bins", "start", "stop"), [(256, 0, 100), (1024, 37, 990), (4096, 1234, 1240)])
def test_a_range_of_a_link_has_the_cores_numbers(
    page: Any, server: LiveServer, bins: int, start: int, stop: int
) -> None:
    link = f"ranges?ran_bins={bins}&ran_from={start}&ran_to={stop}"
    opened(page, server, link, ".ranges svg")
    for weigh in (False, True):
        if weigh:
            page.get_by_text("Least squares", exact=True).click()
            settle(page)
        check(page, start, stop, bins, weigh=weigh)
        page.locator(".ranges .knob").last.focus()
        page.keyboard.press("ArrowLeft")
        check(page, start, stop - 1, bins, weigh=weigh)
        page.keyboard.press("ArrowRight")
        settle(page)


def test_a_range_moves_in_the_browser(page: Any, server: LiveServer) -> None:
    opened(page, server, "ranges?ran_bins=64", ".ranges svg")
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda _: sent.append(socket.url)))
    first, last = page.locator(".ranges .knob").all()
    start, stop = ends(page)
    check(page, start, stop)
    records = page.locator(".ranges").first.inner_text()
    assert re.search("\\d\u202f\\d{3}", records)
    assert not re.search(r"\d{4}", records), "a thousand has a thin space"
    first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    last.focus()
    page.keyboard.press("End")
    check(page, start + 9, 64)
    strip = page.locator(".ranges .bins").bounding_box()
    at = [strip["x"] + strip["width"] * part / 64 for part in (3.5, 20.2)]
    page.mouse.move(at[0], strip["y"] + 10)
    page.mouse.down()
    page.mouse.move(at[1], strip["y"] + 10, steps=4)
    page.mouse.up()
    check(page, 3, 20)
    settle(page)
    assert sent == []
    before = told(page)
    page.get_by_role("button", name="Draw again").click()
    settle(page)
    assert told(page) != before  # the range stays, the noise is another one
    assert ends(page) == [3, 20]
