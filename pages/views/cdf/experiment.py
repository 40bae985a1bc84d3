"""The experiment of Rameshwar et al., Sec. VI: what it reports, what we find, what better pipelines reach."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.result import NO_DATA, Result, in_background, show_state
from pages.ui.setting import in_a_row
from pages.ui.settings import SEED
from pages.ui.strip import strip
from pages.ui.unused import NO_DELTA, PLAIN
from pages.views.cdf import settings as s
from pages.views.cdf.words import PROTECTS, gain_answer
from treedp_core.figures.cdf import gain_figure
from treedp_core.notebook.code import call, given
from treedp_core.studies.cdf import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf.gains import experiment_table, gain_rows, gain_table, label_of, mean_text
from treedp_core.words import plural, setting_text, short, whole

IGNORES: Final = (
    NO_DELTA
    | PLAIN
    | {
        "eps": f"The published experiment is at ε = {setting_text(SECTION_VI[0].epsilon)}.",
        "nbr": "The published experiment replaces one record.",
    }
)

N_RECORDS: Final = 900


def _found() -> Result[list[ConsistencyGain]]:
    trials, seed = key = s.TRIALS.value, SEED.value
    work = partial(consistency_gains, SECTION_VI, N_RECORDS, trials, seed)
    about = f"{whole(trials)} runs and seed {seed}"
    return in_background("cdf_runs", key, trials * len(SECTION_VI), work, about=about, of=NO_DATA, of_data=False)


def show() -> Told:
    """Show how close better pipelines come than the published one."""
    with in_a_row():
        s.TRIALS.draw()
        s.NORM.draw()
    found, norm = _found(), s.NORM.value
    trials, seed = found.made_for or (0, None)
    gains = found.value or []
    again: Any = given(gains, consistency_gains, SECTION_VI, N_RECORDS, trials, seed).named("gains") if gains else []
    rows = gain_rows(gains, norm)
    frame.figure(
        call(
            gain_figure,
            given(rows, gain_rows, again, norm).named("rows"),
            x_title=f"{s.NORMS[norm]} distance from the true CDF",
        ),
        key="cdf_gains",
        alt=gain_answer(rows),
        answer=gain_answer(rows),
        caption=f"{N_RECORDS} records fall uniformly into 997 bins, ε = 0.1. Squares: as released; circles: made "
        "consistent; "
        + (f"{whole(trials)} runs, 95 % intervals, seed {seed}. Simulation." if gains else "published values.")
        + " The paper puts noise on a histogram, as 997 is prime.",
        ran=call(gain_table, again, norm),
    )
    show_state(found, "Repeating the experiment", "runs")
    records = plural(N_RECORDS, "record")
    told = strip("997 bins", records, relation=PROTECTS, fixed=True, epsilon=SECTION_VI[0].epsilon, seed=seed)
    return Told(told, "simulation", more=partial(_more, gains, again, trials))


def _more(gains: list[ConsistencyGain], again: Any, trials: int) -> None:
    if gains:
        _headline(gains)
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


def _headline(gains: list[ConsistencyGain]) -> None:
    ours, best = gains[0], min(gains, key=lambda gain: gain.l2_consistent.mean)
    about, published = "Mean ℓ₂ distance ± its 95 % interval.", PUBLISHED["l2_consistent"]
    cards((
        ("Paper, ℓ₂ consistent", setting_text(published), f"before: {setting_text(PUBLISHED['l2'])}", about),
        ("The same pipeline, ours", mean_text(ours.l2_consistent), f"before: {mean_text(ours.l2)}", about),
        (f"Best: {label_of(best)}", mean_text(best.l2_consistent),
         f"{short(published / best.l2_consistent.mean)}× closer than the paper, same ε", about),
    ))  # fmt: skip
