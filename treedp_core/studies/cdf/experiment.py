"""How much consistency helps: the experiment of Rameshwar et al., Sec. VI, for any pipeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.errors.compare import mean_and_error
from treedp_core.studies.cdf.partition import PartitionPlan
from treedp_core.studies.cdf.plan import AnyPlan, plan_cdf
from treedp_core.studies.cdf.release import CdfSettings
from treedp_core.tree import FloatArray
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import n_records_checked
from treedp_core.watch import Cancelled, Watch, generator
from treedp_core.words import plus_minus, setting_text, short, signed


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


# ---- the experiment of Rameshwar et al., Sec. VI, as columns: what the paper reports beside what we find


MEASURES: Final = {"l1": "ℓ₁", "l1_consistent": "ℓ₁ consistent", "l2": "ℓ₂", "l2_consistent": "ℓ₂ consistent"}


@dataclass(frozen=True)
class Gain:
    """Mean distances before and after consistency, with standard errors (0 for published values)."""

    label: str
    before: float
    before_se: float
    after: float
    after_se: float


def gain_rows(gains: Sequence[ConsistencyGain], norm: str) -> list[Gain]:
    """Return what consistency gains in a distance: the paper's row, then ours."""
    rows = [Gain("paper: histogram", PUBLISHED[norm], 0.0, PUBLISHED[f"{norm}_consistent"], 0.0)]
    for gain in gains:
        before, after = getattr(gain, norm), getattr(gain, f"{norm}_consistent")
        rows.append(Gain(label_of(gain), before.mean, before.se, after.mean, after.se))
    return rows


def gain_table(gains: Sequence[ConsistencyGain], norm: str) -> dict[str, list[Any]]:
    """Return the same as a table."""
    rows = gain_rows(gains, norm)
    return {name: [getattr(row, name) for row in rows] for name in vars(rows[0])}


def label_of(gain: ConsistencyGain) -> str:
    """Return a pipeline's name.

    >>> from treedp_core.studies.cdf import SECTION_VI
    >>> one = MeanWithError(1.0, 0.0)
    >>> label_of(ConsistencyGain(SECTION_VI[-1], one, one, one, one))
    'padded 10³, least squares'
    """
    settings = gain.settings
    tree = "histogram" if len(settings.branching_factors) == 1 else f"padded {product_text(settings.branching_factors)}"
    return f"{tree}, least squares" if settings.least_squares else tree


def experiment_table(gains: Sequence[ConsistencyGain], trials: int) -> dict[str, list[str]]:
    """Return the experiment as a table: the paper's row, ours, and how far apart the first two are."""
    rows = {"paper (100 runs)": [setting_text(PUBLISHED[name]) for name in MEASURES]}
    for gain in gains:
        rows[f"ours: {label_of(gain)}"] = [mean_text(getattr(gain, name)) for name in MEASURES]
    if gains:
        rows["paper − ours, apart"] = [_apart(PUBLISHED[name], getattr(gains[0], name), trials) for name in MEASURES]
    columns: dict[str, Any] = {"pipeline": list(rows)}
    return columns | {label: [row[i] for row in rows.values()] for i, label in enumerate(MEASURES.values())}


def _apart(published: float, ours: MeanWithError, trials: int) -> str:
    """Standard errors between a published mean of 100 runs and ours; both from our spread."""
    error_of_both = ours.se * math.sqrt(1.0 + trials / 100.0)
    return f"{signed((published - ours.mean) / error_of_both)} standard errors" if error_of_both else "–"


def mean_text(one: MeanWithError) -> str:
    """Return a mean with its 95 % interval."""
    return f"{short(one.mean, 4)}{plus_minus(one.se)}"
