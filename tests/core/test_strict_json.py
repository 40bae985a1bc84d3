"""What is read back from a file of the app's own: every row of the bad inputs for configuration."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.records.strict_json import members, parse

DEEP = 100_000


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (pickle.dumps({"eps": 1}), "CONFIG_NOT_JSON"),
        (b"!!python/object/apply:os.system ['touch /tmp/canary']", "CONFIG_NOT_JSON"), (b"", "CONFIG_NOT_JSON"),
        (b"\xff\xfe{\x00}\x00", "CONFIG_NOT_JSON"), (b'{"eps": 1}{"eps": 2}', "CONFIG_NOT_JSON"),
        (b'{"eps": NaN}', "CONFIG_VALUE"), (b'{"eps": Infinity}', "CONFIG_VALUE"),
        (b'{"eps": -Infinity}', "CONFIG_VALUE"), (b'{"eps": 1e400}', "CONFIG_VALUE"),
        (b'{"eps": -1E+0400}', "CONFIG_VALUE"), (b'{"eps": ' + b"9" * 250 + b"e99}", "CONFIG_VALUE"),
        (b'{"eps": ' + b"9" * 150 + b"e200}", "CONFIG_VALUE"),
        (b'{"eps": ' + b"9" * 1_000_000 + b"}", "CONFIG_VALUE"), (b'{"eps": 1, "eps": 100}', "CONFIG_DUPLICATE_KEY"),
        (b'{"a": {"eps": 1, "eps": 100}}', "CONFIG_DUPLICATE_KEY"), (b"[" * DEEP + b"]" * DEEP, "CONFIG_TOO_DEEP"),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "CONFIG_TOO_DEEP"),
        (b'["]]]]", ' + b'"\\"]", [' * DEEP, "CONFIG_TOO_DEEP"), (b" " * 2_000_001, "CONFIG_TOO_LARGE"),
    ],
)  # fmt: skip
def test_refused(content: bytes, code: str) -> None:
    with refuses(code) as refused:
        parse(content, most=2_000_000)
    assert len(str(refused.value)) < 200
    assert str(refused.value).count(". ") == 0


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ({"eps": True}, "CONFIG_TYPE"), ({"eps": "1"}, "CONFIG_TYPE"), ({"eps": None}, "CONFIG_TYPE"),
        ({"eps": 2**60}, "CONFIG_TYPE"), ({"eps": [1]}, "CONFIG_TYPE"), ([], "CONFIG_TYPE"),
        ({}, "CONFIG_MISSING_KEY"), ({"eps": 1, "path": "../../etc/passwd"}, "CONFIG_UNKNOWN_KEY"),
    ],
)  # fmt: skip
def test_members_refused(given_: Any, code: str) -> None:
    with refuses(code):
        members(given_, "The file", eps=float)


def test_a_list_of_many_pieces_is_not_nested() -> None:
    text = json.dumps([["[", "]", '"', "\\"]] * 10_000).encode()
    assert parse(text, most=len(text)) == [["[", "]", '"', "\\"]] * 10_000


def test_refusing_costs_little_memory() -> None:
    content = b'{"a":' * 400_000
    tracemalloc.start()
    with pytest.raises(InputError):
        parse(content, most=len(content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(content)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)  # fmt: skip


@given(VALUES)
def test_what_python_writes_comes_back(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    assert parse(text, most=len(text)) == value


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_place_of_an_error_is_said_and_a_byte_order_mark_is_no_error(lines: int, spaces: int) -> None:
    text = '{"a": 1,' + "\n" * lines + " " * spaces
    at = f"line {lines + 1}, column {spaces + 1 + 8 * (lines == 0)}:"
    for mark in (b"", b"\xef\xbb\xbf"):
        assert parse(mark + (text + '"b": 2}').encode(), most=1000) == {"a": 1, "b": 2}
        with pytest.raises(InputError) as refused:
            parse(mark + (text + "?}").encode(), most=1000)
        assert at in str(refused.value) and refused.value.__context__ is None
    with pytest.raises(InputError, match=rf"line {lines + 1}, byte {len(text) + 2};"):
        parse((text + '"').encode() + b'\xff": 2}', most=1000)
