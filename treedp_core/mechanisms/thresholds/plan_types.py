"""What the threshold mechanism may do, threshold by threshold, and what that costs: public, never private data.

Ghazi et al. label nodes with values in rounds, from the largest threshold to the smallest. A `Plan` is a list of such
rounds. Its privacy follows from the noise alone (each record meets one test and one pass round a tree at each round),
so thresholds, values and splits may be chosen freely: `plans` chooses them, `Plan` refuses what would break a promise.

Rounds may cost more in sum than they do together. A one-sided test never speaks louder than a + b for one record less
and than b for one more (see `sparse_vector`), a pass round than t either way, but for its delta; and where each loss
lies between bounds, that all reach theirs at once is rare. How rare is computed (see `of_bounds`), not estimated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.privacy.losses import Losses, of_bounds
from treedp_core.words import privacy_text, setting_text, short, whole

TestLaw = Literal["exponential", "laplace"]
MAX_PLAN_LEVELS: Final = 10_000
MAX_CUT_OFF: Final = 1_000_000
_BELOW: Final = 1.0 - 1e-12
"""More than the rounding of a round's losses."""


@dataclass(frozen=True)
class PlanLevel:
    """One round: which nodes are tested against which threshold, with what noise, and what value they get.

    Parameters
    ----------
    value : float
        Estimate v_i given to every node that is labelled in this round, in records (M_i in the paper).
    classification_threshold : float
        Threshold T_i > 0 of the sparse vector test, in records (tau_i in the paper).
    pass_threshold : float
        Threshold theta_i of the single node, at least `pass_bound`, so that an empty node never passes.
    threshold_epsilon, query_epsilon : float
        Losses a and b of the sparse vector test; it costs a + b. With cut-off c the threshold's noise has scale c/a;
        each query's has scale c/b (``exponential``, one-sided noise) or 2c/b (``laplace``).
    pass_epsilon, pass_delta : float
        Losses t and delta_i of the pass rounds together; each of c rounds has noise TruncLap(c/t, R).
    pass_bound : float
        Bound R_i of the pass noise, at least ``truncated_bound(t / c, delta_i / c)``.
    cut_off : int
        Most positive answers of the test for a tree; a whole number, because a fraction c would admit ceil(c) answers
        with noise for c and so lose ceil(c)/c times what was promised.
    test_law : {"exponential", "laplace"}
        ``exponential`` is for counts that can only all grow or all shrink (one record added or removed).

    Raises
    ------
    InputError
        PLAN_LEVEL, when a number is out of range, the pass bound is too small for its budget, or an empty node could
        pass.
    """

    value: float
    classification_threshold: float
    pass_threshold: float
    threshold_epsilon: float
    query_epsilon: float
    pass_epsilon: float
    pass_delta: float
    pass_bound: float
    cut_off: int = 1
    test_law: TestLaw = "exponential"

    def __post_init__(self) -> None:
        for name in ("classification_threshold", "threshold_epsilon", "query_epsilon", "pass_epsilon", "pass_delta"):
            checks.number(f"the {name} of a round", getattr(self, name), low=0, open_low=True, code="PLAN_LEVEL")
        for name in ("value", "pass_threshold", "pass_bound"):
            checks.number(f"the {name} of a round", getattr(self, name), low=0, code="PLAN_LEVEL")
        checks.number("the pass_delta of a round", self.pass_delta, high=1, open_high=True, code="PLAN_LEVEL")
        checks.integer("the cut_off of a round", self.cut_off, low=1, high=MAX_CUT_OFF, code="PLAN_LEVEL")
        checks.one_of("the test_law of a round", self.test_law, ("exponential", "laplace"), code="PLAN_LEVEL")
        needed = truncated_bound(self.pass_epsilon / self.cut_off, self.pass_delta / self.cut_off)
        if self.pass_bound < needed:
            given, least = short(self.pass_bound, 6), short(needed, 6)
            message = f"A pass bound of {given} is too small for its budget, which needs {least}."
            raise InputError("PLAN_LEVEL", message)
        if self.pass_threshold < self.pass_bound:
            given, least = short(self.pass_threshold, 6), short(self.pass_bound, 6)
            message = f"A pass threshold of {given} lets empty nodes pass; it needs {least}."
            raise InputError("PLAN_LEVEL", message)

    @property
    def exact_epsilon(self) -> Fraction:
        """What the round costs in epsilon, a + b + t, as an exact fraction."""
        return Fraction(self.threshold_epsilon) + Fraction(self.query_epsilon) + Fraction(self.pass_epsilon)

    @property
    def smallest_labelled(self) -> float:
        """Weight below which no node can pass, theta_i - R_i, in records."""
        return self.pass_threshold - self.pass_bound


