"""What stands between the network and Streamlit: who may ask, which headers every answer carries, the address shown."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import logging
import os
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import cache
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui.jobs.workers import WORKERS
from pages.ui.server import classroom
from pages.ui.server.admission import cookie, same
from pages.ui.session import download, logs, sessions, streamlit_compat
from pages.ui.session.streamlit_compat import is_host_allowed
from pages.ui.session.uploads import UploadLimit, is_class
from treedp_core.cli import HOSTS_VARIABLE, KEY_VARIABLE

FRAME_VARIABLE: Final = "TREEDP_FRAME_ANCESTORS"
KEY_PARAMETER: Final = "key"
NO_PAGE: Final = "no_page"
"""What the address of the home page names where one was sent there from a page that is none."""
MAX_PAGE: Final = 100
"""Characters of the name of a page that is none."""
LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_OPERATORS_ONLY: Final = ("/_stcore/metrics", "/_stcore/agent")

_POLICY: Final = (
    "default-src 'self'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws://{host} wss://{host}; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors {ancestors}"
)
_NOT_SERVED: Final = f"This name is not served here; whoever runs the app adds it to {HOSTS_VARIABLE}."
_NOT_OWN: Final = (
    "Pages of another origin may not do this. If this is the app's own page, its proxy passes on another "
    "Host than the browser asks for."
)
MAX_TOLD: Final = 20
"""Refused names that the log has, each once: strangers send as many as they like."""
_MAX_NAME: Final = 100
_TOLD: Final[set[str]] = set()


class Gate:
    """Middleware that refuses strangers' requests and puts the security headers on every answer.

    - Host: only the names in `server.allowedHosts`, on every path, which stops DNS rebinding.
    - Origin: a page of another origin may neither open the websocket nor change anything; another port of this machine
      is another origin.
    - Class: if it is one, only who gave its word or came by its teacher's link is served.
    - Key: if TREEDP_KEY is set, only a browser that once came with ``?key=…`` is served, as other users of the machine
      reach 127.0.0.1 too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = _refusal(scope, headers)
        if refused is not None:
            await _refuse(refused, scope, receive, send, headers)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, _with_headers(send, headers))


def _refusal(scope: Scope, headers: Headers) -> Response | None:
    """The answer to a request that is not served, or None."""
    host = headers.get("host", "")
    if not is_host_allowed(host) and not (_is_probe(scope) and _is_of_machine(host)):
        _log(
            f"The host name {{}} is refused; to serve it, add it to {HOSTS_VARIABLE}, names separated by spaces.", host
        )
        return PlainTextResponse(_NOT_SERVED, 403)
    reads = scope["type"] == "http" and scope["method"] in ("GET", "HEAD", "OPTIONS")
    if not reads and not _is_own(origin := headers.get("origin"), host):
        told = (
            "A page of {} is refused, as it asked under another name, {}; if it is this app's own, have the proxy pass "
        )
        _log(f"{told}the Host header on, and add that name to {HOSTS_VARIABLE}.", _place(origin), host)
        return PlainTextResponse(_NOT_OWN, 403)
    if scope["path"].startswith(_OPERATORS_ONLY) and not _is_from_here(scope, headers):
        return PlainTextResponse("Only for the operator, on the machine itself.", 403)
    if is_class():
        room = classroom.guesses()
        return classroom.door().answer(scope, headers, is_over=room.is_over, comes=room.begin)
    return _without_key(scope, headers)


def _is_own(origin: str | None, host: str) -> bool:
    """Whether the page that asks is this app's: no browser sends these requests without naming the page's origin.

    A foreign origin must not reach Streamlit's own check, which asks a service on the internet who we are.

    >>> _is_own("http://localhost:8501", "localhost:8501"), _is_own("http://localhost:1", "localhost:8501")
    (True, False)
    """
    return origin is None or _place(origin).lower() == host.lower()


def _place(origin: str | None) -> str:
    """The name and the port of an origin."""
    return (origin or "").partition("://")[2]


def _is_probe(scope: Scope) -> bool:
    """Whether a request only asks if the app lives, as whoever watches a server does, often by its address."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    path = f"/{base}/_stcore/health" if base else "/_stcore/health"
    return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and bool(scope["path"] == path)


def _is_of_machine(host: str) -> bool:
    """Whether a host is localhost or given by its address: a page that rebinds its name to one asks by the name.

    >>> _is_of_machine("127.0.0.1:8501"), _is_of_machine("[::1]:8501"), _is_of_machine("localhost:8501")
    (True, True, True)
    >>> _is_of_machine("10.0.0.7"), _is_of_machine("10.evil.example"), _is_of_machine("localhost.evil.example")
    (True, False, False)
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name) is not None
    except ValueError:
        return False


