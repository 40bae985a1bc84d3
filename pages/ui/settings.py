"""The experiment that the shared settings describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pages.ui.params import get
from treedp_core.experiment import Experiment


def experiment(**overrides: Any) -> Experiment:
    """Return the experiment of the shared settings, with some fields of `Experiment` replaced."""
    shared = Experiment(
        epsilon=get("eps"),
        delta=get("delta"),
        relation=get("nbr"),
        contributions=get("contributions"),
        known_levels=get("known_levels"),
        alpha=get("alpha"),
        threshold=get("tau"),
        seed=get("seed"),
    )
    return replace(shared, **overrides)
