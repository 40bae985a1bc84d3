"""One simulated top-down release beside the truth, on a tree or on a sparse table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Any, Final

import numpy as np

from treedp_core.checks import MAX_CELL_DRAWS, InputError
from treedp_core.errors.compare import BiasBySize, Compared, bias_by_size, compare_leaves, compare_on_tree
from treedp_core.mechanisms.stability import LAWS, Stability, stability
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records import Labels
from treedp_core.studies.topdown.certificate import Certificate, fitted, of_survivors, on_tree
from treedp_core.studies.topdown.contingency_table import Subject, is_laid_out, n_nodes, union_tree
from treedp_core.studies.topdown.plan import Plan, noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.studies.topdown.sparse import LevelResult, SparseRun, most_cells, refuse_no_records, release
from treedp_core.tree import AnyArray, IntArray, Tree
from treedp_core.tree.leaf_table import LeafTable, table_of_tree
from treedp_core.watch import Watch, generator
from treedp_core.words import whole

# Places of a release beside the truth: which are kept, lost, or never existed; a few of them, and pairs of counts.

KEPT: Final = "kept"
LOST: Final = "lost"
SPURIOUS: Final = "never existed"


@dataclass(frozen=True, eq=False)
class Rows:
    """Some places of a release, the largest true count first (private: it shows true counts).

    Parameters
    ----------
    names : tuple of str
        Their categories, joined; user text.
    truth, released : (n,)
        Records.
    n_places : int
        How many places have records, in the truth or in the release.
    """

    names: tuple[str, ...]
    truth: AnyArray
    released: AnyArray
    n_places: int

    @property
    def fates(self) -> tuple[str, ...]:
        """What became of each place."""
        return tuple(_fate(t, r) for t, r in zip(self.truth.tolist(), self.released.tolist(), strict=True))


def _fate(true: float, released: float) -> str:
    return LOST if not released else KEPT if true else SPURIOUS


def some_rows(mine: Drawn, most: int) -> Rows:
    """Return at most so many places with records, evenly spaced from the largest true count to the smallest.

    So their fates are about as frequent as among all places. Equal true counts stand by their released ones.
    """
    if mine.picture is None:
        truth, released, leaves = mine.leaves.truth, mine.leaves.released, None
    else:
        tree, labels, true_nodes, released_nodes = mine.picture
        leaves = np.flatnonzero(tree.is_leaf)
        truth, released = true_nodes[leaves], released_nodes[leaves]
    filled = np.flatnonzero((truth != 0) | (released != 0))
    order = filled[np.lexsort((-released[filled], -truth[filled]))]
    chosen = order[np.unique(np.linspace(0, order.size - 1, min(most, order.size)).round().astype(np.int64))]
    names = (
        tuple(f"place {i + 1}" for i in chosen.tolist())
        if leaves is None
        else tuple(" › ".join(labels.path(int(leaves[i]))) or "all" for i in chosen.tolist())
    )
    return Rows(names, truth[chosen], released[chosen], int(filled.size))


def rows_table(found: Rows) -> dict[str, list[Any]]:
    """Return some places as columns."""
    return {
        "place": list(found.names),
        of_truth("true records"): found.truth.tolist(),
        "released records": found.released.tolist(),
        "what became of it": list(found.fates),
    }


@dataclass(frozen=True, eq=False)
class Pairs:
    """How many nodes of a level have each true and released count, (n_pairs,) each (private)."""

    truth: AnyArray
    released: AnyArray
    n_nodes: IntArray


def pairs(level: Compared) -> Pairs:
    """Return the distinct pairs of true and released counts, but for nodes that are 0 in both.

    >>> found = pairs(Compared(9, np.array([2, 2, 0, 0]), np.array([1, 1, 3, 0])))
    >>> found.truth.tolist(), found.released.tolist(), found.n_nodes.tolist()
    ([0, 2], [3, 1], [1, 2])
    """
    both = np.stack([level.truth, np.round(level.released, 1)])
    distinct, n_nodes = np.unique(both[:, (both != 0).any(axis=0)], axis=1, return_counts=True)
    return Pairs(distinct[0], distinct[1], n_nodes)


def pairs_table(found: Pairs) -> dict[str, Any]:
    """Return pairs as columns; how many nodes share a pair tells of the true ones."""
    return {of_truth("true"): found.truth, "released": found.released, of_truth("nodes"): found.n_nodes}


def usual_error(level: Compared) -> float:
    """Return the error, in records, that half of the nodes with records do not exceed; 0 where there are none.

    >>> usual_error(Compared(9, np.array([2, 2, 5, 0]), np.array([1, 1, 9, 7])))
    1.0
    """
    real = level.truth != 0
    return float(np.median(np.abs(level.released - level.truth)[real])) if real.any() else 0.0


# ---- a sparse release beside the truth, level by level


def compare(run: SparseRun) -> tuple[Compared, ...]:
    """Return every level of a sparse release beside the truth.

    >>> from treedp_core.tree.leaf_table import count_leaves
    >>> from treedp_core.studies.topdown.plan import plan
    >>> from treedp_core.studies.topdown.sparse import release
    >>> table = count_leaves([np.array([0, 0, 1])], (1000,))
    >>> leaves = compare(release(table, plan((1000,), 1000.0), np.random.default_rng(1)))[1]
    >>> leaves.n_true, leaves.spurious, leaves.lost, leaves.max_error
    (2, 0, 0, 0.0)
    """
    levels = []
    for n_cells, level, truth in zip(run.plan.cells, run.levels, run.truth, strict=True):
        real = level.origin >= 0
        released = np.zeros(truth.count.size, dtype=level.count.dtype)
        released[level.origin[real]] = level.count[real]
        spurious = level.count[~real]
        levels.append(
            Compared(
                n_cells,
                np.concatenate([truth.count, np.zeros(spurious.size, dtype=np.int64)]),
                np.concatenate([released, spurious]),
            )
        )
    return tuple(levels)


LIGHT_CELLS: Final = 10_000_000
"""Noise draws up to which a release takes a moment."""
MAX_UNION: Final = 2_000_000
"""Nodes of the union of truth and release up to which a sparse release is drawn as a tree."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """One simulated release beside the truth (private).

    Parameters
    ----------
    subject : Subject
    plan : Plan
    wanted : Wanted
    seed : int
    levels : tuple of Compared
        Truth and release, level by level.
    leaves : Compared
        The same for all leaves, on whatever level.
    released : (n_nodes,) or None
        On the subject's tree.
    noisy : (n_nodes,) or None
        Before post-processing, on the subject's tree.
    table : LeafTable or None
        The released leaves; None where counts are not whole.
    visited : tuple of LevelResult
        What was measured where zeros are never laid out; nothing else.
    """

    subject: Subject
    plan: Plan
    wanted: Wanted
    seed: int
    levels: tuple[Compared, ...]
    leaves: Compared
    released: AnyArray | None
    noisy: AnyArray | None
    table: LeafTable | None
    visited: tuple[LevelResult, ...] = ()

    def certificate(self, confidence: float) -> Certificate:
        """Return what the release says of its own errors (public); see `treedp_core.studies.topdown.certificate`."""
        if self.noisy is None or self.released is None or self.subject.tree is None:
            return of_survivors(self.plan, self.visited, confidence)
        rule, tree = RULES[self.wanted.rule], self.subject.tree
        fit = fitted(self.plan, tree, self.noisy) if rule.steps[0] == "least_squares" else None
        return on_tree(self.plan, tree, self.noisy, self.released, confidence, descends=rule.is_bounded, fit=fit)

    @cached_property
    def bias(self) -> BiasBySize:
        """Mean error of the leaves by the size of their true count."""
        return bias_by_size([self.leaves])

    @cached_property
    def picture(self) -> tuple[Tree, Labels, AnyArray, AnyArray] | None:
        """Tree, labels, true and released counts (n_nodes,) for an icicle; None where they would not fit."""
        subject = self.subject
        if subject.tree is not None and subject.labels is not None and self.released is not None:
            assert subject.counts is not None
            return subject.tree, subject.labels, subject.counts, self.released
        if self.table is None or sum(level.truth.size for level in self.levels) > MAX_UNION:
            return None
        return union_tree(subject, self.table)


def draws(domain: tuple[int, ...] | Tree, total: int) -> int:
    """Return the most noises that a release of so many records takes: what its watch is told of.

    >>> draws((10, 10), 5), draws((10,) * 9, 100)  # all of a tree; of a table without its zeros what may survive
    (111, 7110)
    """
    if isinstance(domain, Tree):
        return domain.n_nodes
    return n_nodes(domain) if is_laid_out(domain) else most_cells(accumulate((1, *domain), mul), domain, total)


def is_light(domain: tuple[int, ...] | Tree, total: int) -> bool:
    """Whether a release, or the refusal of one that is too large, takes a moment."""
    n = draws(domain, total)
    if isinstance(domain, Tree) or is_laid_out(domain):
        return n <= LIGHT_CELLS // 10
    return n <= LIGHT_CELLS or n > MAX_CELL_DRAWS


def draw(subject: Subject, wanted: Wanted, seed: int, watch: Watch | None = None) -> Drawn:
    """Return one release of the wanted settings; the watch is told the noises drawn.

    Raises
    ------
    InputError
        As `Wanted.plan`; ``NO_RECORDS`` for a public total of 0, ``TOO_MANY_CELLS``, ``NEEDS_TREE`` for a rule that
        needs more nodes than are laid out.
    Cancelled
        When the watch says so.
    """
    ready, watch = wanted.plan(subject), watch or Watch()
    rng = generator("release of TopDown", seed)
    if subject.tree is None:
        return _sparse(subject, ready, wanted, seed, rng, watch)
    assert subject.counts is not None
    refuse_no_records(wanted.unit, subject.total)
    noise = noise_on_tree(ready, subject.tree)
    noisy = noise.draw(rng) + subject.counts
    watch.step(noisy.size)
    watch.check()
    released = tidied(RULES[wanted.rule].on(noise)(noisy))
    watch.check()
    levels = compare_on_tree(subject.tree, subject.counts, released)
    leaves = compare_leaves(subject.tree, subject.counts, released)
    assert subject.labels is not None
    found = (
        table_of_tree(subject.tree, released, subject.labels.codes, subject.table.sizes)
        if RULES[wanted.rule].is_whole
        else None
    )
    return Drawn(subject, ready, wanted, seed, levels, leaves, released, noisy, found)


def _sparse(subject: Subject, ready: Plan, wanted: Wanted, seed: int, rng: np.random.Generator, watch: Watch) -> Drawn:
    rule = RULES[wanted.rule].sparse
    if rule is None:
        others = " or ".join(one.label for one in RULES.values() if one.sparse is not None)
        raise InputError(
            "NEEDS_TREE",
            f"{RULES[wanted.rule].label} needs every node of the tree, and {whole(subject.n_leaves)} leaves are "
            f"too many: choose {others}, or fewer columns.",
        )
    run = release(subject.table, ready, rng, rule, watch)
    levels = compare(run)
    found = run.table if RULES[wanted.rule].is_whole else None
    return Drawn(subject, ready, wanted, seed, levels, levels[-1], None, None, found, run.visited)


def tidied(released: AnyArray) -> AnyArray:
    """Return real counts (n_nodes,) whose rounding dust is exactly 0, so that it is no spurious node."""
    return released if released.dtype.kind in "iu" else np.where(np.abs(released) < 1e-6, 0.0, released)


# ---- a stability histogram of the leaves, beside top-down releases at the same promise: exact, for these records


@dataclass(frozen=True)
class OnLeaves:
    """What a stability histogram of the leaves would do (private: of true counts).

    Parameters
    ----------
    made : Stability
    rmse : float
        Root of the mean squared error over all possible leaves, in records.
    told, filled : float, int
        Leaves that are told, in the mean, and leaves with records.
    kept : float
        Share of the records that lie on leaves that are told, in the mean.
    """

    made: Stability
    rmse: float
    told: float
    filled: int
    kept: float


def on_leaves(subject: Subject, wanted: Wanted) -> OnLeaves:
    """Return the better law's histogram of a subject's leaves at the (epsilon, delta) of the wanted release.

    Raises
    ------
    InputError
        As `Wanted.plan` and `treedp_core.mechanisms.stability.stability`.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
    >>> from treedp_core.studies.topdown.contingency_table import made_up
    >>> who = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> found = on_leaves(made_up((4, 4), 500, 1), Wanted(0.0244, 1e-6, who, None, Spread.STACKED, "intopt"))
    >>> found.made.threshold, found.filled, round(found.told, 1), round(100 * found.kept)
    (15, 15, 9.0, 92)
    """
    unit, promise, counts = wanted.unit, wanted.plan(subject).guarantee, subject.table.counts
    last = len(subject.order)
    every = [stability(unit, range(last, last + 1), promise.epsilon, wanted.delta, law) for law in LAWS]
    squares = [float(np.square(one.error(counts)).sum()) for one in every]
    best = int(np.argmin(squares))
    told = every[best].told(counts)
    return OnLeaves(every[best], float(np.sqrt(squares[best] / subject.n_leaves)), float(told.sum()),
                    int(counts.size), float((told * counts).sum() / max(1, subject.total)))  # fmt: skip
