"""Excel sheets give the numbers that a person sees in them: cells that are merged, formatted, hidden or blank."""

from __future__ import annotations

import datetime
import io
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import (
    ReadOptions,
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_values,
    domain_taken_from_the_data,
    inspect,
)
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.numbers.numeric import look_at_numbers
from treedp_core.records.read.spreadsheet.sheet import letters_of
from treedp_core.records.recipe import as_json, recipe_of

FROM_DATA = domain_taken_from_the_data()
Sheet = Any


def workbook(*rows: tuple[Any, ...], then: Callable[[Sheet], None] = lambda sheet: None) -> bytes:
    """A workbook as a person would save it; empty rows are rows without cells."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    for number, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            book.active.cell(number, column).value = value
    then(book.active)
    book.save(out)
    return out.getvalue()


def with_sheet(data: bytes, change: Callable[[bytes], bytes], part: str = "sheet1.xml") -> bytes:
    """A workbook with another first sheet, or another part."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for one in before.infolist():
            content = before.read(one)
            after.writestr(one.filename, change(content) if one.filename.endswith(part) else content)
    return out.getvalue()


def paths(data: Any, *columns: str, **how: Any) -> dict[tuple[str, ...], int]:
    """The records on each leaf, by its path."""
    found = count_hierarchy(data, columns, domain=FROM_DATA, **how)
    leaves = found.tree.is_leaf.nonzero()[0].tolist()
    return {found.labels.path(leaf): int(found.counts[leaf]) for leaf in leaves}


def notices(data: bytes) -> dict[str, str]:
    return dict(inspect(data).notices)


def refusal(data: Any, *columns: str, **how: Any) -> InputError:
    with pytest.raises(InputError) as refused:
        count_hierarchy(data, columns, domain=FROM_DATA, **how)
    return refused.value


STATES = (("state", "city", "n"), ("Ohio", "Akron", 1), (None, "Kent", 2), (None, "Dayton", 4), ("Utah", "Ogden", 8))


def merge(*ranges: str) -> Callable[[Sheet], None]:
    return lambda sheet: [sheet.merge_cells(one) for one in ranges] and None


def test_a_merged_cell_stands_for_all_its_rows() -> None:
    data = workbook(*STATES, then=merge("A2:A4"))
    assert paths(data, "state") == {("Ohio",): 3, ("Utah",): 1}
    assert paths(hold(data), "state", "city", weight="n") == {
        ("Ohio", "Akron"): 1, ("Ohio", "Dayton"): 4, ("Ohio", "Kent"): 2, ("Utah", "Ogden"): 8
    }  # fmt: skip
    assert "'state'" in notices(data)["MERGED"]
    assert count_hierarchy(data, ["state"], domain=FROM_DATA).report.notices == inspect(data).notices


def test_a_merged_cell_fills_no_blank_row_and_no_other_column() -> None:
    data = workbook(*STATES, then=merge("A2:A4", "A5:A9"))
    assert paths(data, "state") == {("Ohio",): 3, ("Utah",): 1}
    assert paths(workbook(("a", "b"), ("x", None), ("y", "z"), then=merge("A2:B2")), "a", "b") == {
        ("x",): 1, ("y", "z"): 1
    }  # fmt: skip


def test_a_number_in_a_merged_cell_counts_for_nobody_knows_which_row() -> None:
    data = workbook(*STATES, then=merge("C2:C4"))
    for origin in (data, hold(data)):
        error = refusal(origin, "city", weight="n")
        assert error.code == "EXCEL_MERGED" and "'n'" in str(error)
        with pytest.raises(InputError, match="merged"):
            count_bins(origin, "n", lower=0, upper=10, n_bins=2)


