"""Error metrics: a loss for every node, and how losses become one number for a node, a level and the tree.

A loss needs only the error of a node, its true count and two settings; its expectation needs the law of that error.
Errors stay per node until someone asks for a summary.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.noise import Moments
from treedp_core.registry import NO_CARD, MethodCard, Table, table
from treedp_core.tree import AnyArray, FloatArray, Tree

# ---- what is to be known of each metric: assumption, formula, where it is the right one and where it misleads


RMSE: Final = MethodCard(
    assumptions="A record too many is as bad for a large count as for a small one.",
    formula=r"\sqrt{\tfrac1n\sum_v\mathbb E\,(\hat x_v-x_v)^2}",
    strengths="Sums and differences of counts: variances add up.",
    limitations="Small counts: 10 records are nothing for a city and everything for a village.",
)
RMSRE: Final = MethodCard(
    assumptions="Counts below τ are taken as τ, and each level counts as much.",
    formula=r"\sqrt{\frac1{h+1}\sum_\ell\frac1{n_\ell}\sum_{v\in\ell}"
    r"\mathbb E\Bigl(\frac{\hat x_v-x_v}{\max(x_v,\tau)}\Bigr)^{2}}",
    strengths="Percentages, rates and conversions.",
    limitations="A τ chosen late: it decides which level matters.",
)
ALPHA_RMSE: Final = MethodCard(
    assumptions="An error of α times the count does no harm.",
    formula=r"\max_v\sqrt{\mathbb E\,\max\bigl(|\hat x_v-x_v|-\alpha x_v,\,0\bigr)^2}",
    strengths="Very deep trees: some mechanisms then grow only with the logarithm of the levels.",
    limitations="Counts that are added up afterwards: what is forgiven adds up, too.",
)
LARGEST: Final = MethodCard(
    assumptions="One wrong count spoils the table.",
    formula=r"\mathbb E\,\max_v|\hat x_v-x_v|",
    strengths="Promises about all counts at once, such as a band.",
    limitations="Comparing trees of different sizes: more counts have a larger worst one.",
)
SMOOTHED: Final = MethodCard(
    assumptions="Counts below τ are taken as τ, and each count weighs the same.",
    formula=r"\frac1n\sum_v\frac{\mathbb E\,|\hat x_v-x_v|}{\max(x_v,\tau)}",
    strengths="A typical percentage that single bad counts do not dominate.",
    limitations="Rare large errors: absolute errors hide them.",
)


@dataclass(frozen=True)
class Tolerance:
    """What an error is forgiven: `alpha` times the true count, or relative to counts below `threshold`.

    Parameters
    ----------
    alpha : float
        Multiplicative slack of the alpha-RMSE, in [0, 1).
    threshold : float
        Records, at least 1e-6; relative errors divide by max(count, threshold). tau in Dawson et al., kappa in
        Ghazi et al., App. B.
    """

    alpha: float = 0.1
    threshold: float = 10.0

    def __post_init__(self) -> None:
        checks.number("alpha", self.alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")
        checks.number("threshold", self.threshold, low=checks.THRESHOLD_LOW, code="THRESHOLD_RANGE")


class Summary(enum.Enum):
    """How the losses of nodes become one number."""

    MEAN_OVER_NODES = "mean over nodes"
    MEAN_OVER_LEVELS = "mean over levels of the mean over a level's nodes"
    MAX_OF_EXPECTED = "largest expected loss of a node"
    EXPECTED_MAX = "expectation of the largest loss of a node"


Loss = Callable[[AnyArray, AnyArray, Tolerance], AnyArray]
Expected = Callable[[Moments, AnyArray, Tolerance], AnyArray]


@dataclass(frozen=True)
class Metric:
    """A table entry.

    Parameters
    ----------
    loss : function
        ``loss(errors, counts, tolerance)``: errors (..., n) of nodes with true counts (n,) -> losses (..., n).
    expected : function or None
        ``expected(law, counts, tolerance)``: the exact expected loss of nodes whose error follows the law. None for
        losses proportional to the squared error: there the variance says all, whatever the law.
    root : bool
        Whether the value is the square root of the expected loss.
    summary : Summary
    unit : str
        Of the value: "records", or "" for a relative error.
    source : str
        Where the closed form comes from.
    sentence : str
        The value in plain words. Of {value}, {percent} (the value in per cent), {nodes} ("12 counts"), {threshold}
        and {slack} (alpha in per cent) it names what it needs; they come as text.
    uses : tuple of str
        Fields of `Tolerance` the loss depends on.
    card : MethodCard
        What else is to be known of it.
    """

    name: str
    label: str
    help: str
    loss: Loss
    expected: Expected | None
    root: bool
    summary: Summary
    unit: str
    source: str
    sentence: str
    uses: tuple[str, ...] = ()
    card: MethodCard = NO_CARD

    @property
    def reads_counts(self) -> bool:
        """Whether the loss depends on the true counts, so that even its formula is data."""
        return bool(self.uses)

    @property
    def title(self) -> str:
        """Its label and unit, for an axis.

        >>> METRICS["rmse"].title, METRICS["rmsre"].title
        ('RMSE (records)', 'RMSRE')
        """
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def value(self, expected_loss: FloatArray) -> FloatArray:
        """Return the metric from an expected loss (..., n_nodes): its root where errors are squared."""
        return np.sqrt(expected_loss) if self.root else np.asarray(expected_loss)


def squared(errors: AnyArray, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return the squared errors, (..., n_nodes), in records squared."""
    return np.square(errors)


