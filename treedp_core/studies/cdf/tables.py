"""The tables of the page CDF and ranges, and the bins of a data set. Pure logic."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pages.views.cdf import model
from pages.views.cdf.model import CONFIDENCE, PROBABILITIES, Bins, Draw
from treedp_core.checks import InputError
from treedp_core.figures.cdf import Gain
from treedp_core.records import Dataset
from treedp_core.records.count.bins import bin_edges
from treedp_core.studies.cdf import PUBLISHED, Band, ConsistencyGain, quantiles
from treedp_core.studies.cdf.experiment import MeanWithError
from treedp_core.tree.text import product_text
from treedp_core.words import plus_minus

MEASURES: Final = {"l1": "ℓ₁", "l1_consistent": "ℓ₁ consistent", "l2": "ℓ₂", "l2_consistent": "ℓ₂ consistent"}
_INTERVAL: Final = re.compile(r"\[(\S+), (\S+)[)\]]")


def bins_of(data: Dataset) -> Bins:
    """Return the bins of a data set: its leaves, with the edges of a binned column, else numbered in their order.

    A leaf "(other)" is the last bin, so that the bins hold all records.

    Raises
    ------
    InputError
        ``CDF_SHAPE`` when its leaves stand on different levels; ``TREE_SHAPE`` for a single leaf.
    """
    tree, other = data.tree, data.other_leaf
    above = tree.is_leaf[: tree.level_start[-2]].sum()
    if above > (tree.height > 1 and other is not None):
        raise InputError(
            "CDF_SHAPE", "The leaves of the data set in use stand on different levels, so they are no bins in a row."
        )
    counts = data.counts[tree.level(tree.height)]
    if tree.height > 1 and other is not None:
        counts = np.append(counts, data.counts[other])
    if counts.size < 2:
        raise InputError("TREE_SHAPE", "A CDF needs at least 2 bins; the data set in use has 1.")
    edges = _edges(data, counts.size - (other is not None))
    unit = data.labels.level_names[-1].split(" (")[0] if edges is not None else "leaf, in its order"
    if edges is None:
        return Bins(data.name, unit, counts, np.arange(counts.size + 1, dtype=float), data.fingerprint, False)
    if other is not None:
        edges = np.append(edges, 2 * edges[-1] - edges[-2])
    return Bins(data.name, unit, counts, edges, data.fingerprint, has_other=other is not None,
                is_cut=data.report.cut > 0)  # fmt: skip


def _edges(data: Dataset, n_bins: int) -> Any:
    """Edges of equal bins from the labels of the first and last leaf, or None where they are no intervals."""
    last = data.tree.level(data.tree.height).stop - 1
    last -= last == data.other_leaf
    first = _INTERVAL.fullmatch(data.labels.label(last - n_bins + 1))
    final = _INTERVAL.fullmatch(data.labels.label(last))
    if first is None or final is None:
        return None
    try:
        return bin_edges(float(first[1]), float(final[2]), n_bins)
    except ValueError:  # labels of a user that only look like intervals; an InputError is one too
        return None


def release_table(data: Bins, mine: Draw) -> dict[str, Any]:
    """Return the true cumulative counts beside one release, its band and its consistent fit."""
    columns = {
        "up to": data.edges[1:],
        f"{data.truth_name} (NOT PRIVATE)": data.truth,
        "noisy": mine.release.cumulative,
        "low": mine.band.low,
        "high": mine.band.high,
    }
    return columns if mine.consistent is None else columns | {"consistent": mine.consistent}


def range_table(data: Bins, mine: Draw, start: int, stop: int, *, compare: bool) -> dict[str, list[Any]]:
    """Return the count of a range of bins by each mechanism, in one release each."""
    rows = model.range_rows(mine.plan.settings, mine, data.counts, start, stop, mine.seed, compare=compare)
    true = float(data.counts[start:stop].sum())
    return {
        "mechanism": [name for name, _, _ in rows],
        "released count": [count for _, count, _ in rows],
        "standard deviation": ["–" if math.isnan(sigma) else f"{sigma:.1f}" for _, _, sigma in rows],
        "error of this draw (NOT PRIVATE)": [count - true for _, count, _ in rows],
    }


def quantile_table(data: Bins, mine: Draw) -> dict[str, list[Any]]:
    """Return the quantiles of the consistent CDF with intervals, and the true ones.

    Raises
    ------
    InputError
        ``RECORDS_RANGE`` when there are no records, ``TOTAL_NOT_PUBLIC`` where N is not public.
    """
    if mine.refused is not None or mine.consistent is None:
        raise mine.refused or InputError("TOTAL_NOT_PUBLIC", "Quantiles need a public number of records.")
    found = quantiles(mine.consistent, mine.band, data.edges, PROBABILITIES)
    truth = data.truth
    exact = Band(truth, truth, 0.0, CONFIDENCE, 0)
    true = quantiles(truth, exact, data.edges, PROBABILITIES)
    return {
        "quantile": [f"{100 * one.probability:g} %" for one in found],
        "released": [one.value for one in found],
        "from": [one.low for one in found],
        "to": [one.high for one in found],
        f"{data.truth_name} (NOT PRIVATE)": [one.value for one in true],
    }


def error_table(n_bins: int, epsilons: Sequence[float], contributions: int) -> dict[str, list[float]]:
    """Return the errors of whole pipelines against epsilon."""
    curves = model.error_curves(n_bins, epsilons, contributions)
    return {"epsilon": list(epsilons)} | {curve.label: curve.y.tolist() for curve in curves}


def distance_table(found: tuple[list[str], list[float]]) -> dict[str, list[Any]]:
    """Return pipelines and their mean variance as a multiple of the lower bound."""
    return {"pipeline": found[0], "mean variance over the bound": found[1]}


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
    rows = {"paper (100 runs)": [f"{PUBLISHED[name]:g}" for name in MEASURES]}
    for gain in gains:
        rows[f"ours: {label_of(gain)}"] = [mean_text(getattr(gain, name)) for name in MEASURES]
    if gains:
        rows["paper − ours, apart"] = [_apart(PUBLISHED[name], getattr(gains[0], name), trials) for name in MEASURES]
    columns: dict[str, Any] = {"pipeline": list(rows)}
    return columns | {label: [row[i] for row in rows.values()] for i, label in enumerate(MEASURES.values())}


def _apart(published: float, ours: MeanWithError, trials: int) -> str:
    """Standard errors between a published mean of 100 runs and ours; both from our spread."""
    error_of_both = ours.se * math.sqrt(1.0 + trials / 100.0)
    return f"{(published - ours.mean) / error_of_both:+.1f} standard errors" if error_of_both else "–"


def mean_text(one: MeanWithError) -> str:
    """Return a mean with its 95 % interval."""
    return f"{one.mean:.4g}{plus_minus(one.se)}"
