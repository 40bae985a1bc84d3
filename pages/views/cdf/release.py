"""The error band on the page CDF and ranges; and of one release a range by every mechanism, and the quantiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import streamlit as st

from pages.ui import frame, plans, tuned
from pages.ui.page import Told
from pages.ui.refusals import refusal
from pages.ui.result import at_once, show_state
from pages.ui.store import remember, sample, unit_of
from pages.ui.strip import strip
from pages.ui.text import lit, prose, small_print
from pages.views.cdf import settings as s
from pages.views.cdf.draw import controls, drawn_of, more_controls
from pages.views.cdf.partition import partition
from pages.views.cdf.source import SAMPLE, again, choose
from pages.views.cdf.words import (
    band_answer,
    bins_in_words,
    median_answer,
    others_answer,
    partition_answer,
    range_answer,
    range_in_words,
    rests_on,
    what,
)
from treedp_core.checks import InputError
from treedp_core.figures.cdf import CdfLines, band_figure, cdf_errors
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.code import Ran, call, given
from treedp_core.plans import ReleasePlan
from treedp_core.plans.made import NO_PARTITION
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import plan_cdf
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import (
    Draw,
    draw,
    missed,
    quantile_table,
    query_table,
    range_table,
    release_table,
)
from treedp_core.studies.cdf.matrices.plan import MatrixPlan, matrix_ledger
from treedp_core.studies.cdf.matrices.wanted import Ranges, terms_of
from treedp_core.studies.cdf.partition import DividedPlan, off_and_alone
from treedp_core.studies.cdf.pipelines import above_bound, has_bound, lower_bound
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.studies.cdf.widths import Width, half_widths, width_table
from treedp_core.tree.workloads import range_count
from treedp_core.words import above_least, exact, halves, margin, short, signed, whole

MANY_BINS: Final = 1 << 13
"""Bins from which on the comparison of mechanisms takes seconds, and is asked for."""
_SHOWN: Final = "_cdf_data_shown"


class _Shown(NamedTuple):
    """What is shown: a release, half widths of bands, and a range of bins."""

    data: Bins
    mine: Draw
    drawn: Ran[Draw]
    widths: Ran[list[Width]]
    start: int
    stop: int

    @property
    def ends(self) -> tuple[float, float]:
        """The range, in the column's unit."""
        return self.data.ends(self.start, self.stop)

    @property
    def said(self) -> str:
        """The range in words."""
        return range_in_words(self.data, self.start, self.stop)


def show() -> Told:
    """Show how far the band of a release reaches, beside those of other trees, and a range of it."""
    data, say_of_bins = choose(controls)
    mine, say = drawn_of(data)
    _set_range(data, *_bins_wanted(data, mine.plan.settings.ranges))
    start, stop, told_of_range = _chosen_range(data)
    plan: Any = mine.plan
    drawn = given(mine, draw, given(plan, plan_cdf, plan.settings).named("plan"),
                  again(data).get("counts"), mine.fit, mine.seed).named("drawn")  # fmt: skip
    used, compare = mine.plan.settings, data.n_bins <= MANY_BINS or s.COMPARE.value
    key = (used, compare, mine.seed if isinstance(mine.plan, DividedPlan) else None)
    known = at_once("cdf_widths", key, lambda: half_widths(mine, compare=compare), of=data.fingerprint).here()
    widths = given(known, half_widths, drawn, compare=compare).named("widths")
    shown = _Shown(data, mine, drawn, widths, start, stop)
    _figure(shown)
    say_of_bins()
    say()
    told_of_range()
    if mine.refused is not None:
        refusal(mine.refused)
    told = strip(
        lit(data.name, 40),
        bins_in_words(data),
        *(() if data.numeric else ("leaves in their order, as bins",)),
        *(("half of ε for the partition",) if isinstance(mine.plan, DividedPlan) else ()),
        relation=NeighbouringRelation(used.relation),
        epsilon=used.epsilon,
        delta=used.delta if MECHANISMS[used.mechanism].needs_delta else 0.0,
        seed=mine.seed,
    )
    return Told(told, "formula, simulation, NOT PRIVATE", more=partial(_more, shown), data=again(data).args[0].value)


