"""One simulated top-down release beside the truth, on a tree or on a sparse table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Final

import numpy as np

from treedp_core.checks import MAX_CELL_DRAWS, InputError
from treedp_core.errors.compare import BiasBySize, Compared, bias_by_size, compare_leaves, compare_on_tree
from treedp_core.mechanisms.stability import LAWS, Stability, stability
from treedp_core.records import Labels
from treedp_core.studies.topdown.contingency_table import Subject, is_laid_out, n_nodes, union_tree
from treedp_core.studies.topdown.plan import Plan, noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.studies.topdown.sparse import SparseRun, most_cells, refuse_no_records, release
from treedp_core.tree import AnyArray, Tree
from treedp_core.tree.leaf_table import LeafTable, table_of_tree
from treedp_core.watch import Watch, generator
from treedp_core.words import whole

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
    return Drawn(subject, ready, wanted, seed, levels, levels[-1], None, None, found)


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
