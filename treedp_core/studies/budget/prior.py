"""Counts that a split of the budget is tuned on.

Tuning on the true counts leaks: the split is then a function of the private data (Dawson et al., Section 5). Such a
prior carries its label into every ledger and export. A public prior costs nothing; a noisy one is a release of its
own, charged to the total, and only what it leaves is split.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks, postprocess
from treedp_core.allocation import split
from treedp_core.checks import InputError, echo
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.calibration import LAWS
from treedp_core.privacy import ProtectedUnit
from treedp_core.privacy.prior_provenance import Origin, PriorKind
from treedp_core.records.count import paths
from treedp_core.records.count.counting import with_other_leaf
from treedp_core.records.dataset import Dataset, labels_of
from treedp_core.registry import lookup
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.watch import generator
from treedp_core.words import plural, whole


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


# ---- two periods in one table: earlier records tune a split, later ones are released (Dawson et al., Section 6)


_ENDED: Final = -1


def by_period(data: Dataset, level: int, earlier: Collection[str], keep: str = "later") -> Dataset:
    r"""Return the records of the later periods in a table, or of the earlier ones, on a tree without their level.

    Both have one tree, whichever periods a leaf is listed in. Of records without a place of their own ("(other)") the
    period is not known: they are later ones.

    Parameters
    ----------
    data : Dataset
    level : int
        Of the periods, from 1 on; at least one other level stays.
    earlier : collection of str
        Categories of the earlier periods; all others are later ones.
    keep : {"later", "earlier"}

    Raises
    ------
    InputError
        ``ONE_LEVEL``, ``VALUE_UNKNOWN``; ``PERIOD`` where no category is earlier or none is later, one is not there, or
        branches that end early leave open what the tree is without the periods.

    >>> from treedp_core.records import count_hierarchy, domain_of_values
    >>> domain = domain_of_values({"year": ["1", "2"], "sex": ["F", "M"]})
    >>> data = count_hierarchy(b"year,sex\n1,F\n2,F\n2,M\n", ["year", "sex"], domain=domain)
    >>> by_period(data, 1, ["1"]).counts.tolist(), by_period(data, 1, ["1"], "earlier").counts.tolist()
    ([2, 1, 1, 0], [1, 1, 0, 0])
    """
    checks.one_of("keep", keep, ("later", "earlier"))
    if data.tree.height < 2 or not 1 <= level <= data.tree.height:
        raise InputError("ONE_LEVEL", "Expected a level of periods and at least one more; add a level.")
    words = data.labels.vocabularies[level].tolist()
    first = [word in set(earlier) for word in words]
    if not set(earlier) <= set(words) or not any(first) or all(first):
        raise InputError("PERIOD", "Expected some of the level's categories as the earlier periods, and others after.")
    leaves, codes = _leaf_codes(data)
    if (codes[:, level - 1] == _ENDED).any():
        raise InputError("PERIOD", "Some branches end above the level of periods, so their records have none.")
    others = [i for i in range(codes.shape[1]) if i != level - 1]
    distinct, place = np.unique(codes[:, others], axis=0, return_inverse=True)
    length = paths.lengths(distinct, [_ENDED] * len(others))
    built = paths.build(distinct, length, np.ones(length.size, dtype=np.bool_), keep_blank=False)
    if built.extended is not None:
        raise InputError("PERIOD", "In one period a branch ends where in another it goes on; list the same leaves.")
    chosen = np.array(first)[codes[:, level - 1]] == (keep == "earlier")
    own = np.zeros(built.tree.n_nodes, dtype=np.int64)
    np.add.at(own, built.leaf_of_path[place.reshape(-1)[chosen]], data.counts[leaves[chosen]])
    return _on(data, built, others, own, keep)


def _on(data: Dataset, built: paths.PathTree, others: Sequence[int], own: IntArray, keep: str) -> Dataset:
    """The records of a period (n_nodes,) on its tree; those without a place of their own are later ones."""
    without = 0 if data.other_leaf is None or keep == "earlier" else int(data.counts[data.other_leaf])
    names = [data.labels.level_names[1 + i] for i in others]
    words: tuple[Sequence[str], ...] = tuple(data.labels.vocabularies[1 + i].tolist() for i in others)
    tree, codes = built.tree, built.codes
    if data.other_leaf is not None:
        if others[0] == 0:
            words = (words[0][:-1], *words[1:])  # the last one is its label
        tree, own, codes, words = with_other_leaf(tree, own, codes, words, without)
    counts = tree.add_up(own)
    told = f"The records of the {keep} periods only; the whole table has {plural(data.total, 'record')}."
    notices = (*data.report.notices, ("PERIOD", told))
    other = data.report.other if without else 0
    report = replace(data.report, counted=int(counts[0]), other=other, notices=notices)
    labels = labels_of(tree, codes, words, names)
    return Dataset(f"{data.name}, {keep}", tree, labels, counts, data.domain_source, report)


def _leaf_codes(data: Dataset) -> tuple[IntArray, NDArray[np.int32]]:
    """The leaves but "(other)", (n_leaves,), and the code of each of their levels, (n_leaves, height); -1 below."""
    tree = data.tree
    leaves = np.array([leaf for leaf in tree.leaves.tolist() if leaf != data.other_leaf], dtype=np.int64)
    codes = np.full((leaves.size, tree.height), _ENDED, dtype=np.int32)
    at = leaves.copy()
    for level in reversed(range(1, tree.n_levels)):
        here = tree.level_of[at] == level
        codes[here, level - 1] = data.labels.codes[at[here]]
        at[here] = tree.parent[at[here]]
    return leaves, codes
