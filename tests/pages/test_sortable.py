"""The list whose rows change places takes what a browser sends only if it is an order of its rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from pages.ui.page import scripts as sortable


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        (["b", "a"], [["b", "a"]]),
        (["a", "b"], [["a", "b"]]),
        (["a"], []),
        (["a", "a"], []),
        (["a", "c"], []),
        (["a", "b", "b"], []),
        ([1, "b"], []),
        ("ab", []),
        (None, []),
        ({"a": 1, "b": 2}, []),
    ],
)
def test_only_an_order_of_the_rows_is_passed_on(monkeypatch: pytest.MonkeyPatch, sent: Any, taken: list[Any]) -> None:
    monkeypatch.setattr(st, "session_state", {"list": SimpleNamespace(moved=sent)})
    passed: list[list[str]] = []
    sortable._moved("list", ("a", "b"), passed.append)
    assert passed == taken
