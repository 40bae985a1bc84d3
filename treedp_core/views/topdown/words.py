"""The page TopDown in words: what it answers, with this release's numbers, and what that was made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from treedp_core.errors.compare import Compared
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.studies.topdown import Drawn, OnLeaves, RuleResult, Subject, ways_of_rules
from treedp_core.studies.topdown.certificate import Certificate
from treedp_core.studies.topdown.draw import usual_error
from treedp_core.studies.topdown.marginals import Marginals
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.views.finding import Provenance, UserText
from treedp_core.views.topdown.inputs import Made
from treedp_core.words import (
    literal,
    margin,
    percent_set,
    plural,
    powers,
    privacy_text,
    setting_text,
    short,
    signed,
    whole,
    with_noun,
)

NAMED: Final = ("intopt", "water_filling", "pruned")
"""Rules that the answer names."""
MAX_NAMED: Final = 4
"""Columns that a provenance names."""
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


def counts(mine: Drawn, level: int, bound: float, certified: float, confidence: float) -> str:
    """Return how far the counts of a level are off, and how far they may be."""
    here, name = mine.levels[level], literal(mine.subject.level_names[level], 24)
    theorem = f"{margin(bound)} (Theorem 1), nor above " if RULES[mine.wanted.rule].is_bounded else ""
    theory = (
        f"; with probability {percent_set(confidence)} none has an error above {theorem}{margin(certified)} (the "
        "release's own certificate)"
    )
    return (
        f"On level {name} half of the nodes with records have an error of at most "
        f"{with_noun(margin(usual_error(here)), 'record')}, and in this release none above "
        f"{margin(here.max_error)}{theory}."
    )


def certificate(mine: Drawn, found: Certificate) -> str:
    """Return what a release certifies of its own counts."""
    every = [pair for pair in zip(mine.subject.level_names, found.by_level.tolist(), strict=True) if pair[1] > 0]
    some = every if len(every) <= MAX_NAMED else [every[0], every[-1]]
    named = [f"**{margin(most)}** on level {literal(name, 24)}" for name, most in some] or ["**0**"]
    return (
        f"With probability {percent_set(found.confidence)}, all at once: no count has an error above "
        f"{', '.join(named)}. The release says so itself: no record is read for it."
    )


def marginals(found: Marginals) -> str:
    """Return where the release beats its own noise and the other ways, and where it does not."""
    told = []
    for place in dict.fromkeys((0, len(found.names) - 1)):
        here = found.rmse[:, place].tolist()
        best = here.index(min(here))
        told.append(
            f"{literal(found.names[place], 60)}: **{short(here[0])}** records as released, {short(here[1])} by its "
            f"noise alone; smallest {short(here[best])} ({found.ways[best]})."
        )
    return "Error of a cell by " + " By ".join(told)


def rules(found: Sequence[RuleResult]) -> str:
    """Return what IntOpt, water filling and pruning trade."""
    place = {one.rule: one.mean for one in found}
    first, other, pruned = map(place.__getitem__, NAMED)
    lost, filled = ([whole(round(one[name])) for one in (first, other, pruned)] for name in ("lost", "spurious"))
    return (
        f"IntOpt loses {with_noun(lost[0], 'place')} with records and fills {filled[0]} that had none, water filling "
        f"{lost[1]} and {filled[1]}, pruning {lost[2]} and {filled[2]}; their RMSE is {short(first['rmse'])}, "
        f"{short(other['rmse'])} and {short(pruned['rmse'])} records."
    )


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


def provenance(one: Made[Any], *, is_spent: bool = True, seed: int | None = None) -> Provenance:
    """Return what numbers were made from: the records and, where it `is_spent`, the budget."""
    what, wanted, few = one.subject, one.wanted, len(one.subject.columns) <= MAX_NAMED
    columns = tuple(UserText(cut(name, 24)) for name in what.columns) if few else plural(len(what.columns), "column")
    used: dict[str, Any] = {"rho": wanted.rho} if one.inputs.rho.strip() else {"epsilon": one.inputs.epsilon}
    used |= {"relation": wanted.unit.relation, "delta": wanted.delta, "seed": seed, "numerical": wanted.within > 0}
    about = (UserText(what.name), columns, f"{whole(what.n_leaves)} leaves")
    return Provenance(about=about, **used if is_spent else {})


def of_formula(plan: Made[Any]) -> dict[str, Any]:
    """Return what a finding by formula says of the plan that it is of."""
    label = plan.inputs.label
    badges = ("formula", NOT_PRIVATE) if label.startswith(NOT_PRIVATE) else ("formula",)
    return {"label": label, "badges": badges, "provenance": provenance(plan)}


def cut(name: str, limit: int = 40) -> str:
    """Return a name, or the beginning of one that is longer."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def promised(one: Made[Any]) -> str:
    """Return what a release promises, as short as it can be said."""
    if one.inputs.rho.strip():
        return f"ρ = {privacy_text(one.wanted.rho)}"
    return f"({setting_text(one.inputs.epsilon)}, {setting_text(one.wanted.delta)})"


def drawn(one: Made[Any]) -> str:
    """Return what was drawn, once or repeatedly, in words of our own."""
    if isinstance(one.found, Drawn):
        return f"{tree(one.subject)}; {rule(one)}, {spent(one.wanted, with_delta=True)}, seed {one.inputs.seed}"
    return f"{tree(one.subject)}; {spent(one.wanted)}, {whole(one.inputs.trials)} runs, seed {one.inputs.seed}"


def rule(one: Made[Any]) -> str:
    """Return what the chosen rule is called."""
    return RULES[one.wanted.rule].label


def least_squares_first(found: Sequence[RuleResult]) -> str:
    """Return what least squares before water filling changes, and whether the runs tell; nothing without both."""
    place = {one.rule: i for i, one in enumerate(found)}
    if "ls_water_filling" not in place:
        return ""
    rmse, (before, after) = ways_of_rules(found, "rmse"), (place["water_filling"], place["ls_water_filling"])
    unsure = "" if rmse.tells(before, after) else " (within the simulation's error)"
    change = signed(rmse.change(before, after))
    return f"Least squares before water filling changes the RMSE of a leaf by {change} %{unsure}."
