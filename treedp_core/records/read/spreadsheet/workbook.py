"""The parts of an Excel workbook (.xlsx) around its cells: sheets, shared texts, number formats; XML, read by expat."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from posixpath import join, normpath
from typing import Final
from xml.parsers import expat

from treedp_core.checks import InputError, echo
from treedp_core.records.read.spreadsheet.number_format import BUILT_IN

BLOCK_BYTES: Final = 1 << 16
MAX_ELEMENTS: Final = 1 << 17
"""Of the sheets, and of the styles, of which Excel takes half as many."""
MAX_NESTED: Final = 100
_ESCAPED: Final = re.compile(r"_x((?![Dd][89A-Fa-f])[0-9A-Fa-f]{4})_")
Attributes = dict[str, str]


@dataclass(frozen=True, eq=False)
class Workbook:
    """What cells refer to.

    Parameters
    ----------
    sheet, part : str
        Name of the sheet that is read, and where its cells are.
    sheets : tuple of str
        Those that are shown.
    texts : list of str
        Those that cells share.
    formats : list of str
        The number format of each style.
    since_1904 : bool
        Whether days are counted from 1904.
    """

    sheet: str
    part: str
    sheets: tuple[str, ...]
    texts: list[str]
    formats: list[str]
    since_1904: bool


def local(name: str) -> str:
    """Return an XML name without its prefix."""
    return name.rpartition(":")[2]


def is_on(attributes: Attributes, name: str) -> bool:
    """Whether an attribute says yes."""
    return attributes.get(name, "") in ("1", "true", "on")


def unescaped(text: str) -> str:
    r"""Return a text of a workbook with the characters that XML cannot have; halves of characters stay as written.

    >>> unescaped("a_x0009_b_x005F_x0041__xD800_")
    'a\tb_x0041__xD800_'
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


