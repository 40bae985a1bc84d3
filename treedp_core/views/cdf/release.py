"""One release of cumulative counts beside the truth: its band, errors, ranges and quantiles, and what it spends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from treedp_core.checks import InputError
from treedp_core.figures.cdf import CdfLines, band_figure, cdf_errors
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.paired import AnySide
from treedp_core.notebook.sides import CdfSide
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.origin import CHOOSE, NOT_PRIVATE, Origin
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.compare import (
    Draw,
    draw,
    missed,
    quantile_table,
    query_table,
    range_table,
    release_table,
)
from treedp_core.studies.cdf.exhibit import dawa_table
from treedp_core.studies.cdf.matrices.plan import SEARCHES, Matrix, MatrixPlan, Sought, matrix_ledger, seek
from treedp_core.studies.cdf.matrices.wanted import OWN
from treedp_core.studies.cdf.partition import (
    MOST_SIMULATED,
    DividedPlan,
    off_and_alone,
    partition_ledger,
    when_it_pays,
)
from treedp_core.studies.cdf.pipelines import above_bound, has_bound, lower_bound
from treedp_core.studies.cdf.release import STRATEGIES, CdfPlan
from treedp_core.studies.cdf.widths import Width, half_widths, width_table
from treedp_core.tree.workloads import range_count
from treedp_core.views import tuning
from treedp_core.views.cdf import words
from treedp_core.views.cdf.inputs import CdfInputs, sample_of
from treedp_core.views.entries import ON_ITS_WAY, Entry, Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.words import above_least, literal, margin, short, whole

AT_ONCE: Final = 128
"""Bins up to which a matrix is sought while one waits."""
MATRICES: Final = 3
"""How many a session keeps: of 1 024 bins each takes 4 MB, and 8 MB more once it is used."""
MANY_BINS: Final = 1 << 13
"""Bins from which on the comparison of mechanisms takes seconds, and is asked for."""
TRIALS: Final = 10
"""Releases each way, where it is simulated when a partition pays."""
BADGES: Final = ("formula", "simulation", NOT_PRIVATE)


@dataclass(frozen=True, eq=False)
class Shown:
    """What is shown: bins, a draw of their release, and the range that is read off.

    Parameters
    ----------
    data : Bins
    mine : Draw
    start, stop : int
        First bin of the range, and the one behind its last.
    note : str
        What must be said of the range.
    """

    data: Bins
    mine: Draw
    start: int
    stop: int
    note: str = ""

    @property
    def settings(self) -> CdfSettings:
        """Of the release."""
        return self.mine.plan.settings

    @property
    def ends(self) -> tuple[float, float]:
        """The range, in the column's unit."""
        return self.data.ends(self.start, self.stop)

    @property
    def lines(self) -> CdfLines:
        """What is drawn of the release."""
        data, mine = self.data, self.mine
        band = (mine.band.low, mine.band.high)
        return CdfLines(data.edges, data.truth, mine.release.cumulative, mine.consistent, band, data.truth_name)


def search(inputs: CdfInputs, tables: Tables) -> Work | None:
    """Return the search for the matrix, where the release is by one that is sought for many bins."""
    strategy = None if inputs.is_tree else STRATEGIES[inputs.tree]
    if strategy is None or not strategy.sought or inputs.mechanism not in strategy.mechanisms:
        return None
    settings = inputs.settings(bins_of(tables.data), tables)
    if settings.n_bins <= AT_ONCE:
        return None
    steps = SEARCHES[inputs.tree].steps
    return Work(
        seek, (inputs.tree, settings.wanted, settings.unit.by_pairs), (), lambda: steps, name="matrix", is_exact=True,
        slot="matrix", room=MATRICES, is_shared=inputs.workload != OWN,
    )  # fmt: skip


def shown(inputs: CdfInputs, tables: Tables, slow: Sought | None = None, memo: Memo = forgetful) -> Shown:
    """Return what is shown of a release; it refuses as `error_band` does."""
    data = memo(("cdf.bins", tables.data.fingerprint), lambda: bins_of(tables.data))
    settings = inputs.settings(data, tables, memo)
    key = ("cdf.draw", tables.fingerprints, settings, inputs.fit, inputs.seed, inputs.tuned_on)
    mine = memo(key, lambda: _drawn(inputs, data, settings, slow))
    return Shown(data, mine, *inputs.bins_between(data))


def _drawn(inputs: CdfInputs, data: Bins, settings: CdfSettings, matrix: Matrix | None) -> Draw:
    strategy = STRATEGIES[settings.strategy]
    if strategy.sought and matrix is None and settings.mechanism in strategy.mechanisms and settings.n_bins > AT_ONCE:
        raise InputError(ON_ITS_WAY, f"The {strategy.label.lower()} is still sought: see how far it is on its page.")
    plan = plan_cdf(settings, matrix)
    if inputs.origin is not None and isinstance(plan, CdfPlan):
        tuning.admit(inputs.origin, settings.unit, plan.budget.currency, plan.total, plan.budget.per_level)
    return draw(plan, data.counts, inputs.fit, inputs.seed)


