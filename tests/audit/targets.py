"""Wanted accuracies: how often releases with the smallest budget reach them, drawn and fitted by other code."""

from __future__ import annotations

import math

import numpy as np

from oracles_tree import generalised_least_squares
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Problem, Target, smallest_budget

from .neighbours import Small, random_tree
from .report import Report

TRIALS = 20_000
FAR = 4.0
"""Standard errors: a claim of a thousand that hold misses it once or so in thirty audits."""
LAWS = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian")
READINGS = (Ask.EVERY_NODE, Ask.AVERAGE_NODE, Ask.SHARE)


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Ask for counts of at least m within a tenth, in all three readings, of the smallest budgets of n random trees."""
    done = 0
    while done < n:
        small = random_tree(rng, int(rng.integers(5, 14)))
        if small.n_levels < 3:
            continue
        leaves = rng.integers(5, 400, len(small.leaves))
        relation = (NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE)[done // 2 % 2]
        problem = Problem(
            small.tree, leaves @ small.below, LAWS[done % 4], ProtectedUnit(relation), least_squares=done // 4 % 2 == 0
        )
        done += 1
        for reading in READINGS:
            _kept(report, rng, small, problem, reading)


def _kept(report: Report, rng: np.random.Generator, small: Small, problem: Problem, reading: Ask) -> None:
    level = int(rng.integers(1, small.n_levels))
    here = [node for node, at in enumerate(small.levels) if at == level]
    least = float(np.median(problem.counts[here]))
    asked = [node for node in here if problem.counts[node] >= least]
    sure, part = float(rng.choice([0.8, 0.9, 0.95])), float(rng.choice([0.5, 0.9, 1.0]))
    target = Target(level, reading, 0.1, sure, among=least, part=part)
    what = f"{problem.law} on {small.parent}, least squares {problem.least_squares}: {target.described}"
    try:
        found = smallest_budget(problem, [target])
    except InputError as error:
        report.holds(error.code == "TARGET_INFEASIBLE", f"{what}: {error}")
        return
    close = np.abs(errors(rng, small, problem, found.amounts)[:, asked]) <= 0.1 * problem.counts[asked] * (1 + 1e-9)
    seen = {
        Ask.EVERY_NODE: float(close.mean(axis=0).min()),
        Ask.AVERAGE_NODE: float(close.mean()),
        Ask.SHARE: float((close.mean(axis=1) >= part - 1e-9).mean()),
    }[reading]
    error = math.sqrt(sure * (1 - sure) / TRIALS) + found.standard_error
    report.settings += 1
    report.tight += seen <= sure + FAR * error
    report.holds(seen >= sure - FAR * error, f"{what}: {seen:.4f} of releases reach it (s.e. {error:.4f})", TRIALS)


def errors(rng: np.random.Generator, small: Small, problem: Problem, amounts: np.ndarray) -> np.ndarray:
    """Errors (TRIALS, n_nodes) of releases: noise by numpy, least squares by dense algebra."""
    is_public = problem.unit.relation is NeighbouringRelation.REPLACE_ONE
    noise, variance = np.zeros((TRIALS, len(small.parent))), np.full(len(small.parent), np.inf)
    for node, level in enumerate(small.levels):
        if is_public and level == 0:
            variance[node] = 0.0
        elif amounts[level] > 0:
            noise[:, node], variance[node] = _drawn(rng, problem.law, float(amounts[level]), 2 if is_public else 1)
    if not problem.least_squares:
        return np.where(np.isfinite(variance), noise, np.inf)
    units = np.eye(len(small.parent))
    fitted = np.stack([generalised_least_squares(list(small.parent), one, variance)[0] for one in units], axis=1)
    return np.where(np.isnan(fitted).any(axis=1), np.inf, noise @ np.nan_to_num(fitted).T)


def _drawn(rng: np.random.Generator, law: str, amount: float, moved: int) -> tuple[np.ndarray, float]:
    """Noise of a level on which a unit moves so many counts by 1, and its variance."""
    if law in ("laplace", "discrete_laplace"):
        scale = moved / amount
        if law == "laplace":
            return rng.laplace(0.0, scale, TRIALS), 2 * scale**2
        p = -math.expm1(-1 / scale)
        return rng.geometric(p, TRIALS) - rng.geometric(p, TRIALS), 2 * (1 - p) / p**2
    sigma = math.sqrt(moved / (2 * amount))
    if law == "gaussian":
        return rng.normal(0.0, sigma, TRIALS), sigma**2
    if sigma > 1e4:  # no sum of so many is needed to tell it from the continuous law
        return np.rint(rng.normal(0.0, sigma, TRIALS)), sigma**2
    reach = np.arange(-math.ceil(12 * sigma) - 2, math.ceil(12 * sigma) + 3)
    weights = np.exp(-(reach**2) / (2 * sigma**2))
    weights /= weights.sum()
    return rng.choice(reach, TRIALS, p=weights), float(weights @ reach**2)
