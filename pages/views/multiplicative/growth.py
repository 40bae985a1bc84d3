"""Growth on the page Multiplicative error: curves by number of levels, crossings, and the ranking at yours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.refusals import refusal
from pages.ui.settings import get
from pages.ui.shared import say_slack
from pages.ui.snippets import Ran, call, given
from pages.ui.store import dataset, remember
from pages.ui.strip import strip
from pages.ui.text import lit, plural, short, whole
from pages.views.multiplicative import controls, state
from pages.views.multiplicative import growth as model
from pages.views.multiplicative.growth import Found
from treedp_core.checks import InputError
from treedp_core.figures.multiplicative import growth_figure
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.multiplicative import Setting
from treedp_core.words import setting_text

PROTECTS: Final = "one record added or removed"
ABOUT_TOTAL: Final = "Tuned and provable plans are made for a root of at most N records; the error grows with log N."


def growth() -> str:
    """Show the growth of every error; return the strip for the title."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        controls.alpha()
        controls.levels()
        controls.total(ABOUT_TOTAL)
    say_slack("all but Laplace noise and its bound", "mul_set_delta", int(get("mul_total")))
    chosen, d = state.setting(), state.levels()
    found = remember(("mul curves", chosen), lambda: model.curves(chosen))
    places = model.crossings(found)
    _headline(chosen, d)
    _figure(chosen, d, found, places)
    _ranking(chosen, d)
    _crossings(chosen, found, places)
    return about(chosen, d)


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


def _headline(chosen: Setting, d: int | None) -> None:
    """Name the winner at the reader's number of levels."""
    if d is None:
        return
    best, simple = model.winner(_rows(chosen, d))
    whose = "" if get("mul_levels").strip() else f" of {lit(dataset().name, 40)}"
    said = f"At the **{plural(d, 'level')}**{whose} the smallest worst-case error is **{short(best.error)} records**: "
    if best.label == simple.label:
        st.markdown(f"{said}{best.label}. Thresholds do not pay here.")
    else:
        st.markdown(f"{said}{best.label} ({best.known}); the best simple rule, {simple.label}, has "
                    f"{short(simple.error)}.")  # fmt: skip


def _rows(chosen: Setting, d: int) -> list[model.Rank]:
    return remember(("mul ranking", chosen, d), lambda: model.ranking(chosen, d))


def _figure(
    chosen: Setting, d: int | None, found: Found, places: Mapping[tuple[str, str], tuple[float, float]]
) -> None:
    text = "your levels" if get("mul_levels").strip() else "levels of the data"
    frame.figure(
        growth_figure(model.drawn(found), list(places.values()), n_levels=d, marker_text=text),
        key="mul_growth",
        alt=_takeaway(places),
        caption=f"Worst α-RMSE of a node over all data, {PROTECTS}; binary trees, α = {short(chosen.alpha)}, "
        f"ε = {setting_text(chosen.epsilon)}, δ = {setting_text(chosen.delta)}, N ≤ {whole(round(chosen.max_total))}. "
        "Solid orange, pink, green: noise on every count, exact (Ghazi et al., Corollary 2.7); dashed: the same shrunk "
        "to max(0, (1 − α) y), exact (own derivation). Blue: thresholds; dotted what Theorem 4.1 proves with corrected "
        "constants, dashed a plan whose error is proven, thick the tuned plan, whose privacy is proven while its error "
        "is certified for records on one leaf and only simulated on other, adversarial trees. "
        "Grey: no mechanism does better (Theorem 5.1, Corollary 5.4, "
        "explicit constants). Among factorisation mechanisms at α = 0, tree least squares with minimax budgets is "
        "optimal: its line is also their lower bound (Theorem 5.2, exact). Rings: crossings, tabulated below.",
        ran=call(model.point_table, _curves_again(chosen, found)),
    )


def _takeaway(places: Mapping[tuple[str, str], tuple[float, float]]) -> str:
    pair = ("tuned", "shrunk_optimal")
    if pair not in places:
        return "The tuned plan does not fall below the best simple rule up to a million levels."
    return (
        f"Thresholds with a tuned plan beat every simple rule from about {model.round_two(places[pair][0])} levels on."
    )


def _curves_again(chosen: Setting, found: Found) -> Ran[Found]:
    return given(found, model.curves, chosen).named("curves")


def _ranking(chosen: Setting, d: int | None) -> None:
    if d is None:
        return
    st.header(f"Ranked at {plural(d, 'level')}", anchor=False)
    ran = call(model.ranking_table, given(_rows(chosen, d), model.ranking, chosen, d).named("rows"))
    table = ran.value
    number = st.column_config.NumberColumn(format="%.4g")
    st.dataframe(
        table, hide_index=True, height="content", alt="Every mechanism at your number of levels, best first",
        column_config={
            "worst-case α-RMSE (records)": number, "÷ best": st.column_config.TextColumn(alignment="right"),
            "what it is": st.column_config.TextColumn(width="large"),
        },
    )  # fmt: skip
    st.caption(
        "Proven: exact, or a theorem. Simulated: certified for records on one leaf, and not exceeded in simulations "
        "of other, adversarial trees; the plan's privacy is proven all the same. "
        "An α-RMSE of E means a relative error of at most E ÷ τ + α at counts of τ and more "
        "(Lemma B.1 of Ghazi et al., improved)."
    )
    frame.footer("mul_ranking", ran)


def _crossings(chosen: Setting, found: Found, places: Mapping[tuple[str, str], tuple[float, float]]) -> None:
    st.header("Where the curves cross", anchor=False)
    try:
        exact = state.exact_crossings(chosen)
    except InputError as error:
        refusal(error)
        exact = None
    again: Any = None if exact is None else given(exact, model.exact_crossings, chosen).named("exact")
    ran = call(model.crossing_table, given(places, model.crossings, _curves_again(chosen, found)).named("near"), again)
    table = ran.value
    st.dataframe(
        table, hide_index=True, width="content", alt="Numbers of levels from which on one mechanism beats another",
        column_config={"from this many levels on": st.column_config.TextColumn(alignment="right")},
    )  # fmt: skip
    st.caption(
        "The smallest number of levels from which on the first has the smaller worst-case error, up to a million. "
        + ("Exact search." if exact is not None else "Read off the curves; the exact search is running.")
    )
    frame.footer("mul_crossings", ran)
    state.crossings_awaited()