def test_a_formula_without_a_value_is_refused_where_it_is_used_and_said_where_not() -> None:
    data = workbook(("city", "n", "sum"), ("Kent", 1, "=B2+1"), ("Kent", 2, "=B3+1"))
    assert paths(data, "city") == paths(hold(data), "city") == {("Kent",): 2}
    error = refusal(data, "sum")
    assert error.code == "EXCEL_FORMULA" and "row 2" in str(error) and "open the file in Excel" in str(error)
    assert "save it" in notices(data)["FORMULA"] and inspect(data).uses == ("any", "any", "none")
    calculated = with_sheet(data, lambda xml: xml.replace(b"<v/>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>"))
    assert paths(calculated, "sum") == {("2",): 2}
    nothing = with_sheet(data, lambda xml: re.sub(rb'<c r="(C.)">', rb'<c r="\1" t="str">', xml))
    assert paths(nothing, "sum") == {(): 2}, "a formula that gives an empty text is calculated"


@given(st.integers(0, 0xFFFF), st.sampled_from(["{}", "a{}", "{}b"]))
@example(0, "{}")
@example(0xD800, "{}")
def test_no_escaped_character_is_a_formula_or_breaks_a_sheet(code: int, around: str) -> None:
    written = around.format(f"_x{code:04X}_")

    def write(xml: bytes) -> bytes:
        cell = f'<c r="A2" t="inlineStr"><is><t>{written}</t></is></c>'.encode()
        return re.sub(rb'<c r="A2".*?</c>', cell, xml)

    data = with_sheet(workbook(("city", "n"), ("Kent", 1)), write)
    shown = written if 0xD800 <= code < 0xE000 else unicodedata.normalize("NFC", around.format(chr(code)))
    try:
        assert list(paths(data, "city")) == [(shown,) if shown.strip() else ()]
    except InputError as refused:
        assert refused.code.endswith("_CHAR") and f"U+{code:04X}" in str(refused)


@pytest.mark.parametrize(
    ("value", "code", "label"),
    [
        (501, "00000", "00501"), (501, "General", "501"), (123456789, "000-00-0000", "123-45-6789"),
        (7, '"DE"000', "DE007"), (123456, "00000", "123456"), (-7, "000", "-007"), (0, "00", "00"), (1.5, "000", "1.5"),
        (0.1 + 0.2, "General", "0.3"), (2.5, "0.00", "2.5"), (1234567, "#,##0", "1234567"), (3, "0.00 €", "3"),
        (datetime.date(2026, 1, 31), "dd.mm.yyyy", "2026-01-31"), (datetime.date(2026, 1, 31), "mmm yyyy", "2026-01"),
        (datetime.date(2026, 1, 31), "yyyy", "2026"), (datetime.datetime(2026, 1, 31, 12), "dd/mm/yy", "2026-01-31"),
        (datetime.datetime(2026, 1, 31, 12, 30), "d.m.yy h:mm", "2026-01-31T12:30:00"), (2026, '0" AD"', "2026"),
        (datetime.time(6, 5), "h:mm", "06:05:00"), (datetime.timedelta(hours=26), "[h]:mm:ss", "26:00:00"),
        (0.125, "0.0%", "0.125"), (True, "General", "true"), ("007", "@", "007"), (1, "[Red]0;[Blue]-0", "1"),
    ],
)  # fmt: skip
def test_numbers_read_as_they_are_shown_as_far_as_they_stay_numbers(value: Any, code: str, label: str) -> None:
    def dress(sheet: Sheet) -> None:
        sheet["A2"].number_format = code

    data = workbook(("a",), (value,), then=dress)
    assert paths(data, "a") == {(label,): 1}
    assert ("PERCENT" in notices(data)) == ("%" in code)


def test_blank_rows_before_the_header_and_columns_left_of_it_are_no_part_of_the_table() -> None:
    data = workbook((), (), (None, "city", "n"), (), (None, "Kent", 1), (None, None, None), (None, "Kent", -2))
    assert inspect(data).columns == ("city", "n") and paths(data, "city") == {("Kent",): 2}
    for origin in (data, hold(data)):
        assert "row 7" in str(refusal(origin, "city", weight="n"))
    many = [(None, "Kent")] * 60
    beside = refusal(workbook((None, "city"), *many, ("x", "Kent")), "city")
    assert beside.code == "ROW_WIDTH" and "Row 62" in str(beside) and "column A" in str(beside)
    assert inspect(workbook((None, "city"), ("x", "Kent"))).columns == ("column 1", "city"), "an index of pandas'"


