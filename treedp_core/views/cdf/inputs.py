"""What the views of cumulative counts and ranges depend on besides their tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Self

from treedp_core import checks
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.range_lists import WORD
from treedp_core.postprocess.isotonic import FITS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.accounting import USUAL
from treedp_core.privacy.prior_provenance import Origin
from treedp_core.records import Dataset
from treedp_core.studies.branching import best_shape
from treedp_core.studies.branching.question import bins_from_text
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.bins import Bins, bins_of
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.matrices.workload import OWN, WORKLOADS, Ranges, ranges_from_text, terms_of
from treedp_core.studies.cdf.release import ESTIMATES, NODES, SPLITS, STRATEGIES
from treedp_core.studies.cdf.release import TREE as TREE_OF
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree
from treedp_core.views import split
from treedp_core.views.finding import Memo, Tables, forgetful
from treedp_core.views.inputs import Inputs, ReleaseInputs, of, parameter
from treedp_core.views.parameters import choice, flag, number, tuned_on, whole, words
from treedp_core.views.split import SplitInputs, accounting

SOURCES: Final = {"ages": "Ages (sample)", "current": "Data set in use", "upload": "Column of your table"}
SAMPLE: Final = "ages"
SOURCE: Final = choice("cdf_source", SAMPLE, SOURCES, label="Data")
TREES: Final = {
    "best": "Best found", "sixteen": "16-ary", "binary": "Binary", "histogram": "Histogram", "own": "Own",
    **{name: one.label for name, one in STRATEGIES.items() if name != TREE_OF},
}  # fmt: skip
QUERIES: Final = {one.value: one.label for one in (Workload.CDF, Workload.RANGES)}
NORMS: Final = {"l2": "ℓ₂", "l1": "ℓ₁"}
TRIALS_GRID: Final = (100, 400, 1600)


def sample_of(inputs: CdfInputs | PipelineInputs) -> str:
    """Return the name of the sample that inputs are of, whatever table is in use; nothing where they are of none."""
    return SAMPLE if inputs.source == SAMPLE else ""


def _word(text: str) -> None:
    if WORD.fullmatch(text) is None:
        raise InputError("VALUE_UNKNOWN", "Expected eight digits or letters a to f for a table of ranges.")


_END: Final = partial(checks.number, "a bound of the range", low=-1e15, high=1e15, code="RANGE_BOUNDS")


@dataclass(frozen=True, kw_only=True)
class CdfInputs(SplitInputs):
    """What a release of cumulative counts is.

    Parameters
    ----------
    source : str
        From where whoever makes a finding again takes the table: "ages" is a sample. The view is of what it is given.
    mechanism : str
    tree : str
        On which tree, or a matrix or a partition: a name in `TREES`.
    workload : str
        What a matrix or a partition is made for.
    ranges, listed : str
        Ranges of bins for "own": in words, or by the word of a table of them, which is in the view's tables.
    factors : str
        Of an own tree.
    allocation, shares, tuned_on, accounting : str
        See `SplitInputs`.
    least_squares : bool
    estimate : str
        What cumulative counts are added up from, where no least squares follows.
    fit : str
        Which error the consistent counts minimise.
    start, stop : float
        The range that is read off, in the column's unit, to the nearest edge of a bin.
    compare : bool
        Whether many bins are compared with other mechanisms, too.
    """

    source: str = of(SOURCE)
    mechanism: str = of(choice("cdf_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism"))
    tree: str = of(choice("cdf_tree", "best", TREES, label="Tree"))
    workload: str = of(choice("cdf_for", "cdf", WORKLOADS, label="Made for"))
    ranges: str = of(words("cdf_ranges", "", ranges_from_text))
    listed: str = of(words("cdf_listed", "", _word))
    factors: str = of(words("cdf_factors", "", branching_factors_from_text))
    allocation: str = of(choice("cdf_allocation", "uniform", SPLITS, label="Budget split"))
    shares: str = of(words("cdf_shares", "", shares_from_text))
    tuned_on: str = of(tuned_on("cdf_tuned"))
    accounting: str = of(accounting("cdf_accounting"))
    least_squares: bool = of(flag("cdf_post", True))
    estimate: str = of(choice("cdf_estimate", NODES, ESTIMATES, label="Estimate"))
    fit: str = of(choice("cdf_fit", "squared", FITS, label="Consistency"))
    start: float = of(number("cdf_from", 18.0, _END, code="RANGE_BOUNDS"))
    stop: float = of(number("cdf_to", 65.0, _END, code="RANGE_BOUNDS"))
    compare: bool = of(flag("cdf_compare", False))

    @property
    def is_tree(self) -> bool:
        """Whether noise is put on the counts of a tree's nodes."""
        return self.tree not in STRATEGIES

    @property
    def origin(self) -> Origin | None:
        """What the split was tuned on; None where it looks at no counts, or no tree is released."""
        return super().origin if self.is_tree else None

    @property
    def label(self) -> str:
        """What must stand in every copy of what is shown, by what the split was tuned on."""
        return super().label if self.is_tree else ""

    def own_ranges(self, tables: Tables) -> Ranges:
        """Return the ranges that a matrix or a partition is made for; none where it is made for others.

        Raises
        ------
        InputError
            ``RANGE_BOUNDS`` where there are none, or those of a table are not there.
        """
        if self.is_tree or self.workload != OWN:
            return ()
        if self.listed and not tables.ranges:
            raise InputError(
                "RANGE_BOUNDS", "These ranges stood in a table that is not here: upload it again, or type them."
            )
        return tables.ranges if self.listed else ranges_from_text(self.ranges)

    def settings(self, data: Bins, tables: Tables, memo: Memo = forgetful) -> CdfSettings:
        """Return the release that these inputs describe, over bins.

        Raises
        ------
        InputError
            ``TREE_SHAPE`` for the tree, ``BUDGET_SPLIT`` for shares that are none, and what `own_ranges` refuses.
        """
        unit = ProtectedUnit(NeighbouringRelation(self.relation), self.protected(tables.data))
        same = CdfSettings(
            data.n_bins, (), self.mechanism, self.epsilon, self.delta_for([self.mechanism], data.total),
            least_squares=self.least_squares, relation=self.relation, contributions=unit.contributions,
            has_other=data.has_other,
        )  # fmt: skip
        if not self.is_tree:
            return replace(same, strategy=self.tree, workload=self.workload, ranges=self.own_ranges(tables))
        shape = self._shape(data.n_bins, Criterion(self.mechanism, least_squares=self.least_squares, unit=unit), memo)
        is_accounted = self.mechanism == "discrete_gaussian"
        return replace(
            same, branching_factors=shape.branching_factors, allocation=self.allocation,
            shares=shares_from_text(self.shares) if self.allocation == "custom" else (),
            accounting=split.accounting_of(self.allocation, self.tuned_on, self.accounting)
            if is_accounted else USUAL.value,
            estimate=NODES if self.least_squares else self.estimate,
        )  # fmt: skip

    def _shape(self, n_bins: int, criterion: Criterion, memo: Memo) -> Shape:
        match self.tree:
            case "own":
                return Shape(branching_factors_from_text(self.factors), n_bins)
            case "histogram":
                return Shape((n_bins,), n_bins)
            case "best":
                return memo(("cdf.best", n_bins, criterion), lambda: best_shape(n_bins, criterion))
        return equal_tree(n_bins, {"sixteen": 16, "binary": 2}[self.tree])

    def bins_between(self, data: Bins) -> tuple[int, int, str]:
        """Return the first bin of the range, the one behind its last, and what must be said of it."""
        start, stop = data.bin_at(self.start), data.bin_at(self.stop)
        if start < stop:
            return start, stop, ""
        if start > stop:
            return stop, start, "“From” lies above “to”; the range between them is shown."
        start, stop = (start, start + 1) if start < data.n_within else (start - 1, start)
        return start, stop, "“From” and “to” are one edge of a bin; the bin beside it is shown. Move the sliders apart."

    def anew(self, data: Bins, own: Ranges) -> tuple[int, int]:
        """Return a range of bins for a table that none was chosen for: the first own range, or the middle half."""
        first, last, _ = terms_of(own[0])[0] if own else (1, 0, 0.0)
        if first <= min(last, data.n_within):
            return first - 1, min(last, data.n_within)
        return data.n_within // 4, data.n_within - data.n_within // 4


