"""A stability histogram of the leaves, beside top-down releases at the same promise: exact, for these records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treedp_core.mechanisms.stability import LAWS, Stability, stability
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.release_spec import Wanted


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
