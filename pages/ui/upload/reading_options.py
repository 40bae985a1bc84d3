"""How a file is read: what was found out of it and what was said, each changed where it stands; its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from pages.ui.inputs.text import literal_sentence, small_print
from pages.ui.tables.upload_slot import Candidate, Table
from pages.ui.upload import required_tables
from treedp_core.checks import InputError
from treedp_core.records import HeldColumns, ReadOptions
from treedp_core.records.read.file_checks import mends
from treedp_core.records.read.layout.encodings import OFFERED
from treedp_core.records.read.layout.options import KEYED, NO_HEADER, guessed
from treedp_core.records.read.sniff import DELIMITERS, QUOTE, Preview
from treedp_core.words import plural

PREVIEW_COLUMNS: Final = 30
_NONE: Final = "none"
_ASKED: Final[Mapping[str, tuple[str, Sequence[str], str]]] = {
    "encoding": ("Encoding", tuple(OFFERED), "Of a text file; another one can be typed."),
    "delimiter": ("Delimiter", list(DELIMITERS), "What stands between the cells of a text file."),
    "header": ("Header row", (NO_HEADER, *map(str, range(1, 10))), "Names the columns; 3-4 where two rows do. What is "
               "above it is left out."),
    "footer": ("Lines below the table", list(map(str, range(10))), "How many of the last lines are no records."),
    "quote": ("Quotation mark", [QUOTE, "'"], "What stands around cells of a text file."),
    "escape": ("Before a quotation mark", [_NONE, "\\"], "What stands before one within a cell, if it is not doubled."),
    "short": ("Short rows", [_NONE, "blank"], "What stands for the cells that a row lacks at its end."),
    "unnamed": ("Cell without a name", [_NONE, "first", "last"], "Which cell of each row the header has no name for."),
}  # fmt: skip
"""Options of a file: what they are called, may be, and mean."""
_MENDS: Final = {"encoding": "Read as {}", "short": "Fill short rows with blanks"}


def _option_key(file: Candidate, name: str) -> str:
    return file.key(name) if name in ("encoding", "delimiter") else file.key(name, file.id)


def options_said(file: Candidate) -> ReadOptions:
    """Return what was said of a file; the rest is found out."""
    given = {name: st.session_state.get(_option_key(file, name)) for name in ("part", *_ASKED)}
    said = {
        name: None if one is None else "" if one == _NONE and name != "header" else str(one)
        for name, one in given.items()
    }
    return ReadOptions(**said, sheet=_sheet_said(file) or required_tables.sheet_of(file.name))


def ask_options(file: Candidate, preview: Preview | None) -> None:
    """Ask how a file is read; what was found out stands in each field, and why below it, until something else is said.

    What was said, or found out and is not sure, is asked in sight, the rest in a fold.
    """
    if preview is not None and preview.kind not in ("CSV", "Excel"):
        return
    found = (
        {} if preview is None else {name: one for name, one in guessed(preview.notices).items() if not _is_sure(one)}
    )
    asked = found if preview is None or "HEADER_LOOKS_LIKE_DATA" not in dict(preview.notices) else {*found, "header"}
    in_sight = [name for name in _ASKED if name in asked or st.session_state.get(_option_key(file, name)) is not None]
    for name in in_sight:
        _ask_option(file, name, preview)
        if name in found:
            small_print(literal_sentence(found[name]))
    with st.expander("Reading options", icon=":material/tune:"):  # no popover, as it may stand in one
        sides = st.columns(2)
        for at, name in enumerate(one for one in _ASKED if one not in in_sight):
            with sides[at % 2]:
                _ask_option(file, name, preview)


def _is_sure(told: str) -> bool:
    return told.endswith("(sure).")


def offer_mend(file: Candidate, error: InputError) -> None:
    """Offer the option by which a file is read that is refused, in one press, where the refusal knows one."""
    if (mended := mends(error)) is None:
        return
    option, value = mended
    st.button(
        _MENDS[option].format(value), key=file.key("mend", file.id), on_click=st.session_state.__setitem__,
        args=(_option_key(file, option), value), help="Sets it among the reading options, where it can be changed.",
    )  # fmt: skip


def _ask_option(file: Candidate, name: str, preview: Preview | None) -> None:
    label, offered, help_text = _ASKED[name]
    found = "" if preview is None else getattr(preview, name, None) or getattr(preview.options, name) or ""

    def in_words(value: str) -> str:
        words = {"header": {NO_HEADER: "none: no row of names"}, "encoding": OFFERED}.get(name, DELIMITERS)
        return words.get(value, value)

    st.selectbox(
        label, offered, index=None, key=_option_key(file, name), accept_new_options=True, help=help_text,
        placeholder=in_words(found) or "found out", format_func=in_words,
    )  # fmt: skip


def _sheet_key(file: Candidate, how: str = "chosen") -> str:
    return file.key(f"sheet_{how}", file.id)


def _sheet_said(file: Candidate) -> str | None:
    """The sheet that was chosen; or named, where the one before could not be read, and so none was offered."""
    said = [st.session_state.get(_sheet_key(file, how)) for how in ("named", "chosen")]
    return next(filter(None, said), None)


def ask_sheet_by_name(file: Candidate) -> None:
    """Ask for the sheet of a workbook that could not be read, and so offered none."""
    st.text_input("Sheet", key=_sheet_key(file, "named"), max_chars=100, placeholder="the first one",
                  help="Its name, where the workbook shows several.")  # fmt: skip


def ask_sheet(table: Table) -> None:
    """Ask which sheet of a workbook, or other table in a file, is read, where there are several; it is then fixed."""
    file, sheets = table.file, table.preview.sheets
    if len(sheets) > 1 and not isinstance(file.origin, HeldColumns):
        st.selectbox("Sheet", sheets, key=_sheet_key(file), index=sheets.index(table.preview.sheet),
                     help="Those that the workbook shows; records of one sheet are counted.")  # fmt: skip
    if len(table.preview.parts) > 1 and not isinstance(file.origin, HeldColumns):
        ask_part(file, table.preview.parts, table.preview.options.part or "")
    if told := guessed(table.preview.notices).get("part"):
        small_print(literal_sentence(told))


def ask_part(file: Candidate, parts: Sequence[str] = (), part: str = "") -> None:
    """Ask which of the tables in a file is read, or by a pattern which of several; what was said can be changed."""
    named = part if part in parts or part.partition(":")[0] not in parts else part.partition(":")[0]
    said = st.session_state.get(_option_key(file, "part"))
    offered = [*parts, *([said] if said is not None and said not in parts else [])]
    st.selectbox("Records", offered, key=_option_key(file, "part"), index=None, format_func=_part_in_words,
                 placeholder=_part_in_words(named), accept_new_options=True,
                 help="The tables in the file; records of one of them are counted, or of several files of an archive "
                 "by a pattern such as visits-*.csv.")  # fmt: skip


def _part_in_words(part: str) -> str:
    return {KEYED: "each named object", "": "the file as one record"}.get(part, part)


def first_rows(preview: Preview) -> None:
    """Show the first rows of a file, and how it is read; they are open where something was guessed that is not sure.

    What is sure is told below them, where it takes no room from the questions; it is changed in the fold beside them.
    """
    columns = preview.columns
    shown = columns[:PREVIEW_COLUMNS]
    cells = {name: [row[j] if j < len(row) else "" for row in preview.rows[:8]] for j, name in enumerate(shown)}
    more = f", the first {PREVIEW_COLUMNS} of them shown" if len(columns) > PREVIEW_COLUMNS else ""
    between = f", {DELIMITERS[preview.delimiter]} between cells" if preview.delimiter in DELIMITERS else ""
    read = f", {preview.encoding}{between}" if preview.encoding else ""
    size = "" if preview.n_rows is None else f", {plural(preview.n_rows, 'row')}"
    about = f"{preview.kind}{read}{size}, {plural(len(columns), 'column')}{more}. First rows: NOT PRIVATE."
    found = guessed(preview.notices)
    with st.expander(about, icon=":material/table:", expanded=not all(map(_is_sure, found.values()))):
        st.dataframe(cells, hide_index=True, height="content", alt=f"First rows of a table of {len(columns)} columns")
    if sure := [told for name, told in found.items() if name in _ASKED and _is_sure(told)]:
        small_print(literal_sentence(" ".join(sure)))
