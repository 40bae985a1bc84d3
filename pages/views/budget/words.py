"""What the Budget split page says about its numbers. Pure logic; labels of the data never appear here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pages.ui.text import plain, plural, short
from pages.views.budget.split import SIMPLE, Row, Settings
from treedp_core.allocation.published import PUBLISHED_SPLITS
from treedp_core.errors import METRICS
from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.studies.budget import Optimum, Prior, PriorKind
from treedp_core.tree import Tree
from treedp_core.words import budget_text, privacy_text, setting_text

TIE: Final = 1e-3
"""Errors this close, relative to each other, count as equal in a sentence."""


def badges(settings: Settings) -> str:
    """Return the badges of the page: errors are formulas on the true counts; a noisy prior is one simulated release."""
    return "formula, simulation, NOT PRIVATE" if settings.prior == "noisy" else "formula, NOT PRIVATE"


def best_simple(rows: Sequence[Row]) -> Row | None:
    """Return the simple strategy (it looks at no counts) with the smallest error."""
    simple = [row for row in rows if row.name in SIMPLE or row.name in PUBLISHED_SPLITS]
    return min(simple, key=lambda row: row.errors.tree, default=None)


def verdict(rows: Sequence[Row]) -> str:
    """Return the sentence that sets greedy beside the best of the simple strategies, whichever is better."""
    greedy = next((row for row in rows if row.name == "greedy"), None)
    simple = best_simple(rows)
    if greedy is None or simple is None:
        return ""
    mine, other = greedy.errors.tree, simple.errors.tree
    pair = f"greedy {short(mine)}, best of the simple strategies {short(other)} ({simple.label})"
    if mine == other or abs(mine / other - 1) < TIE:
        return f"Greedy is no better than the best of the simple strategies here: {pair}, which looks at no counts."
    if mine < other:
        return f"Greedy wins here: {pair}, {percent(1 - mine / other)} less error."
    why = ""
    if greedy.ledger.prior is not None and greedy.ledger.prior.spent:
        why = " What its prior costs is missing on the levels; the simple strategies spend everything there."
    much = f"{percent(mine / other - 1)} more error" if math.isfinite(mine) else "an unbounded error"
    return f"**Greedy loses here:** {pair}, {much}, although that one looks at no counts.{why}"


def percent(part: float) -> str:
    """Return a part as percent.

    >>> percent(0.0312)
    '3.12 %'
    """
    return f"{short(100 * part)} %"


def optimum_line(best: Optimum | None, settings: Settings) -> str:
    """Return what is known of the tuned split: a proof that it is best, or an honest word that there is none."""
    if best is None:
        return ""
    start = f"The tuned split was found from “{best.found_from.replace('_', ' ')}”"
    if best.gap is None:
        return f"{start}: the best of many local searches, not certified (with this noise the problem is not convex)."
    if best.certified:
        return f"{start}. Certified by convexity: no split has an error on the prior smaller by more than 0.01 %."
    return f"{start}. By convexity no split has an error on the prior smaller by more than {percent(best.gap)}."


def prior_line(prior: Prior | None, settings: Settings) -> str:
    """Return what the greedy and the tuned split look at, and what that cost."""
    if prior is None:
        return ""
    if prior.kind is PriorKind.NOISY:
        cost = f"ε = {privacy_text(settings.epsilon_of_prior)}"
        if settings.currency is Currency.RHO:
            cost += f" (ρ = {privacy_text(prior.spent)})"
        return (
            f"The greedy and the tuned split look at a noisy prior: one simulated release of all counts (equal split, "
            f"least squares, seed {settings.experiment.seed}) that costs {cost}, charged to the total."
        )
    return prior.label


def ledger_line(row: Row, settings: Settings) -> str:
    """Return the ledger sentence of a split, and for ρ the promise it stands for."""
    told = row.ledger.sentence()
    if settings.currency is Currency.RHO:
        told += (
            f" ρ = {budget_text(row.ledger.total)} is (ε = {setting_text(settings.experiment.epsilon)}, "
            f"δ = {setting_text(settings.experiment.delta)})-differential privacy."
        )
    elif float(row.ledger.charged) < row.ledger.total * (1 - 1e-9):
        told += " The rest is not spent."
    return plain(told)


def titled(settings: Settings, of: str) -> str:
    """Return the metric with its unit and τ, as on an axis."""
    entry = METRICS[settings.experiment.metric]
    tau = f" (τ = {short(settings.experiment.threshold)})" if "threshold" in entry.uses else ""
    return f"{entry.label} of {of}{tau}" + (f" ({entry.unit})" if entry.unit else "")


def caption(settings: Settings, tree: Tree, rows: Sequence[Row]) -> str:
    """Return the caption of the comparison."""
    source = f"{settings.metric} from noise variances"
    if settings.experiment.metric == "rmsre":
        source = f"Dawson et al., Definition 7, τ = {short(settings.experiment.threshold)}"
    published = [row.label for row in rows if row.name in PUBLISHED_SPLITS]
    rho = settings.currency is Currency.EPSILON
    note = (
        f" {', '.join(published)}: published shares of ρ"
        + (", used here as shares of ε" if rho else "")
        + " (Abowd et al., 2022)."
        if published
        else ""
    )
    if settings.experiment.relation == NeighbouringRelation.REPLACE_UNKNOWN.value:
        note += " Unknown levels are charged twice, so that shares need not fill 100 %."
    return (
        f"NOT PRIVATE: expected errors on the true counts (closed form: {source}; "
        f"{'after least squares, Algorithm 2' if settings.least_squares else 'before post-processing'}). All "
        f"strategies cost the same total of ε = {setting_text(settings.experiment.epsilon)}; "
        f"{plural(tree.n_leaves, 'leaf', 'leaves')}, {plural(tree.n_levels, 'level')}. ∞: a count is not "
        f"determined.{note}"
    )
