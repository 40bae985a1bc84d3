"""What the page CDF and ranges calls its releases and bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.bins import Bins
from treedp_core.studies.cdf.compare import EQUAL, Draw, Width
from treedp_core.studies.cdf.experiment import Gain
from treedp_core.studies.cdf.partition import DividedPlan, even_below
from treedp_core.studies.cdf.plan import AnyPlan
from treedp_core.studies.cdf.quantile import interval, told
from treedp_core.studies.cdf.release import ESTIMATES, PARTITION, STRATEGIES, TREE
from treedp_core.words import (
    exact,
    literal,
    lower_first,
    margin,
    percent,
    plural,
    setting_text,
    short,
    short_below,
    whole,
    with_noun,
)

PROTECTS: Final = NeighbouringRelation.REPLACE_ONE
"""Whom the paper and the bound protect."""


def what(settings: CdfSettings) -> str:
    """Return what is released, on which tree, at which budget."""
    post = "least squares" if settings.least_squares else "no least squares"
    if settings.is_by_views:
        post += f", nodes combined with their descendants, {lower_first(ESTIMATES[settings.estimate])}"
    noise, at = f"{MECHANISMS[settings.mechanism].label} noise", f"ε = {setting_text(settings.epsilon)}"
    if settings.strategy == PARTITION:
        spent = f"{setting_text(settings.epsilon / 2)} of it for the partition"
        return f"{noise} on the buckets of a {settings.way.lower()}, {post}, {at}, {spent}"
    if settings.strategy != TREE:
        return f"{noise} by the {settings.way.lower()}, {post}, {at}"
    return f"{noise} on the tree {settings.way}, {settings.allocation} budgets, {post}, {at}"


def instead(strategy: str, tree: CdfSettings) -> str:
    """Return that a tree is released in place of a matrix that was asked for."""
    return (
        f"The best tree, {tree.way}, has a smaller error here than the {STRATEGIES[strategy].label.lower()} that "
        "was found, by the exact mean squared error of the counts that you want, so it is released instead."
    )


def so_far(searched: float) -> str:
    """Return of a matrix whose search goes on, or was stopped, that its error may be smaller."""
    if searched == 1.0:
        return ""
    how_far = f"after {percent(round(searched, 2))} of its search" if searched else "at the beginning of its search"
    return f"The best matrix so far, {how_far}, which ends with less error."


def rests_on(plan: AnyPlan) -> str:
    """Return what the width of a release's band depends on."""
    if isinstance(plan, DividedPlan):
        return "where buckets end, bin by bin between; within one the band reaches from end to end, as bias is unknown"
    return "it depends on no records"


def end(mine: Draw) -> str:
    """Return what consistent counts end at."""
    release = mine.release
    is_public = release.n_records is not None and release.other is None
    return "N" if is_public else f"{whole(release.inside)}, the released number of records in all bins, rounded"


def below(mine: Draw, widths: Sequence[Width]) -> str:
    """Return what stands below the CDF."""
    if widths[0].own is not None:
        return (
            "how far the answer to each of your ranges is off at most by itself, 95 %, from its first bin to its last "
            f"(a sum at each of its parts), from {whole(mine.band.trials)} simulated errors; it depends on no records"
        )
    return (
        "half width of the band that holds for all cumulative counts at once, 95 %: "
        f"{short(mine.band.multiple)} exact standard deviations for yours, from {whole(mine.band.trials)} simulated "
        f"errors; {rests_on(mine.plan)}"
    )


def rule(settings: CdfSettings) -> str:
    """Return what can be said of a partition before any data are seen, from N, ε and K, where N is public."""
    if not settings.unit.total_is_public:
        return "N is not public here, so no rule chooses for you."
    return (
        "From public numbers alone: up to ε × N = "
        f"{short(even_below(settings.n_bins, settings.unit))} even N spread evenly over all bins has a smaller error "
        "than bins alone, whatever the counts (formula)."
    )


