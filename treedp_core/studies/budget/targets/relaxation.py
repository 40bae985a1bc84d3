"""Bounds from below of what targets need: convex ones in the precisions of the levels, and ones from privacy alone.

Variances. An error X after least squares with Laplace noise is a normal one whose variance W is random: W = sum of
V_i E_i with E_i exponential and V_i the variances of its parts, which sum to V. So E e^(-s W) = product of
1 / (1 + s V_i) lies between e^(-s V) and 1 / (1 + s V). A function c + sum of d_j e^(-s_j W) that is nowhere above
P(|N(0, W)| > 1) gives P(|X| > 1) >= c + sum of d_j (e^(-s_j V) where d_j > 0, else 1 / (1 + s_j V)), and a linear
programme finds the best one on a grid; its largest excess between the points of the grid is taken off. A variance that
makes this more than 1 - confidence is too large, and so is every larger one, as the tail grows with the scale.

Whole numbers. Discrete Laplace noise is a walk with steps of 1 or -1 at the times of a Poisson process, stopped after a
time V E: E e^(itZ) = 1 / (1 + V (1 - cos t)) with V its variance. So given W an error is a walk whose steps are
the coefficients c_i of its parts, and 0 <= 1 - cos(c_i t) <= (c_i t)^2 / 2. No coefficient is larger than 1: children's
estimates enter that of their parent with a weight A in [0, 1], and a child with the part g of the correction has its
own subtree's with 1 - g (1 - A), its siblings' with - g (1 - A), and all else with g times what its parent has. As
(1 - cos y) / y^2 falls up to 2 pi, with c = 1 / reach and in units of the reach

    e^(-W t^2 / 2) <= E e^(itX) <= e^(-W (1 - cos(c t)) / c^2)    for c t <= 2 pi.

Selberg's trigonometric polynomial below the indicator of |x| > 1 then bounds P(|X| > 1) from below by a function of W,
positive coefficients times the left side and negative ones times the right; it takes the place of the normal tail.
Discrete Gaussian noise is, by Jacobi's triple product, a sum of independent steps of 1, 0 or -1, so that its
E e^(itZ) is a product of 1 - p_n (1 - cos t) with the p_n summing to its variance V: at most e^(-V (1 - cos t)). By
Poisson's sum it is at least e^(-sigma^2 t^2 / 2). The same bound holds for W = V, with W sigma^2 / V on the left.

Privacy. Add k to one count and to the counts above it, k as large as its reach or the next whole number: the release
is e^(k total)-close to the one before, whatever its noise, and the errors are symmetric. Half of what was within reach,
shifted outwards, lies beyond: P(|X| > reach) >= e^(-k total). For n counts at once, of which m may miss, let p_j be the
probability that j miss: the same shift of each of the n - j others gives (j + 1) p_(j+1) >= (n - j) e^(-k total) p_j,
so the number that miss is at least a binomial one with odds e^(-k total). With normal noise of a total rho the shift
has size k sqrt(2 rho), and n disjoint pairs of events give 2 n Phi(z_in - k sqrt(2 rho)) <= P(one or more miss).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from scipy import special

from treedp_core.privacy import Currency
from treedp_core.privacy.rounding import smallest_root
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.quotient import Sweeps, gradient, sweeps
from treedp_core.studies.budget.targets.joint_probability import usual_miss
from treedp_core.studies.budget.targets.target import Ask, Bound
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import normal_quantile

RATES: Final = np.geomspace(0.02, 60.0, 24)
COARSE: Final = np.append(1e-9, np.geomspace(1e-2, 1e3, 250))
FINE: Final = np.append(0.0, np.geomspace(1e-2, 1e4, 20_000))
PERIOD: Final = 10.0
"""Of the polynomials below the tail of a walk, in reaches."""
FREQUENCIES: Final = (3.0, 4.0, 5.0)
"""Their highest frequencies, times the step: below 2 pi."""
MOST_TERMS: Final = 400
SPACED: Final = 24
STEPS_PER_OCTAVE: Final = 8
ROUNDED_UP: Final = 1e4
"""Steps are rounded up to so many values between one and its double, so that few bounds are computed."""
TINY: Final = 1e-100
HAIR: Final = 1e-9


def _normal_tail(variance: FloatArray) -> FloatArray:
    """P(|N(0, variance)| > 1)."""
    return np.asarray(special.erfc(1.0 / np.sqrt(2.0 * variance)))


def _walk_tail(step: float, wider: float = 1.0) -> FloatArray:
    """Lower bounds of P(|X| > 1) for a walk X of variance W, on each stretch between two points of FINE and the last.

    Parameters
    ----------
    step : float
        The longest step of the walk.
    wider : float
        What W is multiplied by in the lower bound of E e^(itX).
    """
    at = np.append(np.arange(1, FINE.size - 1, SPACED), FINE.size - 1)
    nodes, found = FINE[at], np.zeros(FINE.size)
    for highest in FREQUENCIES:
        n_terms = int(min(highest * PERIOD / (2.0 * np.pi * step), MOST_TERMS))
        if n_terms < 1:
            continue
        constant, cosines = below_outside(n_terms)
        t = 2.0 * np.pi / PERIOD * np.arange(1, n_terms + 1)
        up, down = np.maximum(cosines, 0.0), np.maximum(-cosines, 0.0)
        slow, fast = (1.0 - np.cos(step * t)) / step**2, 0.5 * wider * np.square(t)
        lower, upper = np.exp(-np.outer(nodes, fast)), np.exp(-np.outer(nodes, slow))
        value = constant + lower @ up - upper @ down
        # a chord is above a function by at most the largest second derivative times an eighth of its length squared
        bent = lower[:-1] @ (up * np.square(fast)) + upper[:-1] @ (down * np.square(slow))
        above = np.max(bent * np.square(np.diff(nodes)), initial=0.0) / 8.0
        chords = np.interp(FINE[1:], nodes, value) - above - HAIR
        last = constant - upper[-1] @ down - HAIR
        found[1:] = np.maximum(found[1:], np.append(np.minimum(chords[:-1], chords[1:]), last))
        if n_terms == MOST_TERMS:
            break
    return found


def below_outside(n_terms: int, period: float = PERIOD) -> tuple[float, FloatArray]:
    """Constant and cosines (n,) of Selberg's polynomial below 1 where |x| > 1 and below 0 elsewhere, of that period."""
    n = np.arange(1, n_terms + 1)
    u, angle = n / (n_terms + 1), 2.0 * np.pi / period * n
    sines = (np.pi * u * (1.0 - u) / np.tan(np.pi * u) + u) / (np.pi * n)
    cosines = -2.0 * (sines * np.sin(angle) + (1.0 - u) / (n_terms + 1) * np.cos(angle))
    return 1.0 - 2.0 / period - 1.0 / (n_terms + 1), np.asarray(cosines)


