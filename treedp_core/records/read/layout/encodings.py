"""Which encoding a text file may be in that is not UTF-8: from the letters that its first bytes would be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

CANDIDATES: Final = ("cp1252", "mac_roman", "cp850", "cp1250", "cp1251", "cp1253", "cp1254", "koi8_r", "iso8859_15")
"""Those of one byte a character, the likely first: of those that fit as well the first one is taken."""
OFFERED: Final = {
    "utf-8": "utf-8", **{one: one for one in CANDIDATES},
    "cp932": "cp932 (Shift-JIS)", "gb18030": "gb18030 (Chinese)", "big5": "big5 (Chinese)", "cp949": "cp949 (Korean)",
}  # fmt: skip
"""Those to choose from, and what they are called; those of several bytes a character are not found out."""
_LOOKED_AT: Final = 20_000
_LETTERS: Final = 4_000
"""Bytes that are looked at as letters, and those around them."""
_LIKELY: Final = 0.8
_AT_LEAST: Final = 0.6
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UTF8: Final = re.compile(
    rb"(?<![\x80-\xff])(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})[\x80-\xbf](?![\x80-\xff])"
)
"""A letter as UTF-8 has it: a file with one is in UTF-8, and damaged."""
_NEAR: Final = re.compile(rb"[\x00-\x7f]?[\x80-\xff]+[\x00-\x7f]?")
_USUAL: Final = frozenset("äöüßéèáíóúñçåøæàâêôÄÖÜÉÅØÑ")
_RARER: Final = frozenset("ąćęłńśźżčďěňřšťůžőűșțğışãĄĆĘŁŃŚŹŻČĎŘŠŤŮŽŐŰȘȚĞİŞëïûùœÁÍÓÚÇÀÆÂÊÔ")
_LAST: Final = frozenset("îìòõăÿÈÎÕÃĂËÏÙÛŒýÝ")
_SIGNS: Final = frozenset("–—‘’“”„…€£°§«»·•™®©½¼¾²³¿¡ºª")
"""Letters of many languages, of some, and of fewer; signs, which stand beside letters, hardly between them."""
_POINTS: Final = ((_USUAL, 1.0), (_RARER, 0.8), (_LAST, 0.5))


def guessed(data: bytes) -> tuple[str, bool] | None:
    r"""Return an encoding that makes text of bytes that are not UTF-8, and whether it is likely; None for none.

    >>> [guessed("Köln, Århus, Besançon".encode(one)) for one in ("cp1252", "mac_roman")]
    [('cp1252', True), ('mac_roman', True)]
    >>> (
    ...     guessed("Москва, Омск".encode("cp1251")),
    ...     guessed("a,b\nx,1\n".encode("utf-16-le")),
    ...     guessed(bytes(range(256))),
    ... )
    (('cp1251', True), ('utf-16-le', True), None)
    """
    if wide := _wide(data[:_LOOKED_AT]):
        return wide, True
    if _CONTROLS.search(data) or _UTF8.search(data):
        return None
    pieces, n = list[bytes](), 0
    for found in _NEAR.finditer(data):
        pieces.append(found[0][: _LETTERS - n])
        n += len(pieces[-1])
        if n >= _LETTERS:
            break
    best, place = max((_score(pieces, one), -at) for at, one in enumerate(CANDIDATES))
    return (CANDIDATES[-place], best >= _LIKELY) if best >= _AT_LEAST else None


def _wide(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of most characters is zero."""
    pairs = len(data) // 2
    zeros = data[1 : 2 * pairs : 2].count(0), data[0 : 2 * pairs : 2].count(0)
    if pairs and max(zeros) > 0.6 * pairs and min(zeros) < 0.05 * pairs:
        wide = "utf-16-le" if zeros[0] > zeros[1] else "utf-16-be"
        try:
            data[: 2 * pairs].decode(wide)
            return wide
        except UnicodeDecodeError:
            pass
    return ""


def _score(pieces: Sequence[bytes], encoding: str) -> float:
    """From -1 to 1: how much what is not ASCII is letters among letters of their own script, as languages have them."""
    points, n = 0.0, 0
    for stored in pieces:
        try:
            piece = stored.decode(encoding)
        except UnicodeDecodeError:
            return -1.0
        for at, char in enumerate(piece):
            if not char.isascii():
                points, n = points + _fits(char, piece[:at][-1:], piece[at + 1 :][:1]), n + 1
    return points / max(1, n)


def _fits(char: str, before: str, after: str) -> float:
    kind = unicodedata.category(char)
    if kind.startswith("C"):
        return -2.0
    script = unicodedata.name(char, "").partition(" ")[0]
    if script in ("CYRILLIC", "GREEK"):
        others = [one for one in (before, after) if one.isalpha()]
        if kind == "Lu" and before.islower():
            return -1.0
        return 1.0 if all(unicodedata.name(one, "").startswith(script) for one in others) and others else -0.5
    if kind == "Lu" and before.islower():
        return -1.0
    if char in _SIGNS:
        is_apart = not (before.isalpha() and after.isalpha()) and not (before and before in _SIGNS)
        return 0.9 if is_apart or char == "’" else -0.5
    if kind == "Ll" and before.isupper() and after.isupper():
        return -1.0
    points = next((one for some, one in _POINTS if char in some), -0.5)
    if not (before.isalpha() or after.isalpha()):
        return min(points, 0.6)
    return min(points, 0.4) if before.isalpha() and not before.isascii() else points
