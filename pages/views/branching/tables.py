"""The tables of the Branching factor page, and the search for the best budgets of each tree. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from treedp_core.privacy import Currency
from treedp_core.studies.branching import RankedShape
from treedp_core.studies.branching import question as model
from treedp_core.studies.branching import statements as branching_checks
from treedp_core.studies.branching.question import HeightBest, Question
from treedp_core.studies.cdf.error import Criterion, optimal_shares
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, equal_tree
from treedp_core.watch import Cancelled, Watch

SHOWN: Final = 6
SEARCHED: Final = 6


def curve_table(criterion: Criterion) -> dict[str, list[float]]:
    """Return f(beta) along a grid of branching factors."""
    betas, values = model.curve(criterion)
    return {"beta": betas, "f": values}


def height_table(found: Sequence[HeightBest]) -> dict[str, list[Any]]:
    """Return the best tree of each height, and its error over the least of all."""
    least = min(one.value for one in found)
    return {
        "height": [one.height for one in found],
        "tree": [product_text(one.shape.branching_factors) for one in found],
        "RMSE over the best": [math.sqrt(one.value / least) for one in found],
    }


def statement_table(n_bins: int) -> dict[str, list[str]]:
    """Return what the paper states about K bins, checked."""
    found = branching_checks.statements(n_bins)
    return {
        "source": [name for name, _ in found],
        "statement": [check.statement for _, check in found],
        "checked": ["holds" if check.holds else "does NOT hold" for _, check in found],
        "numbers": [branching_checks.numbers_text(check) for _, check in found],
    }


def ranking_table(asked: Question, found: Sequence[RankedShape], total: float) -> dict[str, list[Any]]:
    """Return the ranking as columns, with well-known trees and the best one without padding for comparison.

    `total` is the whole budget, in the criterion's currency.
    """
    rows = [("found", one) for one in found[:SHOWN]] + model.references(asked, found[:SHOWN])
    errors = [model.rmse(asked.criterion, one, total) for _, one in rows]
    order = sorted(range(len(rows)), key=errors.__getitem__)
    rows, errors = [rows[i] for i in order], [errors[i] for i in order]
    return {
        "tree": [product_text(one.shape.branching_factors) for _, one in rows],
        "why here": [why for why, _ in rows],
        "levels": [one.shape.height for _, one in rows],
        "padding": [one.shape.padding for _, one in rows],
        "RMSE": errors,
        "÷ best": [error / errors[0] for error in errors],
        "shares": [_shares(one) for _, one in rows],
    }


def _shares(one: RankedShape) -> str:
    shares = one.shares[1:] if one.shares[0] == 0 else one.shares
    if float(shares.max() - shares.min()) < 1e-9:
        return "equal"
    texts = [f"{share:.3f}".lstrip("0") or "0" for share in shares]
    return " ".join(texts[:8]) + (" …" if len(texts) > 8 else "")


def candidates(asked: Question, equal: Sequence[RankedShape]) -> list[Shape]:
    """The best with equal budgets; for Gaussian noise the finest trees too, which win once levels have best shares."""
    shapes = [one.shape for one in equal[:SEARCHED]]
    if asked.padded and asked.criterion.currency is Currency.RHO:
        shapes += [equal_tree(asked.n_bins, n) for n in (4, 2)]
    return list(dict.fromkeys(shapes))


def searched(asked: Question, watch: Watch | None = None) -> list[RankedShape]:
    """Return the best of the trees that were best with equal budgets, each with the best budgets.

    Raises
    ------
    InputError
        ``RELATION`` where there are no optimal budgets.
    Cancelled
        When the watch says so.
    """
    watch, found = watch or Watch(), []
    for shape in candidates(asked, model.ranked(asked.with_equal_budgets)):
        if watch.cancelled():
            raise Cancelled
        best = optimal_shares(shape, asked.criterion)
        found.append(RankedShape(shape, best.shares, best.value))
        watch.step(1)
    return sorted(found, key=lambda one: one.value)
