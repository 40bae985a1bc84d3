"""The smallest error a threshold plan can be made for: rounds built from the lowest threshold up, many cases at once.

Both kinds of plan share one picture. Nodes that no round labels get the value E, so E is the error of an empty node and
weights up to U_0 = 2 E / (1 - alpha) may stay unlabelled. Round i must label the root of every tree heavier than
U_(i-1); it does so with a test (threshold noise Exp(1/a), query noise Exp(1/b)) and a pass round (bounded noise of
scale 1/t). Between the lightest weight that may pass and U_(i-1) there must be room for all three noises:

    A/a + B/b + C/t = room,    cheapest at  a : b : t = sqrt(A) : sqrt(B) : sqrt(C),

where A, B, C say how far out of each noise's tail a failure may begin. With the lightest labelled weight L_i the value
v_i = (1 + alpha) L_i + E is too large by at most E, and too small by at most E up to U_i = (v_i + E) / (1 - alpha). A
tree with a labelled node of weight L_i keeps at most U_i - L_i elsewhere, so also U_i <= U_(i-1) + L_i.

Rounds are sized by the sum of their losses; how large that sum may be follows from what they lose together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from treedp_core.mechanisms.thresholds.plan_types import rounds_together
from treedp_core.noise.law import FloatArray

# How far a tuned plan reaches into the tails. Each reserve is such that the squared loss of a failure, weighted with
# its probability, stays below E^2. The constants are empirical: adversarial trees break plans with smaller ones.
THRESHOLD_RESERVE: Final = 0.5
QUERY_RESERVE: Final = 0.5
PASS_RESERVE: Final = 0.9
LABEL_RESERVE: Final = 0.5
FIRST_PASS: Final = 0.5  # the lowest pass threshold, as a part of U_0
PASS_GROWTH: Final = 1.5  # of pass thresholds, from round to round
PASS_ROOM: Final = 0.9  # pass thresholds stay below this part of U, or sqrt((1 - alpha) / (1 + alpha)) if larger

# How a proven plan divides its means; any values give a proof, these give small errors at many settings.
LIGHTEST_LABELLED: Final = math.sqrt(2.0) - 1.0  # L_i as a part of U_(i-1), at least
WHOLE_RECORD: Final = 1.0  # the bound of noise on the whole numbers may be that much larger
FAILURE_SHARE: Final = 0.15  # of E^2, given to failures of all rounds

MAX_ROUNDS: Final = 400
_FIXED_POINT: Final = 16
_MAX_LOSS: Final = 200.0
_SECTIONS: Final = 24
_REFINEMENTS: Final = 5
PASS_SHARE: Final = 0.5
"""Of delta, for the pass rounds of a plan whose sum is larger than its epsilon: near the best wherever that pays."""
LEAST_LEFT: Final = 0.125
"""Of an error, that a larger sum may leave."""
_ROUGHLY: Final = 3
_TRIES: Final = 3
_CLOSE: Final = 2e-4
_FALL: Final = 0.96
"""What rounds lose together grows a little faster than their sum."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round for many cases at once; every field has the cases' shape.

    Parameters
    ----------
    value, test, passing
        v_i, T_i and theta_i, in records.
    a, b, t, pass_delta
        Losses of threshold noise, query noise and pass noise.
    failure, worst
        Proven rounds only: eta_i, and (1 - alpha) U_i, what the first failure costs at most, in records.
    used
        1 where the case needs the round, else 0.
    """

    value: FloatArray
    test: FloatArray
    passing: FloatArray
    a: FloatArray
    b: FloatArray
    t: FloatArray
    pass_delta: FloatArray
    failure: FloatArray
    worst: FloatArray
    used: FloatArray

    @property
    def cost(self) -> FloatArray:
        """Epsilon spent, a + b + t, (n,); 0 where the case needs no more rounds."""
        return np.where(self.used > 0, self.a + self.b + self.t, 0.0)


Rounds = Callable[[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], tuple[list[Round], FloatArray]]


def tuned_rounds(
    error: FloatArray, alpha: FloatArray, delta: FloatArray, n_levels: FloatArray, max_total: FloatArray
) -> tuple[list[Round], FloatArray]:
    """Rounds of the tuned plan for errors E, lowest first, and their cost in epsilon (inf where no plan exists).

    All arguments have one shape (n,), errors and totals are in records.

    The reserve of a noise of scale s is a constant plus 2 ln max(1, s/E): a failure of probability e^-A then costs
    about e^-A s^2 <= E^2 in squared error. For the pass noise the loss of a whole tree, (1 - alpha) w - v_(i-1), takes
    the place of s where it is larger.
    """
    upper = 2.0 * error / (1.0 - alpha)
    passing, below = FIRST_PASS * upper, error
    rounds, cost, alive = [], np.zeros_like(error), np.ones_like(error, dtype=bool)
    for i in range(1, MAX_ROUNDS + 1):
        d, room = delta * 0.5**i, upper - passing
        least = _least_pass_epsilon(passing, d)
        tree_loss = np.minimum(upper + passing, max_total) * (1.0 - alpha) - below
        a, b, t, reserve = _tuned_split(error, room, least, tree_loss, np.log(n_levels))
        lightest = np.maximum(passing - _reserve(LABEL_RESERVE, 1.0 / t, error) / t, 0.1 * passing)
        value = (1.0 + alpha) * lightest + error
        rounds.append(
            Round(value, upper - reserve / a, passing, a, b, t, d, np.zeros_like(error), tree_loss, 1.0 * alive)
        )
        above = np.minimum((value + error) / (1.0 - alpha), upper + lightest)
        bad = ~(np.isfinite(a + b + t) & _grows(above, upper, alpha) & (room > 0) & (least < _MAX_LOSS))
        cost = np.where(alive & bad, np.inf, cost + rounds[-1].cost)
        alive &= ~bad & (above < max_total)
        if not alive.any():
            return rounds, cost
        upper, below = above, value
        passing = np.minimum(passing * PASS_GROWTH, np.maximum(PASS_ROOM, _long_run(alpha)) * upper)
    return rounds, np.where(alive, np.inf, cost)


def proven_rounds(
    error: FloatArray, alpha: FloatArray, delta: FloatArray, n_levels: FloatArray, max_total: FloatArray
) -> tuple[list[Round], FloatArray]:
    """Rounds of the proven plan for errors E, lowest first, and their cost in epsilon (inf where no plan exists).

    All arguments have one shape (n,); errors are in records.

    Reserves are full: threshold noise ln(1/eta_i), the largest of all d query noises ln(d/eta_i), pass noise
    ln(1/eta_i) / t downwards and its bound R_i upwards, and one record for noise on the whole numbers, with eta_i so
    small that failures of the round add at most FAILURE_SHARE 2^-i E^2 to the squared error.

    A round costs about 1 / ((1 - l) U) for L_i = l U and makes U grow by min(1 + l, l (1 + alpha) / (1 - alpha)) in the
    long run. The sum of such a geometric series is least at l = sqrt(2) - 1 in the first case and at
    sqrt((1 - alpha) / (1 + alpha)) in the second; between them the L_i where both bounds on U_i agree is taken.
    """
    upper = 2.0 * error / (1.0 - alpha)
    lowest = upper
    rounds, cost, alive = [], np.zeros_like(error), np.ones_like(error, dtype=bool)
    for i in range(1, MAX_ROUNDS + 1):
        balanced = (upper - lowest) * (1.0 - alpha) / (2.0 * alpha)
        lightest = np.maximum(LIGHTEST_LABELLED * upper, np.minimum(balanced, _long_run(alpha) * upper))
        d = delta * 0.5**i
        above = np.minimum((2.0 * error + (1.0 + alpha) * lightest) / (1.0 - alpha), upper + lightest)
        worst = np.minimum(above, max_total) * (1.0 - alpha)
        failure = np.minimum(FAILURE_SHARE * 0.5**i / 3.0 * np.square(error / worst), 0.25)
        reserves = -np.log(failure), np.log(n_levels) - np.log(failure)
        down = -np.log(failure)
        a, b, t = _proven_split(upper - lightest - WHOLE_RECORD, reserves, down, d)
        passing = lightest + _log_bound(t, d) / t
        value, test = (1.0 + alpha) * lightest + error, passing + reserves[1] / b + down / t + WHOLE_RECORD
        rounds.append(Round(value, test, passing, a, b, t, d, failure, worst, 1.0 * alive))
        bad = ~(np.isfinite(a + b + t) & _grows(above, upper, alpha))
        cost = np.where(alive & bad, np.inf, cost + rounds[-1].cost)
        alive &= ~bad & (above < max_total)
        if not alive.any():
            return rounds, cost
        upper = above
    return rounds, np.where(alive, np.inf, cost)


def proven_error(error: FloatArray, rounds: list[Round]) -> FloatArray:
    """Proven worst-case alpha-RMSE sqrt(E^2 + sum of 3 eta_i ((1 - alpha) U_i)^2) of rounds (n,), rounded up."""
    squares = np.square(error) + sum(3.0 * one.used * one.failure * np.square(one.worst) for one in rounds)
    return np.asarray(np.sqrt(squares) * (1.0 + 1e-9))


def least_error_together(
    rounds: Rounds,
    alpha: FloatArray,
    epsilon: FloatArray,
    delta: FloatArray,
    n_levels: FloatArray,
    max_total: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Smallest E found, in records, whose rounds are together (epsilon, delta)-private, and the pass rounds' delta.

    All arguments have one shape (n,), as have both results; the error is nan where the rounds' sum allows none. Rounds
    share epsilon in sum and all of delta, or more than epsilon and a part of delta, whichever errs less.
    """
    cases = np.stack([alpha, epsilon, delta, n_levels, max_total])
    error = least_error(rounds, *cases)
    found, part, spend = error.copy(), 1.0 * delta, 1.0 * epsilon
    left = np.flatnonzero(~np.isnan(found))
    for tried in range(_TRIES + 1):
        alpha, epsilon, delta, n_levels, max_total = cases[:, left]
        given = alpha, PASS_SHARE * delta, n_levels, max_total
        if tried:
            between = LEAST_LEFT * found[left], found[left]
            error[left] = least_error(rounds, alpha, spend[left], *given[1:], between=between)
        over = _together(rounds, error[left], *given, beyond=(1.0 - PASS_SHARE) * delta) / epsilon
        kept = left[(over <= 1.0) & (error[left] < found[left])]
        found[kept], part[kept] = error[kept], PASS_SHARE * cases[2, kept]
        spend[left] *= ((1.0 - _CLOSE) / np.maximum(over, LEAST_LEFT)) ** _FALL  # all may hide behind a large delta
        left = left[np.isfinite(over) & ((over < 1.0 - 3.0 * _CLOSE) | ((over > 1.0) & (tried > 0)))]
        if not left.size:
            break
    return found, part


