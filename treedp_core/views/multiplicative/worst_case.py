"""Worst cases of multiplicative error: growth with the levels, the least count kept, and what stands under *More*."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core.figures.multiplicative import (
    accuracy_bars,
    few_figure,
    forgiven_figure,
    growth_figure,
    schedule_figure,
    subtraction_figure,
)
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.schedule import PrintedSchedule, growth_ratio, printed_schedule
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.multiplicative import Setting, accuracy_table, by_subtraction, ranking
from treedp_core.studies.multiplicative.accuracy import TUNED, LevelThresholds, kept_table, levels_in_words, own_plan
from treedp_core.studies.multiplicative.by_subtraction import MOST_LEVELS, Subtracted
from treedp_core.studies.multiplicative.curves import growth as errors_of_curves
from treedp_core.studies.multiplicative.ranking import Found, Places, Rank
from treedp_core.studies.multiplicative.tree_bounds import bounds_table
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.views.entries import Entry, Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.views.multiplicative.inputs import MAX_ROUNDS, WorstCaseInputs
from treedp_core.watch import Watch
from treedp_core.words import margin, plural, setting_text, short, whole

# ---- what the budgets printed in Ghazi et al., Algorithm 4 add up to, beside the corrected ones


def schedule_table(alpha: float, epsilon: float, n: int) -> dict[str, AnyArray]:
    """Return what the printed and the corrected budgets of 1 to n rounds sum to: columns (n,), in epsilon.

    >>> table = schedule_table(0.5, 1.0, 20)
    >>> table["rounds"][-1], round(table["printed"][-1]), bool(table["corrected"][-1] <= 1.0)
    (np.int64(20), 1788, True)
    """
    every = [printed_schedule(alpha, epsilon, rounds) for rounds in range(1, n + 1)]
    return {
        "rounds": np.arange(1, n + 1),
        "printed": np.array([each.printed_total for each in every]),
        "corrected": np.array([each.corrected_total for each in every]),
    }


def breaks_at(table: dict[str, AnyArray], epsilon: float) -> int | None:
    """Return the first of the numbers of rounds (n,) whose printed budgets cost more than epsilon; None if none does.

    >>> breaks_at(schedule_table(0.5, 1.0, 20), 1.0)
    4
    """
    over = table["rounds"][table["printed"] / epsilon > 1.0]
    return int(over[0]) if over.size else None


def budget_table(schedule: PrintedSchedule) -> dict[str, list[Any]]:
    """Return the budget of every round, as printed and corrected; the first has the lowest threshold."""
    return {
        "round i": list(range(1, len(schedule.printed) + 1)),
        "εᵢ as printed": list(schedule.printed),
        "εᵢ corrected": list(schedule.corrected),
    }


OWN: Final = (
    " Dotted: your smallest and largest τ. A node’s own τ is kept where it is not below the bar (Problem 3.1); level 0 "
    "is the root. Bounds hold on binary trees."
)
Crossed = dict[tuple[str, str], int | None]
FOUR_LINES: Final = (
    "Best simple rule: the smallest error of all that is no threshold mechanism, exact; Laplace: noise on every count, "
    "exact (Ghazi et al., Corollary 2.7); thresholds: the tuned plan, whose privacy is proven while its error is "
    "certified for records on one leaf and only simulated on other trees; lower bound: no mechanism does better "
    "(Corollary 5.4, explicit constants)."
)
ALL_LINES: Final = (
    "Solid orange, pink, green: noise on every count, exact (Ghazi et al., Corollary 2.7); dashed: the same shrunk "
    "to max(0, (1 − α) y), exact (own derivation). Blue: thresholds; dotted what Theorem 4.1 proves with corrected "
    "constants, dashed a plan whose error is proven, thick the tuned plan, whose privacy is proven while its error "
    "is certified for records on one leaf and only simulated on other, adversarial trees. "
    "Grey: no mechanism does better (Theorem 5.1, Corollary 5.4, "
    "explicit constants). Among factorisation mechanisms at α = 0, tree least squares with minimax budgets is "
    "optimal: its line is also their lower bound (Theorem 5.2, exact)."
)


def growth(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the worst-case errors by number of levels, and where thresholds begin to pay.

    Raises
    ------
    InputError
        What `WorstCaseInputs.setting` and `WorstCaseInputs.n_levels` refuse.
    """
    setting, d = inputs.setting(tables.data), inputs.n_levels(tables.data)
    curves, rows = _curves(setting, memo), _rows(setting, d, memo)
    near = ranking.crossings(curves)
    marker = f"yours: {plural(d, 'level')}"
    if inputs.every_curve:
        shown, figure = curves, growth_figure(curves, list(near.values()), n_levels=d, marker_text=marker)
    else:
        shown, at = ranking.deciding(curves), [near[ranking.TURN]] if ranking.TURN in near else []
        figure = few_figure(shown, at, n_levels=d, marker_text=marker)
    turn = _turn(near)
    return Finding(
        figure=figure,
        columns=partial(ranking.point_table, shown),
        answer=_growth_answer(rows, d, turn),
        caption="Worst α-RMSE of a node over all data, one record added or removed; binary trees, "
        f"α = {short(setting.alpha)}, ε = {setting_text(setting.epsilon)}, δ = {setting_text(setting.delta)}, "
        f"N ≤ {whole(round(setting.max_total))}. "
        + (ALL_LINES if inputs.every_curve else FOUR_LINES)
        + " Ring: where thresholds begin to pay; the exact number and every other crossing are under More.",
        alt=f"Thresholds with a tuned plan beat every simple rule from about {turn} levels on."
        if turn
        else "The tuned plan does not fall below the best simple rule up to a million levels.",
        badges=("formula", "simulation"),
        provenance=provenance(setting, d),
    )