@lru_cache(maxsize=64)
def largest_variance(confidence: float, step: float = 0.0) -> float:
    """Return a variance that no error after least squares with Laplace noise exceeds if it is within 1 that surely.

    Parameters
    ----------
    confidence : float
    step : float
        One over the reach for discrete Laplace noise; 0 for continuous noise. inf where nothing is proved.

    >>> [round(one, 3) for one in (largest_variance(0.95), normal_quantile(0.95) ** -2, 2 / math.log(20) ** 2)]
    [0.285, 0.26, 0.223]
    """
    from scipy.optimize import linprog

    miss, found = 1.0 - confidence, math.inf
    guess = max(2.0 / math.log(1.0 / miss) ** 2, normal_quantile(confidence) ** -2)
    # between two points the normal tail is least on the left
    fine_tail = _walk_tail(step) if step else np.append(0.0, _normal_tail(FINE[1:]))
    waves = np.exp(-np.outer(COARSE, RATES))
    tail = np.interp(COARSE, FINE, fine_tail) if step else _normal_tail(COARSE)
    fine = np.exp(-np.outer(FINE, RATES))
    if step:
        guess = max(guess, 1.2 * float(FINE[np.argmax(fine_tail > miss)]))
    for _ in range(3 if step else 2):
        gains = np.concatenate([[1.0], np.exp(-RATES * guess), -1.0 / (1.0 + RATES * guess)])
        one: Any = linprog(
            -gains, A_ub=np.column_stack([np.ones(COARSE.size), waves, -waves]), b_ub=tail,
            bounds=[(None, None)] + [(0.0, None)] * (2 * RATES.size), method="highs",
        )  # fmt: skip
        if one.status != 0:
            break
        up, down = one.x[1 : 1 + RATES.size], one.x[1 + RATES.size :]
        # between two points the first sum is largest on the left, the second on the right
        excess = fine @ up - np.append(fine[1:] @ down, 0.0) - fine_tail
        base = float(-excess.max()) - HAIR

        def short(variance: float, base: float = base, up: FloatArray = up, down: FloatArray = down) -> float:
            return miss + HAIR - float(base + up @ np.exp(-RATES * variance) - down @ (1.0 / (1.0 + RATES * variance)))

        if short(4.0 * guess) > 0:
            break
        found = min(found, float(smallest_root(short, 0.5 * guess, 4.0 * guess, 1e-6)))
        guess = found
    return found


