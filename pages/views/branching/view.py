"""The Branching factor page below its controls: live curve, cards, ranking, heights, the grid of optima, the checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame, jobs
from pages.ui.settings import get
from pages.ui.shared import slack
from pages.ui.snippets import call
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.text import plural, short, whole
from pages.views.branching import live as branching_live
from pages.views.branching import state as branching_state
from pages.views.branching.tables import curve_table, height_table, ranking_table, statement_table
from treedp_core.figures.branching import error_by_height
from treedp_core.privacy import Currency
from treedp_core.studies.branching import (
    BestBranching,
    RankedShape,
    advice,
    best_branching,
    loss_factor,
    opendp_branching_factor,
)
from treedp_core.studies.branching import question as model
from treedp_core.studies.branching.question import HeightBest, Question
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Workload, equal_tree
from treedp_core.words import privacy_text, setting_text

GRID: Final = [(noise, post) for noise in model.NOISES for post in model.POSTS]
SOURCE: Final = "Lemma IV.3 of Rameshwar et al. for Laplace noise and CDFs without least squares; the rest by our own"


def live(asked: Question, heights: Sequence[HeightBest]) -> None:
    """Show f(beta), which follows its slider without the server, and whole trees for K on the same axes."""
    betas, values = remember(("curve", asked.criterion), lambda: model.curve(asked.criterion))
    best = best_branching(asked.criterion)
    key = ("live", asked, tuple(heights), get("present"))
    spec = remember(key, lambda: _live_spec(asked, heights, betas, values))
    st.vega_lite_chart(spec, key="bra_live", alt=_live_alt(best))
    st.caption(
        f"Line: f(β), the factor by which the branching factor enters the mean variance for very many bins. Squares: "
        f"exact error of the best whole tree of each height for K = {whole(asked.n_bins)}. Shaded: within 5 % of the "
        f"least. {_noise_words(asked)}. Formula; {SOURCE} derivation. Drag the slider below the figure."
    )
    frame.footer("bra_live", call(curve_table, asked.criterion))


def _live_spec(
    asked: Question, heights: Sequence[HeightBest], betas: Sequence[float], values: Sequence[float]
) -> dict[str, Any]:
    """The chart as the browser reads it: Altair takes longer to check it than all else on the page takes."""
    whole_f = [loss_factor(b, asked.criterion) for b in range(model.BETAS[0], model.BETAS[1] + 1)]
    scale = model.factor_scale(asked)
    trees = [(one, one.value / scale) for one in heights]
    best = best_branching(asked.criterion)
    spec: dict[str, Any] = branching_live.live_chart(
        betas, values, best, trees, whole_f, presented=get("present")
    ).to_dict()
    return spec


def _live_alt(best: BestBranching) -> str:
    if not math.isfinite(best.beta):
        return "The error factor falls without end: the fewer levels, the better."
    return (
        f"The error factor f(β) is least at β = {best.beta:.4g} and within 5 % of that from {best.low:.3g} to "
        f"{best.high:.3g}."
    )


def _noise_words(asked: Question) -> str:
    post = "after least squares" if asked.criterion.least_squares else "no post-processing"
    return f"{model.NOISES[asked.criterion.law]} noise, {asked.criterion.workload.label}, {post}"


def cards(asked: Question, found: Sequence[RankedShape]) -> None:
    """Show the optimum in the limit, the best whole tree for K, and OpenDP's recommendation beside it."""
    best, least = best_branching(asked.criterion), found[0]
    opendp = opendp_branching_factor(asked.n_bins)
    theirs = model.value_of(asked.with_equal_budgets, equal_tree(asked.n_bins, opendp))
    ratio = math.sqrt(theirs / least.value)
    known = math.isfinite(best.beta)
    columns = st.columns(4)
    limit = f"{best.beta:.4g}" if known else "∞"
    band = f"{best.low:.3g} to {best.high:.3g}" if known else "–"
    tree = product_text(least.shape.branching_factors)
    _card(columns[0], "Best β, very many bins", limit, f"whole: {best.whole}" if known else "few levels",
          "Where f(β) is least; the best branching factor of a tree over ever more bins.")  # fmt: skip
    _card(columns[1], "Within 5 % of the least", band, "computed",
          "Branching factors whose f(β) is at most 5 % above the least.")  # fmt: skip
    _card(columns[2], "Best tree for your K", tree, _padding(least),
          "Whole branching factors, from the root down, with the least expected error.")  # fmt: skip
    _card(columns[3], "OpenDP's rule for your K", str(opendp), f"{ratio:.3g}× the best RMSE",
          "The branching factor that OpenDP recommends for this many bins.")  # fmt: skip
    st.caption(
        "OpenDP: what `choose_branching_factor` recommends, from its published formula (3) in Qardaji, Yang and Li, "
        "“Understanding Hierarchical Methods for Differentially Private Histograms” (2013), computed by our own code: "
        f"the tree {product_text(equal_tree(asked.n_bins, opendp).branching_factors)} with equal budgets, judged "
        "by the measure chosen above. Its rule minimises the average error of ranges before least squares. Formula."
    )


