"""Marginals of a table of columns: how far off a top-down release has them, beside other ways to keep its promise.

A marginal counts the records by some of the columns. Those by the first columns are the hierarchical queries that
InfTDA is made for; any other is a sum over the cells of the first level that has all of its columns. The ways beside it
are those of the paper's related work: one noisy table of all cells, one noisy table for every question, and
multiplicative weights with the exponential mechanism (Hardt, Ligett and McSherry, 2012).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors.compare import mean_and_error
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import Law
from treedp_core.privacy import Currency, ProtectedUnit, budget_from_shares
from treedp_core.privacy.accounting import largest_total
from treedp_core.registry import MethodCard, Table, table
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.plan import Plan, noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES, Wanted, rho_of
from treedp_core.studies.topdown.sparse import refuse_no_records
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.watch import Watch, generator
from treedp_core.words import plus_minus, short

# What is to be known of each way to have the marginals of a table: assumption, formula, source, best and worst.


@dataclass(frozen=True)
class Way:
    """A table entry: a way to have marginals that is compared with a top-down release."""

    name: str
    label: str
    help: str
    card: MethodCard


WAYS: Final[Table[Way]] = table(
    Way("levels", "Its noise, not projected", "The noisy counts of the first level that has all columns, added up.",
        MethodCard(
            assumptions="The columns have an order; level k of d has noise of its own for ρ/d.",
            formula=r"\operatorname{Var}\hat q_S=\frac d\rho\prod_{j\le\max S,\ j\notin S}|X_j|",
            source="Boninsegna, Algorithm 1 before IntOpt; Section 4 calls it the hierarchical mechanism.",
            strengths="Questions by the first columns, where negative counts do no harm.",
            limitations="Questions by late columns; counts that must be whole, at least 0 and add up.",
        )),
    Way("cells", "One table of all cells", "Noise on every cell of all columns; each question adds cells up.",
        MethodCard(
            assumptions="The whole of ρ is spent on the cells; one record is replaced and N is public.",
            formula=r"\operatorname{Var}\hat q_S=\frac1\rho\prod_{j\notin S}|X_j|",
            source="Boninsegna, Section 1 (related work); the noise is that of Ghazi et al., Lemma 2.6.",
            strengths="Questions by nearly all columns.",
            limitations="Questions by few columns: the noise of many cells adds up.",
        )),
    Way("tables", "One table a question", "Noise on the cells of every question by itself.",
        MethodCard(
            assumptions="The questions are known beforehand, and q of them share ρ.",
            formula=r"\operatorname{Var}\hat q_S=\frac q\rho",
            source="Boninsegna, Section 1 (related work); the noise is that of Ghazi et al., Lemma 2.6.",
            strengths="Few questions.",
            limitations="Many questions; answers to two of them do not agree on what they share.",
        )),
    Way("mwem", "MWEM", "Rounds: the cell that a table has most wrong is found and measured, and the table follows.",
        MethodCard(
            assumptions="The questions are known beforehand, one record is replaced, N is public.",
            formula=r"P(\text{cell }c)\propto e^{\varepsilon\,|q_c-\hat q_c|/2m},\qquad"
            r"\rho=\sum_{\text{rounds}}\Bigl(\frac{\varepsilon^2}8+\frac{\Delta_2^2}{2\sigma^2}\Bigr)",
            source="Hardt, Ligett and McSherry (2012), Figure 1; ρ of a choice: Cesar and Rogers (2021).",
            strengths="Very many questions and a small ρ: only what is most wrong is measured.",
            limitations="Few questions or a large ρ: its rounds share ρ, and many cells are never measured.",
        )),
)  # fmt: skip


# ---- multiplicative weights with the exponential mechanism (Hardt, Ligett and McSherry, 2012), for marginals of a
# table.
#
# Each round picks the cell of a marginal that the table so far has most wrong, by the exponential mechanism, measures
# it with noise, and moves weight into it or out of it until the table agrees with what was measured so far (the authors
# move it by a factor, many times; scaling it at once ends at the same table sooner). One record replaced moves a cell
# by 1.


ROUNDS: Final = 120
"""At most: few leave the start as it was where nothing was measured, many have wide noise. For the sample of trips, 60
have 1.3 to 3 times the error for rho from 0.02 on, and 240 more where rho is small and half where it is 3."""
PASSES: Final = 3
LEAST: Final = 1e-3
"""Part of the records that a cell and the rest keep at least: what has no weight left would never be found again."""
_LOST: Final = 1e-9
"""Part of the records below which what contradicts other measurements is left as it is."""


def mwem(
    counts: IntArray, marginals: Sequence[tuple[int, ...]], rho: float, contributions: int, rng: np.random.Generator
) -> FloatArray:
    """Return a table of real counts (n_1, ..., n_d) with the true total; a simulation unless `rng` is safe.

    Parameters
    ----------
    counts : (n_1, ..., n_d)
        True counts by the categories of d columns; their total is public.
    marginals : sequence of tuple of int
        Columns of the marginals whose cells are asked for.
    rho : float
        In zero-concentrated privacy: half of each round's part for the choice, half for the measurement.
    contributions : int
        Records of one unit, which others replace.
    """
    total = float(counts.sum())
    table = np.full(counts.shape, total / counts.size)
    cells = sum(math.prod(counts.shape[i] for i in one) for one in marginals)
    n_rounds = min(ROUNDS, 2 * cells)
    part = rho / (2 * n_rounds)
    law = level_law("discrete_gaussian", part, float(contributions), float(contributions))
    measured: list[tuple[tuple[int | slice, ...], float]] = []
    for _ in range(n_rounds):
        errors = [_marginal(counts - table, one) for one in marginals]
        scores = np.concatenate([np.abs(one).ravel() for one in errors])
        place = int(rng.choice(scores.size, p=chances(scores, part, contributions)))
        cell = _cell(place, [one.shape for one in errors], marginals, counts.ndim)
        noise = 0.0 if law is None else float(law.sample(rng, ()))
        measured.append((cell, min(max(float(counts[cell].sum()) + noise, LEAST * total), (1.0 - LEAST) * total)))
        _agree(table, measured * PASSES, total)
    return table


def _agree(table: FloatArray, measured: Sequence[tuple[tuple[int | slice, ...], float]], total: float) -> None:
    """Make cells of marginals count so many records, and all others the rest, one after the other, in place."""
    factor = 1.0  # of what stands in the table: so that only the cell's own entries are written
    for cell, wanted in measured:
        here = factor * float(table[cell].sum())
        if _LOST * total < here < (1.0 - _LOST) * total:
            of_rest = (total - wanted) / (total - here)
            factor *= of_rest
            table[cell] *= wanted / (here * of_rest)
    table *= total / table.sum()


def chances(scores: FloatArray, rho: float, contributions: int) -> FloatArray:
    """Return the probabilities of the exponential mechanism with scores that a unit moves by its records, (n,).

    At epsilon it is epsilon^2 / 8 in rho (Cesar and Rogers, 2021).

    >>> chances(np.array([0.0, 1.0]), 0.5, 1).round(6).tolist()  # epsilon = 2, halved: e to 1
    [0.268941, 0.731059]
    """
    weight = math.sqrt(8.0 * rho) / (2.0 * contributions) * (scores - scores.max())
    return np.asarray(np.exp(weight) / np.exp(weight).sum())


def _marginal(table: AnyArray, columns: tuple[int, ...]) -> AnyArray:
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in columns)))


def _cell(
    place: int, shapes: Sequence[tuple[int, ...]], marginals: Sequence[tuple[int, ...]], n_columns: int
) -> tuple[int | slice, ...]:
    """The cell at a place among those of all marginals, as an index into the table."""
    for shape, columns in zip(shapes, marginals, strict=True):
        if place < math.prod(shape):
            at = dict(zip(columns, np.unravel_index(place, shape), strict=True))
            return tuple(int(at[i]) if i in at else slice(None) for i in range(n_columns))
        place -= math.prod(shape)
    raise AssertionError("a place beyond the last cell")


PREFIXES: Final = "prefixes"
OF: Final = {PREFIXES: "By the first columns", "1": "By one column", "2": "By two columns", "3": "By three columns"}
MOST: Final = 24
"""Marginals compared: the first ones, where there are more."""
LEVELS, CELLS, TABLES, WEIGHTS = (WAYS[name].label for name in ("levels", "cells", "tables", "mwem"))


@dataclass(frozen=True, eq=False)
class Marginals:
    """The root mean squared error of a cell of some marginals, in records, in several ways.

    Parameters
    ----------
    of : tuple of tuple of int
        Positions of the columns of each marginal.
    names : tuple of str
        Of the marginals; user text.
    cells : tuple of int
    ways : tuple of str
        The release itself first.
    rmse, se : (n_ways, n_marginals)
        Over runs where `is_simulated`; else exact, with standard errors of 0.
    is_simulated : tuple of bool
        Of each way.
    """

    of: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    cells: tuple[int, ...]
    ways: tuple[str, ...]
    rmse: FloatArray
    se: FloatArray
    is_simulated: tuple[bool, ...]


def some_marginals(n_columns: int, of: str) -> list[tuple[int, ...]]:
    """Return the columns of the marginals of a kind in `OF`, at most `MOST` of them.

    Raises
    ------
    InputError
        ``MARGINALS`` where there are fewer columns.

    >>> some_marginals(3, "2"), some_marginals(2, PREFIXES)
    ([(0, 1), (0, 2), (1, 2)], [(0,), (0, 1)])
    """
    kind = checks.one_of("marginals", of, OF)
    if kind == PREFIXES:
        return [tuple(range(n)) for n in range(1, n_columns + 1)][:MOST]
    if int(kind) > n_columns:
        raise InputError("MARGINALS", f"Expected at least {kind} columns, got {n_columns}.")
    return list(islice(combinations(range(n_columns), int(kind)), MOST))


def compare_marginals(
    subject: Subject, wanted: Wanted, trials: int, seed: int, watch: Watch | None = None, *, of: str = PREFIXES
) -> Marginals:
    """Return the error of every marginal of a kind: by formula where noise alone is released, else over releases.

    Parameters
    ----------
    subject : Subject
        Columns, laid out as a tree.
    wanted : Wanted
    trials, seed : int
        Of the ways that are simulated.
    watch : Watch, optional
        Told after every run.
    of : str
        A kind in `OF`.

    Raises
    ------
    InputError
        ``ORDER`` for a tree whose levels are no columns, ``NEEDS_TREE`` for columns that are not laid out,
        ``MARGINALS``, ``NO_RECORDS``, ``TRIALS_RANGE``, and as `Wanted.plan`.
    """
    watch = watch or Watch()
    if not subject.is_product:
        raise InputError("ORDER", "The levels of this tree are nested in one another, so they are no columns.")
    if subject.tree is None or subject.counts is None:
        raise InputError("NEEDS_TREE", "These columns have too many combinations to lay out; choose fewer of them.")
    checks.trials(trials, subject.tree.n_nodes)
    refuse_no_records(wanted.unit, subject.total)
    ready, marginals = wanted.plan(subject), some_marginals(len(subject.columns), of)
    sizes = subject.table.sizes
    exact = {
        LEVELS: of_levels(ready, marginals),
        CELLS: of_cells(_law(wanted, 1), sizes, marginals),
        TABLES: np.full(len(marginals), math.sqrt(_law(wanted, len(marginals)).variance)),
    }
    drawn = _simulated(subject, wanted, ready, marginals, trials, checks.seed(seed), watch=watch)
    ways = (RULES[wanted.rule].label, *exact, *list(drawn)[1:])
    rmse = [next(iter(drawn.values()))[0], *exact.values(), *(pair[0] for pair in list(drawn.values())[1:])]
    none = np.zeros(len(marginals))
    se = [next(iter(drawn.values()))[1], none, none, none, *(pair[1] for pair in list(drawn.values())[1:])]
    return Marginals(
        tuple(marginals), tuple(" × ".join(subject.columns[i] for i in one) for one in marginals),
        tuple(math.prod(sizes[i] for i in one) for one in marginals), ways, np.array(rmse), np.array(se),
        (True, False, False, False, *(True for _ in list(drawn)[1:])),
    )  # fmt: skip


def of_levels(ready: Plan, marginals: Sequence[tuple[int, ...]]) -> FloatArray:
    """Return the RMSE of marginals added up from the noisy counts of the first level that has their columns, (n,).

    >>> from treedp_core.studies.topdown.plan import plan
    >>> of_levels(plan((2, 8), 1.0), [(0,), (1,)]).round(6).tolist()  # sigma^2 = 2, and the sum of two of them
    [1.414214, 2.0]
    """
    found = []
    for one in marginals:
        law, cells = ready.laws[max(one) + 1], math.prod(ready.sizes[i] for i in one)
        found.append(math.sqrt((law.variance if law else 0.0) * ready.cells[max(one) + 1] / cells))
    return np.array(found)


def of_cells(law: Law, sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> FloatArray:
    """Return the RMSE of marginals added up from one noisy table of all cells, (n,)."""
    summed = [math.prod(sizes) // math.prod(sizes[i] for i in one) for one in marginals]
    return np.sqrt(law.variance * np.array(summed, dtype=np.float64))


def table_law(unit: ProtectedUnit, rho: float, n_tables: int) -> Law:
    """Return the noise of so many tables of all records that cost rho together, whatever columns each has.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> round(table_law(ProtectedUnit(NeighbouringRelation.REPLACE_ONE), 0.5, 2).variance, 6)  # 2 / (2 rho / 2)
    4.0
    """
    who = ProtectedUnit(unit.relation, unit.contributions)  # no column of a table need be known
    budget = budget_from_shares([0.0] + [1.0] * n_tables, rho, Currency.RHO, who)
    l1, l2 = (float(one[1]) for one in (who.l1_sensitivity(2), who.l2_sensitivity(2)))
    law = level_law("discrete_gaussian", budget.per_level[1], l1, l2)
    assert law is not None
    return law


def _law(wanted: Wanted, n_tables: int) -> Law:
    """The noise of so many tables at the promise of a release, accounted for as the release is."""
    rho, who = wanted.rho, ProtectedUnit(wanted.unit.relation, wanted.unit.contributions)
    if wanted.within:
        rho = largest_total(
            lambda rho: (None, *[table_law(who, rho, n_tables)] * n_tables), who, wanted.within, wanted.delta
        )
    return table_law(who, rho, n_tables)


def rho_of_weights(wanted: Wanted) -> float:
    """Return what multiplicative weights spend: no accounting but the formula covers the exponential mechanism."""
    return rho_of("", wanted.within, wanted.delta) if wanted.within else wanted.rho


def _simulated(
    subject: Subject, wanted: Wanted, ready: Plan, marginals: Sequence[tuple[int, ...]], trials: int, seed: int,
    *, watch: Watch,
) -> dict[str, tuple[FloatArray, FloatArray]]:  # fmt: skip
    """RMSE and standard error of what has no formula, by way: the release first."""
    tree, counts, sizes = subject.tree, subject.counts, subject.table.sizes
    assert tree is not None and counts is not None
    noise, truth = noise_on_tree(ready, tree), counts[tree.leaves].reshape(sizes)
    function = RULES[wanted.rule].on(noise)
    squares: dict[str, list[list[float]]] = {RULES[wanted.rule].label: []}
    for trial in range(trials):
        watch.check()
        rng = generator("marginals of TopDown", seed, trial)
        ways = {RULES[wanted.rule].label: function(noise.draw(rng) + counts)[..., tree.leaves].reshape(sizes)}
        if wanted.unit.total_is_public:
            ways[WEIGHTS] = mwem(truth, marginals, rho_of_weights(wanted), wanted.unit.contributions, rng)
        for way, estimate in ways.items():
            squares.setdefault(way, []).append([_square(estimate - truth, one) for one in marginals])
        watch.step(1)
    return {way: _root(np.array(rows)) for way, rows in squares.items()}


def _square(errors: FloatArray | IntArray, columns: tuple[int, ...]) -> float:
    """Mean squared error of the cells of a marginal, from the errors of all cells (one axis a column)."""
    others = tuple(axis for axis in range(errors.ndim) if axis not in columns)
    return float(np.square(errors.sum(axis=others, dtype=np.float64)).mean())


def _root(squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Root of the mean square over the runs (n_runs, n), and its standard error."""
    mean, se = mean_and_error(squares)
    rmse = np.sqrt(mean)
    return rmse, np.where(rmse > 0, se / np.where(rmse > 0, 2.0 * rmse, 1.0), 0.0)


def marginal_table(found: Marginals) -> dict[str, Any]:
    """Return the error of every marginal in every way; where it is simulated with its standard error."""
    columns: dict[str, Any] = {"marginal": list(found.names), "cells": list(found.cells)}
    for way, rmse, se, drawn in zip(found.ways, found.rmse, found.se, found.is_simulated, strict=True):
        columns[way] = rmse
        if drawn:
            columns[f"{way}, se"] = se
    return columns


def marginal_words(found: Marginals) -> dict[str, list[Any]]:
    """Return the same in words, with 95 % intervals."""
    shown: dict[str, list[Any]] = {"marginal": list(found.names), "cells": list(found.cells)}
    for way, rmse, se, drawn in zip(found.ways, found.rmse, found.se, found.is_simulated, strict=True):
        shown[way] = [short(one) + (plus_minus(error) if drawn else "")
                      for one, error in zip(rmse.tolist(), se.tolist(), strict=True)]  # fmt: skip
    return shown