def test_what_is_hidden_is_left_out_and_that_is_said() -> None:
    def hide(sheet: Sheet) -> None:
        sheet.row_dimensions[3].hidden = sheet.row_dimensions[5].hidden = True
        sheet.column_dimensions["C"].hidden = True

    data = workbook(*STATES, (None, "Provo", "x"), then=hide)
    assert paths(data, "city") == {("Akron",): 1, ("Dayton",): 1, ("Provo",): 1}
    assert inspect(data).columns == ("state", "city")
    assert "2 rows" in notices(data)["HIDDEN_ROWS"] and notices(data)["HIDDEN_COLUMNS"].endswith(": C.")
    merged = workbook(*STATES, then=lambda sheet: (hide(sheet), sheet.merge_cells("A3:A4"))[0])
    assert ("Ohio", "Akron") in paths(merged, "state", "city"), "the merged cell is blank"


def test_the_first_sheet_that_is_shown_is_read() -> None:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["secret"])
    for title in ("mine", "more"):
        book.create_sheet(title).append(["city"])
        book[title].append([title])
    book.active.sheet_state = "hidden"
    book.save(out)
    data = out.getvalue()
    assert paths(data, "city") == {("mine",): 1} and "2 sheets" in notices(data)["SHEETS"]
    assert refusal(data, "city", options=ReadOptions(sheet="Sheet")).code == "SHEET", "it is hidden"


ODD = {
    "styles.xml": [(rb"<fills.*</fills>", b"<fills><fill/></fills>"),
                   (rb"<borders.*</borders>", b"<borders><border><left style='wavy'/></border></borders>")],
    "sheet1.xml": [(rb"<pageMargins[^>]*>", b"<pageMargins left='x'/>"),
                   (rb"<sheetView ", b"<sheetView zoomScale='x' "),
                   (rb"</sheetData>", b"</sheetData><dataValidations><dataValidation type='x'/></dataValidations>")],
    ".xml": [(rb"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
              rb"http://purl.oclc.org/ooxml/spreadsheetml/main")],
}  # fmt: skip
"""Parts of a workbook that say nothing of its cells, as some programs write them; the last is strict Open XML."""


@pytest.mark.parametrize(("part", "old", "new"), [(part, *one) for part, some in ODD.items() for one in some])
def test_what_says_nothing_of_cells_keeps_nobody_from_reading_them(part: str, old: bytes, new: bytes) -> None:
    data = workbook(
        ("city", "n"), ("Kent", 1), ("Ulm", 2), then=lambda sheet: setattr(sheet["B2"], "number_format", "00")
    )
    changed = with_sheet(data, lambda xml: re.sub(old, new, xml, flags=re.DOTALL), part)
    assert changed != data
    assert paths(changed, "city", "n") == {("Kent", "01"): 1, ("Ulm", "2"): 1}


@pytest.mark.parametrize("kind", ["no places", "prefix", "rich text", "escapes", "days from 1904"])
def test_what_other_programs_write_is_read_alike(kind: str) -> None:
    data = workbook(("city", "n"), ("Kent", 1), ("Ulm", 2))
    if kind == "no places":
        data = with_sheet(data, lambda xml: re.sub(rb' r="[A-Z]*[0-9]+"', b"", xml))
    elif kind == "prefix":
        plain = re.compile(rb"<(/?)([A-Za-z])")
        data = with_sheet(data, lambda xml: plain.sub(rb"<\1x:\2", xml).replace(b"xmlns=", b"xmlns:x="))
    else:
        text = {
            "rich text": b'<is><r><t>Ke</t></r><rPh sb="0" eb="1"><t>k</t></rPh><r><t>nt</t></r></is>',
            "escapes": b"<is><t>K_x0065_nt</t></is>", "days from 1904": b"<is><t>Kent</t></is>",
        }[kind]  # fmt: skip
        row = b'<row r="2"><c r="A2" t="inlineStr">' + text + b'</c><c r="B2"><v>1</v></c></row>'
        data = with_sheet(data, lambda xml: re.sub(rb'<row r="2".*?</row>', lambda _: row, xml))
    assert paths(data, "city", weight="n") == {("Kent",): 1, ("Ulm",): 2}


