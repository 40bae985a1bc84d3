"""A plan handed over: a program for a library that publishes, text only, for the same tree, domain, levels and scales.

Levels are measured one by one. OpenDP has a transformation of b-ary trees, but its map for the L2 distance is too small
for what one record moves over all levels, so that it is not used.

The programs say which levels one unit can move and by how much, let the library work out what that loses, and stop
before anything is drawn where it is more than the plan promises.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from string import Template
from typing import Final

from treedp_core.checks import InputError
from treedp_core.plans.stated import Categories, NoiseLaw, Stated
from treedp_core.plans.verify import problems
from treedp_core.plans.words import label, open_points, promise
from treedp_core.privacy import Currency, NeighbouringRelation, Spread
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.privacy.spread import Capacities, level_sensitivities
from treedp_core.words import float_above, whole

MOST_NODES: Final = 1_000_000
"""Nodes of a level that a program measures."""


@dataclass(frozen=True)
class Library:
    """A table entry: a library that plans are handed over to, and the function that writes the program."""

    name: str
    label: str
    write: Callable[[Stated], str]


def not_covered(plan: Stated) -> tuple[str, ...]:
    """Return what no program of a hand over does, a sentence each; then the plan's open points."""
    most = plan.unit.contributions
    return (
        "Timing and memory of the program are not hidden.",
        f"That no unit has more than {whole(most)} {'record' if most == 1 else 'records'} is taken for granted.",
        "Records must hold the labels that the plan lists; others are counted nowhere, or under “(other)” if listed.",
        "Post-processing is left to you: it costs nothing, and may be done in this app's core.",
        "What was released before from the same records is not added up.",
        *open_points(plan),
    )


def opendp_program(plan: Stated) -> str:
    """Return a program for OpenDP that measures every level of the plan: it takes a CSV file and writes one.

    Raises
    ------
    InputError
        ``HANDOVER``, and why the plan cannot be expressed.
    """
    _refuse(plan, _reasons(plan))
    discrete = plan.law in (NoiseLaw.DISCRETE_LAPLACE, NoiseLaw.DISCRETE_GAUSSIAN)
    rho = plan.currency is Currency.RHO
    return _OPENDP.substitute(
        _common(plan),
        kind="int" if discrete else "float",
        domain_of_atom="dp.atom_domain(T=dp.i64)" if discrete else "dp.atom_domain(T=float, nan=False)",
        metric="dp.l2_distance(T=float)" if rho else f"dp.l1_distance(T={'dp.i64' if discrete else 'float'})",
        noise="dp.m.make_gaussian" if rho else "dp.m.make_laplace",
        find=textwrap.indent(_find(plan), "    "),
        cases=_lines("CASES", [tuple(case) for case in _cases(plan)]),
        distance=("int" if discrete and not rho else "float"),
    )


def tumult_program(plan: Stated) -> str:
    """Return a program for Tumult Analytics that measures every level of the plan: it takes a CSV file and writes one.

    Raises
    ------
    InputError
        ``HANDOVER``, and why the plan cannot be expressed.
    """
    _refuse(plan, [*_reasons(plan), *_reasons_of_tumult(plan)])
    rho = plan.currency is Currency.RHO
    rows = plan.unit.contributions * (2 if plan.unit.total_is_public else 1)
    return _TUMULT.substitute(
        _common(plan),
        budget="RhoZCDPBudget" if rho else "PureDPBudget",
        mechanism="CountMechanism.GAUSSIAN" if rho else "CountMechanism.LAPLACE",
        change="AddOneRow()" if rows == 1 else f"AddMaxRows({rows})",
        budgets=_lines("BUDGETS", [None if one.is_public else one.amount for one in plan.levels]),
    )


LIBRARIES: Final = (Library("opendp", "OpenDP", opendp_program), Library("tumult", "Tumult Analytics", tumult_program))
"""What plans are handed over to."""


# ---- what cannot be expressed


def _refuse(plan: Stated, reasons: list[str]) -> None:
    if reasons:
        raise InputError("HANDOVER", " ".join(reasons))


def _reasons(plan: Stated) -> list[str]:
    domain, told = plan.domain, []
    if wrong := problems(plan):
        told.append(f"It does not hold, so that what it promises would not be kept. {wrong[0]}")
    if plan.matrix is not None:
        told.append(
            "These programs measure counts of a tree's nodes; this plan's noise is on weighted sums of all bins, by "
            "a matrix that it does not hold: release it with TreeDP's core, or plan a tree."
        )
    if domain.source is Categories.FROM_DATA:
        told.append("A domain taken from the data is not public: list the categories from another source.")
    elif not domain.is_listed and not domain.digest:
        told.append(f"A tree of {whole(plan.levels[0].leaves)} leaves is too large to be listed.")
    most = max(one.nodes for one in plan.levels)
    if most > MOST_NODES:
        told.append(f"A level of {whole(most)} nodes cannot be measured node by node.")
    if plan.tuned is not None and not plan.tuned.is_private:
        told.append("The budget or its split was tuned on the true counts, so that it is not private: choose another.")
    if plan.true_error is not None:
        told.append("The plan states errors on the true counts: make it without them.")
    return told


