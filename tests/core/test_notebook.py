"""Cells and notebooks as values: what they hold, what changes them, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from refusals import refuses
from treedp_core.notebook import Cell, DataNote, Notebook, table_of
from treedp_core.notebook.cell import MAX_CELLS

GIVEN: dict[str, Any] = {
    "id": "0123456789abcdef", "name": "Errors", "page": "lab", "version": "0.1.0",
    "made": "2026-11-22T15:00:00+00:00",
}  # fmt: skip
NOTED: dict[str, Any] = {"name": "survey.csv", "fingerprint": "a" * 64}


def cell(number: int = 0, **more: Any) -> Cell:
    return Cell(**{**GIVEN, "id": f"{number:016x}", **more})


def test_a_notebook_is_changed_by_returning_another() -> None:
    book = Notebook("Survey").add(cell(1)).add(cell(2)).add(cell(3))
    changed = book.rename(f"{2:016x}", "Two").annotate(f"{3:016x}", "of *three*").duplicate(f"{1:016x}", f"{9:016x}")
    assert [(one.id[-1], one.name, one.note) for one in changed.cells] == [
        ("1", "Errors", ""), ("9", "Errors", ""), ("2", "Two", ""), ("3", "Errors", "of *three*"),
    ]  # fmt: skip
    turned = changed.reorder([one.id for one in reversed(changed.cells)]).delete(f"{1:016x}")
    assert [one.id[-1] for one in turned.cells] == ["3", "2", "9"]
    assert [one.name for one in book.cells] == ["Errors"] * 3


def test_a_table_of_another_file_keeps_its_name() -> None:
    one = DataNote(**NOTED, source_digest="b" * 64)
    cells = (cell(1, data=one, about="survey.csv · ε = 1"), cell(2, data=one, about="survey.csvs · ε = 1"), cell(3),
             cell(4, data=DataNote(**NOTED), about="survey.csv"))  # fmt: skip
    found = Notebook("Survey", cells).call_table("survey.csv", "Survey", "b" * 64).cells
    assert [one.about for one in found] == ["Survey · ε = 1", "survey.csvs · ε = 1", "", "survey.csv"]
    assert [one.data.name if one.data else "" for one in found] == ["Survey", "Survey", "", "survey.csv"]


def test_a_cell_is_put_in_the_place_of_the_one_with_its_id() -> None:
    book = Notebook("Survey", (cell(1), cell(2)))
    assert [one.seed for one in book.put(cell(1, seed=3)).cells] == [3, None]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"id": "1"}, "CELL_ID"), ({"id": "Z" * 16}, "CELL_ID"), ({"name": ""}, "CELL_NAME"),
        ({"name": "a\nb"}, "CELL_NAME"), ({"name": "a" * 121}, "CELL_NAME"), ({"name": "\u202eabc"}, "CELL_NAME"),
        ({"name": 3}, "CELL_NAME"), ({"note": "a" * 20_001}, "CELL_TEXT"), ({"note": "a\x00"}, "CELL_TEXT"),
        ({"note": None}, "CELL_TEXT"), ({"page": "../lab"}, "CELL_PAGE"), ({"view": "a b"}, "CELL_PAGE"),
        ({"settings": {"eps": "1"}}, "CELL_SETTINGS"), ({"settings": {"eps": (1,)}}, "CELL_SETTINGS"),
        ({"settings": {"e p": ("1",)}}, "CELL_SETTINGS"), ({"settings": [("eps", "1")]}, "CELL_SETTINGS"),
        ({"data": "survey.csv"}, "CELL_DATA"), ({"figure": "[]"}, "CELL_FIGURE"),
        ({"columns": {"a": (1, 2), "b": (1,)}}, "CELL_TABLE"), ({"columns": {3: (1,)}}, "CELL_TABLE"),
        ({"badges": ("private",)}, "CELL_KIND"), ({"seed": -1}, "SEED_RANGE"), ({"version": "<b>"}, "CELL_VERSION"),
        ({"made": "yesterday"}, "CELL_MADE"), ({"made": "2026-11-22T15:00:00"}, "CELL_MADE"),
        ({"holds_counts": 0}, "CELL_KIND"),
    ],
)  # fmt: skip
def test_a_cell_refuses(wrong: dict[str, Any], code: str) -> None:
    with refuses(code):
        Cell(**{**GIVEN, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [{"fingerprint": "a"}, {"source_digest": "b"}, {"domain": "secret"}, {"levels": "region"}, {"bounds": (0.0,)},
     {"bounds": (0.0, math.nan)}, {"name": "a\nb"}, {"weight": 3}],
)  # fmt: skip
def test_a_note_of_data_refuses(wrong: dict[str, Any]) -> None:
    with refuses("CELL_DATA"):
        DataNote(**{**NOTED, **wrong})


def test_a_notebook_refuses() -> None:
    book = Notebook("Survey", (cell(1), cell(2)))
    for wrong, code in (
        (lambda: book.add(cell(1)), "CELL_ID"),
        (lambda: book.duplicate(f"{1:016x}", f"{2:016x}"), "CELL_ID"),
        (lambda: book.delete("nothing"), "CELL_UNKNOWN"),
        (lambda: book.rename(f"{1:016x}", " "), "CELL_NAME"),
        (lambda: book.reorder([f"{1:016x}"]), "CELL_ORDER"),
        (lambda: book.reorder([f"{1:016x}"] * 2), "CELL_ORDER"),
        (lambda: Notebook("a\nb"), "NOTEBOOK_TITLE"),
        (lambda: Notebook("Survey", tuple(map(cell, range(MAX_CELLS + 1)))), "NOTEBOOK_CELLS"),
    ):
        with refuses(code):
            wrong()


def test_a_table_keeps_its_numbers_and_says_what_is_missing() -> None:
    found = table_of({
        "whole": np.array([1, -(2**62)]), "real": np.array([0.1, math.inf]), "both": [1, 0.5], "text": ["a", ""],
        "gaps": [None, 2], "mixed": ["–", 3.5], "large": [2**70, 1], "flags": [True, False],
    })  # fmt: skip
    assert found == {
        "whole": (1, -(2**62)), "real": (0.1, math.inf), "both": (1.0, 0.5), "text": ("a", ""), "gaps": (None, 2),
        "mixed": ("–", "3.5"), "large": (float(2**70), 1.0), "flags": (True, False),
    }  # fmt: skip
    assert [type(one) for one in found["both"]] == [float, float]
    assert table_of(found) == found


def test_without_counts_only_what_a_user_chose_is_left() -> None:
    noted = DataNote(**NOTED)
    full: dict[str, Any] = {
        "note": "mine", "view": "draw", "settings": {"eps": ("2.0",)}, "data": noted, "figure": {"data": [1]},
        "columns": {"count": (17,)}, "caption": "17 records", "answer": "17", "alt": "17", "badges": ("NOT PRIVATE",),
        "label": "NOT PRIVATE: 17", "code": "np.array([17])", "seed": 7,
    }  # fmt: skip
    bare = cell(1, **full).without_counts()
    assert "17" not in repr(bare)
    assert (bare.note, bare.view, bare.settings, bare.data, bare.seed) == (
        "mine", "draw", {"eps": ("2.0",)}, noted, 7,
    )  # fmt: skip
    public = cell(2, **full, holds_counts=False)
    assert Notebook("Survey", (public,)).without_counts().cells == (public,)