class Texts:
    """Gathers the text of rich or plain strings; how they are pronounced is left out."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._in_text = self._in_phonetic = False

    def start(self, name: str) -> None:
        """An element begins."""
        self._in_phonetic = self._in_phonetic or name == "rPh"
        self._in_text = name == "t" and not self._in_phonetic

    def end(self, name: str) -> None:
        """An element ends."""
        self._in_phonetic = self._in_phonetic and name != "rPh"
        self._in_text = False

    def data(self, text: str) -> None:
        """Characters follow."""
        if self._in_text:
            self.parts.append(text)

    def taken(self) -> str:
        """Return the text so far, and forget it."""
        text, self.parts = unescaped("".join(self.parts)), []
        return text


def feed(
    archive: zipfile.ZipFile,
    part: str,
    start: Callable[[str, Attributes], object],
    end: Callable[[str], object] = lambda name: None,
    data: Callable[[str], object] | None = None,
) -> Iterator[None]:
    """Hand a part to the handlers, block by block; they get names as they are written.

    Raises
    ------
    InputError
        ``EXCEL_CORRUPT`` for entities, and for elements in one another without end: each that is open takes memory.
    """
    parser, n_open = expat.ParserCreate(), 0

    def open_element(name: str, attributes: Attributes) -> None:
        nonlocal n_open
        n_open += 1
        if n_open > MAX_NESTED:
            raise InputError("EXCEL_CORRUPT", "The Excel file nests its elements deeper than any spreadsheet does.")
        start(name, attributes)

    def close_element(name: str) -> None:
        nonlocal n_open
        n_open -= 1
        end(name)

    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_entities
    parser.StartElementHandler, parser.EndElementHandler = open_element, close_element
    parser.CharacterDataHandler = data
    with archive.open(part) as content:
        while block := content.read(BLOCK_BYTES):
            parser.Parse(block, False)
            yield
    parser.Parse(b"", True)
    yield


def _refuse_entities(*_: object) -> None:
    raise InputError("EXCEL_CORRUPT", "The Excel file declares entities, which no spreadsheet writes.")


def _elements(archive: zipfile.ZipFile, part: str, *names: str) -> list[tuple[str, Attributes]]:
    """What the elements of these names say in a small part."""
    found: list[tuple[str, Attributes]] = []

    def start(name: str, attributes: Attributes) -> None:
        if (name := local(name)) in names:
            found.append((name, {local(key): value for key, value in attributes.items()}))
            if len(found) > MAX_ELEMENTS:
                raise InputError("EXCEL_TOO_LARGE", "The Excel file has more sheets or styles than Excel itself takes.")

    for _ in feed(archive, part, start):
        pass
    return found


def open_workbook(archive: zipfile.ZipFile, sheet: str | None) -> Workbook:
    """Return what the cells of a visible sheet refer to, by default the first one.

    Raises
    ------
    InputError
        ``EXCEL_CORRUPT`` where no sheet of cells is shown, ``SHEET`` where that one is not.
    """
    main = _target(_elements(archive, "_rels/.rels", "Relationship"), "/officeDocument", "")
    folder, _, name = main.rpartition("/")
    links = _elements(archive, join(folder, "_rels", f"{name}.rels"), "Relationship")
    parts = {
        one["Id"]: _path(folder, one["Target"]) for _, one in links if one.get("Type", "").endswith("/worksheet")
    }  # fmt: skip
    said = _elements(archive, main, "sheet", "workbookPr")
    shown = {
        one.get("name", ""): parts[one["id"]] for element, one in said
        if element == "sheet" and one.get("id") in parts and one.get("state", "visible") == "visible"
    }  # fmt: skip
    if not shown:
        raise InputError("EXCEL_CORRUPT", "The Excel file shows no sheet with cells; show one, and save it again.")
    sheet = next(iter(shown)) if sheet is None else sheet
    if sheet not in shown:
        named = ", ".join(map(echo, list(shown)[:8]))
        raise InputError("SHEET", f"No sheet {echo(sheet)} is shown in the Excel file; the sheets are: {named}.")
    since_1904 = any(element == "workbookPr" and is_on(one, "date1904") for element, one in said)
    texts, styles = (_target(links, kind, folder, "") for kind in ("/sharedStrings", "/styles"))
    return Workbook(
        sheet, shown[sheet], tuple(shown), _shared(archive, texts) if texts else [],
        _formats(archive, styles) if styles else [], since_1904,
    )  # fmt: skip


def _path(folder: str, target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else normpath(join(folder, target))


def _target(links: list[tuple[str, Attributes]], kind: str, folder: str, otherwise: str | None = None) -> str:
    """Where a part of some kind is."""
    for _, one in links:
        if one.get("Type", "").endswith(kind):
            return _path(folder, one["Target"])
    if otherwise is None:
        raise InputError("EXCEL_CORRUPT", "The Excel file is damaged or no workbook; save it again as .xlsx.")
    return otherwise


def _shared(archive: zipfile.ZipFile, part: str) -> list[str]:
    """The texts that cells share."""
    found: list[str] = []
    texts = Texts()

    def end(name: str) -> None:
        name = local(name)
        texts.end(name)
        if name == "si":
            found.append(texts.taken())

    for _ in feed(archive, part, lambda name, attributes: texts.start(local(name)), end, texts.data):
        pass
    return found


def _formats(archive: zipfile.ZipFile, part: str) -> list[str]:
    """The number format of each style of cells: those of named styles come before, and are none of them."""
    own: dict[str, str] = {}
    styles: list[str] = []
    for name, one in _elements(archive, part, "numFmt", "cellXfs", "xf"):
        if name == "cellXfs":
            styles.clear()
        elif name == "numFmt":
            own[one.get("numFmtId", "")] = one.get("formatCode", "")
        else:
            styles.append(one.get("numFmtId", "0"))
    return [own.get(one, BUILT_IN.get(int(one), "")) for one in styles]
