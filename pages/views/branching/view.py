"""What the Branching factor page shows: live curve, cards, ranked trees, their heights, the grid of optima, checks."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.setting import take
from pages.ui.settings import DELTA, EPSILON, PRESENT
from pages.ui.shared import slack
from pages.ui.snippets import call
from pages.ui.store import dataset, remember
from pages.ui.strip import strip
from pages.ui.text import lit
from pages.views.branching import settings as s
from pages.views.branching.answer import Answer, answer, question
from treedp_core.figures.branching import error_by_height, live_chart
from treedp_core.privacy import Currency
from treedp_core.studies.branching import BestBranching, advice, best_branching
from treedp_core.studies.branching.curve import beside_curve, curve, whole_curve
from treedp_core.studies.branching.question import NOISES, POSTS, WORKLOADS, recommended
from treedp_core.studies.branching.tables import height_table, ranking_table, statement_table
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Workload
from treedp_core.words import percent, plural, privacy_text, setting_text, short, whole

SOURCE: Final = "Lemma IV.3 of Rameshwar et al. for Laplace noise and CDFs without least squares; the rest by our own"


def show() -> Told:
    """Show the page."""
    found = answer(question())
    _live(found)
    _cards(found)
    _ranking(found)
    _heights(found)
    _grid()
    _checks(found)
    asked = found.asked.criterion
    delta = slack() if asked.currency is Currency.RHO else 0.0
    whose = () if s.BINS.value.strip() else (lit(dataset().name, 40),)
    told = strip(*whose, f"K = {found.bins}", relation=asked.unit.relation, epsilon=EPSILON.value, delta=delta)
    without = "" if s.PADDED.value else "Without padding a prime K leaves nothing but the histogram."
    return Told(told, "formula", without)


def _live(found: Answer) -> None:
    """Show f(beta), which follows its slider without the server, and whole trees for K on the same axes."""
    asked, heights, presented = found.asked, found.heights.value, PRESENT.value
    best, ran = best_branching(asked.criterion), call(curve, asked.criterion)

    def spec() -> dict[str, Any]:
        return live_chart(
            ran.value, best, beside_curve(asked, heights), whole_curve(asked.criterion), presented=presented
        )

    # Altair takes longer to check the chart than all else on the page takes.
    st.vega_lite_chart(remember(("live", asked, presented), spec), key="bra_live", alt=_live_alt(best))
    st.caption(
        f"Line: f(β), the factor by which the branching factor enters the mean variance for very many bins. Squares: "
        f"exact error of the best whole tree of each height for K = {found.bins}. Shaded: within 5 % of the "
        f"least. {found.words}. Formula; {SOURCE} derivation. Drag the slider below the figure."
    )
    frame.footer("bra_live", ran)


def _live_alt(best: BestBranching) -> str:
    if not math.isfinite(best.beta):
        return "The error factor falls without end: the fewer levels, the better."
    return f"The error factor f(β) is least at β = {short(best.beta)} and within 5 % of that from {_band(best)}."


def _band(best: BestBranching) -> str:
    return f"{short(best.low)} to {short(best.high)}"


def _cards(found: Answer) -> None:
    """Show the optimum in the limit, the best whole tree for K, and OpenDP's recommendation beside it."""
    best, tree = best_branching(found.asked.criterion), found.best.shape
    opendp = remember(("opendp", found.asked), lambda: recommended(found.asked, found.best))
    known, padding = math.isfinite(best.beta), tree.padding
    cards((
        ("Best β, very many bins", short(best.beta), f"whole: {best.whole}" if known else "few levels",
         "Where f(β) is least; the best branching factor of a tree over ever more bins."),
        ("Within 5 % of the least", _band(best) if known else "–", "computed",
         "Branching factors whose f(β) is at most 5 % above the least."),
        ("Best tree for your K", product_text(tree.branching_factors),
         f"{whole(padding)} empty leaves ({percent(padding / tree.n_bins)})" if padding else "no padding",
         "Whole branching factors, from the root down, with the least expected error."),
        ("OpenDP's rule for your K", str(opendp.factor), f"{short(opendp.times_best)}× the best RMSE",
         "The branching factor that OpenDP recommends for this many bins."),
    ))  # fmt: skip
    st.caption(
        "OpenDP: what `choose_branching_factor` recommends, from its published formula (3) in Qardaji, Yang and Li, "
        "“Understanding Hierarchical Methods for Differentially Private Histograms” (2013), computed by our own code: "
        f"the tree {product_text(opendp.shape.branching_factors)} with equal budgets, judged "
        "by the measure chosen above. Its rule minimises the average error of ranges before least squares. Formula."
    )


