"""What is told of the trees for K bins, as columns: the ranking, the best of each height, the paper's statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from treedp_core.studies.branching.question import HeightBest, Question, references, rmse
from treedp_core.studies.branching.statements import numbers_text, statements
from treedp_core.studies.cdf.shapes.ranking import RankedShape
from treedp_core.tree.text import product_text

SHOWN: Final = 6


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
    found = statements(n_bins)
    return {
        "source": [name for name, _ in found],
        "statement": [check.statement for _, check in found],
        "checked": ["holds" if check.holds else "does NOT hold" for _, check in found],
        "numbers": [numbers_text(check) for _, check in found],
    }


def ranking_table(asked: Question, found: Sequence[RankedShape], total: float) -> dict[str, list[Any]]:
    """Return the ranking as columns, with well-known trees and the best one without padding for comparison.

    `total` is the whole budget, in the criterion's currency; errors are in records.
    """
    rows = [("found", one) for one in found[:SHOWN]] + references(asked, found[:SHOWN])
    errors = [rmse(asked.criterion, one, total) for _, one in rows]
    order = sorted(range(len(rows)), key=errors.__getitem__)
    rows, errors = [rows[i] for i in order], [errors[i] for i in order]
    return {
        "tree": [product_text(one.shape.branching_factors) for _, one in rows],
        "why here": [why for why, _ in rows],
        "levels": [one.shape.height for _, one in rows],
        "padding": [one.shape.padding for _, one in rows],
        "RMSE (records)": errors,
        "÷ best": [error / errors[0] for error in errors],
        "shares": [_shares(one) for _, one in rows],
    }


def _shares(one: RankedShape) -> str:
    shares = one.shares[1:] if one.shares[0] == 0 else one.shares
    if float(shares.max() - shares.min()) < 1e-9:
        return "equal"
    texts = [f"{share:.3f}".lstrip("0") or "0" for share in shares]
    return " ".join(texts[:8]) + (" …" if len(texts) > 8 else "")
