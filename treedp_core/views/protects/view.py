"""The views of what ε protects: an attacker's beliefs, his best test, and persons with several records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treedp_core import checks
from treedp_core.experiment import Experiment
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.protects import beliefs_and_levels, misses_and_levels
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.studies.protects import Protected, belief_table, best_tests, more_records, protected
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, number, whole
from treedp_core.views.protects import words

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

    prior: float = of(number("pro_prior", 0.5, _prior, grid=PRIORS))
    records: int = of(whole("pro_records", 1, 1, RECORDS[-1], code="CONTRIBUTIONS_RANGE", grid=RECORDS))
    mechanism: str = of(choice("pro_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism"))

    @property
    def called(self) -> tuple[str, str]:
        """What the two laws are called: with the unit's records, and without them (or with others)."""
        return words.called(NeighbouringRelation(self.relation), self.records)

    def release(self, data: Dataset) -> Experiment:
        """Return what is released of a table."""
        delta = self.delta_for([self.mechanism], data.total)
        return self.experiment(data, mechanism=self.mechanism, delta=delta)


def beliefs(inputs: ProtectsInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what an attacker believes after a release with a unit's records, and after one without.

    Raises
    ------
    InputError
        What `studies.protects.protected` refuses.
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
    answer = words.answer(found, inputs.prior, inputs.records)
    return Finding(
        figure=figure, answer=answer, alt=answer, caption=f"{left} {words.how(found)}", badges=("formula",),
        learnt=words.warning(found, inputs.prior), provenance=_provenance(inputs, data), **more,
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
          question="How well can I be told apart?", find=best_test),
    Entry(page="protects", section="persons", part="pro_persons", inputs=ProtectsInputs, find=several_records),
)  # fmt: skip
