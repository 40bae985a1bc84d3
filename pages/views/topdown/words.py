"""The page TopDown in words: what it answers, with this release's numbers, and what that was made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pages.ui.settings import EPSILON
from pages.ui.strip import strip
from pages.ui.text import lit
from treedp_core.errors.compare import Compared
from treedp_core.studies.topdown import Drawn, OnLeaves, RuleResult, Subject, rho_of
from treedp_core.studies.topdown.marginals import Marginals
from treedp_core.studies.topdown.rows import usual_error
from treedp_core.studies.topdown.wanted import RULES, Wanted
from treedp_core.words import margin, percent_set, plural, powers, privacy_text, setting_text, short, signed, whole

MAX_NAMED: Final = 4
"""Columns that a strip names."""
WHY_LOST: Final = "Small counts under big totals are set to 0 first: at"


def rows(leaves: Compared, promised: str, *, adds_up: bool = True) -> str:
    """Return what became of the places; where counts do not add up, what is lost has not moved elsewhere.

    >>> import numpy as np
    >>> rows(Compared(9, np.array([8, 2, 0]), np.array([9, 0, 1])), "(1, 1e-6)")
    'Small counts under big totals are set to 0 first: at (1, 1e-6) 50 % of the places with records are lost, 50 % \
of the released ones never existed; 20 % of the records would have to move.'
    """
    return (
        f"{WHY_LOST if leaves.lost else 'At'} {promised} {_part(leaves.lost, leaves.n_true)} of the places with "
        f"records are lost, {_part(leaves.spurious, leaves.n_released)} of the released ones never existed; "
        + (
            f"{short(100 * leaves.total_variation, 2)} % of the records would have to move."
            if adds_up
            else f"{short(200 * leaves.total_variation, 2)} % of the records are too many or missing."
        )
    )


def _part(part: int, of: int) -> str:
    return f"{short(100 * part / of if of else 0.0, 2)} %"


def counts(mine: Drawn, level: int, bound: float, confidence: float) -> str:
    """Return how far the counts of a level are off, and how far they may be."""
    here, name = mine.levels[level], lit(mine.subject.level_names[level], 24)
    theory = (
        f"; with probability {percent_set(confidence)} none is off by more than {margin(bound)} (Theorem 1)"
        if RULES[mine.wanted.rule].is_bounded
        else ""
    )
    return (
        f"On level {name} half of the nodes with records are off by at most {margin(usual_error(here))} records, and "
        f"in this release none by more than {margin(here.max_error)}{theory}."
    )


def marginals(found: Marginals) -> str:
    """Return where the release beats its own noise and the other ways, and where it does not."""
    told = []
    for place in dict.fromkeys((0, len(found.names) - 1)):
        here = found.rmse[:, place].tolist()
        best = here.index(min(here))
        told.append(
            f"{lit(found.names[place], 60)}: **{short(here[0])}** records as released, {short(here[1])} by its noise "
            f"alone; smallest {short(here[best])} ({found.ways[best]})."
        )
    return "Error of a cell by " + " By ".join(told)


NAMED: Final = ("intopt", "water_filling", "pruned")
"""Rules that the answer names."""


def rules(found: Sequence[RuleResult]) -> str:
    """Return what IntOpt, water filling and pruning trade."""
    place = {one.rule: one.mean for one in found}
    first, other, pruned = map(place.__getitem__, NAMED)
    return (
        f"IntOpt loses {_rounded(first['lost'])} places with records and fills {_rounded(first['spurious'])} empty "
        f"ones, water filling {_rounded(other['lost'])} and {_rounded(other['spurious'])}, pruning "
        f"{_rounded(pruned['lost'])} and {_rounded(pruned['spurious'])}; their RMSE is {short(first['rmse'])}, "
        f"{short(other['rmse'])} and {short(pruned['rmse'])} records."
    )


def least_squares_first(change: float, *, told: bool) -> str:
    """Return what least squares before water filling changes, in per cent, and whether the runs tell."""
    unsure = "" if told else " (within the simulation's error)"
    return f"Least squares before water filling changes the RMSE of a leaf by {signed(change)} %{unsure}."


def on_leaves(one: OnLeaves, found: Sequence[RuleResult]) -> str:
    """Return what a stability histogram of the leaves would do, beside the rule with the smallest RMSE."""
    rmse = min(rule.mean["rmse"] for rule in found)
    promise = one.made.guarantee
    return (
        f"**No domain at all?** A stability histogram of the leaves tells leaves from {whole(one.made.threshold)} "
        f"records on, at ({privacy_text(promise.epsilon)}, {setting_text(promise.delta)}): no empty leaf, "
        f"{whole(round(one.told))} of the {whole(one.filled)} with records, which hold {short(100 * one.kept, 2)} % of "
        f"the records; its RMSE is {short(one.rmse)}, the best rule's {short(rmse)}. It wins where records "
        "lie on large leaves, and sums of what it tells miss all small ones. (Formula, NOT PRIVATE.)"
    )


def _rounded(mean: float) -> str:
    return whole(round(mean))


def tree(what: Subject) -> str:
    """Return the tree in words of our own."""
    levels = plural(len(what.columns), "level")
    if what.is_product:
        return f"{levels} of {powers(what.table.sizes)} categories, {whole(what.n_leaves)} possible leaves"
    return f"{levels}, {plural(what.n_leaves, 'leaf', 'leaves')}"


def spent(wanted: Wanted, *, with_delta: bool = False) -> str:
    """Return what is spent, on which levels and for whom, in words of our own."""
    delta = f"δ = {setting_text(wanted.delta)}, " if with_delta else ""
    split = f"{wanted.split.lower()} shares"
    return f"ρ = {privacy_text(wanted.rho)}, {delta}{split}, {wanted.unit.relation.label.lower()}"


def strip_of(what: Subject, wanted: Wanted | None, seed: int | None = None) -> str:
    """Return the strip: the records, and what the figures were made with; None where nothing was."""
    few = len(what.columns) <= MAX_NAMED
    order = " › ".join(lit(name, 24) for name in what.columns) if few else plural(len(what.columns), "column")
    told: dict[str, Any] = {}
    if wanted is not None:
        told = {"epsilon": EPSILON.value} if _is_sidebars(wanted) else {"rho": wanted.rho}
        told |= {"relation": wanted.unit.relation, "delta": wanted.delta, "seed": seed, "numerical": wanted.within > 0}
    return strip(lit(what.name, 40), order, f"{whole(what.n_leaves)} leaves", **told)


def promised(wanted: Wanted) -> str:
    """Return what a release promises, as short as it can be said."""
    if _is_sidebars(wanted):
        return f"({setting_text(EPSILON.value)}, {setting_text(wanted.delta)})"
    return f"ρ = {privacy_text(wanted.rho)}"


def _is_sidebars(wanted: Wanted) -> bool:
    """Whether it spends the sidebar's epsilon."""
    if wanted.within:
        return wanted.within == EPSILON.value
    return wanted.rho == rho_of("", EPSILON.value, wanted.delta)


def drawn_with(wanted: Wanted, seed: int) -> str:
    """Return what a release was drawn with, in words of our own."""
    return f"{RULES[wanted.rule].label}, {spent(wanted, with_delta=True)}, seed {seed}"


def release(mine: Drawn) -> str:
    """Return the tree of a release and what it was drawn with, in words of our own."""
    return f"{tree(mine.subject)}; {drawn_with(mine.wanted, mine.seed)}"
