"""The sparse vector technique (Ghazi et al., Algorithm 3), and runs of equal queries answered at once.

Two laws of noise. ``laplace`` is the standard form: threshold noise of scale c/a and query noise of scale 2c/b are
(a + b)-private for any queries of sensitivity 1 and at most c positive answers.

``exponential`` adds one-sided noise: rho of rate a to the threshold, nu of rate b to every query, fresh for each of
the c searches. It is (a + b)-private when one more record moves no query down (add or remove one record). Proof for
c = 1: let f and f' be the queries without and with the record, f <= f' <= f + 1, G the distribution function of nu and
S(x) = P(nu >= x). A negative answer up to k and a positive one at k has probability

    integral over rho of p(rho) * product of G(T + rho - f_j) over j < k * S(T + rho - f_k).

From f to f', substitute rho + 1: the product can only grow, because T + rho + 1 - f'_j >= T + rho - f_j; S falls at
most by e^-b over a step of 1; p(rho + 1) = e^-a p(rho). So the probability with the record is at least e^-(a+b) times
that without. From f' to f, leave rho alone: the product grows, and S falls at most by e^-b. "Never" goes likewise.
Replacing a record moves queries both ways, and the loss would be a + 2b: hence not for that relation. On the integers
rho and nu are geometric and every step of the proof stays true, as the shifts are by whole records.

Draws are for simulation, like those of `noise`: probabilities are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from treedp_core import checks
from treedp_core.mechanisms.thresholds.plan_types import PlanLevel, TestLaw
from treedp_core.noise.exact_draws import draw_discrete_laplace
from treedp_core.noise.law import FloatArray
from treedp_core.privacy.rounding import quotient_below
from treedp_core.tree import AnyArray

Noise = Literal["discrete", "continuous"]
NOISES: Final = ("discrete", "continuous")


@dataclass(frozen=True)
class NoiseLaw:
    """Noise of a threshold or a query: one- or two-sided, on the reals or the integers, P falling by e^-rate a record.

    >>> NoiseLaw("exponential", 0.5, "discrete").log_tail(np.array([-1.0, 0.5, 2.0])).tolist()
    [0.0, -0.5, -1.0]
    """

    kind: TestLaw
    rate: float
    noise: Noise

    def sample(self, rng: np.random.Generator, n: int) -> AnyArray:
        """Independent draws, (n,): int64 if discrete."""
        if self.noise == "discrete":
            x = draw_discrete_laplace(rng, self.rate, n)
            return x if self.kind == "laplace" else np.maximum(x, -1 - x)  # x or -1 - x is geometric, never below 0
        draws = rng.standard_exponential(n) / self.rate
        return draws if self.kind == "exponential" else np.where(rng.random(n) < 0.5, draws, -draws)

    def log_tail(self, x: AnyArray) -> FloatArray:
        """Logarithm of P(noise >= x), shape of `x`."""
        at = np.ceil(x) if self.noise == "discrete" else np.asarray(x, dtype=float)
        if self.kind == "exponential":
            return np.asarray(0.0 - self.rate * np.maximum(at, 0.0))
        # two-sided: P(X >= x) = e^(-rate x) / h above 0, h = 2 or, on the integers, 1 + e^-rate; 1 - P(X > -x) below
        h = 1.0 + math.exp(-self.rate) if self.noise == "discrete" else 2.0
        step = 1.0 if self.noise == "discrete" else 0.0
        lower = np.log1p(-np.exp(-self.rate * np.maximum(step - at, 0.0)) / h)
        return np.where(at > 0, -self.rate * at - math.log(h), lower)

    def log_cdf_below(self, x: AnyArray) -> FloatArray:
        """Logarithm of P(noise < x), shape of `x`; -inf where that is 0."""
        return _log_one_minus_exp(self.log_tail(x))


def round_noises(level: PlanLevel, noise: Noise) -> tuple[NoiseLaw, NoiseLaw]:
    """Noise of the threshold and of each query in one round of a plan."""
    c, slower = level.cut_off, 1 if level.test_law == "exponential" else 2
    threshold = NoiseLaw(level.test_law, quotient_below(level.threshold_epsilon, c), noise)
    return threshold, NoiseLaw(level.test_law, quotient_below(level.query_epsilon, slower * c), noise)


def sparse(
    rng: np.random.Generator,
    queries: AnyArray,
    classification_threshold: float,
    epsilon: float,
    cut_off: int,
    noise: Noise = "continuous",
) -> AnyArray:
    """Answers of Ghazi et al., Algorithm 3: which queries are at least the threshold, (n_queries,) bool.

    Threshold noise 2c/epsilon, drawn anew after each positive answer; query noise 4c/epsilon; after c positive answers
    all are negative. It is epsilon-private for queries of sensitivity 1.

    Parameters
    ----------
    queries : (n_queries,)
        In the order in which they are asked.
    cut_off : int
        c; a whole number. The algorithm admits ceil(c) positive answers, so with c = 1.01 it would lose 1.98 epsilon.

    Raises
    ------
    InputError
        CUT_OFF, EPS_RANGE or VALUE_UNKNOWN.

    >>> sparse(np.random.default_rng(1), np.array([0.0, 1e6, 1e6]), 5e5, 1.0, 1).tolist()
    [False, True, False]
    """
    c = checks.integer("cut_off", cut_off, low=1, high=checks.MAX_NODES, code="CUT_OFF")
    checks.one_of("noise", noise, NOISES)
    half = checks.epsilon(epsilon) / 2.0
    threshold, query = (NoiseLaw("laplace", quotient_below(half, k * c), noise) for k in (1, 2))
    f = np.asarray(queries)
    answers, start = np.zeros(f.size, dtype=bool), 0
    noisy = f + query.sample(rng, f.size)
    for _ in range(c):
        above = np.flatnonzero(noisy[start:] >= classification_threshold + threshold.sample(rng, 1)[0])
        if not above.size:
            break
        start += int(above[0]) + 1
        answers[start - 1] = True
    return answers


def waiting_times(rng: np.random.Generator, law: NoiseLaw, gap: AnyArray) -> FloatArray:
    """Queries before the first whose noise is at least its gap, for endless runs of one gap; shape of `gap`.

    Geometric with success probability P(noise >= gap); inf where that is 0. So a chain of a million nodes with one
    count costs one draw.
    """
    miss = -law.log_cdf_below(gap)  # -ln P(noise < gap), inf where every query succeeds
    with np.errstate(divide="ignore", over="ignore"):  # an endless wait is inf
        return np.asarray(np.floor(rng.standard_exponential(np.shape(gap)) / miss))


def _log_one_minus_exp(log_p: AnyArray) -> FloatArray:
    """ln(1 - e^log_p) for log_p <= 0, accurate at both ends."""
    p = np.asarray(log_p, dtype=float)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(p > -math.log(2.0), np.log(-np.expm1(p)), np.log1p(-np.exp(p))))
