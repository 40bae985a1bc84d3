"""What a plan states of thresholds: the rounds, for one record, and the public bound that they were made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError

CODE: Final = "PLAN_INVALID"
MOST_ROUNDS: Final = 512
MOST_TOTAL: Final = 10**15
LEAST_RATE: Final = 1e-18
MOST_RATE: Final = 200.0
MOST_BOUND: Final = 1 << 40
MOST_STEPS: Final = 1 << 40
RULES: Final = ("tuned", "provable")


@dataclass(frozen=True)
class PlannedRound:
    """One round: every tree that is left is tested once, and on a level that says yes each node once more.

    All noise is whole numbers. One-sided noise k = 0, 1, ... has probability in proportion to e^(-rate k); that of a
    node's own test is k = -pass_bound, ..., pass_bound, in proportion to e^(-pass_rate |k|).

    Parameters
    ----------
    threshold : float
        Which the largest count of a level, with noise, must reach, once it has noise of its own; in records.
    passes_above : float
        What the noisy count of a node must exceed to get the round's value; in records.
    value : float
        That value, in records.
    threshold_rate, query_rate : float
        Of the one-sided noise on threshold and query, a record.
    pass_rate : float
    pass_bound : int
    """

    threshold: float
    passes_above: float
    value: float
    threshold_rate: float
    query_rate: float
    pass_rate: float
    pass_bound: int

    def __post_init__(self) -> None:
        for name in ("threshold", "passes_above", "value"):
            checks.number(name, getattr(self, name), low=0, high=1e21, code=CODE)
        for name in ("threshold_rate", "query_rate", "pass_rate"):
            checks.number(name, getattr(self, name), low=LEAST_RATE, high=MOST_RATE, code=CODE)
        checks.integer("pass_bound", self.pass_bound, low=0, high=MOST_BOUND, code=CODE)


@dataclass(frozen=True)
class Thresholds:
    """The rounds of a release by thresholds, from the largest threshold down, and what they lose for one record.

    Parameters
    ----------
    rule : str
        How they were chosen: one of `RULES`.
    alpha : float
        Part of a count that its error is forgiven.
    bound : int
        Records of the whole tree at most: public, and never taken from them.
    rounds : tuple of PlannedRound
    default_value : float
        Of every node that no round gives one, in records.
    error : float
        The alpha-RMSE of a node while there are no more records than the bound: for "provable" a theorem for every
        tree, for "tuned" certified for empty nodes and for records on one leaf; rounded up, in records.
    steps : int
        By how many records, each added or removed, what one unit has can differ.
    epsilon, delta : float
        What all rounds lose for one record added or removed.
    """

    rule: str
    alpha: float
    bound: int
    rounds: tuple[PlannedRound, ...]
    default_value: float
    error: float
    steps: int
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checks.one_of("rule", self.rule, RULES, code=CODE)
        checks.number("alpha", self.alpha, low=0, high=1, open_low=True, open_high=True, code=CODE)
        checks.integer("the bound on the total", self.bound, low=1, high=MOST_TOTAL, code=CODE)
        for name in ("default_value", "error"):
            checks.number(name, getattr(self, name), low=0, high=1e21, code=CODE)
        checks.integer("steps", self.steps, low=1, high=MOST_STEPS, code=CODE)
        checks.number("epsilon of one record", self.epsilon, low=1e-12, high=1e3, code=CODE)
        checks.number("delta of one record", self.delta, low=0, high=1, open_high=True, code=CODE)
        if not 0 < len(self.rounds) <= MOST_ROUNDS:
            raise InputError(CODE, f"Expected 1 to {MOST_ROUNDS} rounds of thresholds.")