@lru_cache(maxsize=64)
def largest_discrete_gaussian_variance(confidence: float, step: float, wider: float) -> float:
    """Return the same for discrete Gaussian noise whose sigma^2 is at most `wider` times its variance.

    From that variance on the bound of the tail stays above what may miss.

    >>> round(largest_discrete_gaussian_variance(0.95, 0.01, 1.0), 3), round(normal_quantile(0.95) ** -2, 3)
    (0.267, 0.26)
    """
    missed = _walk_tail(step, wider)
    last = int(np.flatnonzero(missed <= 1.0 - confidence)[-1])
    return float(FINE[last + 1]) if last + 1 < FINE.size else math.inf


def _stepped(reach: float) -> float:
    """One over a reach, rounded up to one of few values."""
    return float(2.0 ** (math.ceil(-STEPS_PER_OCTAVE * math.log2(reach) - HAIR) / STEPS_PER_OCTAVE))


class Requirements:
    """What targets ask of the precisions of the levels, as functions of which each is to be at least 1.

    Parameters
    ----------
    problem : Problem
    bounds : list of Bound

    only_proved : bool
        Whether to leave out what need not hold for a split that meets the targets under the laws that errors have: what
        takes errors as normal and guides a search only.
    most : float
        No level spends more; of discrete Gaussian noise nothing is proved of single counts without it.
    """

    def __init__(
        self, problem: Problem, bounds: list[Bound], *, only_proved: bool = False, most: float = math.inf
    ) -> None:
        self.problem = problem
        paid = [bound for bound in bounds if problem.paid[bound.target.level]]
        factors = [_factor(problem, bound, most) for bound in paid]
        kept = [(b, f) for b, f in zip(paid, factors, strict=True) if f is not None or not only_proved]
        self.bounds = [bound for bound, _ in kept]
        # the normal law is nearer to what whole numbers need than what is proved of them
        guided = not only_proved and problem.law in LAWS_OF_WHOLE_NUMBERS
        self.factors = [1.0 if factor is None or guided else factor for _, factor in kept]
        asked = [bound for bound in paid if not bound.convex and not guided]
        self.caps = [cap for bound in asked if (cap := _cap(problem, bound, most)) is not None]
        self.all_proved = factors == self.factors
        self.homogeneous = all(bound.convex for bound in self.bounds)

    @property
    def concave(self) -> AnyArray:
        """Which of the functions are concave, (n,) bool: their tangents lie above them."""
        return np.array([bound.convex for bound in self.bounds] + [True] * len(self.caps))

    @property
    def limits(self) -> FloatArray | None:
        """The largest variance of each level, (n_levels,), inf where nothing is asked.

        None unless the nodes of a level share one. An average or a share enters by what is proved of it.
        """
        n = self.problem.tree.n_levels
        if self.problem.quotient.n_classes != n:
            return None
        one, found = np.ones(n), np.full(n, math.inf)
        for bound, factor in zip(self.bounds, self.factors, strict=True):
            if bound.convex:
                level = bound.target.level
                found[level] = min(found[level], 1.0 / (factor * bound.of_variances(one)[0][0]))
        for cap in self.caps:
            found = np.minimum(found, 1.0 / np.maximum(cap, TINY))
        return np.where(found < 0.5 / TINY, found, math.inf)

    def __call__(self, q: FloatArray) -> tuple[FloatArray, Callable[[int], FloatArray]]:
        """Values at precisions (n_levels,), and what gives the derivative of each."""
        found = sweeps(self.problem.quotient, q)
        pairs = [
            (value * factor, slope * factor)
            for bound, factor in zip(self.bounds, self.factors, strict=True)
            for value, slope in bound.of_variances(found.variance)
        ]
        pairs += [(float(weights @ found.variance), weights) for weights in self.caps]
        values = np.array([1.0 / max(value, TINY) for value, _ in pairs])
        return values, lambda i: self._slope(found, float(values[i]), pairs[i][1])

    def _slope(self, found: Sweeps, value: float, weights: FloatArray) -> FloatArray:
        return np.asarray(-gradient(self.problem.quotient, found, weights) * value**2)


