"""What epsilon protects from, and what it costs: an attacker's beliefs and tests beside the error of every level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy.accounting import Risk, risk_of_levels
from treedp_core.tree import FloatArray, Tree

CONFIDENCE: Final = 0.95
EDGES: Final = np.linspace(0.0, 1.0, 52)
"""Of the beliefs that are counted together; 50 % is the middle of a cell."""


@dataclass(frozen=True, eq=False)
class Protected:
    """What all levels of a release tell about one unit, and how much noise that takes.

    Parameters
    ----------
    experiment : Experiment
    tree : Tree
    risk : Risk
        Of the unit with its records.
    margins : (n_levels,)
        Half width of the interval that holds the noise of a count of each level 19 times in 20, in records: 0 published
        exactly, inf not released.
    """

    experiment: Experiment
    tree: Tree
    risk: Risk
    margins: FloatArray

    @cached_property
    def delta(self) -> float:
        """Probability with which more may be learnt than is said: 0 where the noise needs no delta."""
        return self.risk.delta

    def beliefs(self, prior: float) -> tuple[FloatArray, FloatArray]:
        """How often the belief in "in" ends up in each cell of `EDGES`, (n,): with the unit, and without it."""
        inner = np.clip(EDGES, 1e-12, 1.0 - 1e-12)
        return self.risk.beliefs(prior, inner)


def protected(experiment: Experiment, tree: Tree, records: int) -> Protected:
    """Return what an experiment's release, all its levels together, tells about a unit with so many records.

    Parameters
    ----------
    experiment : Experiment
        Its contributions scale the noise; post-processing changes nothing here.
    tree : Tree
    records : int
        Records that the unit has, at least 1: perhaps more than it may have.

    Raises
    ------
    InputError
        What `experiment.prepare` and `risk_of_levels` refuse.

    Examples
    --------
    >>> tree = Tree.from_branching_factors((3, 4))
    >>> found = protected(Experiment("laplace", epsilon=1.0), tree, 1)
    >>> round(found.risk.posterior(0.5), 4), found.margins.round(2).tolist()
    (0.7311, [0.0, 11.98, 11.98])
    """
    made = prepare(experiment, tree)
    delta = experiment.delta if MECHANISMS[experiment.mechanism].needs_delta else 0.0
    risk = risk_of_levels(made.noise.laws, experiment.unit, records, delta)
    margins = [
        (0.0 if exact else np.inf) if law is None else law.margin(CONFIDENCE)
        for law, exact in zip(made.noise.laws, made.noise.exact, strict=True)
    ]
    return Protected(experiment, tree, risk, np.array(margins))


def belief_table(found: Protected, prior: float) -> dict[str, list[float]]:
    """Return how often the attacker's belief ends up where: with the unit's records, and without them (or others)."""
    with_it, without = found.beliefs(prior)
    return {
        "belief from": EDGES[:-1].tolist(),
        "to": EDGES[1:].tolist(),
        "share of releases with them": with_it.tolist(),
        "share of releases without": without.tolist(),
    }


def best_tests(found: Protected, n: int = 101) -> dict[str, list[float]]:
    """Return the best attacker's misses for so many false alarms, each a share of releases."""
    alarms = np.linspace(0.0, 1.0, n)
    return {"false alarms": alarms.tolist(), "misses, at least": found.risk.misses(alarms).tolist()}


def more_records(found: Protected, prior: float, several: tuple[int, ...]) -> dict[str, list[float] | list[int]]:
    """Return how sure an attacker can become of persons with several records, the noise staying as it is."""
    laws = prepare(found.experiment, found.tree).noise.laws
    risks = [risk_of_levels(laws, found.experiment.unit, n, found.delta) for n in several]
    return {
        "records": list(several),
        "ε": [one.loss() for one in risks],
        "sure, at most": [one.posterior(prior) for one in risks],
        "best guess right": [one.right(prior) for one in risks],
    }