def _card(column: Any, label: str, value: str, note: str, about: str) -> None:
    with column, st.container(border=True, height="stretch"):
        st.metric(label, value, note, delta_arrow="off", delta_color="off", help=about)


def _padding(one: RankedShape) -> str:
    extra = one.shape.padding
    return "no padding" if not extra else f"{whole(extra)} empty leaves ({short(100 * extra / one.shape.n_bins)} %)"


def ranking(asked: Question, found: list[RankedShape], is_final: bool) -> None:
    """Show the best shapes for K, what padding they need, and what each costs against the best."""
    st.header(f"Trees for K = {whole(asked.n_bins)}", anchor=False)
    st.caption(advice(asked.n_bins).replace("*", "\\*"))
    if not is_final:
        _search_progress()
    again = branching_state.again(asked, found, is_final)
    ran = call(ranking_table, asked, again, branching_state.total(asked.criterion))
    columns = remember(("table", asked, is_final, _budget_key(asked)), lambda: ran.value)
    st.dataframe(
        columns,
        hide_index=True,
        column_config={
            "RMSE": st.column_config.NumberColumn("RMSE (records)", format="%.4g"),
            "÷ best": st.column_config.ProgressColumn("RMSE ÷ best", format="%.4f", min_value=0.0, max_value=4.0),
            "padding": st.column_config.NumberColumn(format="localized"),
        },
        alt="The best trees with their padding and error",
    )
    budgets = {"equal": "equal budgets", "optimal": "the best budgets of each tree"}[get("bra_budgets")]
    st.caption(
        f"RMSE of a query at {_budget_words(asked)}, {budgets if is_final else 'equal budgets so far'}. "
        f"{_noise_words(asked)}. Padding: leaves beyond K, which hold no records and cost little. Exact formulas "
        "(Theorem IV.1 of Rameshwar et al. with digit sums for padded trees; least squares in O(height)); the list is "
        "the best that a search found, beside well-known trees with equal budgets."
    )
    frame.footer("bra_ranking", ran)


def _search_progress() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        job = jobs.current(branching_state.SLOT)
        if job is not None and job.is_running:
            st.caption("Searching the best budgets of each tree; equal budgets are shown meanwhile.", width="content")
            st.button("Cancel", key="bra_cancel", on_click=jobs.cancel, args=(branching_state.SLOT,),
                      help="Keep equal budgets.")  # fmt: skip
        else:
            st.caption("The search for budgets was cancelled; equal budgets are shown.", width="content")
            st.button("Search again", key="bra_again", on_click=branching_state.search_again,
                      help="Search the best budgets of each tree.")  # fmt: skip
    jobs.progress(branching_state.SLOT, "trees")


def _budget_key(asked: Question) -> tuple[float, float]:
    return get("eps"), slack() if asked.criterion.currency is Currency.RHO else 0.0


def about(asked: Question) -> str:
    """Return the strip: trees for K bins are ranked by formulas, of no data."""
    epsilon, delta = _budget_key(asked)
    relation = asked.criterion.unit.relation
    return strip(f"K = {whole(asked.n_bins)}", relation=relation, epsilon=epsilon, delta=delta)


