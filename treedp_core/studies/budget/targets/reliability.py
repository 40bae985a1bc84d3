"""How likely each released count is within x % of the truth, and the nodes for which that is likely enough.

Before least squares, and for continuous Gaussian noise after it, the law of an error is known. Otherwise an error is a
sum of independent noises (`error_law`), and its characteristic function bounds the probability from both sides; the
lower bound is what is said. Where the bounds lie too far apart, or there are too many kinds of noise, releases are
simulated: always the same draws, so that budgets are compared on common random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import special

from treedp_core import checks, postprocess
from treedp_core.errors import level_mean
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.targets.error_law import ErrorLaws
from treedp_core.studies.budget.targets.inversion import NoiseSum
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.watch import generator
from treedp_core.words import short

WIDE: Final = 2e-3
"""Bounds further apart than this are settled by simulation."""
MANY_KINDS: Final = 2_000_000
"""Classes asked times classes of the tree beyond which whole releases are simulated."""
DRAWS: Final = 4_000_000
MOST_TRIALS: Final = 40_000
SEED: Final = 0x5EED_0F_3E11
Settled = tuple[FloatArray, float, float]
"""Probabilities, how far above them true ones can lie, and the standard error where they were simulated."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """The probability of each node's released count to be close to its true count.

    Parameters
    ----------
    tree : Tree
    probability : (n_nodes,)
    room : float
        How far above `probability` a true one can lie: it is rounded down.
    standard_error : float
        Largest standard error of a probability that was simulated; 0 where none was.
    """

    tree: Tree
    probability: FloatArray
    room: float = 0.0
    standard_error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether nothing was simulated."""
        return self.standard_error == 0

    @property
    def method(self) -> str:
        """How the probabilities were found, as a phrase."""
        rounded = f"rounded down by at most {short(self.room, 1)}" if self.room > 1e-6 else ""
        if self.exact:
            return f"exact law, {rounded}" if rounded else "exact"
        return f"exact law, partly by simulation with a standard error of at most {short(self.standard_error, 1)}"

    @property
    def level_mean(self) -> FloatArray:
        """Mean probability of each level's nodes, (n_levels,)."""
        return level_mean(self.tree, self.probability)

    def useful(self, confidence: float) -> AnyArray:
        """Return which nodes meet the target with that probability, (n_nodes,) bool: the useful tree.

        Raises
        ------
        InputError
            ``TARGET_RANGE``.
        """
        return self.probability >= checked_confidence(confidence)

    def useful_share(self, confidence: float) -> FloatArray:
        """Return the part of each level's nodes that meet the target with that probability, (n_levels,).

        >>> tree = Tree.from_branching_factors((2,))
        >>> Reliability(tree, np.array([1.0, 0.9, 0.2])).useful_share(0.9).tolist()
        [1.0, 0.5]
        """
        return level_mean(self.tree, self.useful(confidence).astype(np.float64))

    def deepest_useful(self, confidence: float) -> int | None:
        """Return the last level on which most nodes meet the target with that probability; None without any."""
        return max(np.flatnonzero(self.useful_share(confidence) > 0.5).tolist(), default=None)


def reliability(problem: Problem, amounts: FloatArray, within: float, at_least: float = 0.0) -> Reliability:
    """Return the probability that each released count is within a part `within` of the problem's count.

    Parameters
    ----------
    problem : Problem
        Its counts are taken as the truth.
    amounts : (n_levels,)
        What each level spends.
    within : float
        For example 0.1 for 10 %, > 0.
    at_least : float
        Counts below it are judged as if they were it (records); with 0 an empty node is right only if exactly 0.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> problem = Problem(Tree.from_branching_factors((1,)), np.array([20, 20]), "laplace", unit, least_squares=False)
    >>> reliability(problem, np.array([0.0, 1.0]), 0.1).probability.round(6).tolist()  # 1 - e^-2 for the leaf
    [0.0, 0.864665]
    """
    return _reliability(problem, amounts, reach_of(problem, within, at_least), np.arange(problem.tree.n_nodes))


def within_reach(problem: Problem, amounts: FloatArray, reach: FloatArray, nodes: IntArray) -> FloatArray:
    """Return the probability (n,) of some nodes' errors to be at most ``reach`` (n_nodes,).

    Parameters
    ----------
    amounts : (n_levels,)
    nodes : (n,)
    """
    return _reliability(problem, amounts, reach, nodes).probability[nodes]


def _reliability(problem: Problem, amounts: FloatArray, reach: FloatArray, nodes: IntArray) -> Reliability:
    spent = np.where(problem.paid > 0, amounts, 0.0)
    if problem.least_squares:
        return after_least_squares(problem, spent, reach, nodes)
    probability = np.where(problem.node_variance(spent) == 0, 1.0, 0.0)
    for level, law in enumerate(problem.laws(spent)):
        if law is not None:
            here = problem.tree.level(level)
            probability[here] = 1.0 - law.tail(reach[here])
    return Reliability(problem.tree, probability)


