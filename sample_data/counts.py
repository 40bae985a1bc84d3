"""The sample data sets as counts."""

from __future__ import annotations

from dataclasses import replace

from sample_data.catalogue import SAMPLES, Sample
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_of_paths
from treedp_core.registry import lookup


def count_sample(name: str) -> Dataset:
    """Return a sample data set, counted from its file."""
    return replace(_counted(lookup(SAMPLES, name, "sample")), is_made_up=True)


def _counted(chosen: Sample) -> Dataset:
    if chosen.bins is not None:
        bins = chosen.bins
        return count_bins(
            chosen.path,
            chosen.columns[0],
            lower=bins.lower,
            upper=bins.upper,
            n_bins=bins.n_bins,
            branching=bins.branching_factors,
            weight=chosen.weight,
            outside="refuse",
            name=chosen.title,
        )
    domain = domain_of_paths(chosen.path, chosen.columns, records_are_public=True)
    return count_hierarchy(
        chosen.path, chosen.columns, domain=domain, weight=chosen.weight, outside="refuse", name=chosen.title
    )
