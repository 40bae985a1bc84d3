"""One release on the page CDF and ranges: the three CDFs, a range by every mechanism, the quantiles."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import REG, get
from pages.ui.snippets import Ran, call, given
from pages.ui.store import remember, sample
from pages.ui.strip import strip
from pages.ui.text import lit, plural, short, whole
from pages.views.cdf import model, tables
from pages.views.cdf import source as cdf_source
from pages.views.cdf import state as cdf_state
from pages.views.cdf.model import MANY_BINS, Bins, Draw
from pages.views.cdf.source import SAMPLE
from pages.views.lab.state import keep_one
from treedp_core.checks import InputError
from treedp_core.figures.cdf import CdfLines, cdf_errors, cdf_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.tree.text import product_text
from treedp_core.words import setting_text

_SHOWN: Final = "_cdf_data_shown"


def release(data: Bins) -> str:
    """Show one release and what can be read from it; return the strip for the title."""
    mine, is_present = cdf_state.draw(data)
    if not is_present:
        st.caption(f"The release below has other settings: {_what(mine.plan.settings)}.")
    start, stop = chosen_range(data)
    _figure(data, mine, start, stop)
    if mine.refused is not None:
        refusal(mine.refused)
    _range(data, mine, start, stop)
    _errors(data, mine, start, stop)
    _quantiles(data, mine)
    _distance(mine)
    return about(data, mine)


def chosen_range(data: Bins) -> tuple[int, int]:
    """Show the two sliders of the range, in the column's unit; return its first bin and the one behind its last."""
    low, high = float(data.edges[0]), float(data.edges[-1])
    step = (high - low) / data.n_bins
    st.session_state["cdf_from"], st.session_state["cdf_to"] = (float(data.edges[at]) for at in _bins_wanted(data))
    left, right = st.columns(2)
    about = f"In the unit of the column, rounded to the nearest edge of a bin; bins are {short(step)} wide."
    for column, key, label in ((left, "cdf_from", "Range from"), (right, "cdf_to", "Range to")):
        column.slider(label, low, high, step=step, key=key, persist_state="session", format="%g", help=about)
    start, stop = data.bin_at(get("cdf_from")), data.bin_at(get("cdf_to"))
    if start < stop:
        return start, stop
    if start > stop:
        st.caption("“From” lies above “to”; the range between them is shown.")
        return stop, start
    refusal(InputError("RANGE_BOUNDS", "Expected a range with at least one bin; move the sliders apart."))
    return (start, start + 1) if start < data.n_bins else (start - 1, start)


def _bins_wanted(data: Bins) -> tuple[int, int]:
    """Edges nearest to the range asked for; the middle half where that range was meant for other data.

    It was when no bin of these is left in it, or when other data, or the ages that its default is for, came before.
    """
    wanted = get("cdf_from"), get("cdf_to")
    start, stop = (data.bin_at(end) for end in wanted)
    is_default = wanted == (REG["cdf_from"].default, REG["cdf_to"].default)
    before = st.session_state.get(_SHOWN, sample(SAMPLE).fingerprint if is_default else data.fingerprint)
    st.session_state[_SHOWN] = data.fingerprint
    lost = start == stop and wanted[0] != wanted[1]
    if lost or before != data.fingerprint:
        return data.n_bins // 4, data.n_bins - data.n_bins // 4
    return start, stop


def _brush(data: Bins, start: float, stop: float) -> None:
    """Take the range that was dragged over a figure, rounded to edges of bins."""
    ends = (float(data.edges[data.bin_at(end)]) for end in (start, stop))
    st.session_state["cdf_from"], st.session_state["cdf_to"] = ends


def _figure(data: Bins, mine: Draw, start: int, stop: int) -> None:
    release, settings = mine.release, mine.plan.settings
    lines = CdfLines(data.edges, data.truth, release.cumulative, mine.consistent, (mine.band.low, mine.band.high),
                     data.truth_name)  # fmt: skip
    missed = float(np.abs(release.cumulative - data.truth).mean())
    after = "" if mine.consistent is None else f", {short(float(np.abs(mine.consistent - data.truth).mean()))} after"
    frame.figure(
        cdf_figure(
            lines, x_title=data.unit if data.numeric else "leaf, in its order",
            chosen=_ends(data, start, stop),
        ),
        key="cdf_release",
        alt=f"True, noisy and consistent cumulative counts: the noisy ones are off by {short(missed)} records on "
        f"average{after} consistency.",
        caption=f"NOT PRIVATE: one simulated release beside the exact counts. {_what(settings)}; "
        f"{bins_in_words(data)}, {whole(int(data.counts.sum()))} records, seed {get('seed')}. Band: 95 % for all "
        f"cumulative counts at once, {mine.band.multiple:.3g} exact standard deviations to either side, from "
        f"{whole(mine.band.trials)} simulated errors, tightened by what is public. Consistent: the closest whole, "
        f"non-decreasing counts that end at N, {get('cdf_fit')} error (Rameshwar et al., Sec. VI). "
        f"Shaded: the range below; drag over the figure to choose another. {release.sentence()}",
        ran=_release_again(data, mine),
        simulated=True,
        brush=partial(_brush, data),
        label=tuned.label("cdf"),
    )  # fmt: skip


