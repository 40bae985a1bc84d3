"""A browser session that several tests use one after another: the next finds nothing of the one before."""

from __future__ import annotations

import pytest

from browsing import LiveServer, Sessions, eventually

pytestmark = pytest.mark.browser
KEEP = """async () => {
  localStorage.setItem('a', 1); sessionStorage.setItem('b', 2); document.cookie = 'c=3';
  await new Promise(done => { indexedDB.open('d', 1).onsuccess = event => done(event.target.result.close()) });
  await (await caches.open('e')).put('/f', new Response('g'));
}"""
KEPT = """async () => [Object.keys(localStorage), Object.keys(sessionStorage), document.cookie.includes('c=3') ? 1 : 0,
  (await indexedDB.databases()).length, (await caches.keys()).length]"""


def test_a_session_that_is_lent_again_is_empty(sessions: Sessions, server: LiveServer) -> None:
    for _ in range(2):
        context = sessions.empty(0)
        page = context.new_page()
        page.goto(f"{server.url}/_stcore/health")
        eventually(lambda: page.evaluate(KEPT) == [[], [], 0, 0, 0], 10)  # noqa: B023 - called at once
        page.evaluate(KEEP)
        assert page.evaluate(KEPT) == [["a"], ["b"], 1, 1, 1]
        sessions.clear(context)
        assert page.is_closed()
