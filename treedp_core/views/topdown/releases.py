"""One release of TopDown beside the truth: rows, counts of a level, errors by level, the tree, and its records."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from treedp_core.figures.topdown import bias_by_count, error_under_bound, spurious_and_lost
from treedp_core.figures.topdown_scatter import level_of_release, rows_beside, tree_of_release, true_against_released
from treedp_core.figures.trees.icicle import HOW
from treedp_core.privacy import Provenance
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.export import synthetic
from treedp_core.studies.topdown import Drawn, needs_factor_two
from treedp_core.studies.topdown import tables as numbers
from treedp_core.studies.topdown.draw import pairs, pairs_table, rows_table, some_rows
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.views.topdown import words
from treedp_core.views.topdown.inputs import Made, TopDownInputs, planned
from treedp_core.views.topdown.runs import of_release, view_of
from treedp_core.words import Z95, percent, percent_set, privacy_text, short, whole

N_ROWS: Final = 12
N_PRESENTED: Final = 5
"""Rows that have room in a presentation, whose text is twice as large."""
PREVIEW: Final = 100
NOT_DRAWN: Final = "This release is large. Press **Run** to draw it."


@view_of(of_release, NOT_DRAWN)
def rows(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return some rows of the table, true beside released; see `view_of`."""
    mine = one.found
    found = some_rows(mine, N_PRESENTED if inputs.presented else N_ROWS)
    promise, adds_up = words.promised(one), RULES[mine.wanted.rule].adds_up
    return Finding(
        columns=partial(rows_table, found),
        figure=rows_beside(found),
        answer=(answer := words.rows(mine.leaves, promise, adds_up=adds_up)),
        alt=f"Places, true beside released: {answer}",
        caption=f"NOT PRIVATE: true records beside those of one simulated release. {len(found.names)} of "
        f"{whole(found.n_places)} places with records, evenly spaced from the largest true count to the smallest. "
        f"{words.drawn(one)}. Simulation.",
    )  # fmt: skip


