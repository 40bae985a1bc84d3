"""The error of each count after least squares as a sum of independent noises, class by class.

With own = q up the weight of a node's own count among what its subtree tells (q its precision, up the variance from
its subtree), z = own Z + (1 - own) (sum of the children's z), and the final error is h = z + gain (parent's h - sum of
the siblings' and its own z). Unfolded along the path v_0 ... v_k from the root, with G_j = gain_(j+1) ... gain_k:

    z of v_j has the coefficient C_j = C_(j-1) (1 - own_(j-1)) + G_j - G_(j-1),   C_0 = G_0
    z of a sibling of v_j has        C_(j-1) (1 - own_(j-1)) - G_(j-1)

and the noise of v_j itself C_j own_j. Subtrees of siblings share no noise with each other or with the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treedp_core.noise import Law
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.quotient import Quotient
from treedp_core.studies.budget.targets.inversion import NoiseSum
from treedp_core.tree import FloatArray

Kinds = tuple[FloatArray, FloatArray, FloatArray]
"""Level, coefficient and copies of each kind of noise."""


@dataclass(frozen=True, eq=False)
class ErrorLaws:
    """The error of every class of nodes when level l spends ``amounts[l]``, after least squares.

    Parameters
    ----------
    problem : Problem
    amounts : (n_levels,)
    """

    problem: Problem
    amounts: FloatArray

    def of_class(self, number: int) -> NoiseSum:
        """Return the error of a class's nodes (its place in the quotient), whose variance must be finite."""
        levels, coefficients, copies = self._kinds(number)
        laws = self._laws
        noisy = np.array([laws[level] is not None for level in range(len(laws))])[levels.astype(np.int64)]
        keep = noisy & (coefficients != 0)
        place = np.cumsum([law is not None for law in laws]) - 1
        which = place[levels[keep].astype(np.int64)]
        return NoiseSum(tuple(law for law in laws if law is not None), which, coefficients[keep], copies[keep])

    def _kinds(self, number: int) -> Kinds:
        quotient = self._quotient
        level = int(np.searchsorted(quotient.class_start, number, side="right")) - 1
        path = [number - int(quotient.class_start[level])]
        for j in range(level, 0, -1):
            path.insert(0, int(quotient.levels[j].class_parent[path[0]]))
        pairs = [int(quotient.levels[j].class_pair[path[j]]) for j in range(1, level + 1)]
        gains = [float(self._gain[j][pair]) for j, pair in enumerate(pairs, 1)]
        so_far = np.append(np.cumprod(gains[::-1])[::-1], 1.0)  # G_0, ..., G_k
        parts, c, signature = [], float(so_far[0]), 0
        for j, pair in enumerate(pairs, 1):
            one, own = quotient.levels[j], float(self._own[j - 1][signature])
            parts.append(_kind(j - 1, c * own))
            down = c * (1.0 - own)
            family = np.flatnonzero(one.pair_parent == signature)
            for other in family.tolist():
                copies = int(one.pair_count[other]) - int(other == pair)
                if copies:
                    parts.append(_scaled(self._subtree(j, int(one.pair_child[other])), down - so_far[j - 1], copies))
            c, signature = float(down + so_far[j] - so_far[j - 1]), int(one.pair_child[pair])
        parts.append(_scaled(self._subtree(level, signature), c, 1))
        return _joined(parts)

    def _subtree(self, level: int, signature: int) -> Kinds:
        """The noises of z, what a subtree tells of its root."""
        found = self._subtrees.get((level, signature))
        if found is None:
            own = float(self._own[level][signature])
            parts = [_kind(level, own)]
            if own != 1.0:
                below = self._quotient.levels[level + 1]
                for pair in np.flatnonzero(below.pair_parent == signature).tolist():
                    inner = self._subtree(level + 1, int(below.pair_child[pair]))
                    parts.append(_scaled(inner, 1.0 - own, int(below.pair_count[pair])))
            found = self._subtrees[level, signature] = _joined(parts)
        return found

    # ---- weights, level by level

    @cached_property
    def _weights(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """`own` of each signature, and `gain` of each pair; an unknown subtree weighs nothing."""
        quotient = self._quotient
        levels, n = quotient.levels, len(quotient.levels)
        q = np.where(self.problem.judged, self.problem.precision(self.amounts), 0.0)
        up: list[FloatArray] = [np.zeros(0)] * n
        own, gain = list(up), list(up)
        for i in reversed(range(n)):
            inner = np.zeros(0)
            if i + 1 < n:
                deeper = levels[i + 1]
                children = up[i + 1][deeper.pair_child]
                below = np.add.reduceat(children * deeper.pair_count, deeper.pair_begin)
                gain[i + 1] = _gain(children, below[deeper.family])
                with np.errstate(divide="ignore"):
                    inner = 1.0 / (q[i] + 1.0 / below)
            with np.errstate(divide="ignore", invalid="ignore"):
                up[i] = np.concatenate([1.0 / q[i : i + 1], inner]) if levels[i].has_leaf else inner
                own[i] = np.ones(up[i].size) if np.isinf(q[i]) else np.where(q[i] > 0, q[i] * up[i], 0.0)
            if levels[i].has_leaf:
                own[i][0] = 1.0
        return own, gain

    @property
    def _own(self) -> list[FloatArray]:
        return self._weights[0]

    @property
    def _gain(self) -> list[FloatArray]:
        return self._weights[1]

    @property
    def _quotient(self) -> Quotient:
        return self.problem.quotient

    @cached_property
    def _laws(self) -> tuple[Law | None, ...]:
        return self.problem.laws(np.where(self.problem.paid > 0, self.amounts, 0.0))

    @cached_property
    def _subtrees(self) -> dict[tuple[int, int], Kinds]:
        return {}


def _gain(children: FloatArray, below: FloatArray) -> FloatArray:
    """Part of a family's correction that each child takes; the one unknown child of a family takes all."""
    with np.errstate(invalid="ignore"):
        part = children / below
    unknown = np.isinf(children)
    return np.asarray(np.where(unknown, 1.0, np.where(below == 0, 0.0, part)))


def _kind(level: int, coefficient: float) -> Kinds:
    return np.array([float(level)]), np.array([coefficient]), np.ones(1)


def _scaled(kinds: Kinds, by: float, copies: int) -> Kinds:
    return kinds[0], kinds[1] * by, kinds[2] * copies


def _joined(parts: Sequence[Kinds]) -> Kinds:
    """All kinds, equal ones (to 12 digits) taken together."""
    levels, coefficients, copies = (np.concatenate([part[i] for part in parts]) for i in range(3))
    key = np.round(coefficients / max(np.abs(coefficients).max(), 1e-300), 13)
    order = np.lexsort((key, levels))
    new = np.append(True, (np.diff(levels[order]) != 0) | (np.diff(key[order]) != 0))
    begin = np.flatnonzero(new)
    return levels[order][begin], coefficients[order][begin], np.add.reduceat(copies[order], begin)
