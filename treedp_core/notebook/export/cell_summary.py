"""What a cell says of itself in every export: its facts, and Markdown of the app made plain, safe, or HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

from treedp_core.figures.base.export_layout import Dress
from treedp_core.notebook.cell import NOT_REVIEWED, SWEEP, Cell
from treedp_core.privacy.prior_provenance import DOOR, NOT_PRIVATE
from treedp_core.records.export.columns import SOURCE
from treedp_core.registry import CLAIM
from treedp_core.words import plural

# What users write beside a cell: Markdown that asks for nothing elsewhere, as it is shown and exported.

FENCE: Final = "```"
_NOTE_CODE: Final = re.compile(r"`([^`\n]+)`")
_ADDRESS: Final = re.compile(r"(?<!\S)\S*(?:(?:https?|ftp|mailto|xmpp):|www\.|\S@\S)\S*", re.IGNORECASE)
"""What a reader of Markdown makes a link of by itself."""
_SHORT: Final = r"(?::(?:[a-z][\w-]*|[+-]1|100|1234):)+"
"""What Streamlit makes an icon of, even where it is escaped."""
_LITERAL: Final = re.compile(f"{_ADDRESS.pattern}|{_SHORT}", re.IGNORECASE)
_ACTIVE: Final = re.compile(r"[\\\[\]<>&$~!`]|:(?=[a-z:])|(?<=:material)/", re.IGNORECASE)
"""The colon opens what Streamlit has besides Markdown: colours, badges, small print."""
_QUOTE: Final = re.compile(r"(?:> ?)*")
_NOTE_HEADING: Final = re.compile(r"^((?:[\s>*+-]|\d+[.)])*)(#{1,6})(?=\s|$)")
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
            return n if _NOTE_HEADING.match(line) or line == FENCE else 0
        n += 1
    return n


def _lower(line: str, before: str) -> str:
    """A line whose heading is smaller; one that would make a heading of the line before it is text."""
    if (drawn := _UNDERLINE.fullmatch(line)) and not _ENDED.fullmatch(before):
        return f"{drawn[1]}\\{drawn[2]}"
    return _NOTE_HEADING.sub(lambda found: found[1] + "#" * min(6, len(found[2]) + _BELOW), line, count=1)


def _line(line: str) -> str:
    """One line outside of blocks of code: code spans stay, all else does nothing but look."""
    quote = _QUOTE.match(line)[0]  # type: ignore[index]  # it matches everywhere
    pieces, at = [quote], len(quote)
    for span in _NOTE_CODE.finditer(line, at):
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


FINGERPRINT: Final = 16
"""Digits of a fingerprint that are shown."""
WARNING: Final = f"{NOT_PRIVATE}: shows or depends on exact counts, not for publication. {DOOR}"
_ICON: Final = re.compile(r":material/\w+:\s*")
_COLOUR: Final = re.compile(r":(?:[a-z]+-?[a-z]*)\[([^\]]*)\]")
_CODE: Final = re.compile(r"(?<!`)(`++)(.+?)\1")
_BOLD: Final = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_ITALIC: Final = re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])")
_HEADING: Final = re.compile(r"#{1,6}\s+.*")
_BULLET: Final = re.compile(r"[-*+]\s+.*")
_HIDDEN: Final = re.compile("\x00(\\d+)\x00")


def facts(cell: Cell) -> list[tuple[str, str]]:
    """Return what a cell came from, as names and plain text."""
    page = " › ".join(filter(None, (cell.page, cell.view)))
    told = [("Made by", "treedp run, from a script")] if cell.page == SWEEP else [("Page", page)]
    if cell.about:
        told.append(("Made from", cell.about))
    if cell.credit:
        told.append((SOURCE, cell.credit))
    if cell.data is not None:
        levels = " › ".join(cell.data.levels)
        about = f"{cell.data.name}{f' ({levels})' if levels else ''}, categories {cell.data.domain}"
        told.append(("Data", about))
        told.append(("Fingerprint", f"{cell.data.fingerprint[:FINGERPRINT]} …"))
    settings = "; ".join(f"{key} = {', '.join(values)}" for key, values in cell.settings.items())
    told.append(("Settings", settings or "all as they are at first"))
    if NOT_REVIEWED in cell.badges:
        told.append(("A plug-in was used", CLAIM))
    if cell.seed is not None:
        told.append(("Seed", str(cell.seed)))
    return [*told, ("TreeDP", cell.version), ("Made", cell.made)]


def fact_line(cell: Cell) -> str:
    """Return the facts of a cell on one line."""
    return " · ".join(f"{name} {value}" for name, value in facts(cell) if name not in ("Page", "Made", "Made by"))


def warning(cells: Iterable[Cell]) -> str:
    """Return what must stand above some cells: nothing where none of them is NOT PRIVATE."""
    marked = [cell for cell in cells if cell.is_private_only]
    return f"{WARNING} It holds for {plural(len(marked), 'figure')} below." if marked else ""


def head(cells: Iterable[Cell], title: str, why_none: str) -> list[str]:
    """Return the paragraphs (Markdown) that stand above some cells: title, warning, and why there are no pictures."""
    told = warning(cells)
    return [f"# {safe(title)}", *filter(None, (told and f"**{told}**", safe(why_none)))]


def is_simulated(cell: Cell) -> bool:
    """Return whether a cell's table has a simulated release beside what is true."""
    columns = (*(cell.columns or ()), cell.label)
    return "simulation" in cell.badges and any(NOT_PRIVATE in one for one in columns)


