"""What the page Branching factor answers."""

from __future__ import annotations

import math

from treedp_core.studies.branching import BestBranching
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape
from treedp_core.words import short, whole


def branching_answer(best: BestBranching, n_bins: int, tree: Shape, least: float, binary: float) -> str:
    """Return how many children a node should have, and how far the best tree for K bins is off beside a binary one.

    >>> branching_answer(BestBranching(16.8, 17, 9.9, 30.4), 1024, Shape((10, 11, 10), 1024), 31.21, 63.25)
    '16 or 17 children; for 1\u202f024 bins 10 · 11 · 10 errs by 31.2 records, a binary tree by 63.2.'
    """
    children = "As many children as possible, in few levels"
    if math.isfinite(best.beta):
        low, high = max(2, math.floor(best.beta)), max(2, math.ceil(best.beta))
        children = f"{low} children" if low == high else f"{low} or {high} children"
    factors = tree.branching_factors
    name = "the histogram" if len(factors) == 1 else product_text(factors)
    beside = "" if set(factors) == {2} else f", a binary tree by {short(binary)}"
    return f"{children}; for {whole(n_bins)} bins {name} errs by {short(least)} records{beside}."