def _ranking(found: Answer) -> None:
    """Show the best shapes for K, what padding they need, and what each costs against the best."""
    asked, total = found.asked, found.total
    st.header(f"Trees for K = {found.bins}", anchor=False)
    st.caption(advice(asked.n_bins).replace("*", "\\*"))
    budgets = "the best budgets of each tree" if asked.optimal_budgets else "equal budgets"
    so_far = "" if asked.optimal_budgets or s.BUDGET.value == "equal" else " so far"
    frame.table(
        remember(("ranking", asked, total), lambda: call(ranking_table, asked, found.ranked, total)),
        key="bra_ranking",
        alt="The best trees with their padding and error",
        formats={
            "RMSE (records)": partial(short, digits=4),
            "÷ best": st.column_config.ProgressColumn("RMSE ÷ best", format="%.4f", min_value=0.0, max_value=4.0),
            "padding": whole,
        },
        caption=f"RMSE of a query at {_budget_words(found)}, {budgets}{so_far}. "
        f"{found.words}. Padding: leaves beyond K, which hold no records and cost little. Exact formulas "
        "(Theorem IV.1 of Rameshwar et al. with digit sums for padded trees; least squares in O(height)); the list is "
        "the best that a search found, beside well-known trees with equal budgets.",
    )


def _budget_words(found: Answer) -> str:
    epsilon = f"ε = {setting_text(EPSILON.value)}"
    if found.asked.criterion.currency is Currency.EPSILON:
        return epsilon
    note = "" if DELTA.value else " (the sidebar's δ is 0, which Gaussian noise cannot promise)"
    return f"{epsilon}, δ = {setting_text(slack())}{note}, hence ρ = {privacy_text(found.total)}"


def _heights(found: Answer) -> None:
    """Show the error of the best tree of each height."""
    st.header("Error against height", anchor=False)
    ran = call(height_table, found.heights)
    heights, trees, ratios = ran.value.values()
    best = min(found.heights.value, key=lambda one: one.value)
    slow = found.asked.criterion.least_squares and s.BUDGET.value == "optimal"
    note = " Equal budgets: optimal ones after least squares are in the table." if slow else ""
    frame.figure(
        error_by_height(heights, ratios, trees),
        key="bra_heights",
        alt=f"The best tree has {plural(best.height, 'level')} below the root: "
        f"{product_text(best.shape.branching_factors)}; the histogram (height 1) has "
        f"{short(ratios[0])} times its error.",
        caption=f"K = {found.bins}, {found.words}. Each mark is the best tree found with that many "
        f"levels. Height 1 is the histogram.{note} Formula.",
        ran=ran,
    )


def _grid() -> None:
    """Show the best branching factor for every noise, workload and post-processing; a cell opens its curve."""
    st.header("Which noise, which queries, which post-processing", anchor=False)
    head, *columns = st.columns([1.5, *[1] * len(WORKLOADS)])
    head.markdown("Best whole β")
    for column, label in zip(columns, WORKLOADS.values(), strict=True):
        column.markdown(f"**{label}**")
    for noise, post in ((noise, post) for noise in NOISES for post in POSTS):
        head, *columns = st.columns([1.5, *[1] * len(WORKLOADS)], vertical_alignment="center")
        head.markdown(f"{NOISES[noise]}, {'least squares' if post != 'none' else 'no post-processing'}")
        for column, workload in zip(columns, WORKLOADS, strict=True):
            with column:
                _cell(noise, workload, post)
    st.caption(
        "For very many bins, equal branching factors and budgets; every cell is computed. ∞: the error falls without "
        "end, so measure the leaves alone. Press a cell to see its curve and its trees. Formula."
    )


def _cell(noise: str, workload: str, post: str) -> None:
    cell = (s.NOISE.to(noise), s.WORKLOAD.to(workload), s.POST.to(post))
    best = best_branching(Criterion(noise, Workload(workload), post != "none"))
    chosen = all(one.setting.value == one.value for one in cell)
    st.button(
        "∞" if best.whole is None else str(best.whole),
        key=f"bra_cell_{noise}_{workload}_{post}",
        on_click=take,
        args=(cell,),
        type="primary" if chosen else "secondary",
        width="stretch",
        help="Falls without end: the leaves alone."
        if best.whole is None
        else f"β* = {short(best.beta)}; within 5 % from {_band(best)}.",
    )


def _checks(found: Answer) -> None:
    """Show what the paper states about K, checked by exact search."""
    st.header("What the paper states, checked for this K", anchor=False)
    n_bins = found.asked.n_bins
    frame.table(
        remember(("statements", n_bins), lambda: call(statement_table, n_bins)),
        key="bra_checks",
        alt="Statements of the paper and whether they hold for this K",
        caption="Rameshwar et al., Sec. V: equal budgets, no padding, Laplace noise, one record replaced; "
        "g = height² × Σ (nᵢ − 1), and N² E₂ = 4 K g / ε². Each is compared with the least g over all factorisations "
        "(exact search). Statements that say nothing of this K are left out.",
    )