def plain(markdown: str, *, typed: bool = False) -> str:
    """Return Markdown of the app as text on one line; what was `typed` keeps colours and icons as text.

    >>> plain("**Half** of `a*b` :red[:material/lock: is] 2 × *n*")
    'Half of a*b is 2 × n'
    """
    kept: list[str] = []
    text = _hide_code(_spelled(markdown, typed), kept)
    text = _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))
    text = re.sub(r"(?m)^\s*(#{1,6}|[-*+])\s+", "", text)
    return " ".join(_HIDDEN.sub(lambda found: kept[int(found[1])], text).replace("\\", "").split())


def safe(markdown: str) -> str:
    r"""Return Markdown without images, links, HTML and formulas, for readers that would follow them.

    >>> safe("**Half** ![x](http://a) :red[now] `<i>`")
    '**Half** `![x](http://a)` now `<i>`'
    """
    return safe_markdown(_spelled(markdown))


def as_html(markdown: str, *, typed: bool = False) -> str:
    r"""Return Markdown as HTML: paragraphs, headings, lists, bold, italic and code; all else is text. See `plain`.

    >>> as_html("**Half** of `<b>`\n\n- one\n- <i>")
    '<p><strong>Half</strong> of <code>&lt;b&gt;</code></p><ul><li>one</li><li>&lt;i&gt;</li></ul>'
    """
    out: list[str] = []
    for block in re.split(r"\n\s*\n", _spelled(markdown, typed).strip()):
        if FENCE in block:
            out.append(f"<p>{_inline(' '.join(map(str.strip, block.splitlines())))}</p>")
            continue
        for kind, lines in groupby(map(str.strip, block.splitlines()), _kind):
            if kind is _BULLET:
                out.append("<ul>" + "".join(f"<li>{_inline(one.split(maxsplit=1)[1])}</li>" for one in lines) + "</ul>")
            elif kind is _HEADING:
                out += [f"<h4>{_inline(one.split(maxsplit=1)[1])}</h4>" for one in lines]
            elif words := " ".join(lines):
                out.append(f"<p>{_inline(words)}</p>")
    return "".join(out)


def _kind(line: str) -> re.Pattern[str] | None:
    return next((one for one in (_HEADING, _BULLET) if one.fullmatch(line)), None)


def _spelled(markdown: str, typed: bool = False) -> str:
    """Markdown without what only the app's own reader knows, as the app writes it and no user does."""
    text = markdown.replace("\x00", "")
    return marked_headings(text) if typed else _COLOUR.sub(r"\1", _ICON.sub("", text))


def _hide_code(text: str, kept: list[str]) -> str:
    def hide(found: re.Match[str]) -> str:
        kept.append(found[2].strip())
        return f"\x00{len(kept) - 1}\x00"

    return _CODE.sub(hide, text)


def _inline(text: str) -> str:
    kept: list[str] = []
    shown = html.escape(_hide_code(text, kept)).replace("\\", "")
    shown = _ITALIC.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", shown))
    return _HIDDEN.sub(lambda found: f"<code>{html.escape(kept[int(found[1])])}</code>", shown)


# ---- the picture of a cell: its figure, if plotly draws it, in the words that every copy must have


_MAPS: Final = re.compile("scattergeo|choropleth.*|(scatter|density)map(box)?|image")
"""Kinds of traces that plotly fetches something for."""
_GROUNDS: Final = re.compile(r"(geo|map|mapbox)\d*|images")
"""Parts of a layout that it does so for."""


def drawable(cell: Cell) -> dict[str, Any] | None:
    """Return plotly's JSON of a cell's figure, without what would be fetched from elsewhere; None where there is none.

    >>> cell = Cell(
    ...     id="0" * 16,
    ...     name="A",
    ...     page="lab",
    ...     version="1",
    ...     made="2026-11-22T15:00:00+00:00",
    ...     figure={"data": [], "layout": {"images": [{"source": "http://a"}], "height": 300}},
    ... )
    >>> drawable(cell)
    {'data': [], 'layout': {'height': 300}}
    """
    if cell.figure is None or "$schema" in cell.figure:
        return None
    data, layout = cell.figure.get("data", []), cell.figure.get("layout", {})
    kept = {key: value for key, value in layout.items() if not _GROUNDS.fullmatch(key)}
    traces = [one for one in data if not _MAPS.fullmatch(str(one.get("type", "")))]
    return {"data": traces, "layout": kept}


def dress_of(cell: Cell) -> Dress:
    """Return what a picture of a cell says besides its figure."""
    caption = " ".join(filter(None, (plain(cell.answer), plain(cell.caption))))
    label = plain(cell.label)
    said = caption if not label or caption.startswith(label) else f"{label} {caption}"
    return Dress(cell.name, said, fact_line(cell), NOT_PRIVATE if cell.is_private_only else "")
