"""Where a data set comes from, as a call that makes it again: a sample or a file. Pure logic."""

from __future__ import annotations

from dataclasses import replace

from sample_data.catalogue import SAMPLES, Sample
from treedp_core.notebook.code import File, Ran, call, given
from treedp_core.records import (
    Dataset,
    DomainSource,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_taken_from_the_data,
)
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


def of_file(counted: Dataset) -> Ran[Dataset]:
    """Return how a file that is gone could be counted again: the value is what was counted."""
    columns, file = list(counted.labels.level_names[1:]), File(counted.name)
    public = counted.domain_source is DomainSource.PUBLIC
    domain = call(domain_of_paths, file, columns) if public else call(domain_taken_from_the_data)
    about = "where the file was read with other options, add them here"
    return given(counted, count_hierarchy, file, columns, about=about, domain=domain.named("domain"))
