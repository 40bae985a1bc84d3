"""What stands under *More* beside a release of cumulative counts: errors, ranges, quantiles, and what it spends."""

from __future__ import annotations

from functools import partial
from typing import Final

from treedp_core.figures.cdf import cdf_errors
from treedp_core.privacy.prior_provenance import CHOOSE
from treedp_core.studies.cdf.compare import (
    missed,
    quantile_table,
    query_table,
    range_table,
    release_table,
)
from treedp_core.studies.cdf.matrices.plan import MatrixPlan, Sought, matrix_ledger
from treedp_core.studies.cdf.partition import (
    MOST_SIMULATED,
    DividedPlan,
    dawa_table,
    partition_ledger,
    when_it_pays,
)
from treedp_core.studies.cdf.pipelines import above_bound, has_bound, lower_bound
from treedp_core.views.cdf import words
from treedp_core.views.cdf.inputs import CdfInputs, sample_of
from treedp_core.views.cdf.release import BADGES, MANY_BINS, error_band, provenance, releases, search, searched, shown
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.words import above_least, literal, margin, short, whole

TRIALS: Final = 10
"""Releases each way, where it is simulated when a partition pays."""


def errors(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return how far each cumulative count of the release is off, which the height of a CDF would hide."""
    of = shown(inputs, tables, slow, memo)
    off = missed(of.mine, of.data.truth)
    after = "" if off.consistent is None else f", {short(off.consistent)} after consistency"
    return Finding(
        provenance=provenance(of, tables),
        figure=cdf_errors(of.lines, x_title=of.data.unit, chosen=of.ends),
        columns=partial(release_table, of.data, of.mine),
        caption="NOT PRIVATE: the release minus the true counts; 0 is exact. The band covers 0 wherever it covers the "
        "true count.",
        alt=f"Errors of the cumulative counts: on average {short(off.mean)} records{after}, at most "
        f"{margin(off.most)}.",
        label=inputs.label,
        badges=BADGES[1:],
        is_simulated=True,
    )


def own_ranges(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return the answers to ranges of one's own, where the release is made for them."""
    of = shown(inputs, tables, slow, memo)
    ranges = of.settings.ranges
    return Finding(
        provenance=provenance(of, tables),
        columns=partial(query_table, of.mine, ranges) if ranges else None,
        caption="NOT PRIVATE: one simulated release; bins are counted from 1. Exact standard deviation of its error by "
        "formula: about 95 % of releases are within 2 of them.",
        alt="The released answer to each of your ranges",
        badges=BADGES,
        is_simulated=True,
    )


def one_range(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return the count of the range by each mechanism."""
    of = shown(inputs, tables, slow, memo)
    compare = of.data.n_bins <= MANY_BINS or inputs.compare
    made = (of.settings, inputs.fit, of.mine.seed, searched(slow))
    key = ("cdf.range", tables.fingerprints, *made, of.start, of.stop, compare)
    columns = memo(key, lambda: range_table(of.data, of.mine, of.start, of.stop, compare=compare))
    return Finding(
        provenance=provenance(of, tables),
        columns=lambda: columns,
        answer=f"{of.data.truth_name}: {whole(of.data.within(of.start, of.stop))} (NOT PRIVATE)",
        caption="In records: one simulated release of each mechanism at the same promise, with the exact standard "
        "deviation of its error (formula; Lemmas III.1 and III.2 and Theorem IV.1 of Rameshwar et al., least squares "
        "by our own derivation), the least first. About 95 % of releases are within 2 of them. Consistency is no "
        "linear estimate, so it has no closed form.",
        alt="The count of the range by each mechanism",
        badges=BADGES,
        is_simulated=True,
    )


def quantiles(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return the quantiles of the records in the bins, with intervals."""
    of = shown(inputs, tables, slow, memo)
    columns, data = quantile_table(of.data, of.mine), of.data
    if not columns["quantile"]:
        return Finding(answer=words.median_answer(data, of.mine))
    unit = "Categories in their order"
    if data.numeric:
        unit = f"In the unit of {literal(data.unit, 40)}, no finer than a bin"
    return Finding(
        provenance=provenance(of, tables),
        columns=lambda: columns,
        caption=f"{unit}, of the records in the bins alone. Read off the consistent CDF, records spread evenly over "
        "their bin and rounded down; the bin of the true quantile lies between “from” and “to” in 95 % of releases, "
        "each row by itself (exact variance of F(k) − p F(K), closed form). One simulated release; the last column is "
        "NOT PRIVATE.",
        alt="Quantiles with intervals",
        badges=BADGES,
        is_simulated=True,
    )


def distance(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return how far a Gaussian release is from the least error possible at its promise, for few bins."""
    of = shown(inputs, tables, slow, memo)
    if not has_bound(of.mine.plan):
        return Finding()
    bins = of.settings.n_bins
    apart = above_bound(of.mine.plan, memo(("cdf.bound", bins), lambda: lower_bound(bins)))
    return Finding(
        provenance=provenance(of, tables),
        answer=f"The mean variance of this release's cumulative counts is **{above_least(apart)}** that any linear "
        "Gaussian mechanism can have at the same ρ (formula; see “How far from optimal”).",
        badges=BADGES[:1],
    )


def spent(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return what noise on a matrix, or behind a partition, spends; nothing of a tree."""
    of = shown(inputs, tables, slow, memo)
    plan = of.mine.plan
    if isinstance(plan, MatrixPlan):
        columns, caption = (
            matrix_ledger(plan),
            "One release of whole numbers: the matrix, rounded to whole numbers, times the counts, plus noise. The "
            "sensitivity is that of this rounded matrix; turning its answers into cumulative counts costs nothing.",
        )
    elif isinstance(plan, DividedPlan):
        columns, caption = (
            partition_ledger(plan),
            "Noisy deviations of fixed intervals decide which bins have alike counts, whatever their widths; what is "
            "decided from them costs nothing. A record lies in one interval of each length, so it moves all deviations "
            "together by at most the sensitivity (proved in the code's documentation).",
        )
    else:
        return Finding()
    return Finding(
        provenance=provenance(of, tables),
        columns=lambda: columns,
        caption=caption,
        alt="What the release spends",
        badges=BADGES[:1],
    )


def when_partition_pays(
    inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful
) -> Finding:
    """Return when a partition pays, on the counts in use."""
    of = shown(inputs, tables, slow, memo)
    settings = of.settings
    if not isinstance(of.mine.plan, DividedPlan):
        return Finding()
    if of.data.n_bins > MOST_SIMULATED:
        return Finding(answer=f"Simulated for up to {whole(MOST_SIMULATED)} bins.")
    key = ("cdf.when", tables.fingerprints, settings, of.mine.seed)
    columns = memo(key, lambda: when_it_pays(settings, of.data.counts, TRIALS, of.mine.seed))
    return Finding(
        provenance=provenance(of, tables),
        columns=lambda: columns,
        caption=f"Errors over those without a partition: below 1 it pays. Root mean squared, of {TRIALS} releases each "
        "way at the same ε, ± 95 %, both made consistent; without: the same kind of tree above all bins. AHP (Zhang "
        "et al., 2014) is a named baseline, and counts bins together that are alike wherever they are. NOT PRIVATE: "
        f"simulated on the counts in use. {CHOOSE} {words.rule(settings)}",
        alt="The error with a partition over that without, at several ε",
        badges=BADGES[1:],
        is_simulated=True,
    )


def dawa(inputs: CdfInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return why the first stage of DAWA is an exhibit: what it spends by its own account, and what it loses."""
    columns = memo("cdf.dawa", lambda: dawa_table(1.0))
    chances, losses = columns["P(three single bins)"], columns["loss"]
    return Finding(
        columns=lambda: columns,
        caption=f"One record more makes three single bins {short(chances[1] / chances[0])} times as likely: a loss of "
        f"{short(losses[1])}, above the ε = 1 that the stage spends by its own account, as its benchmark's code has it "
        "(noise for each interval as if no other were asked for, none on single bins). So it is an exhibit, and "
        "nothing here releases with it. Formula; after Li, Hay, Miklau and Wang (2014).",
        alt="How often the first stage of DAWA keeps three bins apart, on two neighbours",
        badges=BADGES[:1],
    )


_entry = partial(Entry, page="cdf", view="release", inputs=CdfInputs, sample=sample_of, slow=search, start="auto")
ENTRIES = (
    _entry(part="cdf_release", label="Error band", question="How many are at most x, and how sure is that?",
           find=error_band, releases=releases),
    _entry(part="cdf_own", section="own", find=own_ranges),
    _entry(part="cdf_errors", section="errors", find=errors),
    _entry(part="cdf_range", section="range", find=one_range),
    _entry(part="cdf_quantiles", section="quantiles", find=quantiles),
    _entry(part="cdf_distance", section="distance", find=distance),
    _entry(part="cdf_ledger", section="spent", find=spent),
    _entry(part="cdf_when", section="when", find=when_partition_pays),
    Entry(page="cdf", view="release", section="dawa", part="cdf_dawa", inputs=CdfInputs, sample=sample_of, find=dawa),
)  # fmt: skip
