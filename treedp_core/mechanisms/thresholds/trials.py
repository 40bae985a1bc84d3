"""Thresholds again and again on one table, for simulations: every trial is a whole release, a private root included."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import tuned_plan
from treedp_core.mechanisms.thresholds.release import release_with_thresholds, threshold_guarantee
from treedp_core.mechanisms.thresholds.schedule import check_alpha, check_delta
from treedp_core.privacy import Guarantee, ProtectedUnit, Provenance
from treedp_core.privacy.promise import Release
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Watch


@dataclass(frozen=True, eq=False)
class ThresholdTrials:
    """Releases of one table with the tuned plan of Ghazi et al., Theorem 4.1; each spends (epsilon, delta) anew.

    Parameters
    ----------
    tree : Tree
    counts : (n_nodes,) integers
        True counts of records.
    alpha : float
        In (0, 1).
    epsilon, delta : float
        For all of one release.
    unit : ProtectedUnit

    Raises
    ------
    InputError
        ALPHA_RANGE, DELTA_REQUIRED; what `release_with_thresholds` refuses when it is asked for a release.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> tree, unit = Tree.from_branching_factors((2,)), ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> trials = ThresholdTrials(tree, np.array([10_000, 9_990, 10]), 0.5, 1.0, 1e-6, unit)
    >>> errors = trials.errors(np.random.default_rng(1), 5)
    >>> errors.shape, bool((errors[:, 0] == 0).all())  # a public total is released as it is
    ((5, 3), True)
    """

    tree: Tree
    counts: AnyArray
    alpha: float
    epsilon: float
    delta: float
    unit: ProtectedUnit
    _plans: dict[tuple[float, ...], Plan] = field(default_factory=dict)  # of this table alone, and gone with it

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        check_delta(self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """What each release promises."""
        return threshold_guarantee(self.unit, self.epsilon, self.delta)

    def release(
        self, rng: np.random.Generator, provenance: Provenance = Provenance.SIMULATION, watch: Watch | None = None
    ) -> Release:
        """Return one release, estimate (n_nodes,); its variance is None."""
        return release_with_thresholds(
            self.tree, self.counts, self._plan, self.unit, self.epsilon, self.delta, rng=rng, provenance=provenance,
            watch=watch,
        ).release  # fmt: skip

    def errors(self, rng: np.random.Generator, trials: int, watch: Watch | None = None) -> FloatArray:
        """Return the errors of so many releases, in records, (trials, n_nodes)."""
        stopped = Watch(cancelled=(watch or Watch()).cancelled)  # trials are counted by whoever asks for them
        return np.array([self.release(rng, watch=stopped).estimate - self.counts for _ in range(trials)])

    def _plan(self, epsilon: float, delta: float, n_levels: int, max_total: float) -> Plan:
        """Return a plan; a private bound on the root is rounded up by at most 9 %, so that plans do for many trials."""
        if not self.unit.total_is_public:
            max_total = max(max_total, 2.0 ** (math.ceil(8.0 * math.log2(max_total)) / 8.0))
        key = (epsilon, delta, float(n_levels), max_total)
        if key not in self._plans:
            self._plans[key] = tuned_plan(self.alpha, epsilon, delta, n_levels, max_total)
        return self._plans[key]
