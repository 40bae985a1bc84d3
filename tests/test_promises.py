"""What is promised to people: numbers that are never better than the truth, and sentences that say all they rest on."""

from __future__ import annotations

import ast
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from treedp_core.privacy import Guarantee, NeighbouringRelation, ProtectedUnit
from treedp_core.top_down import accounting
from treedp_core.words import budget_text, privacy_text, setting_text

ROOT = Path(__file__).resolve().parent.parent
ADD = NeighbouringRelation.ADD_OR_REMOVE_ONE

# ---------------------------------------------------------------- numbers

RANDOM = (10.0 ** np.random.default_rng(5).uniform(-12, 3, 2_000)).tolist()
EDGES = [0.1, 0.3, 0.1 + 0.2, 0.9999, 0.99995, 1.0, 1.00049, 9.9999e-4, 999_999.9, 1e-100, 0.0]


@pytest.mark.parametrize("x", [*RANDOM[:50], *EDGES])
def test_a_setting_is_shown_as_it_was_set(x: float) -> None:
    assert float(setting_text(x)) == x


def test_a_cost_is_never_shown_below_and_a_budget_never_above_the_truth() -> None:
    """Typed means the shortest decimal of a float; both within 1 in 1000, the last of four digits."""
    for x in RANDOM + EDGES:
        typed = Fraction(repr(x))
        up, down = (Fraction(Decimal(write(x))) for write in (privacy_text, budget_text))
        assert down <= typed <= up
        assert up <= typed * Fraction(1001, 1000) and down >= typed * Fraction(999, 1000)


def test_exact_fractions_are_rounded_as_safely() -> None:
    third = Fraction(1, 3)
    assert (privacy_text(third), budget_text(third)) == ("0.3334", "0.3333")
    assert privacy_text(Fraction(1) + Fraction(1, 10**30)) == "1.001"
    assert budget_text(Fraction(1) - Fraction(1, 10**30)) == "0.9999"


def test_the_tight_epsilon_is_shown_at_least_as_large_as_it_is() -> None:
    """For 400 random budgets: rounding to the nearest of four digits would be too small for about half of them."""
    found = [accounting(10**x, 1e-6).epsilon_tight for x in np.random.default_rng(1).uniform(-3, 1, 400).tolist()]
    assert sum(float(f"{e:.4g}") < e for e in found) > 100
    assert all(float(privacy_text(e)) >= e for e in found)
    told = [Guarantee(ProtectedUnit(ADD), e, 1e-6).sentence() for e in found]
    assert all(float(one.partition("ε = ")[2].partition(",")[0]) >= e for one, e in zip(told, found, strict=True))


WRITERS = {"setting_text", "privacy_text", "budget_text"}
WAITING = ("pages/ui/budget_", "treedp_core/budgets/")


def shown_otherwise(source: str) -> list[str]:
    """Values that an f-string puts behind "ε =", "δ =" or "ρ =" without one of the writers of `words`."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for text, value in zip(node.values, node.values[1:], strict=False):
            named = isinstance(text, ast.Constant) and str(text.value).rstrip("*( ").endswith(("ε =", "δ =", "ρ ="))
            if named and isinstance(value, ast.FormattedValue):
                call = value.value
                name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
                if name not in WRITERS and not (isinstance(call, ast.Name) and value.format_spec is None):
                    wrong.append(f"line {value.lineno}: {ast.unparse(value.value)}")
    return wrong


def test_every_privacy_number_is_written_by_the_one_place() -> None:
    files = [*(ROOT / "pages").rglob("*.py"), *(ROOT / "treedp_core").rglob("*.py")]
    paths = {str(file.relative_to(ROOT)): file for file in files}
    wrong = {p: shown_otherwise(f.read_text("utf-8")) for p, f in paths.items() if not p.startswith(WAITING)}
    assert {path: found for path, found in wrong.items() if found} == {}


def test_another_way_of_writing_is_found() -> None:
    assert shown_otherwise('f"at ε = {short(epsilon)}"') and shown_otherwise('f"ρ = {rho:.4g}"')
    assert not shown_otherwise('f"at ε = {setting_text(epsilon)} and σ = {sigma:.3g}"')
