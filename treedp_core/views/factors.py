"""Branching factors for level budgets that are given, and what the paper's approximation of the error is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from treedp_core.allocation.shares import shares_from_text
from treedp_core.figures.branching import factors_by_level, sandwich_by_height
from treedp_core.studies.branching import best_shape
from treedp_core.studies.branching import question as study
from treedp_core.studies.branching.factors import (
    MOST_SURE,
    WholeTree,
    best_factors,
    best_factors_from_two,
    best_whole,
    mean_variance,
    power_of,
    sandwich,
    shares_checked,
    variances_of,
)
from treedp_core.studies.branching.question import MAX_HEIGHT, NOISES, Question
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape
from treedp_core.views.branching import BranchingInputs, budget, finding
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.words import percent, plural, short, whole

NEAR: Final = 0.0005
"""By how much less two shares or errors are said to be the same."""
MOST_SAID: Final = 6
"""Levels whose shares and factors stand in a sentence."""


def _plain(alone: BranchingInputs) -> Question:
    """What is asked, of cumulative counts before least squares: what the theorems speak of."""
    of = alone.criterion
    return Question(alone.question().n_bins, Criterion(of.law, unit=of.unit), alone.padded)


def shares_of(inputs: BranchingInputs, tables: Tables, memo: Memo = forgetful) -> tuple[float, ...]:
    """Return the shares of the levels below the root; equal ones on the best tree's levels where none are given.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` for shares that are none, ``TREE_SHAPE`` for what is no number of bins.

    >>> shares_of(BranchingInputs(given="0.6 0.4"), Tables()), len(shares_of(BranchingInputs(), Tables()))
    ((0.6, 0.4), 3)
    """
    if inputs.given.strip():
        return shares_checked(shares_from_text(inputs.given))
    asked = _plain(inputs.apart(tables.data))
    height = memo(("branching.height", asked), lambda: best_shape(asked.n_bins, asked.criterion).height)
    return (1.0 / height,) * height


def factors_for_budgets(inputs: BranchingInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the best branching factors for given budgets of the levels: real ones, and those of the best whole tree.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for what is no number of bins, or has no such tree; ``BUDGET_SPLIT`` for shares that are none;
        ``RELATION`` where budgets of levels do not add up.
    """
    alone = inputs.apart(tables.data)
    asked = _plain(alone)
    shares = shares_of(inputs, tables, memo)
    noise = variances_of(asked.criterion, shares, alone.total)
    found = memo(
        ("branching.whole", asked, shares, alone.total),
        lambda: best_whole(asked.n_bins, noise, padded=asked.padded),
    )
    power = power_of(asked.criterion)
    real = best_factors(asked.n_bins, shares, power)
    is_tree = min(real) >= 2.0
    least = real if is_tree or 2 ** len(real) > asked.n_bins else best_factors_from_two(asked.n_bins, shares, power)
    answer = f"{_answer(asked, shares, found, real)}{_beside(alone, asked, shares, found)}."
    columns = {
        "level": list(range(1, len(shares) + 1)),
        "share": [percent(one) for one in shares],
        "noise, st. dev. (records)": [math.sqrt(one) for one in noise.tolist()],
        "factor of the theorem": real,
        "at least 2": least,
        "best whole tree": list(found.shape.branching_factors),
    }
    sure = (
        "every tree is looked at" if found.is_sure else f"beyond {whole(MOST_SURE)} bins the best that a search found"
    )
    more = "" if is_tree else (
        " Where the theorem asks for fewer than 2 children, no tree has them: those levels get 2, the others share "
        "the rest by the same rule."
    )  # fmt: skip
    exponent = "²" if power == 2 else ""
    return finding(
        alone, asked, figure=factors_by_level(real, found.shape.branching_factors), columns=lambda: columns,
        answer=answer, alt=answer,
        caption=f"Cumulative counts, {NOISES[asked.criterion.law]} noise, {budget(alone)}, no post-processing. "
        f"nᵢ = K^(1/h) · εᵢ{exponent} / (∏ εⱼ{exponent})^(1/h)"
        f"{'' if power == 2 else ', ρ for ε in zCDP'} (Theorem IV.2 (ii) of Rameshwar et al.; at least 2 and whole: "
        f"own derivation; {sure}).{more} Formula.",
    )  # fmt: skip