def test_days_may_be_counted_from_1904() -> None:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["day"])
    book.active.append([datetime.date(2026, 1, 31)])
    book.save(out)
    assert paths(out.getvalue(), "day") == {("2026-01-31",): 1}


Line = tuple[str, int, bool, bool]
LINES = st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 99), st.booleans(), st.booleans())


@given(st.lists(LINES, min_size=1, max_size=12), st.data())
def test_counts_are_those_of_the_rows_that_are_seen(rows: list[Line], data: st.DataObject) -> None:
    """Runs of one label as one merged cell; some rows hidden, blank ones between; codes of three digits."""
    n_before = data.draw(st.integers(0, 2))
    groups = [(label, [row[1:] for row in run]) for label, run in groupby(rows, key=lambda row: row[0])]
    lines: list[tuple[Any, ...]] = [()] * n_before + [("label", "code")]
    ranges, hidden, seen = [], [], Counter[tuple[str, str]]()
    for label, run in groups:
        first = len(lines) + 1
        for at, (code, is_hidden, has_gap) in enumerate(run):
            lines.append((label if at == 0 else None, code))
            if is_hidden:
                hidden.append(len(lines))
            else:
                seen[label, f"{code:03}"] += 1
            if has_gap:
                lines.append(())
        last = len(lines)
        if last > first:
            ranges.append(f"A{first}:A{last}")

    def dress(sheet: Sheet) -> None:
        for one in ranges:
            sheet.merge_cells(one)
        for number in hidden:
            sheet.row_dimensions[number].hidden = True
        for cell in sheet["B"]:
            cell.number_format = "000"

    made = workbook(*lines, then=dress)
    if not seen:
        assert refusal(made, "label").code == "NO_ROWS"
        return
    for origin in (made, hold(made)):
        assert paths(origin, "label", "code") == seen
    assert ("HIDDEN_ROWS" in notices(made)) == bool(hidden)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_a_refused_row_has_the_number_that_the_file_gives_it(
    gaps: list[int], end: str, is_quoted: bool, data: st.DataObject
) -> None:
    """Blank lines before the header and among the records hold none, and count as rows; the header is no record."""
    bad = data.draw(st.integers(0, len(gaps) - 1))
    before = data.draw(st.integers(0, 3))
    lines = [""] * before + ["city,n"]
    for at, gap in enumerate(gaps):
        lines += [""] * gap + [('"K, t",' if is_quoted else "Kent,") + ("-2" if at == bad else "1")]
        row = len(lines) if at == bad else row if at else 0  # noqa: F821
    text = end.join(lines).encode() + end.encode()
    for origin in (text, hold(text)):
        assert f"row {row}:" in str(refusal(origin, "city", weight="n"))
        assert count_hierarchy(origin, ["city"], domain=FROM_DATA).total == len(gaps)
    wide = text.replace(b"-2", b"1,1")
    assert f"Row {row} has 3 cells" in str(refusal(wide, "city"))
    unseen = count_hierarchy(
        text.replace(b"-2", b"1").replace(b"city,n", b"n,city"), ["n"], domain=domain_of_values({"n": ["x"]})
    )
    assert f"row {2 + before + gaps[0]}." in dict(unseen.report.notices)["UNSEEN"]


