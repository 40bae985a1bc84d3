"""A link as a QR code, for the cameras of those who see it on a wall."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

LONGEST: Final = 1_200
"""Bytes of a link whose code, of 129 modules a side, a telephone still reads off a projector."""
ONLY_HERE: Final = ("localhost", "127.0.0.1", "::1")


@lru_cache(maxsize=8)
def image(link: str) -> str:
    """Return the QR code of a link as the address of a picture, black on white; nothing for a link too long for one."""
    import segno  # only now: most runs of a page ask for none

    if not link or len(link.encode()) > LONGEST:
        return ""
    return str(segno.make(link.encode(), error="l", micro=False).svg_data_uri(omitsize=True, dark="#000", light="#fff"))


def in_letters(link: str) -> str:
    """Return the QR code of a link in the block letters of a terminal."""
    import segno

    into = io.StringIO()
    segno.make(link.encode(), error="l", micro=False).terminal(into, compact=True, border=2)
    return into.getvalue()


def note(link: str) -> str:
    """Return what is to be said of the code of a link, if anything."""
    if not image(link):
        return "The link is too long for a QR code."
    return "It leads to this computer, and works on no other." if urlsplit(link).hostname in ONLY_HERE else ""
