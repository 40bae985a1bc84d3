"""Where to begin: seven made-up counts with noise, what a release tells about you, and the error of the noise laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from treedp_core.experiment import Experiment
from treedp_core.figures.base.style import AFTER, BEFORE
from treedp_core.figures.protects.attacker import beliefs_and_levels
from treedp_core.figures.sweep import line_figure
from treedp_core.figures.trees.small_tree import small_tree
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies.protects.attacker import belief_table, protected
from treedp_core.studies.sweep import first_page as study
from treedp_core.studies.sweep.first_page import TOWN
from treedp_core.studies.sweep.lines import computed
from treedp_core.studies.sweep.tables import line_table
from treedp_core.tree import FloatArray
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful, no_table
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice
from treedp_core.words import halves, margin, plural, privacy_text, setting_text, with_noun

# ---- seven made-up counts with noise, what a release of them tells about you, and the error of the noise laws


SHOWN: Final = {"noisy": "With noise", "consistent": "Made consistent"}
EVEN: Final = 0.5
"""How sure the attacker is beforehand."""
_LEVELS: Final = ("Town is", "West and East are", "the four below are")
"""The counts of each level, which have one margin."""


@dataclass(frozen=True, kw_only=True)
class TownInputs(ReleaseInputs):
    """What one release of the seven counts depends on, and whether they are shown with noise or made consistent."""

    shown: str = of(choice("start_shown", "noisy", SHOWN, label="Shown"))


def town(inputs: TownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return one release of seven made-up counts as a tree: how far each is off, and whether sums agree."""
    settings, noisy = inputs.experiment(no_table()), inputs.shown == "noisy"
    drawn = study.town_draw(settings)
    released, reach = (drawn.noisy, drawn.noisy_margin) if noisy else (drawn.consistent, drawn.consistent_margin)
    said = _answer(settings, released, reach, noisy=noisy)
    return Finding(
        figure=small_tree(TOWN, drawn.counts, released, reach, study.TOWN_NAMES, colour=BEFORE if noisy else AFTER),
        columns=partial(study.town_table, settings), answer=said, alt=said,
        caption="Seven made-up counts: true in grey, released in colour (one simulated release, discrete Laplace "
        "noise, equal shares of ε for the levels). Bars: the 95 % margin of each count by itself, with noise or after "
        "least squares, as shown (formula).",
        badges=("simulation", NOT_PRIVATE), provenance=_provenance(settings, seed=inputs.seed), is_simulated=True,
    )  # fmt: skip


def beliefs(inputs: ReleaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what an attacker believes after a release with a record and without it, beside what the noise costs."""
    settings = inputs.experiment(no_table())
    replaces = settings.unit.relation is NeighbouringRelation.REPLACE_ONE
    called = ("this record is yours", "another is") if replaces else ("your record is in", "it is not")
    found = protected(settings, TOWN, 1)
    said = (
        f"At ε = {setting_text(inputs.epsilon)} an attacker who was 50 % sure that {called[0]} is at most "
        f"{privacy_text(100 * found.risk.posterior(EVEN))} % sure once all {plural(TOWN.n_nodes, 'count')} are out. "
        f"Left: what they believe then, if {called[0]} and if {called[1]}; right: the margin that the noise costs each "
        "level. Formula, no data."
    )
    return Finding(
        figure=beliefs_and_levels(found, EVEN, called, study.TOWN_LEVELS), columns=partial(belief_table, found, EVEN),
        alt=said, caption=said, badges=("formula",), provenance=_provenance(settings),
    )  # fmt: skip


def error_of_laws(inputs: ReleaseInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the error of every noise law along ε on a table: formulas."""
    data, delta = tables.data, inputs.usable_delta(tables.data.total)
    settings, names = inputs.experiment(data, delta=delta), data.labels.level_names
    used = Provenance(about=about_data(data), relation=settings.unit.relation, epsilon=inputs.epsilon, delta=delta)
    question = study.law_question(settings)
    lines = memo(("start.laws", data.fingerprint, question), lambda: computed(question, data.tree, data.counts))
    return Finding(
        figure=line_figure(question, lines, names, inputs.epsilon),
        columns=partial(line_table, question.view, lines, names),
        alt="Root mean square error against epsilon for four noise laws: it falls as one over epsilon; at epsilon "
        f"{setting_text(inputs.epsilon)} a count is within "
        f"{with_noun(margin(study.example_margin(data.tree, settings)), 'record')} 19 times in 20.",
        caption="Lines are formulas (no simulation): root mean square error over all "
        f"{plural(data.tree.n_nodes, 'node')}, budget shared equally by the levels, no post-processing; δ = "
        f"{setting_text(delta)} for the Gaussian laws. Laplace on a tree: Rameshwar et al., Section IV; discrete "
        "Laplace: Dawson et al., Section 3.",
        badges=("formula",), provenance=used,
    )  # fmt: skip


def _answer(settings: Experiment, released: FloatArray, reach: FloatArray, *, noisy: bool) -> str:
    """How far the counts (7,) are off, with noise or made consistent, by their margins (7,), and whether sums agree."""
    off = _off(reach[TOWN.level_start[:-1]].tolist(), total_is_exact=settings.unit.total_is_public)
    top, west, east = released[:3].tolist()
    sums = f"West and East add to {halves(west + east)}"
    agree = f"{sums}, {'as they should' if west + east == top else f'not to {halves(top)}'}"
    return (
        f"At ε = {setting_text(settings.epsilon)}, {off}, each by itself, nineteen times in twenty or more; "
        f"{agree if noisy else f'made consistent, {sums}, and all sums agree'}."
    )


def _off(margins: list[float], *, total_is_exact: bool) -> str:
    """What is exact, and within which margins (n_levels,) the other counts are right."""
    start = "Town is exact (its total is public)" if total_is_exact else ""
    rest = list(zip(_LEVELS, margins, strict=True))[total_is_exact:]
    if len({reach for _, reach in rest}) == 1:
        rest = [("the other six counts are" if total_is_exact else "all seven counts are", rest[0][1])]
    told = [f"{name} right within ± {margin(reach)}" for name, reach in rest]
    *most, last = [start, *told] if start else told
    return f"{', '.join(most)} and {last}" if most else last


def _apart(inputs: ReleaseInputs, data: Dataset) -> ReleaseInputs:
    """The inputs with as many records of a unit as were counted."""
    return replace(inputs, contributions=inputs.protected(data))


def _provenance(settings: Experiment, seed: int | None = None) -> Provenance:
    about = ("seven made-up counts",)
    return Provenance(about=about, relation=settings.unit.relation, epsilon=settings.epsilon, seed=seed)


ENTRIES = (
    Entry(page="start", part="start_tree", inputs=TownInputs, find=town, apart=_apart),
    Entry(page="start", section="laws", part="start_curves", inputs=ReleaseInputs, find=error_of_laws),
    Entry(page="start", section="beliefs", part="start_beliefs", inputs=ReleaseInputs, find=beliefs, apart=_apart),
    Entry(page="lesson", section="beliefs", part="les_beliefs", inputs=ReleaseInputs, find=beliefs, apart=_apart),
)