def _more(shown: _Shown) -> None:
    more_controls()
    _sliders(shown.data)
    _own_ranges(shown)
    _errors(shown)
    _range(shown)
    _quantiles(shown.data, shown.drawn)
    _distance(shown.mine)
    if isinstance(shown.mine.plan, MatrixPlan):
        _ledger(shown.drawn)
    if isinstance(shown.mine.plan, DividedPlan):
        partition(shown.data, shown.mine, shown.drawn)
        small_print(f":material/block: {NO_PARTITION}")
    else:
        plans.button("cdf", partial(_planned, shown), "from CDF and ranges")


def _planned(shown: _Shown) -> Ran[ReleasePlan]:
    """The plan of what is released here, of which the data set that the bins come from knows more."""
    plan: Any = shown.mine.plan
    ready = given(plan, plan_cdf, plan.settings).named("ready")
    bins = again(shown.data)
    counted = bins.args[0]
    origin = tuned.in_force("cdf") if s.TREE.value not in STRATEGIES else None
    return call(
        ReleasePlan.of, ready, bins, counted=counted, whom=unit_of(counted.value), **tuned.of_plan(origin)
    ).named("plan")


def _ledger(drawn: Ran[Draw]) -> None:
    """Show what noise on a matrix spends: all at once."""
    frame.table(
        call(matrix_ledger, drawn.get("plan")),
        key="cdf_ledger",
        alt="What the release spends",
        width="content",
        caption="One release of whole numbers: the matrix, rounded to whole numbers, times the counts, plus noise. The "
        "sensitivity is that of this rounded matrix; turning its answers into cumulative counts costs nothing.",
    )


def _sliders(data: Bins) -> None:
    """Show the two ends of the range, in the column's unit."""
    low, high = data.ends(0, data.n_within)
    for column, end in zip(st.columns(2), (s.FROM, s.TO), strict=True):
        with column:
            end.said(low=low, high=high, step=data.step).draw()


def _chosen_range(data: Bins) -> tuple[int, int, Callable[[], object]]:
    """Return the range's first bin, the one behind its last, and what says what is wrong with it."""
    start, stop = data.bin_at(s.FROM.value), data.bin_at(s.TO.value)
    if start < stop:
        return start, stop, lambda: None
    if start > stop:
        return stop, start, partial(small_print, "“From” lies above “to”; the range between them is shown.")
    error = InputError("RANGE_BOUNDS", "Expected a range with at least one bin; move the sliders apart.")
    start, stop = (start, start + 1) if start < data.n_within else (start - 1, start)
    return start, stop, partial(refusal, error)


def _set_range(data: Bins, start: int, stop: int) -> None:
    for end, value in zip((s.FROM, s.TO), data.ends(start, stop), strict=True):
        end.set(value)


def _bins_wanted(data: Bins, own: Ranges) -> tuple[int, int]:
    """Edges nearest to the range asked for, where it was meant for these data and ranges of one's own.

    Else the first of those ranges, or the middle half. It was meant for others when no bin of these is left in it, or
    when others, or the ages that its default is for, came before.
    """
    wanted = s.FROM.value, s.TO.value
    start, stop = (data.bin_at(end) for end in wanted)
    is_default = wanted == (s.FROM.default, s.TO.default)
    here = (data.fingerprint, own)
    before = st.session_state.get(_SHOWN, (sample(SAMPLE).fingerprint, ()) if is_default else here)
    st.session_state[_SHOWN] = here
    lost = start == stop and wanted[0] != wanted[1]
    first, last, _ = terms_of(own[0])[0] if own else (1, 0, 0.0)
    if before != here and first <= min(last, data.n_within):
        return first - 1, min(last, data.n_within)
    if lost or before[0] != data.fingerprint:
        return data.n_within // 4, data.n_within - data.n_within // 4
    return start, stop