def ranked(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return every mechanism at the number of levels, best first; it refuses as `growth` does."""
    setting, d = inputs.setting(tables.data), inputs.n_levels(tables.data)
    rows = _rows(setting, d, memo)
    best, simple = ranking.winner(rows)
    said = f"The smallest worst-case error is **{short(best.error)} records**: {best.curve.label}"
    return Finding(
        columns=partial(ranking.ranking_table, rows),
        answer=f"{said}. Thresholds do not pay here."
        if best is simple
        else f"{said} ({best.curve.known}); the best simple rule, {simple.curve.label}, has {short(simple.error)}.",
        alt="Every mechanism at your number of levels, best first",
        caption="Proven: exact, or a theorem. Simulated: certified for records on one leaf, and not exceeded in "
        "simulations of other, adversarial trees; the plan's privacy is proven all the same. An α-RMSE of E means a "
        "relative error of at most E ÷ τ + α at counts of τ and more (Lemma B.1 of Ghazi et al., improved).",
        provenance=provenance(setting, d),
    )


def bounds_on_tree(setting: Setting, tree: Tree, watch: Watch | None = None) -> dict[str, list[Any]]:
    """Return the errors that no mechanism can beat on a tree: see `bounds_table`."""
    return bounds_table(tree, setting.alpha, setting.epsilon, setting.delta, watch)


def bounds(
    inputs: WorstCaseInputs, tables: Tables, *, slow: dict[str, list[Any]] | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the errors that no mechanism can beat on the tree of the table, once they are found."""
    return Finding(
        columns=None if slow is None else lambda: slow,
        alt="The error that no mechanism can beat on your tree, with and without slack",
        caption="Worst α-RMSE of a node over all data on this very tree, binary or not, one record added or "
        "removed: what is proved of every mechanism, known and unknown.",
        provenance=provenance(inputs.setting(tables.data), tables.data.tree.n_levels),
    )


def crossings(
    inputs: WorstCaseInputs, tables: Tables, *, slow: Crossed | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the numbers of levels where curves cross: read off the curves until they are searched exactly."""
    setting = inputs.setting(tables.data)
    how = "Exact search." if slow is not None else "Read off the curves."
    return Finding(
        columns=partial(ranking.crossing_table, ranking.crossings(_curves(setting, memo)), slow),
        alt="Numbers of levels from which on one mechanism beats another",
        caption="The smallest number of levels from which on the first has the smaller worst-case error, up to a "
        f"million. {how}",
        provenance=provenance(setting, None),
    )


def least_counts(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return from which count on each mechanism keeps its promise; it refuses as `growth` does."""
    setting, d, eta = inputs.setting(tables.data), inputs.n_levels(tables.data), inputs.eta
    columns = memo(("multiplicative.least_counts", setting, d, eta), lambda: accuracy_table(setting, d, eta))
    answer, own, more = least_counts_answer(columns, setting.alpha, d, eta), inputs.own_thresholds(tables.data), ""
    if own is not None:
        answer = f"{answer} {own_thresholds_answer(columns, own, own_plan(setting, own, eta))}"
        columns, more = kept_table(columns, own), OWN
    return Finding(
        figure=accuracy_bars(columns, *sorted({} if own is None else {own.least, own.largest})),
        columns=lambda: columns,
        answer=answer,
        caption=f"Each count of τ or more, by itself, is within a factor 1 ± {short(setting.alpha)} with probability "
        f"{short(1 - eta)}, smaller ones within α τ records ((α, η)-accurate with threshold τ in Ghazi et al.), on "
        f"{plural(d, 'level')}, {whole(round(setting.max_total))} records at most. Lemma 3.2 is Markov's inequality: "
        f"plans do better than it says.{more}",
        alt="Counts from which on the promise is kept, by mechanism",
        badges=("formula", "simulation"),
        provenance=provenance(setting, d),
    )


def accuracy(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the table behind `least_counts` by itself."""
    found = least_counts(inputs, tables, memo=memo)
    alt = "Thresholds from which on counts are accurate, by mechanism"
    return replace(found, figure=None, answer="", alt=alt)


def printed(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what the budgets printed in the paper sum to, by number of rounds: an erratum."""
    setting = inputs.setting(tables.data)
    alpha, epsilon, rounds = setting.alpha, setting.epsilon, inputs.rounds
    one, columns = printed_schedule(alpha, epsilon, rounds), schedule_table(alpha, epsilon, MAX_ROUNDS)
    over = breaks_at(columns, epsilon)
    return Finding(
        figure=schedule_figure(columns, promised=epsilon, chosen=rounds),
        columns=lambda: columns,
        answer="" if over is None else f"The printed budgets break the promise from **ℓ = {over}** rounds on.",
        caption=f"Formula. α = {short(alpha)}, ε = {setting_text(epsilon)}, r = {short(growth_ratio(alpha))}. "
        "Algorithm 4 of Ghazi et al. prints εᵢ = ε i rⁱ⁻¹ / C with C = Σ i rⁱ⁻¹ = (1 − r)⁻²; as r > 1 that sum "
        "diverges, and ℓ rounds cost ε (1 + rˡ (ℓ (r − 1) − 1)). With q = 1/r in place of r everything the proof needs "
        "holds, and the budgets sum to ε. The printed schedule is an exhibit: nothing here can run it.",
        alt=f"With {rounds} rounds the printed budgets sum to {short(one.overspend)} times the promise.",
        provenance=provenance(setting, None),
    )


def printed_rounds(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the budget of every round, as printed and corrected."""
    return Finding(
        columns=partial(budget_table, printed_schedule(inputs.alpha, inputs.epsilon, inputs.rounds)),
        alt="Budgets of all rounds",
        caption="Round 1 has the lowest threshold; the mechanism runs them from the last to the first.",
    )


def prefixes(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what counts of nodes cost as differences of cumulative counts, and why α does not survive it.

    Raises
    ------
    InputError
        What `WorstCaseInputs.setting` and `WorstCaseInputs.n_levels` refuse.
    """
    setting, d = inputs.setting(tables.data), inputs.n_levels(tables.data)
    found = memo(("multiplicative.subtracted",), lambda: by_subtraction.by_subtraction(range(2, MOST_LEVELS + 1)))
    sigma = gaussian_sigma(setting.epsilon, setting.delta)
    return Finding(
        figure=subtraction_figure(found, sigma, d, (np.array(_DRAWN, dtype=float), _beyond(setting, _DRAWN, memo))),
        columns=lambda: (
            by_subtraction.table(found, sigma)
            | {"thresholds, beyond α": _beyond(setting, tuple(found.n_levels.tolist()), memo).tolist()}
        ),
        answer=_subtracted_answer(found, sigma, setting, d),
        caption="Root mean squared error of the worst node of a binary tree, Gaussian noise, one record added or "
        f"removed, ε = {setting_text(setting.epsilon)}, δ = {setting_text(setting.delta)}. By subtraction: its count "
        "is the difference of two cumulative counts of leaves, released by the square root of the summing matrix "
        "(Ghazi et al., Section 1.3); dotted: twice a cumulative count’s error, all that is known of any other way. "
        "Each by itself: √d (Corollary 2.7). Best for the tree: γ₂, least squares with minimax shares (Theorem 5.2). "
        "Grey: no factorisation releases cumulative counts with less. Blue: the error of thresholds beyond a part "
        f"{short(setting.alpha)} of the count (provable plan); what is within it is forgiven.",
        alt="Counts by subtraction have larger errors than counts each by itself from "
        f"{found.loses_from} levels on, and more than twice the best matrix of the tree.",
        badges=("formula",),
        provenance=provenance(setting, d),
    )


_DRAWN: Final = (2, 4, 8, MOST_LEVELS)


def _beyond(setting: Setting, levels: tuple[int, ...], memo: Memo) -> FloatArray:
    """Return the worst-case α-RMSE of thresholds at some numbers of levels (n,), (n,)."""
    found = memo(("multiplicative.beyond", setting, levels), lambda: errors_of_curves(setting, levels, ("provable",)))
    return found.error["provable"]


def lost(inputs: WorstCaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return which errors of a node leave no α-RMSE of what was released: its own count, or cumulative counts."""
    setting = inputs.setting(tables.data)
    columns = by_subtraction.forgiven_table(setting.alpha, setting.max_total)
    return Finding(
        figure=forgiven_figure(columns),
        columns=lambda: columns,
        caption=f"Formula, α = {short(setting.alpha)}, {whole(round(setting.max_total))} records in all. A cumulative "
        "count P has no α-RMSE while its error is at most α P. The last node of w records, N − (N − w), may then have "
        "an error of α (2 N − w), of which α w are forgiven: its α-RMSE may be 2 α (N − w), whatever the noise.",
        alt="Which error of a node is forgiven, and which cumulative counts without any α-RMSE leave",
        provenance=provenance(setting, None),
    )


def _subtracted_answer(found: Subtracted, sigma: float, setting: Setting, d: int) -> str:
    """Return how far a node errs by subtraction, and beside it; and what α then no longer forgives."""
    at = min(d, MOST_LEVELS) - 2
    node, each, tree = (short(float(sigma * one[at])) for one in (found.node, found.each, found.tree))
    where = f"On **{plural(min(d, MOST_LEVELS), 'level')}**" + f" (of {whole(d)}, the most drawn)" * (d > MOST_LEVELS)
    off = by_subtraction.forgiven(setting.alpha, 0.0, setting.max_total)[1]
    return (
        f"{where} the error of a node is **{node} records** as a difference of cumulative counts, {each} counted by "
        f"itself, {tree} by the best matrix of the tree. Cumulative counts without any α-RMSE may give a node "
        f"**without records** a count of {whole(round(off))}."
    )


def provenance(setting: Setting, d: int | None) -> Provenance:
    """Return what formulas for at most N records on d levels were made from; the relation is the paper's."""
    levels = () if d is None else (plural(d, "level"),)
    return Provenance(
        about=(f"α = {short(setting.alpha)}", *levels, f"N ≤ {whole(round(setting.max_total))}"),
        relation=NeighbouringRelation.ADD_OR_REMOVE_ONE, is_fixed=True, epsilon=setting.epsilon, delta=setting.delta,
    )  # fmt: skip


def _curves(setting: Setting, memo: Memo) -> Found:
    return memo(("multiplicative.curves", setting), lambda: ranking.curves(setting))


def _rows(setting: Setting, d: int, memo: Memo) -> list[Rank]:
    return memo(("multiplicative.ranking", setting, d), lambda: ranking.ranking(setting, d))


def _growth_answer(rows: list[Rank], d: int, turn: str) -> str:
    """Name the best mechanism at the number of levels, and from how many on thresholds are."""
    pay = f"pay from about **{turn} levels** on" if turn else "never pay here"
    best, simple = ranking.winner(rows)
    here, rule = f"At **{plural(d, 'level')}** ", f"the best simple rule, {simple.curve.label},"
    if best is not simple:
        least = f"thresholds have the smallest error: {short(best.error)} records"
        return f"{here}{least}; {rule} has {short(simple.error)}. They {pay}."
    thresholds = next((row.error for row in rows if row.curve.name == "tuned"), math.nan)
    have = f"have {short(thresholds)} and " if math.isfinite(thresholds) else ""
    return (
        f"{here}{rule} has the smallest error in the worst case: {short(best.error)} records; thresholds {have}{pay}."
    )


def _turn(near: Places) -> str:
    return whole(ranking.round_two(near[ranking.TURN][0])) if ranking.TURN in near else ""


def least_counts_answer(table: dict[str, Any], alpha: float, d: int, eta: float) -> str:
    """Return which mechanism keeps the smallest counts, and from which on the tuned thresholds do."""
    least = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    best, tuned = table["mechanism"][0], least.get("Thresholds, tuned plan", math.nan)
    told = (
        f"On {plural(d, 'level')}, {best} keeps each count of **{margin(least[best])} and more**, by itself, within a "
        f"factor 1 ± {short(alpha)} with probability {short(1 - eta)}"
    )
    return f"{told}; the tuned thresholds need {margin(tuned)}." if math.isfinite(tuned) else f"{told}."


def own_thresholds_answer(table: dict[str, Any], own: LevelThresholds, plan: Plan | None) -> str:
    """Return on which levels the best mechanism and the tuned plan keep thresholds of levels, and what is planned."""
    least = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    best = table["mechanism"][0]
    told = f"{best} keeps your thresholds on **{levels_in_words(own.kept(least[best]), own.n_levels)}**"
    if best != TUNED and math.isfinite(least.get(TUNED, math.nan)):
        told += f", the tuned plan on {levels_in_words(own.kept(least[TUNED]), own.n_levels)}"
    smallest = f"the smallest, τ = {short(own.least)}"
    if plan is None:
        return f"{told}. With the paper's constants no plan is accurate for {smallest}."
    rounds = plural(len(plan.levels), "round")
    return f"{told}. The plan with the paper's constants is made for {smallest}, in {rounds}, and keeps them all."


def _bounds_work(inputs: WorstCaseInputs, tables: Tables) -> Work:
    return Work(bounds_on_tree, inputs.setting(tables.data), ("data.tree",), lambda: 1, name="at_least")


def _crossings_work(inputs: WorstCaseInputs, tables: Tables) -> Work:
    steps = len(ranking.PAIRS)
    return Work(ranking.exact_crossings, inputs.setting(tables.data), (), lambda: steps, name="exact")


_entry = partial(Entry, page="multiplicative", inputs=WorstCaseInputs)
_alone = partial(_entry, apart=WorstCaseInputs.apart)
ENTRIES = (
    _alone(view="growth", part="mul_growth", label="Growth", find=growth),
    _alone(view="growth", part="mul_ranking", section="ranked", find=ranked),
    _entry(view="growth", part="mul_bounds", section="bounds", find=bounds, slow=_bounds_work, start="auto"),
    _alone(view="growth", part="mul_crossings", section="crossings", find=crossings, slow=_crossings_work,
           start="auto"),
    _alone(view="prefixes", part="mul_prefixes", label="By subtraction", find=prefixes),
    _alone(view="prefixes", part="mul_lost", section="lost", find=lost),
    _alone(view="meaning", part="mul_kept", label="When to use", find=least_counts),
    _alone(view="meaning", part="mul_accuracy", section="accuracy", find=accuracy),
    _alone(view="meaning", part="mul_schedule", section="printed", find=printed),
)  # fmt: skip
