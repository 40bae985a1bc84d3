"""The thresholds of a plan in words: what is asked, what each node gets, what that costs. Costs are rounded up."""

from __future__ import annotations

from typing import Final

from treedp_core.plans.thresholds.statement import Thresholds
from treedp_core.words import plural, privacy_text, promise_text, setting_text, short, whole

THEOREM: Final = "Ghazi et al., Theorem 4.1, with corrected budgets"


def released(one: Thresholds, noun: str) -> str:
    """Return with which error, and by what, counts will be released; it fits after what is released."""
    return (
        f"Their error is multiplicative, α = {setting_text(one.alpha)}: they come from thresholds ({THEOREM}), made "
        f"for at most {whole(one.bound)} {noun} in all, a public bound."
    )


def noise(one: Thresholds, noun: str) -> str:
    """Return what is asked with which noise, and what a node gets, in sentences."""
    first, last = one.rounds[0], one.rounds[-1]
    return (
        f"In {plural(len(one.rounds), 'round')}, from the threshold of {short(first.threshold)} {noun} down to "
        f"{short(last.threshold)}, each remaining subtree is asked level by level, from the deepest up, whether a "
        "node reaches the threshold, with one-sided whole-number Laplace noise on threshold and answers; on a level "
        "that says yes each node is tested with Laplace noise cut off at a bound, and one that passes gets the round’s "
        f"value, with all above it. A node that no round labels gets {short(one.default_value)} {noun}. "
        f"{accuracy(one, noun)}"
    )


def accuracy(one: Thresholds, noun: str) -> str:
    """Return how large errors are, in a sentence."""
    known = (
        "for every tree"
        if one.rule == "provable"
        else "certified for empty nodes and records on one leaf; other trees stayed below it in simulations"
    )
    return (
        f"Beyond α = {setting_text(one.alpha)} of its count, a node’s RMSE is at most {error(one)} {noun} while there "
        f"are no more than {whole(one.bound)} in all: {known}."
    )


def error(one: Thresholds) -> str:
    """Return the error, rounded up to four digits."""
    return privacy_text(one.error)


def cost(one: Thresholds, epsilon: float, delta: float, unit: str) -> str:
    """Return what the rounds cost, in sentences; `unit` is one of what is counted."""
    told = f"All rounds together promise {promise_text(one.epsilon, one.delta)} to one {unit} added or removed"
    if one.steps == 1:
        return f"{told}: ({promise_text(epsilon, delta)})-differential privacy."
    return (
        f"{told}; what one unit has differs by {plural(one.steps, f'such {unit}')}, one after the other (Fact 2.2): "
        f"({promise_text(epsilon, delta)})-differential privacy."
    )


def open_point(one: Thresholds, noun: str) -> str:
    """Return what must be seen to of the bound."""
    return (
        f"The bound of {whole(one.bound)} {noun} in all is public: make sure that it was not read from these. Beyond "
        "it the promise holds, and the error does not."
    )


def conversion(one: Thresholds, unit: str) -> str:
    """Return how the rounds become the promise, in words."""
    summed = "the losses of all rounds composed, as they rarely reach their sum"
    return summed if one.steps == 1 else f"{summed}; then from one {unit} to {whole(one.steps)} (Fact 2.2)"


def table(one: Thresholds, noun: str, unit: str) -> dict[str, list[str]]:
    """Return the rounds as columns of words, for people."""
    rounds = one.rounds
    return {
        "round": [f"round {i}" for i in range(1, len(rounds) + 1)],
        f"threshold ({noun})": [short(r.threshold, 4) for r in rounds],
        "noise of threshold, rate": [short(r.threshold_rate, 4) for r in rounds],
        "noise of queries, rate": [short(r.query_rate, 4) for r in rounds],
        f"node passes above ({noun})": [short(r.passes_above, 4) for r in rounds],
        "noise of a node, rate": [short(r.pass_rate, 4) for r in rounds],
        f"bounded by ({noun})": [whole(r.pass_bound) for r in rounds],
        f"value given ({noun})": [short(r.value, 4) for r in rounds],
        f"ε of one {unit}": [privacy_text(r.threshold_rate + r.query_rate + r.pass_rate) for r in rounds],
    }