def _log(sentence: str, *names: str) -> None:
    """Say once in the log which name was refused: at most so much of it, and without what acts on a terminal."""
    said = sentence.format(*(ascii(name.rpartition("@")[2][:_MAX_NAME]) for name in names))
    if said not in _TOLD and len(_TOLD) < MAX_TOLD:
        _TOLD.add(said)
        logging.getLogger("treedp").warning(said)


def _is_from_here(scope: Scope, headers: Headers) -> bool:
    """Whether the request comes from this machine and through no proxy."""
    client = (scope.get("client") or ("", 0))[0]
    return client in LOCAL_NAMES and not any(name in headers for name in ("x-forwarded-for", "forwarded", "x-real-ip"))


def _without_key(scope: Scope, headers: Headers) -> Response | None:
    """What a browser gets that does not hold the key of this start; None if it does, or none is asked for."""
    key = os.environ.get(KEY_VARIABLE)
    if not key or _is_probe(scope):
        return None
    name = f"treedp_{scope['server'][1] if scope.get('server') else 0}"
    if same(cookie(headers, name), key):
        return None
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if scope["type"] == "http" and any(field == KEY_PARAMETER and same(value, key) for field, value in query):
        rest = urlencode([(field, value) for field, value in query if field != KEY_PARAMETER])
        answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(name, key, httponly=True, samesite="strict")
        return answer
    return PlainTextResponse("Open the address that treedp printed when it was started: it holds the key.", 403)


