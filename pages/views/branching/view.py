"""What the Branching factor page shows: live curve, cards, ranked trees, their heights, the grid of optima, checks."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.setting import take
from pages.ui.settings import DELTA, EPSILON, PRESENT
from pages.ui.shared import slack
from pages.ui.store import dataset, remember
from pages.ui.strip import strip
from pages.ui.text import lit, small_print
from pages.ui.view import inputs_now, see
from pages.views.branching import settings as s
from pages.views.branching.answer import Answer, answer, more_of_the_question, question
from pages.views.branching.matrices import matrices
from pages.views.branching.words import branching_answer
from treedp_core.figures.branching import error_by_height, live_chart
from treedp_core.figures.branching_still import still_chart
from treedp_core.notebook.code import call, given
from treedp_core.privacy import Currency
from treedp_core.studies.branching import BestBranching, advice, best_branching
from treedp_core.studies.branching.curve import beside_curve, curve, whole_curve
from treedp_core.studies.branching.question import NOISES, POSTS, WORKLOADS, binary_rmse, recommended, rmse
from treedp_core.studies.branching.tables import height_table, ranking_table
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Workload
from treedp_core.views import VIEWS
from treedp_core.views.branching import BranchingInputs
from treedp_core.words import percent, plural, privacy_text, setting_text, short, whole

SOURCE: Final = "Lemma IV.3 of Rameshwar et al. for Laplace noise and CDFs without least squares; the rest by our own"


def show() -> Told:
    """Show the error over beta, and the tree of the beta that is dragged."""
    asked, say = question()
    found = answer(asked)
    _live(found)
    say()
    found.say()
    criterion = found.asked.criterion
    delta = slack() if criterion.currency is Currency.RHO else 0.0
    whose = () if s.BINS.value.strip() else (lit(dataset().name, 40),)
    told = strip(*whose, f"K = {found.bins}", relation=criterion.unit.relation, epsilon=EPSILON.value, delta=delta)
    without = "" if s.PADDED.value else "Without padding a prime K leaves nothing but the histogram."
    return Told(told, "formula", without, more=partial(_more, found))


def _more(found: Answer) -> None:
    more_of_the_question()
    _cards(found)
    _ranking(found)
    _heights(found)
    matrices(found)
    _grid()
    _checks(found)


def _live(found: Answer) -> None:
    """Show the error over beta, which follows its slider without the server, with whole trees for K."""
    asked, total, heights, presented = found.asked, found.total, found.heights, PRESENT.value
    best, ran = best_branching(asked.criterion), call(curve, asked, total)

    def spec() -> dict[str, Any]:
        trees, whole_betas = beside_curve(asked, heights.value, total), whole_curve(asked, total)
        return live_chart(ran.value, best, trees, whole_betas, n_bins=asked.n_bins, presented=presented)

    least = rmse(asked.criterion, found.best, total)
    said = branching_answer(best, asked.n_bins, found.best.shape, least, binary_rmse(asked, total))
    frame.live(
        # Altair takes longer to check the chart than all else on the page takes.
        remember(("live", asked, total, presented), spec),
        key="bra_live",
        alt=said,
        answer=said,
        caption=f"Left: typical error (RMSE) of a query over K = {found.bins} bins at {_budget_words(found)}, if every "
        "node has β children: the limit of very many bins. Squares: exact error of the best whole tree of each height. "
        f"Shaded: within 5 % of the least variance. {found.words}.\n\n"
        "Right: the tree of that β, level by level. For the first two thirds of the bins the pink nodes are added up, "
        "and the orange one is opened on the next level. The more levels, the less budget for each.\n\n"
        f"Formula; {SOURCE} derivation.",
        how="Drag the slider below the figure.",
        ran=ran,
        still=call(
            still_chart,
            ran.named("curve"),
            given(best, best_branching, asked.criterion),
            call(beside_curve, asked, heights, total),
            n_bins=asked.n_bins,
        ),
    )


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
    small_print(
        "OpenDP: what `choose_branching_factor` recommends, from its published formula (3) in Qardaji, Yang and Li, "
        "“Understanding Hierarchical Methods for Differentially Private Histograms” (2013), computed by our own code: "
        f"the tree {product_text(opendp.shape.branching_factors)} with equal budgets, judged "
        "by the measure chosen above. Its rule minimises the average error of ranges before least squares. Formula."
    )


def _ranking(found: Answer) -> None:
    """Show the best shapes for K, what padding they need, and what each costs against the best."""
    asked, total = found.asked, found.total
    st.header(f"Trees for K = {found.bins}", anchor=False)
    small_print(advice(asked.n_bins).replace("*", "\\*"))
    budgets = "the best budgets of each tree" if asked.optimal_budgets else "equal budgets"
    so_far = "" if asked.optimal_budgets or s.BUDGET.value == "uniform" else " so far"
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
    ratios = list(ran.value.values())[2]
    best = min(found.heights.value, key=lambda one: one.value)
    slow = found.asked.criterion.least_squares and s.BUDGET.value == "optimal"
    note = " Equal budgets: optimal ones after least squares are in the table." if slow else ""
    frame.figure(
        call(error_by_height, ran.named("heights")),
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
    small_print(
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
    inputs = replace(inputs_now(BranchingInputs), bins=str(found.asked.n_bins))
    frame.found(see(VIEWS["branching.checks"], inputs))