@dataclass(frozen=True, kw_only=True)
class PipelineInputs(ReleaseInputs):
    """What whole pipelines are compared for: K bins, one record replaced.

    Parameters
    ----------
    source : str
        See `CdfInputs`.
    bins : str
        K, in digits or as a power; nothing for the bins of the table.
    """

    source: str = of(SOURCE)
    bins: str = of(words("cdf_bins", "", bins_from_text))

    def n_bins(self, data: Dataset) -> int:
        """Return K.

        Raises
        ------
        InputError
            ``TREE_SHAPE`` for no number of bins; what `bins_of` refuses.
        """
        return bins_from_text(self.bins) if self.bins.strip() else bins_of(data).n_within

    def apart(self, data: Dataset) -> Self | None:
        """Return the inputs that say by themselves what they take of a table; None where they cannot."""
        try:
            bins = str(self.n_bins(data))
        except InputError:
            bins = self.bins  # what is refused is refused by whoever needs it
        if not bins.strip():
            return None
        return replace(self, bins=bins, delta=self.usable_delta(data.total), contributions=self.protected(data))


@dataclass(frozen=True, kw_only=True)
class OptimalInputs(PipelineInputs):
    """What the least possible error is asked of: K bins, one record replaced.

    Parameters
    ----------
    queries : str
        A name in `QUERIES`.
    """

    queries: str = of(choice("cdf_wanted", "cdf", QUERIES, label="Queries"))

    @property
    def workload(self) -> Workload:
        """Of which counts the mean error is taken."""
        return Workload(self.queries)


@dataclass(frozen=True, kw_only=True)
class ExperimentInputs(Inputs):
    """What the published experiment is repeated with.

    Parameters
    ----------
    trials : int
        Independent releases of fresh records.
    norm : str
        How the distance from the true CDF is measured.
    seed : int
    """

    trials: int = of(whole("cdf_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID))
    norm: str = of(choice("cdf_norm", "l2", NORMS, label="Distance"))
    seed: int = of(parameter(ReleaseInputs, "seed"))
