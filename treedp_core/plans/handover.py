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
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.plans import programs
from treedp_core.plans.stated import Bounded, Categories, NoiseLaw, Stated
from treedp_core.plans.verify import problems
from treedp_core.plans.words import label, open_points, promise
from treedp_core.privacy import Currency, NeighbouringRelation, Spread
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.privacy.spread import Capacities, level_sensitivities
from treedp_core.words import float_above, plural, whole

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
    recipe = plan.recipe
    return (
        "Timing and memory of the program are not hidden.",
        f"Of each unit in column {echo(recipe.unit)} the first {plural(recipe.bound, 'row')} in the file are counted."
        if plan.bounded is Bounded.COUNTED
        else f"That no unit has more than {plural(plan.unit.contributions, 'record')} is taken for granted.",
        "Labels must be those that the plan lists: others are counted under “(other)” of their level, else of level 1, "
        "and where neither is listed nowhere.",
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
    return programs.OPENDP.substitute(
        _common(plan),
        kind="int" if discrete else "float",
        domain_of_atom="dp.atom_domain(T=dp.i64)" if discrete else "dp.atom_domain(T=float, nan=False)",
        metric="dp.l2_distance(T=float)" if rho else f"dp.l1_distance(T={'dp.i64' if discrete else 'float'})",
        noise="dp.m.make_gaussian" if rho else "dp.m.make_laplace",
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
    return programs.TUMULT.substitute(
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
    if plan.weighted and not plan.recipe.weight:
        told.append(
            "A row can stand for several records, by a column that the plan does not name: count the file again, and "
            "make the plan from that."
        )
    if domain.source is Categories.FROM_DATA:
        told.append("A domain taken from the data is not public: list the categories from another source.")
    elif domain.bins is not None and not domain.bins.is_numeric and not (domain.categories or domain.leaves):
        told.append("The plan does not list which leaf each bin is: they are many, or it was made without the data.")
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
        "records": _records(plan).rstrip(),
        "scales": _lines("SCALES", [one.scale for one in plan.levels]),
        "exact": repr([i for i, one in enumerate(plan.levels) if one.is_public]),
        "promised": repr(plan.charged if plan.tuned is None else _for_levels(plan)),
        "symbol": "epsilon" if plan.currency is Currency.EPSILON else "rho",
    }


def _for_levels(plan: Stated) -> float:
    assert plan.tuned is not None
    return float_above(Fraction(plan.charged) - Fraction(plan.tuned.spent))


def _leaves(plan: Stated) -> str:
    """The lines that make LEAVES: the path of each leaf, and, for bins of numbers, what finds a record's."""
    domain = plan.domain
    if domain.bins is not None and domain.bins.is_numeric:
        one = domain.bins
        beside = ', [("(other)",)]' if one.has_other else ""
        product = f"itertools.chain(itertools.product(*map(range, {one.branching!r})){beside})"
        return (
            f"LEAVES = list(itertools.islice({product}, {one.n}))\n"
            f"BINNED, HAS_OTHER = {one.column!r}, {one.has_other!r}\n{_lines('EDGES', one.all_edges)}"
        )
    if domain.categories:
        return f"{_lines('CATEGORIES', list(domain.categories))}\nLEAVES = list(itertools.product(*CATEGORIES))"
    if domain.leaves:
        return _lines("LEAVES", list(domain.leaves))
    return programs.FROM_FILE.substitute(digest=repr(domain.digest))


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


def _records(plan: Stated) -> str:
    """The lines that read the records and find the leaf of each."""
    bins, recipe = plan.domain.bins, plan.recipe
    columns, find = [one.name for one in plan.levels[1:]], programs.BY_LABELS
    asked = columns if bins is None else [bins.column] if bins.is_numeric else list(bins.columns)
    if bins is not None:
        row = programs.IN_A_ROW.substitute(branching=repr(bins.branching))
        find = f"{find}\n{row}" if not bins.is_numeric else programs.BY_NUMBER
    return programs.RECORDS.substitute(
        columns=repr(columns),
        asked=repr(asked),
        leaves=_leaves(plan),
        rule=repr((recipe.weight, recipe.unit, recipe.bound, recipe.blanks_out, recipe.cut)),
        find=find,
    )
