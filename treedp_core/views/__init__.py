r"""Views: pure functions of inputs and tables that return what is found, whole.

>>> from treedp_core.records import count_hierarchy, domain_of_values
>>> from treedp_core.views import Tables, lab
>>> domain = domain_of_values({"city": ["Kiel", "Mainz"]})
>>> data = count_hierarchy(b"city\nKiel\nKiel\nMainz\n", ["city"], domain=domain)
>>> lab.error_against_epsilon(lab.LabInputs(epsilon=2, postprocess=("none",)), Tables(data)).answer
'At ε = 2, with Discrete Laplace, the RMSE of a count is 1.18 records (formula).'
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from treedp_core.registry import Table
from treedp_core.views import (
    branching,
    budget,
    cdf,
    consistency,
    data,
    factors,
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

# ---- the open table of views: a new one is one function and one line in its page's entries


VIEWS: Final = Table[Entry](
    *chain(
        lab.ENTRIES,
        consistency.ENTRIES,
        multiplicative.ENTRIES,
        protects.ENTRIES,
        ranges.ENTRIES,
        branching.ENTRIES,
        factors.ENTRIES,
        start.ENTRIES,
        methods.ENTRIES,
        cdf.ENTRIES,
        lesson.ENTRIES,
        plan.ENTRIES,
        topdown.ENTRIES,
        data.ENTRIES,
        budget.ENTRIES,
    )
)
"""Every view of every page, and the sections under *More*."""


def labels_of(page: str) -> dict[str, str]:
    """Return what the switch of a page calls its views, in their order."""
    return {one.view: one.label for one in VIEWS.values() if one.page == page and one.view and not one.section}


def entry_of(page: str, view: str, part: str) -> Entry | None:
    """Return the view that a cell was made by; None where there is none of its names."""
    here = (one for one in VIEWS.values() if (one.page, one.part) == (page, part))
    return next((one for one in here if one.view in ("", view)), None)


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
    "factors",
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