@dataclass(frozen=True)
class Plan:
    """Rounds of the threshold mechanism with the (epsilon, delta) they promise for one record added or removed.

    Parameters
    ----------
    name : str
        Which rule chose it, for captions.
    epsilon, delta : float
        What is promised: that the rounds together lose more than epsilon, their pass rounds' deltas among it, has at
        most delta. The bound on the root's count is not in here: whoever runs the plan with a private root bound
        charges it beside the plan.
    levels : tuple of PlanLevel
        In the order in which they run: the largest threshold first.
    default_value : float
        Estimate of every node that no round labels, in records (M_0 in the paper, E in a tuned plan).
    alpha : float
        Multiplicative slack that the plan was made for.
    error : float or None
        Worst-case alpha-RMSE that the plan is made for, in records; None when it is not stated.
    error_is_proven : bool
        Whether `error` is a theorem; otherwise it is certified for empty nodes and chains only, and other trees stayed
        below it in simulations.
    n_levels : int or None
        Levels of the tree that the error statement is for; privacy does not depend on it.
    max_total : float or None
        Largest count of the root that the error statement is for, in records; privacy does not depend on it.

    Raises
    ------
    InputError
        PLAN_BUDGET when the rounds cost more than is promised, PLAN_LEVEL, EPS_RANGE, DELTA_RANGE, ALPHA_RANGE.
    """

    name: str
    epsilon: float
    delta: float
    levels: tuple[PlanLevel, ...]
    default_value: float
    alpha: float
    error: float | None = None
    error_is_proven: bool = False
    n_levels: int | None = None
    max_total: float | None = None

    def __post_init__(self) -> None:
        checks.number("epsilon", self.epsilon, low=0, open_low=True, code="EPS_RANGE")
        checks.number("delta", self.delta, low=0, high=1, open_low=True, open_high=True, code="DELTA_RANGE")
        checks.number("alpha", self.alpha, low=0, high=1, open_low=True, open_high=True, code="ALPHA_RANGE")
        checks.number("the default value", self.default_value, low=0, code="PLAN_LEVEL")
        if not 1 <= len(self.levels) <= MAX_PLAN_LEVELS or not all(isinstance(x, PlanLevel) for x in self.levels):
            raise InputError(
                "PLAN_LEVEL", f"Expected a plan of 1 to {whole(MAX_PLAN_LEVELS)} rounds, each a PlanLevel."
            )
        if self.exact_delta + Fraction(self.beyond) > Fraction(self.delta):
            together = min(1.0, float(self.exact_delta) + self.beyond)
            message = (
                f"The rounds of this plan cost epsilon = {privacy_text(self.exact_epsilon)} in sum "
                f"and delta = {privacy_text(together)} at epsilon = {setting_text(self.epsilon)}, "
                f"more than the promised {setting_text(self.delta)}."
            )
            raise InputError("PLAN_BUDGET", message)

    @property
    def beyond(self) -> float:
        """Delta that remains, beside the pass rounds' own, above the promised epsilon; rounded up.

        >>> level = PlanLevel(9.0, 9.0, 400.0, 0.05, 0.05, 0.1, 1e-9, 200.0)
        >>> together = Plan("ten rounds", 1.6, 1e-4, (level,) * 10, 1.0, 0.5)
        >>> float(together.exact_epsilon), 0 < together.beyond < 1e-4
        (2.0, True)
        """
        if self.exact_epsilon <= Fraction(self.epsilon):
            return 0.0
        ways = rounds_together((x.threshold_epsilon, x.query_epsilon, x.pass_epsilon, x.test_law) for x in self.levels)
        return max(losses.delta(self.epsilon * _BELOW) for losses in ways)

    @property
    def exact_epsilon(self) -> Fraction:
        """What all rounds cost in epsilon in sum, as an exact fraction; more than is promised where that is rare."""
        return sum((level.exact_epsilon for level in self.levels), Fraction(0))

    @property
    def exact_delta(self) -> Fraction:
        """What all pass rounds cost in delta, as an exact fraction."""
        return sum((Fraction(level.pass_delta) for level in self.levels), Fraction(0))


def rounds_together(rounds: Iterable[tuple[float, float, float, TestLaw]]) -> tuple[Losses, Losses]:
    """Return what rounds lose together beside their deltas, for one record less and for one more.

    Parameters
    ----------
    rounds : iterable of (a, b, t, test law)
    """
    less, more = [], []
    for a, b, t, law in rounds:
        other = b if law == "exponential" else a + b
        less += [(other, a + b), (t, t)]
        more += [(a + b, other), (t, t)]
    return of_bounds(less), of_bounds(more)
