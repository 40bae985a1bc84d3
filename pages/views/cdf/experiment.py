"""The experiment of Rameshwar et al., Sec. VI: what it reports, what we find, what better pipelines reach."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.presets import Preset
from pages.ui.result import Result, in_background, run_button, show_state
from pages.ui.settings import SEED
from pages.ui.snippets import Ran, call, given
from pages.ui.strip import strip
from pages.ui.unused import NO_DELTA
from pages.views.cdf import settings as s
from pages.views.cdf.source import NO_DATA
from pages.views.cdf.words import PROTECTS
from treedp_core.figures.cdf import gain_figure
from treedp_core.studies.cdf import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf.gains import experiment_table, gain_rows, gain_table, label_of, mean_text
from treedp_core.words import plural, setting_text, short, whole

IGNORES: Final = NO_DELTA | {
    "eps": f"The published experiment is at ε = {setting_text(SECTION_VI[0].epsilon)}.",
    "nbr": "The published experiment replaces one record.",
}

N_RECORDS: Final = 900


def _begin() -> None:
    found = _found()
    if found.begin is not None and not found.is_ready:
        found.begin()


PRESETS: Final = (
    Preset(
        "Figure 1 of the paper",
        "Error against ε with 256 bins, as in Rameshwar et al.; sets this page only.",
        (s.VIEW.to("error"), s.BINS.to("256")),
    ),
    Preset(
        "Section VI experiment",
        "A hundred releases of 997 bins, as in Rameshwar et al.; sets this page only.",
        (s.VIEW.to("experiment"), s.TRIALS.to(100)),
        _begin,
    ),
)


def _found() -> Result[list[ConsistencyGain]]:
    trials, seed = key = s.TRIALS.value, SEED.value
    work = partial(consistency_gains, SECTION_VI, N_RECORDS, trials, seed)
    about = f"{whole(trials)} runs and seed {seed}"
    return in_background("cdf_runs", key, trials * len(SECTION_VI), work, start="button", about=about, of=NO_DATA,
                         of_data=False)  # fmt: skip


def show() -> Told:
    """Show the paper's numbers beside ours."""
    st.markdown(
        "900 records fall uniformly into 997 bins, ε = 0.1. How far is the released CDF from the true one, before and "
        "after consistency? The paper puts noise on a histogram, as 997 is prime. Padding, least squares and the same "
        "consistency step go much further at the same ε."
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        s.TRIALS.draw()
        found = _found()
        run_button(found, "cdf_run", help="Repeat the experiment with our pipelines.")
    show_state(found, "Repeating the experiment", "runs")
    trials, seed = found.made_for or (0, None)
    gains = found.value or []
    if gains:
        _headline(gains)
    else:
        st.info("Press **Run** to put our numbers beside the paper's.", icon=":material/play_arrow:")
    again: Any = given(gains, consistency_gains, SECTION_VI, N_RECORDS, trials, seed).named("gains") if gains else []
    _dumbbells(gains, s.NORM.draw(), f"{whole(trials)} runs, 95 % intervals, seed {seed}. Simulation.", again)
    frame.table(
        call(experiment_table, again, trials),
        key="cdf_experiment",
        alt="The paper's numbers beside ours",
        caption="Paper: Rameshwar et al., Sec. VI, one set of 100 runs. Ours: mean ± 95 % interval, Laplace noise, "
        "records drawn anew in every run; the first row repeats the paper's pipeline, and “apart” says how many "
        "standard errors, of a mean of 100 runs and of ours together, lie between the two. Distances are of cumulative "
        f"counts divided by N = {N_RECORDS}; consistency minimises the distance it is judged by. Simulation on "
        "synthetic records.",
    )
    records = plural(N_RECORDS, "record")
    told = strip("997 bins", records, relation=PROTECTS, fixed=True, epsilon=SECTION_VI[0].epsilon, seed=seed)
    return Told(told, "simulation")


def _headline(gains: list[ConsistencyGain]) -> None:
    ours, best = gains[0], min(gains, key=lambda gain: gain.l2_consistent.mean)
    about, published = "Mean ℓ₂ distance ± its 95 % interval.", PUBLISHED["l2_consistent"]
    cards((
        ("Paper, ℓ₂ consistent", setting_text(published), f"before: {setting_text(PUBLISHED['l2'])}", about),
        ("The same pipeline, ours", mean_text(ours.l2_consistent), f"before: {mean_text(ours.l2)}", about),
        (f"Best: {label_of(best)}", mean_text(best.l2_consistent),
         f"{short(published / best.l2_consistent.mean)}× closer than the paper, same ε", about),
    ))  # fmt: skip


def _dumbbells(gains: list[ConsistencyGain], norm: str, about: str, again: Ran[list[ConsistencyGain]]) -> None:
    rows = gain_rows(gains, norm)
    frame.figure(
        gain_figure(rows, x_title=f"{s.NORMS[norm]} distance from the true CDF"),
        key="cdf_gains",
        alt=f"From the paper's {setting_text(PUBLISHED[f'{norm}_consistent'])} after consistency down to "
        f"{short(rows[-1].after)}.",
        caption=f"K = 997, N = {N_RECORDS}, ε = 0.1. Squares: as released; circles: made consistent; "
        + (about if gains else "published values."),
        ran=call(gain_table, again, norm),
    )
