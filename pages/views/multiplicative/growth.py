"""Growth on the page Multiplicative error: curves by number of levels, crossings, and the ranking at yours."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame, setting
from pages.ui.page import Told
from pages.ui.refusals import refusal
from pages.ui.result import Result, at_once, in_background, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import ALPHA, EPSILON
from pages.ui.shared import say_slack, slack
from pages.ui.store import dataset, remember, used
from pages.ui.strip import strip
from pages.ui.text import lit, prose
from pages.ui.unused import NO_THRESHOLD, NOTHING_DRAWN
from pages.views.multiplicative.settings import EVERY_CURVE, LEVELS, TOTAL, draw_alpha
from treedp_core.checks import InputError
from treedp_core.figures.multiplicative import few_figure, growth_figure
from treedp_core.mechanisms.thresholds.schedule import check_levels
from treedp_core.notebook.code import Ran, call, given
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.multiplicative import Setting, ranking
from treedp_core.studies.multiplicative.ranking import Found, Places, Rank
from treedp_core.studies.multiplicative.tree_bounds import bounds_table
from treedp_core.words import plural, setting_text, short, short_below, whole

IGNORES: Final = NOTHING_DRAWN | NO_THRESHOLD | {"nbr": "The bounds are those of adding or removing one record."}

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
ANY_DATA: Final = "any"
"""Curves are of no data set: the last good ones stay when another is chosen."""


def show() -> Told:
    """Show the growth of the errors that decide; under *More* the ranking at yours, and where curves cross."""
    chosen, d = asked(EVERY_CURVE)
    curves = remember(("mul curves", chosen), lambda: call(ranking.curves, chosen).named("curves"))
    near = call(ranking.crossings, curves).named("near")
    rows = None if d is None else _rows(chosen, d)
    _figure(chosen, d, curves, near.value, rows)
    notes("all but Laplace noise and its bound")
    return Told(about(chosen, d), "formula, simulation", more=partial(_more, chosen, d, near, rows))


def _rows(chosen: Setting, d: int) -> Ran[list[Rank]]:
    return remember(("mul ranking", chosen, d), lambda: call(ranking.ranking, chosen, d).named("rows"))


def _more(chosen: Setting, d: int | None, near: Ran[Places], rows: Ran[list[Rank]] | None) -> None:
    if rows is not None and d is not None:
        _headline(rows.value, d)
        _ranking(rows, d)
    if not LEVELS.value.strip():
        _bounds(chosen)
    _crossings(chosen, near)


def asked(more: setting.Setting[Any]) -> tuple[Setting, int | None]:
    """Show the controls of worst cases; return what these are asked for, and at how many levels: None when refused."""
    with in_a_row():
        draw_alpha()
        LEVELS.draw()
        TOTAL.draw()
        more.draw()
    try:
        return worst_case(), levels()
    except InputError:
        return worst_case(), None


def notes(who: str) -> None:
    """Say below the figure which settings are refused, and which δ `who`, in need of one, takes for the sidebar's 0."""
    say_slack(who, "mul_set_delta", int(TOTAL.value))
    show_state(_setting(), "")
    try:
        levels()
    except InputError as error:
        refusal(error)


def worst_case() -> Setting:
    """Return what worst cases are of; below a refusal of what they last were."""
    return _setting().here()


def _setting() -> Result[Setting]:
    key = (ALPHA.value, EPSILON.value, slack(int(TOTAL.value)), 2, TOTAL.value)
    found = at_once("mul_setting", key, partial(Setting, *key), about=_in_words(*key[:2]), of=ANY_DATA)
    if found.value is None:
        usual = Setting(epsilon=EPSILON.value)
        found = replace(found, value=usual, about=_in_words(usual.alpha, usual.epsilon))
    return found


def _in_words(alpha: float, epsilon: float) -> str:
    return f"α = {short(alpha)}, ε = {setting_text(epsilon)}"


def levels() -> int:
    """Return the number of levels asked about: by default those of the data.

    Raises
    ------
    InputError
        ``LEVELS_RANGE``.
    """
    text = LEVELS.value.strip()
    return ranking.levels_from_text(text) if text else check_levels(dataset().tree.n_levels)


def about(chosen: Setting, d: int | None) -> str:
    """Return the strip of formulas for at most N records on d levels; the relation is the paper's."""
    return strip(
        f"α = {short(chosen.alpha)}",
        "" if d is None else plural(d, "level"),
        f"N ≤ {whole(round(chosen.max_total))}",
        relation=NeighbouringRelation.ADD_OR_REMOVE_ONE,
        fixed=True,
        epsilon=chosen.epsilon,
        delta=chosen.delta,
    )


def _headline(rows: list[Rank], d: int) -> None:
    """Name the winner at the reader's number of levels."""
    best, simple = ranking.winner(rows)
    whose = "" if LEVELS.value.strip() else f" of {lit(dataset().name, 40)}"
    said = f"At the **{plural(d, 'level')}**{whose} the smallest worst-case error is **{short(best.error)} records**: "
    if best is simple:
        prose(f"{said}{best.curve.label}. Thresholds do not pay here.")
    else:
        prose(f"{said}{best.curve.label} ({best.curve.known}); the best simple rule, {simple.curve.label}, has "
                    f"{short(simple.error)}.")  # fmt: skip