def _budget_words(asked: Question) -> str:
    if asked.criterion.currency is Currency.EPSILON:
        return f"ε = {setting_text(get('eps'))}"
    used = slack()
    note = "" if get("delta") else " (the sidebar's δ is 0, which Gaussian noise cannot promise)"
    rho = branching_state.total(asked.criterion)
    return f"ε = {setting_text(get('eps'))}, δ = {setting_text(used)}{note}, hence ρ = {privacy_text(rho)}"


def heights(asked: Question, found: Sequence[HeightBest], ranked: list[RankedShape]) -> None:
    """Show the error of the best tree of each height."""
    st.header("Error against height", anchor=False)
    ran = call(height_table, branching_state.heights_again(asked, ranked).named("heights"))
    ratios, shapes = ran.value["RMSE over the best"], ran.value["tree"]
    best = found[ratios.index(min(ratios))]
    note = " Equal budgets: optimal ones after least squares are in the table." if asked.is_slow else ""
    frame.figure(
        error_by_height([one.height for one in found], ratios, shapes),
        key="bra_heights",
        alt=f"The best tree has {plural(best.height, 'level')} below the root: "
        f"{product_text(best.shape.branching_factors)}; the histogram (height 1) has "
        f"{short(ratios[0])} times its error.",
        caption=f"K = {whole(asked.n_bins)}, {_noise_words(asked)}. Each mark is the best tree found with that many "
        f"levels. Height 1 is the histogram.{note} Formula.",
        ran=ran,
    )


def grid() -> None:
    """Show the best branching factor for every noise, workload and post-processing; a cell opens its curve."""
    st.header("Which noise, which queries, which post-processing", anchor=False)
    head, *columns = st.columns([1.5, *[1] * len(model.WORKLOADS)])
    head.markdown("Best whole β")
    for column, label in zip(columns, model.WORKLOADS.values(), strict=True):
        column.markdown(f"**{label}**")
    for noise, post in GRID:
        head, *columns = st.columns([1.5, *[1] * len(model.WORKLOADS)], vertical_alignment="center")
        head.markdown(f"{model.NOISES[noise]}, {'least squares' if post != 'none' else 'no post-processing'}")
        for column, workload in zip(columns, model.WORKLOADS, strict=True):
            with column:
                _cell(noise, workload, post)
    st.caption(
        "For very many bins, equal branching factors and budgets; every cell is computed. ∞: the error falls without "
        "end, so measure the leaves alone. Press a cell to see its curve and its trees. Formula."
    )


def _cell(noise: str, workload: str, post: str) -> None:
    best = model.limits(post != "none", noise, Workload(workload))
    settings = {"bra_noise": noise, "bra_workload": workload, "bra_post": post}
    chosen = all(get(key) == value for key, value in settings.items())
    st.button(
        str(best.whole) if best.whole is not None else "∞",
        key=f"bra_cell_{noise}_{workload}_{post}",
        on_click=partial(_open, settings),
        type="primary" if chosen else "secondary",
        width="stretch",
        help=f"β* = {best.beta:.6g}; within 5 % from {best.low:.3g} to {best.high:.3g}."
        if best.whole is not None
        else "Falls without end: the leaves alone.",
    )


def _open(settings: Mapping[str, str]) -> None:
    st.session_state.update(settings)


def checks(n_bins: int) -> None:
    """Show what the paper states about K, checked by exact search."""
    st.header("What the paper states, checked for this K", anchor=False)
    ran = call(statement_table, n_bins)
    columns = remember(("statements", n_bins), lambda: ran.value)
    st.dataframe(columns, hide_index=True, alt="Statements of the paper and whether they hold for this K")
    st.caption(
        "Rameshwar et al., Sec. V: equal budgets, no padding, Laplace noise, one record replaced; "
        "g = height² × Σ (nᵢ − 1), and N² E₂ = 4 K g / ε². Each is compared with the least g over all factorisations "
        "(exact search). Statements that say nothing of this K are left out."
    )
    frame.footer("bra_checks", ran)
