r"""Views: pure functions of inputs and tables that return what is found, whole.

>>> from treedp_core.records import count_hierarchy, domain_of_values
>>> from treedp_core.views import Tables, lab
>>> domain = domain_of_values({"city": ["Kiel", "Mainz"]})
>>> data = count_hierarchy(b"city\nKiel\nKiel\nMainz\n", ["city"], domain=domain)
>>> lab.error_against_epsilon(lab.LabInputs(epsilon=2, postprocess=("none",)), Tables(data)).answer
'At ε = 2, with Discrete Laplace, a count is typically off by about 1.18 records (formula).'
"""

from treedp_core.views import (
    branching,
    budget,
    cdf,
    consistency,
    data,
    lab,
    lesson,
    methods,
    multiplicative,
    plan,
    protects,
    ranges,
    start,
    topdown,
)
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Provenance, Tables
from treedp_core.views.table import VIEWS, entry_of, labels_of

__all__ = [
    "VIEWS",
    "Entry",
    "Finding",
    "Provenance",
    "Tables",
    "branching",
    "budget",
    "cdf",
    "consistency",
    "data",
    "entry_of",
    "lab",
    "labels_of",
    "lesson",
    "methods",
    "multiplicative",
    "plan",
    "protects",
    "ranges",
    "start",
    "topdown",
]
