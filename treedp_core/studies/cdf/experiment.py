"""How much consistency helps: the experiment of Rameshwar et al., Sec. VI, for any pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.errors.ways import mean_and_error
from treedp_core.studies.cdf.partition import PartitionPlan
from treedp_core.studies.cdf.plan import AnyPlan, plan_cdf
from treedp_core.studies.cdf.release import CdfSettings
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import n_records_checked
from treedp_core.watch import Cancelled, Watch, generator


@dataclass(frozen=True)
class MeanWithError:
    """A mean over trials and its standard error."""

    mean: float
    se: float


@dataclass(frozen=True)
class ConsistencyGain:
    """Mean distance of the released CDF from the true one, before and after consistency.

    Distances are of the cumulative counts divided by N; the l1 distance after is of the fit that minimises the l1
    distance, likewise for l2.
    """

    settings: CdfSettings
    l1: MeanWithError
    l1_consistent: MeanWithError
    l2: MeanWithError
    l2_consistent: MeanWithError


PUBLISHED: Final = {"l1": 502.81, "l1_consistent": 286.43, "l2": 18.54, "l2_consistent": 10.72}
"""What the paper reports for the histogram: K = 997, N = 900, epsilon = 0.1, means of 100 runs."""

SECTION_VI: Final = (
    CdfSettings(997, (997,), "laplace", 0.1, least_squares=False),
    CdfSettings(997, (997,), "laplace", 0.1),
    CdfSettings(997, (32, 32), "laplace", 0.1),
    CdfSettings(997, (10, 10, 10), "laplace", 0.1),
)
"""The paper's pipeline, and better ones with the same budget, the best last."""


def consistency_gains(
    pipelines: Sequence[CdfSettings] = SECTION_VI,
    n_records: int = 900,
    trials: int = 100,
    seed: int = 7,
    watch: Watch | None = None,
) -> list[ConsistencyGain]:
    """Return what consistency gains for records that fall uniformly into the bins, drawn anew in every trial.

    Trial i of every pipeline sees the same records; the noise is independent.

    Parameters
    ----------
    pipelines : sequence of CdfSettings
    n_records : int
        N, at least 1.
    trials : int
        At least 2.
    seed : int
    watch : Watch, optional

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    """
    records = n_records_checked(n_records)
    n = checks.integer("trials", trials, low=2, high=checks.MAX_TRIALS, code="TRIALS_RANGE")
    watch = watch or Watch()
    gains = []
    for i, settings in enumerate(pipelines):
        plan = plan_cdf(settings)
        distances = np.empty((n, 4))
        for trial in range(n):
            if watch.cancelled():
                raise Cancelled
            distances[trial] = _one_trial(plan, records, (checks.seed(seed), trial), i)
            watch.step(1)
        gains.append(ConsistencyGain(settings, *(_mean(column) for column in distances.T)))
    return gains


def _one_trial(
    plan: AnyPlan | PartitionPlan, n_records: int, entropy: tuple[int, ...], pipeline: int
) -> tuple[float, ...]:
    bins = plan.settings.n_bins
    counts = generator("records of Section VI", *entropy).multinomial(n_records, np.full(bins, 1.0 / bins))
    release = plan.release(counts, generator("noise of Section VI", *entropy, pipeline))
    truth = np.cumsum(counts)
    raw = (release.cumulative - truth) / n_records
    absolute = (release.consistent("absolute") - truth) / n_records
    squared = (release.consistent("squared") - truth) / n_records
    return (
        float(np.abs(raw).sum()),
        float(np.abs(absolute).sum()),
        float(np.sqrt(np.square(raw).sum())),
        float(np.sqrt(np.square(squared).sum())),
    )


def _mean(values: FloatArray) -> MeanWithError:
    return MeanWithError(*map(float, mean_and_error(values)))
