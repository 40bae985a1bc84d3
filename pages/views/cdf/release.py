"""One release on the page CDF and ranges: the three CDFs, a range by every mechanism, the quantiles."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import streamlit as st

from pages.ui import frame, tuned
from pages.ui.page import Told
from pages.ui.refusals import refusal
from pages.ui.result import at_once, show_state
from pages.ui.snippets import Ran, call, given
from pages.ui.store import remember, sample
from pages.ui.strip import strip
from pages.ui.text import lit
from pages.views.cdf import settings as s
from pages.views.cdf.draw import controls, drawn_of
from pages.views.cdf.source import SAMPLE, again, choose
from pages.views.cdf.words import bins_in_words, what
from treedp_core.checks import InputError
from treedp_core.figures.cdf import CdfLines, cdf_errors, cdf_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import plan_cdf
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import Draw, draw, missed, quantile_table, range_table, release_table
from treedp_core.studies.cdf.pipelines import above_bound, has_bound, lower_bound
from treedp_core.words import halves, short, signed, whole

MANY_BINS: Final = 1 << 16
_SHOWN: Final = "_cdf_data_shown"


def show() -> Told:
    """Show one release and what can be read from it."""
    data = choose()
    controls(data)
    mine = drawn_of(data)
    start, stop = _chosen_range(data)
    drawn = given(mine, draw, given(mine.plan, plan_cdf, mine.plan.settings).named("plan"),
                  again(data).get("counts"), mine.fit, mine.seed).named("drawn")  # fmt: skip
    _figures(data, drawn, start, stop)
    if mine.refused is not None and mine.refused.code == "TOTAL_NOT_PUBLIC":
        st.caption(
            ":material/info: How many records there are is not public under this neighbouring relation, so the noisy "
            "counts are shown without consistency and quantiles."
        )
    elif mine.refused is not None:
        refusal(mine.refused)
    _range(data, drawn, start, stop)
    if mine.refused is None:  # said above, with what to do
        _quantiles(data, drawn)
    _distance(mine)
    used = mine.plan.settings
    told = strip(
        lit(data.name, 40),
        bins_in_words(data),
        *(() if data.numeric else ("leaves in their order, as bins",)),
        relation=NeighbouringRelation(used.relation),
        epsilon=used.epsilon,
        delta=used.delta if MECHANISMS[used.mechanism].needs_delta else 0.0,
        seed=mine.seed,
    )
    return Told(told, "formula, simulation, NOT PRIVATE")


def _chosen_range(data: Bins) -> tuple[int, int]:
    """Show the two sliders of the range, in the column's unit; return its first bin and the one behind its last."""
    low, high = data.ends(0, data.n_within)
    _set_range(data, *_bins_wanted(data))
    for column, end in zip(st.columns(2), (s.FROM, s.TO), strict=True):
        with column:
            end.said(low=low, high=high, step=(high - low) / data.n_within).draw()
    start, stop = data.bin_at(s.FROM.value), data.bin_at(s.TO.value)
    if start < stop:
        return start, stop
    if start > stop:
        st.caption("“From” lies above “to”; the range between them is shown.")
        return stop, start
    refusal(InputError("RANGE_BOUNDS", "Expected a range with at least one bin; move the sliders apart."))
    return (start, start + 1) if start < data.n_within else (start - 1, start)


def _set_range(data: Bins, start: int, stop: int) -> None:
    for end, value in zip((s.FROM, s.TO), data.ends(start, stop), strict=True):
        end.set(value)


def _bins_wanted(data: Bins) -> tuple[int, int]:
    """Edges nearest to the range asked for; the middle half where that range was meant for other data.

    It was when no bin of these is left in it, or when other data, or the ages that its default is for, came before.
    """
    wanted = s.FROM.value, s.TO.value
    start, stop = (data.bin_at(end) for end in wanted)
    is_default = wanted == (s.FROM.default, s.TO.default)
    before = st.session_state.get(_SHOWN, sample(SAMPLE).fingerprint if is_default else data.fingerprint)
    st.session_state[_SHOWN] = data.fingerprint
    lost = start == stop and wanted[0] != wanted[1]
    if lost or before != data.fingerprint:
        return data.n_within // 4, data.n_within - data.n_within // 4
    return start, stop


def _brush(data: Bins, start: float, stop: float) -> None:
    """Take the range that was dragged over a figure, rounded to edges of bins."""
    _set_range(data, data.bin_at(start), data.bin_at(stop))


