"""The tables behind the figures: what is planned, one release, releases compared, and what they promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.inspector import Inspection
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records.dataset import family
from treedp_core.records.export.synthetic import Columns
from treedp_core.studies.topdown.accounting import bound, bound_by_exact_tails, needs_factor_two
from treedp_core.studies.topdown.certificate import Certificate
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.draw import Drawn
from treedp_core.studies.topdown.orders import OrderResult, ways_of_orders
from treedp_core.studies.topdown.plan import Plan
from treedp_core.studies.topdown.projections import MEASURES, RuleResult
from treedp_core.studies.topdown.release_spec import RULES, Wanted
from treedp_core.tree import Tree
from treedp_core.words import margin, percent_set, plus_minus, short


def level_table(subject: Subject, ready: Plan, confidence: float) -> dict[str, list[Any]]:
    """Return what each level spends and what it may miss: cells, share, sigma and Theorem 1's bound."""
    beta = 1.0 - confidence
    paid = [0.0 if math.isinf(a) else a for a in ready.budget.per_level]
    shares = [a / sum(paid) if sum(paid) else 0.0 for a in paid]
    doubled = needs_factor_two(ready)
    return {
        "level": list(subject.level_names),
        "cells": [float(n) for n in ready.cells],
        "share of ρ": shares,
        "ρ": paid,
        "σ (records)": ready.sigmas.tolist(),
        "bound": bound(ready, beta).tolist(),
        "by exact tails": bound_by_exact_tails(ready, beta).tolist(),
        "factor 2": ["needed" if two else "–" for two in doubled],
    }


def columns_of(subject: Subject, certificate: Certificate | None = None) -> Columns:
    """Return the names and categories of the released columns; with a certificate what it says of their counts."""
    names = subject.columns, tuple(words.tolist() for words in subject.words)
    if certificate is None:
        return Columns(*names)
    return Columns(*names, certificate=certificate_text(subject, certificate), error_at_most=certificate.leaves)


def certificate_text(subject: Subject, found: Certificate) -> str:
    """Return what a certificate says, in a sentence for a file.

    >>> from treedp_core.studies.topdown.contingency_table import made_up
    >>> one = Certificate(0.95, (1, 4, 16), (0.0, 6.0, 7.0), np.array([0.0, 8.0, 10.0]), None, np.zeros(0))
    >>> certificate_text(made_up((4, 4), 9, 1), one)
    'With probability 95 %, all at once: no count has an error above 8 on level column 1, 10 on level column 2.'
    """
    levels = zip(subject.level_names, found.by_level.tolist(), strict=True)
    named = [f"{margin(most)} on level {name}" for name, most in levels if most > 0] or ["0"]
    sure = percent_set(found.confidence)
    return f"With probability {sure}, all at once: no count has an error above {', '.join(named)}."


def released_table(mine: Drawn, level: int) -> dict[str, Any]:
    """Return the true and the released counts of one level."""
    here = mine.levels[level]
    return {of_truth("true"): here.truth, "released": here.released}


def family_table(mine: Drawn, node: int, *, after: bool, confidence: float) -> dict[str, list[Any]]:
    """Return the counts of a node of a release's picture and of its children: true, and as measured or released.

    Released ones with their certificate, where all nodes are laid out. It is empty where the release is too large for
    a picture.
    """
    if mine.picture is None:
        return {}
    tree, labels, truth, released = mine.picture
    values = released if after or mine.noisy is None else mine.noisy
    columns = {of_truth("true count"): truth, "count": values}
    if after and mine.noisy is not None and (certified := mine.certificate(confidence).nodes) is not None:
        columns["error at most"] = certified
    return family(tree, labels, node, columns)


def bound_table(mine: Drawn, beta: float) -> dict[str, Any]:
    """Return the largest error of each level in this release, and what it may be with probability 1 - beta.

    By the theorem each level by itself; by the certificate all at once.
    """
    return {
        "level": list(mine.subject.level_names),
        of_truth("largest error"): [level.max_error for level in mine.levels],
        "Theorem 1": bound(mine.plan, beta),
        "by exact tails": bound_by_exact_tails(mine.plan, beta),
        "certificate": mine.certificate(1.0 - beta).by_level,
    }


def certificate_table(mine: Drawn, found: Certificate) -> dict[str, Any]:
    """Return what a release certifies of its own counts, level by level, beside Theorem 1: nothing of the truth."""
    beta = 1.0 - found.confidence
    return {
        "level": list(mine.subject.level_names),
        "noises": list(found.looked_at),
        "none above": list(found.reach),
        "certificate": found.by_level,
        "Theorem 1": bound(mine.plan, beta),
        "by exact tails": bound_by_exact_tails(mine.plan, beta),
    }