def _together(rounds: Rounds, error: FloatArray, *given: FloatArray, beyond: FloatArray) -> FloatArray:
    """Epsilon of the rounds that are made for each error, (n,), their pass rounds' delta apart; inf where it is nan."""
    with np.errstate(all="ignore"):
        made, _ = rounds(error, *given)
    return np.array(
        [math.inf if np.isnan(e) else _epsilon(made, i, d) for i, (e, d) in enumerate(zip(error, beyond, strict=True))]
    )


def _epsilon(rounds: list[Round], case: int, delta: float) -> float:
    used = [one for one in rounds if one.used[case]]
    ways = rounds_together((float(x.a[case]), float(x.b[case]), float(x.t[case]), "exponential") for x in used)
    return max(losses.epsilon(delta) for losses in ways)


def least_error(
    rounds: Rounds,
    alpha: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    n_levels: ArrayLike,
    max_total: ArrayLike,
    *,
    between: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Smallest E, in records, whose rounds cost at most epsilon, (n,) cases (arguments broadcast); nan if none exists.

    None exists when the constant estimate (1 - alpha) M / 2 of every node, which costs nothing, is as good. The cost
    jumps where the number of rounds changes, so the end of a bracket that holds is returned, not a root. Looked for
    between two given errors, (n,) each, it is found roughly.
    """
    cases = [np.asarray(x, dtype=float) for x in np.broadcast_arrays(alpha, epsilon, delta, n_levels, max_total)]
    a, eps, d, levels, total = (x.reshape(-1, 1) for x in cases)
    high = np.log((1.0 - a) * total / 2.0) * np.ones_like(a)
    low = np.minimum(np.log(1e-3), high - 1.0) * np.ones_like(a)
    grid = np.linspace(0.0, 1.0, _SECTIONS + 1)
    if between is not None:
        low, high = (np.log(x).reshape(-1, 1) for x in between)
    found = np.zeros(a.shape, dtype=bool)
    for _ in range(_REFINEMENTS if between is None else _ROUGHLY):
        tried = low + (high - low) * grid
        shaped = [np.broadcast_to(x, tried.shape) for x in (a, d, levels, total)]
        with np.errstate(all="ignore"):
            fits = rounds(np.exp(tried), *shaped)[1] <= eps * (1.0 - 1e-9)
        # the last error that does not fit; everything above it in the grid does
        last = np.where(fits.all(axis=1), 0, _SECTIONS - np.argmin(fits[:, ::-1], axis=1))[:, None]
        found |= last < _SECTIONS
        low = np.take_along_axis(tried, last, axis=1)
        high = np.take_along_axis(tried, np.minimum(last + 1, _SECTIONS), axis=1)
    return np.where(found, np.exp(high), np.nan).reshape(cases[0].shape)


def _long_run(alpha: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((1.0 - alpha) / (1.0 + alpha)))


def _grows(above: FloatArray, upper: FloatArray, alpha: FloatArray) -> FloatArray:
    return np.asarray(above > (1.0 + np.minimum(0.02, 0.1 * alpha)) * upper)


def _reserve(constant: float, scale: FloatArray, error: FloatArray) -> FloatArray:
    return constant + 2.0 * np.log(np.maximum(1.0, scale / error))


def _tuned_split(
    error: FloatArray, room: FloatArray, least: FloatArray, tree_loss: FloatArray, log_levels: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Losses a, b, t that fit their reserves into the room at least cost, with t >= `least`; and the reserve of a.

    The reserves depend on the scales they determine; scales are averaged with their last ones (in logarithms), which
    makes that a contraction.
    """
    scales = [error, error, error]
    for _ in range(_FIXED_POINT):
        reserves = (
            _reserve(THRESHOLD_RESERVE, scales[0], error),
            log_levels + _reserve(QUERY_RESERVE, scales[1], error),
            _reserve(PASS_RESERVE, np.maximum(scales[2], tree_loss), error),
        )
        losses = _cheapest(room, reserves, least)
        scales = [np.sqrt(s / loss) for s, loss in zip(scales, losses, strict=True)]
    return *losses, reserves[0]


def _cheapest(
    room: FloatArray, reserves: tuple[FloatArray, FloatArray, FloatArray], least: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Losses a, b, t of least sum with A/a + B/b + C/t = room and t >= least; inf where the room is too small."""
    roots = [np.sqrt(reserve) for reserve in reserves]
    t = np.maximum(roots[2] * (roots[0] + roots[1] + roots[2]) / room, least)
    rest = room - reserves[2] / t
    rest = np.where(rest > 0, rest, np.nan)
    both = (roots[0] + roots[1]) / rest
    return roots[0] * both, roots[1] * both, t


def _proven_split(
    room: FloatArray, reserves: tuple[FloatArray, FloatArray], down: FloatArray, delta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `_cheapest`, where the pass noise needs (down + ln(1 + (e^t - 1) / (2 delta))) / t of the room."""
    both = np.sqrt(reserves[0]) + np.sqrt(reserves[1])
    t = both / room
    for _ in range(_FIXED_POINT):
        own = np.sqrt(down + _log_bound(t, delta))
        t = own * (both + own) / room
    rest = room - (down + _log_bound(t, delta)) / t
    rest = np.where(rest > 0, rest, np.nan)
    return np.sqrt(reserves[0]) * both / rest, np.sqrt(reserves[1]) * both / rest, t


def _least_pass_epsilon(passing: FloatArray, delta: FloatArray) -> FloatArray:
    """Smallest t whose noise bound ln(1 + (e^t - 1) / (2 delta)) / t is at most the pass threshold; inf where none."""
    t = 20.0 / passing
    for _ in range(_FIXED_POINT):
        t = np.minimum(_log_bound(t, delta) / passing, _MAX_LOSS)
    return np.where(_log_bound(t, delta) <= passing * t * (1.0 + 1e-6), t, np.inf)


def _log_bound(t: FloatArray, delta: FloatArray) -> FloatArray:
    """ln(1 + (e^t - 1) / (2 delta)), with e^t kept below overflow."""
    return np.asarray(np.log1p(np.expm1(np.minimum(t, _MAX_LOSS)) / (2.0 * delta)))
