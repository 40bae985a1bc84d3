"""What a plan states, as text and numbers only, so that a plan is its own file; what cannot be meant is refused."""

from __future__ import annotations

import enum
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.plans.thresholds.statement import Thresholds
from treedp_core.privacy import RHO_HIGH, Currency, Precision, ProtectedUnit, Spread
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.prior_provenance import SYMBOL, Origin
from treedp_core.records import Recipe
from treedp_core.records.edges import bin_edges
from treedp_core.records.read.text import OTHER

CODE: Final = "PLAN_INVALID"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_PACKAGE: Final = re.compile(r"[A-Za-z0-9_. -]{0,100}")
COUNTS: Final = "counts"
CUMULATIVE: Final = "cumulative counts"
TABLE: Final = "a table"
RELEASED: Final = (COUNTS, CUMULATIVE, TABLE)
"""What a plan can be of."""
MAX_LEVELS: Final = 512
MAX_TEXT: Final = 400
LEAST_SCALE: Final = 1e-6
MOST_RECORDS: Final = 1e21
"""Noise narrower than the one, and numbers larger than the other, are no release's; both are far from any use."""
LISTED: Final = 6_000_000
"""Characters of categories that a plan lists, each of eight more than it has; of a longer domain it has the fingerprint
alone, and no program can be written."""


class NoiseLaw(enum.Enum):
    """The laws whose promise a plan can state and check."""

    LAPLACE = "laplace"
    DISCRETE_LAPLACE = "discrete_laplace"
    GAUSSIAN = "gaussian"
    DISCRETE_GAUSSIAN = "discrete_gaussian"
    THRESHOLDS = "thresholds"
    """No law of levels: the rounds of `Statement.thresholds`, all in whole numbers."""

    @property
    def label(self) -> str:
        """What it is called in a sentence."""
        return self.value.replace("_", " ").replace("laplace", "Laplace").replace("gaussian", "Gaussian")

    @property
    def currency(self) -> Currency:
        """What its level budgets add up in."""
        return Currency.RHO if self.value.endswith("gaussian") else Currency.EPSILON

    @property
    def precision(self) -> Precision:
        """Whether its promise holds for the numbers that leave the computer."""
        return Precision.IDEAL if self in (NoiseLaw.LAPLACE, NoiseLaw.GAUSSIAN) else Precision.EXACT


class Bounded(enum.Enum):
    """Who sees to it that no unit has more records than the plan says."""

    CLAIMED = "nobody"
    COUNTED = "the count"


class Categories(enum.Enum):
    """Where the list of categories comes from."""

    PUBLIC = "public"
    FROM_DATA = "taken from the data"


@dataclass(frozen=True)
class Bins:
    """The bins of a numeric column, or leaves in a row, below a tree of these branching factors.

    Where the tree has room for one bin less, the last one, "(other)", is a leaf of level 1.

    Parameters
    ----------
    column : str
        User text; empty where bins are leaves.
    n : int
    branching : tuple of int
    edges : tuple of float
        Of the column's bins, ascending; of equal ones the two bounds alone, see `records.edges.bin_edges`. Empty where
        bins are leaves.
    has_other : bool
        Whether the last bin holds what lies elsewhere.
    columns : tuple of str
        Where bins are leaves, which the domain lists in their order: the columns of their labels; user text.
    """

    column: str
    n: int
    branching: tuple[int, ...]
    edges: tuple[float, ...] = ()
    has_other: bool = False
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in (self.column, *self.columns):
            _text("a column", column)
        checks.integer("bins", self.n, low=2, high=checks.MAX_NODES, code=CODE)
        for factor in self.branching:
            checks.integer("a branching factor", factor, low=1, high=checks.MAX_NODES, code=CODE)
        _expect(math.prod(self.branching) >= self.n - self.has_other, "branching factors with room for all bins")
        if not self.edges:
            return
        for edge in self.edges:
            checks.number("an edge", edge, code=CODE)
        _expect(all(a < b for a, b in itertools.pairwise(self.edges)), "edges that ascend")
        _expect(len(self.edges) in (2, self.n_within + 1), "the two bounds of equal bins, or an edge more than bins")

    @property
    def n_within(self) -> int:
        """How many lie between the bounds."""
        return self.n - self.has_other

    @property
    def is_numeric(self) -> bool:
        """Whether they are bins of a column and no leaves."""
        return bool(self.edges)

    @property
    def all_edges(self) -> tuple[float, ...]:
        """The edge below each bin between the bounds, and that above the last."""
        if len(self.edges) != 2:
            return self.edges
        return tuple(bin_edges(*self.edges, self.n_within).tolist()) if self.n_within > 1 else self.edges


