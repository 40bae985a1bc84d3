"""Cumulative counts, ranges and quantiles of a numeric column."""

from treedp_core.views.cdf import pipelines, sections
from treedp_core.views.cdf.inputs import CdfInputs, ExperimentInputs, OptimalInputs, PipelineInputs
from treedp_core.views.cdf.pipelines import (
    absolute_errors,
    baselines,
    beside_the_paper,
    distance_from_optimal,
    error_against_epsilon,
    errors_at,
    every_mechanism,
    headline,
    published_experiment,
)
from treedp_core.views.cdf.release import error_band, release_plan
from treedp_core.views.cdf.sections import (
    dawa,
    distance,
    errors,
    one_range,
    own_ranges,
    quantiles,
    spent,
    when_partition_pays,
)

ENTRIES = (*sections.ENTRIES, *pipelines.ENTRIES)

__all__ = [
    "ENTRIES",
    "CdfInputs",
    "ExperimentInputs",
    "OptimalInputs",
    "PipelineInputs",
    "absolute_errors",
    "baselines",
    "beside_the_paper",
    "dawa",
    "distance",
    "distance_from_optimal",
    "error_against_epsilon",
    "error_band",
    "errors",
    "errors_at",
    "every_mechanism",
    "headline",
    "one_range",
    "own_ranges",
    "published_experiment",
    "quantiles",
    "release_plan",
    "spent",
    "when_partition_pays",
]
