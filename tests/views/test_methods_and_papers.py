"""Methods: what is said of an entry, of the self-check, and of a claim of a paper."""

from __future__ import annotations

import re

import pytest

from treedp_core.studies.methods.papers import CLAIMS
from treedp_core.studies.methods.selfcheck import OUTSIDE, self_check
from treedp_core.views import VIEWS, Tables, methods
from treedp_core.views.methods import ClaimInputs, MethodInputs
from treedp_core.words import short

NONE = Tables()


def test_an_entry_says_where_it_is_best_and_whence_it_is() -> None:
    bound, metric = (methods.beside_others(MethodInputs(one=one), NONE) for one in ("bounds.inftda", "metrics.rmse"))
    assert "Boninsegna, Theorem 1" in bound.caption and bound.provenance.line().endswith(" · made-up counts")
    assert metric.answer.startswith("**Best:** Sums and differences of counts")


def test_the_self_check_tells_the_chance_once_it_was_run() -> None:
    entry, inputs = VIEWS["methods.methods"], MethodInputs()
    assert methods.self_checked(inputs, NONE).is_empty
    slow = self_check(400)
    assert entry.found(inputs, NONE).badges == ("formula",)
    assert entry.found(inputs, NONE, slow).badges == ("formula", "simulation")
    found = methods.self_checked(inputs, NONE, slow=slow)
    said = re.search(r"of (\d+) (?:within|off)", found.alt)
    assert said is not None and int(said[1]) == len(slow.rows) == len(found.table["entry"])
    assert "Shrink for α-RMSE; Top-down, IntOpt" in found.alt and "seed 20" in found.alt
    assert f"{short(len(slow.rows) * OUTSIDE, 2)} of them would be outside on average" in found.alt


@pytest.mark.parametrize("view", [methods.all_numbers, methods.growth])
def test_a_claim_is_told_with_its_numbers(view: type) -> None:
    name = next(name for name, one in CLAIMS.items() if one.place == "Algorithm 4, budgets")
    told = view(ClaimInputs(claim=name), NONE).answer
    assert told.startswith("**Algorithm 4, budgets: corrected.** All rounds together cost ε. Today (the paper):")
    assert "**1** (1 787.9)" in told


def test_a_paper_s_picture_is_its_own() -> None:
    found = methods.growth(ClaimInputs(claim="boninsegna.1"), NONE)
    assert "open question of Section 4" in found.caption and len(found.table) >= 3
    assert set(methods.claims(ClaimInputs(claim="boninsegna.1"), NONE).table["place"]) == {
        one.place for one in CLAIMS.values() if one.paper == "boninsegna"
    }