def test_what_no_program_writes_is_refused_and_costs_little() -> None:
    plain = workbook(("city", "n"), ("Kent", 1))
    row = b'<row r="2">%s</row>'

    def with_row(cells: bytes, after: bytes = b"") -> bytes:
        data = with_sheet(plain, lambda xml: re.sub(rb'<row r="2".*?</row>', lambda _: row % cells, xml))
        return with_sheet(data, lambda xml: xml.replace(b"</sheetData>", b"</sheetData>" + after))

    everywhere = b"".join(b'<mergeCell ref="%s1:%s1048576"/>' % (2 * (letters_of(j).encode(),)) for j in range(1000))
    for cells, after, code in (
        (b"<c r='A2' t='s'><v>-1</v></c>", b"", "EXCEL_CORRUPT"),
        (b"<c r='A2' t='s'><v>7</v></c>", b"", "EXCEL_CORRUPT"),
        (b"<c r='A2' s='-1'><v>1</v></c>", b"", "EXCEL_CORRUPT"),
        (b"<c r='ZZZZ2'><v>1</v></c>", b"", "TOO_MANY_COLUMNS"),
        (b'<c r="A2"><v>1</v></c>', b"<mergeCells>" + everywhere + b"</mergeCells>", "EXCEL_TOO_LARGE"),
        (b'<c r="A2"><v>1</v>', b"", "EXCEL_CORRUPT"),
        (b"<x>" * 200 + b"</x>" * 200 + b"<c r='A2'><v>1</v></c>", b"", "EXCEL_CORRUPT"),
    ):  # fmt: skip
        assert refusal(with_row(cells, after), "city").code == code
    late = with_sheet(plain, lambda xml: b"<!--" + b"<" * (3 << 20) + b"--><!DOCTYPE x [<!ENTITY a 'a'>]>" + xml)
    assert refusal(late, "city").code == "EXCEL_CORRUPT"
    wide = b'<cols><col min="-999999999999" max="999999999999" hidden="1"/></cols><sheetData>'
    assert refusal(with_sheet(plain, lambda xml: xml.replace(b"<sheetData>", wide)), "city").code == "FILE_EMPTY"


def book_of(**sheets: list[str]) -> bytes:
    """A workbook of sheets that have a column of cities each."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, cities in sheets.items():
        book.create_sheet(title)
        for row in ["city", *cities]:
            book[title].append([row])
    book.save(out)
    return out.getvalue()


MONTHS = book_of(January=["Kent"], February=["Kent", "Ulm"], March=[])


def test_the_sheet_of_several_is_chosen_and_then_fixed() -> None:
    for said, name, counts in (
        (None, "January", {("Kent",): 1}),
        ("February", "February", {("Kent",): 1, ("Ulm",): 1}),
    ):
        options = ReadOptions(sheet=said)
        seen = inspect(MONTHS, options=options)
        assert (seen.sheet, seen.sheets) == (name, ("January", "February", "March"))
        assert f"'{name}' is read" in dict(seen.notices)["SHEETS"]
        for origin in (MONTHS, hold(MONTHS, options=options)):
            found = count_hierarchy(origin, ["city"], domain=FROM_DATA, options=options)
            assert found.report.recipe == Recipe(sheet=name)
            assert paths(origin, "city", options=options) == counts
            assert look_at_numbers(origin, "city", options=options).rows == sum(counts.values())
    held = hold(MONTHS, options=ReadOptions(sheet="February"))
    assert (
        held is not None
        and held.options.sheet == "February"
        and paths(held, "city") == paths(MONTHS, "city", options=ReadOptions(sheet="February"))
    )
    one = count_hierarchy(workbook(("city",), ("Kent",)), ["city"], domain=FROM_DATA)
    assert one.report.recipe == Recipe(), "where there is no choice nothing is said"
    assert recipe_of(as_json(Recipe(sheet="February"))).sheet == "February"
    empty = refusal(MONTHS, "city", options=ReadOptions(sheet="March"))
    assert empty.code == "NO_ROWS" and "'March' was read, of 'January', 'February', 'March'" in str(empty)
    missing = refusal(MONTHS, "city", options=ReadOptions(sheet="April"))
    assert missing.code == "SHEET" and "'January', 'February', 'March'" in str(missing)