def _figures(data: Bins, drawn: Ran[Draw], start: int, stop: int) -> None:
    """Show the three CDFs, and how far each cumulative count is off, which their height would hide."""
    mine = drawn.value
    lines = CdfLines(data.edges, data.truth, mine.release.cumulative, mine.consistent, (mine.band.low, mine.band.high),
                     data.truth_name)  # fmt: skip
    off = missed(mine, data.truth)
    after = "" if off.consistent is None else f", {short(off.consistent)} after"
    for key, picture, alt, caption in (
        (
            "cdf_release",
            cdf_figure,
            "True, noisy and consistent cumulative counts: the noisy ones are off by "
            f"{short(off.mean)} records on average{after} consistency.",
            f"NOT PRIVATE: one simulated release beside the exact counts. {what(mine.plan.settings)}; "
            f"{bins_in_words(data)}, {whole(data.total)} records, seed {mine.seed}. Band: 95 % for all "
            f"cumulative counts at once, {short(mine.band.multiple)} exact standard deviations to either side, from "
            f"{whole(mine.band.trials)} simulated errors, tightened by what is public. Consistent: the closest whole, "
            f"non-decreasing counts that end at N, {mine.fit} error (Rameshwar et al., Sec. VI). "
            f"Shaded: the range below; drag over the figure to choose another. {mine.release.sentence()}",
        ),
        (
            "cdf_errors",
            cdf_errors,
            f"Errors of the cumulative counts: the largest is {short(off.most)} records.",
            "NOT PRIVATE: the same release minus the true counts; 0 is exact. The band covers 0 wherever it "
            "covers the true count.",
        ),
    ):
        title = data.unit if data.numeric else "leaf, in its order"
        frame.figure(
            picture(lines, x_title=title, chosen=data.ends(start, stop)),
            key=key,
            alt=alt,
            caption=caption,
            ran=call(release_table, again(data), drawn),
            simulated=True,
            brush=partial(_brush, data),
            label=tuned.label("cdf"),
        )


def _range(data: Bins, drawn: Ran[Draw], start: int, stop: int) -> None:
    """Show the count of the range by each mechanism."""
    low, high = data.ends(start, stop)
    st.header(f"Records from {short(low, 5)} to {short(high, 5)}", anchor=False)
    many, mine = data.n_bins > MANY_BINS, drawn.value
    compare = s.COMPARE.draw() if many else True
    ran = call(range_table, again(data), drawn, start, stop, compare=compare)
    key = (mine.plan.settings, mine.fit, mine.seed, start, stop, compare)
    found = at_once("cdf_range", key, lambda: ran.value, of=data.fingerprint)
    show_state(found, "Comparing mechanisms")
    if not found.is_ready:
        return
    columns = found.here()
    st.markdown(
        f"Released: **{whole(round(columns['released count'][0]))}** records, standard deviation "
        f"{short(mine.deviation(start, stop))} · {data.truth_name}: {whole(data.within(start, stop))} (NOT PRIVATE)"
    )
    frame.table(
        given(columns, range_table, *ran.args, **ran.kwargs),
        key="cdf_range",
        alt="The count of the range by each mechanism",
        formats={
            "released count": halves,
            "st. dev. (records)": short,
            "error of this draw (NOT PRIVATE)": signed,
        },
        width="content",
        caption="One simulated release of each mechanism at the same promise, with the exact standard deviation of its "
        "error (formula; Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al., least squares by our own "
        "derivation). About 95 % of releases are within 2 of them. Consistency is no linear estimate, so it has no "
        "closed form.",
        simulated=True,
    )


def _quantiles(data: Bins, drawn: Ran[Draw]) -> None:
    st.header("Quantiles", anchor=False)
    ran = call(quantile_table, again(data), drawn)
    try:
        columns = list(ran.value)
    except InputError as error:
        refusal(error)
        return
    frame.table(
        ran,
        key="cdf_quantiles",
        alt="Quantiles with intervals",
        formats=dict.fromkeys(columns[1:], _place),
        width="content",
        caption=f"In the unit of {lit(data.unit, 40)}. Read off the consistent CDF, records spread evenly over their "
        "bin; the true quantiles' bins lie between “from” and “to” for all rows at once with 95 % probability. One "
        "simulated release; the last column is NOT PRIVATE.",
        simulated=True,
    )


def _place(value: float) -> str:
    return short(value, 5) if math.isfinite(value) else "outside the bounds"


def _distance(mine: Draw) -> None:
    """Say how far a Gaussian release is from the least error possible at its promise, for few bins."""
    if not has_bound(mine.plan):
        return
    bins = mine.plan.settings.n_bins
    apart = above_bound(mine.plan, remember(("lower bound", bins), lambda: lower_bound(bins)))
    st.markdown(
        f"This release's mean variance is **{short(apart)} times** the least that any linear Gaussian mechanism can "
        "have at the same ρ (formula; see “How far from optimal”)."
    )