def _reasons_of_tumult(plan: Stated) -> list[str]:
    told = []
    if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.GAUSSIAN):
        told.append(f"Tumult Analytics adds whole-number noise to counts, not {plan.law.label} noise.")
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        told.append("Tumult Analytics has no relation in which some columns of a record are known.")
    if plan.unit.total_is_public and plan.currency is Currency.RHO:
        told.append("Tumult Analytics takes a replaced record for two rows, and so needs √2 times the plan's noise.")
    if plan.spread is Spread.DISTINCT:
        told.append("Tumult Analytics has no promise that the rows of a unit lie on distinct leaves.")
    if plan.domain.bins is not None or any(len(path) != len(plan.levels) - 1 for path in plan.domain.leaves):
        told.append("Tumult Analytics groups by columns, which this tree's levels are not.")
    if not plan.domain.is_listed:
        told.append("The plan does not list the categories.")
    return told


# ---- the parts of a program


def _common(plan: Stated) -> dict[str, str]:
    marked = label(plan)
    about = [*([marked] if marked else []), *open_points(plan), *not_covered(plan)[:5]]
    lines = [line for point in about for line in textwrap.wrap(f"- {point}", 112, subsequent_indent="  ")]
    return {
        "promise": promise(plan),
        "protects": "\n# ".join(textwrap.wrap(f"Protects {plan.unit.describe(plan.spread)}.", 112)),
        "points": "\n".join(f"# {line}" for line in lines),
        "columns": repr([one.name for one in plan.levels[1:]]),
        "leaves": _leaves(plan),
        "scales": _lines("SCALES", [one.scale for one in plan.levels]),
        "exact": repr([i for i, one in enumerate(plan.levels) if one.is_public]),
        "promised": repr(plan.charged if plan.tuned is None else _for_levels(plan)),
        "symbol": "epsilon" if plan.currency is Currency.EPSILON else "rho",
    }


def _for_levels(plan: Stated) -> float:
    assert plan.tuned is not None
    return float_above(Fraction(plan.charged) - Fraction(plan.tuned.spent))


def _leaves(plan: Stated) -> str:
    """The lines that make LEAVES: the path of each leaf, and, for bins, what finds a record's."""
    domain = plan.domain
    if domain.bins is not None:
        one = domain.bins
        product = f"itertools.product(*map(range, {one.branching!r}))"
        return (
            f"LEAVES = list(itertools.islice({product}, {one.n}))\n"
            f"LOWER, UPPER, HAS_OTHER = {one.lower!r}, {one.upper!r}, {one.has_other!r}"
        )
    if domain.categories:
        return f"{_lines('CATEGORIES', list(domain.categories))}\nLEAVES = list(itertools.product(*CATEGORIES))"
    if domain.leaves:
        return _lines("LEAVES", list(domain.leaves))
    return _FROM_FILE.substitute(digest=repr(domain.digest))


def _lines(name: str, values: Sequence[object]) -> str:
    inner = "".join(f"    {value!r},\n" for value in values)
    return f"{name} = [\n{inner}]"


def _cases(plan: Stated) -> Iterator[tuple[float, ...]]:
    """How far each level moves in each way that a unit can change: L1 for epsilon, L2 for rho, rounded up."""
    levels = [Capacities(one.capacities, one.leaves == plan.levels[0].leaves) for one in plan.levels]
    l1, l2 = level_sensitivities(plan.unit, levels, plan.spread)
    rho = plan.currency is Currency.RHO
    here = (l2 if rho else l1).tolist()
    yield tuple(0.0 if one.is_public else moved for one, moved in zip(plan.levels, here, strict=True))
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        known = plan.unit.known_levels
        twice = [sqrt_above(2 * Fraction(moved) ** 2) if rho else 2.0 * moved for moved in here]
        yield tuple(0.0 if i < known else moved for i, moved in enumerate(twice))


def _find(plan: Stated) -> str:
    """The lines that return the path of a record's leaf."""
    bins = plan.domain.bins
    return _BY_LABELS if bins is None else _BY_NUMBER.substitute(column=repr(bins.column))


_FROM_FILE: Final = Template("""\
with open(DOMAIN_FILE, encoding="utf-8", newline="") as file:  # one row a leaf: its labels from level 1 down
    LEAVES = [tuple(row) for row in csv.reader(file)]
listed = "".join("\\x1f".join(path) + "\\n" for path in sorted(LEAVES))
if hashlib.sha256(listed.encode()).hexdigest() != $digest:
    sys.exit("The domain file does not list the leaves of the plan.")""")

