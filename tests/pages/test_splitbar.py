"""What is dragged is taken only if it can be: a split of the same sum that keeps what is fixed, a guess on its axis."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from pages.ui.page import share_bar
from pages.views.lesson import exercises as asked


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ([100, 500, 300], [[100, 500, 300]]),
        ([100.0, 0.0, 800.0], [[100, 0, 800]]),
        ([100, 500, 301], []),
        ([101, 499, 300], []),
        ([100, -100, 900], []),
        ([100, 500.5, 299.5], []),
        ([100, float("nan"), 800], []),
        ([100, 1e300, -1e300], []),
        ([100, True, 799], []),
        ([100, "500", 300], []),
        ([100, 800], []),
        ([100, 500, 300, 0], []),
        (None, []),
        ("100", []),
        ({"0": 100}, []),
    ],
)
def test_only_a_split_of_the_same_sum_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, sent: Any, taken: list[Any]
) -> None:
    monkeypatch.setattr(st, "session_state", {"bar": SimpleNamespace(moved=sent)})
    passed: list[list[int]] = []
    share_bar._take_moved("bar", (100, 300, 500), frozenset({0}), passed.append)
    assert passed == taken


@pytest.mark.parametrize(
    ("sent", "taken"),
    [(50, [50.0]), (0.1, [0.1]), (100, [100.0]), (101, []), (-1, []), (float("nan"), []), (float("inf"), []),
     (True, []), ("50", []), (None, []), ([50], []), ({}, [])],
)  # fmt: skip
def test_only_a_guess_on_its_axis_is_passed_on(monkeypatch: pytest.MonkeyPatch, sent: Any, taken: list[float]) -> None:
    monkeypatch.setattr(st, "session_state", {"axis": SimpleNamespace(guessed=sent)})
    passed: list[float] = []
    asked._take_guess("axis", 0, 100, passed.append)
    assert passed == taken