def _factor(problem: Problem, bound: Bound, most: float) -> float | None:
    """What a bound's value from normal errors is multiplied by so that it is proved; None where nothing is."""
    if not bound.uses_reach:
        return 1.0
    if not bound.convex:
        return None
    if problem.noise.normal:
        return 1.0
    reach = float(bound.reach[bound.chosen].min())
    largest = _largest(problem, reach, bound.target.confidence, most)
    return normal_quantile(bound.target.confidence) ** -2 / largest if math.isfinite(largest) else None


def _largest(problem: Problem, reach: float, confidence: float, most: float) -> float:
    """A variance, in squares of a reach, that no error within the reach exceeds; inf where nothing is proved.

    No level spends more than `most`.
    """
    if problem.law == "laplace":
        return largest_variance(confidence)
    if problem.law not in LAWS_OF_WHOLE_NUMBERS or not 1.0 < reach < math.inf:
        return math.inf
    if problem.law == "discrete_laplace":
        return largest_variance(confidence, _stepped(reach)) * (1.0 + 4.0 * HAIR)
    if math.isinf(most):
        return math.inf
    wider = _wider(problem, most)
    return largest_discrete_gaussian_variance(confidence, _stepped(reach), wider) * (1.0 + 4.0 * HAIR)


def _wider(problem: Problem, most: float) -> float:
    """How much larger sigma^2 is than the variance of discrete Gaussian noise where no level spends more: rounded up.

    The ratio falls as sigma grows.
    """
    everything, paid = np.full(problem.paid.size, most), problem.paid > 0
    normal = problem.with_law("gaussian").precision(everything)[paid]
    ratio = float((problem.precision(everything)[paid] / normal).max())
    return math.ceil(ratio * ROUNDED_UP) / ROUNDED_UP


def _cap(problem: Problem, bound: Bound, spent: float) -> FloatArray | None:
    """Weights of class variances that sum to at most 1 where a share of counts is close; None where nothing is proved.

    Where one class makes up the level all of its counts have one variance.
    """
    start = problem.quotient.class_start
    first, last = int(start[bound.target.level]), int(start[bound.target.level + 1])
    miss, reach = _mean_miss(bound), bound.reach[bound.chosen]
    if last - first != 1 or not 0.0 < miss < 1.0 or not reach.max() > 0:
        return None
    most = math.inf
    if problem.noise.normal:
        high = float(np.square(reach.max() / normal_quantile(1.0 - miss))) * (1.0 + HAIR)

        def room(variance: float) -> float:  # falls as the variance grows
            return miss - float(special.erfc(reach / math.sqrt(2.0 * variance)).mean())

        most = high if room(high) > 0 else float(smallest_root(room, 1e-9 * high, high, 1e-11)) * (1.0 + HAIR)
    else:
        most = _largest(problem, float(reach.max()), 1.0 - miss, spent) * float(np.square(reach.max()))
    if not math.isfinite(most):
        return None
    weights = np.zeros(problem.quotient.n_classes)
    weights[first] = 1.0 / most
    return weights


