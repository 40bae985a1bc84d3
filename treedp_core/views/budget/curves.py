"""Error against ε for the five strategies of Dawson et al., Figure 4: on the table in use, or by their design."""

from __future__ import annotations

import math
from typing import Any, Final

from treedp_core.figures.budget import strategy_curves
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, Origin, PriorKind
from treedp_core.records import Dataset
from treedp_core.studies.budget import Curves, Design, Question, curve_table, curves_of, figure4
from treedp_core.studies.budget.figure4 import PRIOR_EPSILON, PUBLISHED, unit_of
from treedp_core.studies.budget.question import NONE
from treedp_core.tree import Tree
from treedp_core.views.budget import words
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.budget.splits import provenance
from treedp_core.views.entries import Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.words import plural, setting_text, short, whole

SAMPLE: Final = "conversions"
"""The sample that the published design is shown on."""
EVEN: Final = "Uniform, least squares"
TO_COME: Final = "The curves are not there yet: see below."
AT: Final = 4.0
BEST: Final = "Greedy, least squares"
"""Where the paper gives errors, and of which curve."""
_TUNED_ON: Final = {
    "draw": "another draw of the made-up records",
    "noisy": "one simulated noisy release",
    "public": "a public file",
    "earlier": "one simulated noisy release of a historic file",
    "true": "the TRUE COUNTS: not to be published",
    "none": "no counts, as errors in records are the same whatever they are",
}


def error_against_epsilon(
    inputs: BudgetInputs, tables: Tables, *, slow: Curves | None = None, memo: Memo = forgetful
) -> Finding:
    """Return the error of the tree against ε under five strategies.

    Parameters
    ----------
    slow : Curves, optional
        The last curves: those of another question are grey.
    """
    asked = inputs.design if inputs.is_published else inputs.curves_question(tables.data)
    found = Curves.empty() if slow is None else slow
    of = found.of or asked
    told, leaks = _takeaway(found, inputs.epsilon), isinstance(of, Question) and of.prior == "true"
    said = _of_design(of, found, inputs, tables.data) if isinstance(of, Design) else _of_table(of, inputs, tables)
    title = f"RMSRE of the tree (τ = {short(of.threshold)})" if isinstance(of, Design) else words.titled(of, "the tree")
    return Finding(
        figure=strategy_curves(
            found.totals, found.labels, found.errors, y_title=title, marker_x=inputs.epsilon, stale=of != asked
        ),
        columns=None if slow is None else lambda: curve_table(found),
        answer=told or TO_COME,
        alt=told or "Empty axes: the curves are being worked out.",
        label=Origin(PriorKind.TRUE_COUNTS).label if leaks else "",
        **said,
    )


def _of_table(of: Question, inputs: BudgetInputs, tables: Tables) -> dict[str, Any]:
    """What is said of curves of the table in use; what a noisy prior costs is part of each total."""
    now = inputs.question(tables.data)
    return {
        "caption": _caption_of_table(of, tables.data.tree),
        "notes": (words.NOT_TUNED,) if now.prior == NONE else (),
        "badges": words.badges(now),
        "provenance": provenance(now, tables),
    }  # fmt: skip


def _caption_of_table(question: Question, tree: Tree) -> str:
    cost = " What it cost is part of each ε." if question.pays else ""
    return (
        f"{NOT_PRIVATE}: expected errors on the true counts (closed form, {MECHANISMS[question.law].label}"
        f"{words.accounted(question)}). Greedy: "
        f"{plural(question.phases, 'slice')}, one split for all {plural(tree.n_levels, 'level')}, tuned on "
        f"{_TUNED_ON[question.prior]}.{cost} Dashed: before least squares."
    )


def _of_design(of: Design, found: Curves, inputs: BudgetInputs, data: Dataset) -> dict[str, Any]:
    """What is said of curves of the published design."""
    return {
        "caption": _caption_of_design(of, data.total),
        "notes": (_published(of, found),),
        "badges": words.CONFIRMED,
        "provenance": Provenance(
            about=(UserText(data.name), f"height {of.height}"), relation=NeighbouringRelation.REPLACE_UNKNOWN,
            is_fixed=True, epsilon=inputs.epsilon, seed=of.seed,
        ),
    }  # fmt: skip


def _caption_of_design(of: Design, total: int) -> str:
    where = "for each partner" if of.by_partner else "for all partners together"
    return (
        f"{NOT_PRIVATE}: closed form on the counts of the later half (discrete Laplace; Dawson et al., Figure 4: same "
        f"design, other data: synthetic conversions, {whole(total)} in all, each put into the "
        f"earlier or the later half at random, seed {of.seed}). Greedy: {plural(of.phases, 'slice')}, tuned {where} on "
        f"one noisy release of the earlier half. Dashed: before least squares. Height {of.height}, τ = "
        f"{short(of.threshold)}."
    )


def _published(of: Design, found: Curves) -> str:
    """Return the errors that the paper gives, beside the one found here by the same design, and what differs."""
    told = " and ".join(f"≈ {short(rmsre)} (height {height}, τ = {short(tau)})" for (height, tau), rmsre in
                        PUBLISHED.items())  # fmt: skip
    here = ""
    total, errors = found.near(AT) if found.labels else (0.0, {})
    if total == AT and BEST in errors:
        same = (of.height, of.threshold) in PUBLISHED
        here = f" Here {short(errors[BEST])}{'' if same else ', with another height or τ'}."
    return (
        f"Published at ε = {setting_text(AT)}, greedy with least squares: RMSRE {told}.{here} What differs: the "
        "records (an advertiser’s log of 90 days there, later days judged; made-up counts here, halved at random), how "
        "many of them each partner has, and that replaced delays are charged twice here."
    )


def ledger_line(height: int) -> str:
    """Return what the published design charges to whom."""
    return (
        f"**Ledger.** Protects {unit_of(height).described}: the delay is unknown, everything above it is known. Each "
        "ε on the axis is the total of the later half: the larger of the sum over all levels and twice what the delay "
        f"level gets, because a changed delay moves two counts. For the prior ε = {setting_text(PRIOR_EPSILON)} was "
        "spent on the earlier half, that is on other records, and is not charged to the later one."
    )


def _takeaway(found: Curves, epsilon: float) -> str:
    """Return who is best at the ε next to the reader's; nothing without curves."""
    if not found.labels:
        return ""
    total, errors = found.near(epsilon)
    known = {name: error for name, error in errors.items() if not math.isnan(error)}
    best = min(known, key=known.__getitem__)
    even = errors[EVEN]
    if best == EVEN or not errors[best]:
        return f"At ε = {setting_text(total)} the smallest error is {short(errors[best])} ({best})."
    return (
        f"At ε = {setting_text(total)} the smallest error is {short(errors[best])} ({best}); an equal split with least "
        f"squares has {short(even)}, {short(even / errors[best])} times that."
    )


def work(inputs: BudgetInputs, tables: Tables) -> Work:
    """Return what works the curves out."""
    if inputs.is_published:
        return Work(figure4, inputs.design, ("data",), lambda: 100, name="curves")
    return Work(curves_of, inputs.curves_question(tables.data), ("data", "prior"), lambda: 100, name="curves")


def apart(inputs: BudgetInputs, data: Dataset, sample: Dataset | None = None) -> BudgetInputs | None:
    """Return the inputs of the published design, which is of a sample; None of the table in use."""
    return inputs if inputs.is_published else None


def sample(inputs: BudgetInputs) -> str:
    """Return the sample that the published design is shown on; nothing where curves are of the table in use."""
    return SAMPLE if inputs.is_published else ""