def _brush(data: Bins, start: float, stop: float) -> None:
    """Take the range that was dragged over a figure, rounded to edges of bins."""
    _set_range(data, data.bin_at(start), data.bin_at(stop))


def _lines(shown: _Shown) -> Ran[CdfLines]:
    data, drawn = again(shown.data), shown.drawn
    band = (drawn.get("band.low"), drawn.get("band.high"))
    return call(
        CdfLines, data.get("edges"), data.get("truth"), drawn.get("release.cumulative"), drawn.get("consistent"), band,
        shown.data.truth_name,
    ).named("shown")  # fmt: skip


def _figure(shown: _Shown) -> None:
    """Show the half widths of the bands, and the CDF above them; a drag chooses the range."""
    data, mine, widths = shown.data, shown.mine, shown.widths.value
    count = float(range_count(mine.release.cumulative, shown.start, shown.stop))
    if isinstance(mine.plan, DividedPlan):
        errors = off_and_alone(mine.plan, mine.release, data.counts)
        answer = partition_answer(mine.plan, widths[0].largest, *errors)
    else:
        answer = band_answer(widths, mine.release.inside)
    answer = f"{median_answer(data, mine)} {answer}"
    asked = widths[0].own
    reach = None if asked is None else asked.of_range(shown.start, shown.stop)
    reach = mine.margin(shown.start, shown.stop) if reach is None else reach
    frame.figure(
        call(band_figure, _lines(shown), shown.widths, x_title=data.unit, chosen=shown.ends),
        key="cdf_release",
        alt=answer,
        answer=f"{answer} {range_answer(shown.said, count, reach)}{others_answer(data, mine)}",
        caption=f"Below: {_below(shown)}. The other trees have the same mechanism, budget and least squares.\n\n"
        f"Above: NOT PRIVATE: one simulated release beside the exact counts. {what(mine.plan.settings)}; "
        f"{bins_in_words(data)}, {whole(data.total)} records, seed {mine.seed}. The band is tightened by what is "
        f"public. Consistent: the closest whole, non-decreasing counts that end at {_end(shown)}, {mine.fit} error "
        f"(Rameshwar et al., Sec. VI). Shaded: the range. {mine.release.sentence()}",
        how="Drag over the figure to choose another range.",
        ran=call(width_table, again(data), shown.drawn, shown.widths),
        simulated=True,
        brush=partial(_brush, data),
        label=tuned.label("cdf"),
    )


def _end(shown: _Shown) -> str:
    """What consistent counts end at."""
    release = shown.mine.release
    is_public = release.n_records is not None and release.other is None
    return "N" if is_public else f"{whole(release.inside)}, the released number of records in all bins, rounded"


def _below(shown: _Shown) -> str:
    """What stands below the CDF."""
    band, asked = shown.mine.band, shown.widths.value[0].own
    if asked is not None:
        return (
            "how far the answer to each of your ranges is off at most by itself, 95 %, from its first bin to its last "
            f"(a sum at each of its parts), from {whole(band.trials)} simulated errors; it depends on no records"
        )
    return (
        "half width of the band that holds for all cumulative counts at once, 95 %: "
        f"{short(band.multiple)} exact standard deviations for yours, from {whole(band.trials)} simulated errors; "
        f"{rests_on(shown.mine.plan)}"
    )


