"""Nothing that is seen lies under an invisible lid, and every "?" opens by mouse, touch and keyboard."""

from __future__ import annotations

from typing import Any, Final

import pytest

from app import all_pages
from browsing import LiveServer, settle, visit
from lids import lids

pytestmark = pytest.mark.browser

WINDOWS: Final = ((1280, 720), (1440, 900), (1920, 1080), (820, 1000), (390, 800))
PAGES: Final = [pytest.param(page, id=page.name) for page in all_pages()]


@pytest.mark.parametrize("which", PAGES)
def test_a_press_reaches_every_control_that_is_seen(page: Any, server: LiveServer, which: Any, every: bool) -> None:
    """Also where the page is scrolled; with all that *More* has, and all views, in `make contract`."""
    found = []
    for view in which.views if every else which.views[:1]:
        switched = f"&{which.switch.key}={view.name}" if which.switch else ""
        visit(page, f"{server.url}/{address(which)}?level={'Advanced' if every else 'Basic'}{switched}")
        for width, height in WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            settle(page)
            found += [f"{view.name} at {width}: {lid}" for lid in lids(page)]
    assert found == []


def test_a_lid_is_found(page: Any, server: LiveServer) -> None:
    visit(page, server.url)
    assert lids(page) == []
    page.add_style_tag(content=".stAppHeader * { pointer-events: auto !important }")
    assert any("Help" in lid and "stToolbar" in lid for lid in lids(page))


def address(page: Any) -> str:
    """The name of a page in an address: the first one has none."""
    return "" if page.name == all_pages()[0].name else str(page.name)