def wrong_table(mine: Drawn) -> dict[str, Any]:
    """Return how many nodes of each level are filled although empty, or lost."""
    return {
        "level": list(mine.subject.level_names),
        "cells": [float(n) for n in mine.plan.cells],
        "spurious": [level.spurious for level in mine.levels],
        "lost": [level.lost for level in mine.levels],
        "true nodes": [level.n_true for level in mine.levels],
    }


def bias_table(mine: Drawn) -> dict[str, Any]:
    """Return the mean error of the leaves of each size."""
    found = mine.bias
    return {
        "true count": found.names,
        "leaves": found.n_nodes,
        "mean error": found.bias,
        "standard error": found.standard_error,
    }


def rule_table(found: Sequence[RuleResult]) -> dict[str, Any]:
    """Return every measure of every projection, with its standard error."""
    columns: dict[str, Any] = {"projection": [RULES[one.rule].label for one in found]}
    for name, label in MEASURES.items():
        columns |= {label: [one.mean[name] for one in found], f"{label}, se": [one.se[name] for one in found]}
    return columns


def rule_words(found: Sequence[RuleResult]) -> dict[str, list[str]]:
    """Return every measure of every projection in words, with its 95 % interval."""
    return {"projection": [RULES[one.rule].label for one in found]} | {
        label: [short(one.mean[name]) + plus_minus(one.se[name]) for one in found] for name, label in MEASURES.items()
    }


def marginal_words(found: Sequence[OrderResult], columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the mean error of each column's own counts under every order in words, with its 95 % interval."""
    return {"order": list(ways_of_orders(found, columns, "marginals").names)} | {
        f"{_cut(name, 30)} {i + 1}": [short(one.marginals[i]) + plus_minus(one.marginals_se[i]) for one in found]
        for i, name in enumerate(columns)
    }


def rule_bias_table(found: Sequence[RuleResult]) -> dict[str, Any]:
    """Return the bias of leaves of each size under every projection, with its standard error."""
    named = [(RULES[one.rule].label, one.bias) for one in found]
    return (
        {"true count": found[0].bias.names}
        | {label: bias.bias for label, bias in named}
        | {f"{label}, se": bias.standard_error for label, bias in named}
    )


def order_table(found: Sequence[OrderResult], columns: Sequence[str], measure: str) -> dict[str, Any]:
    """Return a measure of every order of the columns, with its standard error."""
    ways = ways_of_orders(found, columns, measure)
    return {"order": list(ways.names), "mean": ways.mean, "standard error": ways.se}


def relation_table(what: Subject, chosen: Wanted) -> dict[str, Any]:
    """Return the noise of every level by neighbouring relation and spread, with equal shares."""
    rows = []
    for relation in (NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_OR_REMOVE_ONE):
        for spread in Spread:
            if spread is Spread.DISTINCT and chosen.unit.contributions == 1:
                continue
            unit = ProtectedUnit(relation, chosen.unit.contributions, chosen.unit.known_levels)
            one = Wanted(chosen.rho, chosen.delta, unit, None, spread, chosen.rule)
            rows.append((relation, spread, one.plan(what).sigmas))
    return {
        "two neighbouring data sets": [relation.label for relation, _, _ in rows],
        "records of one unit": [
            f"{chosen.unit.contributions} {spread.label.lower()}" if chosen.unit.contributions > 1 else "1"
            for _, spread, _ in rows
        ],
        "measured levels": [int(np.count_nonzero(sigmas)) for _, _, sigmas in rows],
    } | {name: [float(sigmas[i]) for _, _, sigmas in rows] for i, name in enumerate(noise_columns(what))}


def noise_columns(what: Subject) -> list[str]:
    """Return the names of the noise's columns, one for each level."""
    return [f"σ, {_cut(name, 24)} {i}" for i, name in enumerate(what.level_names)]


def _cut(name: str, n: int) -> str:
    return name if len(name) <= n else name[: n - 1] + "…"


def sensitivity_table(tree: Tree, found: Inspection) -> dict[str, Any]:
    """Return the largest change of every level, enumerated and by the formula."""
    first = int(tree.level_start[tree.height]) if tree.height else 0

    def told(leaves: tuple[int, ...]) -> str:
        return ", ".join(str(leaf - first + 1) for leaf in leaves) or "none"

    return {
        "level": list(range(tree.n_levels)),
        "nodes": tree.level_sizes.tolist(),
        "L1 enumerated": found.l1_enumerated.tolist(),
        "L1 formula": found.l1_formula.tolist(),
        "L2 enumerated": found.l2_enumerated.tolist(),
        "L2 formula": found.l2_formula.tolist(),
        "leaves of the unit, before → after": [f"{told(a)} → {told(b)}" for a, b in found.example],
    }