def squared_relative(errors: AnyArray, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return (error / max(count, threshold))^2 (Dawson et al., Definition 7), (..., n_nodes), without unit."""
    return np.square(errors / np.maximum(counts, tolerance.threshold))


def squared_beyond_slack(errors: AnyArray, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return max(|error| - alpha count, 0)^2 (Ghazi et al., Definition 1.4), (..., n_nodes), in records squared."""
    return np.square(np.maximum(np.abs(errors) - tolerance.alpha * counts, 0.0))


def absolute(errors: AnyArray, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return the absolute errors, (..., n_nodes), in records."""
    return np.abs(errors)


def relative(errors: AnyArray, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return |error| / max(count, threshold) (Ghazi et al., Appendix B), (..., n_nodes), without unit."""
    return np.abs(errors) / np.maximum(counts, tolerance.threshold)


def expected_squared_beyond_slack(law: Moments, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return E max(|Z| - alpha count, 0)^2 for errors Z of the law, shape of `counts`, in records squared."""
    return law.excess_square(tolerance.alpha * counts)


def expected_absolute(law: Moments, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return E |Z| for errors Z of the law, shape of `counts`, in records."""
    return law.mean_absolute * np.ones(counts.shape)


def expected_relative(law: Moments, counts: AnyArray, tolerance: Tolerance) -> AnyArray:
    """Return E |Z| / max(count, threshold) for errors Z of the law, shape of `counts`, without unit."""
    return law.mean_absolute / np.maximum(counts, tolerance.threshold)


METRICS: Final[Table[Metric]] = table(
    Metric(
        "rmse", "RMSE", "Root mean square error: how many records a count is off, typically.",
        squared, None, True, Summary.MEAN_OVER_NODES, "records",
        "noise variances; after least squares Dawson et al., Algorithm 2",
        "the RMSE of a count is {value} records", card=RMSE,
    ),
    Metric(
        "rmsre", "RMSRE", "Root mean square relative error; counts below the threshold τ are taken as τ. For the tree: "
        "the mean over levels (Dawson et al., Definition 7).",
        squared_relative, None, True, Summary.MEAN_OVER_LEVELS, "",
        "noise variances and true counts, Dawson et al., Definition 7",
        "the root mean square relative error is {percent} (counts below {threshold} taken as {threshold})",
        ("threshold",), RMSRE,
    ),
    Metric(
        "alpha_rmse", "α-RMSE", "Root mean square of the error beyond α times the true count; of the worst node "
        "(Ghazi et al., Definition 1.4).",
        squared_beyond_slack, expected_squared_beyond_slack, True, Summary.MAX_OF_EXPECTED, "records",
        "Ghazi et al., Definition 1.4",
        "even the worst count has an RMSE of at most {value} records beyond {slack} of itself",
        ("alpha",), ALPHA_RMSE,
    ),
    Metric(
        "max_absolute_error", "Largest error", "Expected error of the worst node (as in InfTDA).",
        absolute, expected_absolute, False, Summary.EXPECTED_MAX, "records",
        "distribution functions of independent errors",
        "the largest error of all {nodes} is about {value} records", card=LARGEST,
    ),
    Metric(
        "smoothed_relative_error", "Smoothed relative error", "Mean of |error| / max(count, τ) "
        "(Ghazi et al., Appendix B).",
        relative, expected_relative, False, Summary.MEAN_OVER_NODES, "",
        "Ghazi et al., Appendix B",
        "the mean error of a count is {percent} of itself (counts below {threshold} taken as {threshold})",
        ("threshold",), SMOOTHED,
    ),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ErrorSummary:
    """A metric's value for every level and for the tree, with standard errors if it was simulated.

    Parameters
    ----------
    level, level_se : (n_levels,)
        In the metric's unit; inf on a level that was neither measured nor derived. Standard errors are 0 for formulas,
        and inf where the trials were too few to tell.
    tree, tree_se : float
    single_runs : (trials,) or None
        The tree's value of each single trial (a simulated metric only).
    node, node_se : (n_nodes,) or None
        The metric's value of each node, where it was asked for.
    """

    level: FloatArray
    level_se: FloatArray
    tree: float
    tree_se: float
    single_runs: FloatArray | None = None
    node: FloatArray | None = None
    node_se: FloatArray | None = None


def summarise(tree: Tree, metric: Metric, node_loss: FloatArray) -> ErrorSummary:
    """Return the level and tree values of expected node losses (n_nodes,); exact, so standard errors are 0.

    Not for `Summary.EXPECTED_MAX`, whose expectation is of the maximum: see `formulas.expected_largest`.
    """
    by_level = level_mean(tree, node_loss)
    if metric.summary is Summary.MAX_OF_EXPECTED:
        by_level = np.maximum.reduceat(node_loss, tree.level_start[:-1])
    return exact_summary(metric, by_level, tree_loss(tree, metric, by_level))


def exact_summary(metric: Metric, level_loss: FloatArray, whole: FloatArray) -> ErrorSummary:
    """Return a summary without standard errors from expected losses of the levels (n_levels,) and of the tree ()."""
    return ErrorSummary(metric.value(level_loss), np.zeros(level_loss.size), float(metric.value(whole)), 0.0)


def level_mean(tree: Tree, losses: AnyArray) -> FloatArray:
    """Return the mean over each level's nodes, (..., n_levels)."""
    sums = np.add.reduceat(losses, tree.level_start[:-1], axis=-1, dtype=np.float64)
    return np.asarray(sums / tree.level_sizes)


def tree_loss(tree: Tree, metric: Metric, level_loss: FloatArray) -> FloatArray:
    """Return the tree's loss (...) from its levels' (..., n_levels), as the metric summarises them."""
    if metric.summary is Summary.MEAN_OVER_NODES:
        return np.asarray((level_loss * (tree.level_sizes / tree.n_nodes)).sum(axis=-1))
    if metric.summary is Summary.MEAN_OVER_LEVELS:
        return np.asarray(level_loss.mean(axis=-1))
    return np.asarray(level_loss.max(axis=-1))
