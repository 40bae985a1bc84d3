"""Twenty releases with fixed seeds: their noise is the same after every commit."""

from __future__ import annotations

from typing import Final

import numpy as np

from golden.numbers import Kept, of_array
from oracles_pages import RAGGED
from sample_data.catalogue import count_sample
from treedp_core.experiment import Experiment, draw_once
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.cdf import CdfSettings, plan_cdf

SEED: Final = 20
CDF: Final = (
    CdfSettings(64, (8, 8)),
    CdfSettings(60, (4, 4, 4), mechanism="gaussian", delta=1e-6, allocation="optimal"),
    CdfSettings(64, (), mechanism="discrete_gaussian", delta=1e-6, strategy="root"),
    CdfSettings(64, (64,), relation="add_or_remove_one", least_squares=False),
)


def releases() -> Kept:
    """The estimates of twenty releases, by name."""
    found: Kept = {}
    for mechanism in MECHANISMS:
        for relation in NeighbouringRelation:
            one = Experiment(
                mechanism=mechanism, relation=relation.value, delta=1e-6, epsilon=0.7, postprocess=("least_squares",)
            )
            for before, released in zip(("before", "after"), draw_once(one, RAGGED.tree, RAGGED.counts), strict=True):
                found[f"{mechanism}, {relation.value}, {before}"] = of_array(released.estimate.tolist())
    for name in ("ages", "geography", "mobility", "conversions"):
        data = count_sample(name)
        raw, _ = draw_once(Experiment(contributions=2), data.tree, data.counts)
        found[f"sample {name}"] = of_array(raw.estimate.tolist())
    for settings in CDF:
        counts = np.arange(settings.n_bins) % 7
        made = plan_cdf(settings).release(counts, np.random.default_rng(SEED))
        found[f"CDF {settings.strategy} {settings.mechanism} {settings.relation}"] = of_array(made.cumulative.tolist())
    return found
