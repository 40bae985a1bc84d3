"""Where a data set comes from, as a call that makes it again: a sample, the generator, or a file. Pure logic."""

from __future__ import annotations

import numpy as np

from sample_data.catalogue import SAMPLES
from treedp_core.notebook.code import Ran, call, given
from treedp_core.records import (
    Dataset,
    DomainSource,
    ReadReport,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_taken_from_the_data,
)
from treedp_core.records.dataset import labels_of
from treedp_core.records.made_up import SHAPES, leaf_counts
from treedp_core.registry import lookup
from treedp_core.tree import Tree
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import powers


def count_sample(name: str) -> Dataset:
    """Return a sample data set, counted from its file."""
    chosen = lookup(SAMPLES, name, "sample")
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


def generate(shape: str, n_records: int, branching: str, seed: int) -> Dataset:
    """Return a made-up data set.

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``RECORDS_RANGE``, ``VALUE_UNKNOWN``.
    """
    factors = branching_factors_from_text(branching)
    tree = Tree.from_branching_factors(factors)
    counts = tree.counts_of_leaves(leaf_counts(tree, shape, n_records, np.random.default_rng(seed)))
    codes = [np.tile(np.arange(k), tree.level_sizes[level]) for level, k in enumerate(factors)]
    words = [[str(child) for child in range(1, k + 1)] for k in factors]
    names = [f"level {level}" for level in range(1, tree.n_levels)]
    title = f"{SHAPES[shape].label} on {powers(factors)} (generated)"
    report = ReadReport(rows=n_records, counted=n_records)
    return Dataset(title, tree, labels_of(tree, codes, words, names), counts, DomainSource.PUBLIC, report)


def of_file(counted: Dataset) -> Ran[Dataset]:
    """Return how a file that is gone could be counted again: the value is what was counted."""
    columns = list(counted.labels.level_names[1:])
    public = counted.domain_source is DomainSource.PUBLIC
    domain = call(domain_of_paths, counted.name, columns) if public else call(domain_taken_from_the_data)
    about = "the file that was uploaded, under its name; where it was read with other options, add them here"
    again = given(counted, count_hierarchy, counted.name, columns, about=about, domain=domain.named("domain"))
    return again.named("data")
