"""What is said about what ε protects; what is known of a person is rounded up."""

from __future__ import annotations

import math
from typing import Final

from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.protects import Protected
from treedp_core.words import margin, percent_set, plural, privacy_text, setting_text, short

TWICE: Final = 3
"""Releases that are counted together in the sentence on safety."""


def called(relation: NeighbouringRelation, records: int) -> tuple[str, str]:
    """Return what the two laws are called.

    >>> called(NeighbouringRelation.ADD_OR_REMOVE_ONE, 1), called(NeighbouringRelation.REPLACE_ONE, 3)
    (('your record is in', 'it is not'), ('these 3 records are yours', 'others are'))
    """
    if relation is NeighbouringRelation.REPLACE_ONE:
        return (
            ("this record is yours", "another is")
            if records == 1
            else (f"these {records} records are yours", "others are")
        )
    if relation is NeighbouringRelation.REPLACE_UNKNOWN:
        what = "this record's" if records == 1 else f"these {records} records'"
        return f"{what} unknown values are yours", "others are"
    who = "your record is" if records == 1 else f"your {records} records are"
    return f"{who} in", "it is not" if records == 1 else "they are not"


def answer(found: Protected, prior: float, records: int) -> str:
    """Return how sure one can become, how often one guesses right, and what the noise costs."""
    most, right = (_percent(of(prior)) for of in (found.risk.posterior, found.risk.right))
    whose = called(found.experiment.unit.relation, records)[0]
    exception = f" (in all but one of {short(1.0 / found.delta)} releases)" if found.delta else ""
    wide = [one for one in found.margins.tolist() if one and math.isfinite(one)]
    cost = f" A count is then within ± {margin(max(wide))}, 19 times in 20." if wide else ""
    return (
        f"An attacker was {percent_set(prior)} sure that {whose}. Once all {plural(found.tree.n_nodes, 'count')} are "
        f"out, he is at most **{most}** sure{exception}. His best guess is right {right} of the time, a blind "
        f"one {percent_set(max(prior, 1 - prior))}.{cost}"
    )


def warning(found: Protected, prior: float) -> str:
    """Return why an epsilon is not "safe": the bound from other beliefs, and after more releases."""
    loss = found.risk.loss()
    if not math.isfinite(loss):
        return "Here nothing bounds what one can become sure of."
    later = 1.0 / (1.0 + (1.0 - prior) / prior * math.exp(-min(TWICE * loss, 700.0)))
    return (
        f"**ε = {privacy_text(loss)} is not “safe”, and no ε is.** It bounds what *this* release adds for an attacker "
        f"who knows everybody else's records: his odds grow at most {privacy_text(math.exp(min(loss, 700.0)))}-fold. "
        f"{TWICE} such releases may bring him from {percent_set(prior)} to {_percent(later)}. What one learns about "
        "everybody, such as that smoking kills, is no part of it. A record is not a person: who has more records than "
        "the promise says is protected less."
    )


def how(found: Protected) -> str:
    """Return how the numbers come about."""
    exact = {
        "gaussian": "Normal noise on all levels is one normal test (Dong, Roth and Su, 2022): closed form.",
        "laplace": "Laplace losses are added up on a grid whose masses are moved so that the attacker only gains.",
    }.get(found.experiment.mechanism, "Whole-number noise: the losses of all levels are added up atom by atom.")
    bound = (
        f" With such noise no loss is the largest; the bound fails with probability δ = {setting_text(found.delta)}."
        if found.delta
        else ""
    )
    return (
        f"{exact}{bound} Privacy loss {privacy_text(found.risk.loss())} over all levels. Post-processing changes "
        f"nothing here. Right: half width of the interval that holds a count's noise 19 times in 20, before "
        "post-processing. Formula."
    )


def _percent(part: float) -> str:
    return f"{privacy_text(100 * part)} %"
