"""The boundary: a table or file, and a public domain, become a tree, labels and exact counts.

Refusals and reports are not private: one record can decide whether a file is refused, and with which sentence (of a
cell it quotes at most 40 characters).
"""

from treedp_core.records.count.bins import count_bins
from treedp_core.records.count.hierarchy import count_hierarchy
from treedp_core.records.count.table_counts import count_table
from treedp_core.records.dataset import Dataset, DomainSource, Labels, ReadReport
from treedp_core.records.domain import domain_of_leaves, domain_of_paths, domain_of_values, domain_taken_from_the_data
from treedp_core.records.read.readers import HeldColumns, inspect
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.recipe import Recipe

__all__ = [
    "Dataset",
    "DomainSource",
    "HeldColumns",
    "Labels",
    "ReadOptions",
    "ReadReport",
    "Recipe",
    "count_bins",
    "count_hierarchy",
    "count_table",
    "domain_of_leaves",
    "domain_of_paths",
    "domain_of_values",
    "domain_taken_from_the_data",
    "inspect",
]
