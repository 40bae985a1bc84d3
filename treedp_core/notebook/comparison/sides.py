"""What pages other than those of experiments release, as sides of a comparison on the same noise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from treedp_core.errors.compare import Compared, compare_on_tree
from treedp_core.experiment import Experiment
from treedp_core.notebook.comparison.pairs import MOST_TRIALS, WHOLE, FloatArray, Squares, with_whole
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.compare import released
from treedp_core.studies.multiplicative import run as thresholds
from treedp_core.studies.multiplicative.simple import SIMPLE, Source
from treedp_core.studies.topdown import Subject, Wanted, draws
from treedp_core.studies.topdown.draw import compare, tidied
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.studies.topdown.sparse import refuse_no_records, release
from treedp_core.tree import IntArray

THRESHOLDS: Final = "Thresholds"
CUMULATIVE: Final = "cumulative counts"
CONSISTENT: Final = "cumulative counts made consistent"
_SEEDS: Final = 1 << 31


@dataclass(frozen=True, eq=False)
class TopDownSide:
    """Records released top-down by one rule.

    Parameters
    ----------
    name : str
    subject : Subject
    wanted : Wanted
    seed : int
    """

    name: str
    subject: Subject
    wanted: Wanted
    seed: int
    measure: ClassVar[str] = "Root mean squared error of a node"
    affordable: ClassVar[int] = MOST_TRIALS
    reads_counts: ClassVar[bool] = True

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, and the whole tree."""
        return (*self.subject.level_names, WHOLE)

    @property
    def n_values(self) -> int:
        """Most noises of one release."""
        return draws(self.subject.domain, self.subject.total)

    @property
    def key(self) -> Hashable:
        """What its errors depend on."""
        return self.subject.fingerprint, self.subject.order, self.wanted, self.seed

    def ready(self) -> Squares:
        """Return what draws a release; as `treedp_core.studies.topdown.draw` it refuses."""
        subject, rule = self.subject, RULES[self.wanted.rule]
        ready, tree, counts = self.wanted.plan(subject), subject.tree, subject.counts
        refuse_no_records(self.wanted.unit, subject.total)
        if tree is None or counts is None:
            return lambda rng: _by_level(compare(release(subject.table, ready, rng, str(rule.sparse))))
        noise = noise_on_tree(ready, tree)
        function = rule.on(noise)

        def squares(rng: np.random.Generator) -> FloatArray:
            made = tidied(function(noise.draw(rng) + counts))
            return _by_level(compare_on_tree(tree, counts, made))

        return squares


def _by_level(levels: Sequence[Compared]) -> FloatArray:
    return with_whole(np.array([one.rmse**2 for one in levels]), np.array([float(one.n_cells) for one in levels]))


@dataclass(frozen=True, eq=False)
class CdfSide:
    """Cumulative counts over bins.

    Parameters
    ----------
    name : str
    settings : CdfSettings
    counts : (n_bins,)
        True counts of the bins, and last of other records where these are counted.
    fit : str
        Which error the consistent counts minimise.
    seed : int
    """

    name: str
    settings: CdfSettings
    counts: IntArray
    fit: str
    seed: int
    measure: ClassVar[str] = "Root mean squared error of a cumulative count"
    affordable: ClassVar[int] = MOST_TRIALS

    levels: ClassVar[tuple[str, ...]] = (CUMULATIVE, CONSISTENT)
    reads_counts: ClassVar[bool] = True
    """The errors of consistent counts depend on the truth."""

    @property
    def n_values(self) -> int:
        """About the noises of one release."""
        return 2 * self.settings.n_bins

    @property
    def key(self) -> Hashable:
        """What its errors depend on."""
        return self.settings, self.fit, self.seed, id(self.counts)

    def ready(self) -> Squares:
        """Return what draws a release; as `plan_cdf` it refuses."""
        plan, truth = plan_cdf(self.settings), np.cumsum(self.counts[: self.settings.n_within])

        def squares(rng: np.random.Generator) -> FloatArray:
            _, made = released(plan, self.counts, rng, rng)
            each = [made.cumulative, made.consistent(self.fit)]
            return np.array([np.square(one - truth).mean() for one in each], dtype=np.float64)

        return squares


@dataclass(frozen=True, eq=False)
class ThresholdSide:
    """Counts with multiplicative error: by thresholds, and by the simple rules at the same promise.

    Parameters
    ----------
    name : str
    source : Source
    plan : str
        Which constants.
    settings : Experiment
    clamped : bool
    """

    name: str
    source: Source
    plan: str
    settings: Experiment
    clamped: bool
    measure: ClassVar[str] = "Root mean square of the error beyond α times the count"
    affordable: ClassVar[int] = 100
    reads_counts: ClassVar[bool] = True

    @property
    def seed(self) -> int:
        """Of its noise."""
        return self.settings.seed

    @property
    def levels(self) -> tuple[str, ...]:
        """The rules."""
        return (
            THRESHOLDS,
            *(one.label for name, one in SIMPLE.items() if name != "shrunk_optimal" or self.source.tree),
        )

    @property
    def n_values(self) -> int:
        """About the noises of one run."""
        tree, paths = self.source.tree, self.source.paths
        return len(SIMPLE) * (2 * paths.n_edges + thresholds.EMPTY_SHOWN if tree is None else tree.n_nodes)

    @property
    def key(self) -> Hashable:
        """What its errors depend on."""
        return (
            self.source.name,
            self.source.paths.n_edges,
            self.source.paths.total,
            self.plan,
            self.settings,
            self.clamped,
        )

    def ready(self) -> Squares:
        """Return what runs; as `thresholds.run` it refuses."""

        def squares(rng: np.random.Generator) -> FloatArray:
            settings = replace(self.settings, seed=int(rng.integers(_SEEDS)))
            nodes = thresholds.run(self.source, self.plan, settings, clamped=self.clamped).nodes
            each = (nodes.released, *(nodes.simple[name].released for name in SIMPLE if name in nodes.simple))
            beyond = [thresholds.excess(nodes.truth, one, settings.alpha) for one in each]
            return np.array([np.square(one).mean() for one in beyond])

        return squares
