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


def curve(criterion: Criterion) -> dict[str, list[float]]:
    """Return f(beta) along branching factors "beta" that are even in ln beta, (161,)."""
    low, high = (math.log(b) for b in BETAS)
    betas = [math.exp(low + (high - low) * i / 160) for i in range(161)]
    betas[0], betas[-1] = float(BETAS[0]), float(BETAS[1])
    return {"beta": betas, "f": [loss_factor(b, criterion) for b in betas]}


def whole_curve(criterion: Criterion) -> list[float]:
    """Return f at the whole branching factors, (BETAS[1] - BETAS[0] + 1,)."""
    return [loss_factor(b, criterion) for b in range(BETAS[0], BETAS[1] + 1)]


def beside_curve(question: Question, trees: Sequence[HeightBest]) -> list[tuple[HeightBest, float]]:
    """Return trees with what f would be in their exact error."""
    scale = factor_scale(question)
    return [(one, one.value / scale) for one in trees]


def factor_scale(question: Question) -> float:
    """Return what f(beta) is multiplied with in the mean variance at total budget 1, to leading order in ln K."""
    criterion = question.criterion
    per_level = 2 if criterion.currency is Currency.EPSILON else 1
    power = per_level if criterion.workload is Workload.NODES else per_level + 1
    half = 0.5 if criterion.workload is Workload.CDF else 1.0
    of_level = criterion.equal_parts(TALL + 1) - criterion.equal_parts(TALL)
    return half * criterion.variance_of_one() * of_level**per_level * math.log(question.n_bins) ** power