def _figure(chosen: Setting, d: int | None, curves: Ran[Found], places: Places, rows: Ran[list[Rank]] | None) -> None:
    yours = "your levels" if LEVELS.value.strip() else "your tree"
    marker = "" if d is None else f"{yours}: {plural(d, 'level')}"
    if EVERY_CURVE.value:
        shown: Ran[Any] = curves
        fig = call(growth_figure, shown, list(places.values()), n_levels=d, marker_text=marker)
    else:
        shown = call(ranking.deciding, curves).named("curves")
        at = [places[ranking.TURN]] if ranking.TURN in places else []
        fig = call(few_figure, shown, at, n_levels=d, marker_text=marker)
    frame.figure(
        fig,
        key="mul_growth",
        alt=_takeaway(places),
        answer=_answer(rows, d, places),
        caption="Worst α-RMSE of a node over all data, one record added or removed; binary trees, "
        f"{_in_words(chosen.alpha, chosen.epsilon)}, δ = {setting_text(chosen.delta)}, "
        f"N ≤ {whole(round(chosen.max_total))}. "
        + (ALL_LINES if EVERY_CURVE.value else FOUR_LINES)
        + " Ring: where thresholds begin to pay; the exact number and every other crossing are under More.",
        ran=call(ranking.point_table, shown),
    )  # fmt: skip


def _answer(rows: Ran[list[Rank]] | None, d: int | None, places: Places) -> str:
    """Name the best mechanism at the reader's number of levels, and from how many on thresholds are."""
    pay = f"pay from about **{_turn(places)} levels** on" if _turn(places) else "never pay here"
    if rows is None or d is None:
        return f"Thresholds {pay}."
    best, simple = ranking.winner(rows.value)
    here = f"At **{plural(d, 'level')}** "
    rule = f"the best simple rule, {simple.curve.label},"
    if best is not simple:
        return f"{here}thresholds err least: {short(best.error)} records; {rule} has {short(simple.error)}. They {pay}."
    thresholds = next((row.error for row in rows.value if row.curve.name == "tuned"), math.nan)
    have = f"have {short(thresholds)} and " if math.isfinite(thresholds) else ""
    return f"{here}{rule} errs least in the worst case: {short(best.error)} records; thresholds {have}{pay}."


def _turn(places: Places) -> str:
    return whole(ranking.round_two(places[ranking.TURN][0])) if ranking.TURN in places else ""


def _takeaway(places: Places) -> str:
    if not _turn(places):
        return "The tuned plan does not fall below the best simple rule up to a million levels."
    return f"Thresholds with a tuned plan beat every simple rule from about {_turn(places)} levels on."


def _ranking(rows: Ran[list[Rank]], d: int) -> None:
    st.header(f"Ranked at {plural(d, 'level')}", anchor=False)
    frame.table(
        call(ranking.ranking_table, rows),
        key="mul_ranking",
        alt="Every mechanism at your number of levels, best first",
        caption="Proven: exact, or a theorem. Simulated: certified for records on one leaf, and not exceeded in "
        "simulations of other, adversarial trees; the plan's privacy is proven all the same. An α-RMSE of E means a "
        "relative error of at most E ÷ τ + α at counts of τ and more (Lemma B.1 of Ghazi et al., improved).",
        formats={
            "worst-case α-RMSE (records)": short,
            "÷ best": st.column_config.TextColumn(alignment="right"),
            "what it is": st.column_config.TextColumn(width="large"),
        },
        height="content",
    )


def _bounds(chosen: Setting) -> None:
    st.header("What none can beat on your tree", anchor=False)
    of = chosen.alpha, chosen.epsilon, chosen.delta
    found = in_background("multiplicative_bounds", of, 1, partial(bounds_table, dataset().tree, *of))
    if found.is_ready:
        frame.table(
            given(found.here(), bounds_table, used().get("tree"), *of).named("bounds"),
            key="mul_bounds",
            alt="The error that no mechanism can beat on your tree, with and without slack",
            caption="Worst α-RMSE of a node over all data on this very tree, binary or not, one record added or "
            "removed: what is proved of every mechanism, known and unknown.",
            formats={"errs at least (records)": short_below, "as": st.column_config.TextColumn(width="large")},
        )
    show_state(found, "Bounding from below")


def _crossings(chosen: Setting, near: Ran[Places]) -> None:
    st.header("Where the curves cross", anchor=False)
    found = in_background(
        "multiplicative_crossings", chosen, len(ranking.PAIRS), partial(ranking.exact_crossings, chosen), of=ANY_DATA,
        of_data=False,
    )  # fmt: skip
    exact = given(found.here(), ranking.exact_crossings, chosen).named("exact") if found.is_ready else None
    how = "Exact search." if found.is_ready else "Read off the curves."
    frame.table(
        call(ranking.crossing_table, near, exact),
        key="mul_crossings",
        alt="Numbers of levels from which on one mechanism beats another",
        caption="The smallest number of levels from which on the first has the smaller worst-case error, up to a "
        f"million. {f'{how[:-1]}; the exact search is running.' if found.is_pending else how}",
        formats={"from this many levels on": st.column_config.TextColumn(alignment="right")},
        width="content",
    )
    show_state(found, "Searching for the exact numbers of levels")