def median_answer(data: Bins, mine: Draw) -> str:
    """Return the median of the records in the bins as released, and where the true one lies, nineteen times in twenty.

    The interval ends at a bound where the release does not tell bins from there on apart.
    """
    of = "cut to the bounds" if data.is_cut else "within the bounds" if data.numeric else "in the listed categories"
    one = mine.median
    if one is None:
        return f"The released number of records {of} is 0 or less, so there is no median."
    value, (low, high) = _named(told(data, one)), map(_named, interval(data, one))
    opens, ends = one.first == 0, one.last == data.n_within - 1
    if opens and ends:
        lies = f"it may be anywhere from {low} to {high}"
    elif low == high:
        lies = "no other is likely"
    else:
        lies = f"at most {high}" if opens else f"at least {low}" if ends else f"{low} to {high}"
    lead = "Median" if data.numeric else "Median category, in their order:"
    whose = f" of the records {of}" if data.has_other or data.is_cut else ""
    return f"{lead} {value} ({lies}){whose}."


def others_answer(data: Bins, mine: Draw) -> str:
    """Return how many records lie in no bin as released, with a margin; nothing where these are not counted."""
    if mine.others is None:
        return ""
    count, off = mine.others
    rest = "have no number" if data.is_cut else "are outside the bounds or have no number"
    if not data.numeric:
        rest = "are in none of the listed categories"
    most = max(0.0, count + off)
    told_of = f"{whole(round(count))} ± {margin(off)}" if count > off else f"At most {whole(math.ceil(most))}"
    return f" {told_of} records {rest}."


def _named(value: float | str) -> str:
    return literal(value, 40) if isinstance(value, str) else exact(value)


def band_answer(widths: Sequence[Width], total: int) -> str:
    """Return how far off what was asked for is at most, and with another tree; `total` is the records in all bins.

    That is all cumulative counts, or so many ranges of one's own.
    """
    mine, *others = widths
    share = f" ({margin(100 * mine.largest / total)} %)" if total else ""
    every = f"all {whole(mine.half.size)} cumulative counts"
    within = f"are within ± {with_noun(margin(mine.largest), 'record')}{share} at once"
    lead, after = f"{every[0].upper()}{every[1:]} {within}", ""
    if mine.own is not None:
        n_ranges = len(mine.own.ranges)
        named = f"Your {whole(n_ranges)} ranges are all" if n_ranges > 1 else "Your range is"
        lead = f"{named} within ± {with_noun(margin(mine.asked), 'record')}"
        after = f" It is not made for {every}: ± {margin(mine.largest)}."
    lead += ", nineteen times in twenty"
    if not others:
        return f"{lead}.{after}"
    other = next((one for one in others if one.name == EQUAL), max(others, key=lambda one: one.asked))
    needs = "needs" if other.asked > mine.asked else "needs only"
    return f"{lead}; a {other.name} {needs} ± {margin(other.asked)}.{after}"


def partition_answer(plan: DividedPlan, widest: float, off: float, alone: float) -> str:
    """Return how far a release behind a partition is off where that is known, and what it does for single bins."""
    return (
        f"{plural(plan.n_buckets, 'bucket')} for {plural(plan.settings.n_within, 'bin')}: where one ends, "
        f"cumulative counts are within ± {with_noun(margin(widest), 'record')}, nineteen times in twenty; within one "
        f"only its ends are known. The error of single bins is {with_noun(short(off), 'record')} in this draw, alone "
        f"{short(alone)}."
    )


def range_in_words(data: Bins, start: int, stop: int) -> str:
    """Return where a range of bins begins and ends, in the column's unit; its first and last category by name."""
    ends = data.ends(start, stop) if data.numeric else (data.category(start), data.category(stop - 1))
    return " to ".join(_named(end) for end in ends)


def range_answer(about: str, count: float, reach: float) -> str:
    """Return the released count of a range, and how far off it is at most, nineteen times in twenty.

    >>> range_answer("18 to 65", 7312.4, 22.9)
    'From 18 to 65: 7\u202f312 ± 23 records.'
    """
    return f"From {about}: {whole(round(count))} ± {with_noun(margin(reach), 'record')}."