@dataclass(frozen=True)
class Domain:
    """Which leaves exist.

    Parameters
    ----------
    source : Categories
    categories : tuple of tuples of str
        Of each level below the root, where every combination is a leaf and the list is short enough.
    leaves : tuple of tuples of str
        Else the path of each leaf, in order, where that is short enough.
    bins : Bins or None
        Of a numeric column, or of the leaves listed.
    digest : str
        SHA-256 (hex) of the paths of the leaves, as `fingerprint` takes it; empty where no path may be told.
    """

    source: Categories
    categories: tuple[tuple[str, ...], ...] = ()
    leaves: tuple[tuple[str, ...], ...] = ()
    bins: Bins | None = None
    digest: str = ""

    @property
    def is_listed(self) -> bool:
        """Whether the plan itself says which leaves exist."""
        return bool(self.categories or self.leaves or self.bins)

    def labels(self) -> Iterator[tuple[str, ...]]:
        """Return the labels of each leaf that is listed by labels, in order."""
        return itertools.product(*self.categories) if self.categories else iter(self.leaves)

    def paths(self) -> Iterator[tuple[str, ...]]:
        """Return the path of each leaf, in order; none where they are not listed.

        >>> list(Domain(Categories.PUBLIC, categories=(("a", "b"), ("x",))).paths())
        [('a', 'x'), ('b', 'x')]
        """
        if self.bins is not None:
            numbers = (tuple(map(str, range(k))) for k in self.bins.branching)
            beside = ((OTHER,),) if self.bins.has_other else ()
            return itertools.islice(itertools.chain(itertools.product(*numbers), beside), self.bins.n)
        return self.labels()


@dataclass(frozen=True)
class PlannedLevel:
    """One level: how far one unit moves it, what it spends, and the noise that follows.

    Parameters
    ----------
    name : str
        User text.
    nodes, leaves : int
        Nodes of the level, and leaves below them or among them.
    sensitivity_l1, sensitivity_l2 : float
        Change that its noise is calibrated to, in records, rounded up.
    amount : float or None
        What it spends, in the plan's currency: 0 not measured, None published exactly.
    scale : float or None
        Of a Laplace law its b, of a Gaussian one its sigma, in records, rounded up; None without noise.
    deviation, margin : float or None
        Standard deviation of the noise, and what it exceeds in one of twenty counts, in records; None where not
        measured.
    error : float or None
        Expected root mean square error of its counts after post-processing, in records; None where none is known
        before the counts are.
    capacities : tuple of (leaves, nodes)
        How many nodes have how many leaves, most leaves first; only where records of a unit lie on distinct leaves.
    """

    name: str
    nodes: int
    leaves: int
    sensitivity_l1: float
    sensitivity_l2: float
    amount: float | None
    scale: float | None
    deviation: float | None
    margin: float | None
    error: float | None
    capacities: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        _text("a level's name", self.name)
        for name in ("nodes", "leaves"):
            checks.integer(name, getattr(self, name), low=0, high=10**400, code=CODE)
        for name in ("sensitivity_l1", "sensitivity_l2", "amount", "scale", "deviation", "margin", "error"):
            value = getattr(self, name)
            if value is not None:
                checks.number(name, value, low=LEAST_SCALE if name == "scale" else 0, high=MOST_RECORDS, code=CODE)
        _expect((self.scale is not None) == bool(self.amount), "a scale for each level that is measured with noise")

    @property
    def is_public(self) -> bool:
        """Whether it is published exactly."""
        return self.amount is None


@dataclass(frozen=True)
class SumsOfBins:
    """Noise on weighted sums of all bins instead of counts: the matrix of whole weights, by what can be told of it.

    Its numbers are in multiples of 2^-bits, as those of the noise are, so that the longest column is about 1.

    Parameters
    ----------
    way : str
        What it is called; user text in a file.
    rows : int
        How many sums.
    bits : int
    column : int
        Of the longest column, for epsilon the sum of absolute weights, for rho that of their squares.
    pair : int
        The same of the difference of the two columns farthest apart; 0 where no record is replaced.
    digest : str
        SHA-256 (hex) of its whole numbers, 64 bits each, the lowest byte first.
    """

    way: str
    rows: int
    bits: int
    column: int
    pair: int
    digest: str

    def __post_init__(self) -> None:
        _text("a matrix", self.way)
        for name, low, high in (("rows", 1, 1 << 21), ("bits", 0, 100), ("column", 1, 1 << 220), ("pair", 0, 1 << 220)):
            checks.integer(name, getattr(self, name), low=low, high=high, code=CODE)
        _expect(_DIGEST.fullmatch(self.digest) is not None, "64 hex digits as the digest of a matrix")


@dataclass(frozen=True)
class TrueError:
    """An error that was worked out from the true counts, so that it tells about them: NOT PRIVATE.

    Parameters
    ----------
    metric : str
    by_level : (n_levels,)
        None where it is not known.
    """

    metric: str
    by_level: tuple[float | None, ...]

    def __post_init__(self) -> None:
        _text("a metric", self.metric)


