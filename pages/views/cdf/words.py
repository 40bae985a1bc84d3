"""What the page CDF and ranges calls its releases and bins."""

from __future__ import annotations

from typing import Final

from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.cdf.bins import Bins
from treedp_core.tree.text import product_text
from treedp_core.words import plural, setting_text

PROTECTS: Final = NeighbouringRelation.REPLACE_ONE
"""Whom the paper and the bound protect."""


def what(settings: CdfSettings) -> str:
    """Return what is released, on which tree, at which budget."""
    post = "least squares" if settings.least_squares else "no least squares"
    return (
        f"{MECHANISMS[settings.mechanism].label} noise on the tree {product_text(settings.branching_factors)}, "
        f"{settings.allocation} budgets, {post}, ε = {setting_text(settings.epsilon)}"
    )


def bins_in_words(data: Bins) -> str:
    """Return how many bins there are, and that the last one holds what has no place in the others."""
    return plural(data.n_bins - data.has_other, "bin") + data.has_other * " and a last one “(other)” beyond the bounds"