def _errors(shown: _Shown) -> None:
    """Show how far each cumulative count of the release is off, which the height of a CDF would hide."""
    off = missed(shown.mine, shown.data.truth)
    after = "" if off.consistent is None else f", {short(off.consistent)} after consistency"
    frame.figure(
        call(cdf_errors, _lines(shown), x_title=shown.data.unit, chosen=shown.ends),
        key="cdf_errors",
        alt=f"Errors of the cumulative counts: on average {short(off.mean)} records{after}, at most "
        f"{margin(off.most)}.",
        caption="NOT PRIVATE: the release minus the true counts; 0 is exact. The band covers 0 wherever it covers the "
        "true count.",
        ran=call(release_table, again(shown.data), shown.drawn),
        simulated=True,
        brush=partial(_brush, shown.data),
        label=tuned.label("cdf"),
    )


def _range(shown: _Shown) -> None:
    """Show the count of the range by each mechanism."""
    data, mine, start, stop = shown.data, shown.mine, shown.start, shown.stop
    st.header(f"Records from {shown.said}", anchor=False)
    compare = s.COMPARE.draw() if data.n_bins > MANY_BINS else True
    ran = call(range_table, again(data), shown.drawn, start, stop, compare=compare)
    key = (mine.plan.settings, mine.fit, mine.seed, start, stop, compare)
    found = at_once("cdf_range", key, lambda: ran.value, of=data.fingerprint)
    show_state(found, "Comparing mechanisms")
    if not found.is_ready:
        return
    columns = found.here()
    prose(f"{data.truth_name}: {whole(data.within(start, stop))} (NOT PRIVATE)")
    frame.table(
        given(columns, range_table, *ran.args, **ran.kwargs),
        key="cdf_range",
        alt="The count of the range by each mechanism",
        formats={
            "released": halves,
            "st. dev.": short,
            "error (NOT PRIVATE)": signed,
        },
        width="content",
        caption="In records: one simulated release of each mechanism at the same promise, with the exact standard "
        "deviation of its error (formula; Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al., least squares "
        "by our own derivation), the least first. About 95 % of releases are within 2 of them. Consistency is no "
        "linear estimate, so it has no closed form.",
        simulated=True,
    )


def _own_ranges(shown: _Shown) -> None:
    """Show the answers to ranges of one's own, where the release is made for them."""
    ranges = shown.mine.plan.settings.ranges
    if not ranges:
        return
    st.header("Own ranges", anchor=False)
    frame.table(
        call(query_table, shown.drawn, ranges),
        key="cdf_own",
        alt="The released answer to each of your ranges",
        formats={"released": halves, "st. dev. (records)": short},
        width="content",
        caption="Bins are counted from 1. One simulated release; exact standard deviation of its error by formula: "
        "about 95 % of releases are within 2 of them.",
        simulated=True,
    )


def _quantiles(data: Bins, drawn: Ran[Draw]) -> None:
    st.header("Quantiles", anchor=False)
    ran = call(quantile_table, again(data), drawn)
    columns = ran.value
    if not columns["quantile"]:
        prose(median_answer(data, drawn.value))
        return
    unit = f"In the unit of {lit(data.unit, 40)}, no finer than a bin" if data.numeric else "Categories in their order"
    frame.table(
        ran,
        key="cdf_quantiles",
        alt="Quantiles with intervals",
        formats=dict.fromkeys(list(columns)[1:], exact) if data.numeric else {},
        width="content",
        caption=f"{unit}, of the records in the bins alone. Read off the consistent CDF, records spread evenly over "
        "their bin and rounded down; the bin of the true quantile lies between “from” and “to” in 95 % of releases, "
        "each row by itself (exact variance of F(k) − p F(K), closed form). One simulated release; the last column is "
        "NOT PRIVATE.",
        simulated=True,
    )


def _distance(mine: Draw) -> None:
    """Say how far a Gaussian release is from the least error possible at its promise, for few bins."""
    if not has_bound(mine.plan):
        return
    bins = mine.plan.settings.n_bins
    apart = above_bound(mine.plan, remember(("lower bound", bins), lambda: lower_bound(bins)))
    prose(
        f"The mean variance of this release's cumulative counts is **{above_least(apart)}** that any linear Gaussian "
        "mechanism can have at the same ρ (formula; see “How far from optimal”)."
    )
