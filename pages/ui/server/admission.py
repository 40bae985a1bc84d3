"""The door of a class: who knows its word comes in, who holds the teacher's link teaches, and nobody is noted down."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final, Literal
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

WORD_PARAMETER: Final = "class"
TEACHER_PARAMETER: Final = "teacher"
FIRST_PAGE: Final = "/lesson"
WRONG_A_MINUTE: Final = 20
"""Wrong words from one address: a class behind one mistypes less, and three hours of it find one word in 900."""
MINUTE: Final = 60.0
MOST_ADDRESSES: Final = 4096
LONGEST_WORD: Final = 64
SEAT: Final = "."
"""Before the random end of a student's cookie: by it a browser's last guess takes the place of its earlier one."""
_WORDS: Final = """
acorn amber apple arrow aspen badge baker banjo basil beach berry birch bison blaze bloom brick bridge broom brush
cabin cable camel candle canoe canyon carbon castle cedar chalk cherry circle clay clover cloud cobalt comet copper
coral cotton crane creek crown daisy dawn delta desert diver dolphin dragon drum eagle earth easel ember falcon
feather fern fiddle finch flame flint flute forest fossil fox frost garden garnet geyser ginger glacier globe goose
granite grape gravel harbor hazel heron hill honey island ivory jade jasmine jungle juniper kettle kiwi lagoon lake
lantern lemon lilac linen lion lizard lotus magnet mango maple marble meadow melon mint mirror moon moss mountain
nectar nickel north oak oasis ocean olive onyx opal orbit orchid otter owl oyster panda paper peach pearl pebble
pepper petal piano pine planet plum pond poppy prairie prism quartz quill rabbit radar raven reef ribbon river robin
rocket rose ruby sable saffron salmon sand satin scarf seal shell silk silver sky slate snow sparrow spruce star
stone storm summit sun swan tiger timber topaz torch tower trail tulip turtle valley velvet violet walnut water wave
whale wheat willow wind winter wolf wood wool zebra zinc
"""
WORDS: Final = tuple(_WORDS.split())
Found = Literal["right", "wrong", "wait"]
_PAGE: Final = Path(__file__).parent.parent.parent.parent / "static" / "admission.html"


class Door:
    """The secrets of one start of a class, and how often an address has guessed wrongly in the last minute.

    Parameters
    ----------
    now : function
        A clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        words = f"{secrets.choice(WORDS)}-{secrets.choice(WORDS)}"
        self.word = f"{words}-{10 + secrets.randbelow(90)}"
        self.teacher, self.student = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._now = now
        self._lock = threading.Lock()
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def tries(self, given: str, secret: str, address: str) -> Found:
        """Compare what somebody at an address gave with a secret, in a time that tells nothing of it."""
        with self._lock:
            since, wrong = self._wrong.get(address, (self._now(), 0))
            if self._now() - since >= MINUTE:
                since, wrong = self._now(), 0
            if wrong >= WRONG_A_MINUTE:
                return "wait"
            if same(given, secret):
                return "right"
            self._wrong[address] = since, wrong + 1
            self._wrong.move_to_end(address)
            while len(self._wrong) > MOST_ADDRESSES:
                self._wrong.popitem(last=False)
            return "wrong"

    def forget(self) -> None:
        """Forget the addresses whose minute is over."""
        with self._lock:
            for address in [one for one, (since, _) in self._wrong.items() if self._now() - since >= MINUTE]:
                del self._wrong[address]

    def role(self, held: str) -> Literal["", "student", "teacher"]:
        """Who comes with a cookie."""
        shared, _, _ = held.partition(SEAT)
        return "teacher" if same(held, self.teacher) else "student" if same(shared, self.student) else ""

    def answer(self, scope: Scope, headers: Headers, is_over: bool, comes: Callable[[], None]) -> Response | None:
        """What a request gets that is not (yet) let in or that comes with a secret; None for those who are in.

        `comes` is called when a student has given the word.
        """
        role = self.role(cookie(headers, cookie_name(scope)))
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query)
        asks = scope["type"] == "http"
        if asks and TEACHER_PARAMETER in given:
            found = self.tries(given[TEACHER_PARAMETER], self.teacher, bucket(scope))
            return _opened(scope, query, found, self.teacher)
        if asks and WORD_PARAMETER in given and role:  # who scans the code again, or teaches
            return _redirect(scope, query)
        if role or scope["path"].endswith("/_stcore/health"):
            return None
        if is_over:
            return _first_screen("The class has ended.", 410)
        if asks and WORD_PARAMETER in given:
            found = self.tries(plain(given[WORD_PARAMETER]), plain(self.word), bucket(scope))
            if found == "right":
                comes()
            return _opened(scope, query, found, f"{self.student}{SEAT}{secrets.token_urlsafe(9)}")
        return _first_screen("", 403)


def plain(text: str) -> str:
    """Return a word as it is compared, however it was typed.

    >>> plain(" Amber otter-42 ")
    'amberotter42'
    """
    return re.sub(r"[^a-z0-9]", "", text[:LONGEST_WORD].lower())


def same(given: str, secret: str) -> bool:
    """Whether two texts agree, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def cookie(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a cookie, "" without one."""
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def seat_of(held: str) -> str:
    """Return the random end of a student's cookie, "" if it has none.

    >>> seat_of("shared.GQv1"), seat_of("")
    ('GQv1', '')
    """
    return held.partition(SEAT)[2][:LONGEST_WORD]


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie of the server that was asked: each of a machine has one of its own."""
    return name_at(scope["server"][1] if scope.get("server") else 0)


def name_at(port: int) -> str:
    """Return the name of the cookie of a class at a port."""
    return f"treedp_class_{port}"


def bucket(scope: Scope) -> str:
    """Return whom a wrong word is counted for: an address, of IPv6 the network, whose addresses cost nothing."""
    text = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _opened(scope: Scope, query: list[tuple[str, str]], found: Found, token: str) -> Response:
    """Let a browser in that gave the right word, with a cookie that says teacher or student, and of which browser."""
    if found == "wait":
        return _first_screen("Too many wrong words from here: wait a minute.", 429)
    if found == "wrong":
        return _first_screen("That is not the word.", 403)
    answer = _redirect(scope, query)
    answer.set_cookie(cookie_name(scope), token, httponly=True, samesite="lax")
    return answer


def _redirect(scope: Scope, query: list[tuple[str, str]]) -> RedirectResponse:
    """Send a browser to the same page without the secret in its address; to the lesson from the first page."""
    rest = urlencode([(name, value) for name, value in query if name not in (WORD_PARAMETER, TEACHER_PARAMETER)])
    path = scope["path"] if scope["path"].strip("/") else FIRST_PAGE
    return RedirectResponse("/" + path.lstrip("/") + (f"?{rest}" if rest else ""), 303)


def _first_screen(told: str, status: int) -> Response:
    ended = " hidden" if status == 410 else ""
    page = _page().replace("{told}", escape(told)).replace("{ended}", ended)
    return HTMLResponse(page, status, {"Cache-Control": "no-store"})


@cache
def _page() -> str:
    return _PAGE.read_text(encoding="utf-8")
