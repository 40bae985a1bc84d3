"""The frame, the first page and the data page in a real browser: what only a browser shows."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import browsing
from browsing import LiveServer, eventually, live_server, settle, visit

pytestmark = pytest.mark.browser

HOSTILE = (
    "![x](http://127.0.0.2:9/b.png)",
    "<img src=http://127.0.0.2:9/a.png onerror=window.hit=1>",
    "[z](javascript:window.hit=1)",
    "https://127.0.0.2:9/auto",
    r"$\href{http://127.0.0.2:9/}{x}$ `tick`",
    ":red[r] :material/home: **b** ~~s~~ :smile:",
    '<a href="http://127.0.0.2:9">q</a> <b>bold</b>',
)


def strip(page: Any) -> str:
    return str(
        page.locator('[data-testid="stCaptionContainer"]')
        .filter(has_text=re.compile(" leaf| leaves"))
        .first.inner_text()
    ).replace("\u00a0", " ")


def bytes_held(server: LiveServer) -> int:
    """Return the bytes of uploaded files that the server keeps."""
    with urllib.request.urlopen(f"{server.url}/_stcore/metrics") as answer:
        found = re.findall(r'cache_type="UploadedFileManager"[^}]*\} (\d+)', answer.read().decode())
    return sum(map(int, found))


def upload(page: Any, path: Path, columns: list[str], meanwhile: Callable[[], None] = lambda: None) -> None:
    """Upload a file and count the given columns of it; `meanwhile` is called while the file waits."""
    page.get_by_text("Upload", exact=True).click()
    settle(page)
    page.locator('[data-testid="stFileUploaderDropzoneInput"]').set_input_files(str(path))
    page.get_by_role("button", name="Count", exact=True).wait_for()
    box = page.get_by_role("combobox", name="Columns of the hierarchy")
    box.scroll_into_view_if_needed()  # scrolling closes an open list
    settle(page)
    for column in columns:
        box.click()
        page.get_by_role("option", name=column, exact=True).click()
        page.keyboard.press("Escape")
        settle(page)
    meanwhile()
    page.get_by_role("button", name="Count", exact=True).click()
    page.get_by_text("file discarded").wait_for()
    settle(page)


def test_the_first_page_has_a_name_and_one_that_is_not_there_is_said(page: Any, server: LiveServer) -> None:
    visit(page, f"{server.url}/start?eps=2")
    assert page.url == f"{server.url}/?eps=2"
    assert page.get_by_role("dialog").count() == 0
    page.goto(f"{server.url}/elsewhere")
    page.get_by_test_id("stToast").get_by_text("There is no page elsewhere in this app").wait_for()
    settle(page)
    assert page.get_by_role("dialog").count() == 0
    assert page.locator("[data-testid=stSidebarNavLink][aria-current]").inner_text().endswith("Start here")
    visit(page, f"{server.url}/a/b?eps=3")
    page.get_by_test_id("stToast").get_by_text("There is no page a/b in this app").wait_for()
    assert page.url == f"{server.url}/?eps=3"
    for left in ("", "?eps=2"):
        page.go_back()
        settle(page)
        assert page.url == f"{server.url}/{left}", "Back leads on, past what was no page"


def test_a_bad_link_is_named_in_a_toast_and_stays_harmless(page: Any, server: LiveServer) -> None:
    page.goto(f"{server.url}/lab?eps=-1&seed=9&%21%5Bx%5D%28http%3A%2F%2F127.0.0.2%3A9%2Fb.png%29=1")
    toast = page.get_by_test_id("stToast")
    toast.wait_for()
    assert "Ignored in the link: eps, " in toast.inner_text()
    assert "![x](http://127.0.0.2:9/b.png)." in toast.inner_text()
    assert toast.locator("a, img").count() == 0
    settle(page)
    assert strip(page).endswith("· ε = 1")
    assert page.get_by_role("spinbutton", name="Seed").input_value() == "9"


@pytest.mark.story
def test_nothing_is_left_to_what_a_browser_remembers(page: Any, server: LiveServer) -> None:
    """It sends with a press what it remembers, and forgets some of it when the press before has been answered."""
    received: list[ForwardMsg] = []
    listen = lambda payload: received.append(ForwardMsg.FromString(payload))  # noqa: E731
    page.on("websocket", lambda socket: socket.on("framereceived", listen))
    visit(page, f"{server.url}/lab")
    for name in ("By level", "Error vs ε"):
        page.get_by_text(name, exact=True).click()
        settle(page)
    assert len(received) > 30
    assert "ref_hash" not in {one.WhichOneof("type") for one in received}


def test_an_upload_end_to_end_frees_the_file(page: Any, start_server: Callable[..., Any], tmp_path: Path) -> None:
    """Begun by a deep link on a cold server, which comes through the router."""
    path = tmp_path / "survey.csv"
    path.write_text("region,city\n" + "North,Kiel\nNorth,Ulm\nSouth,Rome\n" * 20_000)
    held: list[int] = []
    with start_server() as own:
        visit(page, f"{own.url}/data?eps=2")
        assert page.get_by_role("dialog").count() == 0, "Page not found"
        page.get_by_role("link", name="Start here").wait_for()
        assert "ε = 2" in strip(page)
        assert page.locator('[data-testid="stSidebar"] input[type=range]').count() == 2
        upload(page, path, ["region", "city"], lambda: held.append(bytes_held(own)))
        assert held[0] >= path.stat().st_size  # so the measurement does see an upload
        assert "survey.csv · 3 levels · 3 leaves" in strip(page)
        assert page.get_by_text("60 000 records → 6 counts".replace(" ", "\u202f", 1)).count() == 1
        page.get_by_role("link", name="Start here").click()
        page.get_by_text("More", exact=True).click()
        page.get_by_text("survey.csv (counted from a file at").wait_for()
        eventually(lambda: bytes_held(own) == 0)  # the server counts bytes anew every five seconds
        assert "survey" not in page.url and "region" not in page.url
        page.reload()
        page.get_by_text("a reload ends one").wait_for()
        settle(page)
        assert "survey.csv" not in page.get_by_test_id("stMain").inner_text()
        page.get_by_role("button", name="Choose a file").click()
        page.locator('[data-testid="stFileUploaderDropzoneInput"]').wait_for(state="attached")


def test_levels_are_dragged_and_moved_by_keys(page: Any, server: LiveServer, tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    path.write_text("state,city,sex\nN,Kiel,f\nN,Ulm,m\nS,Rome,f\n")
    visit(page, f"{server.url}/data")

    def levels() -> list[str]:
        settle(page)
        return list(page.locator(".sortable .name").all_inner_texts())

    def moved() -> None:
        assert levels() == ["state", "city", "sex"]
        rows = page.locator(".sortable li")
        rows.nth(2).drag_to(rows.nth(0))
        assert levels() == ["sex", "state", "city"]
        rows.nth(0).press("ArrowDown")
        assert levels() == ["state", "sex", "city"]
        page.keyboard.press("ArrowDown")  # the row that was moved has kept the focus
        assert levels() == ["state", "city", "sex"]
        page.get_by_role("button", name="Move sex up").click()
        assert levels() == ["state", "sex", "city"]

    upload(page, path, ["state", "city", "sex"], moved)
    page.get_by_text("More", exact=True).click()
    page.get_by_text("state › sex › city").wait_for()


def test_hostile_names_stay_text_on_every_page(page: Any, server: LiveServer, tmp_path: Path) -> None:
    """Columns, labels and the file's name: no link, no picture, no script, no request to another machine."""
    path = tmp_path / "![n](http_127.0.0.2) $x$ <b>.csv"
    quoted = ['"' + text.replace('"', '""') + '"' for text in HOSTILE]
    rows = [",".join(quoted[:2]), ",".join(quoted[2:4]), ",".join(quoted[4:6]), f"{quoted[6]},b"]
    path.write_text("\n".join(rows) + "\n")
    visit(page, f"{server.url}/data?level=Advanced")
    upload(page, path, list(HOSTILE[:2]))
    page.locator("g.slice").first.wait_for()
    page.locator("g.slice").nth(1).click()
    steps = page.locator("[class*=st-key-data_node_to_]")
    steps.nth(1).wait_for()  # down the tree
    page.get_by_role("button", name="all", exact=True).and_(page.locator(":enabled")).click()
    steps.nth(1).wait_for(state="detached")  # and up again
    for name in ("Error lab", "Start here", "Consistency", "Data and tree"):
        link = page.get_by_role("link", name=name).first
        address = link.evaluate("link => link.href")
        link.click()
        page.wait_for_url(re.compile(re.escape(address) + r"(\?|$)"))
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        settle(page)
        assert page.locator("a[href*='127.0.0.2'], a[href^='javascript'], img[src*='127.0.0.2']").count() == 0
        assert page.locator('[data-testid="stException"]').count() == 0
        assert page.evaluate("window.hit") is None
    page.locator('[data-testid="stMain"]').filter(has_text=HOSTILE[0]).wait_for()
    shown = page.locator('[data-testid="stMain"]').inner_text()
    assert HOSTILE[0] in shown
    assert HOSTILE[1][:38] in shown  # long names are cut
    assert path.name in shown


def test_a_browser_that_outlives_the_server_keeps_its_settings(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data are gone and it says so before anything is touched; no setting is overwritten by its default."""
    with live_server() as first:
        port = urlsplit(first.url).port
        visit(page, f"{first.url}/data?sample=ages")
        slider = page.locator('[data-testid="stSidebar"] input[type=range]').first
        slider.focus()
        page.keyboard.press("ArrowRight")
        settle(page)
        assert "ε = 1.2" in strip(page)
    monkeypatch.setattr(browsing, "free_port", lambda: port)
    page.locator("[data-testid=stApp]:not([data-test-connection-state=CONNECTED])").wait_for()
    with live_server():
        page.get_by_text("The session had ended").wait_for()
        settle(page)
        assert "ε = 1.2" in strip(page)
        assert page.get_by_role("spinbutton", name="Seed").input_value() == "7", "greyed here"
        slider.focus()
        page.keyboard.press("ArrowRight")
        settle(page)
        assert "ε = 1.4" in strip(page)
        assert "Ages" in strip(page)
        page.get_by_role("button", name="Understood").click()
        page.get_by_text("The session had ended").wait_for(state="detached")
