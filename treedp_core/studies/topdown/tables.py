"""The tables of the page TopDown. Pure logic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.views.topdown import runs as simulations
from pages.views.topdown.draw import Drawn, size_names
from pages.views.topdown.runs import MEASURES, RuleResult
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.conversions import (
    epsilon_to_rho,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)
from treedp_core.privacy.inspector import Inspection
from treedp_core.privacy.spread import Spread
from treedp_core.records.export.synthetic import Columns
from treedp_core.studies.topdown import OrderResult, bias_by_size, bound, bound_by_exact_tails
from treedp_core.studies.topdown.model import RULES, Wanted
from treedp_core.studies.topdown.subject import Subject
from treedp_core.tree import FloatArray, Tree


def columns_of(subject: Subject) -> Columns:
    """Return the names and categories of the released columns."""
    return Columns(subject.columns, tuple(words.tolist() for words in subject.words))


def released_table(mine: Drawn, level: int) -> dict[str, Any]:
    """Return the true and the released counts of one level."""
    here = mine.levels[level]
    return {"true (NOT PRIVATE)": here.truth, "released": here.released}


def bound_table(mine: Drawn, beta: float) -> dict[str, Any]:
    """Return the largest error of each level in this release, and what it may be with probability 1 - beta."""
    return {
        "level": list(mine.subject.level_names),
        "largest error (NOT PRIVATE)": [level.max_error for level in mine.levels],
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
    found = bias_by_size([mine.leaves])
    return {
        "true count": size_names(found),
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


def rule_bias_table(found: Sequence[RuleResult]) -> dict[str, Any]:
    """Return the bias of leaves of each size under every projection, with its standard error."""
    named = [(RULES[one.rule].label, one.bias) for one in found]
    return (
        {"true count": size_names(found[0].bias)}
        | {label: bias.bias for label, bias in named}
        | {f"{label}, se": bias.standard_error for label, bias in named}
    )


def order_table(found: Sequence[OrderResult], columns: Sequence[str], measure: str) -> dict[str, Any]:
    """Return a measure of every order of the columns, with its standard error."""
    mean, se = simulations.order_values(found, measure)
    names = [" › ".join(columns[i] for i in one.order) for one in found]
    return {"order": names, "mean": mean, "standard error": se}


@dataclass(frozen=True, eq=False)
class Conversions:
    """By way of conversion: epsilon, and the percentage of noise that the standard one wastes."""

    epsilon: dict[str, FloatArray]
    extra: dict[str, FloatArray]


def conversions(grid: FloatArray, delta: float) -> Conversions:
    """Return every conversion at budgets rho (n,).

    >>> found = conversions(np.array([0.1]), 1e-6)
    >>> [round(float(y[0]), 4) for y in found.epsilon.values()], round(float(found.extra["Tight"][0]), 1)
    ([2.4508, 2.1419, 1.9945], 13.1)
    """
    simple = np.array([rho_to_epsilon_simple(float(rho), delta) for rho in grid])
    epsilon = {
        "Standard": simple,
        "Tight, discrete Gaussian": np.array([rho_to_epsilon(float(rho), delta) for rho in grid]),
        "Exact, continuous Gaussian": np.array([rho_to_epsilon_gaussian(float(rho), delta) for rho in grid]),
    }
    allowed = {way: np.array([epsilon_to_rho(float(e), delta, way != "Tight") for e in simple])
               for way in ("Tight", "Exact, continuous")}  # fmt: skip
    return Conversions(epsilon, {way: 100.0 * (np.sqrt(rho / grid) - 1.0) for way, rho in allowed.items()})


def epsilon_table(rhos: Sequence[float], delta: float) -> dict[str, Any]:
    """Return the epsilon of budgets rho by every conversion."""
    return {"rho": list(rhos)} | conversions(np.array(rhos), delta).epsilon


def extra_table(rhos: Sequence[float], delta: float) -> dict[str, Any]:
    """Return the percentage of noise that the standard conversion wastes at budgets rho."""
    return {"rho": list(rhos)} | conversions(np.array(rhos), delta).extra


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
    return [f"σ, {_cut(name)} {i}" for i, name in enumerate(what.level_names)]


def _cut(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


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