def after_least_squares(problem: Problem, amounts: FloatArray, reach: FloatArray, nodes: IntArray) -> Reliability:
    """Return the probability of some nodes' errors to be at most ``reach`` (n_nodes,); 0 for nodes not asked.

    Parameters
    ----------
    problem : Problem
    amounts : (n_levels,)
        0 on public levels.
    reach : (n_nodes,)
        Records.
    nodes : (n,)
    """
    variance = problem.node_variance(amounts)
    probability = np.zeros(problem.tree.n_nodes)
    probability[nodes] = normal_within(reach, variance)[nodes]
    unsure = nodes[(variance[nodes] > 0) & np.isfinite(variance[nodes])]
    if problem.noise.normal or not unsure.size:
        return Reliability(problem.tree, probability)
    class_of = problem.quotient.class_of[unsure]
    asked, place = np.unique(class_of, return_inverse=True)
    if asked.size * problem.quotient.n_classes > MANY_KINDS:
        return _simulated(problem, amounts, reach, unsure, probability)
    laws, known = problem.once("laws", amounts, lambda spent: (ErrorLaws(problem, spent), dict[Any, Settled]()))
    room, error = 0.0, 0.0
    for i, number in enumerate(asked.tolist()):
        problem.watch.check()
        here = unsure[place == i]
        key = (number, reach[here].tobytes())
        if key not in known:
            known[key] = _settled(laws.of_class(number), reach[here])
        probability[here], one_room, one_error = known[key]
        room, error = max(room, one_room), max(error, one_error)
    return Reliability(problem.tree, probability, room, error)


def _settled(error: NoiseSum, reach: FloatArray) -> Settled:
    """Lower bound of P(|error| <= reach), the distance to the upper one, and the standard error where simulated."""
    low, high = error.within(reach)
    room = float((high - low).max())
    if room <= WIDE:
        return low, room, 0.0
    trials = int(min(MOST_TRIALS, max(500, DRAWS // error.n_draws)))
    drawn = np.sort(np.abs(error.draw(generator("reliability of a level", SEED), trials)))
    seen = np.searchsorted(drawn, reach * (1.0 + 1e-9), side="right") / trials
    found = np.clip(seen, low, high)
    wide = high - low > WIDE
    deviation = np.sqrt(np.maximum(seen * (1.0 - seen), 1.0 / trials) / trials)[wide].max()
    return np.where(wide, found, low), float((high - low)[~wide].max(initial=0.0)), float(deviation)


def _simulated(
    problem: Problem, amounts: FloatArray, reach: FloatArray, nodes: IntArray, probability: FloatArray
) -> Reliability:
    """The same from whole releases."""
    trials = int(min(MOST_TRIALS, max(200, 10 * DRAWS // problem.tree.n_nodes)))
    inside, batch = np.zeros(nodes.size), max(1, DRAWS // problem.tree.n_nodes)
    for number, begin in enumerate(range(0, trials, batch)):
        problem.watch.check()
        errors = draw_errors(
            problem, amounts, generator("reliability of nodes", SEED, number), min(batch, trials - begin)
        )
        inside += (np.abs(errors[:, nodes]) <= reach[nodes] * (1.0 + 1e-9)).sum(axis=0)
    seen = inside / trials
    probability[nodes] = seen
    deviation = np.sqrt(np.maximum(seen * (1.0 - seen), 1.0 / trials) / trials).max()
    return Reliability(problem.tree, probability, 0.0, float(deviation))


def draw_errors(problem: Problem, amounts: FloatArray, rng: np.random.Generator, trials: int) -> FloatArray:
    """Return simulated errors (trials, n_nodes) of a release; nan where a count is not determined."""
    tree = problem.tree
    noise = np.zeros((trials, tree.n_nodes))
    variance = np.zeros(tree.n_nodes)
    for level, law in enumerate(problem.laws(np.where(problem.paid > 0, amounts, 0.0))):
        nodes = tree.level(level)
        if law is not None:
            noise[:, nodes], variance[nodes] = law.sample(rng, (trials, int(tree.level_sizes[level]))), law.variance
        elif problem.paid[level] or not problem.judged[level]:
            noise[:, nodes], variance[nodes] = np.nan, np.inf
    steps = ("least_squares",) if problem.least_squares else ()
    return np.asarray(postprocess.prepare(tree, variance, steps)[0](noise), dtype=np.float64)


def reach_of(problem: Problem, within: float, at_least: float = 0.0) -> FloatArray:
    """Return how many records each node may be off, (n_nodes,)."""
    part = checks.number("the relative error", within, low=0, open_low=True, code="TARGET_RANGE")
    floor = checks.number("the smallest count", at_least, low=0, code="TARGET_RANGE")
    return np.asarray(part * np.maximum(np.asarray(problem.counts, dtype=np.float64), floor))


def normal_within(reach: FloatArray, variance: FloatArray) -> FloatArray:
    """Return P(|Z| <= reach) for normal errors of those variances, shape of `reach`: 1 for variance 0, 0 for inf.

    >>> normal_within(np.array([1.959964]), np.array([1.0])).round(6).tolist()
    [0.95]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = special.erf(reach / np.sqrt(2.0 * variance))
    return np.asarray(np.where(variance == 0, 1.0, np.where(np.isinf(variance), 0.0, inside)))


def checked_confidence(confidence: float) -> float:
    """Return a probability strictly between 0 and 1, or refuse it."""
    return checks.number("confidence", confidence, low=0, high=1, open_low=True, open_high=True, code="TARGET_RANGE")