def _errors(data: Bins, mine: Draw, start: int, stop: int) -> None:
    """Show how far every cumulative count is off, which the CDF's height would hide."""
    release = mine.release
    lines = CdfLines(data.edges, data.truth, release.cumulative, mine.consistent, (mine.band.low, mine.band.high),
                     data.truth_name)  # fmt: skip
    worst = float(np.abs(release.cumulative - data.truth).max())
    frame.figure(
        cdf_errors(lines, x_title=data.unit if data.numeric else "leaf, in its order", chosen=_ends(data, start, stop)),
        key="cdf_errors",
        alt=f"Errors of the cumulative counts: the largest is {short(worst)} records.",
        caption="NOT PRIVATE: the same release minus the true counts; 0 is exact. The band covers 0 wherever it "
        "covers the true count.",
        ran=_release_again(data, mine),
        simulated=True,
        brush=partial(_brush, data),
        label=tuned.label("cdf"),
    )


def _again(data: Bins, mine: Draw) -> tuple[Ran[Bins], Ran[Draw]]:
    """The calls that make the bins and the release again."""
    bins, plan = cdf_source.again(data), given(mine.plan, plan_cdf, mine.plan.settings).named("plan")
    return bins, given(mine, model.draw, plan, bins.get("counts"), mine.fit, mine.seed).named("drawn")


def _release_again(data: Bins, mine: Draw) -> Ran[dict[str, Any]]:
    return call(tables.release_table, *_again(data, mine))


def _ends(data: Bins, start: int, stop: int) -> tuple[float, float]:
    return float(data.edges[start]), float(data.edges[stop])


def _what(settings: CdfSettings) -> str:
    post = "least squares" if settings.least_squares else "no least squares"
    return (
        f"{MECHANISMS[settings.mechanism].label} noise on the tree {product_text(settings.branching_factors)}, "
        f"{settings.allocation} budgets, {post}, ε = {setting_text(settings.epsilon)}"
    )


def _range(data: Bins, mine: Draw, start: int, stop: int) -> None:
    """Show the count of the range by each mechanism."""
    low, high = data.edges[start], data.edges[stop]
    st.header(f"Records from {short(float(low))} to {short(float(high))}", anchor=False)
    many = data.n_bins > MANY_BINS
    if many:
        st.toggle("Compare with other mechanisms (takes a few seconds)", key="cdf_compare",
                  help="One simulated release of each, at the same promise.")  # fmt: skip
    compare = not many or bool(st.session_state.get("cdf_compare"))
    ran = call(tables.range_table, *_again(data, mine), start, stop, compare=compare)
    key = (data.fingerprint, mine.plan.settings, mine.fit, mine.seed, start, stop, compare)
    columns = keep_one("_cdf_range", key, lambda: ran.value)
    rows = list(zip(columns["mechanism"], columns["released count"], strict=True))
    true, deviation = float(data.counts[start:stop].sum()), float(np.sqrt(mine.plan.range_variance(start, stop)))
    plain = (*rows[0], deviation)
    st.markdown(
        f"Released: **{whole(round(plain[1]))}** records, standard deviation {short(plain[2])} · {data.truth_name}: "
        f"{whole(int(true))} (NOT PRIVATE)"
    )
    st.dataframe(
        columns, hide_index=True, width="content",
        column_config={
            "released count": st.column_config.NumberColumn(format="%.1f"),
            "standard deviation": st.column_config.TextColumn(alignment="right"),
            "error of this draw (NOT PRIVATE)": st.column_config.NumberColumn(format="%+.1f"),
        },
        alt="The count of the range by each mechanism",
    )  # fmt: skip
    st.caption(
        "One simulated release of each mechanism at the same promise, with the exact standard deviation of its error "
        "(formula; Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al., least squares by our own derivation). "
        "About 95 % of releases are within 2 of them. Consistency is no linear estimate, so it has no closed form."
    )
    frame.footer("cdf_range", ran, simulated=True)


def _quantiles(data: Bins, mine: Draw) -> None:
    if mine.refused is not None:  # said above, with what to do
        return
    st.header("Quantiles", anchor=False)
    try:
        ran = call(tables.quantile_table, *_again(data, mine))
        table = ran.value
    except InputError as error:
        refusal(error)
        return
    number = st.column_config.NumberColumn(format="%.4g")
    st.dataframe(
        table, hide_index=True, width="content", column_config=dict.fromkeys(list(table)[1:], number),
        alt="Quantiles with intervals",
    )  # fmt: skip
    st.caption(
        f"In the unit of {lit(data.unit, 40)}. Read off the consistent CDF, records spread evenly over their bin; the "
        "true quantiles' bins lie between “from” and “to” for all rows at once with 95 % probability. One simulated "
        "release; the last column is NOT PRIVATE."
    )
    frame.footer("cdf_quantiles", ran, simulated=True)


def _distance(mine: Draw) -> None:
    """Say how far a Gaussian release is from the least error possible at its promise, for few bins."""
    if not model.has_bound(mine.plan):
        return
    bins = mine.plan.settings.n_bins
    apart = model.above_bound(mine.plan, remember(("cdf lower", bins), lambda: model.lower_bound(bins)))
    st.markdown(
        f"This release's mean variance is **{apart:.3g} times** the least that any linear Gaussian mechanism can have "
        "at the same ρ (formula; see “How far from optimal”)."
    )


def about(data: Bins, mine: Draw) -> str:
    """Return the strip of a release."""
    kind = [] if data.numeric else ["leaves in their order, as bins"]
    used = mine.plan.settings
    return strip(
        lit(data.name, 40),
        bins_in_words(data),
        *kind,
        relation=NeighbouringRelation(used.relation),
        epsilon=used.epsilon,
        delta=used.delta if MECHANISMS[used.mechanism].needs_delta else 0.0,
        seed=mine.seed,
    )


def bins_in_words(data: Bins) -> str:
    """Return how many bins there are, and that the last one holds what has no place in the others."""
    return plural(data.n_bins - data.has_other, "bin") + data.has_other * " and a last one “(other)” beyond the bounds"