def _answer(asked: Question, shares: Sequence[float], found: WholeTree, real: Sequence[float]) -> str:
    said = " · ".join(map(short, real)) if len(real) <= MOST_SAID else f"{short(max(real))} to {short(min(real))}"
    whose = ", ".join(map(percent, shares[:MOST_SAID])) + " …" * (len(shares) > MOST_SAID)
    budgets = f"equal shares of {plural(len(shares), 'level')}" if _is_equal(shares) else f"shares {whose}"
    return (
        f"For {budgets} the theorem's factors over {whole(asked.n_bins)} bins are {said}; the best whole tree is "
        f"{product_text(found.shape.branching_factors)}, RMSE {short(math.sqrt(found.value))} records"
    )


def _is_equal(shares: Sequence[float]) -> bool:
    return max(shares) - min(shares) < NEAR


def _beside(alone: BranchingInputs, asked: Question, shares: Sequence[float], found: WholeTree) -> str:
    """How much worse that is than the best tree of as many levels with equal shares; nothing of equal ones."""
    if _is_equal(shares):
        return ""
    equal = variances_of(asked.criterion, [1.0 / len(shares)] * len(shares), alone.total)
    other = best_whole(asked.n_bins, equal, padded=asked.padded)
    apart = math.sqrt(found.value / other.value) - 1.0
    how = "the same as" if abs(apart) < NEAR else f"{percent(abs(apart))} {'above' if apart > 0 else 'below'}"
    return f", {how} {product_text(other.shape.branching_factors)} with equal shares"


def approximation(inputs: BranchingInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the error of every height between half of the paper's approximation and all of it, and whole trees in it.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for what is no number of bins.
    """
    alone = inputs.apart(tables.data)
    asked = _plain(alone)
    heights = list(range(1, min(asked.n_bins.bit_length() - 1, MAX_HEIGHT) + 1))
    values = sandwich(asked.n_bins, asked.criterion, heights)
    rows: dict[str, list[Any]] = {"height": heights} | {
        name: [study.in_records(asked.criterion, one, alone.total) for one in of] for name, of in values.items()
    }
    trees = memo(("branching.heights", asked), lambda: study.by_height(asked, study.ranked(asked)))
    shown = [(one.height, _rmse(alone, asked, one.shape)) for one in trees if one.height <= heights[-1]]
    best, first = (min(heights, key=lambda h: rows[name][h - 1]) for name in ("exact", "approximation"))
    above = rows["approximation"][best - 1] / rows["exact"][best - 1] - 1.0
    answer = (
        f"The approximation, nᵢ in place of nᵢ − 1, has its least RMSE at {plural(first, 'level')}, the exact formula "
        f"at {whole(best)}; there the approximation is {percent(above)} larger, and at most √2 times as large for "
        "every tree without padding: ½ Ē₂ ≤ E₂ ≤ Ē₂."
    )
    return finding(
        alone, asked, figure=sandwich_by_height(rows, shown), columns=lambda: rows, answer=answer, alt=answer,
        caption=f"K = {whole(asked.n_bins)}, equal budgets at {budget(alone)}, {NOISES[asked.criterion.law]} noise, no "
        "post-processing. Ē₂ = 4 K / N² · Σ nᵢ / εᵢ² (Rameshwar et al., before Lemma IV.2) with equal real factors "
        "K^(1/h), of which none is below 2. Squares: best whole tree found of each height; padding may put one a "
        "little below the line. RMSE, so the band is a factor of √2 wide. Formula.",
    )  # fmt: skip


def _rmse(alone: BranchingInputs, asked: Question, shape: Shape) -> float:
    """RMSE of a cumulative count with equal budgets of the levels below the root."""
    equal = variances_of(asked.criterion, [1.0 / shape.height] * shape.height, alone.total)
    return math.sqrt(mean_variance(shape, equal))


_entry = partial(Entry, page="branching", inputs=BranchingInputs, apart=BranchingInputs.apart)
ENTRIES = (
    _entry(part="bra_factors", section="factors", find=factors_for_budgets),
    _entry(part="bra_sandwich", section="sandwich", find=approximation),
)
