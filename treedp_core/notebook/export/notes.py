"""What users write beside a cell: Markdown that asks for nothing elsewhere, as it is shown and exported."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = "```"
_CODE: Final = re.compile(r"`([^`\n]+)`")
_ADDRESS: Final = re.compile(r"\S*(?:(?:https?|ftp|mailto|xmpp):|www\.|\S@\S)\S*", re.IGNORECASE)
"""What a reader of Markdown makes a link of by itself."""
_SHORT: Final = r"(?::(?:[a-z][\w-]*|[+-]1|100|1234):)+"
"""What Streamlit makes an icon of, even where it is escaped."""
_LITERAL: Final = re.compile(f"{_ADDRESS.pattern}|{_SHORT}", re.IGNORECASE)
_ACTIVE: Final = re.compile(r"[\\\[\]<>&$~!`]|:(?=[a-z:])|(?<=:material)/", re.IGNORECASE)
"""The colon opens what Streamlit has besides Markdown: colours, badges, small print."""
_QUOTE: Final = re.compile(r"(?:> ?)*")
_HEADING: Final = re.compile(r"^((?:[\s>*+-]|\d+[.)])*)(#{1,6})(?=\s|$)")
_UNDERLINE: Final = re.compile(r"([\s>]*)(=+|-+)\s*")
_OTHER: Final = re.compile(r"\s*(?:[*+-](?=\s|$)|\d+[.)](?=\s|$)|#{1,6}(?=\s|$)|```|~~~)| {4}|\t|.*\|")
"""How a line begins that is no paragraph, or holds what may be a table."""
_ENDED: Final = re.compile(r"[>\s]*(?:```|#{1,6}(?:\s.*)?)?")
_BELOW: Final = 2
"""Headings that a page and an export have above those of a note."""


def safe_markdown(note: str) -> str:
    r"""Return a note as Markdown without pictures, links, HTML and formulas: they are shown as they are written.

    Emphasis, lists, quotes, tables and code stay; headings are two steps smaller: they stand below a page's own.

    >>> safe_markdown("**Best** at [x](http://x.org) ![y](z)")
    '**Best** at `[x](http://x.org)` \\!\\[y\\](z)'
    >>> safe_markdown("see www.x.org or `a<b`")
    'see `www.x.org` or `a<b`'
    >>> safe_markdown("# Now :red[x]")
    '### Now \\:red\\[x\\]'
    """
    lines: list[str] = []
    in_code = False
    for line in marked_headings(note).split("\n"):
        if _is_fence(line, in_code):
            in_code = not in_code
            lines.append(FENCE)
        else:
            lines.append(line.replace(FENCE, "''`") if in_code else _lower(_line(line), lines[-1] if lines else ""))
    return "\n".join([*lines, *([FENCE] if in_code else [])])


def marked_headings(note: str) -> str:
    r"""Return Markdown whose underlined headings are marked with # instead, and whose lines end alike.

    >>> marked_headings("Best split\n===\nIt is uniform.")
    '# Best split\nIt is uniform.'
    """
    lines: list[str] = []
    in_code = False
    for line in note.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        fence = _is_fence(line, in_code)
        in_code ^= fence
        if not (in_code or fence) and (drawn := _UNDERLINE.fullmatch(line)) and (start := _paragraph(drawn[1], lines)):
            words = " ".join(one[len(_QUOTE.match(one)[0]) :].strip() for one in lines[-start:])  # type: ignore[index]
            lines[-start:] = [f"{drawn[1]}{'#' if drawn[2][0] == '=' else '##'} {words}"]
        else:
            lines.append(line)
    return "\n".join(lines)


def _is_fence(line: str, in_code: bool) -> bool:
    return line.strip().startswith(FENCE) and (in_code or "`" not in line.strip().strip("`"))


def _paragraph(quote: str, lines: list[str]) -> int:
    """How many last lines are a paragraph that stands for itself, as deep in quotations as an underline; 0 if none."""
    n = 0
    for line in reversed(lines):
        found = _QUOTE.match(line)[0]  # type: ignore[index]  # it matches everywhere
        text = line[len(found) :]
        if not text.strip():
            break
        if found.count(">") != quote.count(">") or _OTHER.match(text):
            return n if _HEADING.match(line) or line == FENCE else 0
        n += 1
    return n


def _lower(line: str, before: str) -> str:
    """A line whose heading is smaller; one that would make a heading of the line before it is text."""
    if (drawn := _UNDERLINE.fullmatch(line)) and not _ENDED.fullmatch(before):
        return f"{drawn[1]}\\{drawn[2]}"
    return _HEADING.sub(lambda found: found[1] + "#" * min(6, len(found[2]) + _BELOW), line, count=1)


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
    for address in _LITERAL.finditer(text):
        pieces += [_escaped(text[at : address.start()]), f"`{address[0].replace('`', '')}`"]
        at = address.end()
    return "".join([*pieces, _escaped(text[at:])])


def _escaped(text: str) -> str:
    return _ACTIVE.sub(r"\\\g<0>", text)
