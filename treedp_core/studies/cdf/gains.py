"""The experiment of Rameshwar et al., Sec. VI, as columns: what the paper reports beside what we find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from treedp_core.studies.cdf.experiment import PUBLISHED, ConsistencyGain, MeanWithError
from treedp_core.tree.text import product_text
from treedp_core.words import plus_minus, setting_text, short, signed

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
