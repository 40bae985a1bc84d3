"""The other views of the page CDF and ranges: error against epsilon, the Section VI experiment, the lower bound."""

from __future__ import annotations

import math
from typing import Any, Final

import streamlit as st

from pages.ui import frame, jobs
from pages.ui.page import explain
from pages.ui.settings import REG, get
from pages.ui.snippets import call, given
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.text import plural, whole
from pages.views.cdf import model, tables
from pages.views.cdf import state as cdf_state
from pages.views.cdf.model import Bins
from pages.views.cdf.tables import MEASURES, experiment_table, label_of, mean_text
from treedp_core.experiment import EPSILON_GRID
from treedp_core.figures.cdf import gain_figure, pipeline_curves, ratio_bars
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.words import setting_text

PROTECTS: Final = NeighbouringRelation.REPLACE_ONE
"""Whom the paper and the bound protect."""


def _bins_control(about: str) -> None:
    st.text_input(
        "Bins K", key="cdf_bins", persist_state="session", max_chars=40, width=220, placeholder="as in the data",
        help=f"{about} Empty: the bins of the data. Digits or a power, such as 2^20.",
    )  # fmt: skip


def error(data: Bins) -> str:
    """Show the error of whole pipelines against epsilon; return the strip for the title."""
    _bins_control("The errors depend on K, not on the records.")
    bins = cdf_state.figure_bins(data)
    grid = tuple(sorted({*EPSILON_GRID[::2], get("eps")}))
    curves = remember(("cdf curves", bins, grid, get("contributions")),
                      lambda: model.error_curves(bins, grid, get("contributions")))  # fmt: skip
    at = {curve.label: float(curve.y[grid.index(get("eps"))]) for curve in curves}
    best = min(at, key=lambda label: at[label])
    frame.figure(
        pipeline_curves(curves, y_title="N² E₂ (records²)", marker_x=get("eps")),
        key="cdf_error",
        alt=f"Error against ε for K = {bins}: the lowest is {best}.",
        caption=f"K = {whole(bins)}. Expected squared error of the cumulative counts, summed over the bins (N² E₂), "
        "Laplace noise, equal budgets, one record replaced, N public. Formula: Lemmas III.1 and III.2 and Theorem IV.1 "
        "of Rameshwar et al. (the four lines of their Fig. 1, there with K = 256); least squares: own derivation.",
        ran=call(tables.error_table, bins, grid, get("contributions")),
    )
    table = {
        "pipeline": list(at),
        "N² E₂": list(at.values()),
        "÷ lowest": [value / at[best] for value in at.values()],
        "RMSE of a cumulative count": [math.sqrt(value / bins) for value in at.values()],
    }
    st.markdown(f"At your ε = {setting_text(get('eps'))}:")
    whole_numbers, number = (st.column_config.NumberColumn(format=form) for form in ("localized", "%.5g"))
    formats = {"N² E₂": whole_numbers, **dict.fromkeys(list(table)[2:], number)}
    st.dataframe(table, hide_index=True, column_config=formats, alt="Values at your ε")
    return strip(plural(bins, "bin"), relation=PROTECTS, fixed=True, epsilon=get("eps"))


