"""The boundary: a table or file, and a public domain, become a tree, labels and exact counts."""

from treedp_core.records.bins import count_bins
from treedp_core.records.dataset import Dataset, DomainSource, Labels, ReadReport
from treedp_core.records.domain import domain_of_values, domain_taken_from_the_data
from treedp_core.records.hierarchy import count_hierarchy
from treedp_core.records.inspection import inspect
from treedp_core.records.listed_paths import domain_of_paths
from treedp_core.records.sources import ReadOptions
from treedp_core.records.table_counts import count_table

__all__ = [
    "Dataset",
    "DomainSource",
    "Labels",
    "ReadOptions",
    "ReadReport",
    "count_bins",
    "count_hierarchy",
    "count_table",
    "domain_of_paths",
    "domain_of_values",
    "domain_taken_from_the_data",
    "inspect",
]
