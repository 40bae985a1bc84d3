"""The page Branching factor: controls, the figure of a slider's β, and what stands under More."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, control, in_a_row, take
from pages.ui.inputs.text import cards, lit, small_print
from pages.ui.page.page import Told
from pages.ui.page.share_bar import share_bar
from pages.ui.page.view import Seen, section, see
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta
from pages.ui.tables.result import run_button
from pages.ui.tables.store import dataset
from treedp_core.allocation.shares import UNITS, in_units, text_of
from treedp_core.checks import InputError
from treedp_core.studies.branching.question import NOISES, WORKLOADS
from treedp_core.studies.methods.terms import text
from treedp_core.views import VIEWS, branching, factors
from treedp_core.views.branching import BranchingInputs
from treedp_core.views.inputs import parameter
from treedp_core.words import short, whole

# Settings of the Branching factor page: its controls, and what a link can carry.

BINS: Final = control(
    parameter(BranchingInputs, "bins"), own="", label="Bins K", width=150,
    placeholder="as in the data",
    help=f"{text('bins')} Digits or a power: 997, 1 000 000, 2^20. From 2 to 10^15. Empty: the leaves of the data set "
    "in use.",
)  # fmt: skip
NOISE: Final = control(
    parameter(BranchingInputs, "noise"), label="Noise",
    help="Laplace adds up in ε, Gaussian in ρ (zCDP), which favours levels.",
)  # fmt: skip
WORKLOAD: Final = control(
    parameter(BranchingInputs, "workload"),
    label="Queries",
    look="select",
    width=140,
    help="The mean over all cumulative counts, all ranges, or all nodes.",
)
POST: Final = control(
    parameter(BranchingInputs, "postprocess"), label="Post-processing", look="select", width=170,
    help="Least squares with the known total costs no budget.",
)  # fmt: skip
BUDGET: Final = control(
    parameter(BranchingInputs, "budgets"),
    label="Budget split",
    help="Uniform: the same for all levels, or the best for each tree.",
)
PADDED: Final = control(
    parameter(BranchingInputs, "padded"), label="Padding",
    help=f"{text('padding')} Without it branching factors multiply to K exactly.",
)  # fmt: skip


def _best() -> int:
    return inputs_now(BranchingInputs).best_beta


def _stops() -> list[int]:
    """Every β; in the place of the best one what stands for the best, whatever that is, unless a link names it."""
    best, chosen = _best(), BETA.value
    return [BETA.default if beta == best != chosen else beta for beta in BETA.grid]


BETA: Final[Setting[int]] = control(
    parameter(BranchingInputs, "beta"), look="slider", width="stretch", stops=_stops,
    format=lambda beta: str(beta or _best()),
    help="Marked on the curve; the tree beside it is the one of this β. At first it is the best.",
)  # fmt: skip
GIVEN: Final = control(
    parameter(BranchingInputs, "given"), label="Shares of the budget", width=220, placeholder="0.5, 0.3, 0.2",
    help="One for each level below the root, from the top, summing to at most 1. Empty: equal ones.",
)  # fmt: skip
_BEST: Final = "_bra_best"
"""Where the session keeps the best β that the slider was last drawn with."""

SETTINGS: Final[tuple[Setting[Any], ...]] = (BINS, NOISE, WORKLOAD, POST, BUDGET, PADDED, BETA, GIVEN)
PRESETS: Final = (
    Preset("2²⁰: a million", "A power of 16: 16⁵ fits without padding.", (BINS.to("2^20"),)),
    Preset("3⁶: powers of 3", "A power of a small prime: few trees fit without padding.", (BINS.to("3^6"),)),
    Preset("2¹¹: a prime number of levels", "No whole root: padding or unequal levels are needed.", (BINS.to("2^11"),)),
    Preset("997: a prime", "Without padding only the histogram is left.", (BINS.to("997"),)),
)
"""Numbers of bins that show something."""


def show() -> Told:
    """Show the error over β, and the tree of the β that is dragged."""
    with in_a_row():
        for one in (BINS, WORKLOAD, POST):
            one.draw()
        _draw_beta()
    seen, data = see(VIEWS["branching"], inputs_now(BranchingInputs)), dataset()
    frame.found(seen)
    seen.say_state("Searching the best budgets of each tree (equal ones are shown)")
    note_of_delta([NOISE.value], "bra_set_delta")
    told = seen.told(more=partial(_more, seen))
    if BINS.value.strip():
        return told
    return told._replace(strip=f"{lit(data.name, 40)} · {told.strip}", data=data)


def _draw_beta() -> None:
    """Show the slider of β, which a browser is told of anew once another one is the best."""
    if st.session_state.setdefault(_BEST, _best()) != _best():
        st.session_state[_BEST] = _best()
        BETA.set(BETA.value)
    BETA.draw()


def _more(seen: Seen[BranchingInputs]) -> None:
    with in_a_row():
        bins = branching.bins_of(dataset())
        st.button(
            f"{whole(bins)}: the leaves of the data", key="bra_of_data", on_click=BINS.set, args=("",),
            disabled=bins < 2, help="As many bins as the data set in use has leaves.",
        )  # fmt: skip
        for one in (NOISE, BUDGET, PADDED):
            one.draw()
    if seen.finding.is_empty:
        return
    optimum = seen.of(branching.optimum)
    cards(list(zip(*optimum.table.values(), strict=True)))
    small_print(optimum.caption)
    st.header(f"Trees for {seen.finding.provenance.about[0]}", anchor=False)
    ratio = st.column_config.ProgressColumn("RMSE ÷ best", format="%.4f", min_value=0.0, max_value=4.0)
    formats = {"RMSE (records)": partial(short, digits=4), "÷ best": ratio, "padding": whole}
    frame.found(section(seen, "ranking"), formats=formats)
    _for_budgets(seen)
    st.header("Error against height", anchor=False)
    frame.found(section(seen, "heights"))
    st.header("How good the approximation is", anchor=False)
    frame.found(see(VIEWS["branching.sandwich"], seen.found_for))
    if seen.slow is None or seen.slow.is_ready:
        _matrices(see(VIEWS["branching.matrices"], seen.found_for))
    _grid()
    st.header("What the paper states, checked for this K", anchor=False)
    frame.found(see(VIEWS["branching.checks"], seen.found_for))


def _for_budgets(seen: Seen[BranchingInputs]) -> None:
    """Show the bar and the text of shares, and the factors that are best for them."""
    st.header("Which factors for your budgets?", anchor=False)
    mine = replace(seen.found_for, given=GIVEN.value)
    with suppress(InputError):
        shares = factors.shares_of(mine, seen.tables.value)
        if len(shares) > 1:
            names = [f"level {level}" for level in range(1, len(shares) + 1)]
            share_bar("Shares of the budget", names, in_units(shares), (), key="bra_bar", on_move=_dragged)
    GIVEN.draw()
    of_budgets = see(VIEWS["branching.factors"], mine)
    formats = {"noise, st. dev. (records)": short, "factor of the theorem": short, "at least 2": short}
    frame.found(of_budgets, formats=formats, width="content")
    of_budgets.say_state("")


def _dragged(units: list[int]) -> None:
    GIVEN.set(text_of([unit / UNITS for unit in units]))


def _matrices(seen: Seen[BranchingInputs]) -> None:
    """Show how far trees and matrices are from the least possible, or what seeks the matrix."""
    if seen.finding.is_empty and seen.slow is None:
        return
    st.header("Trees and matrices", anchor=False)
    frame.found(seen)
    if seen.slow is not None and not seen.slow.is_ready:
        run_button(seen.slow, "bra_matrices_run", label="Seek the matrix", help="Takes seconds for many bins.")
        seen.say_state("Seeking the matrix")


def _grid() -> None:
    """Show the best branching factor for every noise, workload and post-processing; a cell opens its curve."""
    st.header("Which noise, which queries, which post-processing", anchor=False)
    optima, widths = branching.optima(), [1.5, *[1.0] * len(WORKLOADS)]
    cells: list[Any] = list(zip(*optima.table.values(), strict=True))
    head, *columns = st.columns(widths)
    head.markdown("Best whole β")
    for column, label in zip(columns, WORKLOADS.values(), strict=True):
        column.markdown(f"**{label}**")
    for start in range(0, len(cells), len(WORKLOADS)):
        head, *columns = st.columns(widths, vertical_alignment="center")
        noise, post, _ = cells[start][0]
        head.markdown(f"{NOISES[noise]}, {'least squares' if post != 'none' else 'no post-processing'}")
        for column, (cell, best, about) in zip(columns, cells[start:], strict=False):
            with column:
                _cell(cell, best, about)
    small_print(optima.caption)


def _cell(cell: tuple[str, str, str], best: str, about: str) -> None:
    noise, post, workload = cell
    chosen = (NOISE.to(noise), WORKLOAD.to(workload), POST.to(post))
    is_set = all(one.setting.value == one.value for one in chosen)
    st.button(
        best, key=f"bra_cell_{noise}_{workload}_{post}", on_click=take, args=(chosen,),
        type="primary" if is_set else "secondary", width="stretch", help=about,
    )  # fmt: skip
