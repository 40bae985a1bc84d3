"""The curves of multiplicative error: what each mechanism attains and what none can beat, by number of levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plans import provable_plan_error, split_with_root, tuned_plan_error
from treedp_core.mechanisms.thresholds.schedule import MAX_LEVELS, check_alpha, check_delta, check_total
from treedp_core.noise import Gaussian, Laplace
from treedp_core.noise.law import FloatArray
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.registry import NO_CARD, MethodCard, Table, lookup, table
from treedp_core.studies.multiplicative import method_cards as of
from treedp_core.studies.multiplicative.lower_bounds import packing_bound
from treedp_core.studies.multiplicative.simple import worst_shrunk_alpha_rmse

# How the worst-case alpha-RMSE grows with the number of levels, and where curves cross.

_GRID: Final = 48
_PASSES: Final = 20  # each narrows an interval some 40 times; 15 digits need 10


@dataclass(frozen=True, eq=False)
class Growth:
    """Errors by number of levels.

    Parameters
    ----------
    n_levels : (n,)
        Whole numbers, increasing.
    error : mapping of str to (n,)
        By curve name, in records; nan where the mechanism does not exist.
    """

    n_levels: NDArray[np.int64]
    error: Mapping[str, FloatArray]


def growth(setting: Setting, n_levels: ArrayLike, names: tuple[str, ...] | None = None) -> Growth:
    """Worst-case alpha-RMSE of every curve (or the named ones) at numbers of levels.

    Parameters
    ----------
    n_levels : (n,) whole numbers

    Raises
    ------
    InputError
        LEVELS_RANGE, VALUE_UNKNOWN.

    >>> found = growth(Setting(), [100, 1000], ("laplace", "gaussian"))
    >>> {name: error.round(1).tolist() for name, error in found.error.items()}
    {'laplace': [141.4, 1414.2], 'gaussian': [42.2, 133.6]}
    """
    levels = np.array([_levels(n) for n in np.ravel(np.asarray(n_levels))], dtype=np.int64)
    chosen = [lookup(CURVES, name, "curve") for name in (CURVES if names is None else names)]
    return Growth(levels, {curve.name: curve.error(setting, levels.astype(float)) for curve in chosen})


def break_even(setting: Setting, better: str, worse: str, *, high: int = 10**6) -> int | None:
    """Smallest number of levels, 2 to `high`, from which on `better` has the smaller error than `worse`; None if none.

    "From which on": the last change of sign on a grid of 48 numbers of levels, then every whole number between two
    neighbours of the grid is searched by sections, down to the exact one.

    >>> break_even(Setting(), "gaussian", "laplace")
    9
    """
    one, two = lookup(CURVES, better, "curve"), lookup(CURVES, worse, "curve")
    low, top = 2, checks.integer("the largest number of levels", high, low=2, high=MAX_LEVELS, code="LEVELS_RANGE")
    for _ in range(_PASSES):
        levels = _between(low, top)
        wins = _errors(one.name, setting, *levels) < _errors(two.name, setting, *levels)
        if not wins[-1]:
            return None
        if wins.all():
            return int(levels[0])
        last = int(np.flatnonzero(~wins)[-1])
        low, top = int(levels[last]), int(levels[last + 1])
        if top - low == 1:
            break
    return top


def _between(low: int, top: int) -> list[float]:
    """At most 50 whole numbers from low to top, both among them, evenly spaced in logarithms."""
    inner = np.round(np.geomspace(low, top, _GRID)).clip(low, top)
    return [float(n) for n in np.unique(np.concatenate([[low, top], inner]))]


@lru_cache(maxsize=64)
def _errors(name: str, setting: Setting, *levels: float) -> FloatArray:
    """A curve is crossed by several others, all of which begin with the same numbers of levels; none is private."""
    return CURVES[name].error(setting, np.array(levels))


def _levels(n: object) -> int:
    value = checks.integer("the number of levels", n, low=1, high=MAX_LEVELS, code="LEVELS_RANGE")
    if value == 1:
        raise InputError("LEVELS_RANGE", "A tree of one level is a single count; curves begin at 2 levels.")
    return value


# ---- the error that Theorem 4.1 of Ghazi et al. proves, as a number, with corrected constants


_LOG_ETAS: Final = np.linspace(-250.0, np.log(0.49), 2001)


def theorem_error(alpha: float, epsilon: float, delta: float, n_levels: ArrayLike) -> FloatArray:
    """Proven worst-case alpha-RMSE of Estimation and clamp together, in records, shape of `n_levels`.

    Half of the budget buys (alpha, eta)-accuracy with threshold tau = `least_threshold(..., private_root=True)`
    (Corollary 4.7, corrected constant), half the clamp of Lemma 3.3 with range R: the square of the error is at most
    (alpha tau)^2 + 4 eta R^2. The paper sets eta = d^-2; here eta is the best on a fine grid.

    >>> bool(1.3e6 < theorem_error(0.5, 1.0, 1e-6, 1000) < 1.5e6)
    True
    """
    a, eps, d = check_alpha(alpha), checks.epsilon(epsilon), check_delta(delta)
    levels = np.asarray(n_levels, dtype=float)[..., None]
    half, rest = eps / 2.0, np.log1p(2.0 * np.expm1(eps / 8.0) / (d / 2.0))
    constant = 72.0 * (3.0 + 2.0 * a) ** 3 / (6.0 + 5.0 * a) * (1.0 + a) ** 2 / (a**4 * half)
    tau = constant * np.maximum(8.0 * (np.log(4.0 * levels) - _LOG_ETAS), rest)
    squares = np.square(a * tau) + 4.0 * np.exp(_LOG_ETAS) * np.square(clamp_bound(eps, d, levels))
    return np.asarray(np.sqrt(squares.min(axis=-1)))


def clamp_bound(epsilon: float, delta: float, n_levels: ArrayLike) -> FloatArray:
    """Range R of the clamp of Lemma 3.3, in records, shape of `n_levels`: TruncLap for (epsilon/2, delta/2) in total.

    R = (2 d / eps) ln(1 + d (e^(eps/(2d)) - 1) / delta) with d levels.

    >>> round(float(clamp_bound(2.0, 2e-6, 1)), 5)  # one level: Lemma 2.8 at (1, 1e-6)
    13.66369
    """
    levels = np.asarray(n_levels, dtype=float)
    share = checks.epsilon(epsilon) / (2.0 * levels)
    return np.asarray(np.log1p(np.expm1(share) * levels / check_delta(delta)) / share)


@dataclass(frozen=True)
class Setting:
    """What every curve is drawn for; one record is added or removed.

    Parameters
    ----------
    alpha : float
        Multiplicative slack in (0, 1).
    epsilon, delta : float
        Total budget; curves of pure privacy do not use delta.
    branching_factor : int
        Children of every node; only the optimal factorisation depends on it. Lower bounds are for binary trees.
    max_total : float
        Bound on the root's count that tuned and proven plans are made for, in records; they depend on it
        logarithmically. With a private bound it is what that comes out as: more than the count, never less.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE, DELTA_RANGE, DELTA_REQUIRED, BRANCHING_RANGE, TOTAL_RANGE.
    """

    alpha: float = 0.5
    epsilon: float = 1.0
    delta: float = 1e-6
    branching_factor: int = 2
    max_total: float = 10_000.0

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        checks.epsilon(self.epsilon)
        check_delta(self.delta)
        checks.integer("the branching factor", self.branching_factor, low=2, high=10**6, code="BRANCHING_RANGE")
        check_total(self.max_total)

    @property
    def sigma(self) -> float:
        """Standard deviation of Gaussian noise that spends the budget on one level, in records."""
        return gaussian_sigma(self.epsilon, self.delta)


@dataclass(frozen=True)
class Curve:
    """A table entry: the worst-case alpha-RMSE by number of levels.

    Parameters
    ----------
    error : function
        ``error(setting, n_levels)``: levels (n,) -> alpha-RMSE (n,) in records, nan where the mechanism does not exist.
    is_bound : bool
        A lower bound on every mechanism of its kind, not a mechanism.
    is_proven : bool
        Whether the value is a theorem (or exact); otherwise it is certified for trees with one leaf, and other trees
        stayed below it in simulations.
    is_pure : bool
        Epsilon alone; delta is not spent.
    is_thresholds : bool
        Whether it finds large counts first, threshold by threshold.
    is_searched : bool
        Whether each of its points is a search; it is smooth, so that few points do.
    """

    name: str
    label: str
    help: str
    error: Callable[[Setting, FloatArray], FloatArray]
    is_bound: bool = False
    is_proven: bool = True
    is_pure: bool = False
    is_thresholds: bool = False
    is_searched: bool = False
    card: MethodCard = NO_CARD

    @property
    def known(self) -> str:
        """How its value is known, in a word or two."""
        return "lower bound" if self.is_bound else "proven" if self.is_proven else "simulated"

    @property
    def spends(self) -> str:
        """What privacy it takes, in symbols."""
        return "ε" if self.is_pure else "ε, δ"


def _laplace(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(2.0) * n_levels / setting.epsilon)


def _shrunk_laplace(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return worst_shrunk_alpha_rmse(Laplace(1.0), setting.alpha) * n_levels / setting.epsilon


def _gaussian(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return np.asarray(setting.sigma * np.sqrt(n_levels))


def _optimal(setting: Setting, n_levels: FloatArray) -> FloatArray:
    # gamma_2^2 = 1 + sum of (n_i - 1) / (n_i + 1) over the d - 1 branching factors
    b = setting.branching_factor
    return np.asarray(setting.sigma * np.sqrt(1.0 + (n_levels - 1.0) * (b - 1) / (b + 1)))


def _shrunk(plain: Callable[[Setting, FloatArray], FloatArray]) -> Callable[[Setting, FloatArray], FloatArray]:
    def error(setting: Setting, n_levels: FloatArray) -> FloatArray:
        return worst_shrunk_alpha_rmse(Gaussian(1.0), setting.alpha) * plain(setting, n_levels)

    return error


def _paper(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return theorem_error(setting.alpha, setting.epsilon, setting.delta, n_levels)


def _tuned(setting: Setting, n_levels: FloatArray) -> FloatArray:
    (epsilon, delta), _ = split_with_root(setting.epsilon, setting.delta)
    return tuned_plan_error(setting.alpha, epsilon, delta, n_levels, setting.max_total)


def _provable(setting: Setting, n_levels: FloatArray) -> FloatArray:
    (epsilon, delta), _ = split_with_root(setting.epsilon, setting.delta)
    return provable_plan_error(setting.alpha, epsilon, delta, n_levels, setting.max_total)


def _pure_bound(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return packing_bound(setting.alpha, setting.epsilon, n_levels)


def _approximate_bound(setting: Setting, n_levels: FloatArray) -> FloatArray:
    return packing_bound(setting.alpha, setting.epsilon, n_levels, setting.delta)


CURVES: Final[Table[Curve]] = table(
    Curve(
        "laplace", "Laplace", "Laplace noise, equal budgets; exact (Ghazi et al., Corollary 2.7).",
        _laplace, is_pure=True,
    ),
    Curve(
        "shrunk_laplace", "Shrunk Laplace", "Laplace noise, then max(0, (1 - α) y); exact. Within a constant factor of "
        "the best possible for pure privacy, for every α.",
        _shrunk_laplace, is_pure=True,
    ),
    Curve(
        "gaussian", "Gaussian", "Gaussian noise, equal budgets, exact calibration (Ghazi et al., Corollary 2.7).",
        _gaussian,
    ),
    Curve("shrunk_gaussian", "Shrunk Gaussian", "Gaussian noise, then max(0, (1 - α) y); exact.", _shrunk(_gaussian)),
    Curve(
        "optimal", "Optimal factorisation", "Gaussian noise with minimax budgets and least squares: its error γ₂ σ is "
        "also the lower bound for every factorisation mechanism at α = 0 (Ghazi et al., Theorem 5.2, exact).",
        _optimal,
    ),
    Curve(
        "shrunk_optimal", "Shrunk optimal factorisation", "Minimax budgets and least squares, then max(0, (1 - α) y); "
        "exact.",
        _shrunk(_optimal),
    ),
    Curve(
        "paper", "Thresholds, paper's constants", "What Theorem 4.1 of Ghazi et al. proves, with corrected constants "
        "and the best η.",
        _paper, is_thresholds=True, card=of.PAPER,
    ),
    Curve(
        "provable", "Thresholds, provable plan", "Thresholds chosen so that the error is a theorem; a fiftieth of ε is "
        "kept for a bound on the total.",
        _provable, is_thresholds=True, is_searched=True, card=of.PROVABLE,
    ),
    Curve(
        "tuned", "Thresholds, tuned plan", "Thresholds tuned by simulation: privacy is proven, the error is "
        "certified for records on one leaf and held in simulations of other trees; a fiftieth of ε is kept for a bound "
        "on the total.",
        _tuned, is_proven=False, is_thresholds=True, is_searched=True, card=of.TUNED,
    ),
    Curve(
        "pure_bound", "Lower bound, δ = 0", "No mechanism without δ does better on a binary tree (packing; Ghazi et "
        "al., Theorem 5.1, with explicit constants).",
        _pure_bound, is_bound=True, is_pure=True,
    ),
    Curve(
        "approximate_bound", "Lower bound, δ > 0", "No mechanism does better on a binary tree (packing; Ghazi et al., "
        "Corollary 5.4, with explicit constants).",
        _approximate_bound, is_bound=True,
    ),
)  # fmt: skip
