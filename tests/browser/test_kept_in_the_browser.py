"""The notebook kept in the browser: only when asked for, there after a reload, and never lost between two tabs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browsing import ROOT, LiveServer, Traffic, eventually, settle, visit
from test_frame import upload
from test_kept_cells import CSV, DRAWN, go, pin
from treedp_core.notebook.file.archive import open_study

pytestmark = pytest.mark.browser
KEPT = """() => new Promise(done => {
  const opening = indexedDB.open('treedp', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('notebook');
  opening.onsuccess = () => {
    const asking = opening.result.transaction('notebook').objectStore('notebook').get('kept');
    asking.onsuccess = () => { opening.result.close();
      done(asking.result ? {version: asking.result.version, size: asking.result.content.byteLength} : null) };
  };
})"""


ALONE = """async () => {
  const module = await import('/alone.js');
  const told = [];
  window.offer = async (session, nth, more) => {
    const base = {session, nth, on: true, wants: '', asked: 0, url: `data:,${session}${nth}`, title: 'Survey'};
    module.default({data: {...base, ...more}, setTriggerValue: (_, what) => told.push(what.kind)});
    await new Promise(done => setTimeout(done, 150));
    return told.splice(0);
  };
}"""


def surveyed(page: Any, server: LiveServer, folder: Path) -> None:
    """Have a table of one's own counted."""
    file = folder / "survey.csv"
    file.write_text(CSV, encoding="utf-8")
    visit(page, f"{server.url}/data")
    upload(page, file, ["region", "city"])


def keep(page: Any) -> None:
    page.locator(".st-key-side_notebook button").first.click()
    page.get_by_text("Keep it in this browser").click()
    settle(page)
    page.keyboard.press("Escape")
    eventually(lambda: page.evaluate(KEPT) is not None)


def changed(page: Any, before: Any) -> bool:
    found = page.evaluate(KEPT)
    return found is not None and found["version"] != before["version"]


def test_nothing_is_kept_before_it_is_asked_for_all_of_it_is_there_after_a_reload_and_what_is_removed_is_gone(
    page: Any, server: LiveServer, tmp_path: Any
) -> None:
    surveyed(page, server, tmp_path)
    go(page, "Error lab")
    pin(page)
    there = page.evaluate(DRAWN)
    assert page.evaluate(KEPT) is None
    keep(page)
    visit(page, f"{server.url}/lab")
    page.get_by_text("This browser keeps a notebook").wait_for()
    page.get_by_role("button", name="Open it").click()
    settle(page)
    page.locator(".st-key-lab_figure .main-svg").first.wait_for()
    eventually(lambda: page.evaluate(DRAWN) == there)
    assert "survey.csv" in page.locator(".st-key-heading").inner_text()
    go(page, "Notebook")
    assert page.evaluate(DRAWN) == there
    page.locator(".st-key-side_notebook button").first.click()
    page.get_by_role("button", name="Remove from this browser").click()
    eventually(lambda: page.evaluate(KEPT) is None)
    page.keyboard.press("Escape")
    visit(page, f"{server.url}/lab")
    assert page.get_by_text("This browser keeps a notebook").count() == 0


def test_a_table_that_may_be_kept_is_there_after_a_reload_and_only_after_a_reload(
    page: Any, server: LiveServer, tmp_path: Any
) -> None:
    surveyed(page, server, tmp_path)
    there = page.evaluate(DRAWN)
    page.get_by_role("button", name="Keep in this browser").click()
    page.get_by_text("Kept in this browser, ").wait_for()
    eventually(lambda: page.evaluate(KEPT) is not None)
    settle(page)
    page.reload()
    page.get_by_test_id("stToast").get_by_text("survey.csv: here again.").wait_for()
    settle(page)
    eventually(lambda: page.evaluate(DRAWN) == there)
    page.get_by_text("Only its counts are here: other levels need the file again.").wait_for()
    assert page.get_by_text("This browser keeps a notebook").count() == 0
    visit(page, f"{server.url}/lab?eps=3")  # a link says what it shows
    page.get_by_text("This browser keeps a notebook").wait_for()
    assert "eps=3" in page.url
    page.get_by_role("button", name="Open it").click()
    settle(page)
    go(page, "Data and tree")
    page.get_by_role("button", name="Forget").click()
    eventually(lambda: page.evaluate(KEPT) is None)
    page.reload()
    settle(page)
    assert page.get_by_text("survey.csv").count() == 0


@pytest.fixture
def alone(page: Any, server: LiveServer) -> Callable[..., list[str]]:
    """What keeps the notebook, without an app: what it tells of what it is offered by a session."""
    script = (ROOT / "static/autosave/autosave.js").read_text(encoding="utf-8")
    page.route("**/alone", lambda route: route.fulfill(body="", content_type="text/html"))
    page.route("**/alone.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    page.goto(f"{server.url}/alone")
    page.evaluate(ALONE)

    def offer(session: str, nth: int, **more: Any) -> list[str]:
        told: list[str] = page.evaluate("([session, nth, more]) => offer(session, nth, more)", [session, nth, more])
        return told

    return offer


def test_an_app_that_was_started_anew_does_not_write_over_what_an_open_tab_has_kept(page: Any, alone: Any) -> None:
    assert alone("one", 1) == []
    mine = page.evaluate(KEPT)
    assert mine["size"] == len("one1")
    assert alone("two", -1, on=False, url="") == ["found"]
    assert alone("two", 1) == ["conflict"] and page.evaluate(KEPT) == mine
    alone("two", 1, wants="force", asked=1)
    assert alone("two", 2) == [] and page.evaluate(KEPT) != mine


def test_what_was_removed_in_another_tab_is_not_kept_again_unasked(page: Any, alone: Any) -> None:
    alone("one", 1)
    page.evaluate("() => new Promise(done => { indexedDB.deleteDatabase('treedp').onsuccess = done })")
    assert alone("one", 2) == ["none"] and page.evaluate(KEPT) is None


def test_what_could_not_be_kept_is_told_once_and_once_more_when_it_could(page: Any, alone: Any) -> None:
    page.evaluate(
        "() => { window.put = IDBObjectStore.prototype.put; "
        "IDBObjectStore.prototype.put = function () { this.transaction.abort() } }"
    )
    assert alone("one", 1) == ["failed"]
    assert alone("one", 1) == [] and alone("one", 2) == [] and page.evaluate(KEPT) is None
    page.evaluate("() => { IDBObjectStore.prototype.put = window.put }")
    assert alone("one", 3) == ["written"] and page.evaluate(KEPT)["size"] == len("one3")


def test_two_tabs_do_not_destroy_each_others_work(page: Any, server: LiveServer, tmp_path: Path) -> None:
    visit(page, f"{server.url}/lab")
    pin(page)
    keep(page)
    mine = page.evaluate(KEPT)
    other = page.context.new_page()
    Traffic().watch(other)
    visit(other, f"{server.url}/lab")
    other.get_by_role("button", name="Not now").click()
    settle(other)
    pin(other)
    pin(other)
    keep(other)
    other.get_by_text("Another tab has kept a notebook").wait_for()
    assert other.evaluate(KEPT) == mine, "the last writer is asked first"
    with other.expect_download() as download:
        other.get_by_role("button", name="Save it as a file").click()
    assert download.value.suggested_filename == "Notebook TRUE COUNTS.treedp"
    download.value.save_as(tmp_path / "theirs.treedp")
    assert len(open_study((tmp_path / "theirs.treedp").read_bytes()).notebook.cells) == 1, "as the browser has it"
    assert other.evaluate(KEPT) == mine
    other.get_by_role("button", name="Keep mine").click()
    eventually(lambda: changed(other, mine))
    settle(other)
    theirs = other.evaluate(KEPT)
    pin(page)
    page.get_by_text("Another tab has kept a notebook").wait_for()
    assert page.evaluate(KEPT) == theirs
    page.get_by_role("button", name="Open it").click()
    settle(page)
    go(page, "Notebook")
    page.get_by_role("radio", name="All cells").click()
    settle(page)
    assert page.locator(".sortable li").count() == 2