def experiment() -> str:
    """Show the paper's experiment: what it reports, what we find, what better pipelines reach; return the strip."""
    st.markdown(
        "900 records fall uniformly into 997 bins, ε = 0.1. How far is the released CDF from the true one, before and "
        "after consistency? The paper puts noise on a histogram, as 997 is prime. Padding, least squares and the same "
        "consistency step go much further at the same ε."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        st.segmented_control(
            "Runs", REG["cdf_trials"].choices(get("cdf_trials")), key="cdf_trials", persist_state="session",
            required=True, format_func=whole, help="Independent releases of fresh records.",
        )  # fmt: skip
        running = jobs.is_running(cdf_state.SLOT)
        st.button(
            "Run", key="cdf_run", type="primary", icon=":material/play_arrow:", shortcut="Ctrl+Enter",
            on_click=cdf_state.start_experiment, disabled=running, help="Repeat the experiment with our pipelines.",
        )  # fmt: skip
        st.button(
            "Cancel", key="cdf_cancel", on_click=jobs.cancel, args=(cdf_state.SLOT,), disabled=not running,
            help="Stop; nothing of this run is kept.",
        )  # fmt: skip
    cdf_state.experiment_progress()
    result = cdf_state.experiment_result()
    if result is None:
        st.info("Press **Run** to put our numbers beside the paper's.", icon=":material/play_arrow:")
    key, gains = result or ((0, 0), [])
    if result is not None and key != cdf_state.experiment_key():
        st.caption(f":material/info: Computed for {whole(key[0])} runs and seed {key[1]}; press **Run** for yours.")
    if gains:
        _headline(gains)
    norm = st.segmented_control("Distance", ["l2", "l1"], key="cdf_norm", default="l2", required=True,
                                format_func=MEASURES.__getitem__,
                                help="How far the released CDF is from the true one.")  # fmt: skip
    again: Any = given(gains, consistency_gains, SECTION_VI, cdf_state.N_RECORDS, *key).named("gains") if gains else []
    _dumbbells(gains, norm or "l2", key, again)
    ran = call(experiment_table, again, key[0])
    columns = ran.value
    st.dataframe(columns, hide_index=True, alt="The paper's numbers beside ours")
    st.caption(
        "Paper: Rameshwar et al., Sec. VI, one set of 100 runs. Ours: mean ± 95 % interval, Laplace noise, records "
        "drawn anew in every run; the first row repeats the paper's pipeline, and “apart” says how many standard "
        "errors, of a mean of 100 runs and of ours together, lie between the two. Distances are of cumulative counts "
        "divided by N = 900; consistency minimises the distance it is judged by. Simulation on synthetic records."
    )
    frame.footer("cdf_experiment", ran)
    budget, seed = SECTION_VI[0].epsilon, key[1] if gains else None
    records = plural(cdf_state.N_RECORDS, "record")
    return strip("997 bins", records, relation=PROTECTS, fixed=True, epsilon=budget, seed=seed)


def _headline(gains: list[ConsistencyGain]) -> None:
    ours, best = gains[0], min(gains, key=lambda gain: gain.l2_consistent.mean)
    columns = st.columns(3)
    for column, label, value, note in (
        (columns[0], "Paper, ℓ₂ consistent", f"{PUBLISHED['l2_consistent']:g}", f"before: {PUBLISHED['l2']:g}"),
        (columns[1], "The same pipeline, ours", mean_text(ours.l2_consistent), f"before: {mean_text(ours.l2)}"),
        (columns[2], f"Best: {label_of(best)}", mean_text(best.l2_consistent),
         f"{PUBLISHED['l2_consistent'] / best.l2_consistent.mean:.2g}× closer than the paper, same ε"),
    ):  # fmt: skip
        with column, st.container(border=True, height="stretch"):
            st.metric(
                label, value, note, delta_arrow="off", delta_color="off", help="Mean ℓ₂ distance ± its 95 % interval."
            )


def _dumbbells(gains: list[ConsistencyGain], norm: str, key: tuple[int, int], again: Any) -> None:
    rows = tables.gain_rows(gains, norm)
    frame.figure(
        gain_figure(rows, x_title=f"{MEASURES[norm]} distance from the true CDF"),
        key="cdf_gains",
        alt=f"From the paper's {PUBLISHED[f'{norm}_consistent']:g} after consistency down to {rows[-1].after:.3g}.",
        caption="K = 997, N = 900, ε = 0.1. Squares: as released; circles: made consistent; "
        + (f"{whole(key[0])} runs, 95 % intervals, seed {key[1]}. Simulation." if gains else "published values."),
        ran=call(tables.gain_table, again, norm),
    )


def optimal(data: Bins) -> str:
    """Show how far trees are from the least error of any linear Gaussian mechanism; return the strip for the title."""
    _bins_control(f"The bound takes cubic work: for up to {whole(MAX_BOUND_BINS)} bins.")
    bins, (labels, ratios) = cdf_state.distances(cdf_state.figure_bins(data))
    best = min(zip(ratios[:-1], labels[:-1], strict=True))
    frame.figure(
        ratio_bars(labels, ratios, x_title="mean variance of a cumulative count ÷ lower bound"),
        key="cdf_optimal",
        alt=f"The best tree, {best[1]}, is {100 * (best[0] - 1):.0f} % above the lower bound.",
        caption=f"K = {whole(bins)}, Gaussian noise at the same ρ, one record replaced, N public. The bound holds for "
        "every mechanism that adds Gaussian noise to linear queries and estimates linearly without bias (optimal "
        "matrix mechanism, certified by duality); it holds at every ρ, as all errors fall alike. Formula and numerical "
        "bound.",
        ran=call(tables.distance_table, given((labels, ratios), model.distances, bins).named("distances")),
    )
    explain(
        f"The tree “{best[1]}” is within {100 * (best[0] - 1):.0f} % of what is possible in variance, "
        f"{100 * (math.sqrt(best[0]) - 1):.0f} % in typical error, and takes linear instead of cubic work. For Laplace "
        "noise (pure ε) no such bound is computed here."
    )
    return strip(plural(bins, "bin"), relation=PROTECTS, fixed=True)
