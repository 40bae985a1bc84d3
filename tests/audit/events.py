"""Every event of whole-number noise on tiny trees: the whole output law on two neighbours, before and after a step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treedp_core.experiment import Experiment, Pipeline, prepare
from treedp_core.privacy import rho_to_delta

from .neighbours import ADD, REPLACE, UNKNOWN, IntArray, Small, Who, neighbours
from .report import Report

Mass = NDArray[np.float64]

TINY = (
    (Small((-1,)), Who(ADD), [0]),
    (Small((-1, 0, 0)), Who(ADD), [0, 0]),
    (Small((-1, 0, 0)), Who(ADD, 2), [1, 0]),
    (Small((-1, 0, 0)), Who(REPLACE), [1, 0]),
    (Small((-1, 0, 0)), Who(REPLACE, 2), [2, 0]),
    (Small((-1, 0, 0)), Who(UNKNOWN), [1, 0]),
    (Small((-1, 0, 1)), Who(ADD), [0]),
)
"""Trees with at most three noisy nodes, who is protected, and a data set."""
POST = ("least_squares", "non_negative")
CUT = 1e-12
"""Mass of the tails left out, at most."""


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Enumerate the output laws of n settings."""
    for i, (small, who, data) in zip(range(n), itertools.cycle(TINY), strict=False):
        mechanism = ("discrete_laplace", "discrete_gaussian")[i // len(TINY) % 2]
        experiment = Experiment(
            mechanism,
            postprocess=POST if len(small.parent) == 3 else (),
            epsilon=float(rng.uniform(2, 3)) * small.n_levels * who.contributions,  # so that grids are small
            delta=float(10 ** rng.uniform(-6, -3)),
            **who.settings,  # type: ignore[arg-type]
        )
        _one(report, f"{mechanism} on {small.parent} for {who}", small, who, np.array(data), experiment)


def _one(report: Report, what: str, small: Small, who: Who, data: IntArray, experiment: Experiment) -> None:
    ready = prepare(experiment, small.tree)
    others = neighbours(small, data, who)
    far = others[np.argsort(-np.abs((others - data) @ small.below).sum(axis=1), kind="stable")[:2]]
    report.pairs += len(far)
    for other in far:
        (p, q), outputs = _laws(small, ready, data @ small.below, other @ small.below)
        report.holds(not breaks_the_claim(ready, p, q), f"{what}: an event is likelier than the claim allows")
        if not experiment.postprocess:
            continue
        final = np.round(ready.postprocessing[0](outputs), 6)
        _, same = np.unique(final, axis=0, return_inverse=True)
        after, after_q = (np.bincount(same.ravel(), weights=mass) for mass in (p, q))
        for epsilon in (0.0, 0.5, 1.0, ready.guarantee.epsilon):
            gained = hockey_stick(after, after_q, epsilon) - hockey_stick(p, q, epsilon)
            report.holds(gained <= CUT, f"{what}: post-processing helps an attacker")


def _laws(small: Small, ready: Pipeline, *both: IntArray) -> tuple[tuple[Mass, Mass], NDArray[np.float64]]:
    """Probabilities of all outputs on two data sets, and the outputs of all nodes, exact ones included."""
    laws = [ready.noise.laws[level] for level in small.levels]
    grids = [_grid(law, [int(counts[node]) for counts in both]) for node, law in enumerate(laws)]
    p, q = (_joint(laws, grids, counts) for counts in both)
    assert all(abs(1 - mass.sum()) < CUT for mass in (p, q))
    return (p, q), np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids)).astype(float)


def _grid(law: object, counts: list[int]) -> IntArray:
    if law is None:
        return np.array(sorted(set(counts)))
    (parameter,) = vars(law).values()
    reach = math.ceil(33 / parameter if type(law).__name__ == "DiscreteLaplace" else 8.5 * parameter) + 3
    return np.arange(min(counts) - reach, max(counts) + reach + 1)


def _joint(laws: list, grids: list[IntArray], counts: IntArray) -> Mass:
    joint = np.ones(())
    for law, grid, count in zip(laws, grids, counts.tolist(), strict=True):
        joint = joint[..., None] * _mass(law, grid - count)
    return joint.ravel()


def _mass(law: object, x: IntArray) -> Mass:
    """Law of a noise, written down from its definition; all on 0 without one."""
    if law is None:
        return (x == 0).astype(float)
    (parameter,) = vars(law).values()
    if type(law).__name__ == "DiscreteLaplace":
        return np.asarray(math.tanh(parameter / 2) * np.exp(-parameter * np.abs(x)))
    all_of_it = np.arange(-math.ceil(40 * parameter) - 2, math.ceil(40 * parameter) + 3)
    return np.asarray(np.exp(-0.5 * (x / parameter) ** 2) / np.exp(-0.5 * (all_of_it / parameter) ** 2).sum())


def hockey_stick(p: Mass, q: Mass, epsilon: float) -> float:
    """Smallest delta for which p <= e^epsilon q + delta on every event."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def breaks_the_claim(ready: Pipeline, p: Mass, q: Mass) -> bool:
    """Whether some event is more likely on one data set than the claim allows."""
    promise = ready.guarantee
    pairs = [(promise.epsilon, promise.delta)]
    if promise.rho is not None:
        pairs += [(e, rho_to_delta(promise.rho, e)) for e in (0.1, 0.5, 1.0, 2.0, 4.0)]
    return any(hockey_stick(a, b, e) > d + CUT for a, b in _both_ways(p, q) for e, d in pairs)


def _both_ways(p: Mass, q: Mass) -> Iterator[tuple[Mass, Mass]]:
    yield p, q
    yield q, p
