"""What users write beside a cell: Markdown that asks for nothing elsewhere, as it is shown and exported."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = "```"
_CODE: Final = re.compile(r"`([^`\n]+)`")
_ADDRESS: Final = re.compile(r"\S*(?:(?:https?|ftp|mailto|xmpp):|www\.|\S@\S)\S*", re.IGNORECASE)
"""What a reader of Markdown makes a link of by itself."""
_ACTIVE: Final = re.compile(r"[\\\[\]<>&$~!`]")
_QUOTE: Final = re.compile(r"(?:> ?)*")


def safe_markdown(note: str) -> str:
    r"""Return a note as Markdown without pictures, links, HTML and formulas: they are shown as they are written.

    Headings, emphasis, lists, quotes, tables and code stay.

    >>> safe_markdown("**Best** at [x](http://x.org) ![y](z)")
    '**Best** at `[x](http://x.org)` \\!\\[y\\](z)'
    >>> safe_markdown("see www.x.org or `a<b`")
    'see `www.x.org` or `a<b`'
    """
    lines: list[str] = []
    in_code = False
    for line in note.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.strip().startswith(FENCE) and (in_code or "`" not in line.strip().strip("`")):
            in_code = not in_code
            lines.append(FENCE)
        else:
            lines.append(line.replace(FENCE, "''`") if in_code else _line(line))
    return "\n".join([*lines, *([FENCE] if in_code else [])])


def _line(line: str) -> str:
    """One line outside of blocks of code: code spans stay, all else does nothing but look."""
    quote = _QUOTE.match(line)[0]  # type: ignore[index]  # it matches everywhere
    pieces, at = [quote], len(quote)
    for span in _CODE.finditer(line, at):
        pieces += [_words(line[at : span.start()]), f"`{span[1]}`"]
        at = span.end()
    return "".join([*pieces, _words(line[at:])])


def _words(text: str) -> str:
    pieces, at = [], 0
    for address in _ADDRESS.finditer(text):
        pieces += [_escaped(text[at : address.start()]), f"`{address[0].replace('`', '')}`"]
        at = address.end()
    return "".join([*pieces, _escaped(text[at:])])


def _escaped(text: str) -> str:
    return _ACTIVE.sub(r"\\\g<0>", text)
