"""A row is named as the file counts it, blank lines too; a file that has none is not read again row by row for it."""

from __future__ import annotations

import io
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.read import sources
from treedp_core.records.read.arrow import csv
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.sources import ByteStream, file_source

FROM_DATA = domain_taken_from_the_data()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    before=st.integers(0, 2), lines=st.lists(st.sampled_from(["x,1,", "", "yy,2,f"]), max_size=30),
    bad=st.integers(0, 30), quoted=st.booleans(), end=st.sampled_from(["\n", "\r\n", "\r"]), after=st.integers(0, 3),
    block=st.integers(24, 64),
)  # fmt: skip
def test_a_bad_count_is_named_by_its_place_among_all_lines(
    before: int, lines: list[str], bad: int, quoted: bool, end: str, after: int, block: int
) -> None:
    """Text of two lines with a blank one between is one row. Of columns held in memory, too, whose file is gone."""
    head = [""] * before + ["a,n,text"] + ['x,3,"a\n\nb"'] * quoted
    bad = min(bad, len(lines))
    content = end.join([*head, *lines[:bad], "z,q,", *lines[bad:], *[""] * (after + 1)]).encode()
    place = f"row {len(head) + bad + 1}:"
    with patch.object(sources, "BLOCK_BYTES", block):
        held = hold(content)
        for origin in (content, io.BufferedReader(io.BytesIO(content)), held):  # type: ignore[arg-type]
            with pytest.raises(InputError, match=place):
                count_hierarchy(origin, ["a"], weight="n", domain=FROM_DATA)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(content=st.text("ab\n\r", max_size=40), size=st.integers(1, 9))
def test_blank_lines_are_noted_wherever_a_block_ends(content: str, size: int) -> None:
    """But those at the end, which make no row's number leap."""
    stream = ByteStream(file_source(content.encode()), "utf-8")
    while stream.read(size):
        pass
    lines = content.encode().splitlines()
    while lines and not lines[-1]:
        lines.pop()
    assert stream.has_blank_lines == (b"" in lines)


ROWS = b"a,n\n" + b"x,1\ny,2\n" * 9
FORMS = {
    "plain": ROWS, "CRLF": ROWS.replace(b"\n", b"\r\n"), "blank at the end": ROWS + b"\n",
    "CRLF, blank at the end": ROWS.replace(b"\n", b"\r\n") + b"\r\n" * 5,
    "quoted, blank at the end": ROWS.replace(b"x", b'"x"') + b"\n\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_not_read_again_one_by_one_where_no_number_leaps(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for what is counted, nor for a notice, a refusal or columns held in memory."""
    monkeypatch.setattr(csv, "csv", None)  # what reads row by row
    for origin in (FORMS[form], hold(FORMS[form])):
        data = count_hierarchy(origin, ["a"], domain=domain_of_values({"a": ["x"]}), weight="n")
        assert "row 3." in str(data.report.notices)
    if form.startswith("quoted"):
        return  # there a refusal first looks for a mark that is not closed
    with pytest.raises(InputError, match="row 2:"):
        count_hierarchy(FORMS[form], ["n"], weight="a", domain=FROM_DATA)