@view_of(of_release, NOT_DRAWN)
def counts(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the true against the released counts of one level; see `view_of`."""
    mine, level = one.found, _level(inputs, one)
    found = pairs(mine.levels[level])
    bounds = numbers.bound_table(mine, 1 - inputs.confidence)
    bound, certified = (float(bounds[name][level]) for name in ("Theorem 1", "certificate"))
    return Finding(
        columns=partial(pairs_table, found),
        figure=true_against_released(found),
        answer=(answer := words.counts(mine, level, bound, certified, inputs.confidence)),
        alt=f"True against released counts: {answer}",
        caption="NOT PRIVATE: true against released counts of one level of one simulated release; a marker stands for "
        f"all nodes with the same two counts, and grows with their number. {words.drawn(one)}. "
        "Simulation.",
    )  # fmt: skip


def levels(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what every level of a release spends and may miss."""
    plan = planned(inputs, tables, memo)
    ready = plan.found
    note = (
        " At least one level has σ < 0.9743, where the printed inequality fails; its logarithm has the factor 2."
        if any(needs_factor_two(ready))
        else " Every σ is at least 0.9743, so the printed constant holds without a factor 2."
    )
    root = "the public total takes no noise" if ready.unit.total_is_public else "the total is measured too"
    return Finding(
        columns=partial(numbers.level_table, plan.subject, ready, inputs.confidence),
        alt="Cells, budget, noise and error bound of every level",
        caption=f"Formula. {whole(ready.cells[-1])} cells on the last level, ρ = "
        f"{privacy_text(ready.guarantee.rho or 0.0)}, {root}. Bound: Theorem 1 (Boninsegna), for each level by itself "
        f"with probability {percent_set(inputs.confidence)}.{note} {ready.guarantee.sentence()}",
        **words.of_formula(plan),
    )


@view_of(of_release)
def beside_truth(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return what became of the leaves in a release, in four numbers."""
    leaves, allowed = one.found.leaves, numbers.bound_table(one.found, 1 - inputs.confidence)["Theorem 1"][-1]

    def part(n: int, of: int) -> str:
        return percent(n / of) if of else "–"

    cards = (
        ("Leaves with records", whole(leaves.n_released), f"true: {whole(leaves.n_true)}",
         f"Of {whole(leaves.n_cells)} possible ones."),
        ("Spurious leaves", whole(leaves.spurious), f"{part(leaves.spurious, leaves.n_released)} of the released",
         "Released with records, but truly empty (false positives)."),
        ("Lost leaves", whole(leaves.lost), f"{part(leaves.lost, leaves.n_true)} of the true",
         "Truly with records, but released as empty (false negatives)."),
        ("Largest error of a leaf", short(leaves.max_error), f"bound: {short(allowed)}", "In records."),
    )  # fmt: skip
    columns = dict(zip(("number", "released", "note", "about"), zip(*cards, strict=True), strict=True))
    return Finding(columns=lambda: columns, caption="This release only: simulation on the true counts, NOT PRIVATE.")


@view_of(of_release)
def one_level(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the true and the released counts of one level, by size."""
    mine, level = one.found, _level(inputs, one)
    here = mine.levels[level]
    hidden = here.n_cells - here.truth.size
    extra = f" Nodes that are 0 in both are left out: {whole(hidden)}." if hidden else ""
    return Finding(
        columns=partial(numbers.released_table, mine, level),
        figure=level_of_release(mine, level),
        alt=f"True and released counts of one level: the largest error is {short(here.max_error)} records.",
        caption=f"NOT PRIVATE: one simulated release beside the true counts. {words.drawn(one)}. "
        f"Band: ± {short(Z95)} σ of the level's noise before the projection. At most 400 "
        f"nodes, evenly spaced in the ranking.{extra} Simulation.",
    )  # fmt: skip


@view_of(of_release)
def under_bound(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the largest error of each level of a release, and what it may be."""
    mine, confidence = one.found, inputs.confidence
    table = numbers.bound_table(mine, 1 - confidence)
    seen, allowed, exact, certified = list(table.values())[1:]
    note = (
        "Both projections change a family as little as possible, so the theorem covers them."
        if RULES[mine.wanted.rule].is_bounded
        else "Dotted: the theorem is about noise that goes straight into the projection, not about this rule."
    )
    return Finding(
        columns=lambda: table,
        figure=error_under_bound(
            one.subject.level_names, np.asarray(seen, dtype=float), allowed, exact, certified, confidence=confidence,
            bound_applies=RULES[one.wanted.rule].is_bounded,
        ),
        alt=f"Largest error by level under Theorem 1: at last {short(seen[-1])} of {short(allowed[-1])} records; the "
        f"certificate says {short(certified[-1])}.",
        caption=f"NOT PRIVATE: largest error of each level of this release (simulation, seed {mine.seed}). Bounds "
        f"(formula): Theorem 1, with the factor 2 where σ < 0.9743, and by exact tails (own derivation); each holds "
        f"for its level with probability {percent_set(confidence)}. {note} Certificate (own derivation): a function of "
        "the noisy and the released counts, so it is public; it holds for all counts of all levels at once with the "
        "same probability, whatever follows the noise.",
    )  # fmt: skip


@view_of(of_release, NOT_DRAWN, ("formula", "simulation", NOT_PRIVATE))
def certificate(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return what a release says of its own errors: nothing of the truth enters."""
    mine = one.found
    found = mine.certificate(inputs.confidence)
    return Finding(
        columns=partial(numbers.certificate_table, mine, found),
        answer=words.certificate(mine, found),
        alt="What the release certifies of its own counts, level by level, beside Theorem 1",
        caption="Formula: a function of the noisy and the released counts alone, so that of a real release it is "
        "public and costs no privacy; this one is simulated. None of the noises of a level is above its reach, and "
        "what the projection moved a count by is seen, so that both together bound its error; below a count set to 0 "
        "none is larger than that "
        f"one may be. {words.drawn(one)}.",
    )  # fmt: skip


@view_of(of_release)
def wrong_nodes(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return how many nodes of each level a release fills although empty, or loses."""
    table = numbers.wrong_table(one.found)
    spurious, lost = table["spurious"], table["lost"]
    return Finding(
        columns=lambda: table,
        figure=spurious_and_lost(one.subject.level_names, spurious, lost),
        alt=f"Nodes by level: on the last level {whole(spurious[-1])} spurious and {whole(lost[-1])} lost.",
        caption="NOT PRIVATE: nodes that this release fills although they are empty, and nodes that it empties "
        f"although they have records. {words.rule(one)}, seed {one.inputs.seed}. Simulation.",
    )  # fmt: skip


@view_of(of_release)
def bias(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the mean error of the leaves of a release by size of their true count."""
    balance = (
        "With a public total all errors add up to 0: what empty leaves gain, others lose."
        if RULES[one.wanted.rule].adds_up
        else "Pruned counts need not add up to the total: small ones are 0, and nobody gains what they lose."
    )
    return Finding(
        columns=partial(numbers.bias_table, one.found),
        figure=bias_by_count({words.rule(one): one.found.bias}),
        alt="Mean error of leaves by size of their true count: small counts gain or lose, large ones hardly.",
        caption="NOT PRIVATE: mean of released − true over the leaves of each size in this release; bars: 95 % "
        f"intervals over those leaves. {balance} {words.rule(one)}, seed {one.found.seed}. Simulation.",
    )  # fmt: skip


@view_of(of_release)
def tree_before(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the tree of a release as measured, below `node`; nothing where zeros are never laid out."""
    return Finding() if one.found.noisy is None else _tree(inputs, one, after=False)


@view_of(of_release)
def tree_after(inputs: TopDownInputs, one: Made[Drawn]) -> Finding:
    """Return the tree of a release as projected, below `node`; nothing where it is too large."""
    return _tree(inputs, one, after=True)


def _tree(inputs: TopDownInputs, one: Made[Drawn], *, after: bool) -> Finding:
    mine = one.found
    if mine.picture is None:
        return Finding()
    root, clip = mine.picture[0].family(inputs.node), 4.0 * mine.plan.usual_sigma or 1.0
    title, number = ("After: projected", "released") if after else ("Before: as measured", "noisy")
    only = (
        "" if mine.noisy is not None else " Only nodes that are in the truth or in the release exist in this picture."
    )
    return Finding(
        columns=partial(numbers.family_table, mine, root, after=after, confidence=inputs.confidence),
        figure=tree_of_release(mine, root, after=after),
        alt=f"{title}: signed errors of the counts below one node, as an icicle.",
        caption=f"NOT PRIVATE: area is the true count, number the {number} one. "
        f"Colour: signed error of this draw, orange too low, blue too high, clipped {short(clip)} "
        f"records to either side (4 σ). {words.rule(one)}, seed {mine.seed}.{only} Simulation.",
        how=HOW,
    )  # fmt: skip


def synthetic_rows(one: Made[Drawn], *, by_record: bool) -> Finding:
    """Return the first leaves of a release with their counts, or its first records; nothing without whole counts."""
    table = one.found.table
    if table is None:
        return Finding()
    certificate = one.found.certificate(one.inputs.confidence)
    columns = numbers.columns_of(one.subject, certificate)
    n, what, order = (
        (table.total, "records", "; equal records stand together, so the order says nothing")
        if by_record
        else (table.n_leaves, "leaves", " in the order of the categories")
    )
    first = f"The first {PREVIEW} of {whole(n)} {what}" if n > PREVIEW else f"All {whole(n)} {what}"
    promise = Provenance.SIMULATION.sentence(one.found.plan.guarantee)
    return Finding(
        columns=partial(synthetic.first_records if by_record else synthetic.first_leaves, table, columns, PREVIEW),
        alt="The first synthetic records" if by_record else "The first leaves of the release and their counts",
        caption=f"{first}{order}. {words.drawn(one)}. {promise}",
    )


def _level(inputs: TopDownInputs, one: Made[Drawn]) -> int:
    return min(inputs.level, len(one.found.levels) - 1)