@dataclass(frozen=True)
class Statement:
    """Everything a plan states: see `ReleasePlan`.

    Parameters
    ----------
    title : str
        Name of the data set; user text.
    whom : str
        What one unit is, in a word or two; user text, may be empty.
    released : str
        What is released: one of `RELEASED`.
    unit : ProtectedUnit
    spread : Spread
        Where the records of one unit may lie.
    bounded : Bounded
    weighted : bool
        Whether a row of the file can stand for several records.
    recipe : Recipe
        How rows become records, beside the columns and the domain.
    domain : Domain
    law : NoiseLaw
    levels : tuple of PlannedLevel
        From the root down.
    postprocess : tuple of str
        Names of the steps that follow the noise, in order.
    tuned : Origin or None
        What the split of the budget was tuned on; None on nothing.
    total, charged : float
        The budget in the law's currency, and what levels and tuning cost of it, rounded up.
    epsilon, delta : float
        The promise.
    delta_fits : bool or None
        Whether delta is below 1 / records; None where delta is 0, or the number of records is protected.
    true_error : TrueError or None
        Only where it was asked for.
    accounting : Accounting or None
        How epsilon was found from the noise, where there is more than one way.
    read_by : str
        The plug-in that read the file, which nobody has reviewed; empty where TreeDP did.
    matrix : SumsOfBins or None
        Where the noise is on weighted sums of all bins; then level 0 is all records and level 1 the sums.
    thresholds : Thresholds or None
        Where counts come from thresholds; then no level has noise of its own.
    credit : str
        Source, date and licence of published records, which every copy must say; empty for others.
    """

    title: str
    whom: str
    released: str
    unit: ProtectedUnit
    spread: Spread
    bounded: Bounded
    weighted: bool
    domain: Domain
    law: NoiseLaw
    levels: tuple[PlannedLevel, ...]
    postprocess: tuple[str, ...]
    tuned: Origin | None
    total: float
    charged: float
    epsilon: float
    delta: float
    delta_fits: bool | None = None
    true_error: TrueError | None = None
    accounting: Accounting | None = None
    read_by: str = ""
    matrix: SumsOfBins | None = None
    thresholds: Thresholds | None = None
    recipe: Recipe = field(default_factory=Recipe)
    credit: str = ""

    def __post_init__(self) -> None:
        kept = 0 < self.recipe.bound <= self.unit.contributions
        _expect(self.bounded is Bounded.CLAIMED or kept, "a bound of the count within the one of the unit")
        _expect(_PACKAGE.fullmatch(self.read_by) is not None, "the name of a package as the reader of the file")
        for name in ("title", "whom", "credit"):
            _text(name, getattr(self, name))
        _expect(self.credit.isprintable(), "one line of visible text as the source of published records")
        clip, bounded = self.recipe.clip, self.unit.contributions >= self.recipe.clip
        kept = bounded and not self.unit.total_is_public and self.spread is Spread.STACKED
        _expect(not clip or kept, "sums of values protected as `privacy.sums.unit_of_sums` says")
        for name in (self.recipe.weight, self.recipe.unit, self.recipe.value):
            _text("a column", name)
        _expect(self.released in RELEASED, f"one of {', '.join(RELEASED)} as what is released")
        for step in self.postprocess:
            _text("a step", step)
        _expect(0 < len(self.levels) <= MAX_LEVELS, f"1 to {MAX_LEVELS} levels")
        low = checks.EPSILON_LOW if self.currency is Currency.EPSILON else 0.0
        high = checks.EPSILON_HIGH if self.currency is Currency.EPSILON else RHO_HIGH
        checks.number("total", self.total, low=low, high=high, open_low=not low, code=CODE)
        checks.number("charged", self.charged, low=0, high=MOST_RECORDS, code=CODE)
        checks.number("epsilon", self.epsilon, low=0, high=MOST_RECORDS, code=CODE)
        checks.delta(self.delta)
        in_rounds = self.thresholds is not None
        _expect(in_rounds == (self.law is NoiseLaw.THRESHOLDS), "rounds where the law is thresholds, and only there")
        _expect(not in_rounds or self.matrix is None, "thresholds or a matrix, not both")
        has_delta = self.currency is Currency.RHO or in_rounds
        _expect(has_delta or self.delta == 0, "delta = 0 where the budget is in epsilon")
        _expect(self.matrix is None or len(self.levels) == 2, "two levels beside a matrix: all records, and its sums")
        known = self.true_error is None or len(self.true_error.by_level) == len(self.levels)
        _expect(known, "an error on the true counts for each level")

    @property
    def currency(self) -> Currency:
        """What the levels' budgets add up in."""
        return self.law.currency

    @property
    def is_of_sums(self) -> bool:
        """Whether what is released are sums of values, in steps of their grid, and no counts of records."""
        return self.recipe.clip > 0

    @property
    def symbol(self) -> str:
        """Sign of the currency."""
        return SYMBOL[self.currency]


def _text(name: str, text: str) -> None:
    _expect(len(text) <= MAX_TEXT, f"at most {MAX_TEXT} characters for {name}")


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise InputError(CODE, f"Expected {what}.")
