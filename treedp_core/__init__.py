"""TreeDP: differentially private counting on trees.

Records become counts on a tree; a mechanism releases noisy counts; post-processors return better counts; a metric
compares them with the truth; a figure shows the error. The names here are what a notebook needs.
"""

import os
import sys

# `python -m treedp_core` has the current folder in front, and what lies there would be imported in place of a library.
if (
    sys.argv[:1] == ["-m"]
    and "treedp_core" in sys.orig_argv
    and not sys.flags.safe_path
    and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # a checkout: ours
):
    del sys.path[0]

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, SmallestEpsilon, draw_once, grid, prepare, run, smallest_epsilon, sweep
from treedp_core.postprocess import apply
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.promise import Release
from treedp_core.records import count_hierarchy, domain_of_paths, domain_of_values, domain_taken_from_the_data
from treedp_core.studies.sweep.frames import to_frame
from treedp_core.tree import Tree

__version__ = "0.1.0"

__all__ = [
    "Experiment",
    "InputError",
    "NeighbouringRelation",
    "Release",
    "SmallestEpsilon",
    "Tree",
    "apply",
    "count_hierarchy",
    "domain_of_paths",
    "domain_of_values",
    "domain_taken_from_the_data",
    "draw_once",
    "grid",
    "prepare",
    "run",
    "smallest_epsilon",
    "sweep",
    "to_frame",
]