async def _refuse(answer: Response, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
    if scope["type"] == "http":
        await answer(scope, receive, _with_headers(send, headers))
    else:  # closing before accepting is answered with 403
        await send({"type": "websocket.close", "code": 1008})


def _with_headers(send: Send, asked: Headers) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(security_headers(asked.get("host", "")))
        await send(message)

    return wrapped


def security_headers(host: str) -> dict[str, str]:
    """Headers of every answer; TREEDP_FRAME_ANCESTORS lists the sites that may show the app in a frame."""
    ancestors = os.environ.get(FRAME_VARIABLE, "").strip() or "'none'"
    headers = {
        "Content-Security-Policy": _POLICY.format(scripts=_streamlit_scripts(), host=host, ancestors=ancestors),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }
    return headers | ({"X-Frame-Options": "DENY"} if ancestors == "'none'" else {})


@cache
def _streamlit_scripts() -> str:
    """The scripts inside Streamlit's page as it is sent, by their hashes: no other runs there, and no text as code."""
    digests = [hashlib.sha256(script).digest() for script in (*streamlit_compat.inline_scripts(), _EARS)]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


class Addresses:
    """Middleware that sends who asks for the home page by its name, or for a page that is none, to the app's root.

    There Streamlit has the home page; at any other address it would load, too, or try to. An address that is left by
    being sent on is none that Back leads to. Where one is sent is relative, so that it holds below a path, and where a
    proxy takes that path away.

    Parameters
    ----------
    app : ASGI application
    pages : sequence of str
        The names of the pages, the home page first.
    """

    def __init__(self, app: ASGIApp, pages: Sequence[str]) -> None:
        self.app, self.home, self.others = app, pages[0], frozenset(pages[1:])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        asked = _below_base(scope.get("path", "")).lstrip("/")
        name, last = asked.strip("/"), asked.rstrip("/").rpartition("/")[2]
        if scope["type"] != "http" or scope["method"] != "GET" or asked in ("", *self.others) or "." in last:
            await self.app(scope, receive, send)
        elif last == self.home:
            await self._there(scope, "../" if asked.endswith("/") else "./")(scope, receive, send)
        else:
            root, known = "../" * asked.count("/") or "./", name in self.others
            there = (
                self._there(scope, f"{root}{name}") if known else self._there(scope, root, (NO_PAGE, name[:MAX_PAGE]))
            )
            await self.app(scope, receive, self._instead_of_page(there, scope, receive, send))

    @staticmethod
    def _there(scope: Scope, place: str, *more: tuple[str, str]) -> Response:
        """What sends a browser to another place, with all that its address asks for."""
        query = urlencode([*parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True), *more])
        return RedirectResponse(f"{place}?{query}" if query else place, 303)

    @staticmethod
    def _instead_of_page(there: Response, scope: Scope, receive: Receive, send: Send) -> Send:
        """Send on who would be given Streamlit's page; files and whatever else answers there go through."""
        is_page = False

        async def wrapped(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                headers = Headers(raw=message["headers"])
                is_page = _is_page(message["status"], headers)
                if is_page:
                    await there(scope, receive, send)
            if not is_page:
                await send(message)

        return wrapped


def _is_page(status: int, headers: Headers) -> bool:
    """Whether an answer is a page to be shown, and no document to be kept."""
    is_html = headers.get("content-type", "").startswith("text/html")
    return status == 200 and is_html and "content-disposition" not in headers


def _below_base(path: str) -> str:
    """Return what stands behind the path that the app is served below; a proxy may have taken that away."""
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return path.removeprefix(f"/{base}") if base and f"{path}/".startswith(f"/{base}/") else path


_EARS: Final = b"window.early = []; addEventListener('keydown', key => window.early?.push(key))"

_SPARING: Final = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
"""What would have a page come packed, in part, or not at all."""


class Ears:
    """Middleware that has Streamlit's page keep the keys pressed before the app's own script is there to hear them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if (
            scope["type"] == "http"
            and scope["method"] == "GET"
            and "text/html" in Headers(scope=scope).get("accept", "")
        ):
            whole = [(name, value) for name, value in scope["headers"] if name not in _SPARING]
            await self.app({**scope, "headers": whole}, receive, self._added(send))
        else:
            await self.app(scope, receive, send)

    @staticmethod
    def _added(send: Send) -> Send:
        is_page, script = False, b"<script>%b</script>" % _EARS

        async def wrapped(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = _is_page(message["status"], headers)
                if is_page:
                    headers["content-length"] = str(int(headers["content-length"]) + len(script))
                    del headers["etag"], headers["last-modified"]  # they are of the file alone
            elif is_page and not message.get("more_body", False):
                message["body"] = message.get("body", b"") + script
            await send(message)

        return wrapped


def middleware(pages: Sequence[str]) -> tuple[Middleware, ...]:
    """Return what every request passes through, the outermost first; `pages` are their names, the home page first."""
    return Middleware(Gate), Middleware(Addresses, pages), Middleware(Ears), Middleware(UploadLimit)


def lifespan(prepare: Callable[[], object]) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Return what surrounds the life of a server, which prepares in the background what its first visitor would."""

    @asynccontextmanager
    async def living(app: object) -> AsyncIterator[None]:
        _begin()
        threading.Thread(target=_warm, args=(prepare,), daemon=True).start()
        with logs.discreet():
            async with sessions.clock(_chores()):
                yield
        WORKERS.close()

    return living


def _begin() -> None:
    """Say where the app is, and open it in the browser of a person who sits at this machine."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # its start is told in a sentence of ours
    # Streamlit reads an upload into memory whole; without this it would pass through a temporary file first.
    MultiPartParser.spool_max_size = sys.maxsize
    streamlit_compat.have_presses_done_in_turn()
    streamlit_compat.check()
    WORKERS.start()
    url = address()
    for line in classroom.told(url) if is_class() else (_whereabouts(url),):
        _say(line)
    if is_class():
        url = classroom.teacher_link(url)
    if not st.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _whereabouts(url: str) -> str:
    """Where the app is: under the names it serves, which a proxy passes on, if this machine's own is none of them."""
    if is_host_allowed(urlsplit(url).netloc):
        return f"TreeDP is at {url} (Ctrl+C ends it)"
    names, host = ", ".join(st.get_option("server.allowedHosts")), st.get_option("server.address")
    return f"TreeDP serves {names} on port {st.get_option('server.port')} of {host} (Ctrl+C ends it)"


def _warm(prepare: Callable[[], object]) -> None:
    """Do what the first visitor would wait for, and stop looking through what it leaves."""
    with suppress(Exception):  # the first visitor's run says it
        prepare()
    sessions.collect()


def _chores() -> Callable[[], bool]:
    """What is done at every tick: files that nobody fetches go, and so does a class that is over."""
    sweep = download.linger()
    return lambda: any([sweep(), classroom.sweep()])


def address() -> str:
    """Where the app is, the key of this start included."""
    name = st.get_option("browser.serverAddress")
    name = (name if name != "localhost" else None) or st.get_option("server.address") or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "::1": "[::1]"}.get(name, name)
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    key = os.environ.get(KEY_VARIABLE)
    return f"{scheme}://{name}:{st.get_option('server.port')}/{path}" + (f"?{KEY_PARAMETER}={key}" if key else "")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # nobody may be listening any more
        print(text, flush=True)
