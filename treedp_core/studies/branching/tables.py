"""What is told of the trees for K bins, as columns: the ranking, the best of each height, the paper's statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.studies.branching.question import HeightBest, Question, references, rmse
from treedp_core.studies.branching.theorems import (
    Check,
    best_exact,
    corollary_v1,
    corollary_v2,
    lemma_v1,
    lemma_v2,
    theorem_v1,
    theorem_v2,
)
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix, and_total
from treedp_core.studies.cdf.matrices.plan import SEARCHES, Sought, mean_variance, sensitivity
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.studies.cdf.shapes.primes import is_prime, prime_factors
from treedp_core.studies.cdf.shapes.ranking import RankedShape
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Workload
from treedp_core.words import fixed, short, whole

# ---- which statements of Rameshwar et al., Sec. V, speak of K, and what the numbers say. Pure logic


def statements(n_bins: int) -> list[tuple[str, Check]]:
    """Return every statement that applies to K, with its check.

    >>> [name for name, _ in statements(2**11)]
    ['Lemma V.1', 'Theorem V.1', 'Theorem V.2', 'Corollary V.2', 'Lemma V.2']
    >>> [name for name, check in statements(997) if check.holds]
    ['Lemma V.1', 'Theorem V.1', 'Corollary V.1', 'Corollary V.2']
    """
    best = best_exact(n_bins)[1]
    found = [("Lemma V.1", lemma_v1(best))]
    primes = prime_factors(n_bins)
    power = next(iter(primes.items())) if len(primes) == 1 else None
    if power is not None:
        found.append(("Theorem V.1", theorem_v1(*power, len(best))))
    if power is not None and (power[0] >= 17 or n_bins <= 16):
        found.append(("Corollary V.1", corollary_v1(*power)))
    found += [("Theorem V.2", theorem_v2(n_bins, height)) for height in _root_heights(n_bins)]
    found.append(("Corollary V.2", corollary_v2(n_bins)))
    if power is not None and power[0] == 2 and 11 <= power[1] <= 59 and is_prime(power[1]):
        found.append(("Lemma V.2", lemma_v2(power[1])))
    return found


def numbers_text(check: Check) -> str:
    """Return the numbers of a check on one line.

    >>> numbers_text(Check("", True, {"best": (8, 16), "g": 333, "bound": 0.25}))
    'best 8 · 16; g 333; bound 0.25'
    """
    return "; ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in check.numbers.items())


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return product_text(value)
    return short(value, 6) if isinstance(value, float) else f"{whole(value)}" if isinstance(value, int) else str(value)


def _root_heights(n_bins: int) -> list[int]:
    """Heights above 1 with a whole root of K: the two around b = 16 and 17, which say most."""
    roots = {height: b for height in range(2, n_bins.bit_length()) if (b := whole_root(n_bins, height)) is not None}
    low = [height for height, b in roots.items() if b >= 17][-1:]
    return low + [height for height, b in roots.items() if 2 <= b <= 16][:1]


def whole_root(n: int, height: int) -> int | None:
    """Return b with b^height = n, if there is one.

    >>> whole_root(2**20, 4), whole_root(997, 2)
    (32, None)
    """
    near = round(n ** (1.0 / height))
    return next((b for b in (near - 1, near, near + 1) if b > 1 and b**height == n), None)


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
    texts = [fixed(share, 3).lstrip("0") or "0" for share in shares]
    return " ".join(texts[:8]) + (" …" if len(texts) > 8 else "")


# ---- trees and matrices on one axis: their mean variances over the least that is possible, or over the least of them


OVER: Final = "mean variance over the least"


def search_of(asked: Question) -> str:
    """Return which matrix is sought for a question's noise: a name in `STRATEGIES`."""
    return "identity" if asked.criterion.currency is Currency.EPSILON else "optimal"


def is_bounded(asked: Question) -> bool:
    """Whether a certified bound is known: for Gaussian noise where a record is added, removed or replaced."""
    criterion = asked.criterion
    return criterion.currency is Currency.RHO and criterion.unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN


def wanted(asked: Question) -> Wanted:
    """Return what a matrix is to answer: cumulative counts or ranges."""
    return Wanted(asked.n_bins, "cdf" if asked.criterion.workload is Workload.CDF else "ranges")


def trees_and_matrices(
    asked: Question, found: Sequence[RankedShape], matrix: Sought | None = None
) -> dict[str, list[Any]]:
    """Return trees and matrices for cumulative counts or ranges, the worst first, over the least mean variance.

    That is a certified bound for Gaussian noise where a record is added, removed or replaced; else the least of them.

    Parameters
    ----------
    asked : Question
    found : sequence of RankedShape
        Trees for it, the best first.
    matrix : Sought, optional
        What the search of `search_of` found; by default it is sought.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more than 1025 bins.
    """
    criterion, name = asked.criterion, search_of(asked)
    unit = criterion.unit
    matrix = SEARCHES[name].find(wanted(asked), unit.by_pairs, None) if matrix is None else matrix
    in_epsilon, bound = criterion.currency is Currency.EPSILON, matrix.lower
    if isinstance(matrix, WholeMatrix) and matrix.with_total and not unit.total_is_public:
        matrix = and_total(matrix, in_epsilon)
    moved = sensitivity(matrix, unit, criterion.currency)
    attained = matrix.mean_variance * moved**2 * (2.0 if in_epsilon else 0.5)
    trees = [("best tree", found[0]), *references(asked, found[:1])]
    rows = [(f"{why} ({product_text(one.shape.branching_factors)})", one.value) for why, one in trees]
    rows.append((STRATEGIES[name].label, attained))
    if not in_epsilon:
        rows.append((STRATEGIES["root"].label, mean_variance(wanted(asked), unit)))
    least = bound * unit.contributions**2 if is_bounded(asked) else min(value for _, value in rows)
    rows.sort(key=lambda row: -row[1])
    return {"way": [label for label, _ in rows], OVER: [value / least for _, value in rows]}
