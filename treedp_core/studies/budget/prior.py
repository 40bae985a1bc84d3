"""Counts that a split of the budget is tuned on.

Tuning on the true counts leaks: the split is then a function of the private data (Dawson et al., Section 5). Such a
prior carries its label into every ledger and export. A public prior costs nothing; a noisy one is a release of its
own, charged to the total, and only what it leaves is split.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treedp_core import postprocess
from treedp_core.allocation import split
from treedp_core.checks import InputError, echo
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.calibration import LAWS
from treedp_core.privacy import ProtectedUnit
from treedp_core.privacy.prior_provenance import Origin, PriorKind
from treedp_core.records.dataset import Dataset
from treedp_core.registry import lookup
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import generator
from treedp_core.words import whole


@dataclass(frozen=True, eq=False)
class Prior(Origin):
    """Counts to tune a split on, with what they cost.

    Parameters
    ----------
    counts : (n_nodes,)
        At least 0.
    """

    counts: FloatArray = field(kw_only=True)

    __eq__, __hash__ = object.__eq__, object.__hash__  # two priors of one origin are not the same counts

    @property
    def origin(self) -> Origin:
        """The same without the counts: what a split tuned on them carries wherever it goes."""
        return Origin(self.kind, self.spent, self.currency, self.unit)


def true_counts(tree: Tree, counts: AnyArray) -> Prior:
    """Return the true counts (n_nodes,) as a prior: an upper limit of what tuning can gain, never to be published.

    Raises
    ------
    InputError
        ``PRIOR_LEAVES``, ``PRIOR_EMPTY``.
    """
    return _prior(tree, counts, Origin(PriorKind.TRUE_COUNTS))


def public(tree: Tree, counts: AnyArray) -> Prior:
    """Return public or historic counts (n_nodes,) as a prior; that they are public is the caller's claim.

    Raises
    ------
    InputError
        ``PRIOR_LEAVES``, ``PRIOR_EMPTY``.
    """
    return _prior(tree, counts, Origin(PriorKind.PUBLIC))


def another_draw(tree: Tree, counts: AnyArray) -> Prior:
    """Return another draw of made-up records as a public prior: as many, each leaf as likely as its share of them.

    Made-up counts (n_nodes,) are public; those of people are not, and nor is what is drawn from them.

    Raises
    ------
    InputError
        ``PRIOR_EMPTY``.
    """
    leaves = np.asarray(counts)[tree.leaves].astype(np.float64)
    total = leaves.sum()
    if not total:
        return public(tree, counts)
    drawn = generator("another draw", 0).multinomial(int(total), leaves / total)
    return public(tree, tree.counts_of_leaves(drawn))


def public_of_file(data: Dataset, file: Dataset, *, absent_are_zero: bool = False) -> Prior:
    """Return the public counts of another file as a prior for a data set, leaf by leaf by their names.

    Parameters
    ----------
    data, file : Dataset
    absent_are_zero : bool
        Whether leaves of the data that the file lacks count 0: that they are public is then the caller's claim too.

    Raises
    ------
    InputError
        ``PRIOR_IS_DATA`` when the file holds the data once more; ``PRIOR_LEAVES`` when the file lacks leaves of the
        data, or has others; ``PRIOR_EMPTY``.
    """
    if data.is_same_as(file):
        raise InputError(
            "PRIOR_IS_DATA",
            "Expected public or historic counts, got the data themselves once more; tuning on them is not private, see "
            "“True counts”.",
        )
    tree = data.tree
    if np.array_equal(tree.parent, file.tree.parent) and all(
        np.array_equal(data.labels.of_level(level), file.labels.of_level(level)) for level in range(1, tree.n_levels)
    ):
        return public(tree, file.counts)
    names, leaves = data.labels.paths_of(tree.leaves), file.tree.leaves
    ours, theirs = set(names), dict(zip(file.labels.paths_of(leaves), file.counts[leaves].tolist(), strict=True))
    wrong = theirs.keys() - ours if absent_are_zero else ours ^ theirs.keys()
    if wrong:
        missing, extra = len(ours - theirs.keys()), len(theirs.keys() - ours)
        example = min(wrong)
        helps = "" if extra else " If they are public all the same, say that leaves the file lacks count 0."
        raise InputError(
            "PRIOR_LEAVES",
            f"Expected a prior with the same leaves as the data: {whole(missing)} are missing and {whole(extra)} "
            "are not in the "
            f"data, for example {echo(' / '.join(example))}.{helps}",
        )
    by_leaf = np.array([theirs.get(path, 0) for path in names])
    return public(tree, tree.counts_of_leaves(by_leaf))


def absent_leaves(data: Dataset, file: Dataset) -> int:
    """Return how many leaves of a data set a file lacks."""
    return len(set(data.labels.paths_of(data.tree.leaves)) - set(file.labels.paths_of(file.tree.leaves)))


def noisy(
    tree: Tree, counts: AnyArray, unit: ProtectedUnit, law: str, amount: float, rng: np.random.Generator
) -> Prior:
    """Return a noisy release of the counts as a prior: `amount` split equally over the levels, then least squares.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts.
    law : str
        A name in `MECHANISMS`.
    amount : float
        What it costs, in the law's currency; `Ledger` charges it to the total (Dawson et al., Section 6, use
        epsilon = 1).

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``RHO_RANGE``; ``PRIOR_EMPTY`` when all estimates are 0 or less.
    """
    mechanism = lookup(MECHANISMS, law, "mechanism")
    noise = mechanism.plan(tree, split(tree, amount, mechanism.currency, unit, "uniform"), unit)
    function, _ = postprocess.prepare(tree, noise.variance, ("least_squares",))
    estimate = np.maximum(function(np.asarray(counts) + noise.draw(rng)), 0.0)
    return _prior(tree, estimate, Origin(PriorKind.NOISY, amount, LAWS[law].currency, unit))


def _prior(tree: Tree, counts: AnyArray, origin: Origin) -> Prior:
    values = np.asarray(counts, dtype=np.float64)
    if values.shape != (tree.n_nodes,) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(
            "PRIOR_LEAVES",
            f"Expected a prior with one count >= 0 for each of the {whole(tree.n_nodes)} nodes of the tree.",
        )
    if not values.any():
        raise InputError(
            "PRIOR_EMPTY", "Every count of the prior is 0, so it cannot tell levels apart; choose another prior."
        )
    return Prior(origin.kind, origin.spent, origin.currency, origin.unit, counts=values)
