"""Branching factor: what is asked says all by itself, and what the paper states about K holds."""

from __future__ import annotations

import pytest

from oracles_pages import RAGGED
from treedp_core.checks import InputError
from treedp_core.studies.branching import statements
from treedp_core.studies.branching.theorems import Check
from treedp_core.views import VIEWS, Tables, branching
from treedp_core.views.branching import BranchingInputs


def found(bins: str) -> dict[str, list[str]]:
    table = branching.statements(BranchingInputs(bins=bins), Tables()).table
    return {name: list(map(str, values)) for name, values in table.items()}


@pytest.mark.parametrize("bins", ["2^20", "3^6", "2^11", "997", "10^15"])
def test_every_statement_of_the_paper_holds(bins: str) -> None:
    assert set(found(bins)["checked"]) == {"holds"}
    assert "Corollary V.2" in found(bins)["source"]


def test_a_statement_that_fails_is_shown_as_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "lemma_v1", lambda factors: Check("wrong", False, {"g": 1}))
    assert found("64")["checked"][0] == "does NOT hold"


def test_what_is_asked_is_of_no_table_once_it_says_what_it_took_of_one() -> None:
    """K are the leaves, δ is the one that fits, and as many records are protected as were counted."""
    asked = BranchingInputs(bins=" ", noise="gaussian")
    alone = asked.apart(RAGGED)
    assert (alone.bins, alone.delta) == (str(RAGGED.tree.n_leaves), asked.usable_delta(RAGGED.total))
    assert alone.apart(RAGGED) == alone and BranchingInputs().apart(RAGGED) == BranchingInputs()
    assert not VIEWS["branching.checks"].is_of_table(asked)
    assert (alone.question().n_bins, alone.question().criterion.law) == (RAGGED.tree.n_leaves, "gaussian")


@pytest.mark.parametrize("bins", ["1", "2^64", "many"])
def test_no_number_of_bins_is_refused(bins: str) -> None:
    with pytest.raises(InputError) as refused:
        BranchingInputs(bins=bins).question()
    assert refused.value.code == "TREE_SHAPE"
