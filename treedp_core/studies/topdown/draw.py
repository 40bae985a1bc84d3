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
from treedp_core.records import Labels
from treedp_core.studies.topdown.compare import compare
from treedp_core.studies.topdown.contingency_table import Subject, is_laid_out, n_nodes, union_tree
from treedp_core.studies.topdown.plan import Plan, noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.studies.topdown.sparse import most_cells, refuse_no_records, release
from treedp_core.tree import AnyArray, Tree
from treedp_core.tree.leaf_table import LeafTable, table_of_tree
from treedp_core.watch import Watch, generator
from treedp_core.words import whole

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
