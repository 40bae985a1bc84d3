"""Texts that are long, and alike for long, are read in time in proportion to their length.

Each would take hours if its pattern began anew at every character, and for ever if it tried every way of splitting.
"""

from __future__ import annotations

import pytest

from treedp_core.checks import InputError
from treedp_core.notebook.export.cell_summary import safe_markdown
from treedp_core.plans.words import named
from treedp_core.records.edges import edges_of_labels, numbers_from_text
from treedp_core.records.read.text import reads_as_total

MANY = 1_000_000


def test_a_label_with_a_million_spaces_is_no_total() -> None:
    assert not reads_as_total("1" + " " * MANY + "x")
    assert reads_as_total("Total" + " " * MANY)


def test_a_name_of_underscores_that_is_not_words_is_put_in_quotation_marks() -> None:
    assert named("_" * MANY + "(") == "“" + "_" * MANY + "(”"
    assert named("age_group of-day") == "age_group of-day"


def test_a_note_of_one_long_word_holds_no_address() -> None:
    assert safe_markdown("a" * MANY) == "a" * MANY


def test_a_million_digits_are_no_interval_and_no_number() -> None:
    digits = "1" * MANY
    assert edges_of_labels([f"[{digits}x, 2)"]) is None
    with pytest.raises(InputError):
        numbers_from_text(f"{digits}x")
