"""Short labels are looked up by hash: every cell gets the code that a dictionary of Python would give it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.records import count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.read import columns, sources
from treedp_core.records.read.columns import LabelColumn, ShortTexts

FEW = st.sampled_from(["", "a", "b", "ab", "ba", "abcdefg", "abcdefh", "abcdefgh", "Köln", "北京", "0", "00", "000"])
BATCHES = st.lists(st.lists(FEW | st.none(), min_size=1, max_size=12), min_size=1, max_size=6)
ANY = st.text(st.characters(codec="utf-8"), max_size=7)


@given(BATCHES)
@example([["ab", "b"], ["ab", "b"], ["b", "ab"]])
@example([[""], ["", ""], ["a", ""], ["", "a"]])
def test_codes_are_those_of_the_labels_in_the_order_they_came(batches: list[list[str | None]]) -> None:
    """Cells that are missing are blanks, whose place among a batch's new labels is not promised."""
    column, row = LabelColumn("c", None, 2), 0
    for batch in batches:
        codes = column.codes(pa.array(batch, pa.string()), row)
        assert [column.labels[code] for code in codes] == [cell or "" for cell in batch]
        row += len(batch)
    cells = [cell for batch in batches for cell in batch]
    if None not in cells:
        assert column.labels == list(dict.fromkeys(cells))


@given(BATCHES)
def test_labels_of_a_list_keep_its_codes(batches: list[list[str | None]]) -> None:
    listed = ("b", "a", "00")
    column = LabelColumn("c", listed, 2)
    column.treat(7, 9)
    for batch in batches:
        expected = [7 if not cell else listed.index(cell) if cell in listed else 9 for cell in batch]
        assert column.codes(pa.array(batch, pa.string()), 0).tolist() == expected


@given(st.lists(ANY, min_size=1, max_size=20), st.lists(ANY, min_size=1, max_size=20), st.integers(0, 5))
@example(["\0ab", "ab\0", "ab"], ["ab", "\0ab"], 0)
@example(["aa", "a"], ["a", "aa", ""], 1)
@example([""], ["", ""], 0)
def test_only_the_same_bytes_are_found(known: list[str], asked: list[str], skip: int) -> None:
    """A batch is answered whole or not at all, wherever in its buffer it begins."""
    known = list(dict.fromkeys(known))
    of = {text: 3 * code for code, text in enumerate(known)}
    texts = ShortTexts()
    texts.learn(pa.array(known), np.array(list(of.values()), dtype=np.int32))
    short = {text for text in known if len(text.encode()) <= columns.WIDEST}
    found = texts.codes(pa.array(["xyz"] * skip + asked)[skip:]) if len(short) == len(known) else None
    if found is not None:
        assert found.tolist() == [of[text] for text in asked]
    elif len(short) == len(known):
        assert not set(asked) <= short


@pytest.mark.parametrize("width", [0, 3, 7])
def test_two_thousand_texts_are_all_found(width: int) -> None:
    """Some hundred of them meet in a place of the table."""
    known = [f"{code:0{width}d}" for code in range(2_000)]
    texts = ShortTexts()
    texts.learn(pa.array(known), np.arange(2_000, dtype=np.int32))
    asked = np.random.default_rng(1).integers(0, 2_000, 50_000)
    found = texts.codes(pa.array([known[code] for code in asked]))
    assert found is not None and np.array_equal(found, asked)
    for other in range(2_000, 2_300):
        assert texts.codes(pa.array([known[0], f"{other:0{width}d}"])) is None


def test_a_column_with_many_labels_is_read_as_before() -> None:
    column = LabelColumn("c", None, 2)
    for start in range(0, 10_000, 1_000):
        cells = [str(v) for v in range(start, start + 1_500)]
        assert column.codes(pa.array(cells), start).tolist() == list(range(start, start + 1_500))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1 << 12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("late", "code"), [("a\x07b", "CONTROL_CHAR"), ("x" * 300, "LABEL_TOO_LONG"), ("y" * 20_000, None)]
)
def test_a_bad_label_long_after_short_ones_is_refused_with_its_row(late: str, code: str | None) -> None:
    lines = [f"{v % 7}" for v in range(9_000)]
    lines[8_000] = late
    with refuses(code or "ROW_TOO_LONG", r"row 8.002" if code else None):
        count_hierarchy("\n".join(["c", *lines]).encode(), ["c"], domain=domain_taken_from_the_data())


@pytest.mark.usefixtures("small_blocks")
def test_a_file_whose_labels_grow_longer_is_counted_whole() -> None:
    lines = [f"{v % 5}" for v in range(5_000)] + [f"a longer label {v % 3}" for v in range(5_000)] + ["", "2"] * 500
    counted = count_hierarchy(
        "\n".join(["c,d", *(f"{x},1" for x in lines)]).encode(), ["c"], domain=domain_taken_from_the_data()
    )
    expected = {x: lines.count(x) for x in dict.fromkeys(lines)}
    assert sorted(counted.counts.tolist()[1:]) == sorted(expected.values())
    listed = count_hierarchy(
        "\n".join(["c,d", *(f"{x},1" for x in lines)]).encode(), ["c"], domain=domain_of_values([["2", "4"]])
    )
    assert listed.counts.tolist()[1:3] == [expected["2"], expected["4"]]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("bad", [b"\xff", b"a\xc3", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"])
@pytest.mark.parametrize("row", [30, 15_000, 19_999])
@pytest.mark.parametrize("others", ["a", "a label of a dictionary", "ä"])
def test_bytes_that_are_no_text_are_refused_wherever_they_come(bad: bytes, row: int, others: str) -> None:
    """In what is looked at first, after it, and cut off at the end of the file; among plain letters and others."""
    lines = [others.encode()] * 20_000
    lines[row] = bad
    with refuses("ENCODING"):
        count_hierarchy(b"c\n" + b"\n".join(lines), ["c"], domain=domain_taken_from_the_data())


@pytest.mark.usefixtures("small_blocks")
def test_letters_that_are_cut_between_blocks_are_whole() -> None:
    lines = ["ä€😀"[: 1 + v % 3] for v in range(300_000)]
    counted = count_hierarchy("\n".join(["c", *lines]).encode(), ["c"], domain=domain_taken_from_the_data())
    assert counted.counts.tolist() == [300_000, 100_000, 100_000, 100_000]