def error_band(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return how far the band of a release reaches, beside those of other trees, and a range of it.

    Parameters
    ----------
    slow : Sought, optional
        The matrix, where one is sought: `search` says how. One of few bins is sought at once.

    Raises
    ------
    InputError
        ``ON_ITS_WAY`` where a matrix of many bins is not there; what `CdfInputs.settings`, `plan_cdf` and `bins_of`
        refuse; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what shares were tuned on does not go with them.
    """
    of = shown(inputs, tables, slow, memo)
    data, mine, settings = of.data, of.mine, of.settings
    widths = _widths(inputs, tables, of, memo)
    count = float(range_count(mine.release.cumulative, of.start, of.stop))
    if isinstance(mine.plan, DividedPlan):
        errors = off_and_alone(mine.plan, mine.release, data.counts)
        answer = words.partition_answer(mine.plan, widths[0].largest, *errors)
    else:
        answer = words.band_answer(widths, mine.release.inside)
    answer = f"{words.median_answer(data, mine)} {answer}"
    reach = None if widths[0].own is None else widths[0].own.of_range(of.start, of.stop)
    reach = mine.margin(of.start, of.stop) if reach is None else reach
    said = words.range_answer(words.range_in_words(data, of.start, of.stop), count, reach)
    is_instead = settings.strategy != inputs.tree and not inputs.is_tree
    notes = (
        of.note,
        words.instead(inputs.tree, settings) if is_instead else "",
        "" if mine.refused is None else f"Consistent counts are left out. {mine.refused}",
    )
    return Finding(
        figure=band_figure(of.lines, widths, x_title=data.unit, chosen=of.ends),
        columns=partial(width_table, data, mine, widths),
        answer=f"{answer} {said}{words.others_answer(data, mine)}",
        caption=f"Below: {words.below(mine, widths)}. The other trees have the same mechanism, budget and least "
        f"squares.\n\nAbove: NOT PRIVATE: one simulated release beside the exact counts. {words.what(settings)}; "
        f"{words.bins_in_words(data)}, {whole(data.total)} records, seed {mine.seed}. The band is tightened by what is "
        f"public. Consistent: the closest whole, non-decreasing counts that end at {words.end(mine)}, {mine.fit} error "
        f"(Rameshwar et al., Sec. VI). Shaded: the range. {mine.release.sentence()}",
        how="Drag over the figure to choose another range.",
        alt=answer,
        notes=tuple(filter(None, notes)),
        label=inputs.label,
        badges=BADGES,
        provenance=_provenance(of, tables),
        is_simulated=True,
    )


def _widths(inputs: CdfInputs, tables: Tables, of: Shown, memo: Memo) -> list[Width]:
    compare = of.data.n_bins <= MANY_BINS or inputs.compare
    seed = of.mine.seed if isinstance(of.mine.plan, DividedPlan) else None
    key = ("cdf.widths", tables.fingerprints, of.settings, compare, seed)
    return memo(key, lambda: half_widths(of.mine, compare=compare))


def _provenance(of: Shown, tables: Tables) -> Provenance:
    settings, data = of.settings, of.data
    about = [UserText(tables.data.name), words.bins_in_words(data)]
    about += [] if data.numeric else ["leaves in their order, as bins"]
    about += ["half of ε for the partition"] if isinstance(of.mine.plan, DividedPlan) else []
    return Provenance(
        about=tuple(about), relation=NeighbouringRelation(settings.relation), epsilon=settings.epsilon,
        delta=settings.delta if MECHANISMS[settings.mechanism].needs_delta else 0.0, seed=of.mine.seed,
    )  # fmt: skip


def errors(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return how far each cumulative count of the release is off, which the height of a CDF would hide."""
    of = shown(inputs, tables, slow, memo)
    off = missed(of.mine, of.data.truth)
    after = "" if off.consistent is None else f", {short(off.consistent)} after consistency"
    return Finding(
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
        columns=partial(query_table, of.mine, ranges) if ranges else None,
        caption="Bins are counted from 1. One simulated release; exact standard deviation of its error by formula: "
        "about 95 % of releases are within 2 of them.",
        alt="The released answer to each of your ranges",
        badges=BADGES[:2],
        is_simulated=True,
    )


def one_range(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return the count of the range by each mechanism."""
    of = shown(inputs, tables, slow, memo)
    compare = of.data.n_bins <= MANY_BINS or inputs.compare
    key = ("cdf.range", tables.fingerprints, of.settings, inputs.fit, of.mine.seed, of.start, of.stop, compare)
    columns = memo(key, lambda: range_table(of.data, of.mine, of.start, of.stop, compare=compare))
    return Finding(
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
        answer=f"The mean variance of this release's cumulative counts is **{above_least(apart)}** that any linear "
        "Gaussian mechanism can have at the same ρ (formula; see “How far from optimal”).",
        badges=BADGES[:1],
    )


def spent(inputs: CdfInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful) -> Finding:
    """Return what noise on a matrix, or behind a partition, spends; nothing of a tree."""
    plan = shown(inputs, tables, slow, memo).mine.plan
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
    return Finding(columns=lambda: columns, caption=caption, alt="What the release spends", badges=BADGES[:1])


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


def release_plan(
    inputs: CdfInputs, tables: Tables, *, whom: str, tuned: Origin | None = None, slow: Sought | None = None
) -> ReleasePlan:
    """Return the plan of the release; `whom` is one unit, `tuned` what its split or its ε was tuned on.

    Raises
    ------
    InputError
        As `error_band` and `ReleasePlan.of`; a partition has no plan.
    """
    data = bins_of(tables.data)
    ready = plan_cdf(inputs.settings(data, tables), slow)
    return ReleasePlan.of(ready, data, counted=tables.data, whom=whom, tuned=tuned)


def releases(inputs: CdfInputs, tables: Tables) -> list[AnySide]:
    """Return the release, to be drawn beside others on the same noise."""
    data = bins_of(tables.data)
    return [CdfSide("release", inputs.settings(data, tables), data.counts, inputs.fit, inputs.seed)]


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
