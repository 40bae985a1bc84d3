"""f(beta) along branching factors, and where whole trees for K bins stand beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from treedp_core.privacy import Currency
from treedp_core.studies.branching.limits import loss_factor
from treedp_core.studies.branching.question import HeightBest, Question
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Workload

BETAS: Final = (2, 64)
"""Branching factors the curve shows."""
TALL: Final = 1000
"""A height at which every further level is an unknown one."""


def curve(question: Question, total: float) -> dict[str, list[float]]:
    """Return f(beta) along branching factors "beta" that are even in ln beta, and the RMSE of a query, (161,) each.

    `total` is the whole budget, in the criterion's currency. The RMSE is that of very many bins, at K: to leading order
    in ln K, in records.
    """
    low, high = (math.log(b) for b in BETAS)
    betas = [math.exp(low + (high - low) * i / 160) for i in range(161)]
    betas[0], betas[-1] = float(BETAS[0]), float(BETAS[1])
    found = [loss_factor(b, question.criterion) for b in betas]
    scale = factor_scale(question)
    records = [in_records(question.criterion, f * scale, total) for f in found]
    return {"beta": betas, "f": found, "RMSE (records)": records}


def whole_curve(question: Question, total: float) -> list[float]:
    """Return the RMSE at the whole branching factors, in records, (BETAS[1] - BETAS[0] + 1,)."""
    criterion, scale = question.criterion, factor_scale(question)
    return [in_records(criterion, loss_factor(b, criterion) * scale, total) for b in range(BETAS[0], BETAS[1] + 1)]


def beside_curve(question: Question, trees: Sequence[HeightBest], total: float) -> list[tuple[HeightBest, float]]:
    """Return trees with their exact RMSE at a total budget, in records."""
    return [(one, in_records(question.criterion, one.value, total)) for one in trees]


def in_records(criterion: Criterion, value: float, total: float) -> float:
    """Return the root of a mean variance at total budget 1, when the whole budget is `total`.

    >>> in_records(Criterion("laplace"), 100.0, 0.5), in_records(Criterion("gaussian"), 100.0, 0.25)
    (20.0, 20.0)
    """
    return math.sqrt(value) / (total if criterion.currency is Currency.EPSILON else math.sqrt(total))


def factor_scale(question: Question) -> float:
    """Return what f(beta) is multiplied with in the mean variance at total budget 1, to leading order in ln K."""
    criterion = question.criterion
    per_level = 2 if criterion.currency is Currency.EPSILON else 1
    power = per_level if criterion.workload is Workload.NODES else per_level + 1
    half = 0.5 if criterion.workload is Workload.CDF else 1.0
    of_level = criterion.equal_parts(TALL + 1) - criterion.equal_parts(TALL)
    return half * criterion.variance_of_one() * of_level**per_level * math.log(question.n_bins) ** power
