"""One release of cumulative counts beside the truth: its band beside those of other trees, and its plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from treedp_core.checks import InputError
from treedp_core.figures.cdf import CdfLines, band_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.comparison.pairs import AnySide
from treedp_core.notebook.comparison.sides import CdfSide
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, Origin
from treedp_core.records import Dataset
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.compare import (
    Draw,
    Width,
    draw,
    half_widths,
    width_table,
)
from treedp_core.studies.cdf.matrices.local_sums import LocalMatrix
from treedp_core.studies.cdf.matrices.plan import Matrix, Sought
from treedp_core.studies.cdf.matrices.workload import OWN
from treedp_core.studies.cdf.partition import (
    DividedPlan,
    off_and_alone,
)
from treedp_core.studies.cdf.release import STRATEGIES, CdfPlan
from treedp_core.tree.workloads import range_count
from treedp_core.views import split
from treedp_core.views.cdf import words
from treedp_core.views.cdf.inputs import CdfInputs
from treedp_core.views.entries import ON_ITS_WAY, Work, search_of_matrix
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.words import whole

AT_ONCE: Final = 128
"""Bins up to which a matrix is sought while one waits."""
MANY_BINS: Final = 1 << 13
"""Bins from which on the comparison of mechanisms takes seconds, and is asked for."""
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
    return search_of_matrix(inputs.tree, settings.wanted, settings.unit.by_pairs, is_own=inputs.workload == OWN)


def bins_in(data: Dataset, memo: Memo = forgetful) -> Bins:
    """Return the bins of a table, kept once."""
    return memo(("cdf.bins", data.fingerprint), lambda: bins_of(data))


def shown(inputs: CdfInputs, tables: Tables, slow: Sought | None = None, memo: Memo = forgetful) -> Shown:
    """Return what is shown of a release; it refuses as `error_band` does."""
    data = bins_in(tables.data, memo)
    settings = inputs.settings(data, tables, memo)
    key = ("cdf.draw", tables.fingerprints, settings, inputs.fit, inputs.seed, inputs.tuned_on, searched(slow))
    mine = memo(key, lambda: _drawn(inputs, data, settings, slow))
    return Shown(data, mine, *inputs.bins_between(data))


def searched(matrix: Matrix | None) -> float:
    """Return what share of its search is behind a matrix: less than 1 of the best so far."""
    return matrix.searched if isinstance(matrix, LocalMatrix) else 1.0


def _drawn(inputs: CdfInputs, data: Bins, settings: CdfSettings, matrix: Matrix | None) -> Draw:
    strategy = STRATEGIES[settings.strategy]
    if strategy.sought and matrix is None and settings.mechanism in strategy.mechanisms and settings.n_bins > AT_ONCE:
        raise InputError(ON_ITS_WAY, f"The {strategy.label.lower()} is still sought: see how far it is on its page.")
    plan = plan_cdf(settings, matrix)
    if inputs.origin is not None and isinstance(plan, CdfPlan):
        split.admit(inputs.origin, settings.unit, plan.budget.currency, plan.total, plan.budget.per_level)
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
    widths = _widths(inputs, tables, of, slow, memo)
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
        words.so_far(searched(slow)),
        "" if mine.refused is None else f"Consistent counts are left out. {mine.refused}",
    )
    return Finding(
        figure=band_figure(of.lines, widths, x_title=data.unit, chosen=of.ends),
        columns=partial(width_table, data, mine, widths),
        answer=f"{answer} {said}{words.others_answer(data, mine)}",
        caption=f"Below: {words.below(mine, widths)}. The other trees have the same mechanism, budget and "
        f"estimate.\n\nAbove: NOT PRIVATE: one simulated release beside the exact counts. {words.what(settings)}; "
        f"{words.bins_in_words(data)}, {whole(data.total)} records, seed {mine.seed}. The band is tightened by what is "
        f"public. Consistent: the closest whole, non-decreasing counts that end at {words.end(mine)}, {mine.fit} error "
        f"(Rameshwar et al., Sec. VI). Shaded: the range. {mine.release.sentence()}",
        how="Drag over the figure to choose another range.",
        alt=answer,
        notes=tuple(filter(None, notes)),
        label=inputs.label,
        badges=BADGES,
        provenance=provenance(of, tables),
        is_simulated=True,
    )


def _widths(inputs: CdfInputs, tables: Tables, of: Shown, slow: Sought | None, memo: Memo) -> list[Width]:
    compare = of.data.n_bins <= MANY_BINS or inputs.compare
    seed = of.mine.seed if isinstance(of.mine.plan, DividedPlan) else None
    key = ("cdf.widths", tables.fingerprints, of.settings, compare, seed, searched(slow))
    return memo(key, lambda: half_widths(of.mine, compare=compare))


def provenance(of: Shown, tables: Tables) -> Provenance:
    """Return what a release was made from."""
    settings, data = of.settings, of.data
    about = [UserText(tables.data.name), words.bins_in_words(data)]
    about += [] if data.numeric else ["leaves in their order, as bins"]
    about += ["half of ε for the partition"] if isinstance(of.mine.plan, DividedPlan) else []
    return Provenance(
        about=tuple(about), relation=NeighbouringRelation(settings.relation), epsilon=settings.epsilon,
        delta=settings.delta if MECHANISMS[settings.mechanism].needs_delta else 0.0, seed=of.mine.seed,
    )  # fmt: skip


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
