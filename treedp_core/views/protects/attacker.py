"""What ε protects: what a release tells about one unit, and what the noise costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treedp_core import checks
from treedp_core.experiment import Experiment
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.protects.attacker import beliefs_and_levels, misses_and_levels
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.protects.attacker import Protected, belief_table, best_tests, more_records, protected
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, number, whole
from treedp_core.words import margin, percent_set, plural, privacy_text, setting_text, short

# ---- the views of what ε protects: an attacker's beliefs, his best test, and persons with several records


# ---- what is said about what ε protects; what is known of a person is rounded up


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
        f"out, they are at most **{most}** sure{exception}. Their best guess is right {right} of the time, a blind "
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
        f"who knows everybody else's records: their odds grow at most {privacy_text(math.exp(min(loss, 700.0)))}-fold. "
        f"{TWICE} such releases may bring them from {percent_set(prior)} to {_percent(later)}. What one learns about "
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


VIEWS: Final = {"beliefs": "What is seen", "tests": "The best test"}
PRIORS: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
RECORDS: Final = (1, 2, 3, 5, 10, 20, 50)


def _prior(value: object) -> float:
    return checks.number("prior", value, low=0.001, high=0.999, code="PRIOR_RANGE")


@dataclass(frozen=True, kw_only=True)
class ProtectsInputs(ReleaseInputs):
    """What is asked of a release about one unit.

    Parameters
    ----------
    prior : float
        How sure the attacker is beforehand.
    records : int
        How many the unit really has; the noise does not grow with them.
    mechanism : str
    """

    prior: float = of(number("pro_prior", 0.5, _prior, grid=PRIORS, label="Belief before", in_words=percent_set))
    records: int = of(
        whole("pro_records", 1, 1, RECORDS[-1], code="CONTRIBUTIONS_RANGE", grid=RECORDS, label="Records of one person")
    )  # fmt: skip
    mechanism: str = of(choice("pro_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism"))

    @property
    def called(self) -> tuple[str, str]:
        """What the two laws are called: with the unit's records, and without them (or with others)."""
        return called(NeighbouringRelation(self.relation), self.records)

    def release(self, data: Dataset) -> Experiment:
        """Return what is released of a table."""
        delta = self.delta_for([self.mechanism], data.total)
        return self.experiment(data, mechanism=self.mechanism, delta=delta)


def beliefs(inputs: ProtectsInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what an attacker believes after a release with a unit's records, and after one without.

    Raises
    ------
    InputError
        What `studies.protects.attacker.protected` refuses.
    """
    found = _protected(inputs, tables.data, memo)
    return _finding(
        inputs, tables.data, found,
        figure=beliefs_and_levels(found, inputs.prior, inputs.called, tables.data.labels.level_names),
        columns=partial(belief_table, found, inputs.prior),
        left=f"Left: what an attacker believes after the release, if {inputs.called[0]} and if {inputs.called[1]}. The "
        "more the two laws overlap, the less is learnt.",
    )  # fmt: skip


def best_test(inputs: ProtectsInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return how often the best test fails to tell whether a unit's records are there: it refuses as `beliefs` does."""
    found = _protected(inputs, tables.data, memo)
    return _finding(
        inputs, tables.data, found,
        figure=misses_and_levels(found, tables.data.labels.level_names),
        columns=partial(best_tests, found),
        left=f"Left: the test that tells best whether {inputs.called[0]}. A blind guess lies on the dotted line; no "
        "test gets below the curve.",
    )  # fmt: skip


def several_records(inputs: ProtectsInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return how sure an attacker can become of persons with several records: it refuses as `beliefs` does."""
    return Finding(
        columns=partial(more_records, _protected(inputs, tables.data, memo), inputs.prior, RECORDS),
        alt="How sure an attacker can become of persons with several records",
        caption="The noise stays as it is, the person has more records. ε and how sure one can become are upper "
        "bounds; before, one was as sure as set above. Formula.",
        badges=("formula",),
        provenance=_provenance(inputs, tables.data),
    )


def _protected(inputs: ProtectsInputs, data: Dataset, memo: Memo) -> Protected:
    release = inputs.release(data)
    key = ("protects", data.fingerprint, release, inputs.records)
    return memo(key, lambda: protected(release, data.tree, inputs.records))


def _finding(
    inputs: ProtectsInputs, data: Dataset, found: Protected, *, figure: Draft, left: str, **more: Any
) -> Finding:
    said = answer(found, inputs.prior, inputs.records)
    return Finding(
        figure=figure, answer=said, alt=said, caption=f"{left} {how(found)}", badges=("formula",),
        learnt=warning(found, inputs.prior), provenance=_provenance(inputs, data), **more,
    )  # fmt: skip


def _provenance(inputs: ProtectsInputs, data: Dataset) -> Provenance:
    release, mechanism = inputs.release(data), MECHANISMS[inputs.mechanism]
    return Provenance(
        about=about_data(data), relation=NeighbouringRelation(release.relation), epsilon=release.epsilon,
        delta=release.delta if mechanism.needs_delta else 0.0, numerical=mechanism.is_composed(release.accounting),
    )  # fmt: skip


ENTRIES = (
    Entry(page="protects", view="beliefs", part="pro_beliefs", label=VIEWS["beliefs"], inputs=ProtectsInputs,
          question="What does ε protect me from?", find=beliefs),
    Entry(page="protects", view="tests", part="pro_tests", label=VIEWS["tests"], inputs=ProtectsInputs,
          question="How well can I be distinguished?", find=best_test),
    Entry(page="protects", section="persons", part="pro_persons", inputs=ProtectsInputs, find=several_records),
)  # fmt: skip