def _mean_miss(bound: Bound) -> float:
    """How often a count may miss on average at most, whatever goes together."""
    miss, n = 1.0 - bound.target.confidence, bound.chosen.size
    if bound.target.ask is Ask.SHARE:
        return (bound.may_miss + (n - bound.may_miss) * miss) / n
    return miss


def least_total(problem: Problem, bounds: list[Bound]) -> float:
    """Return a total below which no noise meets the targets on single counts: see *Privacy* above.

    >>> from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
    >>> from treedp_core.studies.budget.targets.target import Target
    >>> from treedp_core.tree import Tree
    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> problem = Problem(Tree.from_branching_factors((2,)), np.array([20, 10, 10]), "laplace", unit)
    >>> within = Target(1, Ask.EVERY_NODE, 2.0, 0.95, in_records=True)
    >>> round(2 * least_total(problem, [Bound(problem, within)]), 6), round(float(np.log(20)), 6)
    (2.995732, 2.995732)
    """
    return max((_least_total(problem, bound) for bound in bounds if bound.uses_reach), default=0.0) * (1.0 - HAIR)


def _least_total(problem: Problem, bound: Bound) -> float:
    tree = problem.tree
    first = int(tree.level_start[bound.target.level])
    # a count below which all leaves lie is known where the total is
    is_free = tree.leaf_count[first + bound.chosen] < tree.n_leaves
    movable = is_free | (not problem.unit.total_is_public)
    shift = bound.reach[bound.chosen] * (1.0 + 2.0 * HAIR)
    if problem.law in LAWS_OF_WHOLE_NUMBERS:
        shift = np.floor(shift) + 1.0
    shift = shift / problem.unit.contributions  # what one unit changes costs the total once
    if not movable.any() or not problem.paid[bound.target.level]:
        return 0.0
    n, moved = bound.chosen.size, shift[movable]
    allowed = _mean_miss(bound)

    def missed(total: float) -> float:
        each = _tail_floor(problem, total, moved)
        return float(each.max() if bound.target.ask is Ask.EVERY_NODE else each.sum() / n)

    found = _where_at_most(missed, allowed)
    if bound.target.ask is not Ask.SHARE:
        return found
    miss = 1.0 - bound.target.confidence
    if not bound.may_miss:
        found = max(found, _where_at_most(lambda total: float(_tail_floor(problem, total, moved).max()), miss))
    if problem.unit.total_is_public:
        return found
    if problem.currency is Currency.EPSILON:
        p = usual_miss(n, bound.may_miss, bound.target.confidence)
        return max(found, math.log((1.0 - p) / p) / float(shift.max()))
    if problem.noise.normal and not bound.may_miss:
        apart = special.ndtri(0.5 * (1.0 - miss)) - special.ndtri(min(0.5, 0.5 * miss / n))
        return max(found, 0.5 * float(np.square(max(apart, 0.0) / shift.max())))
    return found


LAWS_OF_WHOLE_NUMBERS: Final = frozenset({"discrete_laplace", "discrete_gaussian"})


def _tail_floor(problem: Problem, total: float, shift: FloatArray) -> FloatArray:
    """A lower bound of the probability that an error is at least a shift (n,)."""
    if problem.currency is Currency.EPSILON:
        return np.exp(-total * shift)
    if problem.noise.normal:  # the variance is at least 1 / (2 rho)
        return np.asarray(special.erfc(shift * math.sqrt(total)))
    # relative entropy of the two laws is at most shift^2 rho, and at least that of 1/2 and the tail
    return np.asarray(1.0 - np.sqrt(-np.expm1(-2.0 * total * np.square(shift))))


def _where_at_most(falling: Callable[[float], float], allowed: float) -> float:
    """The smallest total, a hair less, at which a falling function is at most that."""
    low, high = 1e-12, 1.0
    while falling(high) > allowed and high < 1e12:
        high *= 4.0
    if falling(low) <= allowed:
        return 0.0
    return float(smallest_root(lambda total: falling(total) - allowed, low, high, 1e-11)) * (1.0 - HAIR)
