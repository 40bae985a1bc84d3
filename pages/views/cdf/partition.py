"""What is told of a release behind a private partition: what it spent, when it pays, and why DAWA's own is none."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.result import at_once, show_state
from pages.ui.text import small_print
from pages.views.cdf.source import again
from treedp_core.notebook.code import Ran, call, given
from treedp_core.privacy.origin import CHOOSE
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import Draw
from treedp_core.studies.cdf.exhibit import dawa_table
from treedp_core.studies.cdf.partition import MOST_SIMULATED, even_below, partition_ledger, when_it_pays
from treedp_core.words import setting_text, short, whole

TRIALS: Final = 10


def partition(data: Bins, mine: Draw, drawn: Ran[Draw]) -> None:
    """Show what the release spends, when a partition pays, and the exhibit."""
    frame.table(
        call(partition_ledger, drawn.get("plan")),
        key="cdf_partition_ledger",
        alt="What the release spends",
        width="content",
        caption="Noisy deviations of fixed intervals decide which bins have alike counts, whatever their widths; what "
        "is decided from them costs nothing. A record lies in one interval of each length, so it moves all deviations "
        "together by at most the sensitivity (proved in the code's documentation).",
    )
    _when(data, mine)
    st.header("DAWA's own first stage", anchor=False)
    table = call(dawa_table, 1.0)
    chances = table.value["P(three single bins)"]
    frame.table(
        table,
        key="cdf_dawa",
        alt="How often the first stage of DAWA keeps three bins apart, on two neighbours",
        formats={"P(three single bins)": short, "loss": short, "spent by its own account": setting_text},
        width="content",
        caption=f"One record more makes three single bins {short(chances[1] / chances[0])} times as likely: a loss of "
        f"{short(table.value['loss'][1])}, above the ε = 1 that the stage spends by its own account, as its "
        "benchmark's code has it (noise for each interval as if no other were asked for, none on single bins). So it "
        "is an exhibit, and nothing here releases with it. Formula; after Li, Hay, Miklau and Wang (2014).",
    )


def _when(data: Bins, mine: Draw) -> None:
    """Show when a partition pays, on the counts in use."""
    st.header("When a partition pays", anchor=False)
    settings = mine.plan.settings
    if data.n_bins > MOST_SIMULATED:
        small_print(f"Simulated for up to {whole(MOST_SIMULATED)} bins.")
        return
    ran = call(when_it_pays, settings, again(data).get("counts"), TRIALS, mine.seed)
    found = at_once("cdf_when", (settings, mine.seed), lambda: ran.value, of=data.fingerprint)
    show_state(found, "Simulating")
    if not found.is_ready:
        return
    columns = found.here()
    frame.table(
        given(columns, when_it_pays, *ran.args, **ran.kwargs),
        key="cdf_when",
        alt="The error with a partition over that without, at several ε",
        formats={"ε": setting_text, "N × ε": short, "buckets": short},
        width="content",
        caption=f"Errors over those without a partition: below 1 it pays. Root mean squared, of {TRIALS} releases each "
        "way at the same ε, ± 95 %, both made consistent; without: the same kind of tree above all bins. AHP (Zhang "
        "et al., 2014) is a named baseline, and counts bins together that are alike wherever they are. NOT PRIVATE: "
        f"simulated on the counts in use. {CHOOSE} {_rule(settings)}",
        simulated=True,
    )


def _rule(settings: CdfSettings) -> str:
    """What can be said before any data are seen, from N, ε and K, where N is public."""
    if not settings.unit.total_is_public:
        return "N is not public here, so no rule chooses for you."
    return (
        "From public numbers alone: up to ε × N = "
        f"{short(even_below(settings.n_bins, settings.unit))} even N spread evenly over all bins errs less than bins "
        "alone, whatever the counts (formula)."
    )