_BY_LABELS: Final = """\
path = tuple(row[column] or "(blank)" for column in COLUMNS)
found = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in KNOWN), ("(other)",))
return found if found in KNOWN else None"""

_BY_NUMBER: Final = Template("""\
try:
    number = float(row[$column])
except ValueError:
    number = float("nan")
within = len(LEAVES) - HAS_OTHER
at = number if LOWER is None else (number - LOWER) / (UPPER - LOWER) * within
at = within - 1 if LOWER is not None and number == UPPER else at
return LEAVES[int(at)] if 0 <= at < within else LEAVES[-1] if HAS_OTHER else None""")

_OPENDP: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]
Needs: pip install opendp
"""

# $protects
# To be seen to, and not covered:
$points

import csv
import hashlib
import itertools
import sys
from collections import Counter

import opendp.prelude as dp

dp.enable_features("contrib")

RECORDS_FILE, RELEASED_FILE, DOMAIN_FILE = [*sys.argv[1:], None, None, None][:3]
COLUMNS = $columns
$leaves
KNOWN = set(LEAVES)
# Noise of each level, in records: scale b or standard deviation; None published exactly or not measured.
$scales
EXACT = $exact
# How far each level moves in each way that one unit can change.
$cases
PROMISED = $promised  # $symbol of all levels together


def measurements():
    """The noise of each level, which OpenDP draws; None for a level without noise."""
    space = dp.vector_domain($domain_of_atom), $metric
    return [None if scale is None else $noise(*space, scale=scale) for scale in SCALES]


def loss(noise):
    """What OpenDP says that one unit can lose over all levels."""
    return max(
        sum(one.map($distance(moved)) for one, moved in zip(noise, case) if one is not None and moved)
        for case in CASES
    )


def leaf_of(row):
    """The path of the leaf that a record belongs to; None where the domain has no place for it."""
$find


def counts_of(rows):
    """The counts of the nodes of each level, by path."""
    counts = [dict.fromkeys((path[:level] for path in LEAVES if len(path) >= level), 0) for level in range(len(SCALES))]
    for path, n in Counter(map(leaf_of, rows)).items():
        for level in range(len(path) + 1 if path is not None else 0):
            counts[level][path[:level]] += n
    for level in EXACT:  # one node that holds all records, whose number is public
        counts[level] = dict.fromkeys(counts[level], len(rows))
    return counts


def main():
    noise = measurements()
    if loss(noise) > PROMISED * (1 + 1e-9):
        sys.exit(f"OpenDP finds a loss of {loss(noise)}, more than the plan promises.")
    with open(RECORDS_FILE, encoding="utf-8-sig", newline="") as file:
        counts = counts_of(list(csv.DictReader(file)))
    with open(RELEASED_FILE, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["level", *COLUMNS, "released"])
        for level, (here, one) in enumerate(zip(counts, noise)):
            if one is not None:
                values = one([$kind(count) for count in here.values()])
            elif level in EXACT:
                values = list(here.values())
            else:
                continue
            for path, value in zip(here, values):
                out.writerow([level, *path, *[""] * (len(COLUMNS) - len(path)), value])


if __name__ == "__main__":
    if RELEASED_FILE is None:
        sys.exit("Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]")
    main()
''')

_TUMULT: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py RECORDS.csv RELEASED.csv
Needs: pip install tmlt.analytics (and Java, for Spark). Tried with version 0.21; TreeDP's own tests do not run it.
"""

# $protects
# To be seen to, and not covered:
$points

import csv
import itertools
import os
import sys

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddMaxRows, AddOneRow, CountMechanism, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session,
)

COLUMNS = $columns
$leaves
# What each level spends; None published exactly, 0 not measured.
$budgets
TOTAL = $promised  # $symbol of all levels together


def main():
    records, released = sys.argv[1:3]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers take another Python
    frame = SparkSession.builder.getOrCreate().read.csv(records, header=True, inferSchema=False).select(*COLUMNS)
    session = Session.from_dataframe($budget(TOTAL), "records", frame, protected_change=$change)
    with open(released, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["level", *COLUMNS, "released"])
        for level, budget in enumerate(BUDGETS):
            names = COLUMNS[:level]
            if budget is None:
                rows = [[frame.count()]]
            elif budget == 0:
                continue
            else:
                query = QueryBuilder("records")
                if names:
                    query = query.groupby(KeySet.from_tuples(sorted({path[:level] for path in LEAVES}), columns=names))
                counted = session.evaluate(query.count(name="released", mechanism=$mechanism), $budget(budget))
                rows = counted.select(*names, "released").collect()
            for *path, value in rows:
                out.writerow([level, *path, *[""] * (len(COLUMNS) - level), value])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python release.py RECORDS.csv RELEASED.csv")
    main()
''')