def error_answer(pipelines: Sequence[str], errors: Sequence[float], epsilon: float) -> str:
    """Return how far the best of pipelines is off, and how much worse the middle and the last are.

    >>> error_answer(["8 · 8", "One bin", "All"], [2.0, 4.0, 50.0], 1.0)
    'At ε = 1 the RMSE of a cumulative count is 2 records with 8 · 8; one bin: 2 times as much; all: 25 times.'
    >>> error_answer(["Gaussian, 10³", "Binary"], [2.0, 4.0], 1.0)[:66]
    'At ε = 1 the RMSE of a cumulative count is 2 records with Gaussian'
    """
    named = list(map(lower_first, pipelines))
    times = [f"{name}: {short(error / errors[0])} times" for name, error in zip(named, errors, strict=True)]
    return (
        f"At ε = {setting_text(epsilon)} the RMSE of a cumulative count is {with_noun(short(errors[0]), 'record')} "
        f"with {named[0]}; {times[len(times) // 2]} as much; {times[-1]}."
    )


def bound_of_all(pure: float, both: float, epsilon: float, delta: float) -> str:
    """Return what RMSE every mechanism has at least, without and with δ.

    >>> bound_of_all(2.0, 1.5, 1.0, 1e-6)
    'Every mechanism, linear or not, has an RMSE of at least 2 records at ε = 1, and 1.5 with δ = 1e-6.'
    >>> bound_of_all(2.0, 1.9999, 1.0, 1e-6)[-57:]
    'at least 1.99 records at ε = 1, with δ = 1e-6 or without.'
    """
    without, with_delta = short_below(pure), short_below(both)
    same = both >= 0.995 * pure
    return (
        f"Every mechanism, linear or not, has an RMSE of at least "
        f"{with_noun(with_delta if same else without, 'record')} at ε = {setting_text(epsilon)}, "
        + (
            f"with δ = {setting_text(delta)} or without."
            if same
            else f"and {with_delta} with δ = {setting_text(delta)}."
        )
    )


def bound_answer(errors: Sequence[float], epsilon: float, delta: float) -> str:
    """Return the same, and a tree and a matrix beside it: RMSE of these four.

    >>> bound_answer([2.0, 1.0, 5.0, 4.0], 1.0, 1e-6)[97:163]
    'The best tree with Laplace noise has 5 records, 2.5 times as much;'
    """
    pure, both, tree, matrix = errors
    return (
        f"{bound_of_all(pure, both, epsilon, delta)} The best tree with Laplace noise has "
        f"{with_noun(short(tree), 'record')}, {short(tree / pure)} times as much; the optimal matrix with Gaussian "
        f"noise has {with_noun(short(matrix), 'record')}, {short(matrix / both)} times as much."
    )


def gain_answer(rows: Sequence[Gain]) -> str:
    """Return what consistency does to the published release, and how much closer the best of ours comes.

    >>> paper = Gain("paper: histogram", 18.54, 0.0, 10.72, 0.0)
    >>> gain_answer([paper])
    'Consistency takes the published release from 18.5 to 10.7; ours are being drawn.'
    >>> gain_answer([paper, Gain("padded 10³", 6.0, 0.1, 3.5, 0.1)])[55:]
    '.7; our best, padded 10³, comes to 3.5, 3.06 times as close at the same ε.'
    """
    paper, *ours = rows
    lead = f"Consistency takes the published release from {short(paper.before)} to {short(paper.after)};"
    if not ours:
        return f"{lead} ours are being drawn."
    best = min(ours, key=lambda row: row.after)
    closer = short(paper.after / best.after)
    return f"{lead} our best, {best.label}, comes to {short(best.after)}, {closer} times as close at the same ε."


def bins_in_words(data: Bins) -> str:
    """Return how many bins there are, that they are not equally wide, and that other records are counted apart."""
    widths = "" if data.are_equal else " of unequal width"
    return plural(data.n_within, "bin") + widths + data.has_other * ", other records counted apart"
